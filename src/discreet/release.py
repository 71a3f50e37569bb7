"""A release: the outcome of one private computation, the only thing that leaves.

Every field is a public fact, or comes out of a mechanism whose event is recorded beside it.
"""

import hashlib
import importlib
import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, computed_field, model_validator

from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import VerificationError
from discreet.files import read_text, write_whole
from discreet.release_views import ReleaseViews

SCHEMA: Literal["discreet/release@1"] = "discreet/release@1"


RowsOrigin = Literal[
    "read from the source",
    "stated by the caller: in memory, the declared columns as they are, all of them",
    "arrays that nobody stated to be the declared columns as they are",
]
READ, STATED, UNSTATED = get_args(RowsOrigin)


Family = Literal["linear", "logistic", "poisson", "huber", "mean", "median", "quantile", "own"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GuaranteeRecord(_Record):
    """The guarantee of a release, as it stands in its file."""

    epsilon: float = Field(gt=0, description="nats")
    delta: float = Field(ge=0, lt=1)
    neighboring: NeighboringRelation
    unit: str
    rows_per_unit: int = Field(ge=1)
    n_units: int | None = Field(default=None, ge=1, description="public, where units own 1 to rows_per_unit rows")


class NoiseRecord(_Record):
    """The noise box: how a mechanism was calibrated, from public facts and earlier steps of the release."""

    mechanism: str
    noise: str
    n_candidates: int | None = Field(default=None, ge=1, description="what a selection chooses among")
    sensitivity: float = Field(gt=0, description="range of the scores' changes, or size of a vector's change")
    inflation: float = Field(default=0.0, ge=0, description="added for the solver, the grid and rounding, same unit")
    scale: float = Field(gt=0, description="of the noise, same unit")
    unit: str = Field(default="squared units of the target", description="of sensitivity, inflation and scale")
    formula: str
    numerics: str
    claim: str = Field(description="file that holds the proof")
    penalty: float | None = Field(
        default=None,
        ge=0,
        exclude_if=lambda value: value is None,
        description="what each column adds to a model's score, same unit",
    )
    max_false: float | None = Field(
        default=None,
        gt=0,
        exclude_if=lambda value: value is None,
        description="chance of a false column that the penalty is set for, where no column goes with the target",
    )
    threshold: float | None = Field(
        default=None,
        ge=0,
        exclude_if=lambda value: value is None,
        description="public: columns whose score is above it are to be selected, same unit",
    )


class PublicColumn(_Record):
    """What was declared public about a column that took part."""

    name: str
    role: Literal["target", "candidate", "unit_id", "offset", "exposure", "weights", "source"]
    type: str
    lower: float | None = None
    upper: float | None = None
    levels: tuple[str, ...] | None = None
    source: str
    description: str | None = Field(
        default=None, exclude_if=lambda value: value is None, description="what the column is, as declared"
    )
    derived: str | None = Field(
        default=None, exclude_if=lambda value: value is None, description="computed from other columns of the row"
    )


class StepRecord(_Record):
    """One part of a release, with its own privacy cost."""

    name: str = Field(description="what the part is for, such as y_bound, selection or moments")
    event: dict[str, Any]
    noise: NoiseRecord
    value: float | None = Field(default=None, description="the number released by this part, if it is one")
    columns: tuple[str, ...] | None = Field(default=None, description="the columns that a screening left, in a plan")


def _absent(value: object) -> bool:
    """Leave a field out that says nothing: releases from before it stay as they are."""
    return value is None


LARGEST = 1e300
"""Of a released coefficient or variance, so that it is finite."""


def _told(end: float | None) -> float | None:
    """An end that is infinite, or overflowed as older versions wrote it, is none."""
    return end if end is not None and abs(end) < LARGEST else None


End = Annotated[float | None, AfterValidator(_told)]


class CoefficientRecord(_Record):
    """A coefficient in the columns' own units, with an interval that holds sampling and privacy noise."""

    name: str
    column: str | None = Field(description="None for the intercept")
    level: str | None = Field(default=None, description="of a category, against the one level that has none")
    reference: str | None = Field(
        default=None, exclude_if=lambda value: value is None, description="the level that it is compared with"
    )
    estimate: float
    low: End = Field(description="None where no lower limit can be told")
    high: End = Field(description="None where no upper limit can be told")
    sampling_variance: float = Field(ge=0)
    privacy_variance: float = Field(ge=0)

    @model_validator(mode="before")
    @classmethod
    def _of_any_version(cls, given: Any) -> Any:
        """Older versions wrote the limits of a method as ends, and marked them."""
        if not isinstance(given, dict):
            return given
        ends = {"low": None, "high": None} if given.get("uninformative") is True else {}
        return {name: value for name, value in given.items() if name != "uninformative"} | ends

    @computed_field(description="whether neither limit can be told")  # type: ignore[prop-decorator]
    @property
    def uninformative(self) -> bool:
        """Whether neither limit can be told."""
        return self.low is None and self.high is None

    @property
    def interval(self) -> tuple[float, float]:
        """The ends as numbers, infinite where no limit can be told."""
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high


class ClippedRecord(_Record):
    """How many rows' target was clipped; slopes are smaller by about the share of these rows."""

    low: float = Field(ge=0, description="rows, with a chance of 95 per cent for both ends together")
    high: float = Field(ge=0, allow_inf_nan=False)
    counted: bool = Field(description="whether rows were counted, with noise; else what a private bound makes sure of")
    stretch: float = Field(ge=0, le=1, description="share of rows by which the far ends of intervals are moved out")


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Variance = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Entry = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
Vector = tuple[Entry, ...]
Symmetric = tuple[Vector, ...]
"""Rows of a symmetric matrix, each from the diagonal on."""


def _is_triangle(rows: Symmetric, size: int) -> bool:
    return [len(row) for row in rows] == [*range(size, 0, -1)]


def _is_square(rows: tuple[Vector, ...], size: int) -> bool:
    return len(rows) == size and all(len(row) == size for row in rows)


class ReliabilityRecord(_Record):
    """How well a score's covariance by units is known; `discreet.kernels.glm.sandwich` tells the symbols."""

    total: Symmetric = Field(description="covariance of the score, its noise included")
    basis: tuple[Vector, ...] = Field(description="columns in which errors are told")
    sizes: Vector = Field(description="of the family's own variance in the basis")
    errors: Symmetric = Field(description="variances of the entries' errors in the basis")
    factor_sd: Variance = Field(description="error of the multiple of the family's own variance")
    n_units: Positive


class ScoreRecord(_Record):
    """The noisy score of a logistic or Poisson regression, and the variance of its noise, as intervals ask for it.

    Per half range of each column, in the order of the coefficients; `discreet.kernels.glm.score` tells the symbols.
    """

    coef_bound: Annotated[float, Field(gt=0, le=1e6)] = Field(description="largest absolute coefficient")
    middles: Vector = Field(description="own units: value = middle + half_width x scaled value")
    half_widths: tuple[Positive, ...]
    offset_middle: Entry = Field(default=0.0, description="where an offset is zero on its scale")
    response_low: float = Field(allow_inf_nan=False, description="public range of the response")
    response_high: Positive
    is_smooth: bool = Field(default=False, description="Poisson: whether the mean is that of clipped counts")
    coef: Vector = Field(description="where the score is zero, or nearly so")
    told: Vector = Field(default=(), description="the estimate, shrunk; absent where it is `coef`")
    constant: Vector = Field(description="a: the score at the point")
    point: Vector = Field(description="t: where the score was taken")
    n_rows: Positive = Field(description="of the curve")
    center: Vector = Field(description="of the curve: means of the columns")
    spread: Symmetric = Field(description="of the curve: covariance of the columns")
    fixed: Vector = Field(default=(), description="of the curve: half the range of an offset, its last column")
    rest: Symmetric = Field(description="R: the slope at the point less that of the curve")
    information: Symmetric = Field(description="of the rows at the point")
    sampling: Symmetric = Field(description="J: variance of the score by sampling")
    noise: Symmetric = Field(description="variance of the score's noise at the point")
    slope_noise: Symmetric = Field(description="variances of what is not known of R, in the basis")
    slope_basis: tuple[Vector, ...] = Field(description="orthonormal columns")
    slope_factor: Entry = Field(description="the noise of R meets factor x d + offset")
    slope_offset: Vector
    mismatch: Variance = Field(description="tau: relative error of the curve")
    law: Literal["gaussian", "spherical_laplace"] = Field(default="gaussian", description="of the noise")
    is_told: bool = Field(default=True, description="False where noise hides so much that nothing is told")
    reliability: ReliabilityRecord | None = Field(default=None, description="where units told the sampling variance")

    @model_validator(mode="after")
    def _of_one_shape(self) -> "ScoreRecord":
        p, known, of_curve = len(self.coef), self.reliability, len(self.coef) + len(self.fixed)
        vectors = [self.middles, self.half_widths, self.constant, self.point, self.slope_offset]
        vectors += [self.told] if self.told else []
        triangles, squares = [self.rest, self.information, self.sampling, self.noise], [self.slope_basis]
        triangles.append(self.slope_noise)
        if known is not None:
            vectors, triangles = [*vectors, known.sizes], [*triangles, known.total, known.errors]
            squares.append(known.basis)
        shaped = len(self.center) == of_curve and _is_triangle(self.spread, of_curve)
        shaped = shaped and all(len(vector) == p for vector in vectors)
        shaped = shaped and all(_is_triangle(rows, p) for rows in triangles)
        if not (p and shaped and all(_is_square(rows, p) for rows in squares)):
            raise ValueError("all parts of a score must be of one size")
        if not self.response_low < self.response_high:
            raise ValueError("the response must have a range")
        return self


class JointRecord(_Record):
    """Whether all coefficients of some columns can be zero together."""

    columns: tuple[str, ...]
    terms: tuple[str, ...] = Field(description="the coefficients")
    confidence: float = Field(gt=0, lt=1, description="level of the joint region")
    distance: Variance | None = Field(description="of zero from the released numbers; inside where it is at most limit")
    limit: Variance | None = Field(description="quantile of chi-squared, or degrees of freedom times that of F")
    degrees_of_freedom: int = Field(ge=1, description="number of coefficients")
    residual_degrees_of_freedom: Variance | None = Field(default=None, description="of F; None for chi-squared")
    zero_inside: bool | None = Field(description="None where nothing can be told")


class FitRecord(_Record):
    """The coefficients of one regression."""

    family: Family
    confidence: float = Field(gt=0, lt=1, description="level of the intervals")
    coefficients: tuple[CoefficientRecord, ...]
    residual_sd: float | None = Field(default=None, ge=0, description="linear: estimated, in the target's unit")
    r_squared: float | None = Field(default=None, description="linear: estimated, corrected for the noise")
    clipped: ClippedRecord | None = Field(default=None, exclude_if=_absent)
    offset: str | None = Field(
        default=None, exclude_if=_absent, description="column that is added to the linear predictor"
    )
    exposure: str | None = Field(
        default=None, exclude_if=_absent, description="column whose logarithm is added to the linear predictor"
    )
    weights: str | None = Field(default=None, exclude_if=_absent, description="column of the rows' weights")
    count_bound: int | None = Field(
        default=None, ge=1, exclude_if=_absent, description="poisson: larger counts were clipped to it"
    )
    joint: tuple[JointRecord, ...] = Field(
        default=(), exclude_if=lambda value: not value, description="each category of several coefficients as a whole"
    )
    score: ScoreRecord | None = Field(
        default=None, exclude_if=_absent, description="logistic, Poisson: what answers are made of"
    )

    @property
    def has_intervals(self) -> bool:
        """False when the method gives none: there is no end and no variance."""
        tells = (
            not entry.uninformative or entry.sampling_variance + entry.privacy_variance > 0
            for entry in self.coefficients
        )
        return not self.coefficients or any(tells)


NoisySum = Annotated[int, Field(ge=-(2**80), le=2**80)]
"""An exact sum below 2^63 with noise that fits in 64 bits, some of each added up."""


class WhitenedRecord(_Record):
    """Noisy sums of a second pass: of columns that the first made nearly uncorrelated, and of residuals.

    A row is z = matrix x, shortened to `norm`, and the residual y - x'start, clipped to `cut`; x are the columns at
    `places`, scaled, and y is in units of its bound.
    """

    places: tuple[int, ...] = Field(description="of the model's columns among the moments'")
    matrix: tuple[tuple[Finite, ...], ...]
    start: tuple[Finite, ...]
    norm: Positive
    cut: Positive
    gram: tuple[tuple[NoisySum, ...], ...] = Field(description="of z, in squared steps of norm / grid")
    xty: tuple[NoisySum, ...]
    yty: NoisySum
    scores: tuple[tuple[NoisySum, ...], ...] | None = Field(
        default=None, description="squares of each unit's score, summed; None where equal variances are supposed"
    )
    scores_unit: Positive = Field(default=1.0, description="norm of a unit's score in steps of norm x cut / grid")
    gram_variance: Variance = Field(description="of the noise on the diagonal; half of it beside the diagonal")
    xty_variance: Variance
    yty_variance: Variance
    scores_variance: Variance = 0.0


class LevelRecord(_Record):
    """A private median of the target, beside moments of few rows: estimates use it, intervals do not."""

    median: NoisySum = Field(description="of the scaled target, in whole steps")
    error: float = Field(ge=0, le=1, description="what it is thought to be off by, in units of y_bound")


class KnownRecord(_Record):
    """That the columns' own products were not bought: they are those of public records, or known by design."""

    n_records: int | None = Field(default=None, ge=2, description="public records; none where they are known by design")
    sha256: str | None = Field(default=None, description="of the public file")
    source: str = Field(default="", description="why they are public")
    means: tuple[float, ...] = Field(description="of the columns of X, scaled")
    tails: float = Field(default=1.0, ge=1, description="variance of a row's products over that of normal columns")


class FissionRecord(_Record):
    """The part of noisy moments that columns are selected by; what it leaves of them is for estimates.

    The moments with normal noise of their own variance, drawn once: both parts are independent.
    """

    share: float = Field(gt=0, lt=1, description="of the moments; variances are this share, too")
    gram: tuple[tuple[NoisySum, ...], ...]
    xty: tuple[NoisySum, ...]
    yty: NoisySum
    n_rows: Positive


class MomentsRecord(_Record):
    """Noisy sums of products of the scaled columns: any regression on them is free from here on."""

    grid: int = Field(description="a scaled value of 1 is this many whole steps")
    constant: float = Field(default=1.0, gt=0, description="of the constant column; less than 1: rows are weighted")
    labels: tuple[str, ...] = Field(description="of the columns of X; a dummy is column=level")
    owners: tuple[str | None, ...] = Field(description="the candidate that each belongs to; None for the constant")
    centers: tuple[float, ...] = Field(description="own units: value = center + half_width x scaled value")
    half_widths: tuple[Positive, ...]
    y_center: float
    y_bound: Positive
    n_rows: Positive = Field(description="public, or with noise")
    n_rows_variance: float = Field(ge=0)
    sum_of_weights: Positive | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="of rows of bounded norm: of their squared factors, with noise",
    )
    clipped: ClippedRecord | None = Field(default=None, exclude_if=lambda value: value is None)
    gram: tuple[tuple[NoisySum, ...], ...] = Field(description="X'X plus noise, squared steps")
    xty: tuple[NoisySum, ...]
    yty: NoisySum
    gram_variance: tuple[tuple[Variance, ...], ...] = Field(description="of the noise; 0 where the entry is public")
    xty_variance: tuple[Variance, ...]
    yty_variance: float = Field(ge=0)
    rows_per_unit: int = Field(default=1, ge=1, description="above 1: errors of one unit's rows may be alike")
    whitened: WhitenedRecord | None = Field(default=None, description="a second pass, for the model of all columns")
    references: tuple[int, ...] = Field(
        default=(),
        exclude_if=lambda value: not value,
        description="places of the levels that others are compared with; in older releases the most frequent ones",
    )
    level: LevelRecord | None = Field(default=None, exclude_if=_absent)
    fission: FissionRecord | None = Field(default=None, exclude_if=_absent)
    known: KnownRecord | None = Field(default=None, exclude_if=_absent, description="where X'X was not bought")
    offset: str | None = Field(default=None, exclude_if=_absent, description="column that was taken from the target")
    weights: str | None = Field(
        default=None, exclude_if=_absent, description="column of the rows' weights; n_rows is their sum"
    )


