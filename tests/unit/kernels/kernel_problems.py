"""Tables that are hard for a solver, and two solvers that share nothing with the kernels."""

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MAX_ROWS = 2**33 - 1


def simulated(seed: int) -> Any:
    """Data to try a solver on."""
    return np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise


def _uniform(rng: Any, n: int, p: int) -> Floats:
    return rng.uniform(-1.0, 1.0, (n, p))


def _duplicated(rng: Any, n: int, p: int) -> Floats:
    X = _uniform(rng, n, p)
    X[:, p // 2 :] = X[:, : p - p // 2]
    return X


def _opposite(rng: Any, n: int, p: int) -> Floats:
    X = _duplicated(rng, n, p)
    X[:, p // 2 :] *= -1.0
    return X


def _zero_column(rng: Any, n: int, p: int) -> Floats:
    X = _uniform(rng, n, p)
    X[:, [0, -1]] = 0.0
    return X


def _dummies(rng: Any, n: int, p: int) -> Floats:
    X = np.ones((n, p))
    X[:, 1:] = np.eye(p - 1)[rng.integers(0, p - 1, n)]
    return X


def _autoregressive(rng: Any, n: int, p: int) -> Floats:
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.99 * X[:, j - 1] + np.sqrt(1 - 0.99**2) * X[:, j]
    return np.clip(X / 4.0, -1.0, 1.0)


def _nearly_equal(rng: Any, n: int, p: int) -> Floats:
    return np.clip(_uniform(rng, n, 1) + 1e-4 * _uniform(rng, n, p), -1.0, 1.0)


def _signs(rng: Any, n: int, p: int) -> Floats:
    return rng.integers(-1, 2, (n, p)).astype(np.float64)


DESIGNS: dict[str, Callable[[Any, int, int], Floats]] = {
    "uniform": _uniform,
    "duplicated": _duplicated,
    "opposite": _opposite,
    "zero column": _zero_column,
    "dummies and constant": _dummies,
    "autoregressive": _autoregressive,
    "nearly equal": _nearly_equal,
    "signs": _signs,
}


def problem(
    design: str, n: int, p: int, seed: int = 0, times: float = 1.0, y: str = "linear"
) -> tuple[Floats, Floats, float]:
    """X'X, X'y and y'y of cells on the grid of 1 / 32767, every row as often as `times` says."""
    rng = simulated(seed)
    X = np.rint(DESIGNS[design](rng, n, p) * 32767) / 32767
    effects = np.where(np.arange(p) < 3, rng.uniform(0.3, 0.9, p) * np.sign(rng.uniform(-1, 1, p)), 0.0)
    target = {"linear": X @ effects + 0.2 * rng.uniform(-1, 1, n), "zero": np.zeros(n), "noise": rng.uniform(-1, 1, n)}
    clipped = np.rint(np.clip(target[y], -1.0, 1.0) * 32767) / 32767
    return X.T @ X * times, X.T @ clipped * times, float(clipped @ clipped) * times


def stated_tolerance(radius: float) -> float:
    """The largest gap that privacy specification 1.6 allows, at r = 1."""
    return 1e-4 * (1.0 + radius) ** 2


def rounding(n: float, p: int, radius: float) -> float:
    """The error of evaluating a score, privacy specification 1.6, at r = 1."""
    return 2.0 * (p + 6) * 2.0**-53 * n * (1.0 + radius) ** 2


def _without_twins(gram: Floats) -> Bools:
    """Columns that are neither zero nor, up to sign, an earlier one: the ball makes no difference between twins."""
    size = gram.diagonal()
    twin = (np.abs(gram) >= size[:, None] * (1 - 1e-12)) & (np.abs(gram) >= size[None, :] * (1 - 1e-12))
    return (size > 0.0) & ~np.tril(twin, -1).any(axis=1)


def optimum_by_path(gram: Floats, xty: Floats, radius: float) -> float:
    """The optimum by least angle regression: between two knots the lasso path is straight."""
    kept = _without_twins(gram)
    gram, xty = gram[np.ix_(kept, kept)], xty[kept]
    if not xty.any():
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it drops what is linearly dependent
        _, _, path = lars_path_gram(xty, gram, n_samples=1, method="lasso", copy_Gram=True)
    norms = np.abs(path).sum(axis=0)
    if radius >= norms[-1]:
        point = path[:, -1]
    else:
        k = int(np.searchsorted(norms, radius, side="right"))
        share = (radius - norms[k - 1]) / (norms[k] - norms[k - 1])
        point = path[:, k - 1] + share * (path[:, k] - path[:, k - 1])
    return float(point @ gram @ point - 2.0 * xty @ point)


def optimum_by_enumeration(gram: Floats, xty: Floats, radius: float) -> float:
    """The optimum over every face of the ball, each by its own linear system; for a few columns."""
    gram, best = gram * radius, 0.0  # in units of the radius
    for signs in product((-1.0, 0.0, 1.0), repeat=len(xty)):
        sign = np.array(signs)
        on = np.flatnonzero(sign)
        if on.size == 0:
            continue
        inner = gram[np.ix_(on, on)]
        border = np.block([[inner, sign[on, None]], [sign[None, on], np.zeros((1, 1))]])
        found = np.linalg.lstsq(inner, xty[on], rcond=1e-13)[0]
        if np.abs(found).sum() > 1.0:
            found = np.linalg.lstsq(border, np.append(xty[on], 1.0), rcond=1e-13)[0][:-1]
        norm = np.abs(found).sum()
        if norm <= 1.0 + 1e-6:
            point = found / max(1.0, norm)
            best = min(best, float(point @ inner @ point - 2.0 * xty[on] @ point))
    return best * radius
