"""Parameters of regressions of given columns."""

from typing import Annotated

from pydantic import Field

from discreet.parameters.shared import (
    GENERALIZED_COEF_BOUND,
    LINEAR_COEF_BOUND,
    CoefBound,
    Confidence,
    Delta,
    Epsilon,
    GaussianDelta,
    Intercept,
    NumberOfRows,
    Parameters,
    RowNorm,
    YBound,
    YCenter,
    YQuantile,
    first,
)


class SumsParameters(Parameters):
    """What all answers from noisy sums share."""

    epsilon: Epsilon = first(default=1.0)
    delta: GaussianDelta = 0.0
    y_bound: YBound = None
    y_quantile: YQuantile = None
    y_center: YCenter = None
    row_norm: RowNorm = None
    fit_intercept: Intercept = True
    n0: NumberOfRows = None


class LinearParameters(SumsParameters):
    """Of a linear regression."""

    confidence: Confidence = 0.95
    coef_bound: CoefBound = LINEAR_COEF_BOUND


class GeneralizedParameters(Parameters):
    """Of a regression with another link."""

    epsilon: Epsilon = first(default=1.0)
    delta: Annotated[
        Delta,
        Field(
            description="Added chance of a result outside the promise. 0 is pure privacy, by objective perturbation: "
            "more noise, except for much data or a large epsilon."
        ),
    ] = 1e-6
    confidence: Confidence = 0.95
    coef_bound: CoefBound = GENERALIZED_COEF_BOUND
    fit_intercept: Annotated[bool, Field(description="Whether models have a constant term. They always do.")] = True
    n0: NumberOfRows = None


class LogisticParameters(GeneralizedParameters):
    """Of a logistic regression."""
