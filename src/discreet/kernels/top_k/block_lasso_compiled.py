"""Coordinate descent for the lasso of one block, compiled once and kept on disk.

It neither allocates Python objects nor warns: a warning that a block did not converge would depend on its rows, and
warnings can only be silenced for all threads of a process.
"""

import numba
import numpy as np

from discreet.typing import Floats

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")


def lasso(features: Floats, target: Floats, penalty: float, max_steps: int, gap: float) -> Floats:
    """Return the minimizer of ||y - Xb||^2 / 2 + penalty ||b||_1, or the point that `max_steps` passes reach.

    Shapes: features (n_rows, d), target (n_rows,); returns (d,).
    """
    coefficients = np.zeros(features.shape[1])
    _descend(features, target, penalty, max_steps, gap * float(target @ target), coefficients)
    return coefficients


@_compile
def _descend(features, residual, penalty, max_steps, least_gap, b):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    n, d = features.shape
    for _ in range(max_steps):
        largest, moved = 0.0, 0.0
        for j in range(d):
            column, old = features[:, j], b[j]
            square = _product(column, column)
            if not square > 0.0:
                continue
            pull = _product(column, residual) + square * old
            # Soft thresholding: the minimum over b_j alone.
            b[j] = np.sign(pull) * max(abs(pull) - penalty, 0.0) / square
            if b[j] != old:
                for i in range(n):
                    residual[i] -= (b[j] - old) * column[i]
            largest, moved = max(largest, abs(b[j])), max(moved, abs(b[j] - old))
        if moved <= 1e-4 * largest and _gap(features, residual, penalty, b) <= least_gap:
            return


@_compile
def _gap(features, residual, penalty, b):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the duality gap, the residual scaled until no column's product with it exceeds the penalty."""
    most, norm = 0.0, 0.0
    for j in range(len(b)):
        most, norm = max(most, abs(_product(features[:, j], residual))), norm + abs(b[j])
    scale, square = min(1.0, penalty / most) if most > 0.0 else 1.0, _product(residual, residual)
    # y'r = ||r||^2 + b'X'r, and y = r + Xb: all from what is at hand.
    cross = square
    for j in range(len(b)):
        cross += b[j] * _product(features[:, j], residual)
    # Primal r'r / 2 + penalty |b|_1 less the dual y'u - u'u / 2 at u = scale r, where |x_j'u| <= penalty.
    return 0.5 * square + penalty * norm - scale * cross + 0.5 * scale * scale * square


@_compile
def _product(u, v):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    total = 0.0
    for i in range(len(u)):
        total += u[i] * v[i]
    return total
