"""Selection of a model by penalized constrained least squares and by profile likelihood (Lei et al.)."""
