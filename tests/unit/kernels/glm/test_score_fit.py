"""Quantiles of a fit's law against exact ones."""

import numpy as np
import pytest
from scipy.special import chdtri, gammaincinv, ndtri

from discreet.kernels.glm.score_fit import critical


@pytest.mark.parametrize("p", [1, 3, 8])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_the_whole_of_a_spherical_laplace_vector_has_a_gamma_length(p, level):
    """Its density exp(-b |z|) has length Gamma(p), and variance (p + 1) / b^2 of each coordinate."""
    length = gammaincinv(p, level) / (p + 1.0) ** 0.5
    assert critical(level, 1.0, p, p) == pytest.approx(length**2, rel=5e-3)


@pytest.mark.parametrize("k", [1, 4])
def test_without_it_the_law_is_chi_squared(k):
    """Of k degrees of freedom."""
    assert critical(0.95, 0.0, 4, k) == pytest.approx(chdtri(k, 0.05), rel=1e-6)


def test_one_coordinate_has_longer_tails_the_more_it_counts():
    """Between the normal law and that of one coordinate alone."""
    values = [critical(0.95, share, 2) for share in np.linspace(0.0, 1.0, 6)]
    assert values[0] == pytest.approx(ndtri(0.975) ** 2, rel=1e-6)
    assert (np.diff(values) > 0).all()
