"""Weighted M-estimates: the minimum of a contrast's weighted average over points, with a ridge.

A contrast says what is averaged. Those of `contrasts` have solvers of their own, which always have an answer, whatever
the weights; anything else with the three members of `Contrast` is minimized by L-BFGS and certified.
"""

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from discreet.typing import Bools, Floats

LARGEST = 1e100
"""Bound on the size of cells and responses, so that no square overflows."""

CERTIFICATE = 1e-5
"""A minimum's averaged derivatives are below this part of the average of the points' absolute derivatives."""

MAX_EVALUATIONS = 2000
"""Evaluations of a user's contrast in one run of L-BFGS."""

RUNS = 4
"""Runs of L-BFGS, each from where the last one stopped, before it is given up."""


class ContrastError(ValueError):
    """A contrast, its points or its weights cannot be used. Its text never shows a point."""


class Contrast(Protocol):
    """What is averaged over points."""

    @property
    def name(self) -> str:
        """What errors call it."""

    def n_parameters(self, n_features: int) -> int:
        """Return the length of theta, q."""

    def value_and_gradient(self, theta: Floats, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the contrast m(z_i, theta) and its gradient by theta at each point.

        Smooth in theta, its average bounded below. Shapes: theta (q,), X (m, p), y (m,); returns (m,), (m, q).
        """


class Solved(ABC):
    """A contrast with a solver of its own: the base of those in `contrasts`."""

    def _penalized(self, q: int) -> Bools:
        """Return which parameters a ridge holds by default: slopes, neither intercepts nor locations."""
        return np.zeros(q, dtype=np.bool_)

    def _check(self, y: Floats) -> None:  # noqa: B027 - most take any response
        """Refuse responses outside the contrast's range."""

    @abstractmethod
    def _minimum(self, X: Floats, y: Floats, shares: Floats, penalty: Floats, start: Floats | None) -> Floats:
        """Minimize over points whose shares of the weight are positive and add up to 1."""


def m_estimate(
    contrast: Contrast,
    X: Floats,
    y: Floats | None,
    weights: Floats,
    *,
    ridge: float = 0.0,
    penalized: Bools | None = None,
    start: Floats | None = None,
) -> Floats:
    """Minimize sum_i w_i m(z_i, theta) / sum_i w_i + (ridge / 2) ||theta_penalized||^2; theta is always finite.

    Where no point has weight, `start` or zeros. For a contrast of `contrasts` the answer does not depend on `start` but
    for about nine digits; for a user's that is not convex it is a stationary point near `start`.
    Shapes: X (m, p), y (m,), weights (m,), penalized (q,), start (q,); returns (q,), the intercept first.
    """
    X, y, weights = _checked_points(X, y, weights)
    q = contrast.n_parameters(X.shape[1])
    begin = None if start is None else _checked_start(start, q)
    penalty = _penalty(contrast, q, ridge, penalized)
    if isinstance(contrast, Solved):
        contrast._check(y)
    heaviest = float(weights.max(initial=0.0))
    if heaviest == 0.0:
        return np.zeros(q) if begin is None else begin
    shares = weights / heaviest  # first by the largest: a sum of weights may overflow
    if not shares.all():
        used = np.flatnonzero(shares)
        X, y, shares = X[used], y[used], shares[used]
    shares = shares / shares.sum()
    if isinstance(contrast, Solved):
        return contrast._minimum(X, y, shares, penalty, begin)
    return quasi_newton(contrast, X, y, shares, penalty, np.zeros(q) if begin is None else begin)


def quasi_newton(contrast: Contrast, X: Floats, y: Floats, shares: Floats, penalty: Floats, start: Floats) -> Floats:
    """Return a stationary point of any smooth contrast's average, by L-BFGS, certified to `CERTIFICATE`.

    Shapes: X (m, p), y (m,), shares (m,), penalty (q,), start (q,); returns (q,).
    """
    # Slow to import, and the contrasts that have solvers of their own do without it.
    from scipy.optimize import minimize

    values, gradients = _evaluated(contrast, start, X, y)
    sizes = shares @ np.abs(gradients) + penalty * np.abs(start)
    if not sizes.any():
        return start
    # In these units derivatives are at most about 1, whatever the units of columns and losses.
    loss_unit = float(shares @ np.abs(values)) or 1.0
    units = loss_unit / np.where(sizes > 0.0, sizes, sizes.max())

    def objective(moved: Floats) -> tuple[float, Floats]:
        theta = start + units * moved
        values, gradients = _evaluated(contrast, theta, X, y)
        value = float(shares @ values + penalty @ (theta * theta) / 2.0)
        return value / loss_unit, (shares @ gradients + penalty * theta) * (units / loss_unit)

    options = {"maxfun": MAX_EVALUATIONS, "maxiter": MAX_EVALUATIONS, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-10}
    moved = np.zeros_like(start)
    for _ in range(RUNS):
        moved = minimize(objective, moved, jac=True, method="L-BFGS-B", options=options).x
        theta: Floats = start + units * moved
        _, gradients = _evaluated(contrast, theta, X, y)
        largest = np.maximum(sizes, shares @ np.abs(gradients) + penalty * np.abs(theta))
        if (np.abs(shares @ gradients + penalty * theta) <= CERTIFICATE * largest).all():
            return theta
    raise ContrastError(
        f"The average of contrast {_called(contrast)!r} must have a minimum where its gradient vanishes; "
        f"found none in {RUNS * MAX_EVALUATIONS} evaluations. Check the gradient, or add a ridge."
    )


def _called(contrast: Contrast) -> str:
    """Return a contrast's name; a user's may lack one."""
    return str(getattr(contrast, "name", type(contrast).__name__))[:100]


def _evaluated(contrast: Contrast, theta: Floats, X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Call a contrast and check what it returns."""
    parts = contrast.value_and_gradient(theta.copy(), X, y)
    try:
        values, gradients = (np.asarray(part, dtype=np.float64) for part in parts)
    except (TypeError, ValueError):
        values, gradients = np.empty(0), np.empty(0)
    expected = ((len(X),), (len(X), len(theta)))
    if (values.shape, gradients.shape) != expected:
        raise ContrastError(
            f"Contrast {_called(contrast)!r} must return values of shape {expected[0]} and gradients of shape "
            f"{expected[1]}; found {values.shape} and {gradients.shape}. Return one row a point."
        )
    if not (np.isfinite(values).all() and np.isfinite(gradients).all()):
        raise ContrastError(
            f"Contrast {_called(contrast)!r} must be finite for every theta; found values or gradients that are not at "
            f"theta={np.array2string(theta, precision=4, threshold=8)}. Guard its logarithms, roots and exponentials."
        )
    return values, gradients


def _checked_points(X: Floats, y: Floats | None, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return points, responses and weights as float arrays of matching shapes."""
    X, weights = np.asarray(X, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    m = len(weights) if weights.ndim == 1 else -1
    y = np.zeros(max(m, 0)) if y is None else np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or len(X) != m or y.shape != (m,):
        raise ContrastError(
            "X, y and weights must have shapes (m, p), (m,) and (m,); "
            f"found {X.shape}, {y.shape} and {weights.shape}. Pass one row a point."
        )
    if not ((weights >= 0.0) & (weights < np.inf)).all():
        raise ContrastError("weights must be nonnegative and finite; found some that are not. Clip them at zero.")
    for name, cells in (("X", X), ("y", y)):
        if not (np.abs(cells).max(initial=0.0) < LARGEST):
            raise ContrastError(f"{name} must be finite and below {LARGEST:g} in size; found cells that are not.")
    return X, y, weights


def _checked_start(start: Floats, q: int) -> Floats:
    """Return the start as a finite array of its own."""
    begin = np.array(start, dtype=np.float64)
    if begin.shape != (q,) or not np.isfinite(begin).all():
        raise ContrastError(f"start must hold {q} finite parameters; found shape {begin.shape}. Pass one a parameter.")
    return begin


def _penalty(contrast: Contrast, q: int, ridge: float, penalized: Bools | None) -> Floats:
    """Return the ridge of each parameter."""
    if not 0.0 <= ridge < LARGEST:
        raise ContrastError(f"ridge must be nonnegative and finite; found ridge={ridge}. Pass such a number.")
    if penalized is None:
        mask = contrast._penalized(q) if isinstance(contrast, Solved) else np.ones(q, dtype=np.bool_)
    else:
        mask = np.asarray(penalized, dtype=np.bool_)
    if mask.shape != (q,):
        raise ContrastError(f"penalized must hold {q} booleans; found shape {mask.shape}. Pass one a parameter.")
    return np.where(mask, float(ridge), 0.0)
