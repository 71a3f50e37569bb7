"""Pictures of studies: curves, dots and shades of figures got in several ways, in panels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from discreet.report.drawing import INK, MUTED, STYLES, element
from discreet.report.study import Picture, Row
from discreet.report.words import number

SHAPES = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-down")
LEGEND_ROW = 3
MOST_WIDE = 3
"""Panels side by side whose titles fit in one line."""

_FULL, _LEAST = 700, 150
"""Pixels: a picture's width, and the least of a panel."""


def draw(picture: Picture, rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Return a picture of rows.

    An SVG element, with bands or bars of two standard errors.
    """
    names = [name for name in picture.columns or columns if any(row.column == name for row in rows)]
    shown = [row for row in rows if row.column in names and _agrees(row, picture.where or {})]
    if picture.kind != "heat":
        picture = _bounded(picture, shown)
    downs, acrosses = _values(shown, picture.down), _values(shown, picture.across)
    grid = [
        [
            _panel(picture, _of(picture, shown, across, down), names, at == 0, place == len(downs) - 1).properties(
                **_title(picture, across, down, len(acrosses) > MOST_WIDE),
                **_size(picture, shown, len(acrosses), len(downs)),
            )
            for at, across in enumerate(acrosses)
        ]
        for place, down in enumerate(downs)
    ]
    below = alt.TitleParams(
        picture.y_title if picture.kind == "dots" else picture.x_title, orient="bottom", anchor="middle", offset=8
    )
    chart = alt.vconcat(*[alt.hconcat(*line, spacing=14) for line in grid], spacing=16, title=below)
    return element(picture.name, chart, _told(picture, shown, names))


def _bounded(picture: Picture, rows: Sequence[Row]) -> Picture:
    """All panels share the axis of the figures: the outer ones alone tell its numbers."""
    spread = [row.value + sign * 2.0 * (row.error or 0.0) for row in rows for sign in (-1.0, 1.0)] or [0.0, 1.0]
    low = min(spread) if picture.low is None else picture.low
    high = max(spread) if picture.high is None else picture.high
    return replace(picture, low=low, high=high if high > low else low + 1.0)


def _agrees(row: Row, wanted: Any) -> bool:
    """Whether a row has these settings, as far as it has such settings at all."""
    return all(row.settings.get(name, value) == value for name, value in wanted.items())


def _values(rows: Sequence[Row], setting: str | None) -> list[Any]:
    if setting is None:
        return [None]
    return list(dict.fromkeys(row.settings[setting] for row in rows if setting in row.settings)) or [None]


def _of(picture: Picture, rows: Sequence[Row], across: Any, down: Any) -> list[Row]:
    cell_settings = {
        name: value for name, value in ((picture.across, across), (picture.down, down)) if name is not None
    }
    return [row for row in rows if _agrees(row, cell_settings)]


def _title(picture: Picture, across: Any, down: Any, narrow: bool) -> dict[str, Any]:
    titles = [
        _named(name, value) for name, value in ((picture.down, down), (picture.across, across)) if name is not None
    ]
    words = titles if narrow else ", ".join(titles)
    return {"title": alt.TitleParams(words, frame="group", anchor="middle")} if titles else {}


def _named(setting: str, value: Any) -> str:
    return f"{setting} = {value if isinstance(value, str) else number(float(value))}"


def _size(picture: Picture, rows: Sequence[Row], n_across: int, n_down: int) -> dict[str, int]:
    width = max(_FULL // n_across - 24, _LEAST)
    if picture.kind == "lines":
        return {"width": width, "height": 240 if n_across * n_down == 1 else 150}
    levels = _values(rows, picture.y if picture.kind == "heat" else picture.x)
    return {"width": width, "height": max(26 * len(levels), 60)}


def _panel(picture: Picture, rows: list[Row], names: list[str], first: bool, last: bool) -> Any:
    if picture.kind == "heat":
        return _heat(picture, rows, first, last)
    return (_lines if picture.kind == "lines" else _dots)(picture, rows, names, first, last)


def _points(picture: Picture, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as the renderer takes them; what lies beyond the axis is drawn at its end."""

    def inside(value: float) -> float:
        value = value if picture.low is None else max(value, picture.low)
        return value if picture.high is None else min(value, picture.high)

    return [
        {
            "way": row.column,
            "x": row.settings.get(picture.x),
            "y": row.settings.get(picture.y) if picture.y else None,
            "value": inside(row.value),
            "low": inside(row.value - 2.0 * (row.error or 0.0)),
            "high": inside(row.value + 2.0 * (row.error or 0.0)),
            "text": number(row.value, 2),
        }
        for row in rows
    ]


def _scales(names: list[str]) -> dict[str, alt.Scale]:
    """Color, dashes and shape of each way."""
    styles = STYLES[: len(names)]
    return {
        "color": alt.Scale(domain=names, range=[style[0] for style in styles]),
        "dash": alt.Scale(domain=names, range=[style[1] for style in styles]),
        "shape": alt.Scale(domain=names, range=list(SHAPES[: len(names)])),
    }


def _legend(**style: Any) -> alt.Legend:
    """One above all panels."""
    return alt.Legend(title=None, orient="top", columns=LEGEND_ROW, columnPadding=36, labelLimit=300, **style)


def _lines(picture: Picture, rows: list[Row], names: list[str], first: bool, last: bool) -> Any:
    points = _points(picture, rows)
    curves = [point for point in points if point["x"] is not None]
    levels = [point for point in points if point["x"] is None]
    ends = [point["x"] for point in curves] or [0, 1]
    scale = alt.Scale(type="log" if picture.log else "linear", domain=[min(ends), max(ends)], nice=False)
    ticks = {"values": sorted(set(ends)), "labelExpr": "format(datum.value, '~g')"} if picture.log else {"tickCount": 4}
    x = alt.X("x:Q", scale=scale, axis=alt.Axis(title=None, labels=last, **ticks))
    y = _figures(picture, alt.Y, "value", first)
    scales, legend = _scales(names), _legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=500)
    styled = {
        "color": alt.Color("way:N", scale=scales["color"], legend=legend),
        "strokeDash": alt.StrokeDash("way:N", scale=scales["dash"], legend=legend),
    }
    low = _figures(picture, alt.Y, "low", first)
    layers = [
        *(
            _data([point for point in curves if point["way"] == name])
            .mark_area(opacity=0.12, color=color)
            .encode(x=x, y=low, y2="high:Q")
            for name, (color, _) in zip(names, STYLES, strict=False)
        ),
        _data(curves).mark_line(strokeWidth=2.2).encode(x=x, y=y, **styled),
        _data(levels).mark_rule(strokeWidth=2.2).encode(y=y, **styled),
    ]
    singles = [point for point in curves if sum(two["way"] == point["way"] for two in curves) == 1]
    layers.append(_data(singles).mark_point(filled=True, size=50).encode(x=x, y=y, color=styled["color"]))
    return alt.layer(*layers)


