"""Parameters of estimates on public records, or on the cells of a public grid."""

from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.parameters.ranges import SHARE, SIZE, Between, SharesOf
from discreet.parameters.shared import (
    DIVIDED,
    AsPublished,
    Epsilon,
    Intercept,
    Mechanism,
    NumberOfRows,
    Parameters,
    Several,
    Shares,
    first,
)

ContrastName = Literal["linear", "huber", "logistic", "poisson", "mean", "median", "quantile"]
Ridge = Annotated[float, Between(1e-12, 1e6, or_zero=True)]


class MEstimationParameters(Parameters):
    """What all M-estimates share."""

    epsilon: Epsilon = first(default=1.0)
    contrast: Annotated[
        Any,
        Field(
            title="contrast",
            description="What is estimated. linear, huber, logistic and poisson are regressions on the columns; mean, "
            "median and quantile describe the target. In Python it can also be an object of your own, see "
            "`HybridEstimator`. auto is logistic for a target with two values, and linear for any other.",
        ),
    ] = "auto"
    quantile: Annotated[
        float, SHARE, Field(description="Share of the rows below the quantile. It is used by the contrast quantile.")
    ] = 0.5
    huber_delta: Annotated[
        Annotated[float, SIZE] | None,
        Field(
            description="Size of a residual above which a row counts less, in the target's unit. It is used by the "
            "contrast huber. The default is a tenth of the target's range."
        ),
    ] = None
    ridge: Annotated[
        Ridge,
        Field(
            description="Strength of the ridge penalty on large coefficients. It makes the answer more stable. It is "
            "half the penalty of a squared coefficient per standard deviation of its column, added to the mean "
            "contrast."
        ),
    ] = 0.0
    fit_intercept: Intercept = True


class HistogramParameters(MEstimationParameters):
    """Of an estimate on a noisy histogram."""

    bins: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Field(
            description="Number of cells of the grid along each column. An integer column has at most one cell for "
            "each value, and a category one for each level. The default aims at about 50 / epsilon rows in a cell, "
            "with at least two cells along each column."
        ),
    ] = None
    n0: NumberOfRows = None


class HybridParameters(MEstimationParameters):
    """Of an estimate on weighted public records."""

    measure: Annotated[
        Literal["auto", "counts", "margins"],
        Field(
            title="buys",
            description="What is asked of the private rows. counts: how many rows lie next to each public point. "
            "margins: sums of the target times each column; the public records are then weighted to match them. auto "
            "takes margins for regressions on many columns.",
        ),
    ] = "auto"
    n_points: Annotated[
        Annotated[int, Field(ge=2)] | Literal["auto", "all"],
        Field(
            title="points",
            description="Number of public points that get weights. They are chosen from the public records alone. all "
            "takes every record; auto takes one point for about 30 / epsilon private rows.",
        ),
    ] = "auto"
    n0: NumberOfRows = None
    twins: Annotated[
        int,
        Field(
            ge=0,
            le=100,
            description="Number of private tables simulated from the public records, to tell what errors to expect. "
            "It is at most 100.",
        ),
    ] = 0


class PublicSubsetParameters(HybridParameters):
    """Of the choice among such estimates."""

    sizes: Annotated[
        Several[Annotated[int, Field(ge=1)]] | None,
        Field(
            title="sizes",
            description="Numbers of public points to choose between. They apply to counts; margins use all records. "
            "The default is all of them, half, a quarter and an eighth.",
        ),
    ] = None
    order: Annotated[
        Literal["farthest", "weight"],
        Field(
            description="Which public points are kept first. farthest keeps those that lie far apart; weight keeps "
            "those with the largest noisy counts. The counts of the others go to the nearest point that is kept."
        ),
    ] = "farthest"
    ridges: Annotated[Several[Ridge], Field(min_length=1, description="Strengths of ridge to choose between.")] = (
        0.0,
        0.03,
    )
    loss: Annotated[
        Literal["squared", "log"],
        Field(
            description="How a wrong prediction counts in the choice. squared is the squared error, or the pinball "
            "loss for a quantile. log is the negative logarithm of the predicted chance, for a target with two "
            "values."
        ),
    ] = "squared"
    log_clip: Annotated[
        float,
        Between(1e-9, 0.499),
        Field(
            description="Smallest chance that the loss log allows. Predicted chances are clipped to this and to 1 "
            "minus this."
        ),
    ] = 0.01
    mechanism: Mechanism = "permute_and_flip"
    shares: Annotated[
        Shares,
        SharesOf(("validation", "histogram")),
        Field(
            description=f"{DIVIDED} validation is the share of epsilon of the choice, "
            "by default 0.15. histogram is the share of one more estimate to choose from, which needs few columns; by "
            "default there is none."
        ),
    ] = None
    as_published: AsPublished = False
