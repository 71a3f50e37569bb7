"""How much `auto` leaves on the table: its selection beside the best rival in hindsight, in 42 kinds of tables."""

import argparse
import itertools
import time
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from scipy.special import ndtr

import discreet as dc
from benchmarks.right_models import normals, uniforms
from discreet.errors import DiscreetError
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Preparation
from discreet.simulation.cached_moments import CachedMoments, ReadMoments
from discreet.simulation.cached_preparation import cached_preparation
from discreet.simulation.choice import best_selection
from discreet.simulation.rivals import Rival, rivals
from discreet.simulation.simulated_table import SimulatedTable

NAMES = tuple(f"x{j}" for j in range(1, 7))
N_ROWS = (100, 200, 500, 1000)
EPSILONS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0)
RELATIONS = ("replace_one", "add_or_remove_one")
EFFECTS = {"equal": (1.0, 1.0, 1.0), "unequal": (1.5, 1.0, 0.5)}
CORRELATIONS = (0.0, 0.6)
COLUMNS = ("even", "uneven")
N_CELLS = 42
DELTA = 1e-6
Y_BOUND = 4.0
MEAN_ASKED, WORST_ASKED = 0.03, 0.15


class Cell(NamedTuple):
    """A kind of table and a request."""

    epsilon: float
    n_rows: int
    relation: str
    effects: str
    correlation: float
    columns: str


def cells(n_cells: int) -> list[Cell]:
    """Return a covering design: each epsilon as often, and the cells that add most pairs and triples of levels."""
    levels = (EPSILONS, N_ROWS, RELATIONS, tuple(EFFECTS), CORRELATIONS, COLUMNS)
    whole, design, seen = [Cell(*cell) for cell in itertools.product(*levels)], list[Cell](), dict[object, int]()
    for place in range(min(n_cells, len(whole))):
        epsilon = EPSILONS[place % len(EPSILONS)]
        best = max(
            (cell for cell in whole if cell.epsilon == epsilon and cell not in design),
            key=lambda cell: sum(1.0 / (1 + seen.get(part, 0)) ** 2 for part in _parts(cell)),
        )
        design.append(best)
        for part in _parts(best):
            seen[part] = seen.get(part, 0) + 1
    return design


def _parts(cell: Cell) -> list[object]:
    named = list(enumerate(cell))
    return [*itertools.combinations(named, 2), *itertools.combinations(named, 3)]


def metadata(relation: str, n_rows: int) -> dc.Metadata:
    """Public bounds: 1 for the columns, 4 for the target."""
    box = {"type": "real", "lower": -1, "upper": 1, "source": "design"}
    y = {"type": "real", "lower": -Y_BOUND, "upper": Y_BOUND, "source": "design"}
    known = {"n_rows": n_rows} if relation == "replace_one" else {}
    return dc.Metadata.from_value(
        {"dataset": "toy", "unit": "row", "neighboring": relation, "columns": dict.fromkeys(NAMES, box) | {"y": y}}
        | known
    )


def drawn(cell: Cell, seed: int) -> tuple[SimulatedTable, frozenset[str]]:
    """Return a table and the columns that matter; which these are is drawn, too."""
    source = Source.seeded(seed)
    latent = normals(source, cell.n_rows, len(NAMES))
    for j in range(1, len(NAMES)):
        latent[:, j] = cell.correlation * latent[:, j - 1] + (1.0 - cell.correlation**2) ** 0.5 * latent[:, j]
    order = np.argsort(uniforms(source, len(NAMES)))
    x = _spread(latent, cell.columns)[:, order]
    beta = np.zeros(len(NAMES))
    beta[: len(EFFECTS[cell.effects])] = EFFECTS[cell.effects]
    beta = beta[order]
    y = np.clip(x @ beta + normals(source, cell.n_rows, 1)[:, 0], -Y_BOUND, Y_BOUND)
    frame = pa.table(dict(zip(NAMES, x.T, strict=True)) | {"y": y})
    return SimulatedTable(frame, metadata(cell.relation, cell.n_rows)), frozenset(
        name for name, effect in zip(NAMES, beta, strict=True) if effect
    )


def _spread(latent: np.ndarray, columns: str) -> np.ndarray:
    """Columns over [-1, 1]: even, or of a third of the width, exponential, and at an end in a fifth of the rows."""
    share = ndtr(latent)
    if columns == "even":
        return 2.0 * share - 1.0
    x = np.empty_like(share)
    x[:, 0::3] = np.clip(latent[:, 0::3] / 3.0, -1.0, 1.0)
    x[:, 1::3] = np.minimum(-np.log1p(-share[:, 1::3]) / 2.0, 2.0) - 1.0
    x[:, 2::3] = np.where(share[:, 2::3] > 0.8, 1.0, -1.0)
    return x


def ratings(cell: Cell, compared: list[Rival], epsilon: float, tables: int, seed: int) -> dict[str, np.ndarray]:
    """Return overlap and whether it is exactly right, by rival, for each table: same rows and same draws for all."""
    prepared = {rival.name: request for rival in compared if (request := _prepared(rival, cell, epsilon)) is not None}
    rated = {name: np.empty((tables, 2)) for name in prepared}
    for number in range(tables):
        table, right = drawn(cell, seed * 1_000_003 + number)
        released: dict[str, ReadMoments] = {}
        for name, request in prepared.items():
            rng, key = Source.seeded(2**33 + seed * 1_000_003 + number), ""
            if isinstance(request, CachedMoments):
                key = request.release_key
                if key not in released:
                    released[key] = request.released(table, rng)
                selected = set(request.read(released[key]))
            else:
                selected = set(request.run(table, rng).selected)
            rated[name][number] = len(selected & right) / len(selected | right), selected == right
    return rated


