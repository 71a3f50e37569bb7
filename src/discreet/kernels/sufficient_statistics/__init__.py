"""Estimation from noisy moments: a valid Gram matrix, coefficients with intervals, the selection of a model."""
