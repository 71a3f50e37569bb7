"""In which coordinates the later passes see rows, and to which length: where noise hides least of what is likely."""

import math
from dataclasses import replace

import numpy as np

from discreet.kernels.glm.families import WHOLE, Family, Groups
from discreet.kernels.glm.likely_rows import LikelyRows
from discreet.kernels.glm.pooled_score import Pool, Turned
from discreet.kernels.glm.problem import LOOK, SEARCH, Problem
from discreet.kernels.glm.requests import best_request
from discreet.kernels.glm.sandwich import SPREAD
from discreet.kernels.glm.score import ScoreModel
from discreet.kernels.glm.turned_rows import Turn
from discreet.kernels.rows.likely_columns import LEAST_VARIANCE
from discreet.typing import Floats

LENGTHS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 256.0)
"""Squared lengths to choose from, in those of a typical row; and that of the longest row that can be."""

AS_GOOD = 1.01
"""Of lengths whose error is no more than so many times the least one, the largest is taken: rows count alike."""

MUCH_BETTER = 0.8
"""Of the error by noise in half ranges: rows are turned for less alone, as the first pass's score is lost then."""

SEEN = 2.0
"""Errors below so much of what sampling alone makes them are mostly sampling's: rows are turned, so that none counts
less."""

FEW, SPANS = 2.0, 6.0
"""Residuals of counts are first taken whole between their bound and so many counts and standard deviations of Poisson
ones: the geometric mean."""

HIDDEN = 0.3
"""Or up to where a search's noise is so much of what sampling does."""

LOOSER = 3.0
"""In coordinates in which scores vary alike they are cut so much further out, until a look tells more."""

UNEVEN, UNEXPECTED = 3.0, 1.4
"""Rows are seen in such coordinates where scores vary so many times as much in a direction as the constant's do, and
so many times as much as the law of counts expects there beside the constant's."""

CURVATURE_SHARE = 0.03
"""Of the rows' weights: longer rows count whole in weighted products while the noise there is below this."""

LONGER = 2
"""Of the lengths to choose from: rows in weighted products are at least so many further than scores are for."""

MOSTLY_NOISE = 40.0
"""Nor where it makes the error so many times as large as sampling alone does."""

RESOLVED, RESOLVED_WEIGHT = 1e-6, 1e-3
"""Of the largest variance of a direction, and of the largest information: the least that counts."""


def in_best_coordinates(problem: Problem, model: ScoreModel, pool: Pool, theta: Floats) -> Pool:
    """Return the pool whose later passes are of turned rows, where that loses much less by noise.

    Scores are as short as costs next to nothing where columns are about normal, rows as long as their products' noise
    allows. Without noise the longest length is as good as any.
    """
    p, curve, later = problem.n_coefficients, pool.curve, 1.0 - problem.start
    rows = LikelyRows.of(problem.family, theta, curve.center, curve.spread, pool.n_rows, problem.groups, curve.fixed)
    turn = turn_of(curve.center[:p], curve.spread[:p, :p], pool.spread_noise * p**0.5, float(p) ** 0.5)
    longest = _longest_residual(problem.family, rows)
    turn = turn.to(turn.length, longest * turn.length)
    whole = pool.in_coordinates(Turned(turn, turn.length, 1.0, 1.0, 1.0))
    back = np.linalg.inv(turn.natural).astype(np.float64)
    request, _, loss = best_request(problem, model, whole, theta, later)
    paid = LOOK + (SPREAD if problem.robust else 0.0)  # beside the passes that tell the score
    noise = loss / turn.length**2 * later / (later - paid) * back @ back.T
    choices = lengths(turn, problem.groups)
    parts = [parts_of(turn, rows.rows, length) for length in choices]
    errors = [rows.error(part, noise * length**2) for part, length in zip(parts, choices, strict=True)]
    best = max(k for k, error in enumerate(errors) if error <= AS_GOOD * min(errors))
    as_they_are = np.minimum(1.0, problem.cap / (rows.rows**2).sum(axis=1))
    before = rows.error(as_they_are, best_request(problem, model, pool, theta, later)[2] * np.eye(p))
    is_better = errors[best] < SEEN or errors[best] - 1.0 < MUCH_BETTER * (before - 1.0)
    if not (errors[best] < MOSTLY_NOISE and is_better):
        return pool
    noise_of_weights = request.sd_diagonal * request.row_map.units[1] / turn.length**2
    allowed = (CURVATURE_SHARE * float(rows.weights.sum()) / max(noise_of_weights, 1e-300)) ** 0.5
    # Where scores are cut short rows are longer than that if four times the noise allows it.
    most = [allowed * (2.0 if k <= best + LONGER else 1.0) for k in range(len(choices))]
    at = max(k for k, length in enumerate(choices) if k == best or length <= most[k])
    cut = longest * choices[best]
    if problem.family.counts:  # whatever the guess, what noise hides nothing of is whole
        search = (loss * later / SEARCH) ** 0.5 / turn.cut  # of a score that is cut at 1
        free = HIDDEN * float(rows.weights.sum()) ** 0.5 / max(search, 1e-300)
        cut = max(cut, min(free, WHOLE * problem.family.residual_bound * choices[best]))
    return pool.in_coordinates(rows.turned(turn.to(choices[at], cut), choices[-1], parts[at], as_they_are))


