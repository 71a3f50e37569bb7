"""Public points with the weights that private rows gave them."""

from typing import Literal

from pydantic import Field

from discreet.release.fits import FitRecord
from discreet.release.record import Record


class PointsRecord(Record):
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


class CandidateRecord(Record):
    """One of the estimates among which a private choice was made."""

    name: str
    n_points: int | None = Field(default=None, ge=0, description="public points that it rests on")
    ridge: float = Field(default=0.0, ge=0)
    chosen: bool = False


class TwinRecord(Record):
    """What to expect, from public records alone: they play both the public and the private table."""

    name: str
    n_points: int | None = None
    error: float = Field(ge=0, description="root mean square of the error of predictions, on the target's range")
    low: float = Field(ge=0, description="least of the repeats")
    high: float = Field(ge=0, description="largest of the repeats")


class HybridRecord(Record):
    """An estimate on weighted public points, beside the one that costs nothing."""

    points: PointsRecord | None = Field(default=None, description="None for a histogram")
    public_only: FitRecord | None = Field(default=None, description="of the public records alone, without weights")
    candidates: tuple[CandidateRecord, ...] = Field(default=(), description="what the private choice was among")
    twins: tuple[TwinRecord, ...] = ()
