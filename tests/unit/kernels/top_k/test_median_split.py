"""Median splits: cells keep their order, and sums are those over ranks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from discreet.kernels.top_k.median_split import order_cells, split_sums
from discreet.mechanisms.rng import Source
from discreet.methods.screening.order_scores import random_order

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32) | st.sampled_from([0.0, -0.0, 1e-45, -1e-45])


def codes(values):
    """The pairs of cells as one number each."""
    cells = order_cells(np.array(values, dtype=np.float64)[:, None]).view(np.uint16).astype(np.int64)
    return cells[:, 0] * 2**16 + cells[:, 1]


@given(st.lists(NUMBERS, min_size=2, max_size=30))
def test_cells_keep_the_order_of_numbers(values):
    """As far as float32 tells them apart; both zeros are one."""
    assert (rankdata(codes(values), "dense") == rankdata(np.float32(np.array(values) + 0.0), "dense")).all()
    assert (codes(values) > 0).all()


def test_what_is_missing_or_beyond_float32_has_a_code():
    """NaN has zero, which no number has; numbers beyond are the largest."""
    assert codes([float("nan"), -1e300, -1.0, 1.0, 1e300]).tolist()[0] == 0
    assert (np.diff(codes([-1e300, -3e38, 3e38, 1e300])) > 0).all()


def by_ranks(values, ranks, y):
    """The definition, row by row."""
    there = ~np.isnan(values)
    order = np.lexsort([ranks[there], values[there]])
    places = np.empty(there.sum())
    places[order] = np.arange(1, there.sum() + 1)
    return int(np.sign(places - (there.sum() + 1) / 2) @ y[there])


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 12), st.integers(1, 4))
def test_sums_are_those_over_ranks(seed, n, p):
    """Ties, missing cells, none at all."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    values = rng.integers(-2, 3, (n, p)).astype(float)
    values[rng.random((n, p)) < 0.2] = np.nan
    y = rng.integers(-32767, 32768, n)
    ranks = random_order(Source.seeded(seed), n)
    cells = np.concatenate([order_cells(values), y.astype(np.int16)[:, None]], axis=1)
    assert split_sums(cells, ranks).tolist() == [by_ranks(values[:, j], ranks, y) for j in range(p)]


def test_every_order_of_rows_is_as_likely():
    """Of three rows, 6000 times: six orders, chi-square below its 1e-6 quantile; equal words are drawn again."""
    rng = Source.seeded(1)
    counts = np.unique([random_order(rng, 3).tolist() for _ in range(6000)], axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 36.0


class Few(Source):
    """Words that are equal at first."""

    def __init__(self):
        self.asked = 0

    def words(self, count):
        self.asked += 1
        return np.zeros(count, dtype=np.uint64) if self.asked == 1 else np.arange(count, dtype=np.uint64)[::-1].copy()


def test_equal_words_are_drawn_again():
    """Whatever the rows are."""
    rng = Few()
    assert random_order(rng, 3).tolist() == [2, 1, 0]
    assert rng.asked == 2


@pytest.mark.parametrize("n", [0, 1])
def test_one_row_has_no_halves(n):
    """Nothing is above or below."""
    cells = np.concatenate([order_cells(np.ones((n, 2))), np.ones((n, 1), dtype=np.int16)], axis=1)
    assert split_sums(cells, random_order(Source.seeded(0), n)).tolist() == [0, 0]
