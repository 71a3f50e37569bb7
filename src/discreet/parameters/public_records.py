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
            description="What is estimated. linear, huber, logistic or poisson on the columns; mean, median or "
            "quantile of the target; in Python also an object of your own, see `HybridEstimator`. auto is logistic for "
            "a target of two values, else linear.",
        ),
    ] = "auto"
    quantile: Annotated[
        float, SHARE, Field(description="Share of the rows below the quantile. Of the contrast quantile.")
    ] = 0.5
    huber_delta: Annotated[
        Annotated[float, SIZE] | None,
        Field(
            description="Residual from which on a row counts less, in the target's unit. Of the contrast huber. "
            "Default a tenth of the target's range."
        ),
    ] = None
    ridge: Annotated[
        Ridge,
        Field(
            description="Price of large coefficients, which steadies the answer. Half the penalty of a squared "
            "coefficient per standard deviation of its column, beside the mean contrast."
        ),
    ] = 0.0
    fit_intercept: Intercept = True


class HistogramParameters(MEstimationParameters):
    """Of an estimate on a noisy histogram."""

    bins: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Field(
            description="Cells of the grid along each column. An integer column gets at most a cell a value, a "
            "category a cell a level. Default about 50 / epsilon rows a cell, with at least two cells a column."
        ),
    ] = None
    n0: NumberOfRows = None


class HybridParameters(MEstimationParameters):
    """Of an estimate on weighted public records."""

    measure: Annotated[
        Literal["auto", "counts", "margins"],
        Field(
            title="buys",
            description="What is bought from the private rows: counts beside public points, or margins. Margins are "
            "sums of the target times each column, to which all public records are re-weighted; auto takes them for "
            "regressions on many columns.",
        ),
    ] = "auto"
    n_points: Annotated[
        Annotated[int, Field(ge=2)] | Literal["auto", "all"],
        Field(
            title="points",
            description="Public points that private rows are counted beside, or that get weights. Chosen from the "
            "public records alone; auto takes one for about 30 / epsilon private rows.",
        ),
    ] = "auto"
    n0: NumberOfRows = None
    twins: Annotated[
        int,
        Field(
            ge=0,
            le=100,
            description="Private tables simulated from the public records, to tell what errors to expect. Up to 100.",
        ),
    ] = 0


class PublicSubsetParameters(HybridParameters):
    """Of the choice among such estimates."""

    sizes: Annotated[
        Several[Annotated[int, Field(ge=1)]] | None,
        Field(
            title="sizes",
            description="Numbers of public points to choose between. Of those counted beside; margins have none. "
            "Default all of them, half, a quarter and an eighth.",
        ),
    ] = None
    order: Annotated[
        Literal["farthest", "weight"],
        Field(
            description="Which public points are kept first. Those that lie far apart, or those of the largest noisy "
            "counts; the others' counts go to the nearest kept one."
        ),
    ] = "farthest"
    ridges: Annotated[Several[Ridge], Field(min_length=1, description="Strengths of ridge to choose between.")] = (
        0.0,
        0.03,
    )
    loss: Annotated[
        Literal["squared", "log"],
        Field(
            description="How a wrong prediction counts in the choice. Its squared error, of a quantile the pinball "
            "loss; or for a target of two values the negative logarithm of the chance, cut."
        ),
    ] = "squared"
    log_clip: Annotated[
        float,
        Between(1e-9, 0.499),
        Field(description="Where the loss log is cut. Chances are cut at this and at one less this."),
    ] = 0.01
    mechanism: Mechanism = "permute_and_flip"
    shares: Annotated[
        Shares,
        SharesOf(("validation", "histogram")),
        Field(
            description=f"{DIVIDED} Share of epsilon of validation, the choice, by "
            "default 0.15; and of histogram, one more estimate to choose, which needs few columns, by default none."
        ),
    ] = None
    as_published: AsPublished = False