class SizeRecord(_Record):
    """The best model of one size by the noisy moments, corrected for their noise."""

    size: int = Field(ge=0, description="number of free columns")
    columns: tuple[str, ...]
    criterion: float = Field(description="smaller is better; the selected model has the smallest")
    r_squared: float
    r_squared_low: float
    r_squared_high: float
    least_criterion: float | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="where the search of this size was not finished: no model of this size has a smaller criterion",
    )


Chance = Annotated[float, Field(ge=0, le=1)]


class ColumnChance(_Record):
    """How likely it is that a column matters, given the others."""

    column: str
    chance: Chance


class ModelChance(_Record):
    """How likely it is that just these columns matter."""

    columns: tuple[str, ...]
    chance: Chance


class AveragedCoefficient(_Record):
    """A coefficient in the column's own unit, averaged over all models: zero in those without the column."""

    name: str
    column: str
    level: str | None = Field(default=None, description="of a category, against the level that has none")
    estimate: Finite
    low: Finite
    high: Finite


class PriorPosterior(_Record):
    """The posterior under one prior."""

    prior: Literal["broad", "sparse"]
    scales: tuple[Positive, ...] = Field(
        description="standard deviations of effects before the release, each as likely, one for all columns; 1 is the "
        "effect that one row would tell with a standard error of 1"
    )
    share: tuple[float, float] = Field(description="a, b: the share of columns that matter is Beta(a, b)")
    columns: tuple[ColumnChance, ...]
    models: tuple[ModelChance, ...] = Field(description="the likeliest first")
    coefficients: tuple[AveragedCoefficient, ...]
    sampling_error: Variance | None = Field(
        default=None, description="largest standard error of a chance, by the sampler; None where it is exact"
    )


