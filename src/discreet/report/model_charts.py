"""Charts that statisticians know from glmnet and leaps: the path of a lasso, and the best model of each size."""

from collections.abc import Sequence

import numpy as np

from discreet.errors import InvalidParameterError
from discreet.notebook import Drawing
from discreet.release import Release
from discreet.report import request_facts
from discreet.report.drawing import (
    ACCENT,
    INK,
    MUTED,
    PALE,
    REST,
    RULE,
    STYLES,
    Panel,
    panel,
    room_beside,
    round_ticks,
    rows_panel,
    svg,
)
from discreet.report.sizes import drawn_sizes, is_chosen
from discreet.report.widths import pixels, squeezed
from discreet.report.words import number, thousands, visible
from discreet.typing import Floats

_STYLES = tuple(style for style in STYLES if style[0] != PALE)
"""Of curves whose names have their color: a pale one could not be read."""
_LONGEST = 24
_CELL, _LEAST_CELL = 26, 18
_LABEL_GAP = 15
_BESIDE_A_PATH, _BESIDE_CELLS = 50.0, 75.0
"""Pixels that a chart needs beside its panel and its longest word, so that all of it fits a phone."""
MOST_COLUMNS = 60
"""Candidates that the chart of models shows: those of the smallest models come first."""


def lasso_chart(coefficients: Floats, labels: Sequence[str]) -> Drawing:
    """Return the coefficients along a lasso's path against the sum of their absolute values.

    Parameters
    ----------
    coefficients : ndarray of float, shape (n_knots, p)
        Per half range of a column.
    labels : sequence of str
        What the p columns are called; the five with the largest coefficients are named where they end.

    Returns
    -------
    Drawing
        Shown by itself in a notebook.

    Raises
    ------
    InvalidParameterError
        Where no column has a coefficient that differs from 0.
    """
    sums = np.abs(coefficients).sum(axis=1)
    if len(sums) < 2 or not sums.max() > 0:
        raise InvalidParameterError("The path is empty: no column has a coefficient that differs from 0.")
    low, high = min(float(coefficients.min()), 0.0), max(float(coefficients.max()), 0.0)
    room = 0.04 * (high - low)
    order = np.argsort(-np.abs(coefficients[-1]), kind="stable")
    named = [int(column) for column in order[: len(_STYLES)] if coefficients[-1, column] != 0]
    width = room_beside((squeezed(visible(labels[column]), _LONGEST) for column in named), _BESIDE_A_PATH)
    drawing = panel(width, 240, (0.0, float(sums.max())), (low - room, high + room))
    drawing.x_axis(round_ticks(0.0, float(sums.max()), 4), "Sum of the absolute coefficients", grid=False)
    drawing.y_axis(round_ticks(low - room, high + room, 6), "Coefficient per half range of its column")
    drawing.line([(0.0, 0.0), (float(sums.max()), 0.0)], MUTED, 1)
    for column in (int(column) for column in order if int(column) not in named):
        drawing.line(zip(sums, coefficients[:, column], strict=True), RULE, 1.5)
    for column, (color, dash) in zip(named, _STYLES, strict=False):
        drawing.line(zip(sums, coefficients[:, column], strict=True), color, dash=dash)
    _names_at_the_end(drawing, float(sums.max()), coefficients[-1], named, labels)
    largest = ", ".join(f"{visible(labels[column])} {number(coefficients[-1, column], 3)}" for column in named)
    return Drawing(svg(drawing, f"Paths of {len(labels)} coefficients. At the end the largest are {largest}."))


def _names_at_the_end(drawing: Panel, end: float, last: Floats, named: Sequence[int], labels: Sequence[str]) -> None:
    """Name curves right of the panel, each where it ends or as much lower as the name above needs."""
    lowest = float(-_LABEL_GAP)
    for column, (color, _) in sorted(zip(named, _STYLES, strict=False), key=lambda pair: -last[pair[0]]):
        name, place = squeezed(visible(labels[column]), _LONGEST), drawing.y(float(last[column]))
        lowest = max(place, lowest + _LABEL_GAP)
        drawing.text(end, float(last[column]), name, color, 8, lowest - place + 4.5)
        drawing.right = max(drawing.right, 8 + 1.05 * pixels(name))


def subset_chart(release: Release) -> Drawing:
    """Return which columns the best model of each size has; the selected model is marked.

    Parameters
    ----------
    release : Release
        Of a method that returns the best model of each size, such as noisy moments.

    Returns
    -------
    Drawing
        An SVG element as a text; a notebook shows it.

    Raises
    ------
    InvalidParameterError
        If the release has no models by size.
    """
    records = drawn_sizes(release)
    if not records:
        raise InvalidParameterError("The release has no models by size. Select with noisy moments to get them.")
    columns = list(dict.fromkeys(name for record in records for name in record.columns))
    rest = [name for name in request_facts.candidates(release) if name not in columns]
    columns = (columns + rest)[:MOST_COLUMNS]
    cell = min(_CELL, max(_LEAST_CELL, room_beside(["columns", "criterion"], _BESIDE_CELLS) / len(columns)))
    drawing = rows_panel(cell * len(columns), _CELL - 4, len(records), (-0.5, len(columns) - 0.5))
    chosen = [at for at, record in enumerate(records) if is_chosen(record, release)]
    for at, record in enumerate(records):
        color = ACCENT if at in chosen else MUTED
        for place, name in enumerate(columns):
            drawing.bar(place - 0.44, place + 0.44, at, color if name in record.columns else REST, 18, has_rim=False)
        drawing.row_label(at, f"{record.size}", color if at in chosen else INK, at in chosen)
        words = thousands(number(record.criterion, 5))
        drawing.text(len(columns) - 0.5, at, words, color if at in chosen else INK, 8, 4.5, is_bold=at in chosen)
    selected = set(release.selected)
    for place, name in enumerate(columns):
        drawing.column_label(place, squeezed(visible(name), _LONGEST), INK, name in selected)
    drawing.row_label(len(records), "columns", MUTED)
    drawing.text(len(columns) - 0.5, len(records), "criterion", MUTED, 8, 4.5)
    drawing.bottom, drawing.right = _CELL, max(drawing.right, 80)
    sizes = f"{records[0].size} to {records[-1].size}"
    marked = ", ".join(visible(name) for name in release.selected) or "no column"
    return Drawing(svg(drawing, f"Best models of {sizes} columns. The selected one has {marked}."))
