"""What a row adds to `precise_sums`, in compiled code: its steps are rounded as IEEE 754 has it, in their order.

Lines are those of `row_sums_compiled`.
"""

import numba
import numpy as np

from discreet.kernels.rows.whole_products_compiled import add_upper_products, multiply

# Without `fastmath`, so that nothing is contracted or reordered.
_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)

GRID = 32767
NODES_A_UNIT = GRID / 32.0
DIGIT = 32768.0


@_compile
def add_rows(cells, pieces, responses, limbs, scales, lines, rows, total):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add each digit of residuals times columns in line 0, of weighted products on and above the diagonal.

    Scales: what the second and the third limb's unit is in the first's, and a piece's size. Shapes: cells (p + 1, n),
    pieces: starts and rises, (r,), responses (2 GRID + 1, 4), limbs (4, q), lines (3, q, k),
    rows (5, k), total (4, q, q).
    """
    p, x, digits = len(cells) - 1, lines[0], lines[2]
    for start in range(0, cells.shape[1], lines.shape[2]):
        m = min(lines.shape[2], cells.shape[1] - start)
        for j in range(p):
            for i in range(m):
                x[j + 1, i] = cells[j, start + i]
        multiply(limbs, x, lines[1], m)
        _locate(pieces, scales, m, lines[1], rows)
        rest, weights, first = rows[0], rows[1], rows[2]
        for j in range(1, p + 1):
            for i in range(m):
                lines[1, j, i] = x[j, i] * weights[i]
        for k in range(4):
            for i in range(m):
                digit = first[i] if k == 0 else np.rint(rest[i])
                if k > 0:
                    rest[i] = (rest[i] - digit) * DIGIT
                digits[0, i] = responses[int(cells[p, start + i]) + GRID, k] - digit
            for j in range(1, p + 1 if k < 3 else 1):
                for i in range(m):
                    digit = np.rint(lines[1, j, i])
                    digits[j, i] = digit
                    lines[1, j, i] = (lines[1, j, i] - digit) * DIGIT
            # Digits of no more than 2^15 times cells: a few rows' are below 2^39.
            add_upper_products(digits if k < 3 else digits[:4], x, m, total[k])


@_compile
def _locate(pieces, scales, m, products, rows):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Write the rest of a mean below its first digit, the slope and the first digit, from products with limbs."""
    (starts, rises), (second, third, size) = pieces, scales
    rest, weights, first = rows[0], rows[1], rows[2]
    middle, last = float(len(starts) // 2), float(len(starts) - 1)
    for i in range(m):
        offset = products[1, i] * second + products[2, i] * third
        piece = np.floor((products[0, i] + offset) / size)
        at = int(min(max(piece + middle, 0.0), last))
        # The difference is exact; beside a node it may lie a rounding outside the piece, where the line goes on.
        small = rises[at] * (((products[0, i] - piece * size) + offset) / size)
        weights[i] = rises[at] * NODES_A_UNIT
        first[i] = np.rint((starts[at] + small) * DIGIT)
        # Of the order of a digit: nothing of `small` is lost.
        rest[i] = ((starts[at] - first[i] / DIGIT) + small) * (DIGIT * DIGIT)
