"""Sums of 64-bit integers that cannot overflow, whatever is added and however often."""

import numpy as np

from discreet.typing import Integers

_LOW = np.int64(2**32 - 1)
_LEAST, _MOST = -(2**31), 2**31 - 1
"""What the upper half of a 64-bit integer can be."""


class ExactSum:
    """The sum of arrays of int64, exact within 95 bits and clipped once to what 64 hold.

    Parameters
    ----------
    start : ndarray of int64
        The sum of nothing: zeros, of any shape.

    Notes
    -----
    To clip a sum to a fixed interval moves no two sums further apart, so that what one row changes stays within what it
    adds, however many rows there are. Sums of clipped sums are private for the same reason. Without clipping an
    overflow would carry a sum from one end of the integers to the other: a row more could then change it by 2^64. Up to
    2^31 - 1 arrays.

    References
    ----------
    Privacy specification 8.1 (checked addition).

    Examples
    --------
    >>> total = ExactSum(np.zeros(2, dtype=np.int64))
    >>> for _ in range(3):
    ...     total.add(np.array([2**62, -5]))
    >>> total.value()
    array([9223372036854775807,                 -15])
    """

    def __init__(self, start: Integers) -> None:
        # x = high 2^32 + low with 0 <= low < 2^32, for a negative x too, as >> rounds down. Each part adds less than
        # 2^32 to the low sums: 2^31 of them fit.
        self._low = start & _LOW
        self._high = start >> 32

    def add(self, part: Integers) -> None:
        """Add an array."""
        self._low += part & _LOW
        self._high += part >> 32

    def value(self) -> Integers:
        """Return the sum, clipped to the integers that 64 bits hold."""
        high = self._high + (self._low >> 32)  # with the carries: the sum is high 2^32 + low
        total = (np.clip(high, _LEAST, _MOST) << 32) | (self._low & _LOW)
        limits = np.iinfo(np.int64)
        total = np.where(high > _MOST, limits.max, total)
        return np.asarray(np.where(high < _LEAST, limits.min, total), dtype=np.int64)
