"""The usual contrasts, theta = argmin sum_i w_i m(z_i, theta): means, quantiles, and losses of a linear predictor."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from discreet.kernels.public_records.linear_minima import Objective, least_squares, standardized
from discreet.kernels.public_records.m_estimates import ContrastError, Solved
from discreet.typing import Bools, Floats

LARGEST_EXPONENT = 500.0
"""A linear predictor of logarithms is taken as this beyond it."""

LARGEST_DELTA = 1e100
"""Beyond this a residual's square overflows."""

TIE = 1e-10
"""Shares of weight closer to tau than this are tau: sums of weights round."""

FLOOR = 1e-6
"""Ridge on standardized coefficients, in units of the curvature: a millionth of what the points themselves say."""

LEAST_CURVATURE = 1e-3
"""Curvature, in units of the loss, by which a floor is measured at least."""

ROUNDING = 1e-7
"""Residuals below this part of the largest response do not set the unit of residuals."""

RAREST = 1e-6
"""A constant fit's rate is taken as at least this: at zero there is no fit."""


class _Location(Solved):
    """One parameter for each column of X, without a response."""

    def n_parameters(self, n_features: int) -> int:
        """Return the length of theta: one parameter a column."""
        return n_features

    def value_and_gradient(self, theta: Floats, X: Floats, y: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Return m and its gradient by theta, from the right, at each point.

        Shapes: theta (p,), X (m, p), y (m,); returns (m,), (m, p).
        """
        values, gradients = self._losses(theta - X)
        return values.sum(axis=1), gradients

    @abstractmethod
    def _losses(self, deviation: Floats) -> tuple[Floats, Floats]:
        """Loss of each cell and its derivative, by theta - x."""


@dataclass(frozen=True)
class Mean(_Location):
    """Mean of each column of X: m = ||x - theta||^2 / 2."""

    name = "mean"

    def _losses(self, deviation: Floats) -> tuple[Floats, Floats]:
        return deviation * deviation / 2.0, deviation

    def _minimum(self, X: Floats, y: Floats, shares: Floats, penalty: Floats, start: Floats | None) -> Floats:  # noqa: ARG002
        mean: Floats = (shares @ X) / (1.0 + penalty)
        return mean


@dataclass(frozen=True)
class Quantile(_Location):
    """Quantile of each column of X; its lower end where a whole interval is one.

    The contrast is the pinball loss, m = sum_j max(tau (x_j - theta_j), (tau - 1) (x_j - theta_j)).

    Parameters
    ----------
    tau : float
        Share of weight at or below, strictly between 0 and 1.
    """

    tau: float
    name = "quantile"

    def __post_init__(self) -> None:
        if not 0.0 < self.tau < 1.0:
            raise ContrastError(f"tau must lie strictly between 0 and 1; found tau={self.tau}. Pass such a share.")

    def _losses(self, deviation: Floats) -> tuple[Floats, Floats]:
        slope: Floats = np.where(deviation >= 0.0, 1.0 - self.tau, -self.tau)
        return deviation * slope, slope

    def _minimum(self, X: Floats, y: Floats, shares: Floats, penalty: Floats, start: Floats | None) -> Floats:  # noqa: ARG002
        """Find the first value where the right derivative, share at or below - tau + penalty value, reaches zero."""
        order = np.argsort(X, axis=0, kind="stable")
        # A last value at infinity, where the ridge alone may have to bring the derivative to zero.
        values = np.pad(np.take_along_axis(X, order, axis=0), ((0, 1), (0, 0)), constant_values=np.inf)
        share = np.pad(np.cumsum(shares[order], axis=0), ((1, 0), (0, 0)))
        reached = share[1:] - self.tau + penalty * values[:-1] >= -TIE
        columns = np.arange(X.shape[1])
        place = np.where(reached.any(axis=0), reached.argmax(axis=0), len(X))
        # Between two values the derivative rises by the ridge alone, and may reach zero there.
        between = np.full(len(columns), np.inf)
        np.divide(self.tau - share[place, columns], penalty, out=between, where=penalty > 0.0)
        quantile: Floats = np.minimum(values[place, columns], between)
        return quantile


@dataclass(frozen=True)
class Median(Quantile):
    """Median of each column of X, the lower one where there is an interval: m is half of the absolute deviations.

    Parameters
    ----------
    tau : float
        Always one half.
    """

    tau: float = field(default=0.5, init=False)
    name = "median"


class _Linear(Solved):
    """A loss of a linear predictor: theta holds the intercept, where there is one, and then the slopes."""

    fit_intercept: bool

    def n_parameters(self, n_features: int) -> int:
        """Return the length of theta: one slope a column, and the intercept where there is one."""
        return n_features + self.fit_intercept

    def value_and_gradient(self, theta: Floats, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return m and its gradient by theta at each point.

        Shapes: theta (q,), X (m, p), y (m,); returns (m,), (m, q).
        """
        values, slope, _, _ = self._curve(self._predictor(theta, X), y)
        design = np.column_stack([np.ones(len(X)), X]) if self.fit_intercept else X
        return values, slope[:, None] * design

    def predict(self, theta: Floats, X: Floats) -> Floats:
        """Return the mean response: a probability for `Logistic`, a rate for `Poisson`, else the linear predictor."""
        return self._mean(self._predictor(theta, X))

    def _predictor(self, theta: Floats, X: Floats) -> Floats:
        eta: Floats = theta[0] + X @ theta[1:] if self.fit_intercept else X @ theta
        return eta

    def _mean(self, eta: Floats) -> Floats:
        return eta

    def _penalized(self, q: int) -> Bools:
        slopes: Bools = np.arange(q) >= self.fit_intercept
        return slopes

    @abstractmethod
    def _curve(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats | None]:
        """Return the four arrays of `linear_minima.Curve`."""


class _Curved(_Linear):
    """A loss of a linear predictor without a closed form of the minimum."""

    @abstractmethod
    def _constant_fit(self, y: Floats, shares: Floats) -> tuple[float, float, float]:
        """Return the linear predictor of a fit without columns, the curvature there, and the unit of its square."""

    def _minimum(self, X: Floats, y: Floats, shares: Floats, penalty: Floats, start: Floats | None) -> Floats:
        """Start Newton's method at the better of `start` and the constant fit, which is also the floor's center."""
        columns = standardized(X, shares, penalty)
        constant, curvature, unit = self._constant_fit(y, shares)
        curvature = max(curvature, LEAST_CURVATURE)
        begin = np.zeros(len(penalty))
        if self.fit_intercept:
            begin[0] = constant
        objective = Objective(self._curve, columns, y, shares, FLOOR * curvature, begin)
        if start is not None:
            begin = objective.better(columns.standard(start), begin)
        return columns.original(objective.minimum(begin, curvature * unit))


@dataclass(frozen=True)
class LeastSquares(_Linear):
    """Linear regression: m = (y - eta)^2 / 2. Of several minima, the slopes of smallest norm.

    Parameters
    ----------
    fit_intercept : bool
        Whether theta begins with an intercept.
    """

    fit_intercept: bool = True
    name = "least squares"

    def _curve(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats | None]:
        error = eta - y
        return error * error / 2.0, error, np.ones_like(error), None

    def _minimum(self, X: Floats, y: Floats, shares: Floats, penalty: Floats, start: Floats | None) -> Floats:  # noqa: ARG002
        return least_squares(standardized(X, shares, penalty), y, shares)


@dataclass(frozen=True)
class Huber(_Curved):
    """Robust regression: m = r^2 / 2 where |r| <= delta, else delta |r| - delta^2 / 2, with r = y - eta.

    Parameters
    ----------
    delta : float
        Residual beyond which the loss grows linearly, in the response's unit; positive.
    fit_intercept : bool
        Whether theta begins with an intercept.

    Notes
    -----
    A floor of a millionth of the curvature makes the minimum unique, see `Logistic`.
    """

    delta: float
    fit_intercept: bool = True
    name = "huber"

    def __post_init__(self) -> None:
        if not 0.0 < self.delta < LARGEST_DELTA:
            raise ContrastError(f"delta must be positive and below 1e100; found delta={self.delta}. Pass a residual.")

    def _curve(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats | None]:
        error = eta - y
        slope = np.clip(error, -self.delta, self.delta)
        near = slope == error
        missing = np.where(near, 0.0, self.delta / np.maximum(np.abs(error), self.delta))
        return slope * (error - slope / 2.0), slope, near.astype(np.float64), missing

    def _constant_fit(self, y: Floats, shares: Floats) -> tuple[float, float, float]:
        """The weighted median; the curvature is that of the parabolas above the losses there."""
        center = float(Median()._minimum(y[:, None], y, shares, np.zeros(1), None)[0])
        distance = np.abs(y - center)
        curvature = float(shares @ (self.delta / np.maximum(distance, self.delta)))
        loss = self._curve(np.full_like(y, center), y)[0]
        # Differences of responses round: what is smaller has no meaning.
        unit = max(min(self.delta**2, 2.0 * float(shares @ loss)), (ROUNDING * float(np.abs(y).max())) ** 2, 1e-200)
        return center, curvature, unit


@dataclass(frozen=True)
class Logistic(_Curved):
    """Logistic regression: m = log(1 + exp(eta)) - y eta, for y in [0, 1].

    Parameters
    ----------
    fit_intercept : bool
        Whether theta begins with an intercept.

    Notes
    -----
    Separated responses have no finite maximum of the likelihood, and dependent columns have many. So a floor is always
    added to the weighted mean: (mu / 2) ||b - b_0||^2, with b the coefficients of columns of weighted mean 0 and
    variance 1, b_0 the fit without columns, and mu = 1e-6 max(1e-3, curvature of that fit). It moves a coefficient by
    about a millionth of itself, far below the sampling error of n rows for every n below 1e12; and where all responses
    are equal, the predictor is about +-19 and not infinite. Where a ridge holds the intercept too, columns are not
    centered, and the floor counts their distance from zero.
    """

    fit_intercept: bool = True
    name = "logistic"

    def _mean(self, eta: Floats) -> Floats:
        return _probabilities(eta)[0]

    def _check(self, y: Floats) -> None:
        if not ((y >= 0.0) & (y <= 1.0)).all():
            raise ContrastError(
                "y must lie in [0, 1] for Logistic; found values outside. Code the response as 0 and 1."
            )

    def _curve(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats | None]:
        of_one, of_zero = _probabilities(eta)
        # Neither difference of near equal numbers nor overflow in the tails.
        loss = np.maximum(eta, 0.0) + np.log1p(np.minimum(of_one, of_zero) / np.maximum(of_one, of_zero)) - y * eta
        return loss, (1.0 - y) * of_one - y * of_zero, of_one * of_zero, None

    def _constant_fit(self, y: Floats, shares: Floats) -> tuple[float, float, float]:
        rate = min(max(float(shares @ y), RAREST), 1.0 - RAREST)
        return float(np.log(rate / (1.0 - rate))), rate * (1.0 - rate), 1.0


@dataclass(frozen=True)
class Poisson(_Curved):
    """Regression of counts by their logarithm: m = exp(eta) - y eta, for y >= 0.

    Parameters
    ----------
    fit_intercept : bool
        Whether theta begins with an intercept.

    Notes
    -----
    A floor as in `Logistic` keeps the minimum finite and unique where all counts are zero, or those of a group are.
    """

    fit_intercept: bool = True
    name = "poisson"

    def _mean(self, eta: Floats) -> Floats:
        rate: Floats = np.exp(np.minimum(eta, LARGEST_EXPONENT))
        return rate

    def _check(self, y: Floats) -> None:
        if not (y >= 0.0).all():
            raise ContrastError("y must be nonnegative for Poisson; found negative values. Pass counts.")

    def _curve(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats | None]:
        rate = self._mean(eta)
        return rate - y * eta, rate - y, rate, None

    def _constant_fit(self, y: Floats, shares: Floats) -> tuple[float, float, float]:
        rate = max(float(shares @ y), RAREST)
        return float(np.log(rate)), rate, 1.0


def _probabilities(eta: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities of 1 and of 0, each to its own relative precision."""
    tail = np.exp(-np.abs(eta))
    near = 1.0 / (1.0 + tail)
    far = tail * near
    return np.where(eta >= 0.0, near, far), np.where(eta >= 0.0, far, near)
