"""Noise in an ellipsoid against its law, on all its roads; nothing here fails by chance above 1e-8."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammainc, ndtr
from scipy.stats import chisquare, kstest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import EllipsoidEvent
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import InvalidParameterError
from discreet.mechanisms import ellipsoid
from discreet.mechanisms.ellipsoid import ellipsoid_noise
from discreet.mechanisms.reals import Uniform, Words
from discreet.mechanisms.rng import Source
from discreet.selftest.breaking import broken
from discreet.selftest.faults import FAULTS

pytestmark = pytest.mark.statistics

SAMPLE_SIZE = 3_000
P_THRESHOLD = 1e-9
FAULTS_OF_ELLIPSOID = {fault.name: fault for fault in FAULTS if fault.check == "ellipsoid"}


def source(kind):
    return Source() if kind == "system" else Source.seeded(8)


def law(scales, reach, fine=41):
    """Chances of the points within reach: of each cell of the lattice, the density's mean at many points of it."""
    d = len(scales)
    within = (np.arange(fine) + 0.5) / fine - 0.5
    axes = [np.add.outer(np.arange(-reach, reach + 1), within).ravel() / scale for scale in scales]
    if d == 1:
        density = np.exp(-np.abs(axes[0])) / 2.0 / scales[0]
        return density.reshape(-1, fine).mean(axis=1)
    density = np.exp(-np.hypot(axes[0][:, None], axes[1][None, :])) / (2.0 * math.pi * scales[0] * scales[1])
    width = 2 * reach + 1
    return density.reshape(width, fine, width, fine).mean(axis=(1, 3))


def p_value(scales, rng, size=SAMPLE_SIZE):
    """Chi-square of all points that are expected often enough, and one cell for the others."""
    reach = int(14 * max(scales)) + 2
    chances = law(scales, reach).ravel()
    draws = np.array([ellipsoid_noise([5] * len(scales), scales, rng) for _ in range(size)]) - 5
    places = (np.clip(draws, -reach, reach) + reach) @ (2 * reach + 1) ** np.arange(len(scales))[::-1]
    counts, expected = np.bincount(places, minlength=len(chances)), chances * size
    often = expected >= 10
    observed, wanted = (
        np.append(counts[often], size - counts[often].sum()),
        np.append(expected[often], size - expected[often].sum()),
    )
    return chisquare(observed, wanted).pvalue


@pytest.mark.parametrize("kind", ["system", "seeded"])
@pytest.mark.parametrize("scales", [(0.3,), (4.0,), (0.4, 0.4), (1.7, 0.6)])
def test_coarse_lattices_follow_the_law(scales, kind):
    """Frequencies of single points agree with the density over the cell that is rounded to them."""
    assert p_value(scales, source(kind)) > P_THRESHOLD


@pytest.mark.parametrize("digits", [6, 12])
def test_the_road_by_more_digits_follows_the_law(monkeypatch, digits):
    """Where few digits decide little, more do, and the law is the same."""
    monkeypatch.setattr(ellipsoid, "DIGITS", digits)
    assert p_value((1.7, 0.6), Source()) > P_THRESHOLD


def test_enclosures_lie_within_each_other():
    """More digits of the same numbers give ends within those of fewer, for the waiting time and for every number."""
    words = Words(Source.seeded(5))
    points = [ellipsoid._in_disk(words) for _ in range(20)]
    energies = [Uniform(words) for _ in range(3)]
    outer = None
    for digits in (6, 20, 60):
        low, high = ellipsoid._downward(digits), ellipsoid._upward(digits)
        time = ellipsoid._time(energies, points[0], low, high)
        ends = [time, *(end for point in points for end in ellipsoid._normals(point, time, low, high))]
        assert all(least <= most for least, most in ends)
        for inner, before in zip(ends, outer or ends, strict=True):
            assert before[0] <= inner[0] <= inner[1] <= before[1]
        outer = ends


