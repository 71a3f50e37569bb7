"""Noisy moments: sums of products of the scaled columns."""

from pydantic import Field

from discreet.release.fits import ClippedRecord
from discreet.release.record import Finite, NoisySum, Positive, Record, Variance, is_absent


class WhitenedRecord(Record):
    """Noisy sums of a second pass: of columns that the first made nearly uncorrelated, and of residuals.

    A row is z = matrix x, shortened to `norm`, and the residual y - x'start, clipped to `cut` where it is squared; its
    score, their product, is shortened to `longest`. x are the columns at `places`, scaled; y is in units of its bound.
    """

    places: tuple[int, ...] = Field(description="of the model's columns among the moments'")
    matrix: tuple[tuple[Finite, ...], ...]
    start: tuple[Finite, ...]
    norm: Positive
    cut: Positive
    longest: Positive | None = Field(default=None, description="length of a row's score at most; None: norm x cut")
    left_out: tuple[Finite, ...] = Field(default=(), description="what is thought to be cut off the sum of scores")
    left_out_errors: tuple[Finite, ...] = Field(default=(), description="how far off that may be")
    gram: tuple[tuple[NoisySum, ...], ...] = Field(description="of z, in squared steps of norm / grid")
    xty: tuple[NoisySum, ...] = Field(description="sum of scores, in squared steps, `longest` being a step's grid")
    yty: NoisySum
    scores: tuple[tuple[NoisySum, ...], ...] | None = Field(
        default=None, description="squares of each unit's score, summed; None where equal variances are supposed"
    )
    scores_unit: Positive = Field(default=1.0, description="norm of a unit's score in steps of longest / grid")
    gram_variance: Variance = Field(description="of the noise on the diagonal; half of it beside the diagonal")
    xty_variance: Variance
    yty_variance: Variance
    scores_variance: Variance = 0.0


class LevelRecord(Record):
    """A private median of the target, beside moments of few rows: estimates use it, intervals do not."""

    median: NoisySum = Field(description="of the scaled target, in whole steps")
    error: float = Field(ge=0, le=1, description="what it is thought to be off by, in units of y_bound")


class KnownRecord(Record):
    """That the columns' own products were not bought: they are those of public records, or known by design."""

    n_records: int | None = Field(default=None, ge=2, description="public records; none where they are known by design")
    sha256: str | None = Field(default=None, description="of the public file")
    source: str = Field(default="", description="why they are public")
    means: tuple[float, ...] = Field(description="of the columns of X, scaled")
    tails: float = Field(default=1.0, ge=1, description="variance of a row's products over that of normal columns")


class FissionRecord(Record):
    """The part of noisy moments that columns are selected by; what it leaves of them is for estimates.

    The moments with normal noise of their own variance, drawn once: both parts are independent.
    """

    share: float = Field(gt=0, lt=1, description="of the moments; variances are this share, too")
    gram: tuple[tuple[NoisySum, ...], ...]
    xty: tuple[NoisySum, ...]
    yty: NoisySum
    n_rows: Positive


class MomentsRecord(Record):
    """Noisy sums of products of the scaled columns: any regression on them is free from here on."""

    grid: int = Field(description="a scaled value of 1 is this many whole steps")
    constant: float = Field(default=1.0, gt=0, description="of the constant column; less than 1: rows are weighted")
    labels: tuple[str, ...] = Field(description="of the columns of X; a dummy is column=level")
    owners: tuple[str | None, ...] = Field(description="the candidate that each belongs to; None for the constant")
    centers: tuple[float, ...] = Field(description="own units: value = center + half_width x scaled value")
    half_widths: tuple[Positive, ...]
    ends: tuple[tuple[float, float], ...] = Field(
        default=(),
        exclude_if=lambda value: not value,
        description="of unit rows: least and largest scaled value that each column's bounds allow",
    )
    y_center: float
    y_bound: Positive
    n_rows: Positive = Field(description="public, or with noise")
    n_rows_variance: float = Field(ge=0)
    sum_of_weights: Positive | None = Field(
        default=None,
        exclude_if=is_absent,
        description="of rows of bounded norm: of their squared factors, with noise",
    )
    clipped: ClippedRecord | None = Field(default=None, exclude_if=is_absent)
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
    level: LevelRecord | None = Field(default=None, exclude_if=is_absent)
    fission: FissionRecord | None = Field(default=None, exclude_if=is_absent)
    known: KnownRecord | None = Field(default=None, exclude_if=is_absent, description="where X'X was not bought")
    offset: str | None = Field(default=None, exclude_if=is_absent, description="column that was taken from the target")
    weights: str | None = Field(
        default=None, exclude_if=is_absent, description="column of the rows' weights; n_rows is their sum"
    )


class SizeRecord(Record):
    """The best model of one size by the noisy moments, corrected for their noise."""

    size: int = Field(ge=0, description="number of free columns")
    columns: tuple[str, ...]
    criterion: float = Field(description="smaller is better; the selected model has the smallest")
    r_squared: float
    r_squared_low: float
    r_squared_high: float
    least_criterion: float | None = Field(
        default=None,
        exclude_if=is_absent,
        description="where the search of this size was not finished: no model of this size has a smaller criterion",
    )
