"""Figures of a study from its draws, with standard errors, and pictures that several studies draw."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.report.study import Picture, Row
from discreet.typing import Floats

ROUNDING = 1e-12
"""Values that differ by less than this part of their size are equal."""


def mean_row(column: str, settings: Mapping[str, Any], values: Floats) -> Row:
    """Return a mean over draws, with the standard error of at least two draws; it is 0 where all agree."""
    varies = np.ptp(values) > ROUNDING * np.abs(values).max()
    spread = float(values.std(ddof=1)) if varies else 0.0
    error = spread / math.sqrt(len(values)) if len(values) > 1 else None
    return Row(column, settings, float(values.mean()), error)


def share_row(column: str, settings: Mapping[str, Any], hits: npt.NDArray[np.bool_]) -> Row:
    """Return a share of draws, with the standard error of at least two draws."""
    return Row(column, settings, float(hits.mean()), share_error(int(hits.sum()), len(hits)))


def share_error(n_hits: int, n_draws: int) -> float | None:
    """Return the standard error of a share of draws, None for one draw.

    It is not 0 where all draws agree, as further ones might not.
    """
    if n_draws < 2:
        return None
    if n_hits in (0, n_draws):
        n_hits, n_draws = n_hits + 1, n_draws + 2
    share = n_hits / n_draws
    return math.sqrt(share * (1.0 - share) / n_draws)


def adjusted_fit(name: str, low: float, columns: tuple[str, ...] = ()) -> Picture:
    """Return curves of the relative adjusted R² over the penalty, a panel for each R and epsilon."""
    return Picture(
        name,
        "Average relative adjusted R²",
        "lines",
        "phi",
        "Penalty per column (squared units of the target)",
        "Relative adjusted R²",
        across="R",
        down="epsilon",
        low=low,
        high=1.0,
        columns=columns,
    )


def selected_columns(name: str) -> Picture:
    """Return dots of how often each column is selected, a panel for each penalty."""
    title = "Share of draws"
    return Picture(name, f"{title} with the column", "dots", "variable", "Column", title, down="phi", low=0.0, high=1.0)
