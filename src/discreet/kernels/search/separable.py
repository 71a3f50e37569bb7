"""A lower bound of every model's score that splits into small blocks, and so can be summed and drawn from.

A region of models has units that are in, units that are out, and units not yet decided. With S the Gram matrix of
the undecided columns after the others, and any Lam that is block diagonal and at most S, every vector b satisfies
b'(S - Lam)b >= 2 b'(S - Lam)a - a'(S - Lam)a for a fixed point a. What is left of the score is a sum over the blocks,
and each block's minimum over the subsets of its few units is a table. The l1 bound enters by its dual: for a
multiplier nu and any |v_i| <= nu, adding 2 v'b - 2 nu R can only lower the score inside the ball.

Any choice of Lam, a and v gives a bound; `separable_fit` makes a good one.
"""

import functools
import importlib
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from discreet.kernels.subsets.bits import bits_of, mask_of
from discreet.typing import Floats, Integers

ROUNDING = 2.0**-46
"""Bounds the relative error of a factored Gram matrix and of what is computed from it, times its dimension."""


@dataclass(frozen=True)
class SearchProblem:
    """Scores of subsets, in units of the noise: min RSS(b) over the model and the l1 ball, plus the units' costs.

    Parameters
    ----------
    gram : ndarray of float, shape (p, p)
        X'X over the scale of the noise.
    xty : ndarray of float, shape (p,)
        X'y over the scale of the noise.
    yty : float
        y'y over the scale of the noise, less a number common to all models.
    radius : float
        Bound on the l1 norm.
    cost : ndarray of float, shape (d,)
        Added when a unit is in the model.
    columns : tuple of ndarray of int
        The columns of each unit.
    always : ndarray of int
        Columns in every model.
    limit : int
        The most units in a model.
    start : ndarray of float, shape (p,), optional
        The point of least RSS(b) in the ball over all columns, where it is known: the first bound begins there.
    stiffness : float
        Raised where rounding is worse than expected: the ridge that bounds it grows, and bounds get lower.
    """

    gram: Floats
    xty: Floats
    yty: float
    radius: float
    cost: Floats
    columns: tuple[Integers, ...]
    always: Integers
    limit: int
    start: Floats | None = None
    stiffness: float = 1.0

    @functools.cached_property
    def size(self) -> float:
        """The largest diagonal entry, or a size that moves no score by a millionth."""
        return max(float(self.gram.diagonal().max(initial=0.0)), 1e-6 / self.radius**2)

    @property
    def rounding(self) -> float:
        """A bound of the rounding errors of any factor of the Gram matrix."""
        return self.stiffness * ROUNDING * len(self.xty) * self.size

    @property
    def ridge(self) -> float:
        """Added to the Gram matrix: it keeps systems regular, and lowers a bound by a twentieth where n is not huge."""
        return max(4.0 * self.rounding, self.stiffness * min(1e-9 * self.size, 0.05 / self.radius**2))

    @functools.cached_property
    def gram_ridged(self) -> Floats:
        """The Gram matrix plus the ridge."""
        return self.gram + self.ridge * np.eye(len(self.xty))


@dataclass(frozen=True)
class Layout:
    """The blocks of the undecided units, and where their columns stand."""

    groups: tuple[tuple[int, ...], ...]
    units: tuple[int, ...]
    place: dict[int, int]
    starts: Integers
    blocks: Integers
    width: int

    @classmethod
    def of(cls, groups: Iterable[Iterable[int]], columns: tuple[Integers, ...]) -> "Layout":
        """Place the groups one after the other.

        `starts` are the units' first columns, `blocks` the blocks' first units, `width` the most columns of a block.
        """
        nonempty = tuple(tuple(group) for group in groups if group)
        units = tuple(unit for group in nonempty for unit in group)
        starts = np.array([0, *itertools.accumulate(len(columns[unit]) for unit in units)])
        blocks = np.array([0, *itertools.accumulate(map(len, nonempty))])
        edges = starts[blocks]
        width = int((edges[1:] - edges[:-1]).max(initial=1))
        return cls(nonempty, units, {unit: i for i, unit in enumerate(units)}, starts, blocks, width)

    @functools.cached_property
    def n_subsets(self) -> int:
        """Subsets of the largest block."""
        return 1 << max((len(group) for group in self.groups), default=0)

    @functools.cached_property
    def _bits(self) -> tuple[Integers, Integers, Integers]:
        """The units, and for each its block and its bit in that block."""
        sizes = np.diff(self.blocks)
        block = np.repeat(np.arange(len(sizes)), sizes)
        return np.array(self.units, dtype=np.int64), block, np.arange(len(block)) - self.blocks[block]

    def subsets(self, model: int) -> Integers:
        """Return what a model holds of each block, as bits over the block's units. Shape (n_blocks,)."""
        units, _, shift = self._bits
        chosen = bits_of(model, int(units.max()) + 1)[units].astype(np.int64)
        return np.add.reduceat(chosen << shift, self.blocks[:-1])

    def model(self, subsets: Integers) -> int:
        """Return the model, as bits over units, that holds these subsets of the blocks and nothing else."""
        units, block, shift = self._bits
        bits = np.zeros(int(units.max()) + 1, dtype=np.uint8)
        bits[units] = subsets[block] >> shift & 1
        return mask_of(bits)

    def spans(self) -> list[tuple[int, int]]:
        """Return each block's first column and the one after its last."""
        edges = self.starts[self.blocks].tolist()
        return list(itertools.pairwise(edges))


