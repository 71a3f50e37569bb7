"""Gaussian noise: the condition against fifty digits, the lattice against exact sums, and the calibration."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfcx

from discreet.accounting import gaussian
from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.gaussian import gaussian_rho, steps_of_gaussian
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.zcdp import NEVER, rho_of_epsilon, rounded_up
from discreet.errors import InvalidParameterError, UnsupportedEventError

RELATION = NeighboringRelation.REPLACE_ONE
STEP = Fraction(1, 10**9)
MILLIONTH = Fraction(1, 10**6)

mus = st.builds(lambda m, k: Fraction(m) * Fraction(10) ** k, st.integers(1, 99), st.integers(-12, -1))
deltas = st.one_of(st.sampled_from(["1e-390", "1e-300", "1e-40", "0.4999"]), st.floats(1e-15, 0.5)).map(
    lambda delta: Fraction(str(delta))
)
shifts = st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1, 10**9), Fraction(1, 10**13), Fraction(40)])
epsilons = st.builds(lambda m, k: Fraction(m) * Fraction(10) ** k, st.integers(1, 999), st.integers(-6, -1))


def exact_delta(epsilon, rho):
    """Balle and Wang's condition with 80 digits, so that nothing cancels."""
    with mpmath.workdps(80):
        epsilon, twice = (mpmath.mpf(x.numerator) / x.denominator for x in (epsilon, 2 * rho))
        mu = mpmath.sqrt(twice)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def fits(delta, steps, rho, shift):
    """Tell whether some steps are enough, exactly."""
    epsilon = steps * STEP - shift
    if epsilon < 0:
        return False
    with mpmath.workdps(80):
        return exact_delta(epsilon, rho) <= mpmath.mpf(delta.numerator) / delta.denominator


@given(mus, deltas, shifts)
def test_the_condition_is_met_and_nearly_not(mu, delta, shift):
    """The steps returned are enough, and two fewer are not."""
    rho = mu**2 / 2
    steps = steps_of_gaussian(rho, delta, shift)
    assert fits(delta, steps, rho, shift)
    assert steps <= 2 or not fits(delta, steps - 2, rho, shift)


@given(st.floats(1e-3, 30), st.floats(1e-4, 20))
def test_the_condition_is_never_met_too_early(epsilon, mu):
    """A delta that is below the exact one by a few roundings is refused; one that is above by far more is not."""
    with mpmath.workdps(80):
        exact = mpmath.log(exact_delta(Fraction(epsilon), Fraction(mu) ** 2 / 2))
        if not -900 < exact < math.log(0.5):
            return
        below = math.nextafter(float(exact), -math.inf)
        size = 1.0 + abs(below) + (epsilon / mu) ** 2
    assert not gaussian._holds(epsilon, mu, below)
    assert gaussian._holds(epsilon, mu, below + 1e-13 * size / min(mu, 1.0) * (1.0 + epsilon / mu))


@given(st.fractions(min_value=-(10**6), max_value=10**6), st.integers(-60, 60))
def test_floats_are_on_the_safe_side(value, power):
    """Epsilon is rounded down and mu up, each to the nearest float on its side or the next."""
    value *= Fraction(2) ** power
    low = gaussian._below(value)
    assert Fraction(low) <= value < Fraction(math.nextafter(low, math.inf))
    if value > 0:
        high, mu = rounded_up(value), gaussian._mu(value)
        assert Fraction(math.nextafter(high, 0)) < value <= Fraction(high)
        assert 2 * value <= Fraction(mu) ** 2 <= 2 * value * (1 + Fraction(1, 2**49))


def test_the_error_of_mills_ratio():
    """Scipy's erfcx errs by no more than is allowed for: 128 roundings for each of two values."""
    with mpmath.workdps(60):
        for x in [*np.linspace(-3.6, 40, 2001), *np.logspace(-12, 8, 500)]:
            exact = mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(mpmath.mpf(x)) if x < 100 else asymptotic(x)
            assert abs(erfcx(x) / exact - 1) < 60 * 2.0**-53


def asymptotic(x):
    """Expand erfcx at large x."""
    x = mpmath.mpf(x)
    return sum((-1) ** k * mpmath.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(8)) / (x * mpmath.sqrt(mpmath.pi))


def tail(k, scale):
    """P(X >= k) of the discrete Gaussian for k >= 1."""
    top = k + math.ceil(20 * scale) + 20
    weights = [mpmath.exp(-(mpmath.mpf(j) ** 2) / (2 * scale**2)) for j in range(top)]
    return mpmath.fsum(weights[k:]) / (2 * mpmath.fsum(weights) - 1)


