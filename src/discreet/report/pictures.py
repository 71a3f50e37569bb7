"""Pictures of a release as SVG: of its promise and its noise here, never drawn from what was selected."""

import math
from itertools import accumulate

import altair as alt

from discreet.release import LedgerRecord, NoiseRecord, Release
from discreet.report import estimate_pictures, estimates, hybrid_pictures, noise_box, request_facts
from discreet.report.account import standing
from discreet.report.chances import SELDOM, seldom_gap, swap_chance, worst_posterior
from discreet.report.drawing import ACCENT, MUTED, PALE, REST, axis, dot, line, shares, svg, text
from discreet.report.promise import promised
from discreet.report.widths import cut
from discreet.report.words import at_least, at_most, number, percent_at_most, visible


def draw(release: Release) -> dict[str, str]:
    """Return the pictures that a release allows, by name."""
    pictures = {}
    guarantee, ledger = promised(release), release.provenance.ledger
    if guarantee is not None:
        pictures["odds"] = odds(guarantee.epsilon)
    choice = noise_box.choice(release)
    if choice is not None and swap_chance(choice.noise, 0.0) is not None and math.isfinite(choice.scale):
        pictures["swap"] = swap(choice, request_facts.target(release))
    if guarantee is not None and ledger is not None and 0 < standing(ledger).cap < math.inf:
        pictures["budget"] = budget(ledger, guarantee.epsilon)
    return pictures | _of_estimates(release)


def _of_estimates(release: Release) -> dict[str, str]:
    pictures = {}
    if release.fit is not None and estimates.drawn(release.fit):
        pictures["coefficients"] = estimate_pictures.coefficients(release, release.fit)
    if release.by_size and request_facts.kind(release) != "fit":
        pictures["sizes"] = estimate_pictures.sizes(release)
    if release.hybrid is not None:
        pictures |= hybrid_pictures.draw(release.hybrid)
    prices = estimate_pictures.steps(release) if len(release.steps) > 1 and promised(release) else None
    return pictures if prices is None else pictures | {"steps": prices}


def odds(epsilon: float) -> str:
    """Return the curve from a belief before to the worst belief after, beside the line of no change.

    An SVG element.
    """
    beliefs = [(step / 100) ** 2 for step in range(101)]  # closer where a large epsilon bends the curve
    half = {"before": 0.5, "after": worst_posterior(epsilon, 0.5)}
    beside = {"align": "left", "dx": 10, "dy": 14} if half["after"] > 0.85 else {"align": "right", "dx": -10, "dy": -8}
    layers = [
        line([{"before": end, "after": end} for end in (0, 1)], MUTED, strokeDash=[5, 4], strokeWidth=1.5),
        line([{"before": belief, "after": worst_posterior(epsilon, belief)} for belief in beliefs], ACCENT),
        dot(half),
        text(half, f"50% to {percent_at_most(half['after'])}", ACCENT, **beside),
        text({"before": 0.72, "after": 0.72}, "no change", MUTED, align="left", dx=10, dy=12),
    ]
    ticks = [0, 0.25, 0.5, 0.75, 1]
    x = axis(alt.X, "before", shares("Belief before the release", ticks))
    y = axis(alt.Y, "after", shares("Worst belief after", ticks))
    tenth = percent_at_most(worst_posterior(epsilon, 0.1))
    description = f"50 percent to {percent_at_most(half['after'])}, 10 percent to {tenth}"
    return svg(
        "odds",
        [layer.encode(x=x, y=y) for layer in layers],
        f"Curve of belief before to worst after: {description}.",
    )


def swap(noise: NoiseRecord, target: str) -> str:
    """Return the chance that the worse of two models wins, against how far apart their scores are.

    An SVG element.
    """
    gap = seldom_gap(noise.noise) or 0.0
    at = {"gap": gap, "chance": SELDOM}
    layers = [
        line([{"gap": step / 20, "chance": swap_chance(noise.noise, step / 20)} for step in range(121)], ACCENT),
        line([{"gap": gap, "chance": 0}, at], ACCENT, strokeDash=[2, 3], strokeWidth=1.5),
        dot(at),
        text(at, f"1 in 20 at {number(gap, 3)} scales", ACCENT, align="left", dx=8, dy=-10),
    ]
    unit = f"in {cut(visible(noise_box.unit(noise, target, 28)), 50)} and in noise scales"
    x = axis(alt.X, "gap", _gaps(noise.scale, ["Distance of the two scores", unit]), 6)
    y = axis(alt.Y, "chance", shares("Chance that the worse one wins", [0, 0.1, 0.2, 0.3, 0.4, 0.5]), 0.5)
    far = f"{number(gap * noise.scale, 3)}, {number(gap, 3)} noise scales"
    description = f"one half at distance 0, one in twenty at {far}"
    return svg("swap", [layer.encode(x=x, y=y) for layer in layers], f"Curve of the chance of a swap: {description}.")


def budget(ledger: LedgerRecord, epsilon: float) -> str:
    """Return the bar of what the data set has spent of its lifetime cap.

    An SVG element.
    """
    account = standing(ledger)
    spent, cap = account.spent, account.cap
    mine = epsilon if account.currency == "epsilon" else ledger.rho or 0.0
    parts = [
        (f"earlier releases: {at_most(max(0.0, spent - mine))}", spent - mine, PALE),
        (f"this release: {at_most(mine)}", min(mine, spent), ACCENT),
        (f"left: {at_least(account.left)}", cap - spent, REST),
    ]
    shown = [part for part in parts if part[1] > 1e-9 * cap]
    description = f"{account.currency} {at_most(spent)} of {at_least(cap)} spent; " + ", ".join(
        name for name, _, _ in shown
    )
    return svg("budget", [_bar(shown)], f"Bar of the privacy budget: {description}.", height=34)


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
