"""Ranges of numbers: both ends are taken, what lies beyond is refused in a line, and every face says the same."""

import math
from fractions import Fraction
from typing import get_args

import pytest

from discreet.accounting.guarantee import MIN_EPSILON
from discreet.cli import select
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.ledger.grains import EPSILON_GRAIN
from discreet.methods.base.ranges import RANGES, ranges_as_schema
from discreet.methods.registry import method_of
from discreet_service.schemas import PlanIn

METHODS = ("pcls", "pcpl", "moments", "sis", "two-stage", "linear", "logistic", "poisson", "histogram")


def numbers_of(name):
    """The real parameters of a method."""
    fields = type(method_of(name)).model_fields
    return [field for field in fields if field in RANGES and field not in ("shares", "codes", "l1_grid")]


CASES = [(name, parameter) for name in METHODS for parameter in numbers_of(name)]


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_what_lies_beyond_a_range_is_refused(name, parameter):
    """Beside each end, at infinity, and what is no number; the message names the range."""
    between = RANGES[parameter]
    below, above = math.nextafter(between.low, -math.inf), math.nextafter(float(between.high), math.inf)
    for value in (below, above, -1e308, 1e308, math.inf, -math.inf, math.nan, 5e-324):
        if between.low <= value <= between.high:
            continue
        with pytest.raises(InvalidParameterError, match=f"^{parameter} must "):
            method_of(name, **{parameter: value})


def test_every_real_parameter_has_a_range():
    """No field of a method is a plain float: the control finds the one that is."""

    def bare(annotation, metadata=()):
        if annotation is float:
            return not metadata
        inner = get_args(annotation)
        return any(bare(part, inner[1:] if hasattr(annotation, "__metadata__") else ()) for part in inner[:1] or inner)

    for name in METHODS:
        for field, info in type(method_of(name)).model_fields.items():
            if field not in ("design_moments", "shares", "epsilon", "delta"):
                assert field in RANGES or not bare(info.annotation, info.metadata), (name, field)
    assert bare(float)


def test_the_least_epsilon_is_what_the_ledger_tells_apart():
    """A request never costs less than a grain."""
    assert MIN_EPSILON == EPSILON_GRAIN == Fraction(1, 10**9)
    assert method_of("pcls", epsilon=1e-9).epsilon == 1e-9


def test_the_service_describes_the_same_ranges():
    """In the schema of a request's parameters."""
    properties = PlanIn.model_json_schema()["properties"]["parameters"]["properties"]
    assert properties == ranges_as_schema()
    assert properties["epsilon"] == {"minimum": 1e-9, "maximum": 1000}
    assert properties["l1_radius"] == {"minimum": 1e-100, "maximum": 1e100}
    assert properties["delta"]["anyOf"][0] == {"const": 0}


@pytest.mark.parametrize(
    ("option", "words"),
    [("epsilon", "1e-9 to 1000"), ("l1_radius", "1e-100 to 1e100"), ("model_penalty", "1e-12 to 1e220")],
)
def test_the_command_line_names_them(option, words):
    """Help says what a number may be, and it is what is enforced."""
    low, high = (float(word) for word in words.split(" to "))
    assert (RANGES[option].low, RANGES[option].high) == (low, high)
    options = {name: get_args(hint) for name, hint in select.question.__annotations__.items()}
    assert words in options[option][1].help


@pytest.mark.parametrize("sd", [1e308, -1.0, -1e308, 0.0, math.inf, math.nan, 1e-320, 1.0 + 1e-9])
def test_declared_moments_are_possible(sd):
    """An sd whose square is possible is not enough: it is positive, and one that has no square is refused in a line."""
    column = {"type": "real", "lower": -1, "upper": 1, "source": "test"}
    facts = {"dataset": "d", "unit": "person", "neighboring": "replace_one", "n_rows": 9}
    metadata = Metadata.from_value({**facts, "columns": {"x": column, "y": column}})
    with pytest.raises(InvalidParameterError, match="design_moments must") as refusal:
        method_of("moments", design_moments={"x": {"mean": 0, "sd": sd}}).prepare(metadata, "y")
    assert "\n" not in str(refusal.value)
    method_of("moments", design_moments={"x": {"mean": 0, "sd": 0.5}}).prepare(metadata, "y")
    with pytest.raises(OverflowError):
        _ = (1e308 / 1.0) ** 2  # control: what was computed before it was checked
    assert 0.0 < (-1.0 / 1.0) ** 2 <= 1.0  # control: the former check of the square alone
