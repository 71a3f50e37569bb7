"""Pictures of estimates on weighted public points: how uneven the weights are, and what errors to expect."""

import math
from typing import Any

import altair as alt

from discreet.release import HybridRecord, PointsRecord, TwinRecord
from discreet.report import hybrids
from discreet.report.drawing import ACCENT, INK, MUTED, PALE, PAPER, axis, dot, line, shares, svg, text
from discreet.report.words import count, number, percent

MOST_KNOTS = 300
"""Corners of a curve: a page needs no more, however many points there are."""

_ROW = 44
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
    at = {"points": half / n, "share": parts[half]}
    beside = {"points": max(half / n, 0.16), "share": 0}  # below the dashed line, wherever half of the weight lies
    layers = [
        line([{"points": end, "share": end} for end in (0, 1)], MUTED, strokeDash=[5, 4], strokeWidth=1.5),
        line([{"points": knot / n, "share": parts[knot]} for knot in _knots(n, n_weighted)], ACCENT),
        line([at | {"share": 0}, at], ACCENT, strokeDash=[2, 3], strokeWidth=1.5),
        dot(at),
        text(beside, f"half of the weight on {percent(half / n)}", ACCENT, align="left", dx=6, dy=-8),
        text({"points": 0.62, "share": 0.62}, "equal weights", MUTED, align="left", dx=10, dy=12),
    ]
    ticks = [0, 0.25, 0.5, 0.75, 1]
    x = axis(alt.X, "points", shares(f"Share of {count(n)} public points, the heaviest first", ticks))
    y = axis(alt.Y, "share", shares("Share of the weight", ticks))
    zero = f"; {count(n - n_weighted)} have none" if n_weighted < n else ""
    description = f"half of it lies on {percent(half / n)} of {count(n)} points{zero}"
    return svg("weights", [layer.encode(x=x, y=y) for layer in layers], f"Curve of the weight's share: {description}.")


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
    rows = [
        {
            "n": twin.n_points,
            "error": max(twin.error, floor),
            "low": max(twin.low, floor),
            "high": max(twin.high, floor),
        }
        for twin in tried
    ]
    x = alt.X("n:Q", scale=_log(start, end), axis=_whole([twin.n_points or 1 for twin in tried]))
    y = {name: alt.Y(f"{name}:Q", scale=_log(low, high), axis=_percents(low, high)) for name in ("error", "low")}
    band = alt.Chart(alt.InlineData(values=rows)).mark_area(color=PALE, opacity=0.4)
    dots = alt.Chart(alt.InlineData(values=rows)).mark_point(size=60, opacity=1, filled=True, color=ACCENT)
    layers = [band.encode(x=x, y=y["low"], y2="high:Q")]
    if mark:
        ends = [{"n": mark, "error": value} for value in (low, high)]
        layers.append(line(ends, ACCENT, strokeDash=[2, 3], strokeWidth=1.5).encode(x=x, y=y["error"]))
    for twin in alone[:1]:
        error = max(twin.error, floor)
        ends = [{"n": place, "error": error} for place in (start, end)]
        layers.append(line(ends, MUTED, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x, y=y["error"]))
        beside = text({"n": start, "error": error}, hybrids.ALONE, MUTED, align="left", dx=4, dy=-8)
        layers.append(beside.encode(x=x, y=y["error"]))
    layers += [line(rows, ACCENT).encode(x=x, y=y["error"]), dots.encode(x=x, y=y["error"])]
    if mark:
        is_right = mark > math.sqrt(start * end)
        description = text(
            {"n": mark, "error": low}, f"{count(mark)} used", ACCENT, align="right" if is_right else "left",
            dx=-6 if is_right else 6, dy=-8,
        )  # fmt: skip
        layers.append(description.encode(x=x, y=y["error"]))
    spoken = "; ".join(f"{count(twin.n_points or 0)} points {_percent(twin.error)}" for twin in tried)
    beside_told = f"; {hybrids.ALONE} {_percent(alone[0].error)}" if alone else ""
    marked = f"; {count(mark)} points were used" if mark else ""
    return svg("twins", layers, f"Curve of the simulated error: {spoken}{beside_told}{marked}.")


def rivals(twins: tuple[TwinRecord, ...]) -> str:
    """Return the simulated errors as dots with the span of the repeats, one row each.

    An SVG element.
    """
    floor, low, high = _span(twins)
    rows: list[dict[str, Any]] = []
    for at, twin in enumerate(twins):
        color = MUTED if twin.name == hybrids.ALONE else ACCENT
        ends = {"low": max(twin.low, floor), "high": max(twin.high, floor)}
        name = "with private margins" if twin.name == "margins" else twin.name
        rows.append({"y": at, "error": max(twin.error, floor), "t": name, "color": color, **ends})
    y = alt.Y("y:Q", scale=alt.Scale(domain=[len(rows) - 0.5, -0.5], nice=False), axis=None)
    x = alt.X("error:Q", scale=_log(low, high), axis=_percents(low, high))
    start = alt.X("low:Q", scale=_log(low, high), axis=_percents(low, high))
    base = alt.Chart(alt.InlineData(values=rows))
    ink = alt.Color("color:N", scale=None)
    layers = [
        base.mark_rule(strokeWidth=9, color=PALE).encode(x=start, x2="high:Q", y=y),
        base.mark_point(size=80, opacity=1, fill=PAPER, stroke=INK, strokeWidth=1.5).encode(x=x, y=y),
        base.mark_text(align="right", dx=-12, fontSize=13).encode(x=alt.value(0), y=y, text="t:N", color=ink),
    ]
    description = "; ".join(f"{row['t']} {_percent(twin.error)}" for row, twin in zip(rows, twins, strict=True))
    return svg("twins", layers, f"Dots of the simulated errors: {description}.", height=_ROW * len(rows), left=40)


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


def _log(start: float, end: float) -> alt.Scale:
    return alt.Scale(type="log", domain=[start, end], nice=False)


def _whole(values: list[int]) -> alt.Axis:
    """The numbers that were tried, as far as they have room."""
    labels = ", ".join(f"'{count(value)}'" for value in values)
    description = f"[{labels}][indexof({values}, datum.value)]"
    title = "Public points counted beside, on a logarithmic scale"
    return alt.Axis(title=title, values=values, labelExpr=description, labelOverlap=True, labelFlush=False, grid=False)


def _percents(low: float, high: float) -> alt.Axis:
    """Round percentages between two errors, at most seven."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = [digit * 10.0**power for power in powers for digit in digits]
        ticks = [value for value in ticks if low <= value <= high]
        if len(ticks) <= 7:
            break
    labels = ", ".join(f"'{_percent(value)}'" for value in ticks)
    description = f"[{labels}][indexof({ticks}, datum.value)]"
    return alt.Axis(
        title="Part of the target's range", values=ticks, labelExpr=description, labelFlush=False, grid=True
    )


def _percent(value: float) -> str:
    return f"{number(100 * value, 2)}%"
