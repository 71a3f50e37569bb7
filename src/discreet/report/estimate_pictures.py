"""Pictures of what was released: coefficients, models by size, prices of steps; one row each, its name at the left."""

import itertools
import math
from dataclasses import dataclass

from discreet.release import CoefficientRecord, FitRecord, Release
from discreet.report import estimates, noise_box, request_facts
from discreet.report import sizes as by_size
from discreet.report.drawing import (
    ACCENT,
    INK,
    MUTED,
    PALE,
    PAPER,
    WIDTH,
    Key,
    Panel,
    Tick,
    room_beside,
    round_ticks,
    rows_panel,
    svg,
)
from discreet.report.hybrids import ALONE
from discreet.report.price import price
from discreet.report.vocabulary import IN_TARGETS_UNIT
from discreet.report.widths import cut, squeezed
from discreet.report.words import at_most, number, shortened, visible

_ROW, _LONGEST = 24, 32
_STEP_ROW = 40
"""Of a step, whose name stands above its bar."""
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
    valued = [(at, bar) for at, bar in enumerate(bars) if not math.isnan(bar.estimate)]
    start, end = _domain([bar for _, bar in valued])
    drawing = rows_panel(room_beside(_shown(bar.label) for bar in bars), _ROW, len(bars), (start, end))
    drawing.x_axis(*_effects(release, fitted, start, end))
    drawing.line([(0.0, -0.5), (0.0, len(bars) - 0.5)], MUTED, 1)
    if fitted.has_intervals:
        _intervals(drawing, valued, start, end)
    if any(not math.isnan(bar.public) for _, bar in valued):
        _pairs(drawing, valued)
    else:
        for at, bar in valued:
            if not bar.is_empty:
                drawing.ring(bar.estimate, at)
    for at, bar in enumerate(bars):
        _label(drawing, at, bar.label, INK, math.isnan(bar.estimate))
    return svg(drawing, _spoken([bar for _, bar in valued], fitted))


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
    beyond = f"; {n_open} without a known lower or upper limit" if n_open else ""
    return f"Intervals of {len(drawn_bars)} coefficients, {crossing} of them on both sides of no difference{beyond}."


def sizes(release: Release) -> str:
    """Return R squared of the best model of every size, with its interval.

    An SVG element.
    """
    records = by_size.drawn_sizes(release)
    description = {size.size: size for size in by_size.sizes(release)}
    chosen = [description[str(record.size)].is_chosen for record in records]
    ends = [
        [min(max(end, -0.25), 1.05) for end in (record.r_squared_low, record.r_squared_high, record.r_squared)]
        for record in records
    ]
    most = max(0.05, *(max(high, middle) for _, high, middle in ends)) * 1.04
    least = min(0.0, *(min(low, middle) for low, _, middle in ends))
    changes = [_shown(description[str(record.size)].change) for record in records]
    drawing = rows_panel(room_beside(changes, 66), _ROW, len(records), (least, most))
    drawing.x_axis(round_ticks(least, most, 4), "R squared, corrected for noise")
    for at, (low, high, _) in enumerate(ends):
        drawing.bar(low, high, at, PALE, 9, has_rim=False)
    drawing.line([(middle, at) for at, (_, _, middle) in enumerate(ends)], MUTED, 1)
    for at, (record, is_chosen) in enumerate(zip(records, chosen, strict=True)):
        drawing.ring(ends[at][2], at, ACCENT if is_chosen else PAPER)
        color, mark = (ACCENT, "\u2713 ") if is_chosen else (INK, "")
        _label(drawing, at, str(record.size), color, is_chosen)
        _label(drawing, at, f"{mark}{description[str(record.size)].change}", color, is_chosen, -42)
    best = [record for record, is_chosen in zip(records, chosen, strict=True) if is_chosen]
    chosen_text = f"; {best[0].size} columns were selected, {best[0].r_squared:.3f}" if best else ""
    return svg(drawing, f"R squared of the best models of {len(records)} sizes{chosen_text}.")


def steps(release: Release) -> str | None:
    """Return what each step takes of the release's epsilon.

    An SVG element; None when the steps' prices do not add up to the whole.
    """
    amounts = noise_box.amounts(release)
    total = sum(amounts)
    if not total > 0 or not math.isclose(total, request_facts.epsilon(release), rel_tol=1e-3):
        return None
    names = [noise_box.purpose(step.name) for step in release.steps]
    prices = [_price_in_words(release, at) for at in range(len(amounts))]
    drawing = rows_panel(WIDTH, _STEP_ROW, len(amounts), (0.0, max(amounts) * 1.45))
    for at, (name, amount, words) in enumerate(zip(names, amounts, prices, strict=True)):
        drawing.text(0.0, at, visible(name), INK, dy=-5)
        drawing.bar(0.0, amount, at + 0.2, ACCENT, 13, has_rim=False)
        drawing.text(amount, at + 0.2, words, INK, 8, 4.5)
    spoken = "; ".join(f"{visible(name)} {words}" for name, words in zip(names, prices, strict=True))
    return svg(drawing, f"Bars of the steps' prices: {shortened(spoken, 400)}.")


def _price_in_words(release: Release, at: int) -> str:
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


def _effects(release: Release, fitted: FitRecord, start: float, end: float) -> tuple[list[Tick], str]:
    """Units of the target, or ratios on a logarithmic axis: its numbers and its title."""
    target = cut(visible(request_facts.called(release, request_facts.target(release))), 44)
    below = "from one end of a column's range to the other"
    if fitted.family in IN_TARGETS_UNIT:
        return round_ticks(start, end, 5), f"Difference in {target}, {below}"
    ratio_name = "Odds ratio" if fitted.family == "logistic" else "Rate ratio"
    ticks = [(math.log(ratio), number(ratio, 3)) for ratio in _ratios(start, end)]
    return ticks, f"{ratio_name} for {target}, {below}"


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


def _intervals(drawing: Panel, bars: list[tuple[int, Bar]], start: float, end: float) -> None:
    """Sampling alone within sampling with noise, cut at the picture's ends; an arrow where one goes on beyond."""
    drawing.legend_above([Key(_ALONE, ACCENT, thickness=9), Key(_BOTH, PALE, thickness=9)])
    for at, bar in bars:
        drawing.bar(max(bar.low, start), min(bar.high, end), at, PALE, 9, has_rim=False)
        low, high = max(bar.estimate - bar.reach, bar.low, start), min(bar.estimate + bar.reach, bar.high, end)
        if not bar.is_empty and low < high:
            drawing.bar(low, high, at, ACCENT, 9, has_rim=False)
    for at, bar in bars:
        if bar.low < start:
            drawing.dot(start, at, PALE, 90, "triangle-left")
        if bar.high > end:
            drawing.dot(end, at, PALE, 90, "triangle-right")


def _pairs(drawing: Panel, bars: list[tuple[int, Bar]]) -> None:
    """What public records alone tell beside what the private rows make of it, with a line between."""
    drawing.legend_above([Key(_WITH, ACCENT, "circle"), Key(ALONE, PALE, "circle")])
    for at, bar in bars:
        if not math.isnan(bar.public):
            drawing.line([(bar.public, at), (bar.estimate, at)], MUTED, 1)
            drawing.dot(bar.public, at, PALE, 80)
        drawing.dot(bar.estimate, at, ACCENT, 80)


def _label(drawing: Panel, at: int, words: str, color: str, is_bold: bool, dx: float = -12) -> None:
    drawing.row_label(at, _shown(words), color, is_bold, dx)


def _shown(words: str) -> str:
    return squeezed(visible(words), _LONGEST)
