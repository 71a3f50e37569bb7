"""A second pass of a linear regression: sums of whitened columns and residuals, released once with additive noise."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.accounting.guarantee import exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.kernels.moments.moments import GRID
from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.kernels.sufficient_statistics.regression import NoisyMatrix, NoisyModel, whitened_model
from discreet.kernels.sufficient_statistics.score_lengths import OCTAVES, LengthLimit
from discreet.kernels.sufficient_statistics.shares import Relation, Shares, cost_of_scores
from discreet.kernels.sufficient_statistics.whitening import Whitening, unit_norm
from discreet.mechanisms.rng import Source
from discreet.methods.base.noise_budget import NoiseBudget, PrivateEstimate, drawn_together
from discreet.release import MomentsRecord, WhitenedRecord
from discreet.typing import Cells, Floats, Integers, Words

SHARES: dict[Relation, Shares] = {
    "replace_one": Shares(0.9, 0.4, 0.07),
    "add_or_remove_one": Shares(0.66, 0.3, 0.04),
}
"""Of X'r, X'X and r'r: the score counts most, for the coefficients of residuals are near zero."""

SCORES_SHARE = 0.12
"""Of the budget, for the squared scores."""


@dataclass(frozen=True)
class WhitenedSums:
    """The sums of a second pass, for a model of p columns.

    Parameters
    ----------
    design : Design
        The row map of the first pass.
    columns : tuple of int
        Places of the model's columns among the design's cells.
    robust : bool
        Whether the squared scores of units are among the sums.
    """

    design: Design
    columns: tuple[int, ...]
    robust: bool

    @property
    def n_numbers(self) -> int:
        """How many numbers are released at most."""
        p = len(self.columns)
        return p * (p + 1) + p + 1

    def estimates(self) -> tuple[PrivateEstimate, ...]:
        """Return the blocks with their sensitivities: X'r, X'X in two, r'r, and the squared scores in two.

        Claim: ``noisy_moments.privacy.md``. Source: privacy specification 6.1, with rows in the unit ball.
        """
        metadata, p = self.design.metadata, len(self.columns)
        replaces = metadata.neighboring is NeighboringRelation.REPLACE_ONE
        c, factor, half = metadata.rows_per_unit, 2 if replaces else 1, Fraction(1, 2)
        n_numbers = p + 1 + p * (p + 1) // 2 * (2 if self.robust else 1)
        # A row has |z| <= 1, |r| <= 1 and a score of length 1 at most. Noise sqrt(2) larger on the diagonal weighs a
        # matrix by its Frobenius norm, of zz' at most 1, of zz' - ww' at most sqrt(2).
        vector = (Fraction(factor**2), f"{factor}")
        matrix = (Fraction(factor), "sqrt(2)" if replaces else "1")
        single = (Fraction(1), "1")
        scores = (matrix[0], f"{matrix[1]} of scores")
        blocks = [("X'r", *vector, c), ("diagonal of X'X", *matrix, c), ("X'X", matrix[0] * half, matrix[1], c)]
        blocks += [("r'r", *single, c)]
        if self.robust:  # a unit's summed scores are cut to norm 1, whatever its rows are
            blocks += [("diagonal of scores", *scores, 1), ("scores", scores[0] * half, scores[1], 1)]
        shares = self._shares("replace_one" if replaces else "add_or_remove_one")
        unit = GRID * GRID
        return tuple(
            PrivateEstimate(
                name,
                l2 * (times * unit) ** 2,
                share,
                unit,
                formula if times == 1 else f"{c} x {formula}",
                n_numbers,
            )
            for (name, l2, formula, times), share in zip(blocks, shares, strict=True)
        )

    def _shares(self, relation: Relation) -> tuple[Fraction, ...]:
        shares = SHARES[relation]
        scores = SCORES_SHARE if self.robust else 0.0
        total = exact(cost_of_scores(shares, relation) / (1.0 - scores), "share") * (1 + Fraction(1, 10**12))
        xty, gram, yty = (exact(share, "share") / total for share in shares[:3])
        of_scores = Fraction(scores).limit_denominator(1000) * (1 - Fraction(1, 10**12))
        return (xty, gram, gram, yty, *((of_scores,) * 2 if self.robust else ()))

    def exact(self, table: Table, whitening: Whitening) -> Integers:
        """Return the exact sums of a pass over the rows; they may not be released."""
        places = np.array([*self.columns, self.design.n_columns - 1])
        row_map = Pass(whitening, places)
        start = np.zeros(whitening.shape, dtype=np.int64)
        by_unit = self.design.metadata.rows_per_unit > 1
        return table.map_reduce(self.design, row_map.rows, start, of_units=row_map.units if by_unit else None)

    def draw(
        self,
        sums: Integers,
        whitening: Whitening,
        places: tuple[int, ...],
        limit: LengthLimit,
        estimates: tuple[PrivateEstimate, ...],
        budget: NoiseBudget,
        rng: Source,
    ) -> WhitenedRecord:
        """Add the noise to the exact sums; the result may be released. `places`: among the moments' columns.

        `limit`: the one of its scores.
        """
        p, c = len(self.columns), self.design.metadata.rows_per_unit
        upper = np.triu_indices(p, 1)
        blocks = {
            "X'r": sums[:p, p],
            "diagonal of X'X": np.diagonal(sums[:p, :p]),
            "X'X": sums[:p, :p][upper],
            "r'r": sums[p : p + 1, p],
            "diagonal of scores": np.diagonal(sums[p + 1 :, :p]),
            "scores": sums[p + 1 :, :p][upper],
        }
        drawn = drawn_together(estimates, {name: values.tolist() for name, values in blocks.items()}, budget, rng)
        variances = {estimate.name: estimate.variance(budget) for estimate in estimates}
        scores_unit, left_out, errors = whitening.stretch * unit_norm(c), limit.left_out, limit.errors
        if self.robust:
            step = (GRID / (scores_unit * whitening.longest)) ** 2
            sd = math.sqrt(variances["diagonal of scores"]) / step
            left_out, errors = limit.beside(_scaled(drawn["diagonal of scores"], step), sd, c)
        return WhitenedRecord(
            places=places,
            matrix=tuple(tuple(float(value) for value in row) for row in whitening.matrix),
            start=tuple(float(value) for value in whitening.start),
            norm=whitening.norm,
            cut=whitening.cut,
            longest=whitening.longest,
            left_out=tuple(left_out.tolist()),
            left_out_errors=tuple(errors.tolist()),
            gram=_symmetric(drawn["diagonal of X'X"], drawn.get("X'X", [])),
            xty=tuple(drawn["X'r"]),
            yty=drawn["r'r"][0],
            scores=_symmetric(drawn["diagonal of scores"], drawn.get("scores", [])) if self.robust else None,
            scores_unit=scores_unit,
            gram_variance=variances["diagonal of X'X"],
            xty_variance=variances["X'r"],
            yty_variance=variances["r'r"],
            scores_variance=variances.get("diagonal of scores", 0.0),
        )


