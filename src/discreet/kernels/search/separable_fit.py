"""The choice of a splitting bound with little total weight, by a few steps.

The log of the sum of exp(-bound) over a region decides how long a search takes: it is convex in (Lam, (S - Lam) a, v).
For fixed Lam, Newton's method finds a, v and the multiplier together; its step is least squares on the l1 ball. Then
one sweep over the blocks moves Lam, each block to its best place given the others.
"""

import dataclasses
import importlib
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np

from discreet.kernels.search.separable import ROUNDING, Bound, Layout, Origin, SearchProblem
from discreet.kernels.search.separable_blocks import balancing, remaining_units, restricted, similar_units
from discreet.kernels.search.separable_plain import plain_bound
from discreet.typing import Floats

CLOSE = 1.0
"""A bound this many nats below the scores on average is not improved at all."""

MOST_CUTS = 64
"""Reductions of Lam, the last fifty by halves; after them it is zero."""

ENOUGH = 3.0
"""A bound this many nats below the scores on average is left as it is."""


def fit(problem: SearchProblem, inside: int = 0, outside: int = 0, parent: Bound | None = None) -> Bound:
    """Return a good splitting bound of a region, valid for each of its models.

    Cost: a few systems and inverses of the undecided columns, and 2^8 small steps for each block and evaluation.
    """
    enough = _enough(problem, inside, outside, parent)
    for start, stiffness in ((parent, 1.0), (None, 1.0), (None, 1e3), (None, 1e6)):
        stiff = problem if stiffness == problem.stiffness else dataclasses.replace(problem, stiffness=stiffness)
        try:
            with np.errstate(all="ignore"):
                bound = _Fit(stiff, inside, outside, start).run()
        except np.linalg.LinAlgError:
            continue
        # Where there are fewer rows than columns rounding can spoil a bound.
        finite = np.isfinite(bound.const) and (bound.table > -np.inf).all()
        if finite and bound.log_weight(bound.tables(inside, outside)) <= enough:
            return bound
    return plain_bound(problem, inside, outside)


def _enough(problem: SearchProblem, inside: int, outside: int, parent: Bound | None) -> float:
    """Return a log weight that a bound stays below unless rounding has spoiled it."""
    if parent is None and problem.start is not None and not inside | outside:
        # That of the plain bound, without the work of certifying it.
        value = problem.yty + float(problem.start @ (problem.gram @ problem.start - 2.0 * problem.xty))
        return float(np.log1p(np.exp(-problem.cost)).sum()) - value + 0.1
    reference = plain_bound(problem, inside, outside) if parent is None else parent
    return reference.log_weight(reference.tables(inside, outside)) + 0.1


_NOTHING = np.empty(0)


