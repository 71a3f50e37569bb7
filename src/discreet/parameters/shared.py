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
    Field(description="What this release spends, of all parts together. In nats; common are 0.1 to 3."),
]
_Delta = Annotated[float, Between(1e-300, 1 - 1e-9, or_zero=True)]
_CHANCE = "Added chance of a result outside the promise."
Delta = Annotated[_Delta, Field(description=_CHANCE)]
NoDelta = Annotated[_Delta, Field(description=f"{_CHANCE} Accepted for the sake of other methods: none is spent.")]
BoundDelta = Annotated[
    _Delta,
    Field(
        description=f"{_CHANCE} The bound that the noise rests on may fail with it. 0 takes the smaller of n^-1.5 and "
        "1e-6; with `variance_floor` there is none."
    ),
]
PeelingDelta = Annotated[
    _Delta,
    Field(description=f"{_CHANCE} With a positive one the rule may choose peeling, whose rounds add up as rho."),
]
GaussianDelta = Annotated[
    _Delta,
    Field(
        description=f"{_CHANCE} With a positive one, such as 1e-6, the noise is Gaussian and much smaller; 0 is pure "
        "privacy."
    ),
]

Mechanism = Annotated[
    Literal["permute_and_flip", "exponential", "laplace"],
    Field(description="How the noisy choice is made. The first is never worse than the second."),
]
Forced = Annotated[Several[str], Field(description="Columns put into every model.")]
Groups = Annotated[Several[Several[str]], Field(description="Columns that enter and leave together.")]
MaxSize = Annotated[
    int | None,
    Field(ge=0, description="Most columns that may be selected, besides the forced ones."),
]
Intercept = Annotated[
    bool, Field(description="Whether models have an intercept. It shares the bound on the coefficients, if any.")
]
PublicBound = Annotated[float, SIZE]
PublicCenter = Annotated[float, Between(-1e100, 1e100)]
CLIP = "r: farthest that a target value may lie from its center. It is clipped there; in the target's unit."
YBound = Annotated[
    PublicBound | Literal["private"] | None,
    Field(
        title="y bound (r)",
        description=f"{CLIP} Public, or private: the quantile `y_quantile`, estimated from a share of epsilon. Default "
        "the furthest of its bounds.",
    ),
]
YQuantile = Annotated[
    Annotated[float, SHARE] | None,
    Field(
        description="Share of the target's values that its private bound should hold. Default 0.95; where coefficients "
        "are told, so many that the clip bends no slope by more than about a tenth of its standard error."
    ),
]
YCenter = Annotated[
    PublicCenter | None,
    Field(
        title="y center",
        description="Middle of the target: its zero. Public, in its unit. Default the middle of its bounds.",
    ),
]
_RULE = (
    "Default private where the rows suffice: where a share of .03 to .2, the larger the fewer they are, finds it; not "
    "of a whole number of two values."
)
SelectionCenter = Annotated[
    PublicCenter | Literal["private", "middle"] | None,
    Field(
        title="y center",
        description="Middle of the target: its zero. private estimates its median from a share of epsilon, so that a "
        "target away from the middle of its bounds loses nothing; middle is that of its bounds; a number is public, in "
        f"its unit. {_RULE}",
    ),
]
SelectionBound = Annotated[
    PublicBound | Literal["private", "furthest"] | None,
    Field(
        title="y bound (r)",
        description=f"{CLIP} private: the quantile `y_quantile`, estimated from a share of epsilon; furthest is the "
        "furthest of its bounds, or half their width around a private center; a number is public. Default private "
        "where the center is, unless R is stated.",
    ),
]
CountClipped = Annotated[
    bool,
    Field(
        description="Whether rows whose target is clipped are counted, with noise, for a twentieth of epsilon. The "
        "release tells the count, and intervals reach as much further."
    ),
]
RowNorm = Annotated[
    Annotated[float, Between(1e-3, 1e6)] | None,
    Field(
        description="Largest length of a row's scaled columns. A row with a larger l2 norm counts with a weight, and "
        "the target with it, so that slopes stay what they are. Default none."
    ),
]
CoefBound = Annotated[
    float,
    Between(1e-3, 1e3),
    Field(
        title="coef bound",
        description="Largest absolute coefficient that is thought possible. Of a column per half range of its bounds: "
        "in `y_bound` for a linear model, in the linear predictor for others. Noise cannot explain what is beyond it, "
        "so a smaller one makes intervals shorter; an interval that reaches it has no end there.",
    ),
]
LINEAR_COEF_BOUND, GENERALIZED_COEF_BOUND = 2.0, 50.0
"""Default bounds of coefficients, of linear and of other models."""

Robust = Annotated[
    bool,
    Field(
        description="Whether intervals hold where errors have unequal variances, and where rows of one unit are alike. "
        "It takes a small share of epsilon."
    ),
]
Confidence = Annotated[float, Between(1e-6, 1 - 1e-9), Field(description="Level of the intervals.")]
NumberOfRows = Annotated[
    int | None,
    Field(ge=1, le=MAX_ROWS, description="Public stand-in for the number of rows. A guess, where that is private."),
]
MaxFalse = Annotated[
    Annotated[float, Between(1e-6, 0.5)] | None,
    Field(
        description="Chance of a false column where no column goes with the target, at most. Of "
        "n_features_to_select=auto with up to 8 columns: whichever others do. It sets the penalty auto, or the "
        "threshold. Default 0.05 for sis; for a penalty one that falls as rows and epsilon grow: 0.5 and less, for "
        "moments 0.1 and less."
    ),
]
Shares = Mapping[str, float] | None
DIVIDED = "How the budget is divided among the steps."
AsPublished = Annotated[
    bool,
    Field(
        description="Whether the paper's algorithm runs to the letter, errors included. For study: not private, and no "
        "ledger takes it."
    ),
]
Penalty = Annotated[float, Between(1e-12, 1e220, or_zero=True)]
