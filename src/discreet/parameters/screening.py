"""Parameters of the choice among many columns, one by one."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.parameters.public_moments import PublicMomentsOption
from discreet.parameters.ranges import SIZE, Between, SharesOf
from discreet.parameters.shared import (
    CLIP,
    DIVIDED,
    Epsilon,
    Forced,
    Groups,
    MaxFalse,
    NoDelta,
    NumberOfRows,
    Parameters,
    PeelingDelta,
    PublicBound,
    PublicCenter,
    Shares,
    first,
)

MAX_BLOCKS = 10**6

TopKNoise = Literal["exponential", "gumbel"]
Level = Annotated[
    str | None, Field(description="Level of a categorical target that is compared with all its other levels.")
]
Codes = Annotated[
    Mapping[str, PublicCenter] | None,
    Field(
        description="Number that each level of a categorical target stands for. The numbers are public. The default is "
        "-1 and 1 where there are two levels."
    ),
]


MostChosen = Annotated[
    int | None,
    Field(
        ge=1,
        le=1000,
        description="Most columns that may be selected, besides the forced ones. A group counts as one; where "
        "their number is chosen.",
    ),
]
NoiseTest = Annotated[
    bool | None,
    Field(
        description="Test the selected columns against chance. It takes a tenth to three tenths of "
        "epsilon and tells how often a table without any effect gives columns that stand out as far. It needs a fixed "
        "number of columns. It is not available in a step of a plan, with split columns, or for tables with one value "
        "in each row. The default is to test where a column could stand out by the public facts.",
    ),
]
ScoreFunction = Callable[[Any, Any], Any]
SCORE = (
    "The user's own score. From scaled columns (n, d) and scaled target (n,), both in [-1, 1], to d scores; larger is "
    "better. The guarantee holds as far as `sensitivity` is true, which nothing checks: the release says so, and no "
    "ledger takes it."
)
Sensitivity = Annotated[float, SIZE]
SENSITIVITY = "Most that one unit changes a score, as the user declared."


Association = Literal["auto", "kendall", "median_split", "products"]


class ScreeningParameters(Parameters):
    """What all screenings share."""

    epsilon: Epsilon = first(default=1.0)
    n_features_to_select: Annotated[
        int,
        Field(
            ge=1,
            title="selected",
            description="Number of columns that are selected. It must be less than the number of candidates.",
        ),
    ] = 5
    delta: PeelingDelta = 0.0
    mechanism: Annotated[
        Literal["auto", "canonical_lipschitz", "one_shot", "peeling"],
        Field(description="How the noisy choice is made. `auto` decides from public facts."),
    ] = "auto"
    gamma: Annotated[
        Annotated[float, Between(1e-6, 1.0, or_zero=True)] | None,
        Field(
            description="Weight of a set's worst column against the best one left out. It applies to the canonical "
            "Lipschitz mechanism alone. By default the rule that chooses the mechanism sets it."
        ),
    ] = None
    noise: Annotated[
        TopKNoise | None,
        Field(description="Law of the noise. It is exponential by default, except for peeling with a delta."),
    ] = None
    expected_score: Annotated[
        Annotated[float, Between(1e-9, 1e18)] | None,
        Field(
            description="Public guess of the last selected column's score. It only decides the mechanism. It is "
            "counted in rows or votes; the default is a fiftieth of the largest possible score."
        ),
    ] = None
    n0: NumberOfRows = None


class IndependenceParameters(ScreeningParameters):
    """Of screening by each column's association with the target."""

    n_features_to_select: Annotated[
        Annotated[int, Field(ge=1)] | Literal["auto"],
        Field(
            title="selected",
            description="Number of columns that are selected. It must be less than the number of candidates. `auto` "
            "chooses it as well, at no further cost: all columns whose score lies above a public threshold.",
        ),
    ] = 5  # type: ignore[assignment]
    max_false: MaxFalse = None
    max_size: MostChosen = None
    forced: Forced = ()
    groups: Groups = ()
    saturation: Annotated[
        Annotated[float, Between(1e-6, 1.0)] | None,
        Field(
            description="Share of each half range beyond which values are cut. The half range begins at the middle "
            "of the bounds, or at the target's center. A smaller share suits wide bounds; 1e-6 leaves signs only. "
            "Where the target's center is private, the default is between 0.02 and 0.1 for the target: the fewer the "
            "rows, the smaller. With n_features_to_select=auto it is between 0.3 and 1 for columns. Else it is 1."
        ),
    ] = None
    association: Annotated[
        Association,
        Field(
            description="How a column's association with the target is measured. `kendall` takes all pairs of rows: "
            "those in which both rise, less those in which one rises and the other falls. `median_split` takes the "
            "target over the upper half of a column, less that over its lower half. For both, columns need no bounds, "
            "and skewed columns or wide bounds cost nothing. `products` multiplies both, scaled to their bounds. "
            "`auto` is `kendall` where the target has more than two values, nothing is stated of its center, bound or "
            "saturation, and the number of rows is known and small; elsewhere it is `products`. Tables with one value "
            "in each row have `products` only."
        ),
    ] = "auto"
    y_center: Annotated[
        PublicCenter | Literal["private", "middle"],
        Field(
            title="y center",
            description="Value of the target that counts as zero. `private` estimates its mean from a share of "
            "epsilon, so that columns with a large mean of their own do not stand out for that alone. `middle` takes "
            "the middle of its bounds or codes. A number is public, in the target's unit.",
        ),
    ] = "private"
    y_bound: Annotated[
        PublicBound | Literal["private", "furthest"] | None,
        Field(
            title="y bound (r)",
            description=f"{CLIP} `private` estimates the median of the distances from the center from a share of "
            "epsilon. `furthest` takes half the width of the bounds. A number is public. The default is `private` "
            "where a fixed number of columns is selected around a private center and the rows are known to suffice, "
            "and `furthest` elsewhere. A target with two values is never clipped.",
        ),
    ] = None
    level: Level = None
    codes: Codes = None
    noise_test: NoiseTest = None
    shares: Annotated[
        Shares,
        SharesOf(("y_center", "y_bound")),
        Field(
            description=f"{DIVIDED} Shares of epsilon. y_center has 0.1; by default, where the target saturates by "
            "rule, it has 0.12 to 0.25 with what is estimated after saturation. y_bound has 0.03 to 0.1. Fewer rows "
            "have larger shares."
        ),
    ] = None


