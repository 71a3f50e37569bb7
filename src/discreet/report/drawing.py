"""What all pictures are made of: colors, axes, marks, and the way from a chart to an element of a page."""

import re
from typing import Any

import altair as alt
import vl_convert
from markupsafe import escape

from discreet.report.words import visible

INK, MUTED, ACCENT, PALE, REST, RULE = "#1c2733", "#4f5d6b", "#0b5c7a", "#86abbc", "#e6ebee", "#d5dce1"
PAPER = "#ffffff"
"""Colors by role; the page's style maps each to its counterpart in the dark."""

STYLES = (
    (ACCENT, [1, 0]),
    ("#b35900", [7, 3]),
    (INK, [2, 3]),
    ("#8c5aa0", [9, 3, 2, 3]),
    (PALE, [1, 0]),
    (MUTED, [4, 4]),
)
"""Color and dashes of curves: told apart in black and white, and by those who do not see all colors."""

WIDTH, HEIGHT = 350, 240
FONT = "sans-serif"

_WORDS = {"labelColor": INK, "labelFont": FONT, "labelFontSize": 13}
_TITLES = {"titleColor": INK, "titleFont": FONT, "titleFontSize": 13, "titleFontWeight": "normal"}
_LINES = {"domainColor": MUTED, "tickColor": MUTED, "gridColor": RULE, "titlePadding": 10, "labelPadding": 5}
_STYLE = {
    "header": {"labelColor": INK, "labelFont": FONT, "labelFontSize": 13},
    "title": {"color": INK, "font": FONT, "fontSize": 13, "fontWeight": "normal", "anchor": "middle"},
    "axis": _WORDS | _TITLES | _LINES,
    "legend": _WORDS | {"symbolSize": 160, "labelLimit": 340},
    "view": {"stroke": None},
    "font": FONT,
    "background": None,
    "aria": False,
}


def axis(channel: Any, name: str, axis: alt.Axis, end: float = 1.0, start: float = 0.0) -> Any:
    """Return a channel of numbers with its axis.

    The channel.
    """
    return channel(f"{name}:Q", scale=alt.Scale(domain=[start, end], nice=False), axis=axis)


def shares(title: str, ticks: list[float]) -> alt.Axis:
    """Return an axis of shares in percent.

    The axis.
    """
    return alt.Axis(title=title, values=ticks, format=".0%", labelFlush=False)


def line(rows: list[dict[str, Any]], color: str, **style: Any) -> alt.Chart:
    """Return a curve.

    Without channels.
    """
    chart: alt.Chart = alt.Chart(alt.InlineData(values=rows)).mark_line(color=color, **({"strokeWidth": 2.5} | style))
    return chart


def dot(row: dict[str, float]) -> alt.Chart:
    """Return a point that stands out.

    Without channels.
    """
    chart: alt.Chart = alt.Chart(alt.InlineData(values=[row])).mark_point(filled=True, size=60, color=ACCENT, opacity=1)
    return chart


def text(row: dict[str, float], description: str, color: str, **style: Any) -> alt.Chart:
    """Return a text at a place.

    Without channels.
    """
    chart: alt.Chart = alt.Chart(alt.InlineData(values=[row])).mark_text(
        text=description, color=color, fontSize=13, **style
    )
    return chart


def svg(
    name: str, layers: list[alt.Chart], description: str, height: int = HEIGHT, width: int = WIDTH, left: int = 4
) -> str:
    """Return layers drawn as an element of a page.

    An SVG element.
    """
    chart = alt.layer(*layers).properties(
        width=width, height=height, padding={"left": left, "right": 8, "top": 4, "bottom": 4}
    )
    return element(name, chart, description)


def element(name: str, chart: alt.TopLevelMixin, description: str) -> str:
    """Return a chart drawn as an element of a page.

    An SVG element.
    """
    specification = _drawable(chart.to_dict(validate=False)) | {"config": _STYLE}
    drawn = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    drawn = re.sub(r"<[^>]*>", lambda tag: _tidy(tag[0], name), drawn)
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(visible(description))}" ', 1)


def _drawable(value: Any) -> Any:
    """The renderer ends the whole process at a character that XML cannot hold."""
    if isinstance(value, dict):
        return {name: _drawable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_drawable(item) for item in value]
    return visible(value) if isinstance(value, str) else value


def _tidy(tag: str, name: str) -> str:
    """Several pictures share a page: their ids must differ, and each tells itself in one label."""
    tag = re.sub(r' (?:aria-[a-z]+|role|class)="[^"]*"', "", tag)
    return re.sub(r'( id="|url\(#)(?=\w)', rf"\1{name}-", tag)
