"""The blocks of a splitting bound: similar units together, or a larger region's blocks without its decided units."""

import importlib
from types import ModuleType

import numpy as np

from discreet.kernels.search.separable import Bound, Layout, SearchProblem
from discreet.typing import Floats

WIDTH = 8
"""Most units of a block: 2^8 subsets a table."""

SIMILAR = 0.12
"""Columns less correlated than this need not share a block."""


def similar_units(problem: SearchProblem, form: Floats, units: list[int]) -> list[list[int]]:
    """Group units, the most similar first, up to the width of a block."""
    inverse_size = 1.0 / np.sqrt(np.maximum(form.diagonal(), problem.rounding))
    similar = np.abs(form) * inverse_size
    similar *= inverse_size[:, None]
    if len(units) < len(form):
        edges = np.cumsum([0, *(len(problem.columns[j]) for j in units)])[:-1]
        similar = np.maximum.reduceat(np.maximum.reduceat(similar, edges, axis=0), edges, axis=1)
    pairs = np.flatnonzero(np.triu(similar > SIMILAR, 1))
    order = pairs[np.argsort(-similar.ravel()[pairs], kind="stable")]
    groups: dict[int, list[int]] = {}
    for unit, name in zip(units, balancing().group(similar, order, WIDTH).tolist(), strict=True):
        groups.setdefault(name, []).append(unit)
    return list(groups.values())


def remaining_units(parent: Bound, decided: int) -> list[list[int]]:
    """Group the undecided units as a larger region's bound does, small groups joined."""
    groups = sorted(([u for u in group if not decided >> u & 1] for group in parent.layout.groups), key=len)
    groups = [group for group in groups if group]
    joined = []
    while groups:
        group = groups.pop()
        while groups and len(group) + len(groups[0]) <= WIDTH:
            group = group + groups.pop(0)
        joined.append(group)
    return joined


def restricted(parent: Bound, layout: Layout, inside: int) -> Floats:
    """Return a bound's Lam on fewer units, packed: excluded rows deleted, included ones minimized over."""
    packed = np.zeros((int(layout.starts[-1]), layout.width))
    starts_of_block = layout.starts[layout.blocks]
    for group, (low, high) in zip(parent.layout.groups, parent.layout.spans(), strict=True):
        block = parent.packed[low:high, : high - low]
        at = {u: np.arange(parent.layout.starts[p], parent.layout.starts[p + 1]) - low
              for u in group for p in (parent.layout.place[u],)}  # fmt: skip
        names = [u for u in group if u in layout.place]
        if not names:
            continue
        rest = np.concatenate([at[u] for u in names])
        form = block[np.ix_(rest, rest)]
        eliminated = [at[u] for u in group if inside >> u & 1]
        if eliminated:
            out = np.concatenate(eliminated)
            # A Schur complement: the minimum over the included columns.
            form = form - block[np.ix_(rest, out)] @ np.linalg.solve(block[np.ix_(out, out)], block[np.ix_(out, rest)])
        places = [layout.place[u] for u in names]
        rows = np.concatenate([np.arange(layout.starts[p], layout.starts[p + 1]) for p in places])
        home = int(np.searchsorted(layout.blocks, places[0], side="right")) - 1
        packed[np.ix_(rows, rows - starts_of_block[home])] = form
    return packed


def balancing() -> ModuleType:
    """Return the compiled loops of `separable_balance`."""
    return importlib.import_module("discreet.kernels.search.separable_balance")
