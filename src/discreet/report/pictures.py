"""Three pictures of a release as SVG, drawn from its public facts: never from what was selected."""

import math
import re
from itertools import accumulate
from typing import Any

import altair as alt
import vl_convert
from markupsafe import escape

from discreet.release import LedgerRecord, NoiseRecord, Release
from discreet.report.chances import SELDOM, seldom_gap, swap_chance, worst_posterior
from discreet.report.facts import promised
from discreet.report.words import at_least, at_most, number, percent, shortened, visible

INK, MUTED, ACCENT, PALE, REST, RULE = "#1c2733", "#4f5d6b", "#0b5c7a", "#86abbc", "#e6ebee", "#d5dce1"
"""Colors by role; the page's style maps each to its counterpart in the dark."""

_WIDTH, _HEIGHT = 350, 240
_FONT = "sans-serif"


_WORDS = {"labelColor": INK, "labelFont": _FONT, "labelFontSize": 13}
_TITLES = {"titleColor": INK, "titleFont": _FONT, "titleFontSize": 13, "titleFontWeight": "normal"}
_LINES = {"domainColor": MUTED, "tickColor": MUTED, "gridColor": RULE, "titlePadding": 10, "labelPadding": 5}
_STYLE = {
    "axis": _WORDS | _TITLES | _LINES,
    "legend": _WORDS | {"symbolSize": 160, "labelLimit": 340},
    "view": {"stroke": None},
    "font": _FONT,
    "background": None,
    "aria": False,
}


def draw(release: Release) -> dict[str, str]:
    """Return the pictures that a release allows, by name.

    Parameters
    ----------
    release : Release
        The release; `selected` is not looked at.

    Returns
    -------
    dict of str to str
        SVG elements with a text alternative: "odds" and "budget" when there is a guarantee (and a ledger),
        "swap" when the noise's law is known.
    """
    pictures = {}
    guarantee, ledger = promised(release), release.provenance.ledger
    if guarantee is not None:
        pictures["odds"] = odds(guarantee.epsilon)
    if swap_chance(release.noise.noise, 0.0) is not None and math.isfinite(release.noise.scale):
        pictures["swap"] = swap(release.noise, str(release.request.get("target", "the target")))
    if guarantee is not None and ledger is not None and 0 < ledger.epsilon_cap < math.inf:
        pictures["budget"] = budget(ledger, guarantee.epsilon)
    return pictures


def odds(epsilon: float) -> str:
    """Return the curve from a belief before to the worst belief after, beside the line of no change.

    Parameters
    ----------
    epsilon : float
        In nats, positive.

    Returns
    -------
    str
        An SVG element.
    """
    beliefs = [(step / 100) ** 2 for step in range(101)]  # closer where a large epsilon bends the curve
    half = {"before": 0.5, "after": worst_posterior(epsilon, 0.5)}
    beside = {"align": "left", "dx": 10, "dy": 14} if half["after"] > 0.85 else {"align": "right", "dx": -10, "dy": -8}
    layers = [
        _line([{"before": end, "after": end} for end in (0, 1)], MUTED, strokeDash=[5, 4], strokeWidth=1.5),
        _line([{"before": belief, "after": worst_posterior(epsilon, belief)} for belief in beliefs], ACCENT),
        _dot(half),
        _text(half, f"50% to {percent(half['after'])}", ACCENT, **beside),
        _text({"before": 0.72, "after": 0.72}, "no change", MUTED, align="left", dx=10, dy=12),
    ]
    ticks = [0, 0.25, 0.5, 0.75, 1]
    x = _axis(alt.X, "before", _shares("Belief before the release", ticks))
    y = _axis(alt.Y, "after", _shares("Worst belief after", ticks))
    told = f"50 percent to {percent(half['after'])}, 10 percent to {percent(worst_posterior(epsilon, 0.1))}"
    return _svg(
        "odds",
        [layer.encode(x=x, y=y) for layer in layers],
        f"Curve of belief before to worst after: {told}.",
    )


def swap(noise: NoiseRecord, target: str) -> str:
    """Return the chance that the worse of two models wins, against how far apart their scores are.

    Parameters
    ----------
    noise : NoiseRecord
        The noise box; its law must be a known one.
    target : str
        Name of the target, for the unit of the scores.

    Returns
    -------
    str
        An SVG element.
    """
    gap = seldom_gap(noise.noise) or 0.0
    at = {"gap": gap, "chance": SELDOM}
    layers = [
        _line([{"gap": step / 20, "chance": swap_chance(noise.noise, step / 20)} for step in range(121)], ACCENT),
        _line([{"gap": gap, "chance": 0}, at], ACCENT, strokeDash=[2, 3], strokeWidth=1.5),
        _dot(at),
        _text(at, f"1 in 20 at {number(gap, 3)} scales", ACCENT, align="left", dx=8, dy=-10),
    ]
    unit = f"in squared units of {shortened(visible(target), 28)} and in noise scales"
    x = _axis(alt.X, "gap", _gaps(noise.scale, ["Distance of the two scores", unit]), 6)
    y = _axis(alt.Y, "chance", _shares("Chance that the worse one wins", [0, 0.1, 0.2, 0.3, 0.4, 0.5]), 0.5)
    far = f"{number(gap * noise.scale, 3)}, {number(gap, 3)} noise scales"
    told = f"one half at distance 0, one in twenty at {far}"
    return _svg("swap", [layer.encode(x=x, y=y) for layer in layers], f"Curve of the chance of a swap: {told}.")


