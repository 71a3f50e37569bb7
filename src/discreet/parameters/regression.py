"""Parameters of regressions of given columns."""

from typing import Annotated

from pydantic import Field

from discreet.parameters.shared import (
    GENERALIZED_COEF_BOUND,
    LINEAR_COEF_BOUND,
    CoefBound,
    Confidence,
    CountClipped,
    Delta,
    Epsilon,
    GaussianDelta,
    Intercept,
    NumberOfRows,
    Parameters,
    Robust,
    RowNorm,
    SelectionBound,
    SelectionCenter,
    YBound,
    YCenter,
    YQuantile,
    first,
)

Offset = Annotated[
    str | None,
    Field(
        title="offset",
        description="Column that is added to the linear predictor with coefficient 1. It must be numeric with public "
        "bounds, and it cannot be a candidate. By default there is none.",
    ),
]
Exposure = Annotated[
    str | None,
    Field(
        title="exposure",
        description="Column whose logarithm is the offset, such as the time or the number of people that a count is "
        "of. It must be numeric with a lower bound above 0, and it cannot be a candidate. By default there is none.",
    ),
]
Weights = Annotated[
    str | None,
    Field(
        title="weights",
        description="Column with the weights of the rows. It must be numeric with a lower bound of at least 0, and it "
        "cannot be a candidate. A missing cell has weight 0. By default all rows have the same weight.",
    ),
]


class SumsParameters(Parameters):
    """What all answers from noisy sums share."""

    epsilon: Epsilon = first(default=1.0)
    delta: GaussianDelta = 0.0
    y_bound: SelectionBound = None
    y_quantile: YQuantile = None
    y_center: SelectionCenter = None
    count_clipped: CountClipped = False
    row_norm: RowNorm = None
    fit_intercept: Intercept = True
    n0: NumberOfRows = None


class LinearParameters(SumsParameters):
    """Of a linear regression."""

    y_bound: YBound = None
    y_center: YCenter = None
    confidence: Confidence = 0.95
    coef_bound: CoefBound = LINEAR_COEF_BOUND
    robust: Robust = True
    offset: Offset = None
    weights: Weights = None


class GeneralizedParameters(Parameters):
    """Of a regression with another link."""

    epsilon: Epsilon = first(default=1.0)
    delta: Annotated[
        Delta,
        Field(
            description="Added chance of a result outside the promise. 0 is pure privacy by objective perturbation, "
            "which adds more noise unless the table is large or epsilon is."
        ),
    ] = 1e-6
    confidence: Confidence = 0.95
    coef_bound: CoefBound = GENERALIZED_COEF_BOUND
    robust: Robust = True
    fit_intercept: Annotated[bool, Field(description="Give each model an intercept. These models always have one.")] = (
        True
    )
    n0: NumberOfRows = None
    offset: Offset = None
    weights: Weights = None


PrivateCountBound = Annotated[
    bool,
    Field(
        title="private_count_bound",
        description="Spend a small part of epsilon to find where to clip counts. Noise grows with the "
        "largest count. The fitted mean is that of clipped Poisson counts, and the release holds the bound.",
    ),
]


class PoissonParameters(GeneralizedParameters):
    """Of a Poisson regression."""

    exposure: Exposure = None
    private_count_bound: PrivateCountBound = True


class LogisticParameters(GeneralizedParameters):
    """Of a logistic regression."""
