"""What `auto` selects in real tables: its adjusted R^2 over that of the model that BIC selects without privacy.

A target of two values or a count is taken as it is, by least squares.
"""

import argparse
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.regression_tables import Split, real_designs
from discreet.data.engines.arrays import ArraysTable
from discreet.data.metadata import CategoryColumn
from discreet.kernels.subsets.best_subsets import best_subsets
from discreet.mechanisms.rng import Source
from discreet.simulation.choice import best_selection
from discreet.simulation.rivals import Rival
from discreet.typing import Bools, Floats

ASKED = 0.97
N_ROWS = 20_000
DELTA = 1e-6
N_BEST = 20
"""Models of each size that BIC compares: a category has several columns."""

RELATIONS = ("replace_one", "add_or_remove_one")


class _Fit:
    """Least squares of a split's rows."""

    def __init__(self, split: Split) -> None:
        x, y = split.design(split.train), split.response(split.train)
        self.n_rows, self.names = len(y), tuple(split.columns)
        self.gram, self.xty, self.yty, self.total = x.T @ x, x.T @ y, float(y @ y), float(((y - y.mean()) ** 2).sum())
        owners = [None]
        for name in split.columns:
            column = split.metadata.declared(name)
            owners += [name] * (len(column.levels or ()) - 1 if isinstance(column, CategoryColumn) else 1)
        self.units = np.array([[owner == name for owner in owners] for name in self.names])

    def adjusted(self, selected: Any) -> float:
        """Adjusted R^2 of a model with a constant."""
        inside = self._columns(selected)
        coef = np.linalg.lstsq(self.gram[np.ix_(inside, inside)], self.xty[inside], rcond=None)[0]
        residual = self.yty - float(self.xty[inside] @ coef)
        return 1.0 - (residual / (self.n_rows - inside.sum())) / (self.total / (self.n_rows - 1))

    def _columns(self, selected: Any) -> Bools:
        inside = np.zeros(len(self.xty), dtype=bool)
        inside[0] = True
        for place, name in enumerate(self.names):
            inside |= self.units[place] & (name in selected)
        return inside

    def bic(self) -> tuple[str, ...]:
        """The columns that BIC selects."""
        always = np.zeros(len(self.xty), dtype=bool)
        always[0] = True
        rss, masks = best_subsets(self.gram, self.xty, self.yty, self.units, always, len(self.names), N_BEST)
        models = [(float(value), int(mask)) for value, mask in zip(rss.ravel(), masks.ravel(), strict=True)]
        possible = [(value, self._names(mask)) for value, mask in models if np.isfinite(value)]
        return min(possible, key=lambda model: self._criterion(*model))[1]

    def _names(self, mask: int) -> tuple[str, ...]:
        return tuple(name for place, name in enumerate(self.names) if mask >> place & 1)

    def _criterion(self, rss: float, names: tuple[str, ...]) -> float:
        return float(self.n_rows * np.log(rss / self.n_rows) + self._columns(names).sum() * np.log(self.n_rows))


def shares(split_of: Any, rival: Rival, relation: str, epsilon: float, draws: int, seed: int) -> tuple[Floats, Floats]:
    """Return the share of BIC's adjusted R^2, and the numbers of columns selected, of each draw of rows and noise."""
    kept, counts = np.empty(draws), np.empty(draws)
    for draw in range(draws):
        split = split_of(N_ROWS, seed * 1000 + draw)
        fit, public = _Fit(split), _public(split, relation)
        cells = {name: split.train[name] for name in (*split.columns, split.target)}
        prepared = rival.at(epsilon).prepare(public, split.target, tuple(split.columns))
        selected = prepared.run(ArraysTable(cells, public), Source.seeded(seed * 1000 + draw)).selected
        kept[draw], counts[draw] = fit.adjusted(selected) / fit.adjusted(fit.bic()), len(selected)
    return kept, counts


def _public(split: Split, relation: str) -> Any:
    facts = {"neighboring": relation, **({"n_rows": N_ROWS} if relation == "replace_one" else {})}
    return type(split.metadata).model_validate({**split.metadata.model_dump(exclude_none=True), **facts})


def main() -> None:
    """Print what is kept of each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10, help="draws of rows and of noise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--only", nargs="+", default=[], help="parts of tables' names")
    arguments = parser.parse_args()
    console = Console(width=150)
    shown = Table(
        title=f"auto, {N_ROWS} rows, epsilon {arguments.epsilon:g}, {arguments.tables} draws (asked: {ASKED:g})"
    )
    for column in ("table", "relation", "auto", "columns", "of", "kept on average", "least", "CPU s to choose"):
        shown.add_column(column)
    designs = [design for design in real_designs() if max(design.sizes) >= N_ROWS]
    if arguments.only:
        designs = [design for design in designs if any(word in design.name for word in arguments.only)]
    for design in designs:
        for relation in RELATIONS:
            split, start = design.split(N_ROWS, 0), time.process_time()
            public = _public(split, relation)
            names = tuple(split.columns)
            rival = best_selection(public, split.target, names, arguments.epsilon, DELTA, N_ROWS).rival
            seconds = time.process_time() - start
            kept, counts = shares(design.split, rival, relation, arguments.epsilon, arguments.tables, arguments.seed)
            row = (rival.name, f"{counts.mean():.1f}", str(len(names)), f"{kept.mean():.3f}", f"{kept.min():.3f}")
            shown.add_row(design.name, relation, *row, f"{seconds:.1f}")
            console.print(f"{design.name}, {relation}: {', '.join(row)}", markup=False, highlight=False)
    console.print(shown)


if __name__ == "__main__":
    main()