class PosteriorRecord(_Record):
    """How sure columns and models are, from released numbers alone."""

    family: Family
    confidence: float = Field(gt=0, lt=1, description="probability of the intervals")
    priors: tuple[PriorPosterior, ...] = Field(min_length=1)


class PartRecord(_Record):
    """One of several releases whose noisy moments were pooled."""

    entry: int | None = Field(default=None, ge=1, description="of the ledger; None where it was not charged")
    sha256: str = Field(description="digest of the release")
    epsilon: float = Field(gt=0, description="nats, of this part alone")
    delta: float = Field(ge=0, lt=1)
    rho: float = Field(gt=0)
    certainty: Chance = Field(description="what was reached with this part and those before")


class PooledRecord(_Record):
    """Moments that were bought part by part, until they were sure enough or a ceiling was reached."""

    until: Annotated[float, Field(gt=0, lt=1)]
    of: Literal["model", "columns"] = Field(
        description="whose chance was to reach `until`: the likeliest model's, or "
        "of each column that it matters or that it does not"
    )
    prior: Literal["broad", "sparse"]
    at_most: float = Field(gt=0, description="the ceiling on epsilon, at the guarantee's delta")
    before: tuple[float, float] | None = Field(
        default=None,
        exclude_if=_absent,
        description="epsilon and delta of the first part, where it was released before there was a ceiling: they add "
        "to those of the others",
    )
    accounting: Literal["basic", "zcdp"] = Field(description="what of the parts adds up below the ceiling")
    reached: bool
    epsilon_spent: float = Field(gt=0, description="of all parts; at the guarantee's delta, where rho adds up")
    rho_spent: float = Field(gt=0)
    fixed_epsilon: float = Field(gt=0, description="of one release with as little noise, were it known beforehand")
    parts: tuple[PartRecord, ...] = Field(min_length=1)


