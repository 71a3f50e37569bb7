"""How wide texts are, on a terminal and in a picture, and what is shown of one that is too long."""

import unicodedata


def cells(text: str) -> int:
    """Return how many columns a text takes on a terminal.

    Wide characters count two, combining ones none.

    Examples
    --------
    >>> cells("abc"), cells("\u5217")
    (3, 2)
    """
    return sum(_cells(mark) for mark in text)


def cut(text: str, room: int) -> str:
    """Return a text that takes at most `room` columns on a terminal, its end left out if need be.

    The text, or its start and an ellipsis.

    Examples
    --------
    >>> cut("abcdef", 4)
    'a...'
    """
    if cells(text) <= room:
        return text
    start, taken = "", 0
    for mark in text:
        taken += _cells(mark)
        if taken > room - 3:
            break
        start += mark
    return start + "..."


def squeezed(text: str, room: int) -> str:
    """Return a text that takes at most `room` columns, its middle left out if need be.

    The text, or its start, an ellipsis, and its end.

    Examples
    --------
    >>> squeezed("a_long_name_of_12", 10)
    'a_lo..._12'
    """
    if cells(text) <= room:
        return text
    tail = ""
    while cells(text[-len(tail) - 1 :]) <= (room - 3) // 2 and len(tail) < len(text):
        tail = text[-len(tail) - 1 :]
    return cut(text, room - cells(tail)) + tail


_NARROW, _BROAD = frozenset("iljtfrI.,:;'|!()[]{}/\\ -"), frozenset("mwMW@%")


def pixels(text: str) -> float:
    """Return about how many pixels the longest line of a text takes in letters without serifs, 13 pixels high.

    Which font a reader has is not known: these are a common one's, rounded up.

    Examples
    --------
    >>> pixels("ill") < pixels("sea") < pixels("WWW")
    True
    """
    return max(sum(map(_pixels, line)) for line in text.split("\n"))


def _pixels(mark: str) -> float:
    if mark in _NARROW:
        return 4.7
    if mark in _BROAD:
        return 12.0
    return (9.0 if mark.isupper() else 7.4) * _cells(mark) if _cells(mark) < 2 else 13.0


def _cells(mark: str) -> int:
    if unicodedata.combining(mark):
        return 0
    return 2 if unicodedata.east_asian_width(mark) in ("W", "F") else 1
