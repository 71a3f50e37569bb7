"""Every request that is accepted ends in a release, on every table: nothing is charged for what then fails."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import InvalidParameterError
from discreet.mechanisms import subset_search
from discreet.mechanisms.rng import Source
from discreet.methods.base.candidates import features_in
from discreet.methods.plan_steps import PlanSteps
from discreet.methods.registry import method_of
from discreet.workflow.priced_request import price
from tests.effort import either
from tests.privacy.requests import FAMILIES, HYBRIDS, SCREENINGS, SELECTIONS, Request, outcome_of, requests, shape_of

EXAMPLES = either(25, 2000)
MANY = 100_000

KINDS = {
    "selections": SELECTIONS,
    "screenings": SCREENINGS,
    "decorrelated": ("decorrelated",),
    "regressions": (*FAMILIES, "run"),
    "public points": HYBRIDS,
}

WIDE = Request("pcls", {"epsilon": 1.0, "max_size": 2}, 65, "replace_one", 2, (-1.0, 1.0), (-1.0, 1.0), 1, 0, "random")
"""Charged and then failed while a model had to be a word of 64 bits."""

UNEQUAL = Request(
    "run",
    {"epsilon": 1.0, "screen": {"method": "sis", "n_features_to_select": 1}, "fit": {"family": "linear"}},
    3,
    "replace_one",
    17,
    (0.0, 1e65),
    (0.0, 1e40),
    1,
    0,
    "random",
    (-1.0, 1.0),
)
"""Charged and then refused, when the screening left one of the columns too narrow for a coefficient."""

SCREENED = [(n, name) for name in ("auto", "canonical_lipschitz", "one_shot", "peeling") for n in (17, 0)]
AFTER_SCREENING = [None, {"method": "pcls"}, {"method": "moments"}]


def check(request: Request) -> None:
    """Refused in one line, or released; without a warning, and of the same shape as on another table."""
    release = outcome_of(request)
    if release is not None:
        other = outcome_of(request, "random")
        assert other is not None
        assert shape_of(release) == shape_of(other)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_accepted_ends_in_a_release(kind: str) -> None:
    """Any method, width, relation, number of rows, epsilon, delta, bounds and odd numbers, on any table."""

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(requests(KINDS[kind]))
    def property_(request: Request) -> None:
        check(request)

    property_()


@pytest.mark.parametrize("width", [65, 100, 128])
@pytest.mark.parametrize("method", ["pcls", "moments"])
def test_many_columns_are_answered(method: str, width: int) -> None:
    """No more than 2^20 models of more columns than a word has bits, and noisy moments of as many."""
    parameters = {"epsilon": 1.0, "max_size": 2}
    release = outcome_of(replace(WIDE, method=method, parameters=parameters, width=width))
    assert release is not None
    assert len(release.selected) <= 2


@pytest.mark.parametrize(("n_rows", "mechanism"), either([*SCREENED[::2], SCREENED[1]], SCREENED))
def test_a_hundred_thousand_columns_are_screened(n_rows: int, mechanism: str) -> None:
    """Of rows that are all alike, or of none: all scores are equal, and three names leave."""
    features = {"type": "real", "lower": -1.0, "upper": 1.0, "count": MANY, "source": "test"}
    target = {"type": "real", "lower": -1.0, "upper": 1.0, "source": "test"}
    facts = {"dataset": "edge", "unit": "person", "neighboring": "add_or_remove_one"}
    metadata = Metadata.from_value({**facts, "columns": {"y": target}, "features": features})
    table = open_table((scipy.sparse.csr_array(np.ones((n_rows, MANY))), np.ones(n_rows)), metadata)
    names = features_in(table, "y")
    for epsilon in (1e-9, 1000.0):
        method = method_of("sis", epsilon=epsilon, mechanism=mechanism, n_features_to_select=3)
        priced = price(method, metadata, "y", names, name="edge", locator=None, rows_origin=table.rows_origin)
        priced.prepared.check_table(table, charged=True)
        assert len(set(priced.release(priced.prepared.run(table, Source()), None).selected)) == 3


def test_models_of_64_bits_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: with the former limit, and no check of it, the same property does not hold."""
    check(WIDE)
    monkeypatch.setattr(subset_search, "TREE_UNITS", 128)
    with pytest.raises(OverflowError):
        check(WIDE)


@pytest.mark.parametrize("select", AFTER_SCREENING)
@pytest.mark.parametrize("screening", SCREENINGS)
def test_a_column_that_no_step_can_take_is_refused_before_a_screening(screening: str, select: Any) -> None:
    """Whichever columns it would leave; and it is only these bounds that are refused."""
    parameters = {
        **UNEQUAL.parameters,
        "delta": 1e-6,
        "screen": {"method": screening, "n_features_to_select": 1},
        "select": select,
    }
    request = replace(UNEQUAL, parameters=parameters)
    assert outcome_of(request) is None
    assert outcome_of(replace(request, others=(-1e10, 1e10))) is not None


def test_columns_checked_after_a_screening_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: when only the first columns are checked before, a run is refused although it is paid."""
    monkeypatch.setattr(PlanSteps, "check_columns", lambda *_: None)
    with pytest.raises(InvalidParameterError, match="within a factor"):
        _ = [check(UNEQUAL) for _ in range(60)]
