"""The linear term of objective perturbation: its law, and what a seeded sample of the wrong law looks like."""

import numpy as np
import pytest
from scipy.special import gammainc
from scipy.stats import kstest

from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.mechanisms.spherical import spherical_laplace

SAMPLE_SIZE = 4000
P_THRESHOLD = 1e-7


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


@pytest.mark.parametrize(("n_numbers", "rate"), [(0, 1.0), (1, 0.0), (1, float("inf")), (1, float("nan"))])
def test_bad_parameters_are_refused(n_numbers, rate):
    """Dimension and rate must be positive."""
    with pytest.raises(InvalidParameterError):
        spherical_laplace(n_numbers, rate, Source())