class PointsRecord(_Record):
    """Public points with the weights that private rows gave them: a weighted public table for any software."""

    public: str = Field(description="name of the public table, without its folder")
    sha256: str = Field(description="digest of the columns, their ranges and the distinct public points")
    n_records: int = Field(ge=1, description="complete public records")
    n_points: int = Field(ge=1, description="distinct points of them, in lexicographic order")
    n_dropped: int = Field(default=0, ge=0, description="public records left out, for a missing cell")
    measure: Literal["counts", "margins"]
    measured: tuple[int, ...] = Field(description="places of the points beside which private rows were counted")
    noisy: tuple[float, ...] = Field(description="whole numbers with noise: counts of those points, or margins")
    kept: tuple[int, ...] = Field(description="places of the points that the estimate rests on")
    weights: tuple[float, ...] = Field(description="of the kept points: rows that each stands for")


class CandidateRecord(_Record):
    """One of the estimates among which a private choice was made."""

    name: str
    n_points: int | None = Field(default=None, ge=0, description="public points that it rests on")
    ridge: float = Field(default=0.0, ge=0)
    chosen: bool = False


class TwinRecord(_Record):
    """What to expect, from public records alone: they play both the public and the private table."""

    name: str
    n_points: int | None = None
    error: float = Field(ge=0, description="root mean square of the error of predictions, on the target's range")
    low: float = Field(ge=0, description="least of the repeats")
    high: float = Field(ge=0, description="largest of the repeats")


