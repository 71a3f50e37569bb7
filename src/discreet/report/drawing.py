"""What all pictures are made of: colors, scales, axes and marks, written as the elements of an SVG."""

import math
from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from textwrap import fill

from markupsafe import escape

from discreet import digits
from discreet.report.widths import pixels
from discreet.report.words import thousands, visible

INK, MUTED, ACCENT, PALE, REST, RULE = "#1c2733", "#4f5d6b", "#0b5c7a", "#86abbc", "#e6ebee", "#d5dce1"
PAPER = "#ffffff"
"""Colors by role; the page's style maps each to its counterpart in the dark."""

STYLES = (
    (ACCENT, ""),
    ("#b35900", "7,3"),
    (INK, "2,3"),
    ("#8c5aa0", "9,3,2,3"),
    (PALE, ""),
    (MUTED, "4,4"),
)
"""Color and dashes of curves: told apart in black and white, and by those who do not see all colors."""

WIDTH, HEIGHT = 240, 196
"""Of a panel, in pixels: with its axis, a phone shows it without making its letters smaller than 12 pixels."""

SHARES = (0, 0.25, 0.5, 0.75, 1)
DASHED, DOTTED = "5,4", "2,3"

_FONT_SIZE, _LINE_HEIGHT, _LETTER = 13, 15, 6.7
_TO_MIDDLE = 4.5
"""From the middle of a line of words down to its base line."""
_PHONE = 306
"""Pixels of a picture on a phone."""
_TICK, _GAP, _PADDING = 5, 10, 6
_KEY_HEIGHT, _SYMBOL, _BETWEEN_KEYS = 20, 26, 32
_RISE_COS, _RISE_TAN = math.cos(math.radians(50)), math.tan(math.radians(50))

Tick = tuple[float, str]
"""A number on an axis, and what is written there."""


