"""Exact second moments of a block in compiled code: each product of two columns once."""

import numba

from discreet.kernels.rows.whole_products_compiled import add_upper_products


@numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def add_moments(cells, lines, total):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Add products on and above the diagonal. Shapes: cells (p, n), lines (q, k), total (q, q)."""
    for start in range(0, cells.shape[1], lines.shape[1]):
        m = min(lines.shape[1], cells.shape[1] - start)
        for j in range(len(cells)):
            for i in range(m):
                lines[j, i] = cells[j, start + i]
        add_upper_products(lines, lines, m, total)  # below 2^30, those of a few rows below 2^40 (8.1)