@pytest.mark.parametrize("scale", ["0.05", "0.2", "0.4", "0.57", "0.58", "0.7", "1", "2", "7.5", "30"])
def test_the_order_that_the_proof_rests_on(scale):
    """P(Y >= k) <= P(X >= k) <= P(Y >= k - 1) for every k >= 1, and by symmetry the order for every k."""
    with mpmath.workdps(60):
        scale = mpmath.mpf(scale)
        for k in {1, 2, 3, 5, int(3 * scale) + 1, int(9 * scale) + 2}:
            here = tail(k, scale)
            assert mpmath.ncdf(-k / scale) <= here <= mpmath.ncdf(-(k - 1) / scale)


def exact_discrete_delta(epsilon, change, scales):
    """Sum max(0, P - e^epsilon Q) over all points of the lattice that matter."""
    laws = []
    for v, scale in zip(change, scales, strict=True):
        reach = math.ceil(14 * scale) + abs(v) + 3
        points = np.arange(-reach, reach + 1)
        weight = np.exp(-0.5 * (points / scale) ** 2)
        total = np.exp(-0.5 * (np.arange(-2 * reach, 2 * reach + 1) / scale) ** 2).sum()
        laws.append((weight / total, (v * v - 2 * v * points) / (2 * scale**2)))
    mass, loss = laws[0]
    for other, more in laws[1:]:
        mass, loss = np.outer(mass, other).ravel(), np.add.outer(loss, more).ravel()
    return math.fsum(mass * -np.expm1(np.minimum(epsilon - loss, 0.0)))


CHANGES = [(1,), (2,), (7,), (1, 1), (1, -2), (3, 0), (5, 5)]


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("scale", [0.4, 0.8, 1.5, 4.0, 11.0])
def test_the_lattice_term_covers_the_exact_law(change, scale):
    """At the epsilon returned, the exact delta of one and two coordinates is within the target."""
    scales = (scale, 1.7 * scale)[: len(change)]
    rho = sum(Fraction(v * v) / (2 * Fraction(s) ** 2) for v, s in zip(change, scales, strict=True))
    lattice = sum(Fraction(abs(v)) / Fraction(s) ** 2 for v, s in zip(change, scales, strict=True))
    for delta in ("0.1", "1e-3", "1e-6", "1e-9"):
        epsilon = guarantee_of(GaussianEvent(rho, lattice), RELATION, Fraction(delta)).epsilon
        assert exact_discrete_delta(float(epsilon), change, scales) <= float(delta) * (1 + 1e-9)
    for epsilon in np.linspace(-3, 6, 19):  # the whole curve, negative epsilon too: what composition needs
        moved = Fraction(epsilon) - lattice
        assert exact_discrete_delta(epsilon, change, scales) <= float(exact_delta(moved, rho)) + 1e-13


@pytest.mark.parametrize(("scale", "delta"), [(0.5, "1e-4"), (0.8, "1e-4"), (1.5, "1e-8"), (4.0, "1e-6")])
def test_the_lattice_term_is_needed(scale, delta):
    """Without it the delta of a small scale would be understated."""
    bare = steps_of_gaussian(1 / (2 * Fraction(scale) ** 2), Fraction(delta), Fraction(0)) * STEP
    assert exact_discrete_delta(float(bare), (1,), (scale,)) > 1.04 * float(delta)


OTHERS = [
    (),
    (SelectionEvent(Fraction(1, 10**7), "exponential"),),
    (SelectionEvent(Fraction(1, 10**8), "gumbel"),) * 20,
    (FailureEvent(Fraction(1, 10**400)), LaplaceEvent(Fraction(1, 10**7)), GaussianEvent(Fraction(1, 10**20), STEP)),
]


@given(epsilons, deltas, st.sampled_from(OTHERS), st.sampled_from([Fraction(0), Fraction(1, 10**8)]))
def test_the_calibration_gives_what_was_asked(epsilon, delta, others, lattice):
    """The guarantee of the whole is the epsilon asked for, to the last digit."""
    rho = gaussian_rho(epsilon, delta, others, lattice)
    whole = ComposedEvent((*others, GaussianEvent(rho, lattice)))
    assert guarantee_of(whole, RELATION, delta).epsilon == epsilon


def test_many_selections_beside_gaussian_noise():
    """Where their sum is above epsilon, zero-concentrated accounting still leaves something."""
    others = (SelectionEvent(Fraction(1, 10), "gumbel"),) * 15
    rho = gaussian_rho(Fraction(1), MILLIONTH, others)
    left = rho_of_epsilon(1, MILLIONTH) - 15 * Fraction(1, 800)
    assert left * (1 - Fraction(1, 10**9)) <= rho <= left
    assert guarantee_of(ComposedEvent((*others, GaussianEvent(rho, Fraction(0)))), RELATION, MILLIONTH).epsilon == 1


