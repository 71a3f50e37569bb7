"""Budgets on pages: what is left for a request, and the picture of what was spent."""

import pytest

from discreet_service.pages.budgets import RemainingBudget, timeline
from discreet_service.schemas import AllotmentOut, BudgetOut, EntryOut


def account(**changes):
    values = dict.fromkeys(BudgetOut.model_fields, 0.0) | {"n_releases": 0, "allotments": []}
    values |= {"dataset": "toy", "unit": None, "neighboring": None, "accounting": "basic", "epsilon_cap": 4.0}
    return BudgetOut(**(values | changes))


def part(left):
    return AllotmentOut(
        project="p", epsilon_cap=2, epsilon_spent=2 - left, epsilon_left=left, delta_cap=0, delta_spent=0
    )


def entry(seq, kind, epsilon=0.0, **changes):
    values = {"dataset": "toy", "project": None, "reservation": None, "delta": 0, "rho": None, "state": None}
    return EntryOut(
        seq=seq, time=f"2026-01-01T00:00:{seq:02}Z", kind=kind, epsilon=epsilon, hash="0" * 64, **(values | changes)
    )


def test_what_is_left_is_the_smaller_of_cap_and_part():
    """A request may cost what both its data set and its project have left."""
    assert RemainingBudget(account(epsilon_left=3), part(1)).left == 1
    assert RemainingBudget(account(epsilon_left=0.5), part(1)).left == 0.5
    assert RemainingBudget(account(epsilon_left=3), None).left == 3
    assert RemainingBudget(account(epsilon_left=3), part(1)).covers(1)
    assert not RemainingBudget(account(epsilon_left=3), part(1)).covers(1.0001)
    assert RemainingBudget(account(epsilon_left=0, accounting="zcdp"), None).covers(5)


def test_the_line_rises_and_falls_as_the_ledger_says():
    """Steps up when reserved, down when given back; the cap is near the top; a grant moves nothing."""
    entries = [
        entry(5, "reserve", 2.0),
        entry(4, "cancel", -1.0),
        entry(3, "touch"),
        entry(2, "reserve", 1.0),
        entry(1, "grant", 4.0),
    ]
    found = timeline(account(epsilon_spent=2.0, epsilon_left=2.0), entries, "2026-01-01T00:00:09.000Z")
    heights = [float(point.split(",")[1]) for point in found.spent.split(" ")]
    assert heights == [100, 100, 75.5, 75.5, 100, 100, 51, 51]
    places = [float(point.split(",")[0]) for point in found.spent.split(" ")]
    assert places == sorted(places) == [0, 125, 125, 375, 375, 500, 500, 1000]
    assert (found.total, found.cap, found.currency) == (2, 4, "epsilon")


def test_what_older_entries_spent_is_where_the_line_begins():
    """Of a long ledger only the newest entries are drawn, from the level that the older ones left."""
    found = timeline(account(epsilon_spent=3.0), [entry(9, "reserve", 1.0), entry(8, "touch")], "2026-01-01T00:00:09Z")
    assert found.spent.split(" ")[0] == "0.0,51.00"
    assert found.total == pytest.approx(3)


def test_rho_is_drawn_where_rho_adds_up():
    """Under zCDP the line is of rho, and entries without one add none."""
    entries = [entry(2, "reserve", 1.0, rho=0.25), entry(1, "grant", 4.0, rho=1.0)]
    found = timeline(account(accounting="zcdp", rho_cap=1.0, rho_spent=0.25), entries, "2026-01-01T00:00:03Z")
    assert found.currency == "rho"
    assert found.spent.endswith("1000.0,75.50")


def test_nothing_spent_has_no_picture():
    """A new data set has nothing to draw."""
    assert timeline(account(), [entry(1, "grant", 4.0)], "2026-01-01T00:00:03Z") is None
