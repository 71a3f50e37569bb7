"""Ranges of numbers: both ends are taken, what lies beyond is refused in a line, and every face says the same."""

import importlib
import inspect
import math
from fractions import Fraction
from typing import Annotated, get_args

import pytest
from pydantic import Field

import discreet as dc
from discreet.accounting.guarantee import MIN_EPSILON
from discreet.cli import fit, hybrid, select
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.ledger.grains import EPSILON_GRAIN
from discreet.methods.registry import _HOMES, method_of
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares
from discreet.parameters.by_method import PARAMETERS, between_of, meanings, parameters_of, ranges_as_schema
from discreet.parameters.ranges import Between
from discreet.parameters.words import help_of
from discreet_service.schemas import PlanIn

METHODS = ("pcls", "pcpl", "moments", "sis", "two-stage", "decorrelated", "linear", "logistic", "poisson", "histogram")
NESTED = ("shares", "codes", "l1_grid")


def between(name, parameter):
    """The range of a method's real parameter, if it is one."""
    field = type(method_of(name)).model_fields[parameter]
    return next((item for item in field.metadata if isinstance(item, Between)), None) or between_of(field.annotation)


CASES = [
    (name, parameter)
    for name in METHODS
    for parameter in type(method_of(name)).model_fields
    if parameter not in NESTED and between(name, parameter) is not None
]


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_what_lies_beyond_a_range_is_refused(name, parameter):
    """Beside each end, at infinity, and what is no number; the message names the range."""
    ends = between(name, parameter)
    below, above = math.nextafter(ends.low, -math.inf), math.nextafter(float(ends.high), math.inf)
    for value in (below, above, -1e308, 1e308, math.inf, -math.inf, math.nan, 5e-324):
        if ends.low <= value <= ends.high:
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
            if field not in ("design_moments", "public_moments", "shares"):
                assert not bare(info.annotation, info.metadata), (name, field)
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


@pytest.mark.parametrize(("command", "methods"), [(select, 6), (fit, 3), (hybrid, 3)])
def test_the_command_line_has_all_of_them(command, methods):
    """Each parameter of a command's methods is an option, and its help says what the field says."""
    options = inspect.signature(command.question).parameters
    names = {"select": METHODS[:6], "fit": METHODS[6:9], "hybrid": ("public-subset", "hybrid", "histogram")}
    of_command = names[command.__name__.rpartition(".")[2]]
    assert len(of_command) == methods
    for method in of_command:
        for name, field in parameters_of(PARAMETERS[method]).items():
            if name not in ("design_moments", "public_moments"):
                text = get_args(options[name].annotation)[1].help
                assert field.description.split(". ")[0] in text or name == "twins", name
    help_text = {name: get_args(option.annotation)[1].help for name, option in options.items()}
    assert "0.000000001 to 1000" in help_text["epsilon"]


def test_help_says_what_is_true_of_which_methods():
    """What all methods share stands first; what one has comes with its name."""
    fields = {"sis": parameters_of(PARAMETERS["sis"])["y_bound"], "pcls": parameters_of(PARAMETERS["pcls"])["y_bound"]}
    text = help_of(fields, ("sis", "pcls", "pcpl"))
    assert text.startswith("r: largest distance of a target value from its center, in its unit. Values farther")
    assert "sis: private estimates the median" in text
    assert "pcls: private estimates the quantile" in text
    assert text.endswith("For sis and pcls.")


@pytest.mark.parametrize("name", sorted(set(PARAMETERS) - {"own-score"}))
def test_a_method_takes_its_parameters_as_they_are_written(name):
    """Type, range, default and description: also where a parent says less of one."""
    module, kind = _HOMES[name]
    fields = getattr(importlib.import_module(module), kind).model_fields
    for parameter, field in parameters_of(PARAMETERS[name]).items():
        taken = fields[parameter]
        assert (taken.annotation, taken.metadata) == (field.annotation, field.metadata), parameter
        assert (taken.default, taken.description) == (field.default, field.description), parameter


SELECTORS = (dc.PCLS, dc.PCPL, dc.NoisyMoments, dc.DPSIS, dc.TwoStage, dc.DecorrelatedScores)
ESTIMATORS = (*SELECTORS, dc.LinearRegression, dc.PerturbedHistogram)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_an_estimator_takes_its_parameters_as_they_are_written(kind):
    """Constructor and docstring have all of them, by name but for the first, and an unknown one is refused."""
    signature = inspect.signature(kind)
    assert {"random_state", "metadata"} < set(signature.parameters)
    assert [name for name, option in signature.parameters.items() if option.kind is not option.KEYWORD_ONLY] == [
        "epsilon"
    ]
    for name, field in parameters_of(PARAMETERS[kind._method]).items():
        assert signature.parameters[name].default == field.default
        assert f"    {name} : " in kind.__doc__
    with pytest.raises(TypeError, match="nonesuch"):
        kind(nonesuch=1)


def test_every_parameter_has_a_meaning():
    """One sentence that stands alone in a report."""
    assert all(8 < len(meaning) < 100 and not meaning.endswith(".") for meaning in meanings().values())


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        (
            "pcls",
            {"l1_radius": "x"},
            "l1_radius must be a number above 0 or private, but l1_radius='x'. Give one of these.",
        ),
        ("pcls", {"max_size": -1}, "max_size must be a whole number of at least 0, but max_size=-1."),
        (
            "pcls",
            {"mechanism": "x"},
            "mechanism must be permute_and_flip, exponential or laplace, but mechanism='x'. Give one of these.",
        ),
        ("pcls", {"models": ["a"]}, "models must be a list of 1 or more lists of names, but it holds 'a'."),
        ("pcls", {"shares": {"y_bound": 2}}, "shares must lie in [0.000001, 0.999999], but that of y_bound is 2."),
        ("histogram", {"bins": 0}, "bins must be a whole number of at least 1, but bins=0."),
    ],
)
def test_a_refusal_names_what_is_allowed(name, parameters, words):
    """The words follow from the field."""
    with pytest.raises(InvalidParameterError) as refusal:
        method_of(name, **parameters)
    assert str(refusal.value) == words


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


@pytest.mark.filterwarnings('ignore:Field name "epsilon"')
def test_a_method_may_narrow_a_parameter():
    """What a method declares itself is not replaced by what the family says."""

    class Narrow(PenalizedLeastSquares):
        epsilon: Annotated[float, Field(le=0.5)] = 0.1

    assert Narrow.of().epsilon == 0.1
    assert Narrow.of().l1_radius is None
    with pytest.raises(InvalidParameterError):
        Narrow.of(epsilon=5.0)


@pytest.mark.parametrize("name", ["groups", "models"])
def test_a_set_is_no_list(name):
    """Its order differs between processes, and what is asked would not be the same question."""
    with pytest.raises(InvalidParameterError, match="must be a list"):
        method_of("pcls", **{name: [{"a", "b"}]})
    assert method_of("pcls", **{name: [["a", "b"]]}) is not None
