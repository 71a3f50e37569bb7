"""Sums of residuals and of weighted products for generalized linear models: integers, the same by any blocks.

A row's linear predictor is an exact integer, its residual and its weight are looked up in public tables of integers,
and the products are added up exactly. So a row's part depends on that row alone, bit for bit.
"""

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, expit, logit, pdtr, pdtrc

from discreet.kernels.glm.turned_rows import LONGEST, Turn
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.lines import buffers, lines_of, mirrored, n_lines, unwritable
from discreet.typing import Cells, Floats, Integers

Groups = tuple[tuple[int, ...], ...]

THETA_UNIT = 2.0**-20
"""Coefficients are rounded to multiples of this, so that a linear predictor is an integer below 2^53."""

LARGEST_SUM = 2.0**17
"""Coefficients whose sizes add up to more are shrunk to it: with cells of 2^15, terms of a predictor add up to 2^52."""

STEPS = 2**12
"""Entries of a table per unit of the linear predictor."""

WEIGHT_ONE = 2**15
"""A table's largest weight: a power of two, so that scaling by it is exact."""

DISPERSED_SIZE = 2.0
"""Of the negative binomial law that clipped counts may have in place of a Poisson law: variance mean + mean^2 / 2."""

LARGEST_MEAN = 2.0
"""Of counts, in units of their bound."""

WHOLE = 64.0
"""Of means and residuals, in units of the bound, where counts are hardly clipped; tables have 32,767 steps for it."""

LARGEST_PREDICTOR = 30.0
"""The tables end here; a linear predictor beyond it is clipped."""


@dataclass(frozen=True)
class Family:
    """A response's law given the linear predictor, with its canonical link.

    Parameters
    ----------
    name : str
        What it is called.
    mean : callable
        Inverse link, increasing.
    weight : callable
        Derivative of the mean, which is the variance too.
    link : callable
        Inverse of the mean.
    low, high : float
        Public range of the response: a cell of -GRID is `low`, one of GRID is `high`.
    residual_bound : float
        Residuals are clipped to this on both sides; no clipping from ``high - low`` on.
    counts : bool
        Responses are rounded to whole numbers.
    cells_end : float, optional
        What a cell of GRID is, where that is not `high`: responses above `high` are clipped to it.
    is_smooth : bool
        The mean is that of clipped counts, smooth up to `high`.
    dispersed_mean : callable, optional
        The mean that clipped counts have where they are more spread than Poisson ones.
    weight_bound : float
        Weights in sums of products are no larger.
    """

    name: str
    mean: Callable[[Floats], Floats]
    weight: Callable[[Floats], Floats]
    link: Callable[[Floats], Floats]
    low: float
    high: float
    residual_bound: float
    counts: bool = False
    cells_end: float | None = None
    is_smooth: bool = False
    dispersed_mean: Callable[[Floats], Floats] | None = None
    weight_bound: float = math.inf

    def responses(self) -> Floats:
        """Return the response of each cell, from -GRID to GRID."""
        half = ((self.high if self.cells_end is None else self.cells_end) - self.low) / 2.0
        values = self.low + half * (1.0 + np.arange(-GRID, GRID + 1) / GRID)
        clipped: Floats = np.minimum(np.rint(values) if self.counts else values, self.high)
        return clipped

    @property
    def middle(self) -> float:
        """Middle of the response's range."""
        return (self.low + self.high) / 2.0

    @property
    def half(self) -> float:
        """Half of the response's range."""
        return (self.high - self.low) / 2.0


def _logistic_weight(eta: Floats) -> Floats:
    weight: Floats = expit(eta) * expit(-eta)
    return weight


LOGISTIC = Family("logistic", expit, _logistic_weight, logit, 0.0, 1.0, 1.0)
"""A response that is 0 or 1."""


def poisson(largest: float, residual_bound: float | None = None) -> Family:
    """Return the family of counts up to `largest`, with the log link.

    The mean may be larger: that of counts which pile up at a bound is, for some rows, where it is an exponential.
    """
    cap = np.log(LARGEST_MEAN * largest)

    def mean(eta: Floats) -> Floats:
        rate: Floats = np.exp(np.minimum(eta, cap))
        return rate

    def weight(eta: Floats) -> Floats:
        # Of the mean as it is, which is level beyond the cap: with another slope there a score does not fall as told.
        rate: Floats = np.where(eta < cap, mean(eta), 0.0)
        return rate

    return Family("poisson", mean, weight, np.log, 0.0, largest, residual_bound or largest, counts=True)


