"""Weighted public points, what was chosen among, and simulated errors, in short texts; nothing is escaped here."""

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from discreet.release import CandidateRecord, HybridRecord, PointsRecord, Release, TwinRecord
from discreet.report import request_facts
from discreet.report.words import count, number, percent, thousands

ALONE = "public records alone"
"""Name of the estimate that costs nothing, among candidates and twins."""

MOST_LISTED = 24
"""Candidates that a table holds; of more, as many around the chosen one."""

Basis = Literal["weights", "public", "nothing", "grid"]


@dataclass(frozen=True)
class Rival:
    """One of the estimates that a choice was made among."""

    name: str
    points: str
    ridge: str
    is_chosen: bool


@dataclass(frozen=True)
class Twin:
    """What to expect of one number of points, by simulation."""

    name: str
    points: str
    error: str
    low: str
    high: str


@dataclass(frozen=True)
class Points:
    """Weighted public points in short texts; `n_dropped` is None when no public record was left out."""

    public: str
    n_records: str
    n_points: str
    n_dropped: str | None
    counts: bool
    n_measured: str
    n_noisy: str
    n_kept: str
    n_weighted: str
    n_zero: str | None
    total: str
    effective: str
    half: str
    heaviest: str
    sha256: str


@dataclass(frozen=True)
class Hybrid:
    """What an estimate rests on; `points` is None for a histogram, `chosen` without a choice."""

    basis: Basis
    points: Points | None
    n_cells: str | None
    chosen: str | None
    is_published: bool
    rivals: tuple[Rival, ...]
    n_rivals: int
    n_unlisted: int
    twins: tuple[Twin, ...]
    has_sizes: bool


def hybrid(release: Release) -> Hybrid | None:
    """Return what an estimate rests on, in short texts.

    None when the release is of another kind.
    """
    record = release.hybrid
    if record is None:
        return None
    n_cells = request_facts.parameters(release).get("n_cells")
    listed = _listed(record.candidates)
    best = chosen(record)
    return Hybrid(
        basis=basis(record),
        points=None if record.points is None else _points(record.points),
        n_cells=count(n_cells) if isinstance(n_cells, int) else None,
        chosen=None if best is None else best.name,
        is_published=bool(request_facts.parameters(release).get("as_published")),
        rivals=tuple(_rival(candidate) for candidate in listed),
        n_rivals=len(record.candidates),
        n_unlisted=len(record.candidates) - len(listed),
        twins=tuple(_twin(twin) for twin in record.twins),
        has_sizes=has_sizes(record),
    )


def chosen(record: HybridRecord) -> CandidateRecord | None:
    """Return the estimate that was chosen.

    None when nothing was chosen.
    """
    return next((candidate for candidate in record.candidates if candidate.chosen), None)


def basis(record: HybridRecord) -> Basis:
    """Return what the estimate rests on.

    Public points with weights from private rows, public records as they are, no data at all, or a grid.
    """
    best = chosen(record)
    if record.points is None or (best is not None and best.name == "histogram"):
        return "grid"
    if best is not None and best.name == ALONE:
        return "public"
    return "weights" if record.points.kept else "nothing"


def marked(record: HybridRecord) -> int | None:
    """Return the number of points that a picture of the numbers of points marks."""
    if record.points is None or record.points.measure != "counts" or basis(record) != "weights":
        return None
    return len(record.points.kept)


def has_sizes(record: HybridRecord) -> bool:
    """Tell whether errors were simulated for several numbers of points.

    False for margins, where all points are used.
    """
    return sum(twin.n_points is not None for twin in record.twins) > 1


def effective(weights: tuple[float, ...]) -> float:
    """Return how many equal weights would estimate a mean as well.

    The square of their sum over the sum of their squares (Kish); 0 when all are 0.
    """
    largest = max(weights, default=0.0)
    if not largest > 0:
        return 0.0
    scaled = [weight / largest for weight in weights]
    return math.fsum(scaled) ** 2 / math.fsum(weight * weight for weight in scaled)


def shares(weights: tuple[float, ...]) -> list[float]:
    """Return the share of weight that the heaviest points hold together.

    For the first 0, 1, 2 and so on of the points, heaviest first; empty when all weights are 0.
    """
    total = math.fsum(weights)
    if not total > 0:
        return []
    cumulative = accumulate(sorted(weights, reverse=True), initial=0.0)
    return [min(part / total, 1.0) for part in cumulative]


def half_at(weights: tuple[float, ...]) -> int:
    """Return how many of the heaviest points hold half of the weight.

    At least 1 where there is weight.
    """
    return next((at for at, share in enumerate(shares(weights)) if share >= 0.5), 0)


def _points(record: PointsRecord) -> Points:
    weights, n = record.weights, len(record.kept)
    n_zero = sum(weight <= 0 for weight in weights)
    total = math.fsum(weights)
    return Points(
        public=record.public,
        n_records=count(record.n_records),
        n_points=count(record.n_points),
        n_dropped=count(record.n_dropped) if record.n_dropped else None,
        counts=record.measure == "counts",
        n_measured=count(len(record.measured)),
        n_noisy=count(len(record.noisy)),
        n_kept=count(n),
        n_weighted=count(n - n_zero),
        n_zero=count(n_zero) if n_zero else None,
        total=thousands(number(round(total, 1))),
        effective=count(round(effective(weights))),
        half=percent(half_at(weights) / n) if n else "",
        heaviest=percent(max(weights) / total) if total > 0 else "",
        sha256=record.sha256,
    )


def _listed(candidates: tuple[CandidateRecord, ...]) -> tuple[CandidateRecord, ...]:
    place = next((at for at, candidate in enumerate(candidates) if candidate.chosen), 0)
    start = min(max(place - MOST_LISTED // 2, 0), max(len(candidates) - MOST_LISTED, 0))
    return candidates[start : start + MOST_LISTED]


def _rival(record: CandidateRecord) -> Rival:
    points = "" if record.n_points is None else count(record.n_points) if record.n_points else "none"
    return Rival(record.name, points, number(record.ridge), record.chosen)


def _twin(record: TwinRecord) -> Twin:
    name = {"counts": "counts of private rows", "margins": "margins of private rows"}.get(record.name, record.name)
    points = "" if record.n_points is None else count(record.n_points)
    error, low, high = (f"{number(100 * value, 2)}%" for value in (record.error, record.low, record.high))
    return Twin(name, points, error, low, high)
