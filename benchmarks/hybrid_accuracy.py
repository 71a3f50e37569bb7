"""Estimates on public records weighted by private ones: the simulation of Wang et al. 2018 and two real designs.

The error is their t, the norm over the private rows of the change of a logistic regression's chances from those of the
fit to the private rows. The noise is seeded: these are simulations, no releases.
"""

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from scipy.special import expit

from benchmarks.tables import SHARED
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.estimators.arrays import ArraysTable
from discreet.kernels.contrasts import Logistic
from discreet.kernels.m_estimates import m_estimate
from discreet.mechanisms.rng import Source
from discreet.methods.base import Method
from discreet.methods.histogram import Histogram
from discreet.methods.hybrid import HybridEstimate
from discreet.methods.public_subset import PublicSubset

Columns = dict[str, Any]

N_ROWS = 10_000
REACH = {"p2": 4.0, "p100": 5.0, "sim": 4.0}
"""Public bounds of the covariates, which are about standard normal."""

EPSILONS = {"p2": (1.0, 2.0, 6.0), "p100": (1.0, 2.0, 6.0), "gusto": (1.0, 3.0, 10.0), "sim": (1.0, 3.0, 10.0)}
REPEATS = {"p2": 20, "p100": 5, "gusto": 40, "sim": 40}
PUBLISHED_REPEATS = {"p2": 3, "p100": 1, "gusto": 10, "sim": 5}
"""Of the published algorithm, which looks at all rows and points again for every size."""

SIZES = {
    "p2": range(10, 3_000, 50),
    "p100": range(100, 10_000, 200),
    "gusto": range(10, 150, 10),
    "sim": range(10, 1_000, 50),
}
"""The paper's: 60 and 50 sizes."""

COVARIATES = ("sex", "dia", "hyp", "hrt", "ttr", "ant", "pmi", "htn", "fam")

ASKED: dict[tuple[str, str], str] = {
    ("p2", "published, as claimed"): "6.9, 3.7, .79",
    ("p2", "published, honest epsilon"): "19.7, 19.3, 17.4",
    ("p2", "histogram"): "1.33, .93, .68",
    ("p2", "hybrid"): "1.3, .90, .50",
    ("p2", "public subset"): "1.3, .90, .50",
    ("p100", "no effect"): "42.9",
    ("p100", "hybrid"): "42.9, 41, 39",
    ("p100", "public subset"): "42.9, 41, 39",
}
"""For the rivals what a study of the same design found; for ours what is to be reached."""


class Pair(NamedTuple):
    """A private and a public table with the same columns."""

    private: Columns
    public: Columns
    metadata: Metadata
    target: str
    fit_intercept: bool

    def matrix(self, columns: Columns) -> Any:
        """The regression's terms."""
        parts = [columns[name] for name in columns if name != self.target]
        return np.column_stack([np.ones(len(parts[0])), *parts] if self.fit_intercept else parts).astype(np.float64)

    def fit(self, columns: Columns) -> Any:
        """Coefficients of a logistic regression without privacy."""
        X = self.matrix(columns)
        return m_estimate(Logistic(False), X, columns[self.target].astype(np.float64), np.ones(len(X)), ridge=0.0)


class Error(NamedTuple):
    """Of coefficients, on the private rows: t, and the mean squared error of the chances."""

    t: float
    brier: float


def declared(columns: dict[str, tuple[str, float, float]], n_rows: int) -> Metadata:
    """Metadata of kinds and bounds."""
    boxes = {
        name: {"type": kind, "lower": low, "upper": high, "source": "design"}
        for name, (kind, low, high) in columns.items()
    }
    return Metadata.from_value(
        {"dataset": "pair", "unit": "person", "neighboring": "replace_one", "n_rows": n_rows, "columns": boxes}
    )


