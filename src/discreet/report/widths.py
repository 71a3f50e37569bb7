"""Texts in the columns of a terminal: how wide they are, and what is shown of one that is too long."""

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


def _cells(mark: str) -> int:
    if unicodedata.combining(mark):
        return 0
    return 2 if unicodedata.east_asian_width(mark) in ("W", "F") else 1
