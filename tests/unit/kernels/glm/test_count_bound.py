"""Where counts are clipped: the histogram of the counts, and the bound that is chosen from it."""

import functools
import itertools

import numpy as np
import pytest
from scipy.stats import poisson as law
from tests.effort import either

from discreet.kernels.glm import count_bound
from discreet.kernels.glm.count_bound import UNIT, HistogramRequest, _laws, _likely, _variance, bounds_of, chosen_bound
from discreet.kernels.glm.families import clipped_poisson, poisson
from discreet.kernels.moments.moments import GRID

MOST_CUT = 0.05
"""Of the sum of counts, where there are rows enough."""

RNG = np.random.default_rng(1)  # noqa: TID251 - simulated rows, not noise


def cells_of(counts, largest):
    """Encoded rows: a constant, and the counts as the last cell."""
    y = np.rint((2.0 * np.minimum(counts, largest) / largest - 1.0) * GRID)
    return np.column_stack([np.full(len(counts), GRID), y]).astype(np.int16)


def chosen(counts, largest, mu=1.0, replace=False, noise=None):
    """The bound from the exact histogram, or a noisy one."""
    request = HistogramRequest.of(poisson(largest), mu, replace)
    sums = request.row_map.sums(cells_of(counts, largest)).astype(float)
    if noise is not None:
        sums += noise.normal(size=len(sums)) * request.sd
    return chosen_bound(request, sums, 3.0 / mu)


@pytest.mark.parametrize("largest", [1, 2, 3, 7, 40, 1000, 1e9, 1e100])
def test_bounds_grow_by_half_at_most_to_the_largest(largest):
    """From 1, with no gap that would waste noise."""
    bounds = bounds_of(largest)
    assert bounds[0] == 1
    assert bounds[-1] == largest
    assert all(low < high <= max(1.6 * low, low + 1) for low, high in itertools.pairwise(bounds))


@pytest.mark.parametrize("largest", [2, 5, 40, 3000])
def test_the_histogram_counts_every_row_once(largest):
    """In the bin of its count, as whole numbers."""
    counts = RNG.integers(0, largest + 1, 5000)
    request = HistogramRequest.of(poisson(float(largest)), 1.0, True)
    sums = request.row_map.sums(cells_of(counts, largest))
    ends = np.array(request.row_map.ends)
    expected = [np.sum((counts > low) & (counts <= high)) for low, high in zip([-1, *ends[:-1]], ends, strict=True)]
    assert (sums // UNIT).tolist() == expected
    assert sums.sum() == 5000 * UNIT


@pytest.mark.parametrize("mean", [0.02, 0.3, 3.0, 20.0])
@pytest.mark.parametrize("bound", [1, 2, 5, 30])
def test_the_variance_is_that_of_clipped_counts(mean, bound):
    """By summing over a Poisson law."""
    counts = np.arange(0, 400)
    chances, clipped = law.pmf(counts, mean), np.minimum(counts, bound)
    expected = chances @ clipped**2 - (chances @ clipped) ** 2
    assert _variance(bound, mean) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("declared", [4, 40, 4000])
def test_rare_counts_get_a_small_bound_whatever_is_declared(declared):
    """Of 200,000 rows with a mean of .05, of which about 250 are above 1."""
    counts = RNG.poisson(0.05, 200_000)
    found = chosen(counts, declared, 0.2, noise=RNG)
    assert found.bound <= 3
    assert np.maximum(counts - found.bound, 0).sum() <= MOST_CUT * counts.sum()


def test_large_counts_are_kept():
    """A bound below what many rows have would tell nothing of them."""
    counts = RNG.poisson(np.exp(RNG.normal(2.0, 1.0, 50_000)))
    found = chosen(counts, 1000, 1.0, noise=RNG)
    assert np.maximum(counts - found.bound, 0).sum() <= MOST_CUT * counts.sum()
    assert counts.mean() < found.bound < 1000


def test_with_little_noise_hardly_anything_is_cut_off():
    """Clipping that is not needed is not done: it ends as the noise does."""
    counts = np.minimum(RNG.poisson(RNG.gamma(0.5, 1.0, 20_000)), 50)
    cut = [np.maximum(counts - chosen(counts, 50, mu).bound, 0).sum() / counts.sum() for mu in (0.3, 3.0, 300.0)]
    assert max(cut) <= MOST_CUT
    assert cut[-1] < 0.01


def test_the_number_of_clipped_rows_is_covered():
    """By its range, of 95 percent, in at least 90 of 100 draws."""
    counts = RNG.poisson(RNG.gamma(0.5, 4.0, 20_000))
    found = [chosen(counts, 60, 0.3, noise=RNG) for _ in range(100)]
    assert sum(each.low <= np.sum(counts > each.bound) <= each.high for each in found) >= 90


def test_few_rows_get_a_bound_near_their_counts():
    """Of 300 rows with a mean of 2 and noise of 30 rows a bin, where no bin is seen by itself."""
    counts = RNG.poisson(2.0, 300)
    found = [chosen(counts, 28, 0.15, noise=RNG).bound for _ in range(100)]
    assert np.median(found) <= 6
    assert np.mean([2 <= bound <= 8 for bound in found]) >= 0.9


@pytest.mark.parametrize("largest", [1, 2, 30, 4000, 1e9, 1e100])
def test_laws_are_chances_of_all_bins(largest):
    """Whatever is declared."""
    laws = _laws(bounds_of(largest))
    assert laws.min() >= -1e-12
    assert np.allclose(laws.sum(axis=1), 1.0)


def test_bins_that_are_not_seen_hold_what_the_law_expects():
    """Of counts that follow one: the first two bins are seen, the third is expected."""
    ends = np.array([0, 1, 2, 3, 4, 6, 8])
    rows = 50_000 * np.diff(law.cdf(ends, 0.05), prepend=0.0)
    of_laws, weights = _likely(ends, rows, 30.0)
    likely = weights @ of_laws
    assert likely[:2] == pytest.approx(rows[:2])
    assert likely[2:].sum() == pytest.approx(rows[2:].sum(), rel=0.5)


def test_where_the_noise_hides_all_counts_some_are_kept():
    """A bound of 1 would tell nothing of large counts; nothing is known of them."""
    assert 1 < chosen(np.zeros(100), 20, 1e-3).bound <= 20


@pytest.mark.parametrize("declared", [1e15, 1e20, 1e100])
def test_a_bound_beyond_64_bits_makes_a_family(declared):
    """An error here would come after the charge: of counts of half the declared bound, all are kept."""
    found = chosen(np.full(5000, declared / 2.0), declared)
    assert declared / 4.0 < found.bound < declared
    family = clipped_poisson(found.bound, declared)
    assert family.high == float(found.bound)
    assert family.responses().max() == family.high


@pytest.mark.parametrize("largest", either([1e90, 1e300], [1e90, 1e200, 1e300]))
def test_a_bound_that_is_hardly_a_float_ends_in_one(largest, monkeypatch):
    """Whatever is declared and seen: an error would cost the charge."""
    monkeypatch.setattr(count_bound, "_laws", functools.cache(count_bound._laws))  # the same for both
    for counts in (np.zeros(100), np.full(100, largest)):
        bound = chosen(counts, largest, 0.1, noise=RNG).bound
        assert 1 <= bound <= largest
        family = clipped_poisson(bound, largest)
        assert np.isfinite(family.mean(np.linspace(-30.0, 30.0, 7))).all()
