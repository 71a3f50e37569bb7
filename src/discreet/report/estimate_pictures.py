"""Pictures of what was released: coefficients, models by size, prices of steps; one row each, its name at the left."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair as alt

from discreet.release import CoefficientRecord, FitRecord, Release
from discreet.report import estimates, noise_box, request_facts
from discreet.report import sizes as by_size
from discreet.report.drawing import ACCENT, INK, MUTED, PALE, PAPER, svg
from discreet.report.hybrids import ALONE
from discreet.report.price import price
from discreet.report.vocabulary import IN_TARGETS_UNIT
from discreet.report.widths import cells, cut, squeezed
from discreet.report.words import at_most, number, shortened, visible

_WIDTH, _ROW, _LABEL, _LONGEST = 380, 24, 280, 32
_BOTH, _ALONE = "with privacy noise", "sampling alone"
_WITH = "with the private rows"
_FAR = 4.0
"""An interval longer than this many times the middle one is cut, so that the others can be seen."""


@dataclass(frozen=True)
class Bar:
    """One row of the picture of coefficients; a heading has no numbers."""

    label: str
    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reach: float = math.nan
    is_empty: bool = False
    public: float = math.nan


def coefficients(release: Release, fitted: FitRecord) -> str:
    """Return every coefficient, with its interval if any, in what its column makes from end to end of its range.

    An SVG element.
    """
    bars = _bars(release, fitted)
    start, end = _domain([bar for bar in bars if not math.isnan(bar.estimate)])
    x = alt.X("x:Q", scale=alt.Scale(domain=[start, end], nice=False), axis=_effects(release, fitted, start, end))
    description = [bar for bar in bars if not math.isnan(bar.estimate)]
    layers = [_dots(bars)]
    if any(not math.isnan(bar.public) for bar in description):
        layers = _pairs(bars)
    if fitted.has_intervals:
        layers = [_intervals(description, bars, start, end), _arrows(bars, start, end), *layers]
    return svg(
        "coefficients",
        [
            _marks([{"x": 0.0}], lambda chart: chart.mark_rule(color=MUTED, strokeWidth=1)).encode(x=x),
            *_placed(layers, x, len(bars)),
            _labels([(bar.label, INK, math.isnan(bar.estimate)) for bar in bars]),
        ],
        _spoken(description, fitted),
        height=_ROW * len(bars),
        width=_WIDTH,
        left=_room([bar.label for bar in bars]),
    )


def _spoken(drawn_bars: list[Bar], fitted: FitRecord) -> str:
    beside = [bar for bar in drawn_bars if not math.isnan(bar.public)]
    if beside:
        turned = sum(bar.estimate * bar.public < 0 for bar in beside)
        return (
            f"Estimates of {len(drawn_bars)} coefficients as dots, without intervals, each beside that of the {ALONE}; "
            f"{turned} of them have another sign there."
        )
    if not fitted.has_intervals:
        return f"Estimates of {len(drawn_bars)} coefficients as dots, without intervals."
    crossing = sum(bar.low <= 0 <= bar.high for bar in drawn_bars)
    n_open = sum(not (math.isfinite(bar.low) and math.isfinite(bar.high)) for bar in drawn_bars)
    beyond = f"; of {n_open} a lower or an upper limit cannot be told" if n_open else ""
    return f"Intervals of {len(drawn_bars)} coefficients, {crossing} of them on both sides of no difference{beyond}."


def sizes(release: Release) -> str:
    """Return R squared of the best model of every size, with its interval.

    An SVG element.
    """
    records = by_size.drawn_sizes(release)
    description = {size.size: size for size in by_size.sizes(release)}
    rows: list[dict[str, Any]] = []
    labels = []
    for at, record in enumerate(records):
        chosen = description[str(record.size)].is_chosen
        mark = "\u2713 " if chosen else ""
        labels.append((f"{mark}{description[str(record.size)].change}", ACCENT if chosen else INK, chosen))
        ends = (record.r_squared_low, record.r_squared_high, record.r_squared)
        low, high, middle = (min(max(end, -0.25), 1.05) for end in ends)
        rows.append({"y": at, "x": low, "x2": high, "middle": middle, "color": ACCENT if chosen else PAPER})
    end = max(0.05, *(row["x2"] for row in rows), *(row["middle"] for row in rows)) * 1.04
    start = min(0.0, *(row["x"] for row in rows), *(row["middle"] for row in rows))
    ruled = alt.Axis(title=["R squared, corrected for noise"], format="~g", tickCount=6, labelFlush=False)
    x = alt.X("x:Q", scale=alt.Scale(domain=[start, end], nice=False), axis=ruled)
    middles = [{"x": row["middle"], "y": row["y"], "color": row["color"]} for row in rows]
    bars = _marks(rows, lambda chart: chart.mark_rule(color=PALE, strokeWidth=9)).encode(x2="x2:Q")
    curve = _marks(middles, lambda chart: chart.mark_line(color=MUTED, strokeWidth=1)).encode(order="y:Q")
    dots = _marks(middles, lambda chart: chart.mark_point(size=70, opacity=1, stroke=INK, strokeWidth=1.5)).encode(
        fill=alt.Fill("color:N", scale=None)
    )
    best = [record for record in records if description[str(record.size)].is_chosen]
    numbers = [(str(at.size), color, bold) for at, (_, color, bold) in zip(records, labels, strict=True)]
    chosen_text = f"; {best[0].size} columns were selected, {best[0].r_squared:.3f}" if best else ""
    return svg(
        "sizes",
        [*_placed([bars, curve, dots], x, len(rows)), _labels(numbers), _labels(labels, -42)],
        f"R squared of the best models of {len(records)} sizes{chosen_text}.",
        height=_ROW * len(rows),
        width=_WIDTH,
        left=_room([description for description, _, _ in labels]),
    )


def steps(release: Release) -> str | None:
    """Return what each step takes of the release's epsilon.

    An SVG element; None when the steps' prices do not add up to the whole.
    """
    amounts = noise_box.amounts(release)
    total = sum(amounts)
    if not total > 0 or not math.isclose(total, request_facts.epsilon(release), rel_tol=1e-3):
        return None
    rows = [{"x": 0.0, "x2": amount, "y": at} for at, amount in enumerate(amounts)]
    prices = [{"x": amount, "y": at, "t": _told(release, at)} for at, amount in enumerate(amounts)]
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, max(amounts) * 1.45], nice=False), axis=None)
    bars = _marks(rows, lambda chart: chart.mark_rule(color=ACCENT, strokeWidth=13)).encode(x2="x2:Q")
    description = _marks(prices, lambda chart: chart.mark_text(align="left", dx=8, fontSize=13, color=INK)).encode(
        text="t:N"
    )
    names = [(noise_box.purpose(step.name), INK, False) for step in release.steps]
    spoken = "; ".join(f"{visible(name)} {row['t']}" for (name, _, _), row in zip(names, prices, strict=True))
    return svg(
        "steps",
        [*_placed([bars, description], x, len(rows)), _labels(names)],
        f"Bars of the steps' prices: {shortened(spoken, 400)}.",
        height=_ROW * len(rows),
        width=_WIDTH,
        left=_room([description for description, _, _ in names]),
    )


def _told(release: Release, at: int) -> str:
    cost = price(release.steps[at].event)
    parts = [("epsilon", cost.epsilon), ("rho", cost.rho)]
    return ", ".join(f"{name} {at_most(value, 3)}" for name, value in parts if value > 0) or "delta alone"


def _bars(release: Release, fitted: FitRecord) -> list[Bar]:
    """Rows in the model's order; the levels of a category below its name."""
    shown = estimates.drawn(fitted)
    n_levels: dict[str | None, int] = {}
    for record in shown:
        n_levels[record.column] = n_levels.get(record.column, 0) + 1
    bars: list[Bar] = []
    headed: set[str | None] = set()
    for record in shown:
        grouped = record.level is not None and n_levels[record.column] > 1
        if grouped and record.column not in headed:
            headed.add(record.column)
            bars.append(Bar(str(record.column)))
        name = str(record.level) if grouped else estimates.label(record)
        bars.append(_bar(name, record, fitted, release))
    return bars


