"""What reaches the choice of a screening, through its own interface, and the exact law of that choice."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.mechanisms.rng import Source
from discreet.methods.screening.top_k_choice import TopK
from tests.privacy.laws import Floats, law


@dataclass(frozen=True)
class Reached:
    """Scores in whole steps, and the choice that they were handed to."""

    scores: Any
    top_k: TopK

    def log_law(self) -> Floats:
        """Log-probability of every set of k columns."""
        if self.top_k.mechanism == "canonical_lipschitz":
            return np.log(_law_of_sets(self.scores, self.top_k))
        return np.log(_law_of_noisy_columns(self.scores, self.top_k))


def metadata_of(names, relation="replace_one", n_rows=1, target=None, **more):
    """Columns and target in [-1, 1]."""
    box = {"type": "real", "lower": -1, "upper": 1}
    public = {"n_rows": n_rows} if relation == "replace_one" and "n_units" not in more else {}
    columns = {**dict.fromkeys(names, box), "y": target or box}
    return Metadata.from_value(
        {"dataset": "pair", "unit": "person", "neighboring": relation, "columns": columns, **public, **more}
    )


def table_of(rows, relation="replace_one", units=None, target=None, **more):
    """A table of rows, the target last."""
    names = [f"x{i}" for i in range(len(rows[0]) - 1)]
    cells = {name: [row[i] for row in rows] for i, name in enumerate([*names, "y"])}
    if units is not None:
        cells["id"] = units
        more = {"unit_id": "id", **more}
    return open_table(pa.table(cells), metadata_of(names, relation, len(rows), target, **more))


def reached(monkeypatch, method, table, seed=0) -> Reached:
    """Run a method on a table and keep what it hands to the choice."""
    kept = []

    def draw(self, scores, rng):
        kept.append(Reached(np.array(scores), self))
        return list(range(self.k))

    with monkeypatch.context() as patch:
        patch.setattr(TopK, "draw", draw)
        prepared = method.prepare(table.metadata, "y")
        table.check(prepared.columns)
        prepared.run(table, Source.seeded(seed))
    return kept[0]


def _law_of_sets(scores, top_k) -> Floats:
    """Specification 4.3, by enumeration."""
    slope = float(top_k.epsilon / (2 * top_k.sensitivity))
    values = (np.asarray(scores) - np.max(scores)).astype(float) * slope
    losses = []
    for chosen in combinations(range(len(values)), top_k.k):
        worst = values[list(chosen)].min()
        best_out = np.delete(values, chosen).max()
        losses.append((1 - top_k.gamma) * max(best_out, worst) - top_k.gamma * worst)
    return law(losses, top_k.noise)


def _law_of_noisy_columns(scores, top_k) -> Floats:
    """Sets of the k largest sums of score and exponential noise: one integral over the least of them."""
    values = (np.asarray(scores) - np.max(scores)).astype(float) / float(top_k.scale)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    ends = np.unique(np.concatenate([np.linspace(values.min(), 45.0, 400), values]))
    half, middle = np.diff(ends)[:, None] / 2, (ends[:-1, None] + ends[1:, None]) / 2
    points, steps = (middle + half * nodes).ravel(), (half * weights).ravel()
    z = points[:, None] - values[None, :]
    survival, density = np.exp(-np.maximum(z, 0)), np.where(z >= 0, np.exp(-np.maximum(z, 0)), 0.0)
    found = []
    for chosen in combinations(range(len(values)), top_k.k):
        inside, outside = list(chosen), np.delete(np.arange(len(values)), chosen)
        least = sum(density[:, j] * np.prod(survival[:, [i for i in inside if i != j]], axis=1) for j in inside)
        found.append(steps @ (least * np.prod(1.0 - survival[:, outside], axis=1)))
    return np.array(found)
