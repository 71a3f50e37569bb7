"""Numbers and names as people read them; no escaping for a format, no sentences."""

import json
import math
import re
import unicodedata
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from discreet.digits import plain

_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_NO_CHARACTERS = "\ufffe\uffff"  # XML cannot hold them, and the renderer of pictures ends its process at one
_PLAIN_NAME = re.compile(r"[\w.\-]+")


def visible(text: object) -> str:
    r"""Return a text whose control, format and direction characters are written out.

    One line, safe for a terminal; a newline is written ``\n``.

    Examples
    --------
    >>> print(visible("a\nb"))
    a\nb
    """
    return "".join(
        mark.encode("unicode_escape").decode()
        if unicodedata.category(mark) in _INVISIBLE or mark in _NO_CHARACTERS
        else mark
        for mark in str(text)
    )


def number(value: float, digits: int = 6) -> str:
    """Return a number in few digits: whole numbers whole, others to `digits` significant ones.

    Such as ``1``, ``0.5`` or ``0.00000225``.

    Examples
    --------
    >>> number(1.0), number(0.1 + 0.2), number(2.25e-6), number(1234567.8)
    ('1', '0.3', '0.00000225', '1234568')
    """
    if math.isfinite(value) and abs(value) < 1e15 and (value == int(value) or abs(value) >= 10**digits):
        return f"{value:.0f}"
    return plain(value, digits)


def at_most(value: float, digits: int = 6) -> str:
    """Return a number rounded up, so that what is printed never promises more than what holds.

    As `number` writes it.

    Examples
    --------
    >>> at_most(0.1 + 0.2), at_most(2.718281, 3)
    ('0.3', '2.72')
    """
    return number(_rounded(value, digits, ROUND_CEILING), digits)


def at_least(value: float, digits: int = 6) -> str:
    """Return a number rounded down, for what is left or allowed.

    As `number` writes it.

    Examples
    --------
    >>> at_least(2.718281, 3)
    '2.71'
    """
    return number(_rounded(value, digits, ROUND_FLOOR), digits)


def thousands(text: str) -> str:
    """Return a decimal number with its thousands apart.

    Examples
    --------
    >>> thousands("1234567.25"), thousands("-1234"), thousands("-0.5"), thousands("1e+30")
    ('1,234,567.25', '-1,234', '-0.5', '1e+30')
    """
    sign = "-" if text.startswith("-") else ""
    whole, point, rest = text.removeprefix("-").partition(".")
    return f"{sign}{int(whole):,}{point}{rest}" if whole.isdecimal() else text


def short(value: float) -> str:
    """Return a number to three significant digits, its thousands apart, without an exponent unless that is long.

    Examples
    --------
    >>> short(15337.3), short(0.05), short(4.0), short(2.5e-12)
    ('15,300', '0.05', '4', '2.5e-12')
    """
    return thousands(plain(value, 3))


def _rounded(value: float, digits: int, rounding: str) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    decimal = Decimal(f"{value:.12g}")  # the last bits of a float sum are no cost
    return float(decimal.quantize(Decimal(1).scaleb(decimal.adjusted() - digits + 1), rounding))


def percent(probability: float) -> str:
    """Return a probability in percent, to three digits; what is nearly sure is not rounded to certainty.

    Such as ``2.67%`` or ``>99.9%``.

    Examples
    --------
    >>> percent(0.0267), percent(0.01), percent(0.99999)
    ('2.67%', '1.00%', '>99.9%')
    """
    return ">99.9%" if probability > 0.999 else f"{100 * probability:#.3g}%"


def percent_at_most(probability: float) -> str:
    """Return a probability in percent, rounded up to three digits.

    As `percent` writes it.

    Examples
    --------
    >>> percent_at_most(0.73106), percent_at_most(0.01), percent_at_most(0.99999)
    ('73.2%', '1.00%', '>99.9%')
    """
    return percent(probability if probability > 0.999 else _rounded(100 * probability, 3, ROUND_CEILING) / 100)


