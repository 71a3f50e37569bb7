"""Generalized linear models: families, sums with bounded sensitivity, noisy Newton steps, objective perturbation."""
