"""Directions along which nothing tells that coefficients end, and which combinations of coefficients they open."""

from dataclasses import dataclass, field

import numpy as np

from discreet.typing import Bools, Floats

SHARE = 0.1
"""Of a combination's length in undetermined directions, from which on nothing is told of it: they are noisy."""

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
        Orthonormal; combinations with a part in their span have no end.
    """

    separating: Floats = field(default_factory=_none)
    undetermined: Floats = field(default_factory=_none)

    def without_ends(self, rows: Floats) -> tuple[Bools, Bools]:
        """Return which combinations have no lower, no upper end. Shapes: rows (k, p); returns (k,), (k,)."""
        lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        no_low, no_high = np.zeros((2, len(rows)), dtype=np.bool_)
        if self.separating.size:
            along = rows @ self.separating.T
            no_high |= (along > ROUNDING * lengths[:, None]).any(axis=1)
            no_low |= (along < -ROUNDING * lengths[:, None]).any(axis=1)
        if self.undetermined.size:
            hidden = np.linalg.norm(rows @ self.undetermined.T, axis=1) > SHARE * lengths
            no_low, no_high = no_low | hidden, no_high | hidden
        return no_low, no_high