def part(share: float) -> str:
    """Return a share of a whole in whole percent; what is nearly nothing or nearly all is not rounded to it.

    Such as ``31%``, ``<1%`` or ``>99%``.

    Examples
    --------
    >>> part(0.314), part(0.0), part(0.001), part(0.9999)
    ('31%', '0%', '<1%', '>99%')
    """
    if math.isnan(share):
        return "unknown"
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{100 * share:.0f}%"


def one_in(chance: float) -> str:
    """Return a small chance as one in so many, rounded so that it is not told smaller than it is.

    Such as ``1 in 1,000,000``; a chance of 1% or more in percent.

    Examples
    --------
    >>> one_in(1e-6), one_in(2.25e-6), one_in(0.0), one_in(0.05)
    ('1 in 1,000,000', '1 in 444,000', 'none', '5.00%')
    """
    if chance >= 0.01:
        return percent(chance)
    return f"1 in {count(int(_rounded(1 / chance, 3, ROUND_FLOOR)))}" if chance > 0 else "none"


def alike(values: Sequence[float], spread: float) -> list[str]:
    """Return numbers with the same number of decimals, as many as their spread makes meaningful.

    Their texts; very small ones to three significant digits.

    Examples
    --------
    >>> alike([1.23456, 1.1, 1.4], 0.15), alike([123456.0, 0.0], 2500.0), alike([2e-9, -1e-9], 3e-9)
    (['1.23', '1.10', '1.40'], ['123500', '0'], ['0.000000002', '-0.000000001'])
    """
    if not (math.isfinite(spread) and 1e-6 < spread < 1e9 and all(abs(value) < 1e12 for value in values)):
        return [number(value, 3) for value in values]
    decimals = 1 - math.floor(math.log10(spread))
    return [f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}" for value in values]


def count(value: int) -> str:
    """Return a count with its thousands apart, or its size when it is too long to read.

    Such as ``1,048,576`` or ``about 1.13e+15``.

    Examples
    --------
    >>> count(32), count(2**20), count(2**50)
    ('32', '1,048,576', 'about 1.13e+15')
    """
    return f"{value:,}" if value < 10**12 else f"about {Decimal(value):.3g}"


def setting(value: Any) -> str:
    """Return a public parameter's value as one short text.

    Its text.

    Examples
    --------
    >>> setting(None), setting(20000.0), setting(["a", "b"])
    ('none', '20,000', '["a", "b"]')
    """
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return thousands(number(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def series(texts: Sequence[str]) -> str:
    """Return texts as a list in a sentence; semicolons part them where a text holds a comma or an "and".

    Examples
    --------
    >>> series(["age in years", "sex", "income"]), series(["age", "food and rent"])
    ('age in years, sex and income', 'age; food and rent')
    """
    if any(mark in text for text in texts for mark in (",", ";", " and ")):
        return "; ".join(texts)
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, its end left out if need be: after a word where there is one.

    Examples
    --------
    >>> shortened("abcdef", 4), shortened("visits to a doctor", 16)
    ('a...', 'visits to a...')
    """
    if len(text) <= limit:
        return text
    start = text[: limit - 3]
    words = start if text[limit - 3].isspace() else start.rpartition(" ")[0]
    return (words if len(words) > limit // 2 else start).rstrip(" ,;:") + "..."


def titled(name: str, description: str | None) -> str:
    """Return how a title calls a column: by what it is, where that is declared, else by its name.

    Examples
    --------
    >>> titled("mdvis", "Visits to a doctor."), titled("mdvis", None)
    ('Visits to a doctor', 'mdvis')
    """
    text = (description or "").strip().removesuffix(".")
    return shortened(text or name, 60 if text else 40)


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence; a name with spaces or marks in it stands in quotes.

    Such as ``a, b and "c d"``.

    Examples
    --------
    >>> listed(["a", "b", "c d"])
    'a, b and "c d"'
    """
    shown = [name if _PLAIN_NAME.fullmatch(name) else f'"{name}"' for name in map(visible, names)]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
