"""Minima of weighted averages of losses of a linear predictor: least squares in closed form, the others by Newton.

Columns are centered and scaled by the weights first: rank, the floor and the stopping rule then mean the same in any
unit of a column, and a column that is constant where there is weight stands at zero.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.typing import Floats

Curve = Callable[[Floats, Floats], tuple[Floats, Floats, Floats, Floats | None]]
"""Of a linear predictor and a response, per point: a convex loss, its derivative and its second derivative; and what is
missing to the curvature of a parabola that lies above the loss, where the second derivative alone misleads."""

CONSTANT = 1e-10
"""A column whose spread is below this part of its size is a constant."""

SMALLEST = 1e-90
"""A column whose spread is below this is a constant, so that no square overflows."""

RANK = 1e-12
"""Eigenvalues of the standardized Gram matrix below this part of the largest are zero; singular values, 1e-6."""

NEAR = 1e-14
"""Newton's squared decrement, in the objective's unit, below which one that hardly falls any more is rounding."""

DECREMENT = 1e-22
"""Squared decrement from which one step more is the last: even coefficients that the floor alone holds are exact."""

MAX_STEPS = 200
"""Newton steps at most; five to twenty are usual."""


@dataclass(frozen=True)
class StandardColumns:
    """A design whose columns have mean 0, where an intercept is free, and mean square 1.

    Parameters
    ----------
    Z : ndarray of float, shape (m, q)
        The design; the intercept's column of ones, where there is one, is first.
    mean : ndarray of float, shape (p,)
        What was taken from each column.
    unit : ndarray of float, shape (p,)
        What each column was divided by, positive.
    ridge : ndarray of float, shape (q,)
        Ridge of each standardized coefficient.
    """

    Z: Floats
    mean: Floats
    unit: Floats
    ridge: Floats

    @property
    def first(self) -> int:
        """Place of the first slope: 1 with an intercept, else 0."""
        return int(self.Z.shape[1]) - len(self.unit)

    def original(self, b: Floats) -> Floats:
        """Return the coefficients of the columns before standardization, with the same linear predictors."""
        theta = b.copy()
        theta[self.first :] = (b[self.first :].T / self.unit).T
        if self.first:
            theta[0] -= self.mean @ theta[1:]
        return theta

    def standard(self, theta: Floats) -> Floats:
        """Return the coefficients of the standardized columns; the same linear predictors where there is weight."""
        b = theta.copy()
        b[self.first :] *= self.unit
        if self.first:
            b[0] += self.mean @ theta[1:]
        return b


def standardized(X: Floats, shares: Floats, penalty: Floats) -> StandardColumns:
    """Center and scale columns by their weighted moments; an intercept that a ridge holds forbids centering.

    Shapes: X (m, p), shares (m,), penalty (p,).
    """
    m, p = X.shape
    first = len(penalty) - p
    Z = np.ones((m, p + first))
    mean = shares @ X if first and penalty[0] == 0.0 else np.zeros(p)
    slopes = Z[:, first:]
    np.subtract(X, mean, out=slopes)
    spread = np.sqrt(np.einsum("i,ij,ij->j", shares, slopes, slopes))
    live = spread > CONSTANT * np.abs(X).max(axis=0, initial=0.0) + SMALLEST
    unit = np.where(live, spread, 1.0)
    slopes *= live / unit
    ridge = penalty.copy()
    ridge[first:] /= unit**2
    return StandardColumns(Z, mean, unit, ridge)


def least_squares(columns: StandardColumns, y: Floats, shares: Floats) -> Floats:
    """Return the least squares coefficients of the original columns; of several, the slopes of least norm.

    Cost: one Gram matrix, O(m q^2), and its eigenvectors. Shapes: y (m,), shares (m,); returns (q,).
    """
    root = np.sqrt(shares)
    # A strong ridge is part of the unit, or it would hide what the other columns say from the test of rank.
    scale = 1.0 / np.sqrt(1.0 + columns.ridge)
    rows = columns.Z * root[:, None] * scale
    gram = rows.T @ rows + np.diag(columns.ridge * scale**2)
    values, vectors = np.linalg.eigh(gram)
    live = values > RANK * max(values.max(initial=0.0), 1e-300)  # singular values above 1e-6 of the largest
    inside = vectors[:, live]
    theta = columns.original(scale * (inside @ ((inside.T @ (rows.T @ (root * y))) / values[live])))
    if live.all():
        return theta
    # Along these directions nothing changes: the slopes of smallest norm are orthogonal to them in the original units.
    free = columns.original(scale[:, None] * vectors[:, ~live])
    slopes = slice(columns.first, None)
    shortest: Floats = theta - free @ np.linalg.lstsq(free[slopes], theta[slopes], rcond=None)[0]
    return shortest


@dataclass(frozen=True)
class Objective:
    """A weighted average of losses of a linear predictor, with a ridge and a floor, in standardized coefficients.

    Parameters
    ----------
    curve : callable
        Loss, derivative and second derivative of each point.
    columns : StandardColumns
        The design and the ridge of its coefficients.
    y : ndarray of float, shape (m,)
        Response.
    shares : ndarray of float, shape (m,)
        Weights that add up to 1.
    floor : float
        Positive mu of the penalty mu ||b - center||^2 / 2.
    center : ndarray of float, shape (q,)
        Where the floor pulls to.
    """

    curve: Curve
    columns: StandardColumns
    y: Floats
    shares: Floats
    floor: float
    center: Floats

    def value(self, b: Floats, eta: Floats) -> float:
        """Return the objective, with both penalties, at coefficients and their linear predictor."""
        deviation = b - self.center
        smooth = self.columns.ridge @ (b * b) + self.floor * (deviation @ deviation)
        return float(self.shares @ self.curve(eta, self.y)[0] + smooth / 2.0)

    def better(self, b: Floats, other: Floats) -> Floats:
        """Return the coefficients of lower objective; `other` where that of `b` is not a number."""
        Z = self.columns.Z
        return b if self.value(b, Z @ b) < self.value(other, Z @ other) else other

    def pull(self, b: Floats) -> Floats:
        """Return the gradient of both penalties: ridge b + mu (b - center)."""
        slope: Floats = self.columns.ridge * b + self.floor * (b - self.center)
        return slope

    def minimum(self, start: Floats, unit: float) -> Floats:
        """Return the minimizer, by Newton steps with a line search. Cost: O(m q^2) a step."""
        Z = self.columns.Z
        b, eta, last, damping = start, Z @ start, np.inf, 0.0
        for _ in range(MAX_STEPS):
            _, slope, second, missing = self.curve(eta, self.y)
            if missing is not None and damping > 0.0:
                second = second + damping * missing
            gradient = Z.T @ (self.shares * slope) + self.pull(b)
            # The product of a matrix with its own transpose is the cheaper one: numpy sees it.
            rows = Z * np.sqrt(self.shares * second)[:, None]
            hessian = rows.T @ rows
            hessian.flat[:: len(b) + 1] += self.columns.ridge + self.floor
            step = _newton_step(hessian, gradient)
            decrement = -float(gradient @ step)  # g'H^-1 g: twice what the objective's parabola can still fall
            rounding = decrement <= NEAR * unit and decrement > last / 2.0
            if decrement <= DECREMENT * unit or rounding:
                return b + step
            last = decrement
            change = Z @ step
            length = self._length(b, eta, step, change, -decrement)
            if length == 0.0:
                break
            # Steps that the line search shortens again and again make little progress; with the parabola's curvature it
            # would not shorten them.
            damping = min(1.0, 0.1 + 2.0 * damping) if length < 0.5 else damping / 10.0 if damping > 0.001 else 0.0
            b = b + length * step
            eta = eta + length * change
        return b

    def _length(self, b: Floats, eta: Floats, step: Floats, change: Floats, slope: float) -> float:
        """Return a length at which the step's slope has halved at least and the objective is no higher."""
        low, high, length = 0.0, np.inf, 1.0
        at_start = self.value(b, eta)
        for _ in range(60):
            moved = eta + length * change
            trial = b + length * step
            trial_slope = float((self.shares * self.curve(moved, self.y)[1]) @ change + self.pull(trial) @ step)
            if trial_slope > 0.0 and (trial_slope > -0.5 * slope or self.value(trial, moved) > at_start):
                high = length
            elif trial_slope < 0.5 * slope:
                low = length
            else:
                return length
            length = 2.0 * length if high == np.inf else 0.5 * (low + high)
        # A convex function does not rise before its slope turns: low is safe.
        return low


def _newton_step(hessian: Floats, gradient: Floats) -> Floats:
    """Solve for the step; where rounding leaves no descent, scale the gradient by each coordinate's own curvature."""
    try:
        step = np.asarray(np.linalg.solve(hessian, -gradient), dtype=np.float64)
        if np.isfinite(step).all() and gradient @ step <= 0.0:
            return step
    except np.linalg.LinAlgError:
        pass
    return np.negative(gradient) / hessian.diagonal()
