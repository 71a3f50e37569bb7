"""Numbers and names as people read them; no escaping for a format, no sentences."""

import json
import math
import re
import unicodedata
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_PLAIN_NAME = re.compile(r"[\w.\-]+")


def visible(text: object) -> str:
    r"""Return a text whose control, format and direction characters are written out.

    Parameters
    ----------
    text : object
        Anything with a text form, such as the name of a column.

    Returns
    -------
    str
        One line, safe for a terminal; a newline is written ``\n``.

    Examples
    --------
    >>> print(visible("a\nb"))
    a\nb
    """
    return "".join(
        mark.encode("unicode_escape").decode() if unicodedata.category(mark) in _INVISIBLE else mark
        for mark in str(text)
    )


def number(value: float, digits: int = 6) -> str:
    """Return a number in few digits: whole numbers whole, others to `digits` significant ones.

    Parameters
    ----------
    value : float
        The number.
    digits : int
        Significant digits kept of a number with a fraction.

    Returns
    -------
    str
        Such as ``1``, ``0.5`` or ``2.25e-06``.

    Examples
    --------
    >>> number(1.0), number(0.1 + 0.2), number(2.25e-6), number(1234567.8)
    ('1', '0.3', '2.25e-06', '1234568')
    """
    if math.isfinite(value) and abs(value) < 1e15 and (value == int(value) or abs(value) >= 10**digits):
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def at_most(value: float, digits: int = 6) -> str:
    """Return a number rounded up, so that what is printed never promises more than what holds.

    Parameters
    ----------
    value : float
        A cost, such as epsilon.
    digits : int
        Significant digits kept.

    Returns
    -------
    str
        As `number` writes it.

    Examples
    --------
    >>> at_most(0.1 + 0.2), at_most(2.718281, 3)
    ('0.3', '2.72')
    """
    return number(_rounded(value, digits, ROUND_CEILING), digits)


def at_least(value: float, digits: int = 6) -> str:
    """Return a number rounded down, for what is left or allowed.

    Parameters
    ----------
    value : float
        A budget.
    digits : int
        Significant digits kept.

    Returns
    -------
    str
        As `number` writes it.

    Examples
    --------
    >>> at_least(2.718281, 3)
    '2.71'
    """
    return number(_rounded(value, digits, ROUND_FLOOR), digits)


def _rounded(value: float, digits: int, rounding: str) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    decimal = Decimal(f"{value:.12g}")  # the last bits of a float sum are no cost
    return float(decimal.quantize(Decimal(1).scaleb(decimal.adjusted() - digits + 1), rounding))


def percent(probability: float) -> str:
    """Return a probability in percent, to three digits; what is nearly sure is not rounded to certainty.

    Parameters
    ----------
    probability : float
        In [0, 1].

    Returns
    -------
    str
        Such as ``2.67%`` or ``>99.9%``.

    Examples
    --------
    >>> percent(0.0267), percent(0.01), percent(0.99999)
    ('2.67%', '1.00%', '>99.9%')
    """
    return ">99.9%" if probability > 0.999 else f"{100 * probability:#.3g}%"


def count(value: int) -> str:
    """Return a count with its thousands apart, or its size when it is too long to read.

    Parameters
    ----------
    value : int
        A count.

    Returns
    -------
    str
        Such as ``1,048,576`` or ``about 1.13e+15``.

    Examples
    --------
    >>> count(32), count(2**20), count(2**50)
    ('32', '1,048,576', 'about 1.13e+15')
    """
    return f"{value:,}" if value < 10**12 else f"about {Decimal(value):.3g}"


def setting(value: Any) -> str:
    """Return a public parameter's value as one short text.

    Parameters
    ----------
    value : Any
        Anything that JSON can hold.

    Returns
    -------
    str
        Its text.

    Examples
    --------
    >>> setting(None), setting(2.0), setting(["a", "b"])
    ('none', '2', '["a", "b"]')
    """
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, its end left out if need be.

    Parameters
    ----------
    text : str
        The text.
    limit : int
        Characters allowed.

    Returns
    -------
    str
        The text, or its start and an ellipsis.

    Examples
    --------
    >>> shortened("abcdef", 4)
    'a...'
    """
    return text if len(text) <= limit else text[: limit - 3] + "..."


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence; a name with spaces or marks in it stands in quotes.

    Parameters
    ----------
    names : sequence of str
        The names.

    Returns
    -------
    str
        Such as ``a, b and "c d"``.

    Examples
    --------
    >>> listed(["a", "b", "c d"])
    'a, b and "c d"'
    """
    shown = [name if _PLAIN_NAME.fullmatch(name) else f'"{name}"' for name in map(visible, names)]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
