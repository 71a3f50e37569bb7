"""Directions along which nothing tells that coefficients end, and which combinations of coefficients they open."""

from dataclasses import dataclass, field

import numpy as np

from discreet.typing import Bools, Floats

SHARE = 0.1
"""Of a combination's length in undetermined directions, from which on its ends may rest on the prior."""

ROUNDING = 1e-9
"""A combination that changes less along a direction does not change."""


def _none() -> Floats:
    return np.zeros((0, 0))


@dataclass(frozen=True)
class OpenWays:
    """Directions along which nothing tells that coefficients end.

    Parameters
    ----------
    separating : ndarray of float, shape (m, p)
        Combinations that rise along one have no upper end, and those that fall no lower end.
    undetermined : ndarray of float, shape (k, p)
        Orthonormal; of combinations with a part in their span an end is told that a much weaker prior does not move.
    """

    separating: Floats = field(default_factory=_none)
    undetermined: Floats = field(default_factory=_none)

    def without_ends(self, rows: Floats) -> tuple[Bools, Bools]:
        """Return which combinations have no lower, no upper end as rows may have one response. Shapes: as `hidden`."""
        no_low, no_high = np.zeros((2, len(rows)), dtype=np.bool_)
        if self.separating.size:
            along, small = rows @ self.separating.T, ROUNDING * _lengths(rows)[:, None]
            no_high |= (along > small).any(axis=1)
            no_low |= (along < -small).any(axis=1)
        return no_low, no_high

    def hidden(self, rows: Floats) -> Bools:
        """Return which combinations have a part in an undetermined direction. Shapes: rows (k, p); returns (k,)."""
        if not self.undetermined.size:
            return np.zeros(len(rows), dtype=np.bool_)
        part: Bools = np.linalg.norm(rows @ self.undetermined.T, axis=1) > SHARE * _lengths(rows)
        return part


def _lengths(rows: Floats) -> Floats:
    lengths: Floats = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    return lengths
