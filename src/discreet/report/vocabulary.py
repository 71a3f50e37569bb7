"""Plain words for the short names in a release: methods, mechanisms, steps, parameters."""

PEOPLE = frozenset(
    {
        *("person", "individual", "human", "patient", "participant", "subject", "respondent", "student", "pupil"),
        *("employee", "worker", "customer", "client", "user", "member", "citizen", "resident"),
        *("household", "family"),
    }
)
"""Units that hold all rows of a person; of any other unit the report says that it is not a person."""

METHODS = {
    "pcls": "penalized constrained least squares",
    "pcpl": "penalized constrained profile likelihood",
    "moments": "noisy moments",
    "linear": "linear regression",
    "logistic": "logistic regression",
    "poisson": "Poisson regression",
    "run": "selection, then regression",
    "sis": "private sure independence screening",
    "two-stage": "vote of block-wise lasso fits",
    "decorrelated": "decorrelated scores above a threshold",
    "own-score": "screening by a user-defined score",
    "hybrid": "estimate on weighted public records",
    "public-subset": "choice among estimates on weighted public records",
    "histogram": "estimate on a noisy histogram",
}
"""Method to its name in full."""

BY_HALF = "run, by half"
"""A plan whose selection and regression are of other units."""

BY_FISSION = "run, by fission"
"""A selection and its coefficients from two parts of the same noisy moments."""

WORKINGS = {
    "pcls": "each candidate model, a set of columns, is scored by its squared error under a limit on its coefficients, "
    "plus a penalty for each column; the best score after noise is selected",
    "pcpl": "each candidate model, a set of columns, is scored by the number of rows times the logarithm of its mean "
    "squared error under a limit on its coefficients, plus a penalty for each column; the best score after noise is "
    "selected",
    "moments": "noise is added once to the sums of products of all columns; everything computed from those noisy sums "
    "is post-processing and costs nothing more",
    "linear": "least squares coefficients, computed so that noise covers what one unit can change",
    "logistic": "maximum likelihood coefficients for a target with two values, computed so that noise covers what "
    "one unit can change",
    "poisson": "maximum likelihood coefficients for a target of counts, computed so that noise covers what one "
    "unit can change",
    "sis": "each candidate is scored by itself, by its association with the target over all rows or pairs of rows; the "
    "best scores after noise are selected",
    "two-stage": "every row goes to a block at random, a lasso selects columns in each block, and the columns that "
    "most blocks select, after noise, are chosen",
    "decorrelated": "each candidate is scored adjusted for all others: their linear prediction of it and of the target "
    "is estimated with noise and subtracted; all columns whose score lies above a threshold, after noise, are chosen",
    "own-score": "each candidate is scored by a user-defined function, whose sensitivity the user declared; "
    "the best scores after noise are selected",
    "hybrid": "private rows are counted by their nearest public records, or their margins are computed, with noise; "
    "the public records get weights from these; everything computed from the weighted records costs nothing more",
    "public-subset": "private rows weight public records once, after noise; several estimates are computed from that "
    "for free, and one of them is chosen by its prediction error on the private rows, after noise",
    "histogram": "the private rows in each cell of a public grid are counted, with noise; everything computed from the "
    "middles of the cells with these weights costs nothing more",
    "run": "a private selection chooses the columns, then a private regression on the same rows gives their "
    "coefficients; both parts have a privacy cost",
    BY_HALF: "half of the units, drawn at random, choose the columns by a private selection; the others give their "
    "coefficients by a private regression; no unit is in both, so the cost is that of the more expensive part",
    BY_FISSION: "noise is added once to the sums of products of all columns; further noise divides them into two "
    "independent parts, of which one selects the columns and the other gives their coefficients, at no further cost",
}
"""Method to what it does, in one sentence without its end."""

PUBLISHED = (
    "the algorithm of the paper to the letter: private rows are counted by all public points, and by the heaviest of "
    "them again for each size; the estimate nearest to a fit on the private rows is chosen"
)
"""What the choice on public points does when it runs as published."""

REGRESSIONS = {"linear": "linear regression", "logistic": "logistic regression", "poisson": "Poisson regression"}
"""Method of a regression to its name."""

