"""What a row adds to the sums of a regression, in compiled code: one pass over a block, a few rows at a time.

Each number is rounded as IEEE 754 has it, by the operations that stand here in their order: a row's part is the same
bits in any block. Rows are columns of the arrays, so that a few of them stay in the processor's cache. Lines are those
of the columns, from 1 on, then zeros up to a multiple of 4; line 0 is what each function says.
"""

import numba
import numpy as np

from discreet.kernels.rows.whole_products_compiled import add_upper_products, multiply

# Without `fastmath`, so that nothing is contracted or reordered.
_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)

GRID = 32767
WEIGHT_ONE = 32768.0
FURTHEST = 2.0**22
"""A coordinate is clipped here, in steps: 128 times the length."""


@_compile
def add_rows(cells, beside, tables, matrix, scales, facts, longest, lines, rows, turn, of_scores, total):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add what rows add to `total`: to the sums of a `RowMap`, or where there is a turn of scores, their squares.

    Shapes: lines (3, q, k), rows (5, k); the rest as of `_weigh`, `_add` and `_square`.
    """
    for start in range(0, cells.shape[1], lines.shape[2]):
        m = min(lines.shape[2], cells.shape[1] - start)
        _weigh(cells, start, m, beside, tables, matrix, scales, facts, longest, lines, rows)
        if len(turn):
            _score(len(cells) - 1, m, lines, rows)
            _square(m, turn, of_scores, longest, lines, rows, total)
        else:
            _add(len(cells) - 1, m, facts[1], lines, rows, total)


@_compile
def _add(p, m, is_turned, lines, rows, total):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add residuals times columns in line 0, and weighted products of columns on and above the diagonal: (q, q)."""
    residuals, weights, parts, lengths = rows[0], rows[1], rows[2], rows[4]
    columns, products = lines[1] if is_turned else lines[0], lines[2]
    for i in range(m):
        # To the nearest integer: no larger, and pushed no way.
        products[0, i] = np.rint(residuals[i] * parts[i])
        weights[i] = np.rint(weights[i] * parts[i]) / WEIGHT_ONE
    for j in range(1, p + 1):
        for i in range(m):
            # An integer of 15 bits times one of 16 is exact, and so is a shift; what is cut off is below one unit.
            column = np.trunc(columns[j, i] * lengths[i])
            columns[j, i], products[j, i] = column, np.trunc(column * weights[i])
    add_upper_products(products, columns, m, total)  # below 2^30, those of a few rows below 2^39 (8.1)


@_compile
def add_directions(cells, beside, tables, matrix, scales, facts, longest, lines, rows, least, total):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add directions of turned rows' scores to the line of their octave: from `least` on, in steps, the last endless.

    Shapes: total (octaves, q); the rest as of `add_rows`.
    """
    p = len(cells) - 1
    for start in range(0, cells.shape[1], lines.shape[2]):
        m = min(lines.shape[2], cells.shape[1] - start)
        _weigh(cells, start, m, beside, tables, matrix, scales, facts, longest, lines, rows)
        z, residuals, parts, squares = lines[1], rows[0], rows[2], rows[3]
        for i in range(m):
            length = np.sqrt(max(squares[i], 1.0))
            size = abs(residuals[i]) * parts[i] * min(length, longest)
            octave, edge = -1, least
            while octave < len(total) - 1 and size >= edge:
                octave += 1
                edge *= 2.0
            if octave >= 0:
                unit = (1.0 if residuals[i] > 0.0 else -1.0) * GRID / length
                for j in range(1, p + 1):
                    total[octave, j] += np.int64(np.trunc(z[j, i] * unit))


@_compile
def write_scores(cells, beside, tables, matrix, scales, facts, longest, lines, rows, scores):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Write scores of rows. Shapes: scores (q, n); the rest as of `add_rows`."""
    for start in range(0, cells.shape[1], lines.shape[2]):
        m = min(lines.shape[2], cells.shape[1] - start)
        _weigh(cells, start, m, beside, tables, matrix, scales, facts, longest, lines, rows)
        _score(len(cells) - 1, m, lines, rows)
        for j in range(1, len(cells)):
            for i in range(m):
                scores[j, start + i] = lines[0, j, i]


