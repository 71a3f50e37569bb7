"""What chance alone gives, and how sure columns and models are."""

from typing import Literal

from pydantic import Field

from discreet.release.fits import Family
from discreet.release.record import Chance, Finite, Positive, Record, Variance, is_absent

Supposition = Literal["clip", "even", "range", "normal", "values"]


class ChanceRecord(Record):
    """What chance gives in the place of a selection: from public facts and the release alone."""

    chance_by_noise: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="that a table without any effect gives as much; None for a fixed number of columns without a test",
    )
    correlation_needed: float | None = Field(
        default=None, ge=0, description="with the target, of a column that is chosen in 9 of 10 draws; may be above 1"
    )
    supposes: Supposition | None = Field(
        default=None,
        exclude_if=is_absent,
        description="of the target, for the correlation: standard deviation of a third of its clipping bound "
        "(clip; even: columns evenly within their bounds, too) or "
        "of half its declared range (range); a normal law (normal); two equally frequent values (values)",
    )
    votes_needed: float | None = Field(
        default=None, ge=0, description="two-stage, in its place: share of the blocks that must name the column"
    )
    could_stand_out: bool | None = Field(
        default=None, description="whether a column that explains half of the target's variance could be chosen"
    )
    test_correlation: float | None = Field(
        default=None, ge=0, description="that a noise test tells from chance in 9 of 10 draws; may be above 1"
    )
    n_rows: float | None = Field(default=None, description="public, guessed or noisy: what the correlation is for")
    standing_out: dict[str, float] = Field(
        default={}, description="by selected column, of noisy moments: standard deviations of its noise"
    )
    column_chances: dict[str, Chance] = Field(
        default={},
        description="by selected column, of noisy scores: that one without an effect beside the others has as large a "
        "score",
    )
    hidden_columns: tuple[str, ...] | None = Field(
        default=None,
        exclude_if=is_absent,
        description="whose noisy variance does not stand out of its noise, though it would if they filled their bounds",
    )
    called_noise: bool | None = Field(default=None, description="whether chance alone gives this; None: not known")


class ColumnChance(Record):
    """How likely it is that a column matters, given the others."""

    column: str
    chance: Chance


class ModelChance(Record):
    """How likely it is that just these columns matter."""

    columns: tuple[str, ...]
    chance: Chance


class AveragedCoefficient(Record):
    """A coefficient in the column's own unit, averaged over all models: zero in those without the column."""

    name: str
    column: str
    level: str | None = Field(default=None, description="of a category, against the level that has none")
    estimate: Finite
    low: Finite
    high: Finite


class PriorPosterior(Record):
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


class PosteriorRecord(Record):
    """How sure columns and models are, from released numbers alone."""

    family: Family
    confidence: float = Field(gt=0, lt=1, description="probability of the intervals")
    priors: tuple[PriorPosterior, ...] = Field(min_length=1)
