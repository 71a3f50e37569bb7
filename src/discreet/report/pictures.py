"""Pictures of a release as SVG: of its promise and its noise here, never drawn from what was selected."""

import math
from itertools import accumulate, pairwise

from discreet.release import LedgerRecord, NoiseRecord, Release
from discreet.report import estimate_pictures, estimates, hybrid_pictures, noise_box, posteriors, request_facts
from discreet.report.account import standing
from discreet.report.chances import SELDOM, seldom_gap, swap_chance, worst_posterior
from discreet.report.drawing import (
    ACCENT,
    DASHED,
    DOTTED,
    HEIGHT,
    MUTED,
    PALE,
    REST,
    SHARES,
    WIDTH,
    Key,
    Tick,
    panel,
    plain,
    shares,
    svg,
)
from discreet.report.promise import promised
from discreet.report.widths import cut
from discreet.report.words import at_least, at_most, number, percent_at_most, thousands, visible


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
    if release.model_posterior is not None:
        pictures["chances"] = posteriors.chances_picture(release.model_posterior)
    if release.hybrid is not None:
        pictures |= hybrid_pictures.draw(release.hybrid)
    prices = estimate_pictures.steps(release) if len(release.steps) > 1 and promised(release) else None
    return pictures if prices is None else pictures | {"steps": prices}


def odds(epsilon: float) -> str:
    """Return the curve from a belief before to the worst belief after, beside the line of no change.

    An SVG element.
    """
    beliefs = [(step / 100) ** 2 for step in range(101)]  # closer where a large epsilon bends the curve
    after = worst_posterior(epsilon, 0.5)
    tenth = percent_at_most(worst_posterior(epsilon, 0.1))
    drawing = panel(WIDTH, HEIGHT, (0, 1), (0, 1))
    drawing.x_axis(shares(SHARES), "Belief before the release")
    drawing.y_axis(shares(SHARES), "Worst belief after")
    drawing.line([(0, 0), (1, 1)], MUTED, 1.5, DASHED)
    drawing.line([(belief, worst_posterior(epsilon, belief)) for belief in beliefs], ACCENT)
    drawing.dot(0.5, after, ACCENT)
    anchor, dx, dy = ("start", 10, 18) if after > 0.93 else ("end", -10, -4)
    drawing.text(0.5, after, f"50% to {percent_at_most(after)}", ACCENT, dx, dy, anchor)
    drawing.text(0.72, 0.72, "no change", MUTED, 10, 16)
    description = f"50 percent to {percent_at_most(after)}, 10 percent to {tenth}"
    return svg(drawing, f"Curve of belief before to worst after: {description}.")


def swap(noise: NoiseRecord, target: str) -> str:
    """Return the chance that the worse of two models wins, against how far apart their scores are.

    An SVG element.
    """
    gap = seldom_gap(noise.noise) or 0.0
    drawing = panel(WIDTH, HEIGHT, (0, 6), (0, 0.5))
    unit = f"in {cut(visible(noise_box.unit(noise, target, 28)), 50)} and in noise scales"
    drawing.x_axis(_gaps(noise.scale), f"Distance of the two scores, {unit}")
    drawing.y_axis(shares([0, 0.1, 0.2, 0.3, 0.4, 0.5]), "Chance that the worse one wins")
    drawing.line([(step / 20, swap_chance(noise.noise, step / 20) or 0.0) for step in range(121)], ACCENT)
    drawing.line([(gap, 0), (gap, SELDOM)], ACCENT, 1.5, DOTTED)
    drawing.dot(gap, SELDOM, ACCENT)
    drawing.text(gap, SELDOM, f"1 in 20 at {number(gap, 3)} scales", ACCENT, 8, -6)
    far = f"{thousands(number(gap * noise.scale, 3))}, {number(gap, 3)} noise scales"
    return svg(drawing, f"Curve of the chance of a swap: one half at distance 0, one in twenty at {far}.")


def budget(ledger: LedgerRecord, epsilon: float) -> str:
    """Return the bar of what the data set has spent of its lifetime cap.

    An SVG element.
    """
    account = standing(ledger)
    spent, cap = account.spent, account.cap
    mine = epsilon if account.currency == "epsilon" else ledger.rho or 0.0
    parts = [
        (f"other releases: {thousands(at_most(max(0.0, spent - mine)))}", spent - mine, PALE),
        (f"this release: {thousands(at_most(mine))}", min(mine, spent), ACCENT),
        (f"left: {thousands(at_least(account.left))}", cap - spent, REST),
    ]
    shown = [part for part in parts if part[1] > 1e-9 * cap]
    description = f"{account.currency} {thousands(at_most(spent))} of {thousands(at_least(cap))} spent; " + ", ".join(
        name for name, _, _ in shown
    )
    drawing = panel(WIDTH, 34, (0, cap), (0, 1))
    ends = accumulate((size for _, size, _ in shown), initial=0.0)
    for (start, end), (_, _, color) in zip(pairwise(ends), shown, strict=True):
        drawing.bar(start, end, 0.5, color, 30)
    drawing.legend_below([Key(name, color, "square") for name, _, color in shown])
    return svg(drawing, f"Bar of the privacy budget: {description}.")


def _gaps(scale: float) -> list[Tick]:
    return [(step, f"{_tick(step * scale)}\n{step} \u00d7") for step in range(7)]


def _tick(value: float) -> str:
    return plain(float(f"{value:.3g}"))