@dataclass(frozen=True)
class Scale:
    """Where numbers stand: `start` at the place `near`, `end` at the place `far`, in pixels."""

    start: float
    end: float
    near: float
    far: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a number."""
        # Halves: two numbers of the largest size may differ by more than a float holds.
        low, high, at = (math.log(end) if self.is_log else end / 2 for end in (self.start, self.end, value))
        share = (at - low) / (high - low) if high != low else 0.5
        return self.near + share * (self.far - self.near)


@dataclass(frozen=True)
class Key:
    """A line of a legend: what a mark stands for. A shape of "" has words alone."""

    words: str
    color: str
    shape: str = "stroke"
    thickness: float = 3
    dash: str = ""


@dataclass
class Panel:
    """A rectangle with two scales, what is drawn in it, and how far its words reach out of it on each side."""

    x: Scale
    y: Scale
    marks: list[str] = field(default_factory=list)
    left: float = 0
    right: float = 0
    top: float = 0
    bottom: float = 0

    @property
    def width(self) -> float:
        """Of the rectangle, in pixels."""
        return self.x.far

    @property
    def height(self) -> float:
        """Of the rectangle, in pixels."""
        return max(self.y.near, self.y.far)

    def line(self, points: Iterable[tuple[float, float]], color: str, thickness: float = 2.5, dash: str = "") -> None:
        """Draw a curve through points; of one point, nothing."""
        self.marks.append(_path(_way((self.x(x), self.y(y)) for x, y in points), color, thickness, dash))

    def bar(self, start: float, end: float, y: float, color: str, height: float, has_rim: bool = True) -> None:
        """Fill a row of pixels around `y` from one number to another."""
        left, right, middle = self.x(start), self.x(end), self.y(y)
        place = f'x="{left:.1f}" y="{middle - height / 2:.1f}" width="{max(right - left, 0):.1f}" height="{height:g}"'
        rim = f' stroke="{MUTED}" stroke-width="1"' if has_rim else ""
        self.marks.append(f'<rect {place} fill="{color}"{rim}/>')

    def band(self, points: Sequence[tuple[float, float, float]], color: str, opacity: float) -> None:
        """Fill what lies between two curves: each point has its place, its low and its high end."""
        around = [(x, low) for x, low, _ in points] + [(x, high) for x, _, high in reversed(points)]
        way = _way((self.x(x), self.y(y)) for x, y in around)
        self.marks.append(f'<path d="{way}Z" fill="{color}" opacity="{opacity}"/>')

    def dot(self, x: float, y: float, fill: str, size: float = 60, shape: str = "circle", shift: float = 0.0) -> None:
        """Mark a point, by `shift` pixels below its place."""
        self.marks.append(_shape(self.x(x), self.y(y) + shift, shape, size, f'fill="{fill}"'))

    def ring(self, x: float, y: float, fill: str = PAPER, size: float = 70) -> None:
        """Mark a point by a disk with a dark rim."""
        self.marks.append(
            _shape(self.x(x), self.y(y), "circle", size, f'fill="{fill}" stroke="{INK}" stroke-width="1.5"')
        )

    def text(
        self, x: float, y: float, words: str, color: str, dx: float = 0, dy: float = 0, anchor: str = "start",
        is_bold: bool = False,
    ) -> None:  # fmt: skip
        """Write words beside a place, their base line `dy` below it."""
        self.marks.append(_text(self.x(x) + dx, self.y(y) + dy, words, color, anchor, is_bold))

    def row_label(self, y: float, words: str, color: str, is_bold: bool = False, dx: float = -12) -> None:
        """Write words that end left of the panel, in the middle of a row."""
        self.marks.append(_text(dx, self.y(y) + _TO_MIDDLE, words, color, "end", is_bold))
        self.left = max(self.left, 1.05 * pixels(visible(words)) - dx)

    def column_label(self, x: float, words: str, color: str, is_bold: bool = False) -> None:
        """Write words above the panel that rise to the right from the middle of a column."""
        at, length = self.x(x), pixels(visible(words)) * _RISE_COS
        turned = f'transform="translate({at + _TO_MIDDLE:.1f},-8)rotate(-50)"'
        self.marks.append(_text(0, 0, words, color, is_bold=is_bold, place=turned))
        self.top = max(self.top, 8 + _LINE_HEIGHT + length * _RISE_TAN)
        self.right = max(self.right, at + _LINE_HEIGHT + length - self.width)

    def title(self, words: str) -> None:
        """Write words above the panel, in its middle; nothing of an empty text."""
        if words:
            height = (words.count("\n") + 1) * _LINE_HEIGHT
            self.marks.append(_text(self.width / 2, -self.top - height + 5, words, INK, "middle"))
            self.top += height + 3

    def x_axis(self, ticks: Sequence[Tick], title: str, grid: bool = True, has_labels: bool = True) -> None:
        """Draw the axis below, with as many of its labels as have room; a long title has several lines."""
        deepest = 0
        shown = _legible([(self.x(value), label) for value, label in ticks]) if has_labels else []
        for at in (self.x(value) for value, _ in ticks):
            self.marks += [_stroke(at, 0, at, self.height, RULE)] if grid else []
            self.marks.append(_stroke(at, self.height, at, self.height + _TICK, MUTED))
        for at, label in shown:
            self.marks.append(_text(at, self.height + _TICK + _LINE_HEIGHT, label, INK, "middle"))
            deepest = max(deepest, (label.count("\n") + 1) * _LINE_HEIGHT)
            self.right = max(self.right, at + pixels(label) / 2 - self.width)
            self.left = max(self.left, pixels(label) / 2 - at)
        self.marks.append(_stroke(0, self.height, self.width, self.height, MUTED))
        self.bottom = max(self.bottom, _TICK + deepest)
        if title:
            title = fill(title, int(max(self.width, WIDTH) / _LETTER))
            self.marks.append(_text(self.width / 2, self.height + self.bottom + _LINE_HEIGHT + 5, title, INK, "middle"))
            self.bottom += 5 + (title.count("\n") + 1) * _LINE_HEIGHT
            beyond = (max(pixels(visible(line)) for line in title.split("\n")) - self.width) / 2
            self.left, self.right = max(self.left, beyond), max(self.right, beyond)

    def y_axis(self, ticks: Sequence[Tick], title: str, grid: bool = True, has_labels: bool = True) -> None:
        """Draw the axis at the left, its title turned to go up."""
        widest = 0.0
        for value, label in ticks:
            at = self.y(value)
            self.marks += [_stroke(0, at, self.width, at, RULE)] if grid else []
            self.marks.append(_stroke(-_TICK, at, 0, at, MUTED))
            if has_labels:
                self.marks.append(_text(-_TICK - 4, at + _TO_MIDDLE, label, INK, "end"))
                widest = max(widest, pixels(visible(label)))
        self.marks.append(_stroke(0, 0, 0, self.height, MUTED))
        self.left = max(self.left, _TICK + 4 + widest)
        if title:
            turned = f'transform="translate({-self.left - _GAP:.1f},{self.height / 2:.1f})rotate(-90)"'
            self.marks.append(_text(0, 0, title, INK, "middle", place=turned))
            self.left += _GAP + _FONT_SIZE

    def legend_above(self, keys: Sequence[Key]) -> None:
        """Write a legend above: in one line if the panel is wide enough for it, else a key a line."""
        columns = len(keys) if len(keys) * legend_step(keys) - _BETWEEN_KEYS <= self.width + _FONT_SIZE else 1
        height = sum(_legend_rows(keys, columns))
        self.marks += _legend(keys, 0, -self.top - height, columns)
        self.top += height + 6

    def legend_below(self, keys: Sequence[Key]) -> None:
        """Write a legend below, a key a line."""
        self.marks += _legend(keys, 0, self.height + self.bottom + 8, 1)
        self.bottom += 8 + _KEY_HEIGHT * len(keys)

    def legend_right(self, keys: Sequence[Key]) -> None:
        """Write a legend at the right, a key a line."""
        self.marks += _legend(keys, self.width + self.right + _GAP, 0, 1)
        self.right += _GAP + _SYMBOL + 6 + 1.05 * max(pixels(visible(key.words)) for key in keys)


def panel(
    width: float,
    height: float,
    x: tuple[float, float],
    y: tuple[float, float],
    log_x: bool = False,
    log_y: bool = False,
) -> Panel:
    """Return an empty panel whose numbers go from left to right, and from below upward."""
    return Panel(Scale(*x, 0, width, log_x), Scale(*y, height, 0, log_y))


def rows_panel(width: float, row_height: float, n_rows: int, x: tuple[float, float], log_x: bool = False) -> Panel:
    """Return an empty panel of rows, row 0 on top: `y` is a row's number."""
    return Panel(Scale(*x, 0, width, log_x), Scale(-0.5, n_rows - 0.5, 0, row_height * n_rows))