class HybridRecord(_Record):
    """An estimate on weighted public points, beside the one that costs nothing."""

    points: PointsRecord | None = Field(default=None, description="None for a histogram")
    public_only: FitRecord | None = Field(default=None, description="of the public records alone, without weights")
    candidates: tuple[CandidateRecord, ...] = Field(default=(), description="what the private choice was among")
    twins: tuple[TwinRecord, ...] = ()


class ChanceRecord(_Record):
    """What chance gives in the place of a selection: from public facts and the release alone."""

    chance_by_noise: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="that a table without any effect gives as much; None where the number of columns is fixed",
    )
    correlation_needed: float | None = Field(
        default=None, ge=0, description="with the target, of a column that is chosen in 9 of 10 draws; may be above 1"
    )
    votes_needed: float | None = Field(
        default=None, ge=0, description="two-stage, in its place: share of the blocks that must name the column"
    )
    could_stand_out: bool | None = Field(
        default=None, description="whether a column that explains half of the target's variance could be chosen"
    )
    n_rows: float | None = Field(default=None, description="public, guessed or noisy: what the correlation is for")
    standing_out: dict[str, float] = Field(
        default={}, description="by selected column, of noisy moments: standard deviations of its noise"
    )
    called_noise: bool | None = Field(default=None, description="whether chance alone gives this; None: not known")