def wang(name: str, seed: int) -> Pair:
    """Wang et al. 2018, Section 5.1: normal columns, effects and spreads that differ between the two tables."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    p = int(name[1:])
    private_effects, public_effects = rng.uniform(-1, 1, p), rng.uniform(0, 0.5, p)
    variances = np.array([0.5, 1.0]) if p == 2 else np.full(p, 0.5)
    private, public = rng.standard_normal((N_ROWS, p)), rng.standard_normal((N_ROWS, p)) * np.sqrt(variances)

    def with_target(X: Any, effects: Any) -> Columns:
        y = (rng.random(N_ROWS) < expit(X @ effects)).astype(np.int64)
        return {**{f"x{j}": X[:, j] for j in range(p)}, "y": y}

    tables = with_target(private, private_effects), with_target(public, public_effects)
    boxes = {f"x{j}": ("real", -REACH[name], REACH[name]) for j in range(p)}
    return Pair(*tables, declared(boxes | {"y": ("integer", 0, 1)}, N_ROWS), "y", False)


def gusto(name: str, seed: int) -> Pair:
    """Deaths within 30 days of an infarction, nine two-valued covariates: one region private, another public."""
    del name, seed
    table = pq.read_table(SHARED / "gusto_ami.parquet")
    columns: Columns = {each: table.column(each).to_numpy(zero_copy_only=False) for each in (*COVARIATES, "day30")}
    columns["sex"], columns["pmi"] = columns["sex"] == "male", columns["pmi"] == "yes"
    group = table.column("grpl").to_numpy()
    private, public = (
        {each: cells[group == place].astype(np.int64) for each, cells in columns.items()} for place in (45, 7)
    )
    boxes = {each: ("integer", *((1, 2) if each in ("htn", "fam") else (0, 1))) for each in columns}
    return Pair(private, public, declared(boxes, len(private["day30"])), "day30", True)


def shipped(name: str, seed: int) -> Pair:
    """The example that comes with the authors' code: y, x1, x2, a thousand rows each."""
    del seed
    private, public = (
        {each: table.column(each).to_numpy() for each in ("x1", "x2", "y")}
        for table in (pq.read_table(SHARED / f"hybrid_sim_{whose}.parquet") for whose in ("private", "public"))
    )
    box = ("real", -REACH[name], REACH[name])
    return Pair(private, public, declared({"x1": box, "x2": box, "y": ("integer", 0, 1)}, 1000), "y", False)


PAIRS: dict[str, Callable[[str, int], Pair]] = {"p2": wang, "p100": wang, "gusto": gusto, "sim": shipped}


def contestants(name: str, pair: Pair, records: PublicRecords) -> dict[str, Callable[[float], Method]]:
    """What stands in the table's rows, by epsilon."""
    common: dict[str, Any] = {"fit_intercept": pair.fit_intercept}
    hybrid = partial(HybridEstimate.of, public=records, **common)
    found: dict[str, Callable[[float], Method]] = {"hybrid": lambda epsilon: hybrid(epsilon=epsilon)}
    if name != "p100":
        found["histogram"] = lambda epsilon: Histogram.of(epsilon=epsilon, **common)
        found["hybrid, counts of all"] = lambda epsilon: hybrid(epsilon=epsilon, measure="counts", n_points="all")
        if name == "gusto":  # elsewhere counts are what the rule takes
            found["hybrid, counts"] = lambda epsilon: hybrid(epsilon=epsilon, measure="counts")
        found["hybrid, margins"] = lambda epsilon: hybrid(epsilon=epsilon, measure="margins")
    found["public subset"] = lambda epsilon: PublicSubset.of(epsilon=epsilon, public=records, **common)
    return found


def published(name: str, pair: Pair, records: PublicRecords) -> dict[str, Callable[[float], Method]]:
    """Algorithm 2 as printed, at the epsilon it claims and at the one where its parts add up to that."""
    sizes = tuple(SIZES[name])
    asked = partial(
        PublicSubset.of, public=records, fit_intercept=pair.fit_intercept, as_published=True, sizes=sizes
    )  # half for the weights, half for each criterion
    return {
        "published, as claimed": lambda epsilon: asked(epsilon=epsilon),
        "published, honest epsilon": lambda epsilon: asked(epsilon=2.0 * epsilon / (len(sizes) + 1)),
    }


def error_of(pair: Pair, coefficients: Any, best: Any) -> Error:
    """Of coefficients beside the best."""
    X = pair.matrix(pair.private)
    chances, y = expit(X @ coefficients), pair.private[pair.target]
    return Error(float(np.linalg.norm(chances - expit(X @ best))), float(np.mean((y - chances) ** 2)))