def room_beside(labels: Iterable[str], gap: float = 12.0) -> float:
    """Return the width of a panel beside labels, so that a phone shows both in letters of 12 pixels."""
    return max(_PHONE - gap - max(map(pixels, labels), default=0.0), _PHONE / 2)


def shares(values: Iterable[float]) -> list[Tick]:
    """Return an axis of shares in percent."""
    return [(value, f"{value:.0%}") for value in values]


def round_ticks(start: float, end: float, count: int) -> list[Tick]:
    """Return about `count` round numbers between two, each a multiple of 1, 2 or 5 times a power of ten."""
    raw = (end - start) / count
    power = 10.0 ** math.floor(math.log10(raw))
    # The size that is nearest in the logarithm: the borders are geometric means, such as sqrt(2 * 5).
    step = power * (1, 2, 5, 10)[bisect([math.sqrt(2), math.sqrt(10), math.sqrt(50)], raw / power)]
    return [(at * step, plain(at * step)) for at in range(math.ceil(start / step), math.floor(end / step) + 1)]


def plain(value: float) -> str:
    """Return a number of six digits, thousands apart, no exponent unless it is long, a minus as wide as a plus."""
    return thousands(digits.plain(value)).replace("-", "\u2212")


def element(
    rows: Sequence[Sequence[Panel]], description: str, keys: Sequence[Key] = (), columns: int = 3, below: str = ""
) -> str:
    """Return panels in rows, told to those who do not see them, with one legend above all and a title below."""
    lefts = [max(cell.left for cell in column) for column in zip(*rows, strict=True)]
    x, marks = float(_PADDING), []
    y = _PADDING + (sum(_legend_rows(keys, columns)) + _GAP if keys else 0.0)
    marks += _legend(keys, x, _PADDING, columns)
    width = x + legend_step(keys) - _BETWEEN_KEYS if columns == 1 and keys else 0.0
    for line in rows:
        y += max(cell.top for cell in line)
        x = float(_PADDING)
        for cell, left in zip(line, lefts, strict=True):
            x += left
            marks.append(f'<g transform="translate({x:.1f},{y:.1f})">{"".join(cell.marks)}</g>')
            x += cell.width + max(cell.right, 8)
        width = max(width, x + _PADDING)
        y += max(cell.height + cell.bottom for cell in line) + _GAP
    if below:
        marks.append(_text(width / 2, y + 5, below, INK, "middle"))
        y += _LINE_HEIGHT
    size = f'width="{width:.0f}" height="{y:.0f}" viewBox="0 0 {width:.0f} {y:.0f}"'
    head = f'<svg role="img" aria-label="{escape(visible(description))}" xmlns="http://www.w3.org/2000/svg" {size}>'
    return f"{head}{''.join(marks)}</svg>"


