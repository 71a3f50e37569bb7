"""Time against size, as pictures of the documentation: columns of a search, features of a screening.

Run as ``python -m benchmarks.growth [--repeats 5] [--folder docs]``; `benchmarks.scale --chart` draws rows. Least
processor seconds of each, in turns.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lazy import paper_like, search
from benchmarks.timing import interleaved
from benchmarks.top_k import scores_of
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import canonical_lipschitz, one_shot, peeling
from discreet.report.drawing import STYLES, Key, on_paper, panel, svg

COLUMNS = (20, 40, 64, 100, 128)
FEATURES = (10**3, 10**4, 10**5, 10**6)
SEARCH, SOLVE = "one private choice among all models", "one least squares with all columns"
TOP_K = {"canonical Lipschitz": canonical_lipschitz, "peeling": peeling, "one-shot": one_shot}
SORT = "a sort of the scores"

Curves = dict[str, list[tuple[float, float]]]


def of_columns(repeats: int) -> Curves:
    """Searches in tables like the paper's, 10^4 rows and epsilon 1."""
    curves: Curves = {SEARCH: [], SOLVE: []}
    for d in COLUMNS:
        case = next(paper_like(d, ("independent",), (10**4,), (1.0,), penalties=("s log d",)))
        works: list[Callable[[], Any]] = [
            lambda case=case: search(case, 1),  # type: ignore[misc]
            lambda case=case: np.linalg.solve(case.gram, case.xty),  # type: ignore[misc]
        ]
        ours, solve = interleaved(works, repeats)
        curves[SEARCH].append((d, ours[0] / 2.0))  # short searches are run twice
        curves[SOLVE].append((d, solve[0]))
    return curves


def of_features(repeats: int) -> Curves:
    """Choices of 100 of the best columns."""
    curves: Curves = {name: [] for name in (*TOP_K, SORT)}
    for d in FEATURES:
        scores = scores_of(d, 100)
        works: list[Callable[[], Any]] = [
            lambda draw=draw, scores=scores: draw(scores, 100, 1.0, 1.0, Source())  # type: ignore[misc]
            for draw in TOP_K.values()
        ]
        times = interleaved([*works, lambda scores=scores: np.sort(scores)], repeats)  # type: ignore[misc]
        for name, taken in zip(curves, times, strict=True):
            curves[name].append((d, taken[0]))
    return curves


def chart(curves: Curves, sizes: Sequence[int], words: str, description: str) -> str:
    """Curves on scales of powers of ten."""
    times = [max(taken, 1e-6) for points in curves.values() for _, taken in points]
    powers = range(int(np.floor(np.log10(min(times)))), int(np.ceil(np.log10(max(times)))) + 1)
    is_log = sizes[-1] > 1000
    drawing = panel(420, 240, (sizes[0], sizes[-1]), (10.0 ** powers[0], 10.0 ** powers[-1]), log_x=is_log, log_y=True)
    drawing.x_axis([(size, f"{size:,}") for size in sizes], words)
    drawing.y_axis([(10.0**power, f"{10.0**power:.{max(-power, 0)}f}".lstrip("0")) for power in powers], "seconds")
    for points, (color, dash) in zip(curves.values(), STYLES, strict=False):
        drawing.line([(size, max(taken, 1e-6)) for size, taken in points], color, dash=dash)
    named = zip(curves, STYLES, strict=False)
    drawing.legend_below([Key(name, color, dash=dash) for name, (color, dash) in named])
    return on_paper(svg(drawing, description))


def main() -> None:
    """Print the figures and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("docs"))
    given = parser.parse_args()
    questions = (
        ("explanation/growth-columns.svg", of_columns, COLUMNS, "candidates", "Time of a search against candidates."),
        ("how-to/growth-features.svg", of_features, FEATURES, "features", "Time of a screening against features."),
    )
    for name, measured, sizes, words, description in questions:
        curves = measured(given.repeats)
        for curve, points in curves.items():
            print(f"{curve}: " + ", ".join(f"{size:g} {words} {1e3 * taken:.3g} ms" for size, taken in points))
        (given.folder / name).write_text(chart(curves, sizes, words, description), encoding="utf-8")


if __name__ == "__main__":
    main()
