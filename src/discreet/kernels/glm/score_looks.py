"""A look at long scores before the last pass: at what length they are cut there, and what is cut off.

The sum of the directions of all scores between one length and twice that, in several octaves. From it follows what is
cut off at each limit (`score_lengths`): the last pass cuts where that and its noise together do least harm, and what is
cut off is added to the score of each pass.
"""

import importlib
import math
from dataclasses import dataclass

import numpy as np

from discreet.kernels.glm.coordinates import LOOSER
from discreet.kernels.glm.families import RowMap, predictor_bounds, score_map
from discreet.kernels.glm.pooled_score import Pool, Turned
from discreet.kernels.glm.problem import LOOK, Problem
from discreet.kernels.glm.requests import STEP, best_request, look_sd
from discreet.kernels.glm.score import ScoreModel
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.lines import n_lines
from discreet.kernels.sufficient_statistics.score_lengths import OCTAVES, length_limit
from discreet.typing import Cells, Floats, Integers

LEAST_SD = 1e-6
"""Of the noise on a sum of directions: without any, too, a size that is supposed must be a number."""


@dataclass(frozen=True)
class Directions:
    """What the pass adds up: of each row the direction of its score, in the octave of its length.

    Parameters
    ----------
    row_map : RowMap
        Of turned rows.
    least : float
        Where the first octave begins, in natural units.
    """

    row_map: RowMap
    least: float

    @property
    def n_columns(self) -> int:
        """Of the sums of each octave."""
        return len(self.row_map.theta)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the sums."""
        return OCTAVES, self.n_columns

    def sums(self, cells: Cells, offsets: Cells | None = None, shares: Cells | None = None) -> Integers:
        """Return the sums over rows, a direction of length GRID times STEP. Shapes: cells (n, p + 1); see `shape`."""
        compiled = importlib.import_module("discreet.kernels.glm.row_sums_compiled")
        p = self.n_columns
        total = np.zeros((OCTAVES, n_lines(p)), dtype=np.int64)
        least = self.least / self.row_map.units[0]
        *given, scales, facts, longest, lines, rows = self.row_map.arguments(cells, offsets, shares)
        whole = (*scales[:-1], math.inf)  # no score is cut
        compiled.add_directions(*given, whole, facts, longest, lines, rows, least, total)
        return total[:, 1 : p + 1] * STEP


@dataclass(frozen=True)
class LookRequest:
    """Sums to be released with independent Gaussian noise.

    Parameters
    ----------
    row_map : Directions
        Its `sums` are the integers.
    mu : float
        What the release costs, as Gaussian differential privacy, of one row.
    sd : float
        Standard deviation of the noise, in the integers' units.
    """

    row_map: Directions
    mu: float
    sd: float


def look(problem: Problem, pool: Pool, theta: Floats) -> LookRequest:
    """Return the request at a point, of passes of turned rows; a row that is replaced changes two directions."""
    turned, offset = pool.turned, problem.offset or 0.0
    if turned is None:
        raise ValueError("scores are long beside others of turned rows alone")
    bounds = predictor_bounds(theta, problem.groups, offset)
    row_map = score_map(problem.family, theta, bounds, offset=offset, turn=turned.turn)
    return LookRequest(Directions(row_map, _least(turned)), problem.mu * LOOK**0.5, look_sd(problem))


def _least(turned: Turned) -> float:
    """Return the length at which octaves begin."""
    return turned.turn.cut / (LOOSER if turned.is_even else 1.0)


def seen_scores(
    problem: Problem, model: ScoreModel, pool: Pool, request: LookRequest, sums: Floats, theta: Floats, share: float
) -> Pool:
    """Return the pool whose later passes cut scores where a look says, and what is to be added to these."""
    turned, unit = pool.turned, float(GRID * STEP)
    if turned is None:
        raise ValueError("scores are long beside others of turned rows alone")
    turn = turned.turn
    next_pass, _, _ = best_request(problem, model, pool, theta, share)
    noise = next_pass.variances[0] ** 0.5 / next_pass.row_map.longest_score
    sampling = turn.natural @ model.sampling @ turn.natural.T
    sampling_sd = max(float(np.trace(sampling)) / len(theta), 0.0) ** 0.5
    largest = request.row_map.row_map.residual_unit * turned.longest_row
    of_noise, tails = max(request.sd / unit, LEAST_SD), turn.cut if turned.is_even else None
    limit = length_limit(np.asarray(sums) / unit, of_noise, _least(turned), largest, sampling_sd, noise, tails=tails)
    return pool.with_cut(limit)
