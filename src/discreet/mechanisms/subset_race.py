"""The exact noisy minimum over all subsets, without visiting them.

The noise of a whole region of models is drawn first, as the next point of a Poisson process whose intensity is a
splitting lower bound of the region's scores; a region is opened only while it can still hold the winner. A point is a
model M and a noise z. A region with bound a <= f is explored in the order of V = a(M) + z, so V is at most the value
f(M) + z of every point not yet seen. A region that is split, or given a better bound, leaves the zone V <= T behind:
points that a later bound draws in a zone already explored are ignored. The zones are disjoint, so the processes on
them are independent, whatever was used to choose them, and the first kept point of each model has the law of its noise.
"""

import functools
import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt

from discreet.kernels.separable import Bound, SearchProblem
from discreet.kernels.separable_fit import fit
from discreet.mechanisms.race_noise import LOG_2, RaceNoise
from discreet.mechanisms.reals import (
    ROUNDING,
    Interval,
    Real,
    Uniform,
    Words,
    context_for,
    difference,
    largest,
    log_sum,
    widened,
)

Floats = npt.NDArray[np.float64]

TIGHT = 0.7
"""A bound this many nats below a score needs no better one: half its points lead somewhere."""

POINTS = 8
"""Points drawn from a bound before its region is split."""


NOWHERE = Real.exactly(-math.inf)
"""Before any point."""


@dataclass(frozen=True)
class Explored:
    """Zones already explored: all points of V at most `upto` under the bound, and those before."""

    bound: Bound
    upto: Real
    before: "Explored | None"


@dataclass
class Region:
    """Models that hold `inside` and avoid `outside`, some of them taken out one by one."""

    inside: int
    outside: int
    bound: Bound
    tables: Floats
    log_rate: Real
    before: Explored | None
    taken_out: tuple[int, ...]
    owns_bound: bool
    start: Real | None = None
    base: Real | None = None
    energies: tuple[Uniform, ...] = ()
    next: Real = NOWHERE
    cap: Real | None = None
    least: int = 0
    n_points: int = 0

    def __lt__(self, other: "Region") -> bool:
        """Order regions by what they can still offer."""
        return self.next.value - self.next.error < other.next.value - other.next.error

    @property
    def explored(self) -> Explored | None:
        """The zones explored, this bound's included."""
        return self.before if self.start is None else Explored(self.bound, self.start, self.before)

    @property
    def undecided(self) -> list[int]:
        """Units not decided."""
        return [unit for unit in self.bound.layout.units if not (self.inside | self.outside) >> unit & 1]


@dataclass
class Work:
    """What a search did. Depends on the rows: for tests and benchmarks, never released."""

    points: int = 0
    ignored: int = 0
    bounds: int = 0
    splits: int = 0


