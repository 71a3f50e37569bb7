"""Pictures of studies: curves, dots and shades of figures got in several ways, in panels."""

from collections.abc import Sequence
from dataclasses import replace
from textwrap import fill
from typing import Any

from discreet.report.drawing import (
    INK,
    PAPER,
    STYLES,
    Key,
    Panel,
    Tick,
    element,
    legend_step,
    panel,
    plain,
    round_ticks,
    rows_panel,
)
from discreet.report.study import Picture, Row
from discreet.report.widths import squeezed
from discreet.report.words import number

SHAPES = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-down")
LEGEND_ROW = 3
MOST_WIDE = 3
"""Panels side by side whose titles fit in one line."""

_SHADES = ((0xB3, 0x59, 0x00), (0xF4, 0xF7, 0xF8), (0x0B, 0x5C, 0x7A))
_ROW = 26
_NAME, _LINE = 60, 38
"""Letters of a selection with its tuning before its middle is left out, and of a line of it."""
_FULL, _LEAST = 700, 150
"""Pixels: a picture's width, and the least of a panel."""
_SMALL, _HIGH, _LABEL, _FURTHER = {"dots": 300, "lines": 240}, 42, 11, 15
"""Pixels: the width of a panel that stands alone, the height of a row with its label above, from its top to the label,
and of each further line of a label: a phone shows all."""
_BANDS = 0.3
"""Opacity of all bands together where they coincide."""


