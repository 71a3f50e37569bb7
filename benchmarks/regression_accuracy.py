"""Whether our regressions predict better than others by default: `python -m benchmarks.regression_accuracy`.

Test R^2 of linear regressions, and the share of the mean's test deviance that logistic and Poisson ones explain, on
simulated and on real tables, beside private peers with the same epsilon, delta, public bounds and neighboring relation
(`regression_peers`). Ours are the estimators with their defaults. Predictions of peers are cut to the target's public
bounds; ours are as `predict` returns them. Gradient descent is tuned in hindsight: for each cell the one setting with
the best median on the test rows.

DISCREET_DIFFPRIVLIB names the interpreter of an environment with `pip install diffprivlib 'scikit-learn<1.6'`.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track
from rich.table import Table

import discreet as dc
from benchmarks import regression_peers as peers
from benchmarks.regression_tables import Design, Split, real_designs, simulated_designs
from discreet.typing import Floats

DELTA = 1e-6
EPSILONS = (0.5, 1.0, 4.0)
FAMILIES = ("linear", "logistic", "poisson")
ESTIMATORS = {"linear": dc.LinearRegression, "logistic": dc.LogisticRegression, "poisson": dc.PoissonRegression}
OURS, MEAN, FREE, DESCENT = "ours", "mean", "non-private", "descent, in hindsight"
PEERS = {
    "linear": ("AdaSSP", "AdaSSP, least noise", "Hessian mixing", "diffprivlib", DESCENT),
    "logistic": ("diffprivlib", DESCENT),
    "poisson": (DESCENT,),
}
LEAST = -99.0
"""Scores below are shown and counted as this."""


@dataclass(frozen=True)
class Task:
    """One cell."""

    name: str
    family: str
    n_rows: int
    epsilons: tuple[float, ...]
    tables: int
    seed: int


@dataclass
class Figures:
    """Scores of one cell: of each method, one a table.

    Parameters
    ----------
    family, name : str
        Of the design.
    n_rows : int
        Rows to fit on.
    epsilon : float
        Spent by each private method.
    scores : dict of str to list of float
        Share explained: R^2, or that of the mean's deviance.
    errors : dict of str to list of float
        Root mean squared error of predictions, in the target's unit.
    setting : str
        Of gradient descent, chosen in hindsight.
    """

    family: str
    name: str
    n_rows: int
    epsilon: float
    scores: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, list[float]] = field(default_factory=dict)
    setting: str = ""

    def add(self, method: str, score: tuple[float, float]) -> None:
        """Enter a table's score and error."""
        self.scores.setdefault(method, []).append(max(score[0], LEAST))
        self.errors.setdefault(method, []).append(score[1])

    def behind(self, method: str) -> float:
        """Median of a method's score less ours, table by table, less two standard errors: positive where ours loses."""
        gaps = np.array(self.scores[method]) - np.array(self.scores[OURS])
        middle = float(np.median(gaps))
        # The median's standard error under normal errors, by the median absolute deviation.
        spread = 1.2533 * 1.4826 * float(np.median(np.abs(gaps - middle))) / math.sqrt(len(gaps))
        return middle - 2.0 * spread


def designs() -> dict[tuple[str, str], Design]:
    """All designs by family and name."""
    return {(design.family, design.name): design for design in (*simulated_designs(), *real_designs())}


def measured(task: Task) -> list[Figures]:
    """All methods on the tables of one cell."""
    design = designs()[task.family, task.name]
    cells = {epsilon: Figures(task.family, task.name, task.n_rows, epsilon) for epsilon in task.epsilons}
    settings: dict[float, list[list[tuple[float, float]]]] = {epsilon: [] for epsilon in task.epsilons}
    names: list[str] = []
    jobs: list[tuple[Floats, Floats, float, int]] = []
    scorings: list[Scoring] = []
    for place in range(task.tables):
        seed = 1000 * task.seed + place
        split = design.split(task.n_rows, seed)
        scoring = Scoring(split)
        scorings.append(scoring)
        free = scoring.of_coefficients(peers.maximum_likelihood(split.family, scoring.X, scoring.y, scoring.offset))
        for epsilon, cell in cells.items():
            rng = np.random.default_rng([seed, round(1000 * epsilon)])  # noqa: TID251 - a simulation
            cell.add(OURS, scoring.of_product(epsilon, seed))
            cell.add(MEAN, scoring.of_mean())
            cell.add(FREE, free)
            for method, coef in _of_moments(scoring, epsilon, rng):
                cell.add(method, scoring.of_coefficients(coef))
            mu = peers.gaussian_mu(epsilon, DELTA)
            found = peers.descents(split.family, scoring.X, scoring.y, scoring.offset, mu, rng)
            names = found.names
            settings[epsilon].append([scoring.of_coefficients(coef) for coef in found.coef])
            jobs.append((scoring.X[:, 1:] * split.row_norm, scoring.y, epsilon, seed))
    for epsilon, cell in cells.items():
        medians = np.median(np.array(settings[epsilon])[:, :, 0], axis=0)
        best = int(np.argmax(medians))
        cell.setting = names[best]
        for scored in settings[epsilon]:
            cell.add(DESCENT, scored[best])
    python = peers.diffprivlib_python()
    if python and task.family != "poisson":
        fits = iter(peers.diffprivlib(python, task.family, jobs))
        for scoring in scorings:
            for epsilon in task.epsilons:
                cells[epsilon].add("diffprivlib", scoring.of_coefficients(next(fits) * scoring.split.row_norm))
    return list(cells.values())