def svg(drawing: Panel, description: str) -> str:
    """Return one panel as an element of a page, told to those who do not see it."""
    return element([[drawing]], description)


def on_paper(picture: str) -> str:
    """Give a picture that stands alone a white ground, so that it can be read on a dark page."""
    return picture.replace("><g ", '><rect width="100%" height="100%" fill="#ffffff"/><g ', 1)


def legend_step(keys: Sequence[Key]) -> float:
    """Return the pixels from one key of a legend's row to the next: the longest words have room."""
    return _SYMBOL + 2 + _BETWEEN_KEYS + max((pixels(visible(key.words)) for key in keys), default=0.0)


def _legend_rows(keys: Sequence[Key], columns: int) -> list[float]:
    """Heights of a legend's rows: words may have several lines."""
    rows = [keys[at : at + columns] for at in range(0, len(keys), columns)]
    return [_KEY_HEIGHT + _LINE_HEIGHT * max(key.words.count("\n") for key in row) for row in rows]


def _legend(keys: Sequence[Key], x: float, y: float, columns: int) -> list[str]:
    step = legend_step(keys)
    marks = []
    tops = list(accumulate(_legend_rows(keys, columns), initial=y))
    for at, key in enumerate(keys):
        left, middle = x + at % columns * step, tops[at // columns] + _KEY_HEIGHT / 2
        if key.shape == "stroke":
            way = _way([(left, middle), (left + _SYMBOL - 4, middle)])
            marks.append(_path(way, key.color, key.thickness, key.dash))
        elif key.shape:
            rim = f' stroke="{MUTED}" stroke-width="1"' if key.shape == "square" else ""
            marks.append(_shape(left + 8, middle, key.shape, 140, f'fill="{key.color}"{rim}'))
        indent = (_SYMBOL + 2 if key.shape == "stroke" else 22) if key.shape else 0
        marks.append(_text(left + indent, middle + _TO_MIDDLE, key.words, INK))
    return marks


def _legible(labels: Sequence[Tick]) -> list[Tick]:
    """The labels that do not run into the one before them."""
    shown: list[Tick] = []
    end = -math.inf
    for at, label in sorted(labels):
        half = max(pixels(line) for line in label.split("\n")) / 2
        if at - half > end + 4:
            shown.append((at, label))
            end = at + half
    return shown


def _way(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _path(way: str, color: str, thickness: float, dash: str) -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{way}" fill="none" stroke="{color}" stroke-width="{thickness:g}"{dashes}/>'


def _stroke(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{color}" stroke-width="1"/>'


_CORNERS = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
    "triangle-up": ((0, -1.2), (1.2, 1), (-1.2, 1)),
    "triangle-down": ((0, 1.2), (1.2, -1), (-1.2, -1)),
    "triangle-left": ((-1.2, 0), (1, -1.2), (1, 1.2)),
    "triangle-right": ((1.2, 0), (-1, -1.2), (-1, 1.2)),
    "cross": (
        (-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2),
        (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4),
    ),
}  # fmt: skip
"""Of shapes with corners, about a unit from the middle."""


def _shape(x: float, y: float, shape: str, size: float, style: str) -> str:
    """A mark of about `size` square pixels."""
    if shape == "circle":
        radius = math.sqrt(size / math.pi)
        arc = f"a{radius:.2f},{radius:.2f},0,1,1"
        way = f"M{x + radius:.1f},{y:.1f}{arc},{-2 * radius:.2f},0{arc},{2 * radius:.2f},0Z"
    else:
        half = math.sqrt(size) / 2
        way = _way((x + half * right, y + half * down) for right, down in _CORNERS[shape]) + "Z"
    return f'<path d="{way}" {style}/>'


def _text(
    x: float, y: float, words: str, color: str, anchor: str = "start", is_bold: bool = False, place: str = ""
) -> str:
    place = place or f'transform="translate({x:.1f},{y:.1f})"'
    weight = ' font-weight="bold"' if is_bold else ""
    style = f'font-family="sans-serif" font-size="{_FONT_SIZE}px"{weight} fill="{color}"'
    lines = [str(escape(visible(line))) for line in words.split("\n")]
    if len(lines) > 1:
        lines = [f'<tspan x="0" dy="{_LINE_HEIGHT if at else 0}">{line}</tspan>' for at, line in enumerate(lines)]
    return f'<text text-anchor="{anchor}" {place} {style}>{"".join(lines)}</text>'