class ClaimRecord(_Record):
    """A proof that the guarantee rests on, and who has read it against the code."""

    claim: str = Field(description="file that holds the proof")
    status: str = Field(description="`proved` where two people who did not write the code have read it, else `contrib`")
    read_by: tuple[str, ...] = Field(description="who has read it besides its author; nobody when empty")


class LedgerRecord(_Record):
    """Where the charge stands in the ledger."""

    entry: int = Field(ge=1)
    head: str = Field(description="hash of the ledger's chain when the budget was reserved")
    epsilon_spent: float = Field(description="of the data set, this release included")
    epsilon_cap: float = Field(description="of the data set, for its lifetime")
    accounting: Literal["basic", "zcdp"] = "basic"
    rho: float | None = Field(default=None, description="zcdp: charged for this release")
    rho_spent: float | None = Field(default=None, description="zcdp: of the data set, this release included")
    rho_cap: float | None = Field(default=None, description="zcdp: what epsilon_cap converts to, at delta_cap")
    delta_cap: float | None = Field(default=None, description="zcdp: of the data set, for its lifetime")


class Provenance(_Record):
    """Where a release comes from."""

    discreet: str
    python: str
    dataset: str
    description: str | None = Field(
        default=None, exclude_if=lambda value: value is None, description="what the table is, as declared"
    )
    metadata_sha256: str
    request_sha256: str
    data: str = Field(description="name of the source, without its folder")
    requested_at: str = Field(description="UTC, before the data were opened")
    randomness: Literal["system entropy", "seeded"]
    rows_origin: RowsOrigin | None = Field(
        default=None,
        exclude_if=lambda origin: origin is None,  # of an older release, whose digest must stay
        description="what says that the rows are those of the declared table",
    )
    ledger: LedgerRecord | None = None
    derived_from: str | None = Field(
        default=None, description="digest of the release that this was computed from without the rows, for free"
    )


