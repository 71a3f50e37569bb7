"""Swope et al. 2024: all of its figures and its table."""

from discreet_papers import swope_accuracy, swope_figure_1, swope_table_1

EXPERIMENTS = (*swope_figure_1.EXPERIMENTS, *swope_accuracy.EXPERIMENTS, *swope_table_1.EXPERIMENTS)
"""In the order of the paper, the table last."""