def clipped_poisson(largest: float, cells_end: float | None = None) -> Family:
    """Return the family of counts that are clipped to a bound: E min(N, bound) for N with mean exp(eta).

    Its mean is a smooth function of the linear predictor between 0 and the bound, so that the score has mean zero at
    the true coefficients however many counts are clipped; `weight` is its derivative.
    """
    cap = max(float(round(largest)), 1.0)  # a bound may be a whole number beyond 64 bits

    def mean(eta: Floats) -> Floats:
        rate: Floats = np.exp(np.minimum(eta, 60.0))
        expected: Floats = np.where(rate < 1e12, rate * pdtr(cap - 1.0, np.minimum(rate, 1e12)), 0.0)
        result: Floats = expected + cap * pdtrc(cap, np.minimum(rate, 1e12))
        return result

    def weight(eta: Floats) -> Floats:
        rate: Floats = np.exp(np.minimum(eta, 60.0))
        slope: Floats = np.where(rate < 1e12, rate * pdtr(cap - 1.0, np.minimum(rate, 1e12)), 0.0)
        return slope

    def dispersed(eta: Floats) -> Floats:
        rate, size = np.exp(np.minimum(eta, 60.0)), DISPERSED_SIZE
        chance = size / (size + rate)
        # k p(k; size) is the mean times p(k - 1; size + 1), and P(N <= k) a beta integral.
        expected: Floats = rate * betainc(size + 1.0, cap, chance) + cap * betainc(cap + 1.0, size, 1.0 - chance)
        return expected

    return Family("poisson", mean, weight, np.log, 0.0, cap, cap, True, cells_end, True, dispersed)


def whole_counts(family: Family) -> Family:
    """Return the family of the same counts, hardly clipped: where their scores are cut, noise does not grow with it.

    A weighted product is still no larger than that of a mean at the bound.
    """
    end = family.high if family.cells_end is None else family.cells_end
    largest = WHOLE / LARGEST_MEAN * family.high
    return replace(poisson(largest, WHOLE * family.high), cells_end=end, weight_bound=max(family.high, 1.0))


@dataclass(frozen=True)
class Line:
    """A linear approximation of the mean as a function of the linear predictor: ``constant + slope * eta``."""

    constant: float
    slope: float


@dataclass(frozen=True)
class Columns:
    """Places, in an encoded row, of a model's columns with the target last, of an offset and of a weight."""

    model: npt.NDArray[np.int64]
    offset: int | None = None
    weight: int | None = None

    def of(self, cells: Cells) -> tuple[Cells, Cells | None, Cells | None]:
        """Return them. Shapes: cells (n, q); returns (n, p + 1), (n,), (n,)."""
        offsets, shares = (None if at is None else cells[:, at] for at in (self.offset, self.weight))
        first, last = int(self.model[0]), int(self.model[-1])
        is_run = np.array_equal(self.model, np.arange(first, last + 1))  # mostly all columns: a view will do
        return cells[:, first : last + 1] if is_run else np.asfortranarray(cells[:, self.model]), offsets, shares


