"""Every request that is accepted ends in a release, on every table: nothing is charged for what then fails."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from discreet.mechanisms import subset_search
from tests.effort import either
from tests.privacy.requests import FAMILIES, HYBRIDS, SCREENINGS, SELECTIONS, Request, outcome_of, requests, shape_of

EXAMPLES = either(25, 2000)

KINDS = {
    "selections": SELECTIONS,
    "screenings": SCREENINGS,
    "regressions": (*FAMILIES, "run"),
    "public points": HYBRIDS,
}

WIDE = Request("pcls", {"epsilon": 1.0, "max_size": 2}, 65, "replace_one", 2, (-1.0, 1.0), (-1.0, 1.0), 1, 0, "random")
"""Charged and then failed while a model had to be a word of 64 bits."""


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


def test_models_of_64_bits_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: with the former limit, and no check of it, the same property does not hold."""
    check(WIDE)
    monkeypatch.setattr(subset_search, "TREE_UNITS", 128)
    with pytest.raises(OverflowError):
        check(WIDE)
