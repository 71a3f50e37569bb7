"""What all records of a release have in common, and the numbers that they hold."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Record(BaseModel):
    """Frozen, and of declared fields alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def is_absent(value: object) -> bool:
    """Leave a field out that says nothing: releases from before it stay as they are."""
    return value is None


LARGEST = 1e300
"""Of a released coefficient or variance, so that it is finite."""


def _finite_end(end: float | None) -> float | None:
    """An end that is infinite, or overflowed as older versions wrote it, is none."""
    return end if end is not None and abs(end) < LARGEST else None


End = Annotated[float | None, AfterValidator(_finite_end)]


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Variance = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Entry = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
Vector = tuple[Entry, ...]
Symmetric = tuple[Vector, ...]
"""Rows of a symmetric matrix, each from the diagonal on."""


NoisySum = Annotated[int, Field(ge=-(2**80), le=2**80)]
"""An exact sum below 2^63 with noise that fits in 64 bits, some of each added up."""


Chance = Annotated[float, Field(ge=0, le=1)]
