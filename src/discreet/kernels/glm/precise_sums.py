"""Sums of a generalized linear model at a point, precise to 2^-59 a row: what the certificate of a minimum needs.

The mean, over the largest response, is drawn by straight lines between the nodes of a public table. The lines are the
definition, not an approximation that must be counted: the loss that they belong to is convex, its slope is at most 1,
its curvature at most `Loss.weight`. A coefficient is a whole number of tiny steps, so that a linear predictor is exact,
and a residual is rounded once, at 60 bits. So a row's part depends on that row alone, bit for bit.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2

import numpy as np

from discreet.kernels.glm.families import LOGISTIC, Family
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.lines import buffers, n_lines, unwritable
from discreet.typing import Cells, Floats, Integers

NODE = 32.0
"""Nodes are this over GRID apart, about 2^-10."""

N_CELLS = 2 * 40_960
"""Straight pieces, from -40 to 40; further out the curve is 0 or 1."""

DIGIT = 2.0**15
"""Base of the digits of residuals and weights: times a cell and added up over 2^33 rows they fit in 64 bits."""

RESIDUAL_DIGITS, WEIGHT_DIGITS = 4, 3


@dataclass(frozen=True)
class Loss:
    """The loss of one row: the area below the curve of the mean, less the response times the linear predictor.

    Parameters
    ----------
    family : Family
        Its mean rises from 0 to `Family.high`; all is counted in units of that.
    """

    family: Family

    def __getstate__(self) -> dict[str, object]:
        # A pass takes the tables along: another machine's library may round the mean otherwise, and the lines are the
        # definition.
        return {"pieces": self.pieces, "response_digits": self.response_digits}

    @cached_property
    def pieces(self) -> tuple[Floats, Floats]:
        """Where each piece starts, and how far it rises; the first and the last piece are the flat ends."""
        eta: Floats = np.arange(-(N_CELLS // 2), N_CELLS // 2 + 1, dtype=np.float64) * (NODE / GRID)
        nodes: Floats = np.clip(np.maximum.accumulate(self.family.mean(eta) / self.family.high), 0.0, 1.0)
        nodes[0], nodes[-1] = 0.0, 1.0
        return np.concatenate([[0.0], nodes]), np.concatenate([[0.0], np.diff(nodes), [0.0]])

    @cached_property
    def weight(self) -> float:
        """The largest curvature, and a hair more: no piece is steeper, nor is the smooth curve."""
        return float(self.pieces[1].max() * (GRID / NODE)) * (1.0 + 2.0**-20)

    @cached_property
    def fall(self) -> float:
        """The most that a row's loss at 0 is above its infimum, or a little more."""
        # The loss is convex in the response too, which makes 0 and 1 the worst: areas below and above the curve.
        starts, rises = self.pieces
        middles, half = starts[1:-1] + rises[1:-1] / 2.0, N_CELLS // 2
        return 1.01 * float(max(middles[:half].sum(), (1.0 - middles[half:]).sum())) * NODE / GRID

    @cached_property
    def response_digits(self) -> Floats:
        """Of each response's cell, three digits in base `DIGIT`: what is left of the response is below 2^-45."""
        response = np.clip(self.family.responses() / self.family.high, 0.0, 1.0)
        digits = np.zeros((len(response), RESIDUAL_DIGITS))
        _cut((response * DIGIT)[:, None], digits[:, : RESIDUAL_DIGITS - 1], RESIDUAL_DIGITS - 1)
        return digits

    def curve(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return the piecewise linear mean and its slope in float64."""
        starts, rises = self.pieces
        place = eta * (GRID / NODE)
        piece = np.floor(place)
        at = np.clip(piece + (N_CELLS // 2 + 1), 0, N_CELLS + 1).astype(np.intp)
        return starts[at] + rises[at] * (place - piece), rises[at] * (GRID / NODE)


LOGISTIC_LOSS = Loss(LOGISTIC)


@dataclass(frozen=True)
class Lattice:
    """Points whose coordinates are whole numbers of a tiny step.

    Parameters
    ----------
    n_coefficients : int
        p, positive.
    radius : float
        Points are no longer than this in the l2 norm.

    Notes
    -----
    A coordinate is cut into three limbs such that a row's product with each is a whole number below 2^53, exact in
    float64 in any order of adding up.
    """

    n_coefficients: int
    radius: float

    @property
    def unit(self) -> float:
        """What 1 in the first limb is worth."""
        # |x'l| <= 2^15 sqrt(p) radius / unit <= 2^15 2^37 < 2^53 for first limbs l.
        return float(2.0 ** (ceil(log2(self.radius * self.n_coefficients**0.5)) - 37))

    @property
    def bits(self) -> int:
        """Bits of the second and of the third limb."""
        # p 2^15 2^(bits - 1) <= 2^53.
        return 39 - ceil(log2(self.n_coefficients))

    @property
    def step(self) -> float:
        """Distance of neighboring coordinates."""
        return float(self.unit * 2.0 ** (-2 * self.bits))

    @property
    def residual_error(self) -> float:
        """Bound of the error of one residual in `precise_sums`."""
        # 2^-61 for the digit left out, 2^-61 for the bend where rounding picks the piece beside the right one; what
        # lies behind the first limb is at most p units / 2, rounded twice; all else is below 2^-62.
        return float(2.0**-59 + self.n_coefficients * self.unit * 2.0**-55)

    def nearest(self, theta: Floats) -> tuple[int, ...]:
        """Return the nearest lattice point, in steps."""
        return tuple(round(float(value) / self.step) for value in theta)

    def values(self, numbers: Sequence[int]) -> Floats:
        """Return a point's coordinates in float64, each with a relative error of 2^-53."""
        return np.array([float(number) for number in numbers]) * self.step

    def limbs(self, numbers: Sequence[int]) -> Floats:
        """Split a point's coordinates into three whole numbers each; 1 in a column is worth 2^bits in the next.

        Returns shape (p, 3).
        """
        half, base = 1 << (self.bits - 1), 1 << self.bits
        limbs = np.empty((len(numbers), 3))
        for j, number in enumerate(numbers):
            rest = number
            for k in (2, 1):
                limb = (rest + half) % base - half  # in [-2^(bits - 1), 2^(bits - 1))
                limbs[j, k] = limb
                rest = (rest - limb) >> self.bits
            limbs[j, 0] = rest
        return limbs


def precise_sums(cells: Cells, loss: Loss, lattice: Lattice, numbers: Sequence[int]) -> Integers:
    """Add up residuals times columns to 60 bits, and weighted products to 47; exact, and the same by any blocks.

    Rows of the result: w x x' in three digits, on and above the diagonal, r x in four, and the number of rows. Cost:
    O(n p^2) time, 0.1 s a million rows of 20 columns. Shapes: cells (n, p + 1); returns (3 p + 5, p).
    """
    compiled = importlib.import_module("discreet.kernels.glm.precise_sums_compiled")
    n, p = len(cells), len(numbers)
    q, limbs = n_lines(p), np.zeros((4, n_lines(p)))
    limbs[:3, 1 : p + 1] = lattice.limbs(numbers).T
    total = np.zeros((RESIDUAL_DIGITS, q, q), dtype=np.int64)  # of 2^33 - 1 rows below 2^63
    compiled.add_rows(
        unwritable(cells.T, np.int16),
        tuple(unwritable(each, np.float64) for each in loss.pieces),
        unwritable(loss.response_digits, np.float64),
        limbs,
        (2.0**-lattice.bits, 2.0 ** (-2 * lattice.bits), NODE / lattice.unit),
        *buffers(q),
        total,
    )
    products = [np.triu(each) for each in total[:WEIGHT_DIGITS, 1 : p + 1, 1 : p + 1]]
    return np.concatenate([*products, total[:, 0, 1 : p + 1], np.full((1, p), n, dtype=np.int64)])


def _cut(values: Floats, digits: Floats, count: int) -> None:
    """Write `count` digits of each column in base `DIGIT`, the first digits of all columns first."""
    width = values.shape[1]
    for k in range(count):
        block = digits[:, k * width : (k + 1) * width]
        np.rint(values, out=block)
        values -= block
        values *= DIGIT


def residuals(sums: Integers) -> list[int]:
    """Return the sum of r x in units of 1 / (2^60 GRID), exactly."""
    digits = sums[-RESIDUAL_DIGITS - 1 : -1]
    return [sum(int(digit) << 15 * (RESIDUAL_DIGITS - 1 - k) for k, digit in enumerate(column)) for column in digits.T]


def information(sums: Integers) -> Floats:
    """Return the sum of w x x'; an entry errs by 2^-46 a row and by a relative 2^-51.

    Shapes: sums (3 p + 5, p); returns (p, p).
    """
    p = sums.shape[1]
    total = np.zeros((p, p))
    for k in reversed(range(WEIGHT_DIGITS)):
        total += sums[k * p : (k + 1) * p] * (DIGIT**-k / GRID**2)
    return total + np.triu(total, 1).T
