"""The choice of a splitting bound: the one of least total weight that a few steps find.

The log of the sum of exp(-bound) over a region decides how long a search takes: it is convex in (Lam, (S - Lam) a, v).
For fixed Lam, Newton's method finds a, v and the multiplier together; its step is least squares on the l1 ball. Then
one sweep over the blocks moves Lam, each block to where it serves best beside the others.
"""

import dataclasses
import importlib
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
import numpy.typing as npt

from discreet.kernels.separable import ROUNDING, Bound, Layout, Origin, SearchProblem

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

WIDTH = 8
"""Most units of a block: 2^8 subsets a table."""

SIMILAR = 0.12
"""Columns less correlated than this need not share a block."""

ENOUGH = 3.0
"""A bound this many nats below the scores on average is left as it is."""


def fit(problem: SearchProblem, inside: int = 0, outside: int = 0, parent: Bound | None = None) -> Bound:
    """Return a good splitting bound of a region.

    Parameters
    ----------
    problem : SearchProblem
        The scores.
    inside, outside : int
        Bits over units: those in every model of the region, and those in none. At least one unit is undecided.
    parent : Bound, optional
        A bound of a region that holds this one, to start from.

    Returns
    -------
    Bound
        Valid for each model of the region.

    Notes
    -----
    Cost: a few systems and inverses of the undecided columns, and 2^8 small steps for each block and evaluation.
    """
    known = _plain(problem, inside, outside) if parent is None else parent
    enough = known.log_weight(known.tables(inside, outside)) + 0.1
    for start, stiffness in ((parent, 1.0), (None, 1.0), (None, 1e3), (None, 1e6)):
        try:
            with np.errstate(all="ignore"):
                found = _Fit(dataclasses.replace(problem, stiffness=stiffness), inside, outside, start).run()
        except np.linalg.LinAlgError:
            continue
        # Rounding can lead astray where there are fewer rows than columns.
        finite = np.isfinite(found.const) and np.isfinite(found.field).all()
        if finite and found.log_weight(found.tables(inside, outside)) <= enough:
            return found
    return _plain(problem, inside, outside)


def _plain(problem: SearchProblem, inside: int, outside: int) -> Bound:
    """The bound that counts no more than the largest model's least squares: it always exists."""
    units = [j for j in range(len(problem.cost)) if not (inside | outside) >> j & 1]
    layout = Layout.of([units[i : i + WIDTH] for i in range(0, len(units), WIDTH)], problem.columns)
    play = np.ones(len(problem.xty), dtype=np.bool_)
    for j, columns in enumerate(problem.columns):
        play[columns] = not outside >> j & 1
    walk = importlib.import_module("discreet.kernels.l1_ball_compiled")
    value, gap, _ = walk.walk(
        problem.gram, problem.xty, problem.radius, problem.rounding, play, *walk.walk_space(len(problem.xty))
    )
    # In the ball |c'b| <= R max |c|.
    largest = problem.radius * float(np.abs(problem.xty[play]).max(initial=0.0))
    least = max(float(value - gap), -2.0 * largest)
    error = ROUNDING * (abs(problem.yty) + abs(least) + largest + float(problem.cost.sum()) + 64.0)
    decided = float(problem.cost[[j for j in range(len(problem.cost)) if inside >> j & 1]].sum())
    const = problem.yty + least + decided - 8.0 * problem.rounding * problem.radius**2 - 2.0 * error
    packed = np.zeros((int(layout.starts[-1]), layout.width))
    for low, high in layout.spans():
        packed[np.arange(low, high), np.arange(high - low)] = 1.0
    left = problem.limit - inside.bit_count()
    split = np.array([problem.gram[problem.columns[j][0], problem.columns[j][0]] for j in layout.units])
    nothing = np.zeros(len(problem.xty))
    return Bound(
        layout, inside, outside, const, np.zeros(len(packed)), packed, problem.cost[list(layout.units)],
        left if left < len(units) else -1, np.inf, split, error, Origin(nothing, nothing, 0.0, nothing),
    )  # fmt: skip


