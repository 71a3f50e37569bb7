"""How well an estimate on public points can be expected to do, from public records alone: they play both parts."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicPoints, PublicRecords
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Progress
from discreet.methods.public_records.m_estimation import MEstimation
from discreet.methods.public_records.measures import Counts
from discreet.release import TwinRecord
from discreet.typing import Floats

TILT = 0.5
"""The private twin differs from the public one by this many standard deviations, in a direction drawn at random."""

FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0)
"""Numbers of points that are tried, beside the rule's."""

MOST_SHARE = 0.4
"""Of the public points are tried as one number: about half of them play the public table."""

MOST_ROWS = 50_000
"""Of a private twin; with more private rows the errors stated are too large."""


def twin_errors(
    method: MEstimation,
    public: PublicRecords,
    n_rows: int | None,
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None,
    repeats: int,
    progress: Progress | None = None,
) -> tuple[TwinRecord, ...]:
    """Return the errors of an estimate on simulated private tables, for several numbers of public points.

    A random half of the public records plays the public table, rows of the other half, tilted by `TILT`, the private
    one of so many rows.
    """
    rng = Source.seeded(0)  # nothing here is private
    errors_by_size: dict[tuple[str, int], list[float]] = {}
    for _ in range(repeats):
        with suppress(DataMismatchError, InvalidParameterError):  # a half of few records may not do as a table
            points = public.points(metadata, target, candidates)
            for key, error in _repeat_errors(method, points, n_rows, metadata, target, candidates, rng).items():
                errors_by_size.setdefault(key, []).append(error)
        if progress is not None:
            progress("Simulating on public records", 1, repeats)
    return tuple(
        TwinRecord(
            name=name,
            n_points=size or None,
            error=float(np.mean(errors)),
            low=float(min(errors)),
            high=float(max(errors)),
        )
        for (name, size), errors in sorted(errors_by_size.items(), key=lambda item: item[0][1])
    )


def _repeat_errors(
    method: MEstimation,
    points: PublicPoints,
    n_rows: int | None,
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None,
    rng: Source,
) -> dict[tuple[str, int], float]:
    facts = {"public": None, "unit_id": None, "rows_per_unit": 1, "n_units": None}
    metadata = metadata.with_derived_stored().model_copy(update=facts)  # the points hold them
    private, public = _halves(points, min(n_rows or MOST_ROWS, MOST_ROWS), rng)
    if metadata.neighboring is NeighboringRelation.REPLACE_ONE:
        metadata = metadata.model_copy(update={"n_rows": private.num_rows})
    table, records = FrameTable(private, metadata), PublicRecords(public, metadata)
    of_sizes = {"sizes": None} if "sizes" in type(method).model_fields else {}
    simulated = method.model_copy(update={"public": records, **of_sizes})
    first: Any = simulated.prepare(metadata, target, candidates)
    errors = {("public records alone", 0): _error(first, first.public_theta, table)}
    preparations: list[Any] = [first]
    if isinstance(first.measure, Counts):
        rule, most = len(first.places), int(MOST_SHARE * len(points))
        sizes = sorted({max(min(int(rule * factor), most), 2) for factor in FACTORS})
        preparations = [
            simulated.model_copy(update={"n_points": size}).prepare(metadata, target, candidates) for size in sizes
        ]
    for prepared in preparations:
        noisy = prepared.measure.draw(table, rng)
        weights = prepared.measure.weights(noisy)
        X, y = prepared.X[prepared.places], prepared.y[prepared.places]
        theta = prepared.objective.minimize(X, y, weights, simulated.ridge)
        size = prepared.points_method.n_points
        errors["margins" if prepared is first else "counts", 0 if prepared is first else size] = _error(
            prepared, theta, table
        )
    return errors


def _halves(points: PublicPoints, n_rows: int, rng: Source) -> tuple[pa.Table, pa.Table]:
    """Rows that play the private table, and records that play the public one."""
    scaled = points.cells.astype(np.float64)
    scaled = (scaled - scaled.mean(axis=0)) / np.maximum(scaled.std(axis=0), 1e-9)
    owner = np.repeat(np.arange(len(points)), points.records)
    draws = _uniform(rng, len(owner))
    private, public = owner[draws < 0.5], owner[draws >= 0.5]
    if not len(private) or not len(public):
        raise DataMismatchError("Both halves of the public records must hold some, but one is empty. Give more.")
    direction = _uniform(rng, scaled.shape[1]) - 0.5
    # Weights e^(t u'x), |u| = 1, move the mean of normal columns by t along u, and leave their spread.
    odds = np.exp(TILT * (scaled[private] @ (direction / max(float(np.linalg.norm(direction)), 1e-9))))
    ends = np.cumsum(odds) / odds.sum()
    drawn = private[np.minimum(np.searchsorted(ends, _uniform(rng, n_rows)), len(private) - 1)]
    return points.rows.take(pa.array(drawn)), points.rows.take(pa.array(public))


def _uniform(rng: Source, count: int) -> Floats:
    return rng.words(count).astype(np.float64) / 2.0**64


def _error(prepared: Any, theta: Floats, table: FrameTable) -> float:
    design, objective = prepared.points.design, prepared.objective
    rows = np.concatenate([design.encode(batch) for batch in table.batches(design.columns)])
    X, y = objective.points(rows)
    best = objective.minimize(X, y, np.ones(len(rows)))
    terms = design.terms(rows).astype(np.float64) / GRID
    estimate, target = (
        np.clip(objective.mean()(terms @ objective.per_half_range(parameters)), -1.0, 1.0)
        for parameters in (theta, best)
    )
    return float(np.sqrt(np.mean((estimate - target) ** 2)) / 2.0)