def test_the_published_scale():
    """The privacy specification's s = 4.225 at epsilon 1 and delta 1e-6; the second call with the lattice's bound."""
    first = gaussian_rho(Fraction(1), MILLIONTH)
    assert math.sqrt(1 / (2 * first)) == pytest.approx(4.2247, abs=1e-4)
    second = gaussian_rho(Fraction(1), MILLIONTH, lattice=2 * first)
    assert second < first
    real = GaussianEvent(second, 2 * second)
    assert guarantee_of(real, RELATION, MILLIONTH).epsilon <= 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(10**9 + 1, 10**10), Fraction(1000), STEP])
def test_epsilons_between_the_steps(epsilon):
    """The guarantee never exceeds what was asked, and is less than a step below."""
    rho = gaussian_rho(epsilon, MILLIONTH)
    found = guarantee_of(GaussianEvent(rho, Fraction(0)), RELATION, MILLIONTH).epsilon
    assert epsilon - STEP < found <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "others", "lattice"),
    [
        (Fraction(1), Fraction(0), (), Fraction(0)),
        (Fraction(1), MILLIONTH, (FailureEvent(MILLIONTH),), Fraction(0)),
        (Fraction(1), MILLIONTH, (SelectionEvent(Fraction(2), "exponential"),), Fraction(0)),
        (Fraction(1), Fraction(1), (), Fraction(0)),
        (Fraction(0), MILLIONTH, (), Fraction(0)),
        (Fraction(1), MILLIONTH, (), Fraction(-1)),
        (STEP / 2, MILLIONTH, (), Fraction(0)),
    ],
)
def test_no_room_for_noise(epsilon, delta, others, lattice):
    """Without delta, without epsilon left, or out of range: refused with the number's name."""
    with pytest.raises(InvalidParameterError, match=r"delta|epsilon|lattice"):
        gaussian_rho(epsilon, delta, others, lattice)


@pytest.mark.parametrize("others", [(), (FailureEvent(2 * MILLIONTH),), (FailureEvent(MILLIONTH),)])
def test_failures_leave_no_delta(others):
    """What the other parts may fail with is taken from delta first, and the refusal says that delta is too small."""
    with pytest.raises(InvalidParameterError, match="delta above what the other parts may fail with"):
        gaussian_rho(Fraction(1), MILLIONTH if others else Fraction(0), others)


def test_others_must_be_known():
    """An empty composition has no cost to leave room beside."""
    with pytest.raises(UnsupportedEventError):
        gaussian_rho(Fraction(1), MILLIONTH, (ComposedEvent(()),))


def test_the_ends_of_the_range():
    """No delta is no epsilon; a huge rho has none that counts; tiny ones cost one step."""
    assert steps_of_gaussian(Fraction(1), Fraction(0), Fraction(0)) == NEVER
    assert steps_of_gaussian(Fraction(10**7), MILLIONTH, Fraction(0)) == NEVER
    assert steps_of_gaussian(Fraction(1, 10**60), MILLIONTH, Fraction(0)) == 1
    assert steps_of_gaussian(Fraction(1, 10**600), Fraction(1, 10**390), Fraction(0)) == 1
    assert steps_of_gaussian(Fraction(1, 10**40), Fraction(1, 10), Fraction(1)) == 10**9
    for mu, delta in itertools.product((Fraction(1, 10), Fraction(20)), (Fraction(1, 2), Fraction(999, 1000))):
        assert steps_of_gaussian(mu**2 / 2, delta, Fraction(0)) == steps_of_gaussian(
            mu**2 / 2, Fraction(1, 2), Fraction(0)
        )


@pytest.mark.parametrize("rho", [61, 100, 5000, 10**6])
def test_large_rhos_have_an_epsilon_too(rho):
    """The steps returned are enough and two fewer are not, up to the rho from which on no epsilon serves."""
    steps = steps_of_gaussian(Fraction(rho), MILLIONTH, Fraction(0))
    assert fits(MILLIONTH, steps, Fraction(rho), Fraction(0))
    assert not fits(MILLIONTH, steps - 2, Fraction(rho), Fraction(0))
    assert steps_of_gaussian(Fraction(10**6) + STEP, MILLIONTH, Fraction(0)) == NEVER


@pytest.mark.parametrize("mu", ["0.003", "0.2", "0.9", "2.5", "9", "30"])
def test_a_delta_just_missed_is_missed(mu):
    """Where an epsilon lacks 10^-30 of the delta no rounding may grant it."""
    rho = Fraction(mu) ** 2 / 2
    for tail in (Fraction(1, 2), 1, 2, 4, 6, 20):
        steps = int(Fraction(mu) * (tail + Fraction(mu) / 2) * 10**9)
        with mpmath.workdps(80):
            scaled = exact_delta(steps * STEP, rho) * (1 - mpmath.mpf(10) ** -30) * mpmath.mpf(2) ** 1000
        delta = Fraction(int(scaled), 2**1000)
        assert not fits(delta, steps, rho, Fraction(0))
        assert steps_of_gaussian(rho, delta, Fraction(0)) > steps
