"""A choice of bounded range within the privacy cost of Gaussian noise."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.accounting.bounded_range import LARGEST, epsilon_within_gaussian

RHOS = (1e-12, 1e-7, 4e-7, 1e-6, 1e-4, 0.003, 0.05, 0.5, 2.0, 10.0, 50.0)


def difference(epsilon, share):
    """Phi^-1(p) - Phi^-1(q) of the two points with t = share of epsilon, to 40 digits."""
    with mpmath.workdps(40):
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        t = e * share
        p = (mpmath.exp(e) - mpmath.exp(t)) / (mpmath.exp(e) - 1)
        q = p * mpmath.exp(-t)
        return mpmath.sqrt(2) * (mpmath.erfinv(2 * p - 1) - mpmath.erfinv(2 * q - 1))


def mu(rho):
    with mpmath.workdps(40):
        return mpmath.sqrt(2 * mpmath.mpf(rho))


@pytest.mark.parametrize("rho", RHOS)
def test_no_pair_of_bounded_range_is_easier_to_tell_apart_than_the_gaussian(rho):
    """Whatever the ends of the loss; and in the middle next to nothing is wasted."""
    epsilon = epsilon_within_gaussian(Fraction(rho))
    assert all(difference(epsilon, float(share)) <= mu(rho) for share in np.linspace(0.02, 0.98, 25))
    if epsilon < LARGEST:
        assert difference(epsilon, 0.5) > mu(rho) * (1 - 1e-6)


@pytest.mark.parametrize("rho", RHOS)
def test_a_larger_epsilon_is_found_out(rho):
    """Control: one per cent more."""
    assert difference(epsilon_within_gaussian(Fraction(rho)) * Fraction(101, 100), 0.5) > mu(rho)


def test_it_grows_with_rho_and_ends():
    """Rho beyond what floats square is the largest."""
    values = [epsilon_within_gaussian(Fraction(rho)) for rho in (*RHOS, 1e9)]
    assert values == sorted(values)
    assert values[-1] == LARGEST