def draw(picture: Picture, rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Return a picture of rows.

    An SVG element, with bands or bars of two standard errors.
    """
    names = [name for name in picture.columns or columns if any(row.column == name for row in rows)]
    shown = [row for row in rows if row.column in names and _agrees(row, picture.where or {})]
    picture = _bounded(picture, shown)
    downs, acrosses = _values(shown, picture.down), _values(shown, picture.across)
    shapes = _shapes(picture, shown, len(acrosses), len(downs))
    grid = [
        [
            _panel(picture, _of(picture, shown, across, down), names, shapes, at == 0, place == len(downs) - 1)
            for at, across in enumerate(acrosses)
        ]
        for place, down in enumerate(downs)
    ]
    for line, down in zip(grid, downs, strict=True):
        for cell, across in zip(line, acrosses, strict=True):
            cell.title(_title(picture, across, down, len(acrosses) > MOST_WIDE))
    keys = _keys(picture, names)
    below = picture.y_title if picture.kind == "dots" else picture.x_title
    room = _SMALL[picture.kind] if _is_alone(picture) else _FULL
    in_row = len(keys) if picture.kind == "heat" else min(LEGEND_ROW, int(room // legend_step(keys)) or 1)
    return element(grid, _spoken(picture, shown, names), keys, max(in_row, 1), below)


def _bounded(picture: Picture, rows: Sequence[Row]) -> Picture:
    """Give all panels the same axis of the figures: the outer ones alone tell its numbers."""
    if picture.kind == "heat":
        return replace(picture, low=picture.low or -1.0, high=picture.high or 1.0)
    spread = [row.value + sign * 2.0 * (row.error or 0.0) for row in rows for sign in (-1.0, 1.0)] or [0.0, 1.0]
    low = min(spread) if picture.low is None else picture.low
    high = max(spread) if picture.high is None else picture.high
    return replace(picture, low=low, high=high if high > low else low + 1.0)


def _agrees(row: Row, settings: Any) -> bool:
    """Whether a row has these settings, as far as it has such settings at all."""
    return all(row.settings.get(name, value) == value for name, value in settings.items())


def _values(rows: Sequence[Row], setting: str | None) -> list[Any]:
    if setting is None:
        return [None]
    return list(dict.fromkeys(row.settings[setting] for row in rows if setting in row.settings)) or [None]


def _of(picture: Picture, rows: Sequence[Row], across: Any, down: Any) -> list[Row]:
    cell_settings = {
        name: value for name, value in ((picture.across, across), (picture.down, down)) if name is not None
    }
    return [row for row in rows if _agrees(row, cell_settings)]


def _title(picture: Picture, across: Any, down: Any, narrow: bool) -> str:
    pairs = ((picture.down, down), (picture.across, across))
    return ("\n" if narrow else ", ").join(_named(name, value) for name, value in pairs if name is not None)


def _named(setting: str, value: Any) -> str:
    return f"{setting} = {value if isinstance(value, str) else number(float(value))}"


def _shapes(picture: Picture, rows: Sequence[Row], n_across: int, n_down: int) -> tuple[int, int]:
    """Pixels of each panel."""
    width = _SMALL[picture.kind] if _is_alone(picture) else max(_FULL // n_across - 24, _LEAST)
    if picture.kind == "lines":
        return width, 240 if n_across * n_down == 1 else 150
    height = _high(picture, rows) if _is_alone(picture) else _ROW
    return width, max(height * len(_values(rows, picture.y if picture.kind == "heat" else picture.x)), 60)


def _is_alone(picture: Picture) -> bool:
    """Whether there is no panel beside; labels of dots then stand above their rows."""
    return picture.kind != "heat" and picture.across is None


def _panel(
    picture: Picture, rows: list[Row], names: list[str], size: tuple[int, int], first: bool, last: bool
) -> Panel:
    if picture.kind == "heat":
        return _heat(picture, rows, size, first, last)
    return (_lines if picture.kind == "lines" else _dots)(picture, rows, names, size, first, last)


def _keys(picture: Picture, names: list[str]) -> list[Key]:
    """One legend above all panels: color, dashes and shape of each way, or what the shades stand for."""
    low, high = picture.low or 0.0, picture.high or 0.0
    if picture.kind == "heat":
        shades = [Key(plain(value), _shade(value, low, high), "square") for value in (low, 0.0, high)]
        return [Key(picture.y_title, INK, ""), *shades]
    if picture.kind == "lines":
        return [Key(fill(name, _LINE), color, dash=dash) for name, (color, dash) in zip(names, STYLES, strict=False)]
    return [
        Key(fill(name, _LINE), color, shape) for name, (color, _), shape in zip(names, STYLES, SHAPES, strict=False)
    ]


def _ends(picture: Picture, row: Row) -> tuple[float, float, float]:
    """Value and two standard errors around it; what lies beyond the axis is drawn at its end."""
    low, high = picture.low or 0.0, picture.high or 0.0
    value = min(max(row.value, low), high)
    reach = 2.0 * (row.error or 0.0)
    return max(value - reach, low), value, min(value + reach, high)


def _lines(
    picture: Picture, rows: list[Row], names: list[str], size: tuple[int, int], first: bool, last: bool
) -> Panel:
    at = [float(row.settings[picture.x]) for row in rows if row.settings.get(picture.x) is not None] or [0.0, 1.0]
    low, high = picture.low or 0.0, picture.high or 0.0
    drawing = panel(*size, (min(at), max(at)), (low, high), log_x=picture.log)
    ticks = [(x, plain(x)) for x in sorted(set(at))] if picture.log else _ticks(min(at), max(at), 4)
    drawing.x_axis(ticks, "", has_labels=last)
    drawing.y_axis(round_ticks(low, high, 5), picture.y_title if first else "", has_labels=first)
    opacity = min(0.12, round(_BANDS / max(len(names), 1), 3))
    for name, (color, dash) in zip(names, STYLES, strict=False):
        of_way = [row for row in rows if row.column == name]
        levels = [_ends(picture, row)[1] for row in of_way if row.settings.get(picture.x) is None]
        curve = sorted(
            (float(x), *_ends(picture, row)) for row in of_way if (x := row.settings.get(picture.x)) is not None
        )
        drawing.band([(x, below, above) for x, below, _, above in curve], color, opacity)
        drawing.line([(x, value) for x, _, value, _ in curve], color, 2.2, dash)
        for level in levels:
            drawing.line([(min(at), level), (max(at), level)], color, 2.2, dash)
        if len(curve) == 1:
            drawing.dot(curve[0][0], curve[0][2], color, 50)
    return drawing


def _ticks(start: float, end: float, n: int) -> list[Tick]:
    return round_ticks(start, end, n) if end > start else [(start, plain(start))]


def _dots(picture: Picture, rows: list[Row], names: list[str], size: tuple[int, int], first: bool, last: bool) -> Panel:
    """A row of the panel for each level, and in it one below the other the ways, each with its error."""
    levels = list(dict.fromkeys(x for row in rows if (x := row.settings.get(picture.x)) is not None))
    low, high = picture.low or 0.0, picture.high or 0.0
    is_alone = _is_alone(picture)
    high = _high(picture, rows) if is_alone else _ROW
    drawing = rows_panel(size[0], high, max(len(levels), 1), (low, high))
    drawing.x_axis(round_ticks(low, high, 5), "", has_labels=last)
    middle, reach = (0.2, 0.46) if is_alone else (0.0, 0.8)
    labels = [(at + middle, "" if is_alone else _level(level)) for at, level in enumerate(levels)]
    drawing.y_axis(labels, "", has_labels=first)
    for row_, level in enumerate(levels if is_alone else ()):
        drawing.text(low, row_, fill(_level(level, _NAME), _LINE), INK, 8, _LABEL - high / 2)
    for place, (name, (color, _), shape) in enumerate(zip(names, STYLES, SHAPES, strict=False)):
        shift = middle + reach * ((place + 0.5) / len(names) - 0.5)
        for row in rows:
            if row.column == name and row.settings.get(picture.x) is not None:
                at = levels.index(row.settings[picture.x]) + shift
                below, value, above = _ends(picture, row)
                drawing.line([(below, at), (above, at)], color, 1.5)
                drawing.dot(value, at, color, 55, shape)
    return drawing


def _high(picture: Picture, rows: Sequence[Row]) -> int:
    """Pixels of a row whose label stands above it."""
    labels = (fill(_level(row.settings.get(picture.x), _NAME), _LINE) for row in rows)
    return _HIGH + _FURTHER * max((label.count("\n") for label in labels), default=0)


def _heat(picture: Picture, rows: list[Row], size: tuple[int, int], first: bool, last: bool) -> Panel:
    xs = list(dict.fromkeys(row.settings.get(picture.x) for row in rows))
    ys = list(dict.fromkeys(row.settings.get(picture.y) if picture.y else None for row in rows))
    low, high = picture.low or 0.0, picture.high or 0.0
    drawing = rows_panel(size[0], _ROW, max(len(ys), 1), (-0.5, len(xs) - 0.5))
    drawing.x_axis([(at, _level(x)) for at, x in enumerate(xs)], "", grid=False, has_labels=last)
    drawing.y_axis([(at, _level(y)) for at, y in enumerate(ys)], "", grid=False, has_labels=first)
    for row in rows:
        x = xs.index(row.settings.get(picture.x))
        y = ys.index(row.settings.get(picture.y) if picture.y else None)
        drawing.bar(x - 0.5, x + 0.5, y, _shade(row.value, low, high), _ROW)
        ink = PAPER if abs(row.value) > 0.6 * max(-low, high) else INK
        drawing.text(x, y, number(row.value, 2), ink, 0, 4.5, "middle")
    return drawing


def _level(value: Any, room: int = 32) -> str:
    return squeezed(value if isinstance(value, str) else number(float(value)), room) if value is not None else ""


def _shade(value: float, low: float, high: float) -> str:
    """Between three colors: that of the low end, of zero, and of the high end."""
    (start, end), part = (_SHADES[1:], value / high) if value >= 0 else (_SHADES[1::-1], value / low)
    part = min(max(part, 0.0), 1.0)
    return "#" + "".join(
        f"{round(first + part * (second - first)):02x}" for first, second in zip(start, end, strict=True)
    )


def _spoken(picture: Picture, rows: Sequence[Row], names: list[str]) -> str:
    """Mean of each way, for those who do not see the picture; the table has the rest."""
    means = []
    for name in names:
        values = [row.value for row in rows if row.column == name]
        if values:
            means.append(f"{name}: {number(sum(values) / len(values), 2)}")
    return f"{picture.title}. Means over what is shown: {'; '.join(means)}."
