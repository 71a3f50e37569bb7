"""A chart of accuracy against epsilon, of public or simulated tables."""

from collections.abc import Sequence
from typing import Any, Protocol

import altair as alt

from discreet.report.drawing import STYLES, shares, svg
from discreet.report.words import number, percent


class Rated(Protocol):
    """A mechanism's accuracy at one epsilon."""

    @property
    def mechanism(self) -> str:
        """Name of the curve."""

    @property
    def epsilon(self) -> float:
        """In nats, positive."""

    @property
    def overlap(self) -> float:
        """Share of the best columns that is found."""

    @property
    def error(self) -> float:
        """Its standard error."""


def accuracy_chart(ratings: Sequence[Rated]) -> str:
    """Return a curve a mechanism, with bands of two standard errors.

    Parameters
    ----------
    ratings : sequence of Rated
        What `top_k_accuracy` returns; at most six mechanisms.

    Returns
    -------
    str
        An SVG element.
    """
    names = list(dict.fromkeys(rating.mechanism for rating in ratings))
    epsilons = sorted({rating.epsilon for rating in ratings})
    rows = [
        {
            "mechanism": rating.mechanism,
            "epsilon": rating.epsilon,
            "overlap": rating.overlap,
            "low": max(rating.overlap - 2 * rating.error, 0.0),
            "high": min(rating.overlap + 2 * rating.error, 1.0),
        }
        for rating in ratings
    ]
    x = alt.X(
        "epsilon:Q",
        scale=alt.Scale(type="log", domain=[epsilons[0], epsilons[-1]], nice=False),
        axis=alt.Axis(title="Epsilon (nats)", values=epsilons, labelExpr="format(datum.value, '~g')"),
    )
    encoding: dict[str, Any] = {
        "scale": alt.Scale(domain=[0, 1], nice=False),
        "axis": shares("Best columns found", [0, 0.25, 0.5, 0.75, 1]),
    }
    y, low = alt.Y("overlap:Q", **encoding), alt.Y("low:Q", **encoding)
    styles = STYLES[: len(names)]
    scale = alt.Scale(domain=names, range=[style[0] for style in styles])
    legend = alt.Legend(title=None, orient="right", symbolType="stroke", symbolStrokeWidth=3, symbolSize=600)
    dashes = alt.StrokeDash(
        "mechanism:N", scale=alt.Scale(domain=names, range=[style[1] for style in styles]), legend=legend
    )
    curves = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2.5)
        .encode(x=x, y=y, color=alt.Color("mechanism:N", scale=scale, legend=legend), strokeDash=dashes)
    )
    bands, dots = [], []
    for name, (color, _) in zip(names, styles, strict=False):
        chart = alt.Chart(alt.InlineData(values=[row for row in rows if row["mechanism"] == name]))
        bands.append(chart.mark_area(opacity=0.1, color=color).encode(x=x, y=low, y2="high:Q"))
        dots.append(chart.mark_point(filled=True, size=40, opacity=1, color=color).encode(x=x, y=y))
    last = [rating for rating in ratings if rating.epsilon == epsilons[-1]]
    description = "; ".join(f"{rating.mechanism}: {percent(rating.overlap)}" for rating in last)
    return svg(
        "accuracy", [*bands, curves, *dots], f"At epsilon {number(epsilons[-1])}: {description}", width=430, height=280
    )