_NOTHING = np.empty(0)


class _Fit:
    """One region's bound while it is being chosen."""

    def __init__(self, problem: SearchProblem, inside: int, outside: int, parent: Bound | None) -> None:
        self.problem, self.inside, self.outside, self.parent = problem, inside, outside, parent
        units = [j for j in range(len(problem.cost)) if inside >> j & 1]
        self.decided_cost = float(problem.cost[units].sum())
        self.included = np.concatenate([problem.always, *(problem.columns[j] for j in units)]).astype(np.int64)
        groups = _groups(problem, self.included, inside, outside, parent)
        self.layout = Layout.of(groups, problem.columns)
        self.free = np.concatenate([problem.columns[j] for j in self.layout.units]).astype(np.int64)
        self.play = np.zeros(len(problem.xty), dtype=np.bool_)
        self.play[self.included] = self.play[self.free] = True
        self.cost = problem.cost[list(self.layout.units)]
        left = problem.limit - len(units)
        self.limit = left if left < len(self.layout.units) else -1
        self._place_entries()
        self._eliminate()
        shape = (len(self.layout.groups), self.layout.n_subsets)
        self.tables, self.probability = np.empty(shape), np.empty(shape)
        self.mean = np.zeros(len(self.free))
        self.covariance = np.zeros((len(self.free), self.layout.width))
        self.slope = np.zeros_like(self.covariance)
        self.spread = np.zeros(len(self.free))

    def _place_entries(self) -> None:
        """Where the entries of a block diagonal matrix stand, dense and packed, and its diagonal, packed."""
        low, high = np.array(self.layout.spans(), dtype=np.int64).T
        first, width = np.repeat(low, high - low), np.repeat(high - low, high - low)
        column = np.arange(len(first))
        rows = np.repeat(column, width)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(width) - width, width)
        self.entries = rows, first[rows] + places, places
        self.diagonal = column, column - first

    def _eliminate(self) -> None:
        """Minimize over the included columns: what is left is a quadratic form in the undecided ones."""
        gram = self.problem.gram_ridged
        self.slack = self.problem.rounding * np.eye(len(self.free))
        self.form = gram[np.ix_(self.free, self.free)]
        if self.included.size:
            self.factor = np.linalg.cholesky(gram[np.ix_(self.included, self.included)])
            self.half = np.linalg.solve(self.factor, gram[np.ix_(self.included, self.free)])
            self.form -= self.half.T @ self.half

    def run(self) -> Bound:
        """Return the best of a few turns of Newton's method and sweeps over Lam."""
        mu = 0.1 if self.parent is None else 0.001
        packed = self._start()
        best = self._minimize(packed, self._first_state())
        for _ in range(5):
            if self.gap < ENOUGH or len(self.layout.groups) == 1:
                break
            packed = self._improve(packed, mu)
            state = self._minimize(packed, best)
            gain, mu = best.log_weight - state.log_weight, 0.6 * mu
            if not gain > 0.0:
                self._return_to(best)
                break
            best = state
            if gain < 0.1:
                break
        return self._bound(best)

    # ---- Lam

    def _start(self) -> Floats:
        if len(self.layout.groups) == 1:
            return self.form.copy()
        if self.parent is not None:
            return self._below(_restricted(self.parent, self.layout, self.inside))
        # Gershgorin on the inverse: S^-1 is at most the diagonal of its absolute row sums.
        packed = np.zeros((len(self.free), self.layout.width))
        packed[self.diagonal] = 0.9 / np.abs(np.linalg.inv(self.form)).sum(axis=1)
        return self._improve(packed, 0.5, first_time=True)

    def _improve(self, packed: Floats, mu: float, first_time: bool = False) -> Floats:
        """One sweep over the blocks."""
        spare = self.form - self._dense(packed) + 2.0 * self.slack
        layout = self.layout
        return self._below(
            _balancing().balance(
                np.linalg.inv(spare), packed, self.covariance, layout.starts, layout.blocks, mu, first_time
            )
        )

    def _below(self, packed: Floats) -> Floats:
        """Shrink Lam until it is certainly at most S, up to a ridge that the margin counts."""
        step = 1e-9
        while True:
            try:
                np.linalg.cholesky(self.form - self._dense(packed) + 3.0 * self.slack)
            except np.linalg.LinAlgError:
                packed, step = (1.0 - step) * packed, min(4.0 * step, 0.5)
            else:
                return packed

    def _dense(self, packed: Floats) -> Floats:
        out = np.zeros_like(self.form)
        rows, columns, places = self.entries
        out[rows, columns] = packed[rows, places]
        return out

    # ---- the point and the dual of the l1 bound

    def _first_state(self) -> "_State":
        """The parent's state, or the one around the largest model."""
        if self.parent is not None:
            origin = self.parent.origin
            self.signs, self.inactive = origin.signs * self.play, origin.multiplier == 0.0
            return _State(origin.point[self.free], origin.dual * self.play, origin.multiplier)
        self.signs, self.inactive = np.zeros(len(self.problem.xty)), True
        point, dual, multiplier = self._ball(self.problem.gram_ridged, self.problem.xty, self.signs)
        return _State(point[self.free], dual, multiplier)

    def _ball(self, form: Floats, linear: Floats, signs: Floats) -> tuple[Floats, Floats, float]:
        """Minimizer of x'Hx - 2 h'x over the columns in play and the ball, its dual and the multiplier of the bound.

        `signs` are those to start from, and are left as those of the minimizer.
        """
        if not signs.any() or self.inactive:
            at = np.flatnonzero(self.play)
            x = np.zeros(len(linear))
            x[at] = np.linalg.solve(form[np.ix_(at, at)], linear[at])
            self.inactive = bool(np.abs(x).sum() <= self.problem.radius)
            if self.inactive:
                return x, np.zeros(len(linear)), 0.0
        compiled = importlib.import_module("discreet.kernels.l1_ball_compiled")
        space = compiled.walk_space(len(linear))
        for ridge in (0.0, self.problem.ridge, 1e3 * self.problem.ridge):
            walked = signs.copy()
            gap = compiled.walk(form, linear, self.problem.radius, ridge, self.play, walked, *space[1:])[1]
            if np.isfinite(gap):
                break
        else:
            # Not regular to rounding. Any point serves, and the origin is one.
            return np.zeros(len(linear)), np.zeros(len(linear)), 0.0
        signs[:] = walked
        x, residual = space[-2], space[-1]
        self.inactive = float(np.abs(x).sum()) < self.problem.radius * (1.0 - 1e-9)
        if self.inactive:
            return x, np.zeros(len(linear)), 0.0
        multiplier = float(np.max(np.abs(residual), where=signs != 0.0, initial=0.0))
        return x, np.where(self.play, np.clip(residual, -multiplier, multiplier), 0.0), multiplier

    def _minimize(self, packed: Floats, start: "_State") -> "_State":
        """Newton's method for the point, the dual and the multiplier together: a convex function of them."""
        self.rest = self.form - self._dense(packed)
        state = self._evaluated(packed, start)
        for _ in range(8):
            self._moments(state)
            step = self._step(state)
            length, before = 1.0, state
            while length > 1e-3:
                state = self._evaluated(packed, before.moved(step, length))
                if -np.inf < state.log_weight < before.log_weight:
                    break
                length *= 0.4
            if not before.log_weight - state.log_weight > 0.2:
                # Evaluated anew, for its tables and probabilities.
                state = self._evaluated(packed, state if -np.inf < state.log_weight < before.log_weight else before)
                break
        self._moments(state)
        return state

    def _step(self, state: "_State") -> "_State":
        """To the fixed point of the mean coefficients, were they linear in the field."""
        slope = self._inverse_slope(state.packed)
        rows, columns, places = self.entries
        form, linear = self.problem.gram_ridged.copy(), self.problem.xty.copy()
        form[self.free[rows], self.free[columns]] += slope[rows, places] - state.packed[rows, places]
        there = np.bincount(rows, slope[rows, places] * self.mean[columns], len(self.mean))
        linear[self.free] += there - state.pull
        x, dual, multiplier = self._ball(form, linear, self.signs)
        return _State(x[self.free] - state.point, dual - state.dual, multiplier - state.multiplier)

    def _inverse_slope(self, packed: Floats) -> Floats:
        """Inverse of dE[b]/dg, kept away from singular where a unit is almost surely out."""
        slope = self.slope.copy()
        least = 1e-5 / np.maximum(packed[self.diagonal], self.problem.rounding)
        slope[self.diagonal] = (1.0 + 1e-9) * np.abs(slope[self.diagonal]) + least
        _balancing().invert_blocks(slope, self.layout.starts, self.layout.blocks)
        return slope

    def _evaluated(self, packed: Floats, state: "_State") -> "_State":
        """The bound at a state: its constant, its field, and the log of its total weight."""
        problem, layout, compiled = self.problem, self.layout, _compiled()
        left = problem.xty - state.dual
        linear, value, reach = left[self.free], 0.0, float(np.abs(state.point).sum())
        if self.included.size:
            solved = np.linalg.solve(self.factor, left[self.included])
            linear, value = linear - self.half.T @ solved, float(solved @ solved)
            reach += float(np.abs(np.linalg.solve(self.factor.T, solved - self.half @ state.point)).sum())
        shifted = self.rest @ state.point
        value += float(state.point @ shifted) + 2.0 * state.multiplier * problem.radius
        const, pull = problem.yty + self.decided_cost - value, linear - shifted
        none = np.zeros(len(layout.groups), dtype=np.int64)
        compiled.fill_tables(packed, pull, self.cost, layout.starts, layout.blocks, none, none, self.tables)
        log_weight = float(compiled.probabilities(self.tables, self.limit, self.probability)) - const
        return _State(state.point, state.dual, state.multiplier, packed, pull, const, reach, log_weight)

    def _moments(self, state: "_State") -> None:
        """Moments of the coefficients under the bound last evaluated, and how far it lies below the scores."""
        _compiled().block_moments(
            state.packed, state.pull, self.layout.starts, self.layout.blocks, self.probability,
            self.mean, self.covariance, self.slope, self.rest.diagonal(), state.point, self.spread,
        )  # fmt: skip
        self.gap = float(self.spread.sum())

    def _bound(self, state: "_State") -> Bound:
        """The bound at the state, with a margin for rounding."""
        problem = self.problem
        error = ROUNDING * (abs(problem.yty) + abs(state.const) + float(np.abs(self.tables.min(axis=1)).sum()) + 64.0)
        margin = 8.0 * problem.rounding * (problem.radius + state.reach) ** 2 + problem.ridge * problem.radius**2
        const = state.const - margin - 2.0 * error
        point = np.zeros(len(problem.xty))
        point[self.free] = state.point
        return Bound(
            self.layout, self.inside, self.outside, const, state.pull, state.packed, self.cost,
            self.limit, self.gap, np.add.reduceat(self.spread, self.layout.starts[:-1]), error,
            Origin(point, state.dual, state.multiplier, self.signs),
        )  # fmt: skip

    def _return_to(self, state: "_State") -> None:
        """Bring tables and moments back to a state."""
        self.rest = self.form - self._dense(state.packed)
        self._evaluated(state.packed, state)
        self._moments(state)


