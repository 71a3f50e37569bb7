"""Zero-concentrated accounting: the conversion against fifty digits, both ways, and the cost of pure parts."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.events import ComposedEvent, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from discreet.accounting.totals import rho_of_pure
from discreet.accounting.zcdp import epsilon_of_rho, log_of, pure_of_rho, rho_of, rho_of_epsilon, steps_of_rho
from discreet.errors import InvalidParameterError

STEP = Fraction(1, 10**9)
deltas = st.one_of(st.sampled_from(["1e-390", "1e-300", "1e-40", "0.4999", "0.9999999"]), st.floats(1e-15, 0.9))
rhos = st.builds(lambda m, k: Fraction(m) * Fraction(10) ** k, st.integers(1, 999), st.integers(-14, -1))


def best_epsilon(rho, delta):
    """Minimize the conversion over its order, with fifty digits."""
    with mpmath.workdps(50):
        rho, delta = (mpmath.mpf(x.numerator) / x.denominator for x in (Fraction(rho), Fraction(delta)))

        def slope(order):
            return rho * (order - 1) ** 2 + mpmath.log(order * delta)

        low, high = mpmath.mpf(1), 1 + mpmath.sqrt(-mpmath.log(delta) / rho)
        for _ in range(400):
            middle = (low + high) / 2
            low, high = (low, middle) if slope(middle) > 0 else (middle, high)
        return order_epsilon(high, rho, delta)


def order_epsilon(order, rho, delta):
    """Evaluate Canonne, Kamath and Steinke's Corollary 13 at one order."""
    return order * rho - mpmath.log(order * delta) / (order - 1) + mpmath.log1p(-1 / order)


@pytest.mark.slow
@given(rhos, deltas)
def test_the_conversion_never_understates(rho, delta):
    """It is the exact least epsilon, or less than two steps above it."""
    delta = min(Fraction(str(delta)), Fraction(1, 2))
    found, exact = epsilon_of_rho(rho, delta), best_epsilon(rho, delta)
    with mpmath.workdps(50):
        shown = mpmath.mpf(found.numerator) / found.denominator
        assert exact <= shown < max(exact, 0) + 2e-9
    assert found % STEP == 0


@given(st.floats(1e-9, 1000), deltas)
def test_the_way_back_is_the_largest_rho(epsilon, delta):
    """Its epsilon is the one asked for, to the step; a billionth more rho costs no less."""
    delta = Fraction(str(delta))
    rho = rho_of_epsilon(epsilon, delta)
    steps = Fraction(str(epsilon)) // STEP
    assert steps * STEP - STEP <= epsilon_of_rho(rho, delta) <= steps * STEP
    assert epsilon_of_rho(rho * (1 + Fraction(1, 10**6)), delta) >= epsilon_of_rho(rho, delta)


@given(rhos, rhos, deltas)
def test_more_rho_costs_more_and_more_delta_less(rho, more, delta):
    """The conversion is monotone in both numbers."""
    assert epsilon_of_rho(rho, delta) <= epsilon_of_rho(rho + more, delta)
    assert epsilon_of_rho(rho, Fraction(str(delta)) / 3) >= epsilon_of_rho(rho, delta)


def test_the_published_numbers():
    """Fifty exponential mechanisms of 0.1: the privacy specification's 1.66, and 3.54 when their range is not used."""
    gumbel = ComposedEvent((SelectionEvent(Fraction(1, 10), "gumbel"),) * 50)
    assert rho_of(gumbel) == (Fraction(1, 16), 0)
    assert round(float(epsilon_of_rho(Fraction(1, 16), "1e-6")), 2) == 1.66
    assert round(float(epsilon_of_rho(Fraction(1, 4), "1e-6")), 2) == 3.54


