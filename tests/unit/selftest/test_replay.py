"""A method recorded on a table and repeated on a neighbor."""

import pytest

from discreet.methods.registry import method_of
from discreet.selftest.breaking import Fault, broken
from discreet.selftest.replay import replayed
from discreet.selftest.tables import Pair

PAIR = Pair([(0.5, 0.5, 1.0)], (1.0, -1.0, 1.0), (-1.0, 1.0, 1.0))
RELATION = "replace_one"


def replay(method, pair=PAIR, **options):
    return replayed(method_of(method, **options), pair.tables(RELATION), "y", ["x1", "x2"])


def test_sums_and_choices_cost_what_they_move_by():
    """The sum of the target, whose row keeps its own; then the choice, one of whose scores falls by two."""
    record = replay("sis", n_features_to_select=1, mechanism="one_shot", noise_test=False, y_bound="furthest")
    assert [part.kind for part in record.parts] == ["laplace", "selection"]
    assert record.parts[0].cost == 0.0
    assert sum(part.charge for part in record.parts) == pytest.approx(1.0)


def test_equal_tables_cost_nothing():
    """And every part is there."""
    same = Pair(PAIR.base, PAIR.old, PAIR.old)
    for method, options in (("pcls", {}), ("moments", {"delta": 1e-6}), ("histogram", {"bins": 2})):
        record = replay(method, same, **options)
        assert not record.fault
        assert record.parts
        assert all(part.cost == 0.0 < part.charge for part in record.parts)


BY_A_SUM = Fault(
    "",
    "methods.base.noise_budget:drawn_together",
    "estimate.scale(budget)",
    "estimate.scale(budget) * (1 + sum(map(sum, values.values())) % 2)",
    "",
)


def test_noise_that_depends_on_the_rows_is_told():
    """A scale that a sum decides."""
    with broken(BY_A_SUM):
        assert replay("moments", Pair([], (1.0, 1.0, 1.0), (0.0, 0.0, 0.0))).fault == "its noise depends on the rows"


def test_more_epsilon_than_is_charged_is_told():
    """On a pair that tells nothing of it."""
    handed = Fault(
        "",
        "methods.screening.top_k_choice:TopK.draw",
        "law = (self.k, self.epsilon,",
        "law = (self.k, 2,",
        "",
    )
    with broken(handed):
        assert "get an epsilon" in replay("sis", Pair((), PAIR.old, PAIR.old), n_features_to_select=1).fault