class Release(ReleaseViews, _Record):
    """The outcome of one private computation.

    Parameters
    ----------
    private : bool
        False when the algorithm is run for study and gives no guarantee.
    selected : tuple of str
        Names of the selected columns; a category stands for all its levels.
    guarantee : GuaranteeRecord or None
        What is promised; None when `private` is False.
    noise : NoiseRecord
        The noise of the last step.
    steps : tuple of StepRecord
        The parts with their privacy costs, in order, when there is more than one.
    fit : FitRecord or None
        Coefficients with intervals.
    moments : MomentsRecord or None
        Noisy moments, from which more can be computed for free.
    by_size : tuple of SizeRecord
        The best model of each size by the noisy moments, as far as a search within bounds found it.
    hybrid : HybridRecord or None
        Weighted public points.
    chance : ChanceRecord or None
        What chance gives in the place of the selection.
    model_posterior : PosteriorRecord or None
        How sure columns and models are, where it was asked.
    pooled : PooledRecord or None
        What was spent part by part, where the moments are of several releases.
    claims : tuple of ClaimRecord
        The proofs that the guarantee rests on, all the way down, as they shipped with the version that made it.

    Notes
    -----
    Frozen. `save` and `read` keep it in JSON of the schema ``discreet/release@1``.
    """

    schema_: Literal["discreet/release@1"] = Field(default=SCHEMA, alias="schema")
    private: bool
    method: str
    selected: tuple[str, ...]
    guarantee: GuaranteeRecord | None
    event: dict[str, Any] | None
    request: dict[str, Any]
    noise: NoiseRecord
    steps: tuple[StepRecord, ...] = ()
    fit: FitRecord | None = None
    moments: MomentsRecord | None = None
    by_size: tuple[SizeRecord, ...] = ()
    hybrid: HybridRecord | None = None
    chance: ChanceRecord | None = Field(default=None, exclude_if=_absent)
    model_posterior: PosteriorRecord | None = Field(default=None, exclude_if=_absent)
    pooled: PooledRecord | None = Field(default=None, exclude_if=_absent)
    claims: tuple[ClaimRecord, ...] = ()
    public: tuple[PublicColumn, ...]
    not_protected: tuple[str, ...]
    provenance: Provenance

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @model_validator(mode="after")
    def _private_means_promised(self) -> "Release":
        promised = self.guarantee is not None and self.event is not None
        origin = self.provenance
        if self.private != (promised and origin.randomness == "system entropy" and origin.rows_origin != UNSTATED):
            raise ValueError("private must mean a guarantee, an event, the system's entropy, and rows that are stated")
        return self

    @property
    def intervals_tell_nothing(self) -> bool:
        """Whether the interval of every slope holds zero and all that the columns' bounds allow."""
        slopes = [] if self.fit is None or self.hybrid is not None else self.fit.coefficients
        slopes = [slope for slope in slopes if slope.column is not None]
        return bool(slopes) and all(self._tells_nothing(slope) for slope in slopes)

    @property
    def is_bought_in_parts(self) -> bool:
        """Whether this is what parts were pooled to, and nothing that was computed from it."""
        return self.pooled is not None and self.fit is None and self.model_posterior is None

    def _tells_nothing(self, slope: CoefficientRecord) -> bool:
        if slope.uninformative or self.fit is None or self.fit.family != "linear":
            return slope.uninformative
        # The target changes by its range at most, over the range of a column or from one level to another.
        ranges = {each.name: (each.lower, each.upper) for each in self.public if each.role in ("target", "candidate")}
        lower, upper = ranges.get(slope.column or "", (None, None))
        target = next((each for each in self.public if each.role == "target"), None)
        if target is None or target.lower is None or target.upper is None:
            return False
        width = 1.0 if slope.level is not None else math.inf if lower is None or upper is None else upper - lower
        most = (target.upper - target.lower) / width if width > 0.0 else math.inf
        low, high = slope.interval
        return low <= -most and high >= most

    def posterior(self, confidence: float = 0.95) -> PosteriorRecord:
        """Return how sure columns and models are, from this release alone; nothing is spent.

        Parameters
        ----------
        confidence : float
            Probability of the coefficients' intervals.

        Returns
        -------
        PosteriorRecord
            Under two priors: the chance of each column, the likeliest models, averaged coefficients.

        Raises
        ------
        InvalidParameterError
            When the release has neither noisy moments nor a logistic or Poisson fit with intervals.
        """
        # Methods stand above a release, and this is a shorthand for theirs: it is looked up when it is asked for.
        home = importlib.import_module("discreet.methods.answers.posterior")
        found: PosteriorRecord = home.posterior_of(self, confidence)
        return found

    def to_json(self) -> str:
        """Return the release as JSON text, keys in a fixed order.

        Returns
        -------
        str
            Indented JSON with a final newline.
        """
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Release":
        """Return the release that a JSON text holds.

        Parameters
        ----------
        text : str
            What `to_json` returned.

        Returns
        -------
        Release
            The same release.

        Raises
        ------
        VerificationError
            When the text is no release of this schema.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "the file"
            raise VerificationError(
                f"A release must follow the schema {SCHEMA}, but {place}: {first['msg'].lower()}. "
                "Give a file that `discreet select --out` wrote."
            ) from None

    @classmethod
    def read(cls, path: str | Path) -> "Release":
        """Read a release from its file.

        Parameters
        ----------
        path : str or Path
            A file that `save` wrote.

        Returns
        -------
        Release
            The release.
        """
        return cls.from_json(read_text(path, "release"))

    def save(self, path: str | Path) -> Path:
        """Write the release whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is replaced.

        Returns
        -------
        Path
            The file written.
        """
        return write_whole(path, self.to_json())


def canonical_sha256(value: Any) -> str:
    """Return the digest of a JSON value, the same for the same value whatever the order of its keys.

    Parameters
    ----------
    value : Any
        Anything that JSON can hold.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> canonical_sha256({"a": 1, "b": 2}) == canonical_sha256({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