def _figures(picture: Picture, channel: Any, name: str, shown: bool) -> Any:
    """The axis of the figures, with words at the outer panels alone."""
    ends = {} if picture.low is None or picture.high is None else {"domain": [picture.low, picture.high]}
    domain: dict[str, Any] = ends
    title = picture.y_title if shown and channel is alt.Y else None
    axis = alt.Axis(title=title, labels=shown, tickCount=5)
    return channel(f"{name}:Q", scale=alt.Scale(nice=not domain, zero=False, **domain), axis=axis)


def _dots(picture: Picture, rows: list[Row], names: list[str], first: bool, last: bool) -> Any:
    points = _points(picture, rows)
    order = list(dict.fromkeys(point["x"] for point in points if point["x"] is not None))
    words = alt.Axis(title=None, labels=first, labelLimit=220, grid=True)
    y = alt.Y("x:N", sort=order, axis=words)
    shift = alt.YOffset("way:N", scale=alt.Scale(domain=names))
    x = _figures(picture, alt.X, "value", last)
    scales, legend = _scales(names), _legend(symbolOpacity=1)
    color = alt.Color("way:N", scale=scales["color"], legend=legend)
    shapes = alt.Shape("way:N", scale=scales["shape"], legend=legend)
    return alt.layer(
        _data(points)
        .mark_rule(strokeWidth=1.5)
        .encode(y=y, yOffset=shift, x=_figures(picture, alt.X, "low", last), x2="high:Q", color=color),
        _data(points)
        .mark_point(filled=True, size=55, opacity=1)
        .encode(y=y, yOffset=shift, x=x, color=color, shape=shapes),
    )


def _heat(picture: Picture, rows: list[Row], first: bool, last: bool) -> Any:
    points = _points(picture, rows)
    xs, ys = (list(dict.fromkeys(point[place] for point in points)) for place in ("x", "y"))
    x = alt.X("x:O", sort=xs, axis=alt.Axis(title=None, labels=last, labelAngle=0))
    y = alt.Y("y:N", sort=ys, axis=alt.Axis(title=None, labels=first, labelLimit=220))
    low, high = picture.low or -1.0, picture.high or 1.0
    scale = alt.Scale(domain=[low, 0, high], range=["#b35900", "#f4f7f8", "#0b5c7a"], interpolate="rgb")
    shade = alt.Color("value:Q", scale=scale, legend=alt.Legend(title=picture.y_title, orient="top"))
    strong = alt.condition(f"abs(datum.value) > {0.6 * max(-low, high)}", alt.value("#ffffff"), alt.value(INK))
    return alt.layer(
        _data(points).mark_rect(stroke=MUTED, strokeWidth=0.3).encode(x=x, y=y, color=shade),
        _data(points).mark_text(fontSize=12).encode(x=x, y=y, text="text:N", color=strong),
    )


def _data(points: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=points))


def _told(picture: Picture, rows: Sequence[Row], names: list[str]) -> str:
    """Mean of each way, for those who do not see the picture; the table has the rest."""
    means = []
    for name in names:
        values = [row.value for row in rows if row.column == name]
        if values:
            means.append(f"{name}: {number(sum(values) / len(values), 2)}")
    return f"{picture.title}. Means over what is shown: {'; '.join(means)}."
