"""What noisy moments tell: a valid Gram matrix, estimates with intervals, the choice of a model."""