@dataclass(frozen=True)
class Origin:
    """Where a bound touches the scores: a smaller region's search for a bound begins there.

    Parameters
    ----------
    point : ndarray of float, shape (p,)
        a, zero for the columns that are decided.
    dual : ndarray of float, shape (p,)
        v.
    multiplier : float
        nu, at least the size of each v_i.
    signs : ndarray of float, shape (p,)
        Of the last minimizer on the ball.
    """

    point: Floats
    dual: Floats
    multiplier: float
    signs: Floats


@dataclass(frozen=True)
class Bound:
    """A splitting lower bound of the scores of a region's models: `const` plus one table entry for each block.

    Parameters
    ----------
    layout : Layout
        The undecided units, in blocks.
    inside, outside : int
        Bits over units: the region's.
    const : float
        The part common to all models.
    table : ndarray of float, shape (n_blocks, n_subsets)
        Value of each subset of each block's units; infinite beyond a smaller block's.
    packed : ndarray of float, shape (u, width)
        Lam, of the undecided columns in the layout's order.
    limit : int
        The most undecided units in a model; negative when there is no limit.
    gap : float
        About how far the bound lies below the scores, in nats, on average over what it favors.
    split : ndarray of float
        What each undecided unit adds to that.
    error : float
        Bounds the rounding of `value` and of `log_weight`.
    origin : Origin
        Where it touches.
    """

    layout: Layout
    inside: int
    outside: int
    const: float
    table: Floats
    packed: Floats
    limit: int
    gap: float
    split: Floats
    error: float
    origin: "Origin"

    def tables(self, inside: int, outside: int) -> Floats:
        """Return each block's values (n_blocks, n_subsets), infinite for subsets that contradict the decisions."""
        need = self.layout.subsets(inside & ~self.inside)[:, None]
        never = self.layout.subsets(outside & ~self.outside)[:, None]
        if not (need.any() or never.any()):
            return self.table
        subsets = np.arange(self.table.shape[1])
        return np.where((subsets & need == need) & (subsets & never == 0), self.table, np.inf)

    def log_weight(self, tables: Floats) -> float:
        """Return the log of the sum of exp(-bound) over the models of the tables; minus infinity when there is none."""
        return float(_law().log_weight(tables, self.limit)) - self.const

    def draw(self, tables: Floats, uniforms: Floats) -> Integers | None:
        """Draw a subset of each block with probability proportional to exp(-bound); None when floats cannot decide.

        Shapes: tables (n_blocks, n_subsets), uniforms (n_blocks,); returns (n_blocks,).
        """
        picked = np.zeros(len(tables), dtype=np.int64)
        unclear = _law().draw(tables, self.limit, uniforms, picked)
        return picked if unclear < 0 else None

    def value(self, model: int) -> float:
        """Return the bound of one model, at most its score, up to rounding."""
        return math.fsum([self.const, *self.entries(model)])

    def entries(self, model: int) -> list[float]:
        """Return one model's entry of each table: with `const`, the bound is by definition their exact sum."""
        entries: list[float] = self.table[np.arange(len(self.table)), self.layout.subsets(model)].tolist()
        return entries


def _law() -> ModuleType:
    # Loading the compiler takes half a second: only a search pays for it.
    return importlib.import_module("discreet.kernels.search.separable_law_compiled")
