"""The best model under penalties, or of one size, by branch and bound on the perspective relaxation; certificates.

The bound of `best_subsets` is the largest model's, which explains what all columns together explain by chance. This one
pays for each column by the strength that is left of it beside the others, so that many columns without an effect are
ruled out together. Source: Frangioni and Gentile 2006, Perspective cuts for a class of convex 0-1 mixed integer
programs; Atamturk and Gomez 2020, Safe screening rules for l0-regression.
"""

import heapq
import importlib
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.kernels.subsets.best_subsets import DEPENDENT, project
from discreet.typing import Bools, Floats, Integers

SINGULAR = 1e-9
"""Smallest eigenvalue of the whitened Gram matrix for which there is a bound: below it rounding would count."""

STEPS = 8
"""Steps in which the strengths are made large: a few reach nearly all there is."""

STEP = 0.7
"""Share of the way to a singular rest in each step but the last."""

ROUNDING = 1e-10
"""Share of the whole by which sums that are added up in another order may differ: such models are ties."""

SHRUNK = 0.9
"""A problem with so many of its units left is not made anew: its strengths would be what they are."""

PREPARED, NODE = 30.0, 2e4
"""Work beyond what is counted: of a problem in cubes of its columns, of a node."""

ON_PATH = 48
"""Penalties at which all sizes are bounded."""


class Problem(NamedTuple):
    """Moments whose units have blocks that are identities.

    Parameters
    ----------
    gram : ndarray of float, shape (q, q)
        G, the columns of every model projected out.
    xty : ndarray of float, shape (q,)
        What a unit alone explains is the square of its part.
    starts : ndarray of int, shape (d + 1,)
        Where the units' columns start.
    strength : ndarray of float, shape (d,)
        D, one for each unit: G - D is positive semidefinite.
    yty : float
        What the columns of every model leave unexplained.
    """

    gram: Floats
    xty: Floats
    starts: Integers
    strength: Floats
    yty: float


class Found(NamedTuple):
    """The best model that a search found.

    Parameters
    ----------
    model : ndarray of bool, shape (d,)
        Its units.
    value : float
        Its criterion.
    bound : float
        No model has a smaller criterion, ties apart; the value itself where the search ended.
    work : float
        Multiplications, roughly.
    """

    model: Bools
    value: float
    bound: float
    work: float


def problem_of(gram: Floats, xty: Floats, yty: float, units: Bools, always: Bools) -> Problem | None:
    """Return the problem with its strengths; None where the columns are too nearly dependent for a bound.

    Cost: O(q^3), some twenty times. Shapes: gram (p, p), xty (p,), units (d, p), always (p,).
    """
    moments = project(np.block([[gram, xty[:, None]], [xty[None, :], np.array([[yty]])]]), always)
    gram, xty = moments[:-1, :-1], moments[:-1, -1]
    widths = units.sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    columns = [column for unit in units for column in np.flatnonzero(unit)]
    change = np.zeros((len(columns), len(columns)))
    for low, high in pairwise(starts):
        at = columns[low:high]
        # Columns times V / sqrt(values): the unit's block becomes the identity.
        values, vectors = np.linalg.eigh(gram[np.ix_(at, at)])
        if not values[0] > DEPENDENT * max(values[-1], 0.0):
            return None
        change[low:high, low:high] = vectors / np.sqrt(values)
    gram = change.T @ gram[np.ix_(columns, columns)] @ change
    gram = (gram + gram.T) / 2.0
    strength = _strengths(gram, starts)
    if strength is None:
        return None
    return Problem(np.ascontiguousarray(gram), change.T @ xty[columns], starts, strength, float(moments[-1, -1]))


def _strengths(gram: Floats, starts: Integers) -> Floats | None:
    """Return large numbers, one a unit, whose diagonal matrix may be taken off the Gram matrix; None where none may."""
    widths = np.diff(starts)
    strength = np.zeros(len(widths))
    for step in range(STEPS):
        rest = gram - np.diag(np.repeat(strength, widths))
        try:
            inverse = np.linalg.inv(rest)
        except np.linalg.LinAlgError:
            return None
        # What a unit alone could give is 1 over the largest eigenvalue of its block; the smallest eigenvalue of the
        # matrix in these units is the share that all can give together.
        if (widths == 1).all():
            single = 1.0 / np.diagonal(inverse)
        else:
            single = 1.0 / np.array([np.linalg.eigvalsh(inverse[a:b, a:b])[-1] for a, b in pairwise(starts)])
        if not (single > SINGULAR).all():
            break
        scale = 1.0 / np.sqrt(np.repeat(single, widths))
        smallest = float(np.linalg.eigvalsh(rest * scale[:, None] * scale[None, :])[0])
        strength = strength + (STEP if step < STEPS - 1 else 1.0 - 1e-9) * max(smallest, 0.0) * single
    # Rounding: what is left must be positive semidefinite for certain.
    smallest = float(np.linalg.eigvalsh(gram - np.diag(np.repeat(strength, widths)))[0])
    strength -= max(1e-12 * len(gram) - smallest, 0.0)
    return np.minimum(strength, 1.0 - 1e-9) if (strength > SINGULAR).all() else None