@dataclass(frozen=True)
class RowMap:
    """What one pass over the rows adds up: a public function of a row, as tables.

    Parameters
    ----------
    theta : ndarray of float, shape (p,)
        Coefficients in multiples of THETA_UNIT.
    first : int
        The linear predictor of the tables' first entry, in steps.
    response : ndarray of float, shape (2 * GRID + 1,)
        Of a response's cell: its part of the residual, in residual units.
    mean : ndarray of float, shape (k,)
        Of the linear predictor: what the response's part is compared with, in residual units.
    weight : ndarray of float, shape (k,)
        Of the linear predictor, in weight units; at most WEIGHT_ONE.
    residual_unit, weight_unit : float
        What GRID residual units and WEIGHT_ONE weight units are worth.
    offset : float
        What an offset's cell of GRID adds to the linear predictor, in multiples of THETA_UNIT.
    cap : float
        A row whose squared length is larger counts cap / length^2.
    n_weighing : int, optional
        Leading columns whose squares make up the length; default all.
    turn : Turn, optional
        The sums are of rows in its coordinates, and it says which of them count less, in place of `cap`.

    Notes
    -----
    Every table holds integers.
    """

    theta: Floats
    first: int
    response: Floats
    mean: Floats
    weight: Floats
    residual_unit: float
    weight_unit: float
    offset: float = 0.0
    cap: float = math.inf
    n_weighing: int | None = None
    turn: Turn | None = None

    def sums(self, cells: Cells, offsets: Cells | None = None, shares: Cells | None = None) -> Integers:
        """Add up w x x' and r x over rows; r x is the last column. Cost: O(n p^2), 0.3 s a million rows of 10 columns.

        `offsets` move linear predictors; of a row counts the part `shares`, out of GRID. Shapes: cells (n, p + 1),
        offsets, shares (n,); returns (p, p + 1).
        """
        compiled, p = importlib.import_module("discreet.kernels.glm.row_sums_compiled"), len(self.theta)
        q = n_lines(p)
        total = np.zeros((q, q), dtype=np.int64)
        compiled.add_rows(*self.arguments(cells, offsets, shares), np.zeros((0, q)), (1.0, 1.0, 1.0), total)
        return np.column_stack([mirrored(total[1 : p + 1, 1 : p + 1]), total[0, 1 : p + 1]])

    @property
    def n_columns(self) -> int:
        """Of the sums of products."""
        return len(self.theta)

    def scores(self, cells: Cells, offsets: Cells | None = None, shares: Cells | None = None) -> Floats:
        """Return residual times x of each row, whole numbers of at most GRID^2.

        Shapes: as of `sums`; returns lines of `row_sums_compiled`, (q, n).
        """
        compiled = importlib.import_module("discreet.kernels.glm.row_sums_compiled")
        scores = np.zeros((n_lines(len(self.theta)), len(cells)))
        compiled.write_scores(*self.arguments(cells, offsets, shares), scores)
        return scores

    def arguments(self, cells: Cells, offsets: Cells | None, shares: Cells | None) -> tuple[Any, ...]:
        """Return what the compiled code takes, of the same types whatever is given, so that it is compiled once."""
        p, is_turned = len(self.theta), self.turn is not None
        q = n_lines(p)
        matrix = np.zeros((4, q)) if self.turn is None else lines_of(self.turn.matrix)
        matrix[0, 1 : p + 1] = self.theta / THETA_UNIT
        cap = math.inf if self.turn is not None else self.cap * GRID**2
        of_turn = 0.0 if self.turn is None else self.turn.scale
        of_scores = self.longest_score / self.units[0]
        return (
            unwritable(cells.T, np.int16),
            tuple(unwritable(np.empty(0) if each is None else each, np.int16) for each in (offsets, shares)),
            tuple(unwritable(each, np.float64) for each in (self.response, self.mean, self.weight)),
            matrix,
            (STEPS * THETA_UNIT / GRID, float(self.first), self.offset / THETA_UNIT, cap, of_turn, of_scores),
            (p if self.n_weighing is None else self.n_weighing, is_turned),
            LONGEST,
            *buffers(q),
        )

    def bins(self, most: int = 32) -> tuple[Floats, Floats, Floats]:
        """Return the largest absolute residual, the least and the largest weight, by ranges of the linear predictor."""
        ends = self.response[[0, -1]][:, None]
        residual = np.minimum(np.abs(ends - self.mean).max(axis=0), GRID) * (self.residual_unit / GRID)
        weight = self.weight * (self.weight_unit / WEIGHT_ONE)
        starts = np.unique(np.linspace(0, len(weight), most, endpoint=False).astype(int))
        low, high = np.minimum.reduceat(weight, starts), np.maximum.reduceat(weight, starts)
        return np.maximum.reduceat(residual, starts), low, high

    def real(self, sums: npt.NDArray[np.int64] | Floats) -> tuple[Floats, Floats]:
        """Return the gradient, sum r x, and the Gram matrix, sum w x x', in natural units, with their noise if any.

        Shapes: sums (p, p + 1); returns (p,), (p, p).
        """
        floats = np.asarray(sums, dtype=np.float64)
        of_gradient, of_gram = self.units
        return floats[:, -1] * of_gradient, floats[:, :-1] * of_gram

    @property
    def longest_score(self) -> float:
        """What scores of turned rows are shortened to, in natural units."""
        whole, cut = (math.inf, math.inf) if self.turn is None else (self.turn.length, self.turn.cut)
        return min(cut, self.residual_unit * whole)

    @property
    def units(self) -> tuple[float, float]:
        """What one is worth in the sums: of residuals times columns, and of products."""
        length = 1.0 if self.turn is None else self.turn.length
        return length * self.residual_unit / GRID**2, length**2 * self.weight_unit / GRID**2