def _bar(name: str, record: CoefficientRecord, fitted: FitRecord, release: Release) -> Bar:
    width = estimates.crossing(record, request_facts.declared(release, record.column))
    if not fitted.has_intervals:
        middle, public = record.estimate * width, estimates.public_alone(release, record)
        beside = middle if public is None else public * width
        ends = (min(middle, beside), max(middle, beside))
        return Bar(name, middle, *ends, public=math.nan if public is None else beside)
    reach = estimates.quantile(fitted.confidence) * math.sqrt(record.sampling_variance)
    label = f"{name} *" if record.uninformative else name
    low, high = (end * width for end in record.interval)
    return Bar(label, record.estimate * width, low, high, reach * width, record.uninformative)


def _domain(bars: list[Bar]) -> tuple[float, float]:
    """From the lowest to the highest end of an interval, the longest ones and those without an end cut."""
    description = [bar for bar in bars if not bar.is_empty]
    ends = sorted(max(abs(end) for end in (bar.low, bar.high) if math.isfinite(end)) for bar in description) or [1.0]
    most = max([_FAR * ends[len(ends) // 2], *(1.1 * abs(bar.estimate) for bar in description)])
    low = min([0.0, *(max(bar.low, -most) for bar in bars)])
    high = max([0.0, *(min(bar.high, most) for bar in bars)])
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room


def _effects(release: Release, fitted: FitRecord, start: float, end: float) -> alt.Axis:
    """Units of the target, or ratios on a logarithmic axis."""
    target = cut(visible(request_facts.target(release)), 28)
    if fitted.family in IN_TARGETS_UNIT:
        title = [f"Difference in {target}", "from one end of a column's range to the other"]
        return alt.Axis(title=title, format="~g", tickCount=6, labelFlush=False, grid=True)
    ratio_name = "Odds ratio" if fitted.family == "logistic" else "Rate ratio"
    ticks = _ratios(start, end)
    labels = ", ".join(f"'{number(ratio, 3)}'" for ratio in ticks)
    places = [math.log(ratio) for ratio in ticks]
    description = f"[{labels}][indexof({places}, datum.value)]"
    title = [f"{ratio_name} for {target}", "from one end of a column's range to the other"]
    return alt.Axis(title=title, values=places, labelExpr=description, labelFlush=False, grid=True)


def _ratios(start: float, end: float) -> list[float]:
    """Round ratios between two logarithms, at most nine, with room for their labels."""
    low, high = (max(min(value, 690.0), -690.0) for value in (start, end))
    powers = range(math.floor(low / math.log(10)), math.ceil(high / math.log(10)) + 1)
    for digits in ((1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 7.0, 9.0), (1.0, 1.5, 2.0, 3.0, 5.0), (1.0, 2.0, 5.0), (1.0,)):
        ticks = [digit * 10.0**power for power in powers for digit in digits]
        ticks = [ratio for ratio in ticks if low <= math.log(ratio) <= high]
        gaps = (math.log(right / left) for left, right in itertools.pairwise(ticks))
        if len(ticks) <= 9 and all(gap >= (high - low) / 16 for gap in gaps):
            return ticks or [1.0]
    return ticks[:: math.ceil(len(ticks) / 9)]


def _intervals(drawn_bars: list[Bar], bars: list[Bar], start: float, end: float) -> alt.Chart:
    rows: list[dict[str, Any]] = []
    place = {id(bar): at for at, bar in enumerate(bars)}
    for bar in drawn_bars:
        rows.append({"part": _BOTH, "x": max(bar.low, start), "x2": min(bar.high, end), "y": place[id(bar)]})
    for bar in drawn_bars:
        low, high = max(bar.estimate - bar.reach, bar.low, start), min(bar.estimate + bar.reach, bar.high, end)
        if not bar.is_empty and low < high:
            rows.append({"part": _ALONE, "x": low, "x2": high, "y": place[id(bar)]})
    colors = alt.Scale(domain=[_ALONE, _BOTH], range=[ACCENT, PALE])
    legend = alt.Legend(orient="top", title=None, direction="horizontal", symbolType="stroke", symbolStrokeWidth=9)
    return _marks(rows, lambda chart: chart.mark_rule(strokeWidth=9)).encode(
        x2="x2:Q", color=alt.Color("part:N", scale=colors, legend=legend)
    )


def _dots(bars: list[Bar]) -> alt.Chart:
    rows = [
        {"x": bar.estimate, "y": at} for at, bar in enumerate(bars) if not (math.isnan(bar.estimate) or bar.is_empty)
    ]
    return _marks(rows, lambda chart: chart.mark_point(size=70, opacity=1, fill=PAPER, stroke=INK, strokeWidth=1.5))


def _pairs(bars: list[Bar]) -> list[alt.Chart]:
    """What public records alone tell beside what the private rows make of it, with a line between."""
    description = [(at, bar) for at, bar in enumerate(bars) if not math.isnan(bar.public)]
    lines = [{"x": bar.public, "x2": bar.estimate, "y": at} for at, bar in description]
    rows: list[dict[str, Any]] = [{"x": bar.public, "y": at, "part": ALONE} for at, bar in description]
    rows += [{"x": bar.estimate, "y": at, "part": _WITH} for at, bar in enumerate(bars) if not math.isnan(bar.estimate)]
    colors = alt.Scale(domain=[_WITH, ALONE], range=[ACCENT, PALE])
    legend = alt.Legend(orient="top", title=None, direction="horizontal", symbolType="circle", columnPadding=28)
    dots = _marks(rows, lambda chart: chart.mark_point(size=80, opacity=1, filled=True)).encode(
        color=alt.Color("part:N", scale=colors, legend=legend)
    )
    return [_marks(lines, lambda chart: chart.mark_rule(color=MUTED, strokeWidth=1)).encode(x2="x2:Q"), dots]


def _arrows(bars: list[Bar], start: float, end: float) -> alt.Chart:
    """Where an interval goes on beyond the picture, or has no end."""
    rows = []
    for at, bar in enumerate(bars):
        if bar.low < start:
            rows.append({"x": start, "y": at, "turn": -90})
        if bar.high > end:
            rows.append({"x": end, "y": at, "turn": 90})
    return _marks(
        rows, lambda chart: chart.mark_point(shape="triangle-up", size=90, filled=True, color=PALE, opacity=1)
    ).encode(angle=alt.Angle("turn:Q", scale=None))


def _labels(labels: list[tuple[str, str, bool]], shift: int = -12) -> alt.Chart:
    rows = [
        {"y": at, "t": squeezed(visible(description), _LONGEST), "color": color, "weight": "bold" if bold else "normal"}
        for at, (description, color, bold) in enumerate(labels)
    ]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_text(align="right", dx=shift, limit=_LABEL, fontSize=13, fontWeight=alt.expr("datum.weight"))
        .encode(x=alt.value(0), y=_y(len(rows)), text="t:N", color=alt.Color("color:N", scale=None))
    )
    return chart


def _room(labels: list[str]) -> int:
    """A fifth of what the longest label takes: fonts differ by so much."""
    return 6 + int(1.5 * max(min(cells(visible(label)), _LONGEST) for label in labels))


def _placed(layers: list[alt.Chart], x: Any, n: int) -> list[alt.Chart]:
    return [layer.encode(x=x, y=_y(n)) for layer in layers]


def _y(n: int) -> Any:
    return alt.Y("y:Q", scale=alt.Scale(domain=[n - 0.5, -0.5], nice=False), axis=None)


def _marks(rows: list[dict[str, Any]], marked: Callable[[alt.Chart], Any]) -> alt.Chart:
    chart: alt.Chart = marked(alt.Chart(alt.InlineData(values=rows)))
    return chart