@dataclass(frozen=True)
class _State:
    """A point, a dual point v with |v_i| <= multiplier, and the bound there once it is evaluated."""

    point: Floats
    dual: Floats
    multiplier: float
    packed: Floats = field(default_factory=lambda: _NOTHING)
    pull: Floats = field(default_factory=lambda: _NOTHING)
    const: float = 0.0
    reach: float = 0.0
    log_weight: float = np.inf

    def moved(self, step: "_State", length: float) -> "_State":
        return _State(
            self.point + length * step.point,
            self.dual + length * step.dual,
            self.multiplier + length * step.multiplier,
        )


def _groups(
    problem: SearchProblem, included: Integers, inside: int, outside: int, parent: Bound | None
) -> list[list[int]]:
    """Units that share a block: similar ones at first; later, what is left of the parent's blocks, the small joined."""
    decided = inside | outside
    if parent is not None:
        left = sorted(([u for u in group if not decided >> u & 1] for group in parent.layout.groups), key=len)
        left = [group for group in left if group]
        joined = []
        while left:
            group = left.pop()
            while left and len(group) + len(left[0]) <= WIDTH:
                group = group + left.pop(0)
            joined.append(group)
        return joined
    units = [j for j in range(len(problem.cost)) if not decided >> j & 1]
    free = np.concatenate([problem.columns[j] for j in units])
    form = problem.gram_ridged[np.ix_(free, free)]
    if included.size:
        inner = np.linalg.cholesky(problem.gram_ridged[np.ix_(included, included)])
        half = np.linalg.solve(inner, problem.gram_ridged[np.ix_(included, free)])
        form = form - half.T @ half
    size = np.sqrt(np.maximum(form.diagonal(), problem.rounding))
    similar = np.abs(form) / np.outer(size, size)
    edges = np.cumsum([0, *(len(problem.columns[j]) for j in units)])[:-1]
    if len(units) < len(free):
        similar = np.maximum.reduceat(np.maximum.reduceat(similar, edges, axis=0), edges, axis=1)
    pairs = np.flatnonzero(np.triu(similar, 1).ravel() > SIMILAR)
    order = pairs[np.argsort(-similar.ravel()[pairs], kind="stable")]
    of = _balancing().group(similar, order, WIDTH)
    groups: dict[int, list[int]] = {}
    for unit, name in zip(units, of.tolist(), strict=True):
        groups.setdefault(name, []).append(unit)
    return list(groups.values())


