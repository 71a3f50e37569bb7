"""Compiled sums against whole numbers of Python, row by row: what a row adds is rounded in one way alone."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.kernels.glm.families import LOGISTIC, STEPS, THETA_UNIT, WEIGHT_ONE, RowMap, predictor_bounds, score_map
from discreet.kernels.glm.requests import STEP
from discreet.kernels.glm.score_looks import Directions
from discreet.kernels.glm.turned_rows import Turn
from discreet.kernels.glm.unit_scores import unit_scores
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.lines import CHUNK_ROWS
from discreet.kernels.sufficient_statistics.score_lengths import OCTAVES, octaves

P, N = 4, CHUNK_ROWS + 1
RNG = np.random.default_rng(11)  # noqa: TID251 - simulated rows, not noise
THETA = np.array([0.3, -1.2, 0.8, 2.0])
CELLS = np.column_stack([np.full(N, GRID), RNG.integers(-GRID, GRID + 1, (N, P))]).astype(np.int16)
CELLS[:20, 1:] = RNG.choice([-GRID, 0, GRID], (20, P))
OFFSETS, SHARES = (RNG.integers(low, GRID + 1, N).astype(np.int16) for low in (-GRID, 0))
TURN = Turn.of(RNG.normal(size=(P, P)), 1.5)
CUT = Turn(TURN.matrix, TURN.scale, TURN.length, 0.4)


def shortened(row: list[int], matrix: np.ndarray, scale: float) -> tuple[list[int], int, float]:
    """A row in other coordinates, no longer than the grid; its squared length before, and what is left of it."""
    steps = []
    for line in matrix.astype(np.int64).tolist():
        step = sum(map(math.prod, zip(line, row, strict=True))) * scale
        steps.append(math.trunc(min(max(step, -(2.0**22)), 2.0**22)))
    square = sum(step * step for step in steps)
    part = min(GRID * (1.0 - 2.0**-40) / math.sqrt(max(square, 1)), 1.0)
    return [math.trunc(step * part) for step in steps], square, part


def weighed(row_map: RowMap, row: list[int], offset: int, share: int, power: int) -> tuple[int, int, list[int]]:
    """The residual, the weight and the row that count of a row; of a whole row for `power` 2, where it is turned."""
    *x, response = row
    whole = (row_map.theta / THETA_UNIT).astype(np.int64).tolist()
    predictor = sum(map(math.prod, zip(whole, x, strict=True))) + offset * (row_map.offset / THETA_UNIT)
    step = round(Fraction(predictor * (STEPS * THETA_UNIT / GRID))) - row_map.first
    place = min(max(step, 0), len(row_map.mean) - 1)
    residual = min(max(row_map.response[response + GRID] - row_map.mean[place], -GRID), GRID)
    if row_map.turn is not None:
        x, square, part = shortened(x, row_map.turn.matrix, row_map.turn.scale)
        longest = row_map.longest_score / row_map.units[0]
        most = math.floor(longest / min(max(math.sqrt(square), 1.0), GRID * (1.0 - 2.0**-40)))
        residual = min(max(round(residual / part), -most), most)
        residual *= part if power == 2 else 1
    counts = share / GRID
    return round(residual * counts), round(row_map.weight[place] * counts), x


def rows_of() -> Any:
    """Rows as lists, with what stands beside them."""
    return zip(CELLS.tolist(), OFFSETS.tolist(), SHARES.tolist(), strict=True)


@pytest.mark.parametrize("turn", [None, TURN, CUT])
def test_sums_are_those_of_whole_numbers(turn: Turn | None) -> None:
    """Every row's part, with an offset and weights, rows turned or not; by chunks that end in a row."""
    row_map = score_map(LOGISTIC, THETA, predictor_bounds(THETA, offset=0.7), offset=0.7, turn=turn)
    expected = np.zeros((P, P + 1), dtype=object)
    for row, offset, share in rows_of():
        residual, weight, x = weighed(row_map, row, offset, share, 1)
        for i in range(P):
            expected[i, P] += residual * x[i]
            for j in range(i, P):
                expected[i, j] += math.trunc(Fraction(x[i] * weight, WEIGHT_ONE)) * x[j]
                expected[j, i] = expected[i, j]
    assert row_map.sums(CELLS, OFFSETS, SHARES).tolist() == expected.tolist()


@pytest.mark.parametrize("turn", [None, TURN, CUT])
def test_squared_scores_are_those_of_whole_numbers(turn: Turn | None) -> None:
    """Scores are of whole rows, cut as in the sums; products and squared lengths are cut."""
    row_map = score_map(LOGISTIC, THETA, predictor_bounds(THETA, offset=0.7), offset=0.7, turn=turn)
    scores = unit_scores(row_map, np.eye(P) + 0.1, 0.8, 4, 1)
    expected = np.zeros((P, P + 1), dtype=object)
    for row, offset, share in rows_of():
        residual, _, _ = weighed(row_map, row, offset, share, 2)
        score = [math.trunc(Fraction(residual * x) / Fraction(scores.shift)) for x in row[:P]]
        short, square, _ = shortened(score, scores.matrix, scores.scale)
        expected[:, :P] += np.outer(short, short).astype(object)
        expected[0, P] += min(square // scores.ratio, GRID**2)
    sums = scores.sums(CELLS, OFFSETS, SHARES)
    assert sums.tolist() == expected.tolist()
    assert sums[0, P] > 0


def test_directions_are_those_of_scores_by_octaves_of_length() -> None:
    """Of whole scores, however long; a direction is no longer than the grid."""
    row_map = score_map(LOGISTIC, THETA, predictor_bounds(THETA, offset=0.7), offset=0.7, turn=TURN)
    sums = Directions(row_map, 0.2).sums(CELLS, OFFSETS, SHARES)
    expected = np.zeros((OCTAVES, P))
    for row, offset, share in rows_of():
        residual, _, _ = weighed(replace(row_map, turn=None), row, offset, GRID, 1)
        z = TURN.natural @ (np.array(row[:P]) / GRID)
        length = abs(residual) * row_map.residual_unit / GRID * float(np.sqrt(z @ z)) * share / GRID
        octave = int(octaves(np.array([length]), 0.2)[0])
        if octave:
            expected[octave - 1] += np.sign(residual) * z / np.sqrt(z @ z)
    assert np.abs(sums / (GRID * STEP) - expected).max() <= 0.02 * np.abs(expected).max()
    assert (np.abs(expected).sum(axis=1) > 0).sum() >= 2
    alone = [Directions(row_map, 0.2).sums(CELLS[i : i + 1], OFFSETS[i : i + 1], SHARES[i : i + 1]) for i in range(40)]
    assert max(np.sqrt((one.astype(float) ** 2).sum()) for one in alone) <= GRID * STEP
    assert (sum(alone) == Directions(row_map, 0.2).sums(CELLS[:40], OFFSETS[:40], SHARES[:40])).all()
