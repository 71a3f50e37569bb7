"""The coefficients of a regression, with their intervals."""

import math
from typing import Any, Literal

from pydantic import Field, computed_field, model_validator

from discreet.release.record import End, Record, Variance, is_absent
from discreet.release.scores import ScoreRecord

Family = Literal["linear", "logistic", "poisson", "huber", "mean", "median", "quantile", "own"]


class CoefficientRecord(Record):
    """A coefficient in the columns' own units, with an interval that holds sampling and privacy noise."""

    name: str
    column: str | None = Field(description="None for the intercept")
    level: str | None = Field(default=None, description="of a category, against the one level that has none")
    reference: str | None = Field(default=None, exclude_if=is_absent, description="the level that it is compared with")
    estimate: float
    low: End = Field(description="None where no lower limit can be told")
    high: End = Field(description="None where no upper limit can be told")
    sampling_variance: float = Field(ge=0)
    privacy_variance: float = Field(ge=0)

    @model_validator(mode="before")
    @classmethod
    def _of_any_version(cls, fields: Any) -> Any:
        """Older versions wrote the limits of a method as ends, and marked them."""
        if not isinstance(fields, dict):
            return fields
        ends = {"low": None, "high": None} if fields.get("uninformative") is True else {}
        return {name: value for name, value in fields.items() if name != "uninformative"} | ends

    @computed_field(description="whether neither limit can be told")  # type: ignore[prop-decorator]
    @property
    def uninformative(self) -> bool:
        """Whether neither limit can be told."""
        return self.low is None and self.high is None

    @property
    def interval(self) -> tuple[float, float]:
        """The ends as numbers, infinite where no limit can be told."""
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high


class ClippedRecord(Record):
    """How many rows' target was clipped; slopes are smaller by about the share of these rows."""

    low: float = Field(ge=0, description="rows, with a chance of 95 per cent for both ends together")
    high: float = Field(ge=0, allow_inf_nan=False)
    counted: bool = Field(description="whether rows were counted, with noise; else what a private bound makes sure of")
    stretch: float = Field(
        ge=0,
        le=1,
        description="share of rows by which the far ends of intervals are moved out: enough where errors do "
        "not depend on the columns; of counts, intervals may still miss slopes of the unclipped target",
    )


class JointRecord(Record):
    """Whether all coefficients of some columns can be zero together."""

    columns: tuple[str, ...]
    terms: tuple[str, ...] = Field(description="the coefficients")
    confidence: float = Field(gt=0, lt=1, description="level of the joint region")
    distance: Variance | None = Field(description="of zero from the released numbers; inside where it is at most limit")
    limit: Variance | None = Field(description="quantile of chi-squared, or degrees of freedom times that of F")
    degrees_of_freedom: int = Field(ge=1, description="number of coefficients")
    residual_degrees_of_freedom: Variance | None = Field(default=None, description="of F; None for chi-squared")
    zero_inside: bool | None = Field(description="None where nothing can be told")


class FitRecord(Record):
    """The coefficients of one regression."""

    family: Family
    confidence: float = Field(gt=0, lt=1, description="level of the intervals")
    coefficients: tuple[CoefficientRecord, ...]
    residual_sd: float | None = Field(default=None, ge=0, description="linear: estimated, in the target's unit")
    r_squared: float | None = Field(default=None, description="linear: estimated, corrected for the noise")
    clipped: ClippedRecord | None = Field(default=None, exclude_if=is_absent)
    offset: str | None = Field(
        default=None, exclude_if=is_absent, description="column that is added to the linear predictor"
    )
    exposure: str | None = Field(
        default=None, exclude_if=is_absent, description="column whose logarithm is added to the linear predictor"
    )
    weights: str | None = Field(default=None, exclude_if=is_absent, description="column of the rows' weights")
    count_bound: int | None = Field(
        default=None, ge=1, exclude_if=is_absent, description="poisson: larger counts were clipped to it"
    )
    joint: tuple[JointRecord, ...] = Field(
        default=(), exclude_if=lambda value: not value, description="each category of several coefficients as a whole"
    )
    score: ScoreRecord | None = Field(
        default=None, exclude_if=is_absent, description="logistic, Poisson: what answers are made of"
    )

    @property
    def has_intervals(self) -> bool:
        """False when the method gives none: there is no end and no variance."""
        tells = (
            not entry.uninformative or entry.sampling_variance + entry.privacy_variance > 0
            for entry in self.coefficients
        )
        return not self.coefficients or any(tells)