def vectors(d, kind, size, scales):
    rng = source(kind)
    return np.array([ellipsoid_noise([0] * d, scales, rng) for _ in range(size)], dtype=float) / np.array(scales, float)


@pytest.mark.parametrize("kind", ["system", "seeded"])
@pytest.mark.parametrize(("d", "size"), [(1, 2000), (2, 2000), (7, 1500), (36, 200)])
def test_fine_lattices_have_gamma_lengths_and_uniform_directions(d, size, kind):
    """At scales from 10^9 to 2^55: lengths are Gamma(d), each number has a variance of d + 1 squared scales."""
    scales = [Fraction(2**55 if j % 2 else 10**9) for j in range(d)]
    drawn = vectors(d, kind, size, scales)
    lengths = np.linalg.norm(drawn, axis=1)
    assert kstest(gammainc(d, lengths), "uniform").pvalue > P_THRESHOLD
    assert kstest(gammainc(d, 1.1 * lengths), "uniform").pvalue < 1e-3 or d < 7
    assert abs((drawn**2).mean() / (d + 1) - 1) < 8 * math.sqrt(6.0 / (d * size) + 4.0 / (d * size))
    # A normal vector's direction: scaled by an independent chi it is normal again.
    radius = np.sqrt(np.random.default_rng(3).chisquare(d, size))  # noqa: TID251 - of the test, not noise
    assert kstest(ndtr(drawn / lengths[:, None] * radius[:, None]).ravel(), "uniform").pvalue > P_THRESHOLD


@pytest.mark.parametrize("scales", [(1.5,), (1.2, 0.7)])
def test_the_worst_pair_loses_epsilon_and_not_more(scales):
    """The numbers move by a length of epsilon: the largest log-ratio is epsilon, nearly attained far out."""
    reach, moved = 30, [1, 1][: len(scales)]
    epsilon = math.hypot(*(move / scale for move, scale in zip(moved, scales, strict=True)))
    logs = np.log(law(scales, reach))
    still, gone = (tuple(part for _ in scales) for part in (slice(None, -1), slice(1, None)))
    ratios = np.abs(logs[gone] - logs[still])
    assert 0.97 * epsilon < ratios.max() <= epsilon * (1 + 1e-9)


def test_a_tenth_less_noise_is_flagged():
    """Control: the product's own scale divided by 1.1 does not follow the law."""
    with broken(FAULTS_OF_ELLIPSOID["noise / 1.1: ellipsoid"]):
        lengths = np.linalg.norm(vectors(7, "system", 2000, [Fraction(10**9)] * 7), axis=1)
    assert kstest(gammainc(7, lengths), "uniform").pvalue < P_THRESHOLD


@pytest.mark.parametrize("d", [3, 4])
def test_one_exponential_number_too_few_is_flagged(d):
    """Control: the length is then that of two dimensions less."""
    with broken(FAULTS_OF_ELLIPSOID["one exponential number too few: ellipsoid"]):
        lengths = np.linalg.norm(vectors(d, "system", 600, [Fraction(10**9)] * d), axis=1)
    assert kstest(gammainc(d, lengths), "uniform").pvalue < P_THRESHOLD


def test_its_event_is_pure():
    """The event costs its epsilon, without delta."""
    guarantee = guarantee_of(EllipsoidEvent(Fraction(1, 2)), NeighboringRelation.REPLACE_ONE)
    assert (float(guarantee.epsilon), float(guarantee.delta)) == (0.5, 0.0)


@pytest.mark.parametrize("scales", [[], [1], [1, 0], [1, 2.0**56], [1, float("nan")]])
def test_what_cannot_be_drawn_is_refused(scales):
    """No scale, one too few, none above zero, one that is too large, and no number."""
    with pytest.raises(InvalidParameterError):
        ellipsoid_noise([1, 2], scales, Source())


def test_large_numbers_stay_whole():
    """Values beyond 64 bits, and hardly any noise."""
    assert ellipsoid_noise([2**80, -3, 5], [Fraction(1, 500)] * 3, Source()) == [2**80, -3, 5]
