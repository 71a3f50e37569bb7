"""Numbers as people write them, for every message, report and page."""

from decimal import Decimal

MOST_DIGITS = 14
"""Longest number that is written without an exponent."""


def plain(value: float, digits: int = 6) -> str:
    """Return a number to at most `digits` significant digits, without an exponent unless it would be long.

    Examples
    --------
    >>> plain(1.0), plain(1e-6), plain(2.25e-6), plain(1234567.8), plain(1e-30), plain(float("inf"))
    ('1', '0.000001', '0.00000225', '1234570', '1e-30', 'inf')
    """
    text = f"{value:.{digits}g}"
    written = f"{Decimal(text):f}" if "e" in text else text
    return written if len(written) <= MOST_DIGITS else text
