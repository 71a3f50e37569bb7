"""Releases that were bought part by part below a ceiling, and pooled."""

from typing import Annotated, Literal

from pydantic import Field

from discreet.release.record import Chance, Record, is_absent


class PartRecord(Record):
    """One of several releases whose noisy moments were pooled."""

    entry: int | None = Field(default=None, ge=1, description="of the ledger; None where it was not charged")
    sha256: str = Field(description="digest of the release")
    epsilon: float = Field(gt=0, description="nats, of this part alone")
    delta: float = Field(ge=0, lt=1)
    rho: float = Field(gt=0)
    certainty: Chance = Field(description="what was reached with this part and those before")
    width: float | None = Field(
        default=None, ge=0, exclude_if=is_absent, description="the same of the interval, where its width was asked for"
    )


class PooledRecord(Record):
    """Moments that were bought part by part, until they were sure enough or a ceiling was reached."""

    until: Annotated[float, Field(gt=0, lt=1)] | None = Field(description="None where a width was to be reached")
    of: Literal["model", "columns", "width"] = Field(
        description="whose chance was to reach `until`: the likeliest model's, or "
        "of each column that it matters or that it does not; or whether a width was asked for"
    )
    width: float | None = Field(
        default=None,
        gt=0,
        exclude_if=is_absent,
        description="to be reached by the widest interval of a coefficient, of probability .95, in its own unit",
    )
    coefficient: str | None = Field(
        default=None, exclude_if=is_absent, description="whose interval alone was to be so narrow"
    )
    prior: Literal["broad", "sparse"]
    at_most: float = Field(gt=0, description="the ceiling on epsilon, at the guarantee's delta")
    before: tuple[float, float] | None = Field(
        default=None,
        exclude_if=is_absent,
        description="epsilon and delta of the first part, where it was released before there was a ceiling: they add "
        "to those of the others",
    )
    accounting: Literal["basic", "zcdp"] = Field(description="what of the parts adds up below the ceiling")
    reached: bool
    epsilon_spent: float = Field(gt=0, description="of all parts; at the guarantee's delta, where rho adds up")
    rho_spent: float = Field(gt=0)
    fixed_epsilon: float = Field(gt=0, description="of one release with as little noise, were it known beforehand")
    parts: tuple[PartRecord, ...] = Field(min_length=1)
