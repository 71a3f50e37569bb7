"""The cells of a column on the grid of its bounds, in one pass of compiled code: the steps of `grid_cells`."""

import numba
import numpy as np

# Without `fastmath`, so that each step is rounded as IEEE 754 has it, in this order.
_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)

LARGEST = 1.7976931348623157e308


@_compile
def write_cells(values, bounds, scale, drops, missing, cells):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Clip, center, scale, round; what is not finite, and if `drops` what is out of bounds, is `missing`, or 0 if NaN.

    Takes as long whatever the cells are. Shapes: values, cells (n,).
    """
    (lower, upper), (center, half) = bounds, scale
    of_missing = _step(missing, lower, upper, center, half) if abs(missing) <= LARGEST else 0.0
    for i in range(len(values)):
        value = float(values[i])
        is_missing = (not abs(value) <= LARGEST) or (drops and (value < lower or value > upper))
        step = _step(0.0 if is_missing else value, lower, upper, center, half)
        cells[i] = np.int16(of_missing if is_missing else step)


@_compile
def _step(value, lower, upper, center, half):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Return the cell of a number."""
    return np.rint(min(max((min(max(value, lower), upper) - center) / half, -1.0), 1.0) * 32767.0)
