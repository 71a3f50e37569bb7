"""The private choice among all subsets of units: by a list of them where it is short, else by a lazy search.

Public facts alone decide which: the number of units and the largest size.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import Number, exact, exact_epsilon
from discreet.errors import InvalidParameterError
from discreet.kernels.rows.thread_limits import OneCore
from discreet.kernels.search.separable import SearchProblem
from discreet.kernels.subsets.bits import bits_of
from discreet.kernels.subsets.model_scores import ModelScores
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.small_models import small_model_blocks
from discreet.kernels.subsets.subsets import score_blocks
from discreet.mechanisms.race_noise import RaceNoise
from discreet.mechanisms.reals import Words
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import Noise, noisy_min_of_blocks
from discreet.mechanisms.subset_race import SubsetRace, Work
from discreet.typing import Floats

ENUMERATED = 2**20
"""Up to this many models all are scored: a second or two, and the time says little about the rows."""

TREE_UNITS = 32
"""With more units a list holds models of five at most, which are solved faster one by one than by a shared tree."""

MAX_UNITS = 128
"""The most units that the lazy search takes; its cost for one region grows with their cube."""


def noisy_min_subset(
    problem: SubsetProblem,
    penalty: Floats,
    max_size: int,
    range_sensitivity: Number,
    epsilon: Number,
    rng: Source,
    noise: Noise = "exponential",
    progress: Callable[[int], None] | None = None,
    enumerate_models: bool | None = None,
    work: Work | None = None,
) -> int:
    """Return the subset of smallest noisy score, epsilon-differentially private.

    Parameters
    ----------
    problem : SubsetProblem
        Score of a subset: min ||y - Xb||^2 over its columns and the l1 ball, up to the problem's tolerance.
    penalty : ndarray of float, shape (d,)
        Added for each unit in the subset; public, at least 0, in the units of `yty`.
    max_size : int
        The most units in a subset, at least 0.
    range_sensitivity : float or Fraction
        Gamma: the largest change, between neighbors, of the difference of two computed scores. Positive.
    epsilon : float or Fraction
        In nats, in (0, 1000].
    rng : Source
        Where the noise comes from.
    noise : {"exponential", "gumbel", "laplace"}
        Law of the noise, scaled by Gamma / epsilon.
    progress : callable, optional
        Called with the number of models scored since its last call; never by the lazy search, whose length depends on
        the rows.
    enumerate_models : bool, optional
        Whether to score every subset; by default when there are at most 2^20.
    work : Work, optional
        Counts the steps of a lazy search, for tests and benchmarks. Depends on the rows.

    Returns
    -------
    int
        Bits over units.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range; never because of the rows.

    Notes
    -----
    Claim: ``subset_search.privacy.md``. The law of the choice is the same by both ways, and exact. Cost of the lazy
    search: milliseconds to a second at d = 100 on most designs, and no bound: many candidates that are nearly
    collinear and all matter a little, at a large n, take longer.

    References
    ----------
    Privacy specification 0.3 (Theorem 1), 7.4 (time), 8.3 (floating point).
    """
    d = len(problem.units)
    if d > MAX_UNITS:
        raise InvalidParameterError(f"At most {MAX_UNITS} units can be free to enter, but there are {d}. Force some.")
    size = min(max_size, d)
    if enumerate_models is None:
        enumerate_models = n_subsets(d, size) <= ENUMERATED
    if enumerate_models:
        return _by_list(problem, penalty, size, range_sensitivity, epsilon, rng, noise, progress)
    return _by_race(problem, penalty, size, range_sensitivity, epsilon, rng, noise, work)


def n_subsets(d: int, max_size: int) -> int:
    """Return the number of subsets of d units with at most `max_size` of them.

    Parameters
    ----------
    d, max_size : int
        At least 0.

    Returns
    -------
    int
        Exact.

    Examples
    --------
    >>> n_subsets(100, 3)
    166751
    """
    return 2**d if max_size >= d else sum(math.comb(d, size) for size in range(max_size + 1))


def _by_list(
    problem: SubsetProblem,
    penalty: Floats,
    size: int,
    range_sensitivity: Number,
    epsilon: Number,
    rng: Source,
    noise: Noise,
    progress: Callable[[int], None] | None,
) -> int:
    """Score every subset, block by block, and take the noisy minimum."""
    order: list[npt.NDArray[Any]] = []

    def blocks() -> Iterator[Floats]:
        for models, penalties, scores, gaps in _priced_blocks(problem, penalty, size, progress):
            # The tolerance is counted in the range sensitivity: a score farther from its minimum would void the bound.
            if not (gaps <= problem.tolerance).all():
                raise ArithmeticError("a score has no certificate")
            order.append(models)
            yield scores + penalties

    winner = noisy_min_of_blocks(blocks(), range_sensitivity, epsilon, rng, noise)
    for models in order:
        if winner < len(models):
            model = models[winner]
            return int(model) if model.ndim == 0 else sum(1 << int(unit) for unit in model)
        winner -= len(models)
    raise ArithmeticError("no model was scored")


def _priced_blocks(
    problem: SubsetProblem, penalty: Floats, size: int, progress: Callable[[int], None] | None
) -> Iterator[tuple[npt.NDArray[Any], Floats, Floats, Floats]]:
    """Models, as bits or as lists of units, with their penalties, scores and gaps."""
    if len(penalty) > TREE_UNITS:
        for members, scores, gaps in small_model_blocks(problem, size, progress):
            yield members, penalty[members].sum(axis=1), scores, gaps
        return
    units = np.arange(len(penalty), dtype=np.uint64)
    for masks, scores, gaps in score_blocks(problem, size, progress):
        yield masks, (masks[:, None] >> units & np.uint64(1)) @ penalty, scores, gaps


def _by_race(
    problem: SubsetProblem,
    penalty: Floats,
    size: int,
    range_sensitivity: Number,
    epsilon: Number,
    rng: Source,
    noise: Noise,
    work: Work | None,
) -> int:
    """Search lazily, in units of the noise."""
    slope = exact_epsilon(epsilon) / exact(range_sensitivity, "range_sensitivity")
    # Rounded down: a larger noise gives no weaker guarantee.
    scale = math.nextafter(float(slope), 0.0)
    cost = penalty * scale
    scores = ModelScores(problem)

    def score(model: int) -> float:
        value, gap = scores.value(model)
        if not gap <= problem.tolerance:
            raise ArithmeticError("a score has no certificate")
        chosen = bits_of(model, len(cost))[: len(cost)].view(np.bool_)
        return value * scale + math.fsum(cost[chosen])

    # y'y is in every score: it is left out of scores and bounds alike.
    search = SearchProblem(
        problem.gram * scale,
        problem.xty * scale,
        0.0,
        problem.radius,
        cost,
        _columns(problem.units),
        np.flatnonzero(problem.always),
        size,
        scores.start,
    )
    race = SubsetRace(search, score, RaceNoise(noise), Words(rng), work)
    # Systems of a hundred unknowns: threads would wait for each other longer than they work.
    with OneCore():
        return race.run()


def _columns(units: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the columns of each unit."""
    owners, columns = np.nonzero(units)
    edges = np.searchsorted(owners, np.arange(len(units) + 1)).tolist()
    return tuple(columns[low:high] for low, high in itertools.pairwise(edges))
