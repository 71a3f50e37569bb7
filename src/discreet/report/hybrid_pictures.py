"""Pictures of estimates on weighted public points: how uneven the weights are, and what errors to expect."""

import math

from discreet.release import HybridRecord, PointsRecord, TwinRecord
from discreet.report import hybrids
from discreet.report.drawing import (
    ACCENT,
    DASHED,
    DOTTED,
    HEIGHT,
    MUTED,
    PALE,
    SHARES,
    WIDTH,
    Tick,
    panel,
    rows_panel,
    shares,
    svg,
)
from discreet.report.words import count, number, percent

MOST_KNOTS = 300
"""Corners of a curve: a page needs no more, however many points there are."""

_ROW = 44
_UNIT = "Part of the target's range"
_FLOOR = 1e-3
"""Of the largest error: a smaller one is drawn there, for the axis is logarithmic."""


def draw(record: HybridRecord) -> dict[str, str]:
    """Return the pictures that a record allows, by name.

    "weights" where private rows weighted public points, "twins" where errors were simulated.
    """
    pictures = {}
    if record.points is not None and hybrids.basis(record) == "weights" and math.fsum(record.points.weights) > 0:
        pictures["weights"] = weights(record.points)
    if any(twin.error > 0 for twin in record.twins):
        pictures["twins"] = sizes(record) if hybrids.has_sizes(record) else rivals(record.twins)
    return pictures


def weights(points: PointsRecord) -> str:
    """Return the share of weight that the heaviest points hold, beside that of equal weights.

    An SVG element.
    """
    parts = hybrids.shares(points.weights)
    n = len(parts) - 1
    n_weighted = sum(weight > 0 for weight in points.weights)
    half = hybrids.half_at(points.weights)
    drawing = panel(WIDTH, HEIGHT, (0, 1), (0, 1))
    drawing.x_axis(shares(SHARES), f"Share of {count(n)} public points, the heaviest first")
    drawing.y_axis(shares(SHARES), "Share of the weight")
    drawing.line([(0, 0), (1, 1)], MUTED, 1.5, DASHED)
    drawing.line([(knot / n, parts[knot]) for knot in _knots(n, n_weighted)], ACCENT)
    drawing.line([(half / n, 0), (half / n, parts[half])], ACCENT, 1.5, DOTTED)
    drawing.dot(half / n, parts[half], ACCENT)
    # Below the dashed line, wherever half of the weight lies.
    drawing.text(max(half / n, 0.16), 0, f"half of the weight on {percent(half / n)}", ACCENT, 6, -8)
    drawing.text(0.62, 0.62, "equal weights", MUTED, 10, 16)
    zero = f"; {count(n - n_weighted)} have none" if n_weighted < n else ""
    description = f"half of it lies on {percent(half / n)} of {count(n)} points{zero}"
    return svg(drawing, f"Curve of the weight's share: {description}.")


def sizes(record: HybridRecord) -> str:
    """Return the simulated error against the number of points, beside that of public records alone.

    An SVG element.
    """
    tried = sorted((twin for twin in record.twins if twin.n_points), key=lambda twin: twin.n_points or 0)
    alone = [twin for twin in record.twins if not twin.n_points]
    mark = hybrids.marked(record)
    places = [twin.n_points or 1 for twin in tried] + ([mark] if mark else [])
    start, end = min(places) / 1.15, max(places) * 1.15
    floor, low, high = _span(record.twins)
    drawing = panel(WIDTH, HEIGHT, (start, end), (low, high), log_x=True, log_y=True)
    numbers = [(float(twin.n_points or 1), count(twin.n_points or 1)) for twin in tried]
    drawing.x_axis(numbers, "Public points counted beside, on a logarithmic scale", grid=False)
    drawing.y_axis(_percents(low, high), _UNIT)
    spans = [(twin.n_points or 1, max(twin.low, floor), max(twin.high, floor)) for twin in tried]
    drawing.band(spans, PALE, 0.4)
    if mark:
        drawing.line([(mark, low), (mark, high)], ACCENT, 1.5, DOTTED)
    for twin in alone[:1]:
        error = max(twin.error, floor)
        drawing.line([(start, error), (end, error)], MUTED, 1.5, DASHED)
        drawing.text(start, error, hybrids.ALONE, MUTED, 4, -4)
    curve = [(twin.n_points or 1, max(twin.error, floor)) for twin in tried]
    drawing.line(curve, ACCENT)
    for n_points, error in curve:
        drawing.dot(n_points, error, ACCENT)
    if mark:
        dx, anchor = (-6, "end") if mark > math.sqrt(start * end) else (6, "start")
        drawing.text(mark, low, f"{count(mark)} used", ACCENT, dx, -8, anchor)
    spoken = "; ".join(f"{count(twin.n_points or 0)} points {_percent(twin.error)}" for twin in tried)
    beside_told = f"; {hybrids.ALONE} {_percent(alone[0].error)}" if alone else ""
    marked = f"; {count(mark)} points were used" if mark else ""
    return svg(drawing, f"Curve of the simulated error: {spoken}{beside_told}{marked}.")


def rivals(twins: tuple[TwinRecord, ...]) -> str:
    """Return the simulated errors as dots with the span of the repeats, one row each.

    An SVG element.
    """
    floor, low, high = _span(twins)
    names = ["with private margins" if twin.name == "margins" else twin.name for twin in twins]
    drawing = rows_panel(WIDTH, _ROW, len(twins), (low, high), log_x=True)
    drawing.x_axis(_percents(low, high), _UNIT)
    for at, (twin, name) in enumerate(zip(twins, names, strict=True)):
        drawing.bar(max(twin.low, floor), max(twin.high, floor), at, PALE, 9, has_rim=False)
        drawing.ring(max(twin.error, floor), at, size=80)
        drawing.row_label(at, name, MUTED if twin.name == hybrids.ALONE else ACCENT)
    description = "; ".join(f"{name} {_percent(twin.error)}" for name, twin in zip(names, twins, strict=True))
    return svg(drawing, f"Dots of the simulated errors: {description}.")


def _knots(n: int, n_weighted: int) -> list[int]:
    """Places on the curve, closer at its start, where it bends; the one where the weight ends among them."""
    even = {round(n * (step / MOST_KNOTS) ** 2) for step in range(MOST_KNOTS + 1)}
    return sorted(even | {n_weighted, 1})


def _span(twins: tuple[TwinRecord, ...]) -> tuple[float, float, float]:
    """The least error drawn, and the ends of the axis."""
    high = max(max(twin.high, twin.error) for twin in twins)
    floor = high * _FLOOR
    low = max(min(min(twin.low, twin.error) for twin in twins), floor)
    return floor, low / 1.6, high * 1.5


def _percents(low: float, high: float) -> list[Tick]:
    """Round percentages between two errors, at most seven."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = [digit * 10.0**power for power in powers for digit in digits]
        ticks = [value for value in ticks if low <= value <= high]
        if len(ticks) <= 7:
            break
    return [(value, _percent(value)) for value in ticks]


def _percent(value: float) -> str:
    return f"{number(100 * value, 2)}%"