DECORRELATION_SHARES = {
    "x_center": 0.04,
    "x_recenter": 0.03,
    "x_scale": 0.03,
    "y_median": 0.05,
    "y_scale": 0.04,
    "gram": 0.33,
    "pilot": 0.2,
    "y_shift": 0.04,
}
"""Of epsilon, for each part before the choice of the columns, in their order."""

PUBLIC_SHARES = {"y_median": 0.1, "y_scale": 0.04, "gram": 0.03, "pilot": 0.3, "y_shift": 0.05}
"""The same where the columns' moments are public: of the gram only a private number of rows is left to buy."""

FEW_SHARES = {"y_median": 0.12, "gram": 0.03, "y_shift": 0.05}
"""The same where rows are few besides: the target is above or below its median, and there is no pilot."""


class DecorrelatedParameters(Parameters):
    """Of a choice by decorrelated scores."""

    epsilon: Epsilon = first(default=1.0)
    delta: NoDelta = 0.0
    max_false: Annotated[
        Annotated[float, Between(1e-6, 0.5)],
        Field(description="Chance of selecting any column if none is related to the target. It sets the threshold."),
    ] = 0.05
    max_size: MostChosen = None
    n_screened: Annotated[
        int | None,
        Field(
            ge=1,
            le=64,
            description="Number of candidates that are scored beside each other; a group counts as one. Of more "
            "candidates a first screening, each column by itself, leaves so many. The default is all of up to 8, else "
            "6, and more with many rows. It is not used with public_moments.",
        ),
    ] = None
    forced: Forced = ()
    groups: Groups = ()
    saturation: Annotated[
        Annotated[float, Between(1e-6, 1.0)] | None,
        Field(
            description="Share of each half range beyond which values are cut. The half range begins at the middle "
            "of the bounds. A smaller share suits wide bounds, a larger one suits effects that are linear over the "
            "whole range. The default cuts columns by their spreads, which are estimated from a share of epsilon "
            "(`x_scale`). Where rows are too few for that, it lies between 0.6 and 1: the more rows, the larger."
        ),
    ] = None
    n0: NumberOfRows = None
    y_center: Annotated[
        PublicCenter | Literal["private", "middle"],
        Field(
            title="y center",
            description="Value of the target that counts as zero. `private` estimates its median from a share of "
            "epsilon. `middle` takes the middle of its bounds. A number is public, in the target's unit. It may be far "
            "off: this is corrected for.",
        ),
    ] = "private"
    x_center: Annotated[
        Mapping[str, PublicCenter] | Literal["private", "middle"],
        Field(
            title="x center",
            description="Values of the numeric columns that count as zero. `private` estimates their means from a "
            "share of epsilon, so that columns far from the middle of their bounds are cut around where they lie. "
            "Where spreads are estimated too, and noise is large, a second estimate near there follows (`x_recenter`). "
            "`middle` takes the middle of their bounds. Numbers are public, by column in its unit; a column that is "
            "not named gets the middle of its bounds. It cannot be used with public_moments.",
        ),
    ] = "private"
    shares: Annotated[
        Shares,
        SharesOf((*DECORRELATION_SHARES, "public_check", "first_screening")),
        Field(
            description=f"{DIVIDED} The choice has what these leave: "
            + ", ".join(f"{name} {share:g}" for name, share in DECORRELATION_SHARES.items())
            + ". With public_moments others, of what public_check leaves: 0.01 to 0.08 for a look at whether the rows "
            "go with these, which are not used otherwise. A first screening of many candidates takes 0.25, and the "
            "shares are of what it leaves."
        ),
    ] = None
    public_moments: PublicMomentsOption = None


class OwnScoreParameters(ScreeningParameters):
    """Of screening by a score of the user's own."""

    score_func: Annotated[ScoreFunction, Field(exclude=True, description=SCORE)]
    sensitivity: Annotated[Sensitivity, Field(description=SENSITIVITY)]
    level: Level = None
    codes: Codes = None


class VotesParameters(ScreeningParameters):
    """Of votes of lassos on blocks of rows."""

    n_blocks: Annotated[
        int | None,
        Field(
            ge=1,
            le=MAX_BLOCKS,
            description="Number of blocks that vote. Each row goes to one at random. The default is the square root "
            "of the number of rows.",
        ),
    ] = None
    alpha: Annotated[
        float,
        Between(1e-9, 1e9),
        Field(description="Penalty of the lasso in each block. It applies to standardized columns."),
    ] = 0.1
    level: Level = None
    codes: Codes = None
    noise_test: NoiseTest = None
