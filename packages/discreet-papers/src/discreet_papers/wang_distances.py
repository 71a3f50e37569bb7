"""Wang et al. 2018, figure 4: the mean distance of the private rows from some of the public points."""

from fractions import Fraction

import numpy as np

from discreet.kernels.moments.moments import GRID
from discreet.kernels.public_records.nearest_order import farthest_first
from discreet.kernels.public_records.representatives import representatives
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.rng import Source
from discreet.report.study import Column, Picture, Row, Study
from discreet.simulation.draws import normals
from discreet.typing import Cells, Floats, Integers
from discreet_papers.experiment import Experiment, Work
from discreet_papers.wang_counts import GrowingSet
from discreet_papers.wang_pairs import FIRST_TABLE, N_ROWS
from discreet_papers.wang_ways import averaged

COLUMNS = (2, 100)
SIZES = range(100, N_ROWS, 500)
ORDER_EPSILON = Fraction(8, 10)
"""Of the noisy counts: the paper's 0.8 epsilon at epsilon 1, 0.4 of its total."""

MOST_MIDDLES = 2_100
"""Points that the rule of `HybridEstimator` takes here at most, for a total epsilon of 6."""

COUNTS = Column(
    "order of exact counts",
    False,
    "The points that are nearest to the most private rows first: Algorithm 2 without its noise. The order tells of "
    "rows.",
)
NOISY = Column(
    "order of noisy counts",
    True,
    "The same by counts with noise for epsilon 0.8, the paper's part of its epsilon of 1. The order is private at "
    "0.8; the distance is not.",
)
FARTHEST = Column(
    "Discreet, farthest first",
    True,
    "The order of `PublicSubset`: each next point is the one farthest from those before it. It takes public records "
    "alone and costs nothing. The distance is not private.",
)
MIDDLES = Column(
    "Discreet, middles",
    True,
    "The points of `HybridEstimator`: those nearest to the centers of k-means on the public records, which costs "
    "nothing. The distance is not private.",
)
WAYS = (COUNTS, NOISY, FARTHEST, MIDDLES)

PARTS = {f"p = {p}, {way.name}": (p, way) for p in COLUMNS for way in WAYS if p == 2 or way is not MIDDLES}


def cells_of(p: int, number: int, n_rows: int = N_ROWS) -> tuple[Cells, Cells]:
    """Draw two normal tables and scale both to the ranges of the second.

    Private, of variance 1, clipped to the ranges; and public, of variance one half.

    Source: Wang et al. 2018, Algorithm 1, step 1, and figure 4.

    Returns shape rows, points (n_rows, p).
    """
    rng = Source.seeded(FIRST_TABLE + number)
    private, public = normals(rng, n_rows, p), np.sqrt(0.5) * normals(rng, n_rows, p)
    low, high = public.min(axis=0), public.max(axis=0)

    def scaled(table: Floats) -> Cells:
        parts = (np.clip(table, low, high) - low) / (high - low)
        cells: Cells = np.rint(GRID * (2.0 * parts - 1.0)).astype(np.int16)
        return cells

    return scaled(private), scaled(public)


def distances(rows: Cells, points: Cells, way: Column, rng: Source) -> list[tuple[int, float]]:
    """Return numbers of points with their mean distance, where every public column has range 1."""
    if way is MIDDLES:
        weights = np.ones(len(points), dtype=np.int64)
        few = [size for size in SIZES if size <= min(MOST_MIDDLES, len(points))]
        sets = [representatives(points, points.shape[1], weights, size) for size in few]
        return [(size, _grown(rows, points, places).distance) for size, places in zip(few, sets, strict=True)]
    order, curve = _order(rows, points, way, rng), []
    growing, before = GrowingSet(rows, points), 0
    for size in SIZES:
        if size > len(points):
            break
        growing.add(order[before:size])
        curve.append((size, growing.distance))
        before = size
    return curve


def _order(rows: Cells, points: Cells, way: Column, rng: Source) -> Integers:
    if way is FARTHEST:
        return farthest_first(points, points.shape[1], len(points))[0]
    counts = _grown(rows, points, np.arange(len(points))).counts(of_ties=False)
    if way is NOISY:
        counts = np.array(discrete_laplace(counts.tolist(), 2 / ORDER_EPSILON, rng), dtype=np.int64)
    return np.argsort(-counts, kind="stable")


def _grown(rows: Cells, points: Cells, places: Integers) -> GrowingSet:
    growing = GrowingSet(rows, points)
    growing.add(places)
    return growing


def figure_4(work: Work) -> list[Row]:
    """Compute one way's distances, by the number of points."""
    p, way = PARTS[work.part]
    return averaged(
        Row(way.name, {"p": p, "points": size}, distance)
        for number in range(work.repeats)
        for size, distance in distances(*cells_of(p, number), way, Source.seeded(work.seed + number))
    )


EXPERIMENTS = (
    Experiment(
        Study(
            "wang-figure-4",
            "Public points near the private rows: distance by their number",
            "Wang et al. 2018, figure 4",
            (
                "10,000 private rows of independent standard normal columns, 10,000 public ones of half the variance, "
                "2 or 100 columns, all scaled to the public ranges. The figure is d: the mean distance of a private "
                "row from the nearest of the first public points, where every column's range is 1. It is what bounds "
                "the bias of weighted public points.",
                "The paper's claim holds: d falls, then stays flat, since points that no row is nearest to change "
                "nothing. But with 100 columns it falls by a twentieth only: all public points are about as far, so "
                "that counts beside them tell little about the rows, however many points there are.",
                "The paper reads the range of sizes off d, computed from the private rows without noise: that use is "
                "not charged. Discreet orders or chooses points from the public table alone, and reads nothing off d. "
                "With 2 columns its points are at least as near to the rows as those of the noisy order; with 100 "
                "they are farther, but there it counts no rows beside points.",
            ),
            WAYS,
            (),
            (
                "The paper prints a curve and no numbers, so none stand here.",
                "It does not say with what noise the points of its figure are ordered: here without, and for one "
                "epsilon.",
            ),
            tuple(
                Picture(
                    f"figure-4-p{p}",
                    f"Mean distance of the private rows from the first public points, {p} columns",
                    "lines",
                    "points",
                    "Public points",
                    "Distance d (ranges of 1)",
                    where={"p": p},
                )
                for p in COLUMNS  # apart: their distances differ by far
            ),
            (),
            3,
        ),
        tuple(PARTS),
        figure_4,
    ),
)
"""Figure 4."""
