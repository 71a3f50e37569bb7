"""How often the intervals of selected columns hold the truth: `python -m benchmarks.after_selection --tables 100`.

A plan selects, then fits: by half of the units each, by half of what noisy moments tell each (fission), and on the same
rows. What an interval should hold is the coefficient of its column in the selected model's projection in the
population. Of the first two 93 % are asked. `--uneven` gives errors unequal variances, `--identified` a unit_id.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of

LEAST = 0.93
EPSILONS = (0.5, 1.0, 2.0, 8.0)
WAYS = {"split": "by half", "fission": "fission", "none": "same rows"}
LINE = "{:15} {:13} {:>7}  {:14} {:14} {:14} {:>11}  {}"
SHARED, BOUND = 0.4, 4.0
"""Part of each column that all have in common; of the target, which noise of sd .5 reaches next to never."""


@dataclass(frozen=True)
class Design:
    """Correlated columns within [-1, 1], of which the first few have an effect."""

    name: str
    width: int
    effects: tuple[float, ...]
    n_rows: int = 2000
    screened: int = 3
    uneven: bool = False
    identified: bool = False

    def metadata(self) -> Metadata:
        """Declare the bounds as they are."""
        columns = {f"x{j}": {"type": "real", "lower": -1, "upper": 1} for j in range(self.width)}
        declared: dict[str, Any] = {"dataset": "d", "unit": "person", "neighboring": "replace_one"}
        declared |= {"n_rows": self.n_rows} | ({"unit_id": "who"} if self.identified else {})
        return Metadata.from_value(
            {**declared, "columns": {**columns, "y": {"type": "real", "lower": -BOUND, "upper": BOUND}}}
        )

    def rows(self, seed: int) -> pa.Table:
        """Simulate a table."""
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
        common = rng.uniform(-1, 1, (self.n_rows, 1))
        X = SHARED * common + (1 - SHARED) * rng.uniform(-1, 1, (self.n_rows, self.width))
        spread = 0.75 * np.abs(X).max(axis=1) if self.uneven else 0.5
        y = X[:, : len(self.effects)] @ np.array(self.effects) + spread * rng.standard_normal(self.n_rows)
        cells = {f"x{j}": X[:, j] for j in range(self.width)} | {"y": np.clip(y, -BOUND, BOUND)}
        return pa.table(cells | {"who": np.arange(self.n_rows)})

    def projection(self, selected: tuple[str, ...]) -> dict[str, float]:
        """Return the coefficients of a model in the population: Cov(X_M)^-1 Cov(X_M, y)."""
        covariance = SHARED**2 / 3 * np.ones((self.width, self.width)) + (1 - SHARED) ** 2 / 3 * np.eye(self.width)
        effects = np.append(self.effects, np.zeros(self.width - len(self.effects)))
        at = [int(name[1:]) for name in selected]
        found = np.linalg.solve(covariance[np.ix_(at, at)], covariance[at] @ effects) if at else ()
        return {name: float(value) for name, value in zip(selected, found, strict=True)}

    def plans(self) -> dict[str, dict[str, Any]]:
        """Return the ways to select."""
        screens = {
            name: {"screen": {"method": name, "n_features_to_select": self.screened}} for name in ("sis", "two-stage")
        }
        if self.width > 50:
            wide = {"method": "sis", "n_features_to_select": 8}
            return {**screens, "sis, pcls": {"screen": wide, "select": {"method": "pcls"}}}
        tuned = {"method": "pcls", "l1_radius": 1.0, "y_bound": 2.0, "model_penalty": "aic"}
        methods = {
            "pcls, aic": {"select": tuned},
            **{name: {"select": {"method": name}} for name in ("pcpl", "moments")},
        }
        return {**methods, "moments, aic": {"select": {"method": "moments", "model_penalty": "aic"}}, **screens}


DESIGNS = (
    Design("no true column", 12, ()),
    Design("3 of 12", 12, (0.5, -0.3, 0.15)),
    Design("3 of 200", 200, (0.5, -0.3, 0.15)),
)


@dataclass
class Figures:
    """Intervals of selected columns, table by table."""

    right: list[int] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    @property
    def coverage(self) -> float:
        """Of told intervals."""
        return sum(self.right) / max(sum(self.told), 1)

    @property
    def error(self) -> float:
        """Of the coverage, intervals of one table not being independent."""
        excess = np.array(self.right) - self.coverage * np.array(self.told)
        return float(np.sqrt((excess**2).sum())) / max(sum(self.told), 1)

    def add(self, fit: Any, truth: dict[str, float]) -> None:
        """Count the intervals of a fit that have both ends."""
        entries = [(*entry.interval, truth[entry.column]) for entry in fit.coefficients if entry.column is not None]
        told = [(low, high, value) for low, high, value in entries if np.isfinite(high - low)]
        self.told.append(len(told))
        self.right.append(sum(low <= value <= high for low, high, value in told))
        self.widths += [high - low for low, high, _ in told]


def measured(
    design: Design, plan: dict[str, Any], epsilon: float, delta: float, tables: int, seed: int
) -> dict[str, Figures]:
    """Run a plan each way that it has on the same tables."""
    facts = design.metadata()
    divides = plan.get("select", {}).get("method") == "moments"
    ways = [way for way in WAYS if way != "fission" or divides]
    figures = {way: Figures() for way in ways}
    asked = {
        way: method_of("run", epsilon=epsilon, delta=delta, fit={"family": "linear"}, selective_inference=way, **plan)
        for way in ways
    }
    prepared = {way: method.prepare(facts, "y") for way, method in asked.items()}
    for table in range(tables):
        rows = open_table(design.rows(1000 * seed + table), facts)
        for way in ways:
            outcome = prepared[way].run(rows, Source.seeded(1000 * seed + table))
            figures[way].add(outcome.fit, design.projection(outcome.selected))
    return figures


def cells() -> Iterator[tuple[Design, str, dict[str, Any], float]]:
    """Every design, way to select and epsilon."""
    return (
        (design, name, plan, epsilon)
        for design in DESIGNS
        for name, plan in design.plans().items()
        for epsilon in EPSILONS
    )


def main() -> None:
    """Print coverage and widths of each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100, help="Tables of each cell.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="Words that a cell's name must hold.")
    parser.add_argument("--uneven", action="store_true", help="Errors of unequal variances.")
    parser.add_argument("--identified", action="store_true", help="Rows have identifiers.")
    parser.add_argument("--delta", type=float, default=1e-6)
    options = parser.parse_args()
    start, console = time.perf_counter(), Console(width=140)
    totals = {way: Figures() for way in WAYS}
    short = 0
    console.print(LINE.format("design", "selects by", "epsilon", *WAYS.values(), "widths", "told"))
    for design, name, plan, epsilon in cells():
        if not all(word in f"{design.name}; {name}; {epsilon:g}" for word in options.only):
            continue
        drawn = replace(design, uneven=options.uneven, identified=options.identified)
        figures = measured(drawn, plan, epsilon, options.delta, options.tables, options.seed)
        for way, of_way in figures.items():
            totals[way].right += of_way.right
            totals[way].told += of_way.told
            if way != "none":
                short += bool(sum(of_way.told)) and of_way.coverage < LEAST - 2 * of_way.error
        console.print(LINE.format(design.name, name, f"{epsilon:g}", *_texts(figures)), highlight=False)
    for way, words in WAYS.items():
        console.print(f"{words}: {_coverage(totals[way])} of {sum(totals[way].told)} told intervals")
    console.print(
        f"{short} cells by half or fission below {LEAST:.0%} and two errors; {time.perf_counter() - start:.0f} s"
    )


def _coverage(figures: Figures | None) -> str:
    return f"{figures.coverage:.3f} ({figures.error:.3f})" if figures is not None and sum(figures.told) else "-"


def _texts(figures: dict[str, Figures]) -> list[str]:
    """Coverage of each way with its error, ratios of the median widths to the last way's, and how many were told."""
    same = figures["none"].widths
    ratios = [
        f"{np.median(figures[way].widths) / np.median(same):.2f}" if same and figures[way].widths else "-"
        for way in figures
        if way != "none"
    ]
    counts = ", ".join(str(sum(of_way.told)) for of_way in figures.values())
    return [*(_coverage(figures.get(way)) for way in WAYS), ", ".join(ratios), counts]


if __name__ == "__main__":
    main()
