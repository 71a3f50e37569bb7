"""Models drawn by floats and by digits, and words that are drawn once."""

import math

import numpy as np
import pytest

from discreet.kernels.search.separable import Bound, Layout, Origin
from discreet.mechanisms.reals import Uniform, Words
from discreet.mechanisms.rng import Source
from discreet.mechanisms.subset_points import bound_value, draw_exactly, draw_model, log_rate

N_DRAWS = 60


def bound(limit: int, size: float = 3.0) -> Bound:
    """Three blocks of three, two and one units, their entries anything."""
    rng = np.random.default_rng(7)  # noqa: TID251 - a fixture, not noise
    layout = Layout.of([[4, 0, 2], [1, 5], [3]], tuple(np.array([j]) for j in range(6)))
    table = size * rng.normal(size=(3, 8))
    table[1, 4:], table[2, 2:], table[:, 0] = math.inf, math.inf, 0.0
    nothing = np.zeros(6)
    origin = Origin(nothing, nothing, 0.0, nothing)
    return Bound(layout, 0, 0, -1.5, table, np.ones((6, 3)), limit, 1.0, nothing, 1e-9, origin)


@pytest.mark.slow
@pytest.mark.parametrize("size", [3.0, 300.0])
@pytest.mark.parametrize("limit", [-1, 0, 2, 4])
def test_digits_draw_what_floats_draw(limit: int, size: float) -> None:
    """From the same bits, with sizes limited and not, and with some units decided."""
    one, words = bound(limit, size), Words(Source.seeded(1))
    for tables in (one.table, one.tables(0, 1 << 4), one.tables(1 << 5, 0)):
        if limit == 0 and tables[1, 0] == math.inf:
            continue
        for _ in range(N_DRAWS):
            first = words.take(3)
            picked = one.draw(tables, (first.astype(np.float64) + 0.5) * 2.0**-64)
            exactly = draw_exactly(tables, limit, [Uniform(words, word) for word in first.tolist()])
            assert picked is not None
            assert picked.tolist() == exactly


class Edge(Source):
    """One word that lies at an edge, then others."""

    def __init__(self, first: int) -> None:
        self._first, self._rest = [first], Source.seeded(2)

    def words(self, count: int) -> np.ndarray:
        """The chosen one first."""
        now, self._first = self._first, []
        return np.concatenate([np.array(now, dtype=np.uint64), self._rest.words(count - len(now))])


@pytest.mark.parametrize("shift", [-(2**20), 2**20])
def test_a_word_next_to_an_edge_is_decided_by_digits(shift: int) -> None:
    """A model is drawn all the same, on the side where the word lies."""
    one = bound(-1)
    weights = np.exp(-one.table[0])
    edge = int(weights[:3].sum() / weights.sum() * 2.0**64)
    first = np.array([edge + shift, 2**63, 2**63], dtype=np.uint64)
    assert one.draw(one.table, (first.astype(np.float64) + 0.5) * 2.0**-64) is None
    model = draw_model(one, one.table, Words(Edge(edge + shift)))
    assert int(one.layout.subsets(model)[0]) == (2 if shift < 0 else 3)


def test_a_bound_is_the_sum_of_its_entries() -> None:
    """As a float and by digits; the rate sums all models."""
    one = bound(-1)
    total = 0.0
    for model in range(64):
        value = bound_value(one, model)
        low, high = value.enclose(40)
        assert abs(float(low) - value.value) <= value.error
        assert high - low < 1e-30
        assert one.layout.model(one.layout.subsets(model)) == model
        total += math.exp(-value.value)
    rate = log_rate(one, one.table)
    assert rate is not None
    assert rate.value == pytest.approx(math.log(total), abs=1e-12)
    assert abs(float(rate.enclose(40)[0]) - rate.value) <= rate.error


def test_no_word_is_returned_twice() -> None:
    """However many are taken at a time."""
    words = Words(Source.seeded(3))
    taken = np.concatenate([words.take(count) for count in (1, 200, 100, 700, 3)])
    assert len(set(taken.tolist())) == len(taken)