def budget(ledger: LedgerRecord, epsilon: float) -> str:
    """Return the bar of what the data set has spent of its lifetime cap.

    Parameters
    ----------
    ledger : LedgerRecord
        Where the ledger stands.
    epsilon : float
        What this release spent.

    Returns
    -------
    str
        An SVG element.
    """
    spent, cap = ledger.epsilon_spent, ledger.epsilon_cap
    parts = [
        (f"earlier releases: {at_most(max(0.0, spent - epsilon))}", spent - epsilon, PALE),
        (f"this release: {at_most(epsilon)}", min(epsilon, spent), ACCENT),
        (f"left: {at_least(max(0.0, cap - spent))}", cap - spent, REST),
    ]
    shown = [part for part in parts if part[1] > 1e-9 * cap]
    told = f"{at_most(spent)} of {at_least(cap)} spent; " + ", ".join(name for name, _, _ in shown)
    return _svg("budget", [_bar(shown)], f"Bar of the privacy budget: {told}.", height=34)


def _axis(channel: Any, name: str, axis: alt.Axis, end: float = 1.0) -> Any:
    return channel(f"{name}:Q", scale=alt.Scale(domain=[0, end], nice=False), axis=axis)


def _shares(title: str, ticks: list[float]) -> alt.Axis:
    return alt.Axis(title=title, values=ticks, format=".0%", labelFlush=False)


def _gaps(scale: float, title: list[str]) -> alt.Axis:
    labels = ", ".join(f"['{_tick(step * scale)}', '{step} \u00d7']" for step in range(7))
    return alt.Axis(title=title, values=list(range(7)), labelExpr=f"[{labels}][datum.value]", labelFlush=False)


def _tick(value: float) -> str:
    return f"{value:.3g}" if value >= 1e5 else number(value, 3)


def _bar(parts: list[tuple[str, float, str]]) -> alt.Chart:
    ends = list(accumulate((size for _, size, _ in parts), initial=0.0))
    rows = [{"part": part[0], "from": ends[at], "to": ends[at + 1]} for at, part in enumerate(parts)]
    colors = alt.Scale(domain=[name for name, _, _ in parts], range=[color for _, _, color in parts])
    legend = alt.Legend(orient="bottom", title=None, columns=1, symbolType="square", symbolStrokeWidth=1)
    bar: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(height=30, stroke=MUTED, strokeWidth=1)
        .encode(
            x=alt.X("from:Q", scale=alt.Scale(domain=[0, ends[-1]], nice=False), axis=None),
            x2="to:Q",
            color=alt.Color("part:N", scale=colors, legend=legend),
        )
    )
    return bar


def _line(rows: list[dict[str, Any]], color: str, **style: Any) -> alt.Chart:
    chart: alt.Chart = alt.Chart(alt.InlineData(values=rows)).mark_line(color=color, **({"strokeWidth": 2.5} | style))
    return chart


def _dot(row: dict[str, float]) -> alt.Chart:
    chart: alt.Chart = alt.Chart(alt.InlineData(values=[row])).mark_point(filled=True, size=60, color=ACCENT, opacity=1)
    return chart


def _text(row: dict[str, float], text: str, color: str, **style: Any) -> alt.Chart:
    chart: alt.Chart = alt.Chart(alt.InlineData(values=[row])).mark_text(text=text, color=color, fontSize=13, **style)
    return chart


def _svg(name: str, layers: list[alt.Chart], told: str, height: int = _HEIGHT) -> str:
    chart = alt.layer(*layers).properties(width=_WIDTH, height=height, padding=4)
    svg = vl_convert.vegalite_to_svg(chart.to_dict() | {"config": _STYLE}, allowed_base_urls=[])
    svg = re.sub(r"<[^>]*>", lambda tag: _tidy(tag[0], name), svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(told)}" ', 1)


def _tidy(tag: str, name: str) -> str:
    """Several pictures share a page: their ids must differ, and each tells itself in one label."""
    tag = re.sub(r' (?:aria-[a-z]+|role|class)="[^"]*"', "", tag)
    return re.sub(r'( id="|url\(#)(?=\w)', rf"\1{name}-", tag)