class SubsetRace:
    """One search for the noisy minimum.

    Parameters
    ----------
    problem : SearchProblem
        Scores in units of the noise.
    score : callable
        The score of a model, in the same units: a fixed number for each model, at least every bound.
    noise : RaceNoise
        Law of the noise.
    words : Words
        Where it comes from.
    work : Work, optional
        Counts what is done.
    """

    def __init__(
        self,
        problem: SearchProblem,
        score: Callable[[int], float],
        noise: RaceNoise,
        words: Words,
        work: Work | None = None,
    ) -> None:
        self.problem, self.score, self.noise, self.words = problem, score, noise, words
        self.work = Work() if work is None else work
        self._heap: list[Region] = []
        self._winner, self._best = -1, Real.exactly(math.inf)

    def run(self) -> int:
        """Race until no region can offer less than the best model found.

        Returns
        -------
        int
            The winner, as bits over units.
        """
        if self.problem.limit <= 0 or len(self.problem.cost) == 0:
            return 0
        self._enter(self._region(0, 0, self._fit(0, 0, None), None, (), owns_bound=True))
        while self._heap:
            region = heapq.heappop(self._heap)
            if not region.next.value - region.next.error < self._best.value + self._best.error:
                break
            self._visit(region)
        return self._winner

    # ---- regions

    def _fit(self, inside: int, outside: int, parent: Bound | None) -> Bound:
        self.work.bounds += 1
        return fit(self.problem, inside, outside, parent)

    def _region(
        self,
        inside: int,
        outside: int,
        bound: Bound,
        before: Explored | None,
        taken_out: tuple[int, ...],
        owns_bound: bool,
        start: Real | None = None,
    ) -> Region | None:
        """A region under a bound of it or of a larger one; None when it holds no model."""
        tables = bound.tables(inside, outside)
        rate = _log_rate(bound, tables)
        if rate is None:
            return None
        return Region(inside, outside, bound, tables, rate, before, taken_out, owns_bound, start, start)

    def _enter(self, region: Region | None) -> None:
        """Draw the region's next point in V, and queue it there."""
        if region is None:
            return
        rate = region.log_rate
        if self.noise.kappa == 2:
            rate = difference(rate, _MINUS_LOG_2)
        region.energies = (*region.energies, Uniform(self.words))
        region.next = log_sum(region.base, region.energies, rate)
        if self.noise.is_capped:
            if region.cap is None:
                region.least, least = _least(region)
                if region.least < 0:
                    return  # every model has been taken out
                margin = 1e-6 + region.log_rate.error
                region.cap = Real.exactly(least - LOG_2 - margin)
            if region.cap < region.next:
                # No point before the cap; past it the process is not valid.
                region.start = region.base = region.next = region.cap
                region.energies = ()
        heapq.heappush(self._heap, region)

    def _visit(self, region: Region) -> None:
        capped = region.next is region.cap
        if capped:
            distance = self._take_out(region)
        else:
            distance = self._point(region)
            region.start, region.n_points = region.next, region.n_points + 1
        undecided = region.undecided
        if self._stays(region, distance, capped):
            self._enter(region)
        elif not undecided or region.inside.bit_count() >= self.problem.limit:
            self._finish(region.inside, region)
        elif not region.owns_bound:
            bound = self._fit(region.inside, region.outside, region.bound)
            self._enter(
                self._region(region.inside, region.outside, bound, region.explored, region.taken_out, owns_bound=True)
            )
        else:
            self._split(region, undecided)

    def _stays(self, region: Region, distance: float, capped: bool) -> bool:
        """Whether the bound is worth another point before work is put into the region."""
        if capped:
            return distance < TIGHT and len(region.taken_out) < 2 * POINTS
        if not region.owns_bound:
            return distance < 0.05
        if math.isnan(distance):
            return region.n_points < 5 * POINTS
        return distance < TIGHT or (region.n_points < POINTS and region.bound.gap < 3.0)

    def _split(self, region: Region, undecided: list[int]) -> None:
        self.work.splits += 1
        place = region.bound.layout.place
        unit = max(undecided, key=lambda one: region.bound.split[place[one]])
        for inside, outside in (
            (region.inside | 1 << unit, region.outside),
            (region.inside, region.outside | 1 << unit),
        ):
            self._enter(
                self._region(
                    inside, outside, region.bound, region.before, region.taken_out, owns_bound=False, start=region.start
                )
            )

    # ---- points

    def _point(self, region: Region) -> float:
        """Draw the model of the region's next point and let it compete; return how far the bound lies below it.

        NaN when the point is ignored.
        """
        self.work.points += 1
        model = _draw(region, self.words)
        below = _value(region.bound, model)
        z = difference(region.next, below)
        if model in region.taken_out or self._is_explored(region.before, model, z):
            self.work.ignored += 1
            return math.nan
        score = self.score(model)
        if self.noise.keeps(Uniform(self.words), z):
            self._compete(model, score, z)
        return score - below.value

    def _is_explored(self, before: Explored | None, model: int, z: Real) -> bool:
        while before is not None:
            if difference(z, _minus(_value(before.bound, model))) < before.upto:
                return True
            before = before.before
        return False

    def _take_out(self, region: Region) -> float:
        """Race the model of the least bound alone; return how far the bound lies below it."""
        model = region.least
        region.cap = None
        self._finish(model, region)
        region.taken_out = (*region.taken_out, model)
        return self.score(model) - _value(region.bound, model).value

    def _finish(self, model: int, region: Region) -> None:
        """Draw a model's noise, given the zones in which it had none."""
        if model in region.taken_out or model.bit_count() > self.problem.limit:
            return
        starts, zone = [], region.explored
        while zone is not None:
            starts.append(difference(zone.upto, _value(zone.bound, model)))
            zone = zone.before
        start = largest(starts) if starts else None
        self._compete(model, self.score(model), self.noise.finish(start, Uniform(self.words)))

    def _compete(self, model: int, score: float, z: Real) -> None:
        value = difference(z, Real.exactly(-score))
        if self._winner < 0 or value < self._best:
            self._winner, self._best = model, value


