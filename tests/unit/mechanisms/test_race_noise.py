"""Noises as races: chances of keeping a point, and noises known to exceed a value, against 200 digits."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from race_sources import ends, middle, uniform
from scipy.stats import kstest
from tests.effort import either

from discreet.mechanisms.race_noise import RaceNoise
from discreet.mechanisms.reals import Real, Uniform, Words
from discreet.mechanisms.rng import Source

pytestmark = pytest.mark.statistics

NOISES = ["exponential", "gumbel", "laplace"]
SAMPLE_SIZE = either(8_000, 20_000)
P_THRESHOLD = 1e-8
WORDS = [
    0,
    1,
    2,
    2**63 - 1,
    2**63,
    2**64 - 2,
    2**64 - 1,
    *(int(word) for word in Source.seeded(8).words(either(4, 20))),
]
STARTS: dict[str, list[float | None]] = {
    "exponential": [None, -800.0, -40.0, -3.0, -math.log(2.0) - 1e-6, -math.log(2.0)],
    "gumbel": [None, -800.0, -40.0, -1.0, 0.0, 3.0, 50.0],
    "laplace": [None, -800.0, -40.0, -1e-9, 0.0, 1e-9, 3.0, 50.0],
}


@pytest.fixture(autouse=True)
def _precision() -> Any:
    with mpmath.workdps(200):
        yield


def hazard(noise: str, z: Any) -> Any:
    """Cumulated, from the definition."""
    if noise == "gumbel":
        return mpmath.exp(z)
    if noise == "exponential":
        return -mpmath.log(1 - mpmath.exp(z))
    return -mpmath.log(1 - mpmath.exp(z) / 2) if z < 0 else z + mpmath.log(2)


def quantile(noise: str, h: Any) -> Any:
    """Where the cumulated hazard is h."""
    if noise == "gumbel":
        return mpmath.log(h)
    if noise == "exponential":
        return mpmath.log(-mpmath.expm1(-h))
    return mpmath.log(-2 * mpmath.expm1(-h)) if h < mpmath.log(2) else h - mpmath.log(2)


def chance(noise: str, z: Any) -> Any:
    """The hazard rate over kappa e^z."""
    kappa = 2 if noise == "exponential" else 1
    return mpmath.diff(lambda x: hazard(noise, x), z) / (kappa * mpmath.exp(z))


@pytest.mark.parametrize("noise", NOISES)
def test_a_finished_noise_is_within_its_error(noise: str) -> None:
    """H^-1(H(z0) + E) by mpmath; floats within the announced error, digits around it."""
    for start in STARTS[noise]:
        for word in WORDS:
            for error in (0.0, 1e-9, 1e-4):
                number = uniform(word, seed=word % 89)
                shift = mpmath.mpf(0) if start is None else mpmath.mpf(start) - mpmath.mpf(error) * mpmath.mpf("0.9")
                begin = None if start is None else Real(start, error, _around(shift))
                found = RaceNoise(noise).finish(begin, number)  # type: ignore[arg-type]
                before = mpmath.mpf(0) if start is None else hazard(noise, shift)
                true = quantile(noise, before - mpmath.log(middle(number)))
                low, high = ends(found)
                assert low <= true <= high, (start, word)
                assert abs(true - found.value) <= found.error, (start, word, error)


def _around(number: Any) -> Callable[[int], Any]:
    from decimal import Decimal

    exact = Decimal(mpmath.nstr(number, 300))
    return lambda _: (exact, exact)


@pytest.mark.parametrize("noise", NOISES)
def test_errors_of_a_finished_noise_are_small_where_nothing_is_extreme(noise: str) -> None:
    """Floats decide nearly always."""
    words = Words(Source.seeded(3))
    errors = [RaceNoise(noise).finish(Real.exactly(-1.5), Uniform(words)).error for _ in range(500)]  # type: ignore[arg-type]
    assert max(errors) < 1e-10


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_chances_of_keeping_are_the_hazard_s(noise: str) -> None:
    """A uniform number a hair below the chance keeps, a hair above does not: around every kink too."""
    kinks = [0.0] if noise == "laplace" else [-math.log(2.0)]
    places = [-800.0, -40.0, -2.0, *(k - h for k in kinks for h in (1e-3, 1e-9, 1e-15, 1e-17, 0.0))]
    if noise == "laplace":
        places += [1e-17, 1e-15, 1e-9, 1e-3, 2.0, 40.0]
    for z in places:
        p = _chance(noise, z)
        for hair in ("1e-3", "1e-15", "1e-18", "1e-100"):
            for sign in (-1, 1):
                u = p * (1 + sign * mpmath.mpf(hair))
                if 0 < u < 1:
                    assert RaceNoise(noise).keeps(_number(u), Real.exactly(z)) == (sign < 0), (z, hair)  # type: ignore[arg-type]


def _chance(noise: str, z: float) -> Any:
    """In closed form, at a float."""
    x = mpmath.mpf(z)
    if noise == "exponential":
        return 1 / (2 * (1 - mpmath.exp(x)))
    return 1 / (2 - mpmath.exp(x)) if z < 0 else mpmath.exp(-x)


def _number(u: Any) -> Uniform:
    """The uniform number u, to 512 bits."""
    whole = int(mpmath.floor(u * mpmath.mpf(2) ** 512))
    return uniform(*((whole >> (64 * k)) & (2**64 - 1) for k in range(7, -1, -1)))


@pytest.mark.parametrize("noise", NOISES)
def test_the_closed_chances_are_derivatives(noise: str) -> None:
    """The test's own formulas agree with the derivative of the cumulated hazard."""
    for z in (-5.0, -1.0, -0.7, *((0.5, 4.0) if noise != "exponential" else ())):
        closed = mpmath.mpf(1) if noise == "gumbel" else _chance(noise, z)
        assert abs(chance(noise, mpmath.mpf(z)) - closed) < mpmath.mpf(10) ** -50
        assert 0 < closed <= 1