def bounds_of_sizes(moments: tuple[Floats, Floats, float], units: Bools, always: Bools, max_size: int) -> Floats:
    """Return by size, from 1 on, what no model leaves less of: the best of the bounds along a path of penalties.

    Shapes: units (d, p), always (p,).
    """
    problem = problem_of(*moments, units, always)
    least = np.zeros(max_size + 1)
    if problem is None:
        return least[1:]
    d = len(units)
    space, b = _space(problem), np.zeros(len(problem.xty))
    alone = np.add.reduceat(problem.xty**2, problem.starts[:-1])
    # At u = 0 a unit adds penalty - |xty_g|^2 / strength_g to the bound: beyond this penalty none is gained.
    largest = max(float((alone / problem.strength).max()), 1e-12)
    for penalty in largest * 10.0 ** -np.linspace(0.0, 6.0, ON_PATH):
        penalties, state = np.full(d, penalty), np.zeros(d, np.int64)
        bound, _, _ = _compiled().visit(problem, penalties, np.zeros(d), (0, d), np.inf, state, b, space)
        # Without costs a unit adds minus what it explains at most: a size has the units that explain most.
        gains = np.concatenate([[0.0], np.cumsum(np.sort(space[1]))])
        least = np.maximum(least, bound - gains[-1] + gains[: max_size + 1])
    return np.maximum(least[1:] - ROUNDING * problem.yty, 0.0)


def best_model(
    moments: tuple[Floats, Floats, float],
    units: Bools,
    always: Bools,
    penalties: Floats,
    max_size: int,
    start: tuple[Bools, float],
    most_work: float,
) -> Found:
    """Return the model of least residual sum of squares plus penalties, from a good one on; a function of these alone.

    Best first: the node with the least bound is next, and what is left when the work ends is the certificate.
    Shapes: units (d, p), always (p,), penalties (d,).
    """
    left, forced, work = np.arange(len(units)), always.copy(), 0.0
    chosen, value = start
    inside: list[int] = []
    while True:  # each round leaves fewer units
        problem = problem_of(*moments, units[left], forced) if len(left) else None
        if problem is None:
            exact = not len(left)
            return Found(chosen, value, value if exact else -np.inf, work)
        offset = float(penalties[inside].sum())
        search = _Tree(problem, penalties[left], max_size - len(inside), value - offset)
        search.run(1.0)
        work += search.work + PREPARED * float(len(problem.xty)) ** 3
        if search.model is not None:
            chosen, value = np.isin(np.arange(len(units)), [*inside, *left[search.model]]), search.value + offset
        state = search.root
        if not search.open or (state == 0).sum() > SHRUNK * len(left) or (state == 0).all():
            break
        inside += left[state == 1].tolist()
        forced = forced | units[left[state == 1]].any(axis=0)
        left = left[state == 0]
    search.run(most_work - work)
    if search.model is not None:
        chosen, value = np.isin(np.arange(len(units)), [*inside, *left[search.model]]), search.value + offset
    return Found(chosen, value, min(search.bound + offset, value), work + search.work)


class _Tree:
    """Branch and bound on one problem: nodes by their bound, units decided by what they would cost."""

    def __init__(self, problem: Problem, penalties: Floats, max_size: int, value: float) -> None:
        self.problem, self.penalties, self.sizes = problem, penalties, (0, max_size)
        self.value, self.tie = value, ROUNDING * problem.yty
        self.model: Bools | None = None
        self.space, self.work, self.seen = _space(problem), 0.0, set[bytes]()
        self.open: list[tuple[float, int, npt.NDArray[np.int64], Floats, int]] = []
        self.number = 0
        self.root = np.zeros(len(penalties), np.int64)
        self._visit(self.root, np.zeros(len(problem.xty)))

    @property
    def bound(self) -> float:
        """What no model is below."""
        return min(self.open[0][0] - self.tie, self.value) if self.open else self.value

    def run(self, most_work: float) -> None:
        """Visit nodes until none is left, or the work is done."""
        while self.open and self.work < most_work:
            bound, _, state, b, unit = heapq.heappop(self.open)
            if bound >= self.value - self.tie:
                self.open.clear()  # nor is any other node below
                return
            for decided in (1, 2):
                child = state.copy()
                child[unit] = decided
                self._visit(child, b.copy())

    def _visit(self, state: npt.NDArray[np.int64], b: Floats) -> None:
        visit = _compiled().visit
        cutoff = self.value - self.tie
        bound, unit, work = visit(
            self.problem, self.penalties, self.penalties, self.sizes, cutoff, state, b, self.space
        )
        self.work += work + NODE
        if bound >= cutoff:
            return
        self._offer(self.space[4])
        if unit >= 0:
            self.number += 1
            heapq.heappush(self.open, (bound, self.number, state, b, unit))

    def _offer(self, model: Bools) -> None:
        if model.tobytes() in self.seen:
            return
        self.seen.add(model.tobytes())
        at = np.flatnonzero(np.repeat(model, np.diff(self.problem.starts)))
        side = self.problem.xty[at]
        gain = float(side @ np.linalg.solve(self.problem.gram[np.ix_(at, at)], side)) if len(at) else 0.0
        value = self.problem.yty - gain + float(self.penalties[model].sum())
        self.work += float(len(at)) ** 3
        if value < self.value - self.tie:
            self.model, self.value = model.copy(), value


def _space(problem: Problem) -> tuple[Floats, Floats, npt.NDArray[np.int64], Floats, Bools]:
    d = len(problem.strength)
    return np.zeros(len(problem.xty)), np.zeros(d), np.zeros(d, np.int64), np.zeros(d), np.zeros(d, np.bool_)


def _compiled() -> Any:
    """Loading the compiler takes half a second: whoever imports this module does not pay for it."""
    return importlib.import_module("discreet.kernels.subsets.perspective_compiled")
