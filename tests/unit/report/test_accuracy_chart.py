"""The chart of accuracy against epsilon: a curve a mechanism, told to those who do not see it."""

import re

from discreet.report.accuracy_chart import accuracy_chart
from discreet.simulation.top_k import TopKAccuracy


def ratings(names):
    return [TopKAccuracy(name, e, e / 25, 0.0, 0.0, 0.0, 0.02) for name in names for e in (1.0, 5.0, 20.0)]


def test_every_mechanism_has_a_curve_and_a_name():
    """As many curves as names, each in a color of its own, named in the legend and in the text alternative."""
    names = ["auto", "peeling", "one_shot"]
    drawn = accuracy_chart(ratings(names))
    told = re.search(r'aria-label="([^"]*)"', drawn)[1]
    assert told == "At epsilon 20: auto: 80.0%; peeling: 80.0%; one_shot: 80.0%"
    assert all(f">{name}</text>" in drawn for name in names)
    curves = {color for color, dash in re.findall(r'stroke="(#\w+)" stroke-width="2.5"([^>]*)', drawn)}
    assert len(curves) == len(names)


def test_axes_tell_epsilon_and_shares():
    """Every epsilon asked stands at the axis, shares run to 100 percent."""
    drawn = accuracy_chart(ratings(["auto"]))
    assert all(f">{label}</text>" in drawn for label in ("1", "5", "20", "0%", "100%", "Epsilon"))


def test_a_notebook_shows_it_on_white():
    """Words are dark, and a notebook may be dark: the ground comes first, under every mark."""
    shown = accuracy_chart(ratings(["auto"]))._repr_svg_()
    assert re.match(r'<svg [^>]* style="max-width:100%;height:auto"><rect width="100%" [^>]*fill="#ffffff"/>', shown)