def in_even_coordinates(problem: Problem, model: ScoreModel, pool: Pool, theta: Floats) -> Pool:
    """Return the pool whose later passes see rows in coordinates in which scores vary alike in all directions.

    There scores are longer than in others, and what they are cut at and their noise are those of all. What is known in
    the earlier coordinates is left out: scores were cut by another length there.
    """
    if pool.turned is None:
        return pool
    before, curve = pool.turned.turn, pool.curve
    variance, expected = (
        before.natural @ each @ before.natural.T / max(float(each[0, 0]), 1e-300)
        for each in (model.sampling, model.information)
    )
    values, vectors = np.linalg.eigh((variance + variance.T) / 2.0)
    sizes, basis = np.linalg.eigh((expected + expected.T) / 2.0)
    whitened = basis / np.sqrt(np.maximum(sizes, RESOLVED_WEIGHT * float(sizes[-1])))
    beyond = np.linalg.eigvalsh(whitened.T @ variance @ whitened)
    if not (values[-1] > UNEVEN and beyond[-1] > UNEXPECTED):
        return pool
    matrix = (vectors / np.sqrt(np.maximum(values, 1.0 / UNEVEN))) @ vectors.T @ before.natural
    turn = Turn.of(matrix, before.length).to(before.length, LOOSER * before.cut)
    plain = replace(pool, scores=[], turned=None, limit=None, first_family=None)
    rows = LikelyRows.of(pool.family, theta, curve.center, plain.curve.spread, pool.n_rows, problem.groups, curve.fixed)
    as_they_are = np.minimum(1.0, problem.cap / (rows.rows**2).sum(axis=1))
    parts, longest = parts_of(turn, rows.rows, turn.length), lengths(turn, problem.groups)[-1]
    return pool.in_coordinates(replace(rows.turned(turn, longest, parts, as_they_are), is_even=True))


def _longest_residual(family: Family, rows: LikelyRows) -> float:
    """Return the residual to which scores are first taken whole: a look tells of those that are longer."""
    bound = family.residual_bound
    if not family.counts:
        return bound
    expected = FEW + SPANS * math.sqrt(float(rows.weights.sum()) / rows.n_rows)
    return min(bound, math.sqrt(bound * expected))


def turn_of(center: Floats, spread: Floats, noise: float, length: float) -> Turn:
    """Return the coordinates that make columns uncorrelated, directions of less variance than the noise no longer."""
    p = len(center)
    values, vectors = np.linalg.eigh(spread[1:, 1:])
    floor = max(noise, RESOLVED * float(values.max(initial=0.0)), LEAST_VARIANCE)
    matrix = np.eye(p)
    matrix[1:, 1:] = (vectors / np.sqrt(np.maximum(values, floor))) @ vectors.T
    matrix[1:, 0] = -matrix[1:, 1:] @ center[1:]
    return Turn.of(matrix, length)


def lengths(turn: Turn, groups: Groups) -> list[float]:
    """Return lengths to choose from: up to that of the longest row within the bounds."""
    size = np.abs(turn.natural)
    alone = np.setdiff1d(np.arange(len(size)), [j for group in groups for j in group])
    reach = size[:, alone].sum(axis=1)  # Hoelder, cells in [-1, 1]; of a group one is 1
    for group in groups:
        reach += size[:, list(group)].max(axis=1)
    longest, typical = float(np.sqrt((reach**2).sum())), float(len(size)) ** 0.5
    chosen = [typical * part**0.5 for part in LENGTHS if typical * part**0.5 < longest]
    return [*chosen, longest]


def parts_of(turn: Turn, rows: Floats, length: float) -> Floats:
    """Return what rows count at a length."""
    squares = ((rows @ turn.natural.T) ** 2).sum(axis=1)
    parts: Floats = np.minimum(1.0, length**2 / np.maximum(squares, 1e-300))
    return parts