def test_gumbel_keeps_every_point() -> None:
    """Its hazard is that of the process."""
    assert all(RaceNoise("gumbel").keeps(uniform(word), Real.exactly(3.0)) for word in WORDS)


@pytest.mark.parametrize("noise", NOISES)
def test_keeping_is_decided_where_z_is_unsure(noise: str) -> None:
    """A z known up to an error near the kink: the digits of z decide."""
    from decimal import Decimal

    kink = -math.log(2.0) - 1e-12 if noise == "exponential" else 0.0
    for offset in ("-1e-20", "-1e-30"):
        exact = Decimal(kink) + Decimal(offset)
        z = Real(kink, 1e-9, lambda _, exact=exact: (exact, exact))
        for word in (2**64 - 1, 2**64 - 2, 2**63, 1, 0):
            kept = RaceNoise(noise).keeps(uniform(word), z)  # type: ignore[arg-type]
            p = mpmath.mpf(1) if noise == "gumbel" else _chance(noise, float(exact))
            if abs(mpmath.mpf(word) / mpmath.mpf(2) ** 64 - p) > 1e-15:
                assert kept == (word < p * mpmath.mpf(2) ** 64)


@pytest.mark.parametrize("start", [None, -1.2])
@pytest.mark.parametrize("noise", NOISES)
def test_finished_noises_follow_the_law_above_the_start(noise: str, start: float | None) -> None:
    """H(z) - H(z0) is exponential."""
    words = Words(Source.seeded(6))
    begin = None if start is None else Real.exactly(start)
    z = np.array([RaceNoise(noise).finish(begin, Uniform(words)).value for _ in range(SAMPLE_SIZE)])  # type: ignore[arg-type]
    found = _hazards(noise, z) - (0.0 if start is None else _hazards(noise, np.array([start]))[0])
    assert kstest(found, "expon").pvalue > P_THRESHOLD
    assert kstest(1.15 * found, "expon").pvalue < P_THRESHOLD


def _hazards(noise: str, z: Any) -> Any:
    if noise == "gumbel":
        return np.exp(z)
    if noise == "exponential":
        return -np.log(-np.expm1(z))
    return np.where(z < 0, -np.log1p(-0.5 * np.exp(np.minimum(z, 0.0))), z + math.log(2.0))


@pytest.mark.parametrize("noise", NOISES)
def test_first_kept_points_follow_the_noise(noise: str) -> None:
    """A process of rate kappa e^z whose points are kept by chance, finished where it is capped: the noise itself."""
    from discreet.mechanisms.reals import log_sum

    words, law = Words(Source.seeded(12)), RaceNoise(noise)  # type: ignore[arg-type]
    rate, cap = Real.exactly(math.log(law.kappa)), Real.exactly(-math.log(2.0) - 1e-6)
    found = []
    for _ in range(SAMPLE_SIZE // 4):
        z: Real | None = None
        while True:
            z = log_sum(z, [Uniform(words)], rate)
            if law.is_capped and cap < z:
                z = law.finish(cap, Uniform(words))
                break
            if law.keeps(Uniform(words), z):
                break
        found.append(z.value)
    assert kstest(_hazards(noise, np.array(found)), "expon").pvalue > P_THRESHOLD
