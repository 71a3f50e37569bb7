"""Discrete noise against its exact laws, by both ways of drawing; nothing here fails by chance above 1e-8."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chisquare

from discreet.errors import InvalidParameterError
from discreet.mechanisms import additive
from discreet.mechanisms.additive import discrete_gaussian, discrete_laplace
from discreet.mechanisms.rng import Source

pytestmark = pytest.mark.statistics

SAMPLE_SIZE = 20_000
P_THRESHOLD = 1e-9
DISTANCE = np.sqrt(np.log(2 / P_THRESHOLD) / 2)
"""Dvoretzky, Kiefer, Wolfowitz, Massart: sqrt(n) times the largest difference of distribution functions exceeds this
with a probability of at most P_THRESHOLD, whatever the law."""

NOISES = [discrete_laplace, discrete_gaussian]
SOURCES = ["system", "seeded"]


def source(kind):
    return Source() if kind == "system" else Source.seeded(5)


def log_weight(noise, k, scale):
    return -np.abs(k) / scale if noise is discrete_laplace else -0.5 * (k / scale) ** 2


def law(noise, scale):
    """Integers and their probabilities, by the definition."""
    k = np.arange(-int(45 * scale + 3), int(45 * scale + 4))
    weights = np.exp(log_weight(noise, k, scale))
    return k, weights / weights.sum()


def p_value(draws, k, probabilities):
    expected = probabilities * len(draws)
    keep = expected >= 50
    counts = np.array([(draws == each).sum() for each in k[keep]])
    observed = np.append(counts, len(draws) - counts.sum())
    wanted = np.append(expected[keep], expected[~keep].sum())
    if wanted[-1] < 50:
        observed, wanted = np.append(observed[:-2], observed[-2:].sum()), np.append(wanted[:-2], wanted[-2:].sum())
    return chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue


def distribution(noise, x, scale):
    """P(K <= x) at integers; for wide laws the Gaussian one by its continuous neighbor, equal to 1e-6."""
    if noise is discrete_gaussian:
        return ndtr((x + 0.5) / scale)
    q = np.exp(-1.0 / scale)
    tail = lambda m: np.exp(-m / scale) / (1.0 + q)  # noqa: E731 - P(K >= m) for m >= 0
    return np.where(x >= 0, 1.0 - tail(np.maximum(x, 0) + 1.0), tail(np.maximum(-x, 0)))


def distance(noise, draws, scale):
    x = np.sort(np.array(draws, dtype=float))
    right = np.searchsorted(x, x, side="right") / len(x)
    left = np.searchsorted(x, x, side="left") / len(x)
    above, below = distribution(noise, x, scale), distribution(noise, x - 1, scale)
    return np.sqrt(len(x)) * max(np.abs(right - above).max(), np.abs(left - below).max())


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.7, 20.0])
def test_small_scales_follow_the_law(noise, kind, scale):
    """Frequencies of single integers agree with the discrete law."""
    draws = np.array(noise([0] * SAMPLE_SIZE, scale, source(kind)))
    assert p_value(draws, *law(noise, scale)) > P_THRESHOLD


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("scale", [2e2, 1e3, 1e6, 1e12])
def test_large_scales_follow_the_law(noise, kind, scale):
    """The distribution function agrees with the law's."""
    draws = noise([0] * SAMPLE_SIZE, scale, source(kind))
    assert distance(noise, draws, scale) < DISTANCE + 0.02


@pytest.mark.parametrize("noise", NOISES)
def test_the_comparisons_reject_a_wrong_scale(noise):
    """Control: a scale off by an eighth is rejected by both tests, and so is the other law."""
    draws = np.array(noise([0] * SAMPLE_SIZE, 3.7 * 1.125, Source.seeded(5)))
    assert p_value(draws, *law(noise, 3.7)) < P_THRESHOLD
    wide = noise([0] * SAMPLE_SIZE, 1.2e6, Source.seeded(5))
    assert distance(noise, wide, 1e6) > DISTANCE + 0.02
    other = NOISES[1 - NOISES.index(noise)]
    assert p_value(np.array(other([0] * SAMPLE_SIZE, 3.7, Source.seeded(5))), *law(noise, 3.7)) < P_THRESHOLD


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("noise", NOISES)
def test_nothing_is_cut_at_the_ends_of_64_bits(noise, kind):
    """Sums near 2^63 and far beyond keep noise of both signs."""
    values = [2**63 - 1, -(2**63), 2**80] * 200
    found = noise(values, 1e12, source(kind))
    for value in set(values):
        moved = [new - old for new, old in zip(found, values, strict=True) if old == value]
        assert min(moved) < 0 < max(moved)
        assert max(map(abs, moved)) < 60e12