@_compile
def add_squares(scores, turn, of_scores, longest, lines, rows, total):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add the products of scores in other coordinates on and above the diagonal, and squared lengths at its start.

    Shapes: scores (q, n), turn (q, q), of_scores: their scale, that of coordinates, the lengths', total (q, q); the
    rest as of `add_rows`.
    """
    for start in range(0, scores.shape[1], lines.shape[2]):
        m = min(lines.shape[2], scores.shape[1] - start)
        for j in range(len(scores)):
            for i in range(m):
                lines[0, j, i] = scores[j, start + i]
        _square(m, turn, of_scores, longest, lines, rows, total)


@_compile
def _score(p, m, lines, rows):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Write residuals times columns of whole rows: a turned one is not shortened, but counts for its length."""
    x, residuals, parts, lengths = lines[0], rows[0], rows[2], rows[4]
    for i in range(m):
        residuals[i] = np.rint(residuals[i] * lengths[i] * parts[i])
    for j in range(1, p + 1):
        for i in range(m):
            x[j, i] *= residuals[i]


@_compile
def _square(m, turn, of_scores, longest, lines, rows, total):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add the squares of m scores, which are the lines of the first array."""
    x, z, squares = lines[0], lines[1], rows[3]
    for j in range(1, len(x)):
        for i in range(m):
            x[j, i] = np.trunc(x[j, i] * of_scores[0])
    # Whole numbers of so few bits that their products are exact: a unit's part does not depend on its place.
    multiply(turn, x, z, m)
    _measure(z, len(x) - 1, m, of_scores[1], longest, squares, rows[4])
    for j in range(1, len(x)):
        for i in range(m):
            z[j, i] = np.trunc(z[j, i] * rows[4, i])
    add_upper_products(z, z, m, total)
    for i in range(m):
        total[0, 0] += np.int64(min(np.floor(squares[i] / of_scores[2]), float(GRID * GRID)))


@_compile
def _weigh(cells, start, m, beside, tables, matrix, scales, facts, longest, lines, rows):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Write columns, predictors with turned columns, residuals, weights, and what part each row counts.

    Scales: of predictors, the tables' first entry, of offsets, of squared lengths, of coordinates, the longest score
    in steps of both. Facts: leading columns that make up a length, whether rows are turned.

    Shapes: cells (p + 1, n), beside: offsets and shares, (n,) or (0,), tables: response, mean, weight, matrix: of the
    predictor, then of the coordinates if any, (q or 4, q).
    """
    (offsets, shares), (response, mean, weight), p = beside, tables, len(cells) - 1
    x, predictors = lines[0], lines[1, 0]
    residuals, weights, parts, squares, lengths = rows[0], rows[1], rows[2], rows[3], rows[4]
    for j in range(p):
        for i in range(m):
            x[j + 1, i] = cells[j, start + i]
    multiply(matrix, x, lines[1], m)  # whole numbers below 2^53
    for i in range(m if len(offsets) else 0):
        predictors[i] += offsets[start + i] * scales[2]
    last = float(len(mean) - 1)
    for i in range(m):
        place = int(min(max(np.rint(predictors[i] * scales[0]) - scales[1], 0.0), last))
        residual = response[int(cells[p, start + i]) + GRID] - mean[place]
        residuals[i] = min(max(residual, -float(GRID)), float(GRID))
        weights[i] = weight[place]
        parts[i] = 1.0
        lengths[i] = 1.0
    if facts[1]:
        _measure(lines[1], p, m, scales[4], longest, squares, lengths)
        for i in range(m):  # a shortened row has so much more of a residual, as long as the score is not too long
            most = np.floor(scales[5] / min(max(np.sqrt(squares[i]), 1.0), longest))
            residuals[i] = min(max(np.rint(residuals[i] / lengths[i]), -most), most)
    for i in range(m if len(shares) else 0):
        parts[i] = shares[start + i] / float(GRID)
    if scales[3] < np.inf:
        squares[:m] = 0.0
        for j in range(1, facts[0] + 1):
            for i in range(m):
                squares[i] += x[j, i] * x[j, i]
        for i in range(m):
            parts[i] *= min(1.0, scales[3] / max(squares[i], 1.0))


@_compile
def _measure(z, p, m, scale, longest, squares, lengths):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Scale m rows to whole steps in place, and write squared lengths and what is left of those beyond `longest`.

    Shapes: z (p + 1, at least m), squares, lengths (at least m,).
    """
    squares[:m] = 0.0
    for j in range(1, p + 1):
        for i in range(m):
            step = np.trunc(min(max(z[j, i] * scale, -FURTHEST), FURTHEST))
            z[j, i] = step
            squares[i] += step * step  # whole below 2^53 for 512 columns; of more, rounded in this order
    for i in range(m):
        lengths[i] = min(longest / np.sqrt(max(squares[i], 1.0)), 1.0)
