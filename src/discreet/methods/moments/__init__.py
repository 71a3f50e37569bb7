"""One noisy Gram matrix, from which models, coefficients and criteria follow without further cost."""
