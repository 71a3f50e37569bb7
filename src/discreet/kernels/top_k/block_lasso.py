"""The columns that the lasso selects on one block of rows: a function of the rows as a set, whatever their order."""

import importlib

import numpy as np
import numpy.typing as npt

from discreet.typing import Cells

Places = npt.NDArray[np.int64]

MAX_STEPS = 1000
"""Passes of coordinate descent; a block that needs more stops there without a warning, which would depend on rows."""

GAP = 1e-4
"""Duality gap at which the descent ends, as a share of the target's sum of squares."""


def named_by_lasso(cells: Cells, k: int, alpha: float) -> Places:
    """Return the places of the k columns with the largest coefficients of a lasso on standardized columns, increasing.

    None where the rows do not allow a fit; never a constant, and of equal coefficients the first. Cost: O(n d) a pass.
    Source: Friedman, Hastie, Tibshirani 2010, Regularization paths for generalized linear models via coordinate
    descent; Kifer, Smith, Thakurta 2012, section 3; Swope et al. 2024, section 4. Shapes: cells (n_rows, d + 1).
    """
    nothing = np.empty(0, dtype=np.int64)
    if len(cells) < 2:
        return nothing
    values = _sorted_rows(cells).astype(np.float64)  # one order of equal rows, so that equal rows give equal bits
    values -= values.mean(axis=0)
    spread = np.sqrt(np.einsum("ij,ij->j", values, values) / len(values))
    if spread[-1] == 0.0:
        return nothing
    values /= np.where(spread > 0.0, spread, 1.0)
    features = np.asfortranarray(values[:, :-1])
    # Loading the compiler takes half a second: whoever imports this module does not pay for it.
    descent = importlib.import_module("discreet.kernels.top_k.block_lasso_compiled")
    sizes = np.abs(descent.lasso(features, values[:, -1].copy(), alpha * len(values), MAX_STEPS, GAP))
    if not np.isfinite(sizes).all():
        return nothing
    best = np.argsort(-sizes, kind="stable")[:k]
    return np.sort(best[sizes[best] > 0.0]).astype(np.int64)


def _sorted_rows(cells: Cells) -> Cells:
    """Return the rows in the order of their bytes."""
    rows = np.ascontiguousarray(cells)
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    ordered: Cells = rows[np.argsort(keys, kind="stable")]
    return ordered