class Scoring:
    """A split as the peers see it: rows in the unit ball, a linear response in [-1, 1].

    Parameters
    ----------
    split : Split
        Rows to fit on and to test on.
    """

    def __init__(self, split: Split) -> None:
        self.split = split
        low, high = split.bounds
        is_linear = split.family == "linear"
        self.middle, self.half = ((low + high) / 2.0, (high - low) / 2.0) if is_linear else (0.0, 1.0)
        self.X, self.offset = split.design(split.train) / split.row_norm, split.offset(split.train)
        self.y = (split.response(split.train) - self.middle) / self.half
        self.test_X, self.test_offset = split.design(split.test) / split.row_norm, split.offset(split.test)
        self.test_y = split.response(split.test)
        self.worst = self._deviance(self._mean_predictor(split.response(split.test), self.test_offset))

    def _mean_predictor(self, y: Floats, offset: Floats) -> Floats:
        """The predictor without columns, fitted to responses of the test rows or the training rows."""
        if self.split.family == "linear":
            return np.full(len(self.test_y), float(np.mean(y)))
        if self.split.family == "logistic":
            rate = (float(np.sum(y)) + 0.5) / (len(y) + 1.0)
            return np.full(len(self.test_y), math.log(rate / (1.0 - rate)))
        return math.log((float(np.sum(y)) + 0.5) / float(np.sum(np.exp(offset)))) + self.test_offset

    def _deviance(self, eta: Floats) -> float:
        return peers.deviance(self.split.family, self.test_y, eta)

    def _scored(self, eta: Floats) -> tuple[float, float]:
        if not np.all(np.isfinite(eta)):
            return LEAST, math.inf
        mean = peers.MEANS[self.split.family](eta)
        score = 1.0 - self._deviance(eta) / self.worst
        return float(score), float(np.sqrt(np.mean((mean - self.test_y) ** 2)))

    def of_coefficients(self, coef: Floats) -> tuple[float, float]:
        """Score and error of coefficients per column in the unit ball, predictions cut to the target's bounds."""
        with np.errstate(over="ignore", invalid="ignore"):
            eta = self.middle + self.half * (self.test_X @ coef + self.test_offset)
        low, high = self.split.bounds
        if self.split.family == "linear":
            eta = np.clip(eta, low, high)
        if self.split.family == "poisson":
            eta = np.clip(eta, -30.0, math.log(high))
        return self._scored(eta)

    def of_mean(self) -> tuple[float, float]:
        """Score and error of the training rows' mean, without privacy."""
        return self._scored(self._mean_predictor(self.split.response(self.split.train), self.offset))

    def of_product(self, epsilon: float, seed: int) -> tuple[float, float]:
        """Score and error of the product's estimator with its defaults."""
        split = self.split
        options = {"exposure": split.exposure} if split.exposure else {}
        model = ESTIMATORS[split.family](
            epsilon=epsilon, delta=DELTA, metadata=split.metadata, random_state=seed, **options
        )
        labels = [*split.columns, *([split.exposure] if split.exposure else [])]
        train = pa.table({label: split.train[label] for label in labels}).to_pandas()
        test = pa.table({label: split.test[label] for label in labels}).to_pandas()
        model.fit(train, split.response(split.train), target=split.target)
        if split.family == "logistic":
            return self._scored(model.decision_function(test))
        predicted = model.predict(test)
        return self._scored(predicted if split.family == "linear" else np.log(np.maximum(predicted, 1e-300)))


