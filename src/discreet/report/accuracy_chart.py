"""A chart of accuracy against epsilon, of public or simulated tables."""

from collections.abc import Sequence
from typing import Protocol

from discreet.notebook import Drawing
from discreet.report.drawing import HEIGHT, SHARES, STYLES, WIDTH, Key, panel, plain, shares, svg
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


def accuracy_chart(ratings: Sequence[Rated]) -> Drawing:
    """Return a curve for each mechanism, with bands of two standard errors.

    Parameters
    ----------
    ratings : sequence of Rated
        What `top_k_accuracy` returns; at most six mechanisms.

    Returns
    -------
    Drawing
        An SVG element as a text; a notebook shows it.
    """
    names = list(dict.fromkeys(rating.mechanism for rating in ratings))
    epsilons = sorted({rating.epsilon for rating in ratings})
    drawing = panel(WIDTH, HEIGHT, (epsilons[0], epsilons[-1]), (0, 1), log_x=True)
    drawing.x_axis([(epsilon, plain(epsilon)) for epsilon in epsilons], "Epsilon")
    drawing.y_axis(shares(SHARES), "Best columns found")
    points_of = {
        name: sorted((each.epsilon, each.overlap, 2 * each.error) for each in ratings if each.mechanism == name)
        for name in names
    }
    curves = [(style, points_of[name]) for name, style in zip(names, STYLES, strict=False)]
    for (color, _), points in curves:
        drawing.band([(x, max(y - half, 0.0), min(y + half, 1.0)) for x, y, half in points], color, 0.1)
    for (color, dash), points in curves:
        drawing.line([(x, y) for x, y, _ in points], color, dash=dash)
        for x, y, _ in points:
            drawing.dot(x, y, color, 40)
    drawing.legend_below([Key(name, color, dash=dash) for name, (color, dash) in zip(names, STYLES, strict=False)])
    last = [rating for rating in ratings if rating.epsilon == epsilons[-1]]
    description = "; ".join(f"{rating.mechanism}: {percent(rating.overlap)}" for rating in last)
    return Drawing(svg(drawing, f"At epsilon {number(epsilons[-1])}: {description}"))
