"""Products of whole numbers below 2^53 in float64, in compiled code: exact, so in any order and with any rounding.

Lines of a matrix are taken four at a time: their number is a multiple of 4, and those beyond the last are zero.
"""

import numba

# Whole numbers alone: sums may be reordered and contracted, which changes no bit of what is exact.
_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False, fastmath={"reassoc", "contract", "nsz"})


@_compile
def multiply(matrix, x, z, m):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Write matrix x of m columns. Shapes: matrix (q, p), x (p, at least m), z (q, at least m)."""
    for j in range(0, matrix.shape[0], 4):
        z0, z1, z2, z3 = z[j], z[j + 1], z[j + 2], z[j + 3]
        for i in range(m):
            z0[i] = z1[i] = z2[i] = z3[i] = 0.0
        for k in range(0, matrix.shape[1], 4):
            _add_four(matrix[j : j + 4, k : k + 4], (x[k], x[k + 1], x[k + 2], x[k + 3]), (z0, z1, z2, z3), m)


@_compile
def _add_four(matrix, x, z, m):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add to four lines of z what four of x contribute."""
    (x0, x1, x2, x3), (z0, z1, z2, z3) = x, z
    a0, a1, a2, a3 = matrix[0, 0], matrix[0, 1], matrix[0, 2], matrix[0, 3]
    b0, b1, b2, b3 = matrix[1, 0], matrix[1, 1], matrix[1, 2], matrix[1, 3]
    c0, c1, c2, c3 = matrix[2, 0], matrix[2, 1], matrix[2, 2], matrix[2, 3]
    d0, d1, d2, d3 = matrix[3, 0], matrix[3, 1], matrix[3, 2], matrix[3, 3]
    for i in range(m):
        u, v, w, t = x0[i], x1[i], x2[i], x3[i]
        z0[i] += a0 * u + a1 * v + a2 * w + a3 * t
        z1[i] += b0 * u + b1 * v + b2 * w + b3 * t
        z2[i] += c0 * u + c1 * v + c2 * w + c3 * t
        z3[i] += d0 * u + d1 * v + d2 * w + d3 * t


@_compile
def add_upper_products(x, z, m, total):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add to a matrix of integers x z' on and above the diagonal; below it, what it was or something.

    Of x there may be leading lines alone. Shapes: x (at most p, at least m), z (p, at least m), total (p, p).
    """
    for k in range(0, z.shape[0], 4):
        for j in range(0, min(k + 4, x.shape[0]), 4):
            _add_square((x[j], x[j + 1], x[j + 2], x[j + 3]), (z[k], z[k + 1], z[k + 2], z[k + 3]), m, total, j, k)


@_compile
def _add_square(x, z, m, total, j, k):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add the products of four lines with four: the sums stay in registers."""
    (x0, x1, x2, x3), (z0, z1, z2, z3) = x, z
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = 0.0
    for i in range(m):
        u, v, w, t = z0[i], z1[i], z2[i], z3[i]
        a0 += x0[i] * u
        a1 += x0[i] * v
        a2 += x0[i] * w
        a3 += x0[i] * t
        b0 += x1[i] * u
        b1 += x1[i] * v
        b2 += x1[i] * w
        b3 += x1[i] * t
        c0 += x2[i] * u
        c1 += x2[i] * v
        c2 += x2[i] * w
        c3 += x2[i] * t
        d0 += x3[i] * u
        d1 += x3[i] * v
        d2 += x3[i] * w
        d3 += x3[i] * t
    for row, sums in enumerate(((a0, a1, a2, a3), (b0, b1, b2, b3), (c0, c1, c2, c3), (d0, d1, d2, d3))):
        for column, value in enumerate(sums):
            total[j + row, k + column] += int(value)