def _prepared(rival: Rival, cell: Cell, epsilon: float) -> Preparation | None:
    try:
        return cached_preparation(rival.at(epsilon).prepare(metadata(cell.relation, cell.n_rows), "y", NAMES))
    except DiscreetError:
        return None


class Outcome(NamedTuple):
    """What `auto` chose in a cell, and how it and the best rival did."""

    cell: Cell
    chosen: str
    overlap: float
    right: float
    best: str
    regret: float
    error: float
    cross_regret: float
    open_regret: float
    rise: float | None
    rise_error: float | None


def outcome(cell: Cell, tables: int, seed: int) -> Outcome:
    """Rate all rivals at the cell's epsilon, and what `auto` chooses at the next one on the same tables and draws."""
    compared = rivals(metadata(cell.relation, cell.n_rows), "y", NAMES, DELTA, cell.n_rows)
    rated = ratings(cell, compared, cell.epsilon, tables, seed)
    own = choice(cell.relation, cell.n_rows, cell.epsilon)
    overlaps = {name: values[:, 0] for name, values in rated.items()}
    best = _best(overlaps)
    regrets = overlaps[best] - overlaps[own.name]
    is_even = np.arange(tables) % 2 == 0
    # The best on one half is rated on the other: what luck adds to the best of many is left out.
    cross = [
        float((overlaps[_best({name: v[half] for name, v in overlaps.items()})] - overlaps[own.name])[~half].mean())
        for half in (is_even, ~is_even)
    ]
    # Beside selections that are not told how many columns matter.
    open_best = _best({name: v for name, v in overlaps.items() if "columns" not in name or name == own.name})
    rise = rise_error = None
    place = EPSILONS.index(cell.epsilon) + 1
    if place < len(EPSILONS):
        later = choice(cell.relation, cell.n_rows, EPSILONS[place])
        rises = ratings(cell, [later], EPSILONS[place], tables, seed)[later.name][:, 1] - rated[own.name][:, 1]
        rise, rise_error = float(rises.mean()), float(rises.std(ddof=1)) / tables**0.5
    return Outcome(
        cell,
        own.name,
        float(overlaps[own.name].mean()),
        float(rated[own.name][:, 1].mean()),
        best,
        float(regrets.mean()),
        float(regrets.std(ddof=1)) / tables**0.5,
        float(np.mean(cross)),
        float((overlaps[open_best] - overlaps[own.name]).mean()),
        rise,
        rise_error,
    )


def _best(overlaps: dict[str, np.ndarray]) -> str:
    return max(overlaps, key=lambda name: float(overlaps[name].mean()))


@cache
def choice(relation: str, n_rows: int, epsilon: float) -> Rival:
    """What `auto` chooses, from public facts alone: it is the same in all cells that share them."""
    return best_selection(metadata(relation, n_rows), "y", None, epsilon, DELTA, n_rows).rival


def main() -> None:
    """Print a row for each cell as it is done, and what was asked beside what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cells", type=int, default=N_CELLS, help="of the 448, the most unlike first")
    parser.add_argument("--skip", type=int, default=0, help="so many cells before them")
    arguments = parser.parse_args()
    console, start, outcomes = Console(width=170), time.perf_counter(), list[Outcome]()
    for cell in cells(arguments.skip + arguments.cells)[arguments.skip :]:
        outcomes.append(outcome(cell, arguments.tables, arguments.seed))
        done = f"{len(outcomes)} of {arguments.cells}, {time.perf_counter() - start:.0f} s"
        console.print(f"{done}: {' | '.join(_cells_of(outcomes[-1]))}", markup=False, highlight=False, soft_wrap=True)
    shown = Table(title=f"auto beside the best rival in hindsight, {arguments.tables} tables, seed {arguments.seed}")
    for column in ("cell", "auto", "overlap", "right", "best in hindsight", "regret", "error", "cross", "open", "rise"):
        shown.add_column(column)
    for row in outcomes:
        shown.add_row(*_cells_of(row))
    console.print(shown)
    _summary(console, outcomes)


def _cells_of(row: Outcome) -> list[str]:
    rise = "" if row.rise is None else f"{row.rise:+.2f} ({row.rise_error:.2f})"
    numbers = (row.regret, row.error, row.cross_regret, row.open_regret)
    name = ", ".join(map(str, row.cell)).replace("_one", "").replace("_or_remove", "")
    rated = f"{row.overlap:.2f}", f"{row.right:.2f}"
    return [name, row.chosen, *rated, row.best, *(f"{number:.3f}" for number in numbers), rise]


def _summary(console: Console, outcomes: list[Outcome]) -> None:
    for name, words in (
        ("regret", "regret"),
        ("cross_regret", "regret, the best rival of one half of the tables on the other half"),
        ("open_regret", "regret beside selections that are not told the number of columns"),
    ):
        values = np.array([getattr(row, name) for row in outcomes])
        asked = f"asked: {MEAN_ASKED:g}, worst {WORST_ASKED:g}"
        console.print(f"{words}: mean {values.mean():.3f}, worst {values.max():.3f} ({asked})")
    rises = [row for row in outcomes if row.rise is not None and row.rise_error is not None]
    falls = [row for row in rises if row.rise < -2.0 * row.rise_error]  # type: ignore[operator]
    console.print(f"exact recovery falls by more than two standard errors in {len(falls)} of {len(rises)} (asked: 0)")
    for row in falls:
        console.print(f"  {row.cell}: {row.rise:+.3f}, standard error {row.rise_error:.3f}", markup=False)


if __name__ == "__main__":
    main()
