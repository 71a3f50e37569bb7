"""Parameters that several methods have, and what the parameters of a method are.

A description begins with a sentence that stands alone: reports show it, help pages and docstrings all of it. A title is
what a dry run calls the parameter; only those that have one are shown there.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, dataclass_transform

from pydantic import BeforeValidator, Field

from discreet.accounting.guarantee import MAX_EPSILON, MIN_EPSILON
from discreet.parameters.ranges import MAX_ROWS, SHARE, SIZE, Between

if TYPE_CHECKING:
    Several = Sequence
else:

    class Several:
        """What is given as any sequence, and held as a tuple."""

        def __class_getitem__(cls, item: Any) -> Any:
            return Annotated[tuple[item, ...], BeforeValidator(_in_order)]


def _in_order(values: Any) -> Any:
    """Refuse a set: its order is another one in another process, and so would be what is asked."""
    if isinstance(values, (set, frozenset)):
        raise ValueError("must be a list, whose order is fixed, and is a set")  # noqa: TRY004 - pydantic's
    return values


def first(*, default: Any, kw_only: Literal[False] = False) -> Any:
    """Return the default of a parameter that may be given without its name: the first one alone."""
    del kw_only
    return default


@dataclass_transform(kw_only_default=True, field_specifiers=(first,))
class Parameters:
    """Parameters of a method and of its estimator: both take annotations and defaults from a subclass of this."""


EPSILON = Between(float(MIN_EPSILON), MAX_EPSILON)
Epsilon = Annotated[
    float,
    EPSILON,
    Field(
        description="Privacy budget of this release, all parts together. A larger one gives less noise and less "
        "protection; 0.1 to 3 are common."
    ),
]
_Delta = Annotated[float, Between(1e-300, 1 - 1e-9, or_zero=True)]
_CHANCE = "Added chance of a result outside the promise."
Delta = Annotated[_Delta, Field(description=_CHANCE)]
NoDelta = Annotated[
    _Delta, Field(description=f"{_CHANCE} It is accepted because other methods take it; none is spent.")
]
BoundDelta = Annotated[
    _Delta,
    Field(
        description=f"{_CHANCE} The bound that the noise rests on may fail with this chance. 0 takes the smaller "
        "of n^-1.5 and 0.000001; with `variance_floor` no delta is needed."
    ),
]
PeelingDelta = Annotated[
    _Delta,
    Field(description=f"{_CHANCE} With a positive delta the rule may choose peeling, whose rounds add up as rho."),
]
GaussianDelta = Annotated[
    _Delta,
    Field(
        description=f"{_CHANCE} With a positive delta, such as 0.000001, the noise is Gaussian and much smaller; 0 is "
        "pure privacy."
    ),
]

Mechanism = Annotated[
    Literal["permute_and_flip", "exponential", "laplace"],
    Field(description="How the noisy choice is made. permute_and_flip is never worse than exponential."),
]
Forced = Annotated[Several[str], Field(description="Columns put into every model.")]
Groups = Annotated[Several[Several[str]], Field(description="Columns that enter and leave together.")]
MaxSize = Annotated[
    int | None,
    Field(ge=0, description="Most columns that may be selected, besides the forced ones."),
]
Intercept = Annotated[
    bool, Field(description="Give each model an intercept. It shares the bound on the coefficients, if any.")
]
PublicBound = Annotated[float, SIZE]
PublicCenter = Annotated[float, Between(-1e100, 1e100)]
CLIP = "r: largest distance of a target value from its center, in its unit. Values farther away are clipped."
YBound = Annotated[
    PublicBound | Literal["private"] | None,
    Field(
        title="y bound (r)",
        description=f"{CLIP} `private` estimates the quantile `y_quantile` from a share of epsilon; a number is "
        "public. The default is the farthest bound.",
    ),
]
YQuantile = Annotated[
    Annotated[float, SHARE] | None,
    Field(
        description="Share of the target's values that its private bound should hold. The default is 0.95. Where "
        "coefficients are released, it is so large that clipping changes no slope by more than about a tenth of its "
        "standard error."
    ),
]
YCenter = Annotated[
    PublicCenter | None,
    Field(
        title="y center",
        description="Value of the target that counts as zero. It is public, in the target's unit. The default is the "
        "middle of its bounds.",
    ),
]
_RULE = (
    "The default is `private` where there are enough rows to find it with a share of 0.03 to 0.2 of epsilon (the fewer "
    "rows, the larger the share), except for a whole number with two values."
)
SelectionCenter = Annotated[
    PublicCenter | Literal["private", "middle"] | None,
    Field(
        title="y center",
        description="Value of the target that counts as zero. `private` estimates its median from a share of "
        "epsilon, so that a target away from the middle of its bounds loses nothing. `middle` takes the middle of "
        f"its bounds. A number is public, in the target's unit. {_RULE}",
    ),
]
SelectionBound = Annotated[
    PublicBound | Literal["private", "furthest"] | None,
    Field(
        title="y bound (r)",
        description=f"{CLIP} `private` estimates the quantile `y_quantile` from a share of epsilon. `furthest` "
        "takes the farthest bound, or half the width of the bounds around a private center. A number is public. The "
        "default is `private` where the center is, unless R is given.",
    ),
]
CountClipped = Annotated[
    bool,
    Field(
        description="Count the rows whose target is clipped, with noise, for a twentieth of epsilon. The "
        "release holds the count, and intervals are wider accordingly."
    ),
]
RowNorm = Annotated[
    Annotated[float, Between(1e-3, 1e6)] | None,
    Field(
        description="Largest l2 norm of a row's scaled columns. A row with a larger norm is scaled down together with "
        "its target, so that slopes do not change. By default there is no limit."
    ),
]
CoefBound = Annotated[
    float,
    Between(1e-3, 1e3),
    Field(
        title="coef bound",
        description="Largest absolute coefficient that is thought possible. It is counted per half range of a column: "
        "in units of `y_bound` for a linear model, of the linear predictor for others. A smaller bound makes intervals "
        "shorter, because noise cannot explain what lies beyond it. An interval that reaches the bound has no end "
        "there.",
    ),
]
LINEAR_COEF_BOUND, GENERALIZED_COEF_BOUND = 2.0, 50.0
"""Default bounds of coefficients, of linear and of other models."""

Robust = Annotated[
    bool,
    Field(
        description="Give intervals that hold where errors have unequal variances, and where rows of one "
        "unit are alike. "
        "It takes a small share of epsilon."
    ),
]
Confidence = Annotated[float, Between(1e-6, 1 - 1e-9), Field(description="Confidence level of the intervals.")]
NumberOfRows = Annotated[
    int | None,
    Field(ge=1, le=MAX_ROWS, description="Public number of rows. It is a guess where the real number is private."),
]
MaxFalse = Annotated[
    Annotated[float, Between(1e-6, 0.5)] | None,
    Field(
        description="Largest chance of selecting any column if none is related to the target. With "
        "n_features_to_select=auto and up to 8 columns, it is the largest chance of selecting an unrelated column, "
        "whichever others are related. It sets the penalty `auto`, or the threshold. The default is 0.05 for sis. For "
        "a penalty it is at most 0.5, for moments at most 0.1, and falls as rows and epsilon grow.",
    ),
]
Shares = Mapping[str, float] | None
DIVIDED = "How the budget is divided among the steps."
AsPublished = Annotated[
    bool,
    Field(
        description="Run the paper's algorithm to the letter, errors included. It is for study: it is not "
        "private, and no ledger accepts it."
    ),
]
Penalty = Annotated[float, Between(1e-12, 1e220, or_zero=True)]
