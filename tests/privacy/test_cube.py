"""Cube noise against its exact law, on all its roads; nothing here fails by chance above 1e-8."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammainc
from scipy.stats import chisquare, kstest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import CubeEvent
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import InvalidParameterError
from discreet.mechanisms import cube
from discreet.mechanisms.cube import check_cube, cube_noise, cube_variance
from discreet.mechanisms.rng import Source
from discreet.selftest.breaking import Fault, broken
from discreet.selftest.faults import FAULTS
from tests.effort import either

pytestmark = pytest.mark.statistics

SAMPLE_SIZE = 12_000
P_THRESHOLD = 1e-9
FAULTS_OF_CUBE = {fault.name: fault for fault in FAULTS if fault.check == "cube"}


def law(d, scale):
    """Points within reach and their probabilities by the definition: q^(largest coordinate), divided by the sum."""
    reach = int(scale * (12 + 6 * d)) + 2
    scale, far = float(scale), np.arange(20 * reach + 200, dtype=float)
    shells = (2 * far + 1) ** d - np.maximum(2 * far - 1, 0) ** d
    total = shells @ np.exp(-far / scale)
    points = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return points, np.exp(-np.abs(points).max(axis=1) / scale) / total


def p_value(d, scale, rng, size=SAMPLE_SIZE):
    """Chi-square of all points that are expected often enough, and one cell for the others."""
    points, probabilities = law(d, scale)
    width = 2 * int(np.abs(points).max()) + 1
    draws = np.array([cube_noise([5] * d, scale, rng) for _ in range(size)]) - 5
    place = lambda z: (np.clip(z, -(width // 2), width // 2) + width // 2) @ width ** np.arange(d)[::-1]  # noqa: E731
    counts = np.bincount(place(draws), minlength=width**d)[place(points)]
    expected = probabilities * size
    keep = expected >= 10
    observed = np.append(counts[keep], size - counts[keep].sum())
    wanted = np.append(expected[keep], size - expected[keep].sum())
    if wanted[-1] < 10:
        observed, wanted = observed[:-1], wanted[:-1] * observed[:-1].sum() / wanted[:-1].sum()
    return chisquare(observed, wanted).pvalue


def source(kind):
    return Source() if kind == "system" else Source.seeded(8)


SMALL = [(1, 0.3), (1, 4.0), (2, 0.4), (2, 1.7), (3, 0.5), (3, 1.2)]
BOTH = [(*cube, kind) for cube in SMALL for kind in ("system", "seeded")]
EITHER = [(*cube, ("system", "seeded")[at // 2 % 2 ^ at % 2]) for at, cube in enumerate(SMALL)]
"""Each size and each scale, with one of both sources."""


@pytest.mark.parametrize(("d", "scale", "kind"), either(EITHER, BOTH))
def test_small_cubes_follow_the_law(d, scale, kind):
    """Frequencies of single points agree with q^(largest coordinate)."""
    assert p_value(d, Fraction(scale), source(kind)) > P_THRESHOLD


def test_the_road_by_decimals_follows_the_law(monkeypatch):
    """Where floats decide nothing, more bits do, and the law is the same."""
    monkeypatch.setattr(cube, "noise_bounds", lambda words, _noise, _ahead: (0.0 * words, 1e300 + 0.0 * words))
    assert p_value(2, Fraction(3, 2), Source.seeded(4), either(1500, 3000)) > P_THRESHOLD


@pytest.mark.parametrize("scale", [2e3, 1e9, 2**55])
@pytest.mark.parametrize("d", [1, 6, 200])
def test_fine_lattices_have_gamma_radii(d, scale):
    """The largest coordinate over the scale is Gamma(d), as that of the continuous law; a scale 1.1 times it is not."""
    size = either(60, 100) if scale > 1e15 else 600
    draws = [cube_noise([0] * d, scale, Source()) for _ in range(size)]
    largest = np.array([float(max(abs(z) for z in draw)) for draw in draws]) + 0.5
    assert kstest(gammainc(d, largest / scale), "uniform").pvalue > P_THRESHOLD
    variance = np.mean([[float(z) ** 2 for z in draw] for draw in draws]) / cube_variance(d, scale)
    assert abs(variance - 1) < 8 * math.sqrt(8.0 / size)


@pytest.mark.parametrize(("d", "scale"), [(1, 0.5), (2, 1.0), (3, 2.0)])
def test_variance_is_that_of_the_law(d, scale):
    """By the sum over all points."""
    points, probabilities = law(d, scale)
    assert cube_variance(d, scale) == pytest.approx(probabilities @ points[:, 0] ** 2, rel=1e-4)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_worst_pair_loses_epsilon_and_not_more(d):
    """Every number moves by D = 2 at scale D / epsilon: the largest log-ratio over all outputs is epsilon."""
    epsilon, moved = 0.7, 2
    points, probabilities = law(d, moved / epsilon)
    of_points = np.log(probabilities).reshape([2 * int(points.max()) + 1] * d)
    first, other = (of_points[(part,) * d] for part in (slice(None, -moved), slice(moved, None)))
    assert np.abs(first - other).max() == pytest.approx(epsilon, rel=1e-9)


def test_a_tenth_less_noise_is_flagged():
    """Control: the product's own scale divided by 1.1 does not follow the law."""
    with broken(FAULTS_OF_CUBE["noise / 1.1: cube"]):
        assert p_value(2, Fraction(4), Source.seeded(1), 40_000) < P_THRESHOLD


def test_radii_that_are_all_accepted_are_flagged():
    """Control: without the acceptance the radius is too small on a coarse lattice."""
    with broken(FAULTS_OF_CUBE["every radius accepted: cube"]):
        assert p_value(3, Fraction(1), Source.seeded(1)) < P_THRESHOLD


def test_one_geometric_number_too_few_is_flagged():
    """Control: a sum of d geometric numbers is the radius of a cube of one dimension less."""
    fault = Fault("d numbers", "mechanisms.cube:_radius", "n_numbers + 1, scale", "n_numbers, scale", "cube")
    with broken(fault):
        assert p_value(2, Fraction(2), Source.seeded(1)) < P_THRESHOLD


def test_its_event_is_pure():
    """The event costs its epsilon, without delta."""
    guarantee = guarantee_of(CubeEvent(Fraction(1, 2)), NeighboringRelation.REPLACE_ONE)
    assert (float(guarantee.epsilon), float(guarantee.delta)) == (0.5, 0.0)


@pytest.mark.parametrize(("d", "scale"), [(0, 1), (3, 0), (3, 2.0**56), (1000, 2), (3, float("nan"))])
def test_what_cannot_be_drawn_is_refused(d, scale):
    """No number, no scale, one that is too large, or too small for so many numbers."""
    with pytest.raises(InvalidParameterError):
        check_cube(d, scale, "a test")


def test_a_coarse_lattice_of_few_numbers_ends():
    """Hardly any noise on few numbers is drawn all the same."""
    check_cube(4, Fraction(1, 500), "a test")
    assert cube_noise([1, 2, 3, 4], Fraction(1, 500), Source()) == [1, 2, 3, 4]
