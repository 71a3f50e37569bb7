"""Neighboring tables that are as bad as they can be, and the exact law of a method on them."""

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.mechanisms import subset_search
from discreet.mechanisms.rng import Source
from discreet.methods.subset_selection import pcls
from tests.privacy.laws import log_law


@dataclass(frozen=True)
class Drawn:
    """What reached the noise."""

    scores: Any
    gamma: Any
    epsilon: Any
    noise: str

    def log_law(self) -> list[mpmath.mpf]:
        return log_law(self.scores, float(self.gamma) / float(self.epsilon), self.noise)


def recorded(monkeypatch, method, rows, target="y", relation="replace_one", bound=1.0, **metadata) -> Drawn:
    """Run a method on rows through its own interface and keep what it hands to the mechanism."""
    rows = np.atleast_2d(np.asarray(rows, dtype=float))
    names = [f"x{i + 1}" for i in range(rows.shape[1] - 1)]
    table = table_of(rows, names, target, relation, bound, **metadata)
    kept = []

    def keep(scores, gamma, epsilon, rng, noise):
        kept.append(Drawn(np.array(scores), gamma, epsilon, noise))
        return 0

    def keep_blocks(blocks, *law):
        return keep(np.concatenate(list(blocks)), *law)

    with monkeypatch.context() as patch:
        patch.setattr(pcls, "noisy_min", keep)
        patch.setattr(subset_search, "noisy_min_of_blocks", keep_blocks)
        prepared = method.prepare(table.metadata, target, names)
        table.check(prepared.columns)
        prepared.run(table, Source.seeded(0))
    return kept[0]


def table_of(rows, names, target, relation, bound, units=None, **metadata):
    """A frame of features in [-1, 1] and a target in [-bound, bound]."""
    box = {"type": "real", "lower": -1, "upper": 1}
    columns = {**dict.fromkeys(names, box), target: {"type": "real", "lower": -bound, "upper": bound}}
    public = {"n_rows": len(rows)} if relation == "replace_one" else {}
    declared = Metadata.from_value(
        {"dataset": "pair", "unit": "person", "neighboring": relation, "columns": columns, **public, **metadata}
    )
    cells = {name: rows[:, i] for i, name in enumerate([*names, target])}
    if units is not None:
        cells[str(declared.unit_id)] = units
    return open_table(pa.table(cells), declared)


def pinned(radius, bound, columns, n_each):
    """Rows that pin each column's coefficient at +radius (pair P1): a = min(1, r / 2R), n a (r - aR) >= r + R."""
    a = min(1.0, bound / (2 * radius))
    rows = []
    for column, n in zip(range(columns), n_each, strict=True):
        assert n * a * (bound - a * radius) >= bound + radius
        row = np.zeros(columns + 1)
        row[column], row[-1] = a, bound
        rows += [row] * n
    return rows
