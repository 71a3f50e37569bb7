"""Wang et al. 2018, figures 5 and 6: the error by the number of released points, with 2 and with 100 covariates."""

from dataclasses import replace
from itertools import chain

from discreet.report.study import Picture, Row, Study
from discreet_papers.experiment import Experiment, Work
from discreet_papers.wang_curves import SIMULATED
from discreet_papers.wang_pairs import SIZES, simulated
from discreet_papers.wang_ways import (
    BY_SIZE,
    CLAIMED,
    EXACT,
    HISTOGRAM,
    HONEST,
    HYBRID,
    NOTHING,
    ONE_SIZE,
    PARTS,
    PUBLIC,
    SUBSET,
    Protocol,
    averaged,
    drawn,
)

EPSILONS = (1, 2, 6)
"""Twice the paper's 0.5, 1 and 3."""

PROTOCOLS = {p: Protocol(EPSILONS, tuple(sizes), SIMULATED) for p, sizes in SIZES.items()}


def figure_5(work: Work) -> list[Row]:
    """Compute the errors of one part with 2 covariates, by epsilon and number of points."""
    return _errors(work, 2)


def figure_6(work: Work) -> list[Row]:
    """Compute the errors of one part with 100 covariates, by epsilon and number of points."""
    return _errors(work, 100)


def _errors(work: Work, p: int) -> list[Row]:
    """Return errors on new tables in every repeat, the same for all parts."""
    numbers = range(work.repeats)
    return averaged(chain.from_iterable(drawn(work, i, simulated(p, i), PROTOCOLS[p]) for i in numbers))


DESIGN = (
    "10,000 private and 10,000 public rows, {columns}; the effects of the two tables differ, and both tables are drawn "
    "anew in every repeat, the same ones for all ways. The figure is the paper's t: the norm, over the private rows, "
    "of the change of the predicted chances from those of the logistic regression of these rows. A chance changes by "
    "about t / 100."
)

COSTS = (
    "Epsilon is the total. The paper takes 0.8, 0.2 and 1 of half of it, for the order of the points, for the weights "
    "of all k = {k} sizes together, and for all k criteria together. But every criterion costs its whole part, if the "
    "sensitivity were right: what is claimed as epsilon is {cost:g} epsilon."
)

UNKNOWN = (
    "The paper prints curves and no numbers, so none stand here.",
    "It does not say whether its ten repeats draw tables or noise alone anew, nor whether the red curve has the noise "
    "of the criteria. In the authors' code only noise is drawn anew, and the curve is the mean of ten noisy ones, "
    "charged as one. Here tables are drawn anew, and only the choice of a size sees that noise.",
)

CURVES = Picture(
    "figure-5",
    "Prediction error by the number of released public points",
    "lines",
    "points",
    "Released public points",
    "Prediction error t",
    across="epsilon",
    low=0.0,
    high=30.0,
    columns=(EXACT.name, BY_SIZE.name, ONE_SIZE.name, PUBLIC.name, HISTOGRAM.name, SUBSET.name),
)

CLOSER = replace(
    CURVES,
    name="figure-5-near-zero",
    title="The same near zero",
    high=4.0,
    columns=(EXACT.name, ONE_SIZE.name, HISTOGRAM.name, HYBRID.name, SUBSET.name),
)

TOTALS = Picture(
    "figure-5-totals",
    "Prediction error of what is released, by the total epsilon",
    "lines",
    "epsilon",
    "Epsilon in total",
    "Prediction error t",
    log=True,
    low=0.0,
    high=30.0,
    columns=(CLAIMED.name, HONEST.name, PUBLIC.name, HISTOGRAM.name, HYBRID.name, SUBSET.name),
)

EXPERIMENTS = (
    Experiment(
        Study(
            "wang-figure-5",
            "Two covariates: prediction error by the number of released points",
            "Wang et al. 2018, figure 5",
            (
                DESIGN.format(columns="two normal covariates, one of them with half the variance in the public table"),
                COSTS.format(k=len(SIZES[2]), cost=float(SIMULATED.cost(len(SIZES[2])))),
                "The paper's claims are that the error falls and then rises with the number of points, that a tenth "
                "of the points or fewer is best at a small epsilon, and that the best is below the histogram. The "
                "first two hold for a size that is fixed beforehand, at its whole privacy cost; its best is then "
                "about level with the histogram. To the letter, where 60 sizes share the cost of the weights and the "
                "noise in each is 60 times larger, the curve falls and rises too, but stays far above the histogram.",
                "What is not known beforehand must be chosen, at a privacy cost. Charged honestly, the published "
                "choice is about as bad as the public records alone. Discreet measures once, for all sizes, and "
                "chooses once.",
            ),
            (EXACT, BY_SIZE, CLAIMED, HONEST, ONE_SIZE, PUBLIC, NOTHING, HISTOGRAM, HYBRID, SUBSET),
            (),
            UNKNOWN,
            (CURVES, CLOSER, TOTALS),
            (),
            8,
        ),
        PARTS,
        figure_5,
    ),
    Experiment(
        Study(
            "wang-figure-6",
            "A hundred covariates: prediction error by the number of released points",
            "Wang et al. 2018, figure 6",
            (
                DESIGN.format(columns="100 normal covariates, all with half the variance in the public table"),
                COSTS.format(k=len(SIZES[100]), cost=float(SIMULATED.cost(len(SIZES[100])))),
                "The paper's claims hold for one size fixed beforehand: the error falls and then rises, and about a "
                "tenth of the points is best. To the letter, with 50 sizes at the cost of one, it improves on the "
                "public records by a tenth at most. The paper does not show a model without any effect: it is about as "
                "good as exact counts without noise at their best size, and better than all noisy ones.",
                "With this many columns Discreet counts no rows beside points. It draws noisy sums, of the target "
                "times each column, and weights all public records so that they have these sums.",
            ),
            (EXACT, BY_SIZE, CLAIMED, HONEST, ONE_SIZE, PUBLIC, NOTHING, HYBRID, SUBSET),
            (),
            (*UNKNOWN, "A histogram of 100 columns has too many cells; the paper has none either."),
            (
                replace(
                    CURVES,
                    name="figure-6",
                    high=65.0,
                    columns=(EXACT.name, BY_SIZE.name, ONE_SIZE.name, PUBLIC.name, NOTHING.name, SUBSET.name),
                ),
                replace(
                    TOTALS,
                    name="figure-6-totals",
                    high=65.0,
                    columns=(CLAIMED.name, HONEST.name, PUBLIC.name, NOTHING.name, HYBRID.name, SUBSET.name),
                ),
            ),
            (),
            5,
        ),
        tuple(part for part in PARTS if part != HISTOGRAM.name),
        figure_6,
    ),
)
"""Figures 5 and 6."""