_MINUS_LOG_2 = Real(-LOG_2, 2.0**-50, lambda digits: (_minus_log_2(digits), _minus_log_2(digits)))


def _minus_log_2(digits: int) -> Decimal:
    context = context_for(digits)
    return context.minus(context.ln(Decimal(2)))


def _minus(number: Real) -> Real:
    def enclose(digits: int) -> Interval:
        low, high = number.enclose(digits)
        return high.copy_negate(), low.copy_negate()

    return Real(-number.value, number.error, enclose)


# ---- a bound as a number, and models drawn from it


def _value(bound: Bound, model: int) -> Real:
    """The bound of a model: its float, and the sum of the constant and the table entries."""

    def enclose(digits: int) -> Interval:
        tables, context = bound.tables(bound.inside, bound.outside), context_for(digits)
        entries = [
            Decimal(float(table[sum((model >> unit & 1) << i for i, unit in enumerate(group))]))
            for group, table in zip(bound.layout.groups, tables, strict=True)
        ]
        total = _total([Decimal(bound.const), *entries], context)
        return widened(total, total, context, digits)

    value = bound.value(model)
    return Real(value, bound.error + ROUNDING * abs(value), enclose)


def _total(parts: Iterable[Decimal], context: Context) -> Decimal:
    # The operator + would round to the precision of the thread's own context.
    return functools.reduce(context.add, parts, Decimal(0))


def _log_rate(bound: Bound, tables: Floats) -> Real | None:
    """Log of the sum of exp(-bound) over the models of the tables; None when there is none."""
    value = bound.log_weight(tables)
    if value == -math.inf:
        return None

    def enclose(digits: int) -> Interval:
        context = context_for(digits)
        weights = _exact_weights(tables, digits)
        if bound.limit < 0:
            factors = [_total(block, context) for block in weights]
        else:
            factors = [_total(_tails(weights, bound.limit, digits)[0], context)]
        least = [Decimal(-float(table.min())) for table in tables]
        total = _total([*map(context.ln, factors), *least, Decimal(-bound.const)], context)
        return widened(total, total, context, digits)

    return Real(value, bound.error, enclose)


def _exact_weights(tables: Floats, digits: int) -> list[list[Decimal]]:
    """exp(-entry) of each subset, over the largest of its block."""
    context = context_for(digits)
    return [
        [
            context.exp(context.subtract(Decimal(least), Decimal(entry))) if entry < math.inf else Decimal(0)
            for entry in table.tolist()
        ]
        for table, least in zip(tables, tables.min(axis=1).tolist(), strict=True)
    ]


def _tails(weights: list[list[Decimal]], limit: int, digits: int) -> list[list[Decimal]]:
    """Weight of the blocks from each on, by the number of units in them."""
    context = context_for(digits)
    tails = [[Decimal(1)] + [Decimal(0)] * limit]
    for block in reversed(weights):
        new = [Decimal(0)] * (limit + 1)
        for m, weight in enumerate(block):
            for k in range(limit + 1 - m.bit_count()):
                new[k + m.bit_count()] = context.add(new[k + m.bit_count()], context.multiply(weight, tails[-1][k]))
        tails.append(new)
    return tails[::-1]


def _draw(region: Region, words: Words) -> int:
    """A model of the region with probability proportional to exp(-bound)."""
    uniforms = [Uniform(words) for _ in region.tables]
    picked = region.bound.draw(region.tables, np.array([uniform.value for uniform in uniforms]))
    if picked is None:
        picked = _draw_exactly(region, uniforms)
    return _model_of(region.bound, picked)


def _model_of(bound: Bound, picked: list[int]) -> int:
    model = bound.inside
    for group, subset in zip(bound.layout.groups, picked, strict=True):
        for i, unit in enumerate(group):
            model |= (subset >> i & 1) << unit
    return model