def sums_of_directions(metadata: Metadata, p: int) -> PrivateEstimate:
    """Return the estimate of where long scores of p numbers point to. Claim: ``noisy_moments.privacy.md``."""
    factor = 2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1
    largest, unit = Fraction(factor * metadata.rows_per_unit), GRID * GRID
    return PrivateEstimate("directions", (largest * unit) ** 2, Fraction(1), unit, f"{largest}", OCTAVES * p)


@dataclass(frozen=True)
class Directions:
    """A pass that adds up where long scores point to: a value, as `Pass` is."""

    whitening: Whitening
    places: Integers

    def rows(self, cells: Cells) -> Integers:
        """Return the sums by octaves of length."""
        return self.whitening.directions(cells[:, self.places])


@dataclass(frozen=True)
class Pass:
    """What is done with the rows, wherever they are: a value, so that it can be sent there."""

    whitening: Whitening
    places: Integers

    def rows(self, cells: Cells) -> Integers:
        """Return the sums over rows."""
        return self.whitening.sums(cells[:, self.places])

    def units(self, cells: Cells, starts: Integers, words: Words, most: int) -> Integers:
        """Return the sums over the rows of whole units, by a sample of all their cells."""
        return self.whitening.sums_of_units(cells, starts, words, most, self.places)


def whitened_moments(record: MomentsRecord, whitened: WhitenedRecord) -> tuple[NoisyGram, Floats, Floats]:
    """Return the moments of a second pass, and b = start + matrix' g: the coefficients per half range from theirs.

    Returns moments of p columns, matrix (p, p), start (p,).
    """
    unit, p = float(record.grid) ** 2, len(whitened.start)
    gram_variance = np.full((p, p), whitened.gram_variance / 2.0 / unit**2)
    np.fill_diagonal(gram_variance, whitened.gram_variance / unit**2)
    scale = score_scale(whitened)
    left_out, errors = (
        np.array(values or (0.0,) * p) / (whitened.norm * whitened.cut)
        for values in (whitened.left_out, whitened.left_out_errors)
    )
    moments = NoisyGram(
        _scaled(whitened.gram, unit),
        scale * _scaled(whitened.xty, unit) + left_out,
        whitened.yty / unit,
        gram_variance,
        scale**2 * whitened.xty_variance / unit**2 + errors**2,
        whitened.yty_variance / unit**2,
        float(record.sum_of_weights or record.n_rows),
        record.n_rows_variance,
    )
    # Sums are of z / norm and r / cut, so that b = start + (cut / norm) matrix' g.
    matrix = np.array(whitened.matrix).reshape(p, p) * (whitened.cut / whitened.norm)
    return moments, matrix, np.array(whitened.start)


def score_scale(whitened: WhitenedRecord) -> float:
    """Return the limit of scores beside what a row and a residual at theirs would make; 1 in older releases."""
    return 1.0 if whitened.longest is None else whitened.longest / (whitened.norm * whitened.cut)


def whitened_answers(record: MomentsRecord, whitened: WhitenedRecord, coef_bound: float) -> NoisyModel:
    """Return what a second pass tells of the coefficients per half range."""
    moments, matrix, start = whitened_moments(record, whitened)
    unit_square, scores = (score_scale(whitened) * whitened.scores_unit) ** 2, None
    if whitened.scores is not None:
        sd = unit_square * whitened.scores_variance**0.5 / float(record.grid) ** 2
        scores = NoisyMatrix(unit_square * _scaled(whitened.scores, float(record.grid) ** 2), sd)
    widest = whitened.norm**2  # of g: what each direction adds to a residual is thought to be below the cut
    return whitened_model(moments, scores, matrix, start, coef_bound, record.rows_per_unit, widest)


def _scaled(values: object, unit: float) -> Floats:
    return np.array(values, dtype=object).astype(np.float64) / unit


def _symmetric(diagonal: list[int], upper: list[int]) -> tuple[tuple[int, ...], ...]:
    p = len(diagonal)
    full = [[0] * p for _ in range(p)]
    for j, value in enumerate(diagonal):
        full[j][j] = value
    for i, j, value in zip(*(places.tolist() for places in np.triu_indices(p, 1)), upper, strict=True):
        full[i][j] = full[j][i] = value
    return tuple(tuple(row) for row in full)