@given(st.floats(1e-12, 60))
def test_a_pure_part_costs_what_randomized_response_does(epsilon):
    """No order of randomized response's Renyi divergence exceeds it, and the order 1 nearly attains it."""
    rho = rho_of_pure(Fraction(epsilon))
    assert rho <= Fraction(epsilon) ** 2 / 2
    with mpmath.workdps(60):
        e, bound = mpmath.mpf(epsilon), mpmath.mpf(rho.numerator) / rho.denominator
        limit = e * mpmath.tanh(e / 2)
        assert limit <= bound <= limit * (1 + mpmath.mpf(10) ** -12)
        for order in (1.001, 1.1, 2, 5, 50, 1000):
            a = mpmath.mpf(order)
            part = (mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))
            assert mpmath.log(part) / (a - 1) <= a * bound


@given(st.fractions(min_value=0, max_value=600), st.integers(-18, 0))
def test_the_largest_pure_epsilon_of_a_rho(rho, power):
    """It costs no more than the rho, and a step more would; none is above 1000."""
    rho *= Fraction(10) ** power
    epsilon = pure_of_rho(rho)
    assert epsilon % STEP == 0
    assert epsilon == 0 or rho_of_pure(epsilon) <= rho
    assert epsilon == 1000 or rho < rho_of_pure(epsilon + STEP)
    assert [pure_of_rho(Fraction(much)) for much in (1001, 10**9)] == [1000, 1000]


def test_the_cost_of_each_kind():
    """Only Gumbel noise has an eighth; Gaussian rho is taken as it is; failures stand apart."""
    half = Fraction(1, 2)
    assert rho_of(SelectionEvent(half, "gumbel")) == (Fraction(1, 32), 0)
    for event in (SelectionEvent(half, "exponential"), SelectionEvent(half, "laplace"), LaplaceEvent(half)):
        assert rho_of(event) == (rho_of_pure(half), 0)
    both = ComposedEvent((GaussianEvent(Fraction(1, 7), Fraction(1)), FailureEvent(Fraction(1, 9))))
    assert rho_of(ComposedEvent((both, both))) == (Fraction(2, 7), Fraction(2, 9))
    assert rho_of(SelectionEvent(Fraction(1000), "gumbel"))[0] == rho_of_pure(Fraction(1000))  # tanh beats an eighth


@pytest.mark.parametrize(
    ("rho", "delta"), [(0, 0.1), (-1, 0.1), ("nan", 0.1), (1, 1), (1, -0.1), (1, 0), (5001, 0.1), (10**300, 0.1)]
)
def test_numbers_out_of_range(rho, delta):
    """Rho must be positive and convert to something; delta must be a probability above 0."""
    with pytest.raises(InvalidParameterError, match=r"rho|delta"):
        epsilon_of_rho(rho, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.1), (1e-10, 0.1), (1001, 0.1), (1, 0), (1, 1), ("inf", 0.1)])
def test_no_rho_for_numbers_out_of_range(epsilon, delta):
    """Epsilon must lie in [1e-9, 1000] and delta in (0, 1)."""
    with pytest.raises(InvalidParameterError, match=r"epsilon|delta"):
        rho_of_epsilon(epsilon, delta)


@given(st.integers(1, 10**30), st.integers(1, 10**30), st.integers(-1000, 1000))
def test_logarithms_of_any_fraction(numerator, denominator, power):
    """Neither underflow nor overflow, and an error of two roundings."""
    value = Fraction(numerator, denominator) * Fraction(10) ** power
    with mpmath.workdps(60):
        exact = mpmath.log(value.numerator) - mpmath.log(value.denominator)
        assert abs(log_of(value) - exact) <= 2.0**-51 * max(1, abs(exact))


def test_rounding_grants_nothing():
    """With a shift that puts the exact epsilon 10^-25 above a step, the next step is charged, however floats round."""
    for rho in (Fraction(n, 997) for n in range(1, 120, 2)):
        exact = best_epsilon(rho, Fraction(1, 10**6))
        steps = int(exact * 10**9) + 5
        with mpmath.workdps(50):
            missing = mpmath.mpf(steps) / 10**9 - exact + mpmath.mpf(10) ** -25
            shift = Fraction(int(missing * 10**45), 10**45)
        assert steps_of_rho(rho, Fraction(1, 10**6), shift) == steps + 1
