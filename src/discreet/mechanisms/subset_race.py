"""The exact noisy minimum over all subsets, without visiting them.

The noise of a whole region of models is drawn first, as the next point of a Poisson process whose intensity is a
splitting lower bound of the region's scores; a region is opened only while it can still hold the winner. A point is a
model M and a noise z. A region with bound a <= f is explored in the order of V = a(M) + z, so V is at most the value
f(M) + z of every point not yet drawn. A region that is split, or gets a better bound, leaves the zone V <= T behind:
points that a later bound draws in a zone already explored are ignored. The zones are disjoint, so the processes on them
are independent, whatever was used to choose them, and the first accepted point of each model has the law of its noise.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from discreet.kernels.search.separable import Bound, SearchProblem
from discreet.kernels.search.separable_fit import fit
from discreet.kernels.search.separable_ranking import ranked
from discreet.mechanisms.race_noise import LOG_2, RaceNoise
from discreet.mechanisms.reals import Interval, Real, Uniform, Words, context_for, difference, largest, log_sum
from discreet.mechanisms.subset_points import bound_value, draw_model, log_rate
from discreet.typing import Floats

TIGHT = 0.7
"""A bound this many nats below a score needs no better one: its points come at twice the rate of the score's."""

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
    """Models that hold `inside` and avoid `outside`, less those of `taken_out`."""

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
        """Order regions by a lower bound of their next point."""
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
    """Counts of a search's steps. They depend on the rows: for tests and benchmarks, never released."""

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
        Source of its bits.
    work : Work, optional
        Counts the steps.
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
        """Race until no region can hold a smaller value than the best model so far.

        Returns
        -------
        int
            The winner, as bits over units.
        """
        if self.problem.limit <= 0 or len(self.problem.cost) == 0:
            return 0
        self._enter(self._region(0, 0, self._fit(0, 0, None), None, (), owns_bound=True))
        while self._heap:  # regions are cut into smaller ones, down to single models: at most 2^(d + 1) of them
            region = heapq.heappop(self._heap)
            # V is a lower bound of the value of every point not yet drawn, and this region's is the least.
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
        """Return a region under a bound of it or of a larger one; None when it holds no model."""
        tables = bound.tables(inside, outside)
        rate = log_rate(bound, tables)
        if rate is None:
            return None
        return Region(inside, outside, bound, tables, rate, before, taken_out, owns_bound, start, start)

    def _enter(self, region: Region | None) -> None:
        """Draw the region's next point in V, and queue it there."""
        if region is None:
            return
        rate = region.log_rate
        if self.noise.kappa == 2:  # the rate is kappa times the sum of exp(-bound)
            rate = difference(rate, _MINUS_LOG_2)
        region.energies = (*region.energies, Uniform(self.words))
        # V = a(M) + z of all models together is a Poisson process of intensity kappa e^V sum exp(-a): its k-th point
        # after `base` lies at log(e^base + (E_1 + .. + E_k) / (kappa sum exp(-a))).
        region.next = log_sum(region.base, region.energies, rate)
        if self.noise.is_capped:
            if region.cap is None:
                region.least, least = _least(region)
                if region.least < 0:
                    return  # every model has been taken out
                margin = 1e-6 + region.log_rate.error
                cap = Real.exactly(least - LOG_2 - margin)
                # Never backwards: a model as good as the last with a wider margin could put the cap below `start`.
                start = region.start
                region.cap = start if start is not None and _is_before(cap, start) else cap
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
            # Any rule will do here: the order of work, from floats and points already seen, changes the time and not
            # the law.
            return distance < TIGHT and len(region.taken_out) < 2 * POINTS
        if not region.owns_bound:
            return distance < 0.05
        if math.isnan(distance):
            return region.n_points < 5 * POINTS
        return distance < TIGHT or (region.n_points < POINTS and region.bound.gap < 3.0)

    def _split(self, region: Region, undecided: list[int]) -> None:
        self.work.splits += 1
        place = region.bound.layout.place
        unit = max(undecided, key=lambda candidate: region.bound.split[place[candidate]])
        # Both halves keep the bound and go on where it was explored to: the process on disjoint sets of models is
        # independent.
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
        """Draw the model of the region's next point and let it compete; return its score less its bound.

        NaN when the point is ignored.
        """
        self.work.points += 1
        model = draw_model(region.bound, region.tables, self.words)
        below = bound_value(region.bound, model)
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
            # Under the earlier bound a this point lies at a(M) + z: up to T it was drawn, or not there, when that zone
            # was explored.
            if difference(z, _minus(bound_value(before.bound, model))) < before.upto:
                return True
            before = before.before
        return False

    def _take_out(self, region: Region) -> float:
        """Race the model of least bound alone; return its score less its bound."""
        model = region.least
        region.cap = None
        self._finish(model, region)
        region.taken_out = (*region.taken_out, model)
        return self.score(model) - region.bound.value(model)

    def _finish(self, model: int, region: Region) -> None:
        """Draw a model's noise, given that it lies beyond every explored zone."""
        if model in region.taken_out or model.bit_count() > self.problem.limit:
            return
        starts, zone = [], region.explored
        while zone is not None:
            # Up to z = T - a(M) the model has no point that was accepted: its noise lies beyond all of these.
            starts.append(difference(zone.upto, bound_value(zone.bound, model)))
            zone = zone.before
        start = largest(starts) if starts else None
        # Without a zone the noise is drawn whole; else at H^-1(H(start) + E), past the farthest zone.
        self._compete(model, self.score(model), self.noise.finish(start, Uniform(self.words)))

    def _compete(self, model: int, score: float, z: Real) -> None:
        value = difference(z, Real.exactly(-score))
        if self._winner < 0 or value < self._best:
            self._winner, self._best = model, value


_MINUS_LOG_2 = Real(-LOG_2, 2.0**-50, lambda digits: (_minus_log_2(digits), _minus_log_2(digits)))


def _minus_log_2(digits: int) -> Decimal:
    context = context_for(digits)
    return context.minus(context.ln(Decimal(2)))


def _is_before(cap: Real, start: Real) -> bool:
    """Tell whether a cap lies below a start, which may be an earlier cap and equal to it."""
    return cap.value < start.value if start.error == 0.0 else cap < start


def _minus(number: Real) -> Real:
    def enclose(digits: int) -> Interval:
        low, high = number.enclose(digits)
        return high.copy_negate(), low.copy_negate()

    return Real(-number.value, number.error, enclose)


def _least(region: Region) -> tuple[int, float]:
    """Return the model of least bound that was not taken out, and its bound up to rounding; -1 for none."""
    bound = region.bound
    for picked in ranked(region.tables, bound.limit):
        model = bound.inside | bound.layout.model(picked)
        if model not in region.taken_out:
            return model, bound.value(model)
    return -1, math.inf
