"""What a row adds to the sums of a regression, column by column and block by block, in compiled code.

Each number is rounded as IEEE 754 has it, by the operations that stand here in their order: a row's part is the same
bits in any block. Rows are columns of the arrays, so that a block stays in the processor's cache.
"""

import numba
import numpy as np

# Without `fastmath`, so that nothing is contracted or reordered.
_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)

GRID = 32767
WEIGHT_ONE = 32768.0
FURTHEST = 2.0**22
"""A coordinate is clipped here, in steps: 128 times the length."""
LONGEST = GRID * (1.0 - 2.0**-40)
"""Of a row in steps; the hair covers the rounding of a length."""


@_compile
def look_up(predictors, cells, scale, first, response, mean, weight, residuals, weights):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Write residuals, clipped, and weights of linear predictors from public tables. Shapes: all of rows (m,)."""
    last = float(len(mean) - 1)
    for i in range(len(predictors)):
        place = int(min(max(np.rint(predictors[i] * scale) - first, 0.0), last))
        residual = response[int(cells[i]) + GRID] - mean[place]
        residuals[i] = min(max(residual, -float(GRID)), float(GRID))
        weights[i] = weight[place]


@_compile
def shorten(rows, scale, squares, parts):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Scale rows to whole steps and shorten those that are longer than GRID; in place.

    Squared lengths, before that, and what part is left of each are written too.
    Shapes: rows (p, m), squares, parts (m,).
    """
    p, m = rows.shape
    for i in range(m):
        squares[i] = 0
    for j in range(p):
        for i in range(m):
            step = np.trunc(min(max(rows[j, i] * scale, -FURTHEST), FURTHEST))
            rows[j, i] = step
            squares[i] += np.int64(step) * np.int64(step)
    for i in range(m):
        parts[i] = min(LONGEST / np.sqrt(float(max(squares[i], 1))), 1.0)
    for j in range(p):
        for i in range(m):
            rows[j, i] = np.trunc(rows[j, i] * parts[i])


@_compile
def weigh(rows, weights, residuals, products):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Write what each row is multiplied by: its weighted columns, cut to whole numbers, and its residual.

    Shapes: rows (p, m), weights, residuals (m,), products (p + 1, m).
    """
    p, m = rows.shape
    for j in range(p):
        for i in range(m):
            # An integer of 15 bits times one of 16 is exact, and so is a shift; what is cut off is below one unit.
            products[j, i] = np.trunc(rows[j, i] * (weights[i] / WEIGHT_ONE))
    for i in range(m):
        products[p, i] = residuals[i]