def linear_map(family: Family, p: int, cap: float = math.inf, n_weighing: int | None = None) -> RowMap:
    """Return the row map of r = y - middle and w = 1: its sums are X'(y - middle) and X'X, rows weighted by a cap."""
    response = np.rint((family.responses() - family.middle) * (GRID / family.half))
    weight = np.full(1, float(WEIGHT_ONE))
    return RowMap(np.zeros(p), 0, response, np.zeros(1), weight, family.half, 1.0, cap=cap, n_weighing=n_weighing)


def score_map(
    family: Family,
    theta: Floats,
    bounds: tuple[float, float],
    share: float = 0.0,
    line: Line | None = None,
    offset: float = 0.0,
    cap: float = math.inf,
    turn: Turn | None = None,
) -> RowMap:
    """Return the row map of the score and the information at theta, less a share of their linear approximation.

    r = y - mu(eta) - share (y - line(eta)) and w = mu'(eta) - share line'(eta), with eta = x'theta plus `offset` times
    the offset's cell; the bounds hold both.
    """
    within = theta * min(1.0, LARGEST_SUM / max(float(np.abs(theta).sum()), 1e-300))
    rounded = np.rint(within / THETA_UNIT) * THETA_UNIT
    first, last = (int(np.rint(STEPS * np.clip(b, -LARGEST_PREDICTOR, LARGEST_PREDICTOR))) for b in bounds)
    eta = np.arange(first, last + 1) / STEPS
    constant, slope = (line.constant, line.slope) if line is not None else (0.0, 0.0)
    mean = family.mean(eta) - share * (constant + slope * eta)
    weight = np.minimum(family.weight(eta), family.weight_bound) - share * slope
    ends = (1.0 - share) * np.array([[family.low], [family.high]])
    residual_unit = max(min(float(np.abs(ends - mean).max()), family.residual_bound), 1e-9)
    weight_unit = max(float(np.abs(weight).max()), 1e-9)  # so that the integers use their whole range
    per_count = np.floor((1.0 - share) * GRID / residual_unit)
    if per_count >= 1.0:  # one count is a whole number of units, so that rounding does not push all rows one way
        residual_unit = (1.0 - share) * GRID / per_count
    response = (1.0 - share) * family.responses()
    return RowMap(
        rounded,
        first,
        np.rint(response * (GRID / residual_unit)),
        np.rint(mean * (GRID / residual_unit)),
        np.rint(weight * (WEIGHT_ONE / weight_unit)),
        residual_unit,
        weight_unit,
        offset,
        cap,
        turn=turn,
    )


def predictor_bounds(theta: Floats, groups: Groups = (), offset: float = 0.0) -> tuple[float, float]:
    """Return the least and the largest linear predictor of any row, from public facts alone; an offset adds to both."""
    grouped = [j for group in groups for j in group]
    reach = float(np.abs(np.delete(theta, [0, *grouped])).sum())  # Hoelder, cells in [-1, 1]; of a group one is 1
    parts = [theta[list(group)] for group in groups]
    low = sum(min(float(part.min(initial=0.0)), 0.0) for part in parts)
    high = sum(max(float(part.max(initial=0.0)), 0.0) for part in parts)
    return float(theta[0]) - reach - offset + low, float(theta[0]) + reach + offset + high


def squared_norm(p: int, groups: Groups = ()) -> float:
    """Return the largest squared l2 norm of a row with its constant: a group of dummies counts as one column."""
    return float(p - sum(len(group) - 1 for group in groups))
