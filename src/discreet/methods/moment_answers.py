"""What noisy moments tell: the best model, and coefficients of any model, without the rows."""