def _draw_exactly(region: Region, uniforms: list[Uniform]) -> list[int]:
    """The same draw with as many digits as it takes."""
    limit, digits = region.bound.limit, 40
    while True:
        context = context_for(digits)
        weights = _exact_weights(region.tables, digits)
        tails = _tails(weights, limit, digits) if limit >= 0 else [[Decimal(1)]] * (len(weights) + 1)
        picked: list[int] = []
        left = limit
        for uniform, block, tail in zip(uniforms, weights, tails[1:], strict=True):
            room = [_total(tail[: k + 1], context) for k in range(len(tail))]
            fits = [limit < 0 or m.bit_count() <= left for m in range(len(block))]
            each = [
                context.multiply(weight, room[left - m.bit_count() if limit >= 0 else 0]) if fit_ else Decimal(0)
                for m, (weight, fit_) in enumerate(zip(block, fits, strict=True))
            ]
            subset = _cell(each, uniform.enclose(digits), digits)
            if subset is None:
                break
            picked.append(subset)
            left -= subset.bit_count()
        else:
            return picked
        digits *= 2


def _cell(weights: list[Decimal], uniform: Interval, digits: int) -> int | None:
    """The cell of the cumulated weights that holds the uniform number; None when an edge is too close to tell."""
    context = context_for(digits)
    total, run = _total(weights, context), Decimal(0)
    error = context.multiply(total, context.power(Decimal(10), 6 - digits))
    low, high = context.multiply(uniform[0], total), context.multiply(uniform[1], total)
    for m, weight in enumerate(weights):
        run = context.add(run, weight)
        if weight and high < context.subtract(run, error):
            return m
        if weight and low < context.add(run, error):
            return None
    return None


def _least(region: Region) -> tuple[int, float]:
    """The model of least bound that has not been taken out, and that bound up to rounding."""
    ranking = _Ranking(region.tables, region.bound.limit)
    for picked, total in ranking:
        model = _model_of(region.bound, picked)
        if model not in region.taken_out:
            return model, region.bound.const + total
    return -1, math.inf


class _Ranking:
    """Choices of one subset for each block, the least sum first (Lawler's partition of what is left)."""

    def __init__(self, tables: Floats, limit: int) -> None:
        self.tables, self.room = tables, max(limit, 0)
        self.size = np.bitwise_count(np.arange(tables.shape[1])) * int(limit >= 0)
        self.rest: Floats | None = None
        self.least = tables.argmin(axis=1)
        if limit >= 0:
            # rest[b, k]: least sum of the blocks from b on with at most k units.
            self.rest = np.zeros((len(tables) + 1, limit + 1))
            for b in range(len(tables) - 1, -1, -1):
                self.rest[b] = [self._sums(self.rest, b, room).min() for room in range(limit + 1)]

    def _sums(self, rest: Floats, block: int, room: int) -> Floats:
        """Least sum from a block on, for each of its subsets."""
        fits = self.size <= room
        return np.where(fits, self.tables[block] + rest[block + 1][np.where(fits, room - self.size, 0)], np.inf)

    def _complete(self, head: list[int], avoid: frozenset[int]) -> tuple[float, list[int]]:
        """The least sum that starts with `head` and then avoids some subsets of the next block."""
        picked, room = list(head), self.room - int(self.size[head].sum())
        for block in range(len(head), len(self.tables)):
            if self.rest is None and (block > len(head) or not avoid):
                picked.extend(self.least[block:].tolist())
                break
            sums = self.tables[block].copy() if self.rest is None else self._sums(self.rest, block, room)
            if block == len(head):
                sums[list(avoid)] = np.inf
            if sums.min() == np.inf:
                return math.inf, picked
            picked.append(int(sums.argmin()))
            room -= int(self.size[picked[-1]])
        return float(self.tables[np.arange(len(picked)), picked].sum()), picked

    def __iter__(self) -> Iterator[tuple[list[int], float]]:
        none: frozenset[int] = frozenset()
        total, picked = self._complete([], none)
        heap, pushed = [(total, 0, 0, none, picked)], 0
        while heap and heap[0][0] < math.inf:
            total, _, first, avoid, picked = heapq.heappop(heap)
            yield picked, total
            for block in range(first, len(self.tables)):
                away = (avoid if block == first else none) | {picked[block]}
                other, other_picked = self._complete(picked[:block], away)
                pushed += 1
                heapq.heappush(heap, (other, pushed, block, away, other_picked))
