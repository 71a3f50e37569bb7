"""Models as integers, bit j set where unit j is in, and as arrays of bits; any number of units."""

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]


def bits_of(mask: int, length: int) -> Bits:
    """Return the bits of an integer, the lowest first.

    Examples
    --------
    >>> bits_of(5, 3)[:3]
    array([1, 0, 1], dtype=uint8)
    """
    n_bytes = (max(length, mask.bit_length()) + 7) // 8
    return np.unpackbits(np.frombuffer(mask.to_bytes(n_bytes, "little"), dtype=np.uint8), bitorder="little")


def mask_of(bits: Bits) -> int:
    """Return the integer that has these bits, the lowest first.

    Examples
    --------
    >>> mask_of(np.array([1, 0, 1], dtype=np.uint8))
    5
    """
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