class _Fit:
    """One region's bound while it is fitted."""

    def __init__(self, problem: SearchProblem, inside: int, outside: int, parent: Bound | None) -> None:
        self.problem, self.inside, self.outside, self.parent = problem, inside, outside, parent
        units = [j for j in range(len(problem.cost)) if inside >> j & 1]
        self.decided_cost = float(problem.cost[units].sum())
        self.included = np.concatenate([problem.always, *(problem.columns[j] for j in units)]).astype(np.int64)
        self._eliminate([j for j in range(len(problem.cost)) if not (inside | outside) >> j & 1])
        self.play = np.zeros(len(problem.xty), dtype=np.bool_)
        self.play[self.included] = self.play[self.free] = True
        self.cost = problem.cost[list(self.layout.units)]
        remaining = problem.limit - len(units)
        self.limit = remaining if remaining < len(self.layout.units) else -1
        self._place_entries()
        shape = (len(self.layout.groups), self.layout.n_subsets)
        self.tables, self.probability = np.empty(shape), np.empty(shape)
        self.mean = np.zeros(len(self.free))
        self.covariance = np.zeros((len(self.free), self.layout.width))
        self.slope = np.zeros_like(self.covariance)
        self.spread = np.zeros(len(self.free))

    def _place_entries(self) -> None:
        """Compute where the entries of a block diagonal matrix stand, dense and packed, and its diagonal, packed."""
        low, high = np.array(self.layout.spans(), dtype=np.int64).T
        first, width = np.repeat(low, high - low), np.repeat(high - low, high - low)
        column = np.arange(len(first))
        rows = np.repeat(column, width)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(width) - width, width)
        self.entries = rows, first[rows] + places, places
        self.diagonal = column, column - first

    def _eliminate(self, units: list[int]) -> None:
        """Minimize over the included columns, which leaves a quadratic form in the others, and put these in blocks."""
        gram, problem = self.problem.gram_ridged, self.problem
        free = np.concatenate([problem.columns[j] for j in units])
        # Nothing is copied where all columns are free and in order; what follows reads only.
        in_order = np.array_equal(free, np.arange(len(gram)))
        form = gram if in_order else gram[np.ix_(free, free)]
        half = np.empty((len(self.included), len(free)))
        if self.included.size:
            self.factor = np.linalg.cholesky(gram[np.ix_(self.included, self.included)])
            half = np.linalg.solve(self.factor, gram[np.ix_(self.included, free)])
            # The Schur complement S = G_ff - G_fi G_ii^-1 G_if: minimizing over the included columns leaves b' S b - 2
            # (...)' b.
            form = form - half.T @ half
        if self.parent is None:
            groups = similar_units(problem, form, units)
        else:
            groups = remaining_units(self.parent, self.inside | self.outside)
        self.layout = Layout.of(groups, problem.columns)
        self.free = np.concatenate([problem.columns[j] for j in self.layout.units]).astype(np.int64)
        place = np.empty(len(problem.xty), dtype=np.int64)
        place[free] = np.arange(len(free))
        order = place[self.free]
        self.form, self.half = form[np.ix_(order, order)], half[:, order]

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
            return self._below(restricted(self.parent, self.layout, self.inside))
        # Gershgorin on the inverse: S^-1 is at most the diagonal of its absolute row sums.
        packed = np.zeros((len(self.free), self.layout.width))
        # So S is at least the inverse of that diagonal; a factor of .95 leaves S - Lam regular, for `balance` inverts
        # it.
        packed[self.diagonal] = 0.95 / np.abs(_inverse(self.form)).sum(axis=1)
        if self.layout.n_subsets <= 4:
            # Columns are hardly correlated: this may do.
            return self._below(packed)
        return self._improve(packed, 0.5, first_time=True)

    def _improve(self, packed: Floats, mu: float, first_time: bool = False) -> Floats:
        """Make one sweep over the blocks."""
        slack = self.form - self._dense(packed)
        slack.flat[:: len(slack) + 1] += 2.0 * self.problem.rounding
        layout = self.layout
        return self._below(
            balancing().balance(_inverse(slack), packed, self.covariance, layout.starts, layout.blocks, mu, first_time)
        )

    def _below(self, packed: Floats) -> Floats:
        """Shrink Lam until it is certainly at most S, up to a ridge that the margin counts."""
        step = 1e-9
        for _ in range(MOST_CUTS):
            try:
                slack = self.form - self._dense(packed)
                slack.flat[:: len(slack) + 1] += 3.0 * self.problem.rounding
                np.linalg.cholesky(slack)
            except np.linalg.LinAlgError:
                packed, step = (1.0 - step) * packed, min(4.0 * step, 0.5)
            else:
                return packed
        return np.zeros_like(packed)  # a bound, too, if not a good one

    def _dense(self, packed: Floats) -> Floats:
        out = np.zeros_like(self.form)
        rows, columns, places = self.entries
        out[rows, columns] = packed[rows, places]
        return out

    # ---- the point and the dual of the l1 bound

    def _first_state(self) -> "_State":
        """Return the parent's state, or the one around the largest model."""
        if self.parent is not None:
            origin = self.parent.origin
            self.signs, self.inactive = origin.signs * self.play, origin.multiplier == 0.0
            return _State(origin.point[self.free], origin.dual * self.play, origin.multiplier)
        form, linear, start = self.problem.gram_ridged, self.problem.xty, self.problem.start
        if start is None or not self.play.all():
            self.signs, self.inactive = np.zeros(len(linear)), True
            point, dual, multiplier = self._ball(form, linear, self.signs)
        else:
            point, self.signs = start, np.sign(start)
            dual, multiplier = self._dual(point, linear - form @ point, self.signs)
        return _State(point[self.free], dual, multiplier)

    def _ball(self, form: Floats, linear: Floats, signs: Floats) -> tuple[Floats, Floats, float]:
        """Return the minimizer of x'Hx - 2 h'x over the columns in play and the ball, its dual, and its multiplier.

        `signs` are those to start from, and become those of the minimizer.
        """
        if not signs.any() or self.inactive:
            at = np.flatnonzero(self.play)
            x = np.zeros(len(linear))
            x[at] = np.linalg.solve(form[np.ix_(at, at)], linear[at])
            self.inactive = bool(np.abs(x).sum() <= self.problem.radius)
            if self.inactive:
                return x, np.zeros(len(linear)), 0.0
        compiled = importlib.import_module("discreet.kernels.subsets.l1_ball_compiled")
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
        return x, *self._dual(x, residual, signs)

    def _dual(self, x: Floats, residual: Floats, signs: Floats) -> tuple[Floats, float]:
        """Return the dual point and the multiplier that belong to a minimizer."""
        self.inactive = float(np.abs(x).sum()) < self.problem.radius * (1.0 - 1e-9)
        if self.inactive:
            return np.zeros(len(x)), 0.0
        multiplier = float(np.max(np.abs(residual), where=signs != 0.0, initial=0.0))
        return np.where(self.play, np.clip(residual, -multiplier, multiplier), 0.0), multiplier

    def _minimize(self, packed: Floats, start: "_State") -> "_State":
        """Find the point, the dual and the multiplier together by Newton's method: the log weight is convex in them."""
        self.rest = self.form - self._dense(packed)
        state = self._evaluated(packed, start)
        for _ in range(8):
            self._moments(state)
            if self.parent is None and self.gap < CLOSE:
                return state
            step = self._step(state)
            length, before = 1.0, state
            while length > 1e-3:
                state = self._evaluated(packed, before.moved(step, length))
                if -np.inf < state.log_weight < before.log_weight:
                    break
                length *= 0.4
            else:
                # The moments are still those of the state before.
                return self._evaluated(packed, before)
            if not before.log_weight - state.log_weight > 0.2:
                break
        self._moments(state)
        return state

    def _step(self, state: "_State") -> "_State":
        """Return the step to the fixed point of the mean coefficients, were they linear in the field."""
        slope = self._inverse_slope(state.packed)
        rows, columns, places = self.entries
        form, linear = self.problem.gram_ridged.copy(), self.problem.xty.copy()
        form[self.free[rows], self.free[columns]] += slope[rows, places] - state.packed[rows, places]
        field_at_mean = np.bincount(rows, slope[rows, places] * self.mean[columns], len(self.mean))
        linear[self.free] += field_at_mean - state.pull
        x, dual, multiplier = self._ball(form, linear, self.signs)
        return _State(x[self.free] - state.point, dual - state.dual, multiplier - state.multiplier)

    def _inverse_slope(self, packed: Floats) -> Floats:
        """Return the inverse of dE[b]/dg, kept away from singular where a unit is almost surely out."""
        slope = self.slope.copy()
        least = 1e-5 / np.maximum(packed[self.diagonal], self.problem.rounding)
        slope[self.diagonal] = (1.0 + 1e-9) * np.abs(slope[self.diagonal]) + least
        balancing().invert_blocks(slope, self.layout.starts, self.layout.blocks)
        return slope

    def _evaluated(self, packed: Floats, state: "_State") -> "_State":
        """Return the bound at a state: its constant, its field, and the log of its total weight."""
        problem, layout = self.problem, self.layout
        shifted_xty = problem.xty - state.dual
        # From b'(S - Lam)b >= 2 b'(S - Lam)a - a'(S - Lam)a: const = y'y + the cost of what is included - |L^-1 (X'y -
        # v)_i|^2 - a'(S - Lam)a - 2 nu R, L the factor of the included columns; each table is of the blocks' b'Lam b -
        # 2 g'b, with the field g = (X'y - v) after elimination - (S - Lam)a.
        linear, value, reach = shifted_xty[self.free], 0.0, float(np.abs(state.point).sum())
        if self.included.size:
            solved = np.linalg.solve(self.factor, shifted_xty[self.included])
            linear, value = linear - self.half.T @ solved, float(solved @ solved)
            reach += float(np.abs(np.linalg.solve(self.factor.T, solved - self.half @ state.point)).sum())
        shifted = self.rest @ state.point
        value += float(state.point @ shifted) + 2.0 * state.multiplier * problem.radius
        const, pull = problem.yty + self.decided_cost - value, linear - shifted
        _compiled().fill_tables(packed, pull, self.cost, layout.starts, layout.blocks, self.tables)
        log_weight = float(_law().probabilities(self.tables, self.limit, self.probability)) - const
        return _State(state.point, state.dual, state.multiplier, packed, pull, const, reach, log_weight)

    def _moments(self, state: "_State") -> None:
        """Compute moments of the coefficients under the last bound, and how far it lies below the scores."""
        _compiled().block_moments(
            state.packed, state.pull, self.layout.starts, self.layout.blocks, self.probability,
            self.mean, self.covariance, self.slope, self.rest.diagonal(), state.point, self.spread,
        )  # fmt: skip
        self.gap = float(self.spread.sum())

    def _bound(self, state: "_State") -> Bound:
        """Return the bound at the state, with a margin for rounding."""
        problem = self.problem
        error = ROUNDING * (abs(problem.yty) + abs(state.const) + float(np.abs(self.tables.min(axis=1)).sum()) + 64.0)
        # A form that is wrong by `rounding` changes (b - a)'S(b - a) by at most that times (R + |a|_1)^2, with room for
        # several such errors; and the ridge adds at most ridge R^2 to the score of a point of the ball.
        margin = 8.0 * problem.rounding * (problem.radius + state.reach) ** 2 + problem.ridge * problem.radius**2
        const = state.const - margin - 2.0 * error
        point = np.zeros(len(problem.xty))
        point[self.free] = state.point
        return Bound(
            self.layout, self.inside, self.outside, const, self.tables, state.packed, self.limit,
            self.gap, np.add.reduceat(self.spread, self.layout.starts[:-1]), error,
            Origin(point, state.dual, state.multiplier, self.signs),
        )  # fmt: skip

    def _return_to(self, state: "_State") -> None:
        """Restore tables and moments to a state."""
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


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of a positive definite matrix, in half the time that any matrix takes."""
    factor = np.linalg.cholesky(matrix)
    balancing().invert_lower(factor)
    inverse: Floats = factor.T @ factor
    return inverse


def _compiled() -> ModuleType:
    # Loading the compiler takes half a second: only a search pays for it.
    return importlib.import_module("discreet.kernels.search.separable_compiled")


def _law() -> ModuleType:
    return importlib.import_module("discreet.kernels.search.separable_law_compiled")