FAMILIES = REGRESSIONS | {
    "huber": "Huber regression",
    "mean": "mean",
    "median": "median",
    "quantile": "quantile",
    "own": "minimum of a user-defined contrast",
}
"""Family of a fit to its name."""

LOCATIONS = frozenset({"mean", "median", "quantile"})
"""Families of one number about the target."""

IN_TARGETS_UNIT = frozenset({"linear", "huber"}) | LOCATIONS
"""Families whose estimates are in the unit of the target."""

MECHANISMS = {
    "exponential": "exponential mechanism",
    "laplace": "report noisy max",
    "permute_and_flip": "permute-and-flip",
    "discrete_gaussian": "Gaussian noise on whole numbers",
    "discrete_laplace": "Laplace noise on whole numbers",
    "ellipsoid_noise": "noise in an ellipsoid on whole numbers",
    "gaussian": "Gaussian noise",
    "noisy_newton": "Newton steps with Gaussian noise",
    "noisy_gradient_descent": "noisy gradient descent",
    "objective_perturbation": "objective perturbation",
    "canonical_lipschitz": "canonical Lipschitz mechanism",
    "one_shot": "one-shot top-k",
    "peeling": "peeling, one column at a time",
    "cube": "noise on whole numbers that falls with the largest of them",
}
"""Mechanism to its name in full."""

NOISES = {"gumbel": "Gumbel", "laplace": "Laplace", "gaussian": "Gaussian"}
"""Noises that are called after people; the others are their own names."""

CHOSEN_AMONG = {
    "canonical_lipschitz": "sets of columns",
    "threshold": "sets of columns",
    "one_shot": "columns",
    "peeling": "columns",
}
"""Mechanism to what it chooses among, where that is not models."""

NUMERICS = {
    "exact": "The noise is drawn exactly, in whole numbers.",
    "float-safe": "What the computer's rounding can add is part of the proof.",
    "idealized": "The proof is for real numbers; the computer's rounding is not covered by it.",
}
"""How rounding was dealt with, explained."""

STEPS = {
    "x_center": "means of the columns",
    "x_recenter": "centers of the columns, near the first ones",
    "x_scale": "spreads of the columns",
    "y_mean": "how many more rows have a target above its center than below",
    "first_screening": "first screening of columns",
    "y_bound": "bound of the target",
    "y_center": "center of the target",
    "y_median": "median of the target",
    "y_scale": "median distance of the target from its center",
    "y_shift": "mean residual of the target",
    "pilot": "first estimate of the target's relation to each column",
    "residual_variance": "residual variance",
    "sigma2": "residual variance",
    "rss": "smallest squared error",
    "f_min": "smallest squared error",
    "n_rows": "number of rows",
    "rows": "number of rows",
    "selection": "selection of columns",
    "screening": "screening of columns",
    "moments": "noisy moments",
    "gram": "products of the columns",
    "fit": "coefficients",
    "coefficients": "coefficients",
    "X'y": "products of columns and target",
    "X'X": "products of the columns",
    "y'y": "square of the target",
    "failure": "bound that may fail",
    "counts": "counts by public points",
    "margins": "target times each column",
    "histogram": "counts of a grid's cells",
    "validation": "choice of the estimate",
}
"""Name of a step to what was bought with it."""

MEANINGS = {
    "y_saturation": "part of its half range at which the target counts as at its end",
    "method": "how columns are selected",
    "column_scales": "center and width of each column, estimated from a share of epsilon",
    "selective_inference": "how intervals stay valid after the selection",
    "n_candidates": "number of candidate models",
    "residual_variance": "public residual variance",
    "n_rows": "public number of rows",
    "criterion": "how models of different size are compared",
    "steps": "what is done, in order",
    "n_steps": "number of steps of the descent",
    "step_size": "length of one step of the descent",
    "solver": "how the coefficients are computed",
    "clip": "most that one row's gradient may count",
    "gradient_bound": "most that one row's gradient may count",
    "coefficient_bound": "largest coefficient that is considered",
    "box": "largest coefficient that is considered",
    "known": "columns whose distribution is declared public",
    "public: name": "the public table",
    "public: sha256": "digest of the public points",
    "public: file": "digest of the public file",
    "n_cells": "cells of the grid",
    "columns": "columns of the regression",
    "family": "kind of regression",
}
"""What else stands among the parameters of a release, to what it means; `meanings` has the parameters."""
