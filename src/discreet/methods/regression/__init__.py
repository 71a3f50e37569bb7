"""Coefficients with intervals: linear, logistic, Poisson."""