@pytest.mark.parametrize("noise", NOISES)
def test_draws_are_independent_and_new(noise):
    """Two calls differ, a seed repeats itself, and no value is given nothing at all."""
    assert noise([0] * 20, 1e9, Source()) != noise([0] * 20, 1e9, Source())
    assert noise([0] * 20, 1e9, Source.seeded(1)) == noise([0] * 20, 1e9, Source.seeded(1))
    assert noise([], 1.0, Source()) == []
    draws = np.array(noise([0] * SAMPLE_SIZE, 100.0, Source.seeded(2)), dtype=float)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.05


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan"), 2.0**56])
@pytest.mark.parametrize("noise", NOISES)
def test_scale_is_checked(noise, scale):
    """A scale that gives no noise, or more than 64 bits hold, is refused."""
    with pytest.raises(InvalidParameterError, match="scale"):
        noise([1], scale, Source())


def test_a_scale_is_rounded_up_and_no_further():
    """A float stays what it is, up to the largest; another number becomes the next float above it."""
    for scale in (1, 0.1, 2.0**55):
        assert additive._rounded_up(Fraction(scale)) == scale
    third = additive._rounded_up(Fraction(1, 3))
    assert np.nextafter(third, 0) < Fraction(1, 3) < third
    with pytest.raises(InvalidParameterError, match="coarser grid"):
        additive._rounded_up(Fraction(2**55) + Fraction(1, 2**60))


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5, 256.0])
def test_the_table_of_a_simulated_gaussian(scale):
    """Its tails are those of the law, as far as a simulation can reach."""
    k, probabilities = law(discrete_gaussian, scale)
    tails = np.cumsum(probabilities[::-1])[::-1][np.searchsorted(k, 1) :]
    found = additive._gaussian_tails(scale)
    shown = min(len(found), len(tails))
    assert shown >= 39 * scale
    np.testing.assert_allclose(found[:shown], tails[:shown], rtol=1e-9, atol=1e-300)


def test_simulated_uniform_numbers_are_inside_their_interval():
    """The least word and the largest give numbers strictly between 0 and 1, so that no noise is infinite."""

    class Ends(Source):
        def words(self, count):
            return np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)[:count]

    low, middle, high = additive._uniform(Ends(), 3)
    assert (low, middle, high) == (2.0**-65, 0.5, 1 - 2.0**-53)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(1, 3), Fraction(7, 3)])
@pytest.mark.parametrize("sensitivity", [1, 5, 32767**2])
def test_what_reaches_the_sampler_loses_at_most_epsilon(monkeypatch, epsilon, sensitivity):
    """The exact loss of the worst pair, a shift by the sensitivity, at the scale handed over; OpenDP's map agrees."""
    kept = []
    original = additive._opendp

    def keep(law_name, scale):
        kept.append((law_name, scale))
        return original(law_name, scale)

    monkeypatch.setattr(additive, "_opendp", keep)
    discrete_laplace([0], Fraction(sensitivity) / epsilon, Source())
    ((name, scale),) = kept
    # log P(k) - log P(k - D) = (|k - D| - |k|) / b, largest at k <= 0
    assert Fraction(sensitivity) / Fraction(scale) <= epsilon
    assert float(Fraction(sensitivity) / Fraction(scale)) > float(epsilon) * (1 - 1e-12)
    assert original(name, scale).map(sensitivity) <= float(epsilon) * (1 + 1e-12)


def test_half_the_scale_is_flagged():
    """Control: the exact law at half the scale loses twice epsilon on the worst pair."""
    _, probabilities = law(discrete_laplace, 5.0)
    loss = np.abs(np.log(probabilities[10:] / probabilities[:-10])).max()
    assert loss == pytest.approx(2.0)
