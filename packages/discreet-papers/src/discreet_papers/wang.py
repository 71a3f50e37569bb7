"""Wang et al. 2018: figures 4 to 6, two regions in place of figures 7 and 8, and the example of the authors' code."""

from discreet_papers import wang_distances, wang_figures, wang_real

EXPERIMENTS = (*wang_distances.EXPERIMENTS, *wang_figures.EXPERIMENTS, *wang_real.EXPERIMENTS)
"""In the order of the paper, the example last."""