def _restricted(parent: Bound, layout: Layout, inside: int) -> Floats:
    """The parent's Lam on fewer units: rows of those left out deleted, those now included minimized over."""
    packed = np.zeros((int(layout.starts[-1]), layout.width))
    starts_of_block = layout.starts[layout.blocks]
    for group, (low, high) in zip(parent.layout.groups, parent.layout.spans(), strict=True):
        block = parent.packed[low:high, : high - low]
        at = {u: np.arange(parent.layout.starts[p], parent.layout.starts[p + 1]) - low
              for u in group for p in (parent.layout.place[u],)}  # fmt: skip
        names = [u for u in group if u in layout.place]
        if not names:
            continue
        kept = np.concatenate([at[u] for u in names])
        form = block[np.ix_(kept, kept)]
        gone = [at[u] for u in group if inside >> u & 1]
        if gone:
            out = np.concatenate(gone)
            form = form - block[np.ix_(kept, out)] @ np.linalg.solve(block[np.ix_(out, out)], block[np.ix_(out, kept)])
        places = [layout.place[u] for u in names]
        rows = np.concatenate([np.arange(layout.starts[p], layout.starts[p + 1]) for p in places])
        home = int(np.searchsorted(layout.blocks, places[0], side="right")) - 1
        packed[np.ix_(rows, rows - starts_of_block[home])] = form
    return packed


def _compiled() -> ModuleType:
    # Loading the compiler takes half a second: nobody pays for it who does not search.
    return importlib.import_module("discreet.kernels.separable_compiled")


def _balancing() -> ModuleType:
    return importlib.import_module("discreet.kernels.separable_balance")
