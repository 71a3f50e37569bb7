"""Swope et al. 2024, figure 1: which of a hundred features screening and votes of lassos select, without privacy."""

import math

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.rng import Source
from discreet.report.study import Column, Picture, Row, Study
from discreet.simulation.draws import normals
from discreet.typing import Floats
from discreet_papers.experiment import Experiment, Work
from discreet_papers.figures import share_error
from discreet_papers.swope_draws import most_voted
from discreet_papers.swope_tables import lasso, standardized

SIZE, K, BLOCK = 100, 5, 10
"""Rows and features, features that matter, and rows of a block."""

SIS = Column("SIS", False, "The five features with the largest absolute correlations with the target. No noise.")
VOTED = Column(
    "two-stage",
    False,
    "The five features in the supports of the most lassos, penalty .1, on ten blocks of ten rows; ties at random. No "
    "noise.",
)


def simulated(rng: Source, mixed: bool) -> tuple[Floats, Floats]:
    """Draw normal columns of shape (100, 100), and a target that the first five explain, with variance .1 of errors.

    Source: Swope et al. 2024, section 3.
    """
    X = normals(rng, SIZE, SIZE)
    y = X[:, :K].sum(axis=1)
    if mixed:
        y[BLOCK - 1 :: BLOCK] = X[BLOCK - 1 :: BLOCK, -K:].sum(axis=1)
    return X, y + math.sqrt(0.1) * normals(rng, SIZE)


def selected(X: Floats, y: Floats, rng: Source) -> dict[str, npt.NDArray[np.int64]]:
    """Return the five places that each way selects, by its name."""
    blocks = [slice(start, start + BLOCK) for start in range(0, len(y), BLOCK)]
    counts = np.sum([lasso(X[rows], y[rows]) != 0.0 for rows in blocks], axis=0)
    sizes = np.abs(standardized(X).T @ (y - y.mean()))
    return {SIS.name: np.argsort(-sizes, kind="stable")[:K], VOTED.name: most_voted(counts, K, rng)}


def figure_1(work: Work) -> list[Row]:
    """Compute how often each feature is selected in 1000 tables, by way and feature."""
    rng, counts = Source.seeded(work.seed), {SIS.name: np.zeros(SIZE), VOTED.name: np.zeros(SIZE)}
    for _ in range(work.repeats):
        for name, places in selected(*simulated(rng, work.part == "W1/W2"), rng).items():
            counts[name][places] += 1.0
    return [
        _of_1000(name, {"experiment": work.part, "feature": place + 1}, int(count), work.repeats)
        for name, totals in counts.items()
        for place, count in enumerate(totals)
    ]


def _of_1000(way: str, settings: dict[str, str | int], count: int, n_tables: int) -> Row:
    error = share_error(count, n_tables)
    return Row(way, settings, 1000.0 * count / n_tables, None if error is None else 1000.0 * error)


EXPERIMENTS = (
    Experiment(
        Study(
            "swope-figure-1",
            "Screening and block-wise lassos without privacy",
            "Swope et al. 2024, figure 1",
            (
                "100 rows of 100 independent standard normal features. In W1 the target is the sum of the first five "
                "plus normal errors of variance .1; in W1/W2 each tenth row has the sum of the last five instead. "
                "Either way selects five features; the figure is how often of 1000 tables it selects each.",
                "The paper prints no numbers. Read off its figure, one of the first five features is selected about "
                "970 (W1) and 926 (W1/W2) times of 1000 by screening, and 480 and 390 times by two-stage selection.",
                "Nothing here is private in the paper either: the point is that block-wise lassos lose features "
                "before any noise is added. That holds for blocks of ten rows.",
            ),
            (SIS, VOTED),
            (),
            (),
            (
                Picture(
                    "occurrences",
                    "Times that a feature is selected, of 1000 tables",
                    "lines",
                    "feature",
                    "Feature",
                    "Times of 1000",
                    across="experiment",
                    low=0.0,
                    high=1000.0,
                ),
            ),
            (),
            1000,
        ),
        ("W1", "W1/W2"),
        figure_1,
    ),
)
"""Figure 1."""
