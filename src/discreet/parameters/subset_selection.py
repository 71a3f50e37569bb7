"""Parameters of the choice among regression models."""

from typing import Annotated, Literal

from pydantic import Field

from discreet.parameters.public_moments import PublicMomentsOption
from discreet.parameters.ranges import SHARE, SIZE, Between, SharesOf
from discreet.parameters.regression import SumsParameters
from discreet.parameters.shared import (
    DIVIDED,
    AsPublished,
    BoundDelta,
    Epsilon,
    Forced,
    Groups,
    Intercept,
    MaxFalse,
    MaxSize,
    Mechanism,
    NoDelta,
    NumberOfRows,
    Parameters,
    Penalty,
    SelectionBound,
    SelectionCenter,
    Several,
    Shares,
    first,
)

MAX_MODELS = 2**20
"""The most models that are scored one by one."""

SHARES = {"bounds": 0.2, "y_center": 0.2, "y_bound": 0.1, "n_rows": 0.02, "l1_radius": 0.2, "sigma2": 0.1}
"""Of epsilon, for each private estimate, in their order (privacy specification 11); of the target's at most."""

SQUARES = "residual_sum_of_squares"

_Radius = Annotated[float, SIZE]
L1Radius = Annotated[
    _Radius | Literal["private"] | None,
    Field(
        title="R",
        description="R: largest l1 norm of a model's coefficients. It is in units of the target per half range of a "
        "column, and includes the intercept. A number is public; `private` estimates it from a share of epsilon. The "
        "default is twice the y bound r, or 1.5 times where r is private.",
    ),
]
L1Grid = Annotated[
    Several[_Radius] | None,
    Field(
        min_length=2,
        max_length=1000,
        description="Values of R to choose from, where it is private. They are in units of the target. The default is "
        "1/2, 1, 2, 4 and 8 times the y bound r.",
    ),
]
Models = Annotated[
    Several[Several[str]] | None,
    Field(
        min_length=1,
        max_length=MAX_MODELS,
        description="The candidate models, when they are given one by one. Each is a list of columns. The default is "
        "all subsets.",
    ),
]
Uncorrelated = Annotated[bool, Field(description="State that the columns declared public are uncorrelated by design.")]
_SHARES = "The choice has what these private estimates leave:"
_LIKELIHOOD_SHARES = ("bounds", "y_center", "y_bound", "l1_radius", SQUARES)
_PENALTY = "Penalty of each further column in a model, in the unit of the scores. A category counts as one column."
_NamedPenalty = Literal["aic", "auto", "bic"]


class SubsetParameters(Parameters):
    """What least squares and likelihood share."""

    epsilon: Epsilon = first(default=1.0)
    delta: NoDelta = 0.0
    mechanism: Mechanism = "permute_and_flip"
    l1_radius: L1Radius = None
    l1_grid: L1Grid = None
    model_penalty: Annotated[Penalty | _NamedPenalty, Field(title="penalty", description=_PENALTY)] = "auto"
    max_false: MaxFalse = None
    max_size: MaxSize = None
    forced: Forced = ()
    groups: Groups = ()
    models: Models = None
    y_bound: SelectionBound = None
    y_quantile: Annotated[
        Annotated[float, SHARE] | None,
        Field(description="Share of the target's values that its private bound should hold. The default is 0.5."),
    ] = None
    y_center: SelectionCenter = None
    fit_intercept: Intercept = True
    n0: NumberOfRows = None
    shares: Shares = None
    as_published: AsPublished = False


class LeastSquaresParameters(SubsetParameters):
    """Of penalized constrained least squares."""

    model_penalty: Annotated[
        Penalty | _NamedPenalty,
        Field(
            title="penalty",
            description=f"{_PENALTY} The penalty is in squared units of the target: `aic` is 2 sigma^2 and `bic` "
            "sigma^2 log n, with a residual variance that is estimated from a share of epsilon. `auto` keeps to "
            "`max_false`: for the noise alone it is log(d / max_false) times the scale of the noise, where d is the "
            "number of free columns. Where the number of rows is public and so large that sampling error can matter "
            "beside the noise, `auto` also estimates sigma^2.",
        ),
    ] = "auto"
    shares: Annotated[
        Shares,
        SharesOf(tuple(SHARES)),
        Field(description=f"{DIVIDED} {_SHARES} {', '.join(SHARES)}."),
    ] = None


class LikelihoodParameters(SubsetParameters):
    """Of penalized constrained profile likelihood."""

    delta: BoundDelta = 0.0
    model_penalty: Annotated[
        Penalty | _NamedPenalty,
        Field(
            title="penalty",
            description=f"{_PENALTY} The penalty is on the scale of -2 log-likelihood: `aic` is 2 and `bic` log n. "
            "`auto` keeps to `max_false`, by sampling and by the noise of the choice together, and is at least log "
            "n. None of them costs budget.",
        ),
    ] = "auto"
    rss_guess: Annotated[
        Annotated[float, Between(1e-200, 1e220)] | None,
        Field(
            description="Public guess of the smallest residual sum of squares. It only divides the budget. It is in "
            "squared units of the target."
        ),
    ] = None
    variance_floor: Annotated[
        Annotated[float, Between(1e-220, 1e220)] | None,
        Field(
            description="Least residual variance that is considered. With it, s0^2 in squared units of the target, "
            "models are compared by n log(RSS / n + s0^2), which needs no bound and no delta."
        ),
    ] = None
    shares: Annotated[
        Shares,
        SharesOf(_LIKELIHOOD_SHARES),
        Field(description=f"{DIVIDED} {_SHARES} {', '.join(_LIKELIHOOD_SHARES)}."),
    ] = None


class MomentsParameters(SumsParameters):
    """Of noisy moments."""

    question: Annotated[
        Literal["selection", "coefficients"],
        Field(description="What the noise is set to answer best. The budget inside the moments is split for it."),
    ] = "selection"
    model_penalty: Annotated[
        Penalty | _NamedPenalty,
        Field(
            title="penalty",
            description=f"{_PENALTY} The penalty is in units of chi-squared; `auto` keeps to `max_false`.",
        ),
    ] = "auto"
    max_false: MaxFalse = None
    max_size: MaxSize = None
    forced: Forced = ()
    groups: Groups = ()
    y_quantile: Annotated[
        Annotated[float, SHARE] | None,
        Field(
            description="Share of the target's values that its private bound should hold. The default is what "
            "serves the question best."
        ),
    ] = None
    design_moments: Annotated[
        dict[str, dict[Literal["mean", "sd"], float]] | None,
        Field(
            description="Columns whose distribution is declared public. Give mean and sd by column, in the "
            "column's own unit. What is declared costs no budget."
        ),
    ] = None
    uncorrelated: Uncorrelated = False
    public_moments: PublicMomentsOption = None
    selective_inference: Annotated[
        Literal["fission", "none"] | None,
        Field(
            description="How intervals after a selection hold. With `fission` one part of the moments selects "
            "and the other gives the intervals; with `none` all moments select. The default is "
            "`none`, but coefficients asked later "
            "of what the release selected use `fission`: their columns are selected anew."
        ),
    ] = None