class Study:
    """All errors of one design, and what the private choices were.

    Parameters
    ----------
    name : str
        Of the design.
    same_table : bool
        Whether repeats of a simulated design draw the noise alone anew. Real tables there is one of.
    """

    def __init__(self, name: str, same_table: bool = False) -> None:
        self.name, self.epsilons = name, EPSILONS[name]
        self.same_table = same_table or PAIRS[name] is not wang
        self.errors: dict[str, dict[float, list[Error]]] = {}
        self.chosen: dict[float, Counter[str]] = {epsilon: Counter() for epsilon in self.epsilons}
        self.seconds: Counter[str] = Counter()
        self._pair: Pair | None = None
        self._prepared: dict[tuple[str, float], Any] = {}

    def repeat(
        self, seed: int, rows: Callable[[str, Pair, PublicRecords], dict[str, Callable[[float], Method]]]
    ) -> None:
        """One table, or one more draw of the noise on a table that there is one of."""
        pair = self._pair or PAIRS[self.name](self.name, seed)
        if self._pair is None:
            self._records = PublicRecords(pa.table(pair.public), pair.metadata)
            self._table, self._best = ArraysTable(pair.private, pair.metadata), pair.fit(pair.private)
            self._prepared = {}
            if self.same_table:
                self._pair = pair
        for row, method in rows(self.name, pair, self._records).items():
            start = time.perf_counter()
            for epsilon in self.epsilons:
                if (row, epsilon) not in self._prepared:
                    self._prepared[row, epsilon] = method(epsilon).prepare(pair.metadata, pair.target)
                outcome = self._prepared[row, epsilon].run(self._table, Source.seeded(1000 * seed + int(epsilon)))
                found = [each.estimate for each in outcome.fit.coefficients]
                self._add(row, epsilon, error_of(pair, found, self._best))
                if row == "public subset":
                    self.chosen[epsilon][next(each.name for each in outcome.hybrid.candidates if each.chosen)] += 1
            self.seconds[row] += time.perf_counter() - start
        for row, coefficients in (("public records alone", pair.fit(pair.public)), ("no effect", 0.0 * self._best)):
            for epsilon in self.epsilons:
                self._add(row, epsilon, error_of(pair, coefficients, self._best))

    def _add(self, row: str, epsilon: float, error: Error) -> None:
        self.errors.setdefault(row, {}).setdefault(epsilon, []).append(error)

    def table(self) -> Table:
        """Mean error t, its standard error; the mean Brier loss where rows are real; what was asked."""
        real = self.name == "gusto"
        shown = Table(title=f"{self.name}: prediction error t by epsilon in total", title_justify="left")
        columns = [f"{epsilon:g}" for epsilon in self.epsilons]
        brier = [f"Brier, {each}" for each in columns] if real else []
        for column in ("", *columns, *brier, "asked", "repeats", "s"):
            shown.add_column(column, justify="left" if not column else "right")
        for row, by_epsilon in self.errors.items():
            cells = [_mean([each.t for each in by_epsilon[epsilon]]) for epsilon in self.epsilons]
            if real:
                cells += [f"{np.mean([each.brier for each in by_epsilon[epsilon]]):.4f}" for epsilon in self.epsilons]
            n = len(by_epsilon[self.epsilons[0]])
            shown.add_row(row, *cells, ASKED.get((self.name, row), ""), str(n), f"{self.seconds[row]:.0f}")
        return shown


def _mean(values: list[float]) -> str:
    spread = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{np.mean(values):.2f} ± {spread:.2f}"


def main() -> None:
    """Print a table a design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, help=f"repeats; default {REPEATS}")
    parser.add_argument("--only", nargs="+", choices=PAIRS, default=list(PAIRS))
    parser.add_argument("--published", type=int, help=f"of the published algorithm; default {PUBLISHED_REPEATS}")
    given, console = parser.parse_args(), Console(width=150)
    for name in given.only:
        study = Study(name)
        repeats = REPEATS[name] if given.tables is None else given.tables
        slow = min(repeats, PUBLISHED_REPEATS[name]) if given.published is None else given.published
        for seed in range(repeats):
            study.repeat(seed, contestants)
        rivals = Study(name)
        for seed in range(slow):
            rivals.repeat(seed, published)
        study.errors |= {row: found for row, found in rivals.errors.items() if row.startswith("published")}
        study.seconds |= rivals.seconds
        console.print(study.table())
        for epsilon, chosen in study.chosen.items():
            picks = ", ".join(f"{choice} {times}" for choice, times in chosen.most_common(5))
            console.print(f"public subset chose, epsilon {epsilon:g}: {picks}", markup=False, highlight=False)
        if slow:
            k = len(SIZES[name])
            console.print(
                f"The published algorithm claims epsilon for {(k + 1) / 2:g} epsilon: {k} criteria at the price of "
                "one. Even at the honest epsilon its criteria have too little noise, for a sensitivity of 1.",
                highlight=False,
            )


if __name__ == "__main__":
    main()
