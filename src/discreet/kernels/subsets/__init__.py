"""Least squares over subsets of columns: on the l1 ball, for every model, and the best of each size."""