def _of_moments(scoring: Scoring, epsilon: float, rng: Any) -> Iterable[tuple[str, Floats]]:
    """Peers for linear regressions alone."""
    if scoring.split.family != "linear":
        return
    X, y = scoring.X, scoring.y
    yield "AdaSSP", peers.adassp(X, y, epsilon, DELTA, rng)
    yield "AdaSSP, least noise", peers.adassp(X, y, epsilon, DELTA, rng, analytic=True)
    yield "Hessian mixing", peers.hessian_mixing(X, y, epsilon, DELTA, rng)


# ---- output


def tasks(options: argparse.Namespace) -> list[Task]:
    """Cells that are asked for; fewer tables of many rows."""
    found = []
    for (family, name), design in designs().items():
        if not all(word in f"{family}: {name}" for word in options.only):
            continue
        for n_rows in design.sizes:
            tables = options.tables if n_rows <= 5_000 else max(options.tables // (2 if n_rows <= 50_000 else 4), 2)
            if options.rows and n_rows not in options.rows:
                continue
            found.append(Task(name, family, n_rows, tuple(options.epsilon), tables, options.seed))
    return found


def table(family: str, figures: list[Figures], of: str = "scores") -> Table:
    """Median of each method in each cell; what beats ours beyond the simulation's error is marked."""
    title = {"scores": "test R^2" if family == "linear" else "share of the mean's test deviance explained"}
    out = Table(title=f"{family}: {title.get(of, 'RMSE of predictions')}, median", title_justify="left")
    methods = [OURS, *PEERS[family], FREE, MEAN]
    for label in ("design", "n", "epsilon", *methods):
        out.add_column(label, justify="left" if label == "design" else "right")
    for cell in figures:
        if cell.family != family:
            continue
        row = [cell.name, f"{cell.n_rows:,}", f"{cell.epsilon:g}"]
        for method in methods:
            values = getattr(cell, of).get(method)
            mark = "*" if values and method not in (OURS, FREE) and cell.behind(method) > 0.0 else ""
            row.append(
                "-" if not values else f"{np.median(values):.3g}{mark}" if of == "errors" else _short(values, mark)
            )
        out.add_row(*row)
    return out


def _short(values: list[float], mark: str) -> str:
    middle = float(np.median(values))
    return (
        f"{middle:.3f}{mark}" if middle > -9.95 else f"{middle:.0f}{mark}" if middle > LEAST else f"< {LEAST:g}{mark}"
    )


def counts(family: str, figures: list[Figures]) -> str:
    """In how many cells ours is not behind the mean, and not behind each peer."""
    cells = [cell for cell in figures if cell.family == family]
    words = []
    for method in (MEAN, *PEERS[family]):
        held = [cell.behind(method) <= 0.0 for cell in cells if method in cell.scores]
        if held:
            words.append(f"{method} {sum(held)} of {len(held)}")
    return f"{family}: ours is at least, within the simulation's error: {'; '.join(words)}."


def main() -> None:
    """Print a table a family, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=24, help="tables or splits of a cell; fewer of large ones")
    parser.add_argument("--seed", type=int, default=0, help="draw other tables")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="designs that hold all words: linear")
    parser.add_argument("--rows", nargs="+", type=int, default=[], help="only these sizes")
    parser.add_argument("--epsilon", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--json", type=Path, help="write all scores to this file")
    options = parser.parse_args()
    console, start = Console(width=150), time.perf_counter()
    if peers.diffprivlib_python() is None:
        console.print("diffprivlib is left out: DISCREET_DIFFPRIVLIB names no interpreter that has it.")
    if not real_designs():
        console.print("Real tables are left out: set DISCREET_SHARED to the folder that holds data/.")
    asked = tasks(options)
    with ProcessPoolExecutor() as pool:
        results = track(pool.map(measured, asked), total=len(asked), console=Console(file=sys.stderr))
        figures = [cell for cells in results for cell in cells]
    for family in [family for family in FAMILIES if any(cell.family == family for cell in figures)]:
        console.print(table(family, figures), table(family, figures, "errors"))
        console.print(counts(family, figures), highlight=False)
    console.print(f"* is ahead of ours by more than two standard errors. {(time.perf_counter() - start) / 60:.0f} min")
    if options.json:
        options.json.write_text(json.dumps([asdict(cell) for cell in figures], indent=1))


if __name__ == "__main__":
    main()
