"""The linear term of objective perturbation: its law, and what a seeded sample of the wrong law looks like."""

import mpmath
import numpy as np
import pytest
from scipy.special import erfinv, gammainc, ndtri
from scipy.stats import kstest

from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.mechanisms.spherical import ACCURACY, _exponential, _normal, _small, spherical_laplace

pytestmark = pytest.mark.statistics

SAMPLE_SIZE = 4000
P_THRESHOLD = 1e-7


class Constant(Source):
    """The same word for ever: what no entropy gives."""

    def __init__(self, word):
        self.word = word

    def words(self, count):
        return np.full(count, self.word, dtype=np.uint64)


class Scripted(Source):
    """Words as written down."""

    def __init__(self, *words):
        self.script = list(words)

    def words(self, count):
        found, self.script = self.script[:count], self.script[count:]
        return np.array(found, dtype=np.uint64)


@pytest.mark.parametrize("n_numbers", [1, 2, 7])
def test_length_is_gamma_and_direction_uniform(n_numbers):
    """The length's distribution is that of Gamma(n, 1 / rate); each coordinate's sign is fair, and n = 1 is Laplace."""
    source = Source.seeded(5)
    sample = np.array([spherical_laplace(n_numbers, 2.5, source) for _ in range(SAMPLE_SIZE)])
    shares = gammainc(n_numbers, 2.5 * np.linalg.norm(sample, axis=1))
    assert kstest(shares, "uniform").pvalue > P_THRESHOLD
    assert kstest(gammainc(n_numbers, 3.0 * np.linalg.norm(sample, axis=1)), "uniform").pvalue < P_THRESHOLD  # control
    assert abs((sample > 0).mean(axis=0) - 0.5).max() < 6 * 0.5 / SAMPLE_SIZE**0.5
    if n_numbers == 2:
        angles = (np.arctan2(sample[:, 1], sample[:, 0]) + np.pi) / (2 * np.pi)
        assert kstest(angles, "uniform").pvalue > P_THRESHOLD


def test_parts_have_their_laws():
    """Normal and exponential numbers, put together from tail and center, leave no gap where the two meet."""
    source, count = Source.seeded(6), 40_000
    assert kstest(_normal(source, count), "norm").pvalue > P_THRESHOLD
    assert kstest(_exponential(source, count), "expon").pvalue > P_THRESHOLD
    small = _small(source, count)
    assert kstest(2.0 * small, "uniform").pvalue > P_THRESHOLD
    assert kstest(2.0 * np.sqrt(small / 2.0), "uniform").pvalue < P_THRESHOLD  # control
    tail = small[small < 2.0**-6]
    assert abs(len(tail) - count / 32) < 6 * (count / 32) ** 0.5
    assert kstest(64.0 * tail, "uniform").pvalue > P_THRESHOLD


def test_small_chances_have_their_own_bits():
    """Zeros are counted over further words, and 51 bits follow them wherever that ends."""
    ones = 2**64 - 1
    assert _small(Scripted(ones, 0), 1) == 0.25 * (1.0 + 2.0**-52)
    assert _small(Scripted(ones, ones), 1) == 0.5 - 2.0**-54
    assert _small(Scripted(1, 0), 1) == 2.0**-65 * (1.0 + 2.0**-52)
    assert _small(Scripted(0, 0, 2**63, ones), 1) == 2.0**-130 * (2.0 - 2.0**-52)
    both = _small(Scripted(0, ones, 1, 0, ones), 2)  # the first number alone needs a further word
    assert both.tolist() == [2.0**-129 * (1.0 + 2.0**-52), 0.5 - 2.0**-54]


@pytest.mark.parametrize("word", [0, 1, 2**11, 2**52, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("n_numbers", [1, 2, 50])
def test_extreme_words_give_finite_vectors(word, n_numbers):
    """Never zero, never infinite, never not a number; chances are never 0, and never reach 1/2."""
    source = Constant(word)
    chance = _small(source, n_numbers)
    assert ((chance > 0.0) & (chance < 0.5)).all()
    found = spherical_laplace(n_numbers, 0.5, source)
    assert np.isfinite(found).all()
    assert (found != 0.0).all()
    assert np.linalg.norm(found) < 2.0 * 700.0 * n_numbers


def test_parts_are_accurate_near_zero_and_far_out():
    """Against 40 digits, the relative error of each part is far below what is claimed for the vector."""
    source = Source.seeded(7)
    chances = np.concatenate([_small(source, 60), 2.0 ** -np.linspace(2.0, 962.0, 60)])
    with mpmath.workdps(40):
        for chance in chances:
            exact = mpmath.mpf(float(chance))
            tail = mpmath.mpf(float(-ndtri(chance / 2.0)))
            error = (mpmath.erfc(tail / mpmath.sqrt(2)) - exact) / (2 * mpmath.npdf(tail) * tail)
            assert abs(error) < ACCURACY / 100
            center = mpmath.sqrt(2) * mpmath.mpf(float(erfinv(chance)))
            error = (mpmath.erf(center / mpmath.sqrt(2)) - exact) / (2 * mpmath.npdf(center) * center)
            assert abs(error) < ACCURACY / 100
            for value, wanted in (
                (-np.log(chance), -mpmath.log(exact)),
                (-np.log1p(-chance), -mpmath.log1p(-exact)),
            ):
                assert abs(mpmath.mpf(float(value)) - wanted) < wanted * ACCURACY / 100


@pytest.mark.parametrize(("n_numbers", "rate"), [(0, 1.0), (1, 0.0), (1, float("inf")), (1, float("nan"))])
def test_bad_parameters_are_refused(n_numbers, rate):
    """Dimension and rate must be positive."""
    with pytest.raises(InvalidParameterError):
        spherical_laplace(n_numbers, rate, Source())
