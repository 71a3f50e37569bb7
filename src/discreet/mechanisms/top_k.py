"""Private top-k: the canonical Lipschitz mechanism over all k-sets, one-shot noise, peeling.

All three return a set, in the public order of the features: an order inside the set would be private. All draws are
exact, as in `selection`: a comparison that 64 random bits do not decide gets more bits.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import Number, exact, exact_epsilon
from discreet.errors import InvalidParameterError
from discreet.kernels.top_k.lipschitz_search import Course, middle, places, search
from discreet.mechanisms.leaders import noisy_leaders
from discreet.mechanisms.lipschitz_race import Block, Contest, count, log_of, race, start_blocks
from discreet.mechanisms.reals import Real, Uniform, Words, log_sum
from discreet.mechanisms.rng import Source
from discreet.typing import Integers

Scores = npt.NDArray[Any]
TopKNoise = Literal["exponential", "gumbel"]

SMALL = 20_000
"""Features up to which a search in Python is used: it takes some milliseconds."""

SMALL_SETS = 32
"""Size of the set up to which a search in Python is used."""

MAX_INTEGER, MAX_FLOAT = 2**62 - 1, 2.0**1022
"""Scores are clipped to these: their differences are then exact, or finite."""

LEAST_SENSITIVITY = Fraction(1, 10**250)

NOBODY = np.empty(0, dtype=np.int64)
"""Ranks of scores that take no part: none."""


def canonical_lipschitz(
    scores: npt.ArrayLike,
    k: int,
    epsilon: Number,
    sensitivity: Number,
    rng: Source,
    gamma: float = 0.5,
    noise: TopKNoise = "exponential",
) -> Integers:
    """Draw one of all k-sets of features by the canonical Lipschitz mechanism.

    Parameters
    ----------
    scores : array_like of float or int, shape (d,)
        Larger is better; finite.
    k : int
        Size of the set, 1 .. d.
    epsilon : float or Fraction
        In nats, in (0, 1000].
    sensitivity : float or Fraction
        The most that any one score changes between neighbors, up or down. Positive.
    rng : Source
        Where the noise comes from.
    gamma : float
        Weight of the worst score inside the set against the best one outside, in [0, 1].
    noise : {"exponential", "gumbel"}
        Law of the noise of a set.

    Returns
    -------
    ndarray of int, shape (k,)
        Indices of the set, increasing.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range; never because of the values of finite scores.

    Notes
    -----
    Claim: ``top_k.privacy.md``. The set maximizes (epsilon / 2) (gamma b - (1 - gamma) max(a, b)) / sensitivity plus
    noise, a the best score outside and b the worst inside. Cost: a sort, and at most about 20 k steps of O(k).

    References
    ----------
    Shekelyan and Loukides 2022; Swope et al. 2024, Appendix A, as corrected in the privacy specification 4.3.

    Examples
    --------
    >>> canonical_lipschitz([5.0, 90.0, 7.0, 80.0], k=2, epsilon=50, sensitivity=1.0, rng=Source())
    array([1, 3])
    """
    (values, k), slope = _checked(scores, k), exact_epsilon(epsilon) / (2 * _sensitivity(sensitivity))
    if not isinstance(gamma, (int, float, np.floating)) or not 0.0 <= gamma <= 1.0:
        raise InvalidParameterError(f"gamma must be a number in 0 .. 1, but gamma={gamma}.")
    _check_noise(noise)
    if k == values.size:
        return np.arange(k)
    ascending = np.sort(values)
    contest = Contest(_ranked(ascending, NOBODY), values.size, k, slope, Fraction(float(gamma)), noise == "gumbel")
    words = Words(rng)
    if values.size <= SMALL and k <= SMALL_SETS:
        winner = race(start_blocks(contest, words), words, middle)
        ranks = _ranks(winner.head, winner.start, k, words)
        return np.sort(np.argsort(-values, kind="stable")[ranks - 1])
    head, tail = _compiled_race(contest, ascending, NOBODY, rng, words)
    return _located(values, ascending, _ranks(head, tail, k, words))


def _compiled_race(contest: Contest, ascending: Scores, gone: Integers, rng: Source, words: Words) -> tuple[int, int]:
    """Race in float64; where floats do not decide, continue exactly from there, with the same bits."""
    k, drawn = contest.k, rng.words(contest.k + 1026)
    slope, gamma = float(contest.slope), float(contest.gamma)
    # Each number of the k columns is drawn at most once; the race opens finitely many blocks, a number for each.
    while (course := search(ascending, gone, k, slope, gamma, contest.gumbel, drawn)) is None:
        drawn = np.concatenate([drawn, rng.words(drawn.size)])
    if course.winner is not None:
        node = course.nodes[course.winner]
        return int(node["head"]), int(node["start"])
    winner = race(_resumed(contest, course, drawn, words), words, middle)
    return winner.head, winner.start


def _resumed(contest: Contest, course: Course, drawn: npt.NDArray[np.uint64], words: Words) -> list[Block]:
    """Return the blocks that may still win, exactly; a split that was drawn but not decided is decided."""

    @cache
    def uniform(place: int) -> Uniform:
        return Uniform(words, int(drawn[place]))

    @cache
    def log_energy(at: int) -> Real:
        node = course.nodes[at]
        parent = None if node["parent"] < 0 else log_energy(int(node["parent"]))
        # The part that holds its parent's smallest energy keeps it, and drew no word.
        if node["word"] < 0 and parent is not None:
            return parent
        return log_sum(parent, [uniform(int(node["word"]))], log_of(size(at)))

    def size(at: int) -> int:
        head, start, stop = (int(course.nodes[at][name]) for name in ("head", "start", "stop"))
        return 1 if head < 0 else count(contest.k, head, start, stop)

    def block(at: int) -> Block:
        head, start, stop = (int(course.nodes[at][name]) for name in ("head", "start", "stop"))
        return Block(contest, head, start, stop, log_energy(at))

    blocks = [block(int(at)) for at in course.left]
    if course.open_split is not None:
        at, cut, word = course.open_split
        blocks += block(at).split(cut, uniform(word), uniform(word + 1))
    return blocks


def _ranks(head: int, tail: int, k: int, words: Words) -> Integers:
    """Draw a set of a class as ranks, from 1 for the largest: the head, the tail, and a uniform body between them."""
    if head < 0:
        return np.arange(1, k + 1)
    body = _subset(tail - head - 2, k - head - 1, words)
    return np.array([*range(1, head + 1), *(head + 2 + place for place in body), tail], dtype=np.int64)


def _subset(n: int, size: int, words: Words) -> list[int]:
    """Draw a uniform subset of 0 .. n - 1, by Floyd's algorithm."""
    chosen: set[int] = set()
    for last, word in zip(range(n - size, n), words.take(size).tolist(), strict=True):
        place = _below(last + 1, word, words)
        chosen.add(last if place in chosen else place)
    return sorted(chosen)


def _below(n: int, word: int, words: Words) -> int:
    """Return a uniform number of 0 .. n - 1: a word beyond the last multiple of n is drawn again."""
    while word >= 2**64 - 2**64 % n:  # with a probability below n / 2^64
        word = words.next()
    return word % n


def _located(values: Scores, ascending: Scores, ranks: Integers) -> Integers:
    """Return the indices of the scores of some ranks; equal scores are ranked by index."""
    chosen = ascending[values.size - ranks]
    # How many scores are strictly larger: rank - 1 - ahead is the place among equal ones, in the order of the indices.
    ahead = values.size - np.searchsorted(ascending, chosen, side="right")
    order = np.lexsort((ranks, chosen))
    distinct, first = np.unique(chosen[order], return_index=True)
    starts = np.append(first, len(ranks)).astype(np.int64)
    return np.sort(places(np.ascontiguousarray(values), distinct, starts, (ranks - 1 - ahead)[order].astype(np.int64)))


def one_shot(
    scores: npt.ArrayLike,
    k: int,
    epsilon: Number,
    sensitivity: Number,
    rng: Source,
    noise: TopKNoise = "exponential",
) -> Integers:
    """Return the k largest scores after noise on each.

    Parameters
    ----------
    scores : array_like of float or int, shape (d,)
        Larger is better; finite.
    k : int
        Size of the set, 1 .. d.
    epsilon : float or Fraction
        In nats, in (0, 1000].
    sensitivity : float or Fraction
        The most that any one score changes between neighbors, up or down. Positive.
    rng : Source
        Where the noise comes from.
    noise : {"exponential", "gumbel"}
        Law of the noise, scaled by 2 k sensitivity / epsilon. With "gumbel" the law is that of peeling by the
        exponential mechanism.

    Returns
    -------
    ndarray of int, shape (k,)
        Indices of the set, increasing.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range; never because of the values of finite scores.

    Notes
    -----
    Claim: ``top_k.privacy.md``. Cost: O(d), about 60 ms a million scores.

    References
    ----------
    Dwork and Roth 2014, for Laplace noise; Durfee and Rogers 2019, for Gumbel noise.

    Examples
    --------
    >>> one_shot([5.0, 90.0, 7.0, 80.0], k=2, epsilon=50, sensitivity=1.0, rng=Source())
    array([1, 3])
    """
    values, k = _checked(scores, k)
    slope = exact_epsilon(epsilon) / (2 * k * _sensitivity(sensitivity))
    _check_noise(noise)
    return np.arange(k) if k == values.size else noisy_leaders(values, k, slope, rng, noise == "gumbel")


def peeling(
    scores: npt.ArrayLike,
    k: int,
    epsilon: Number,
    sensitivity: Number,
    rng: Source,
    noise: TopKNoise = "exponential",
) -> Integers:
    """Select one score k times, each time among the remaining ones.

    Parameters
    ----------
    scores : array_like of float or int, shape (d,)
        Larger is better; finite.
    k : int
        Size of the set, 1 .. d.
    epsilon : float or Fraction
        Of all k selections together, in nats, in (0, 1000].
    sensitivity : float or Fraction
        The most that any one score changes between neighbors, up or down. Positive.
    rng : Source
        Where the noise comes from.
    noise : {"exponential", "gumbel"}
        Permute-and-flip, or the exponential mechanism.

    Returns
    -------
    ndarray of int, shape (k,)
        Indices of the set, increasing.

    Raises
    ------
    InvalidParameterError
        When a parameter is out of range; never because of the values of finite scores.

    Notes
    -----
    Claim: ``top_k.privacy.md``. Cost: a sort, and for each round some dozen steps of O(log k); O(k d) up to 20,000
    scores. O(d) with Gumbel noise, drawn in one shot.

    References
    ----------
    Durfee and Rogers 2019; McKenna and Sheldon 2020.

    Examples
    --------
    >>> peeling([5.0, 90.0, 7.0, 80.0], k=2, epsilon=50, sensitivity=1.0, rng=Source())
    array([1, 3])
    """
    values, k = _checked(scores, k)
    if noise == "gumbel":
        return one_shot(values, k, epsilon, sensitivity, rng, noise)
    part = exact_epsilon(epsilon) / k
    if values.size > SMALL and k < values.size:
        return _peeled_by_race(values, k, part / (2 * _sensitivity(sensitivity)), rng)
    remaining = np.arange(values.size)
    while remaining.size > values.size - k:
        remaining = np.delete(remaining, one_shot(values[remaining], 1, part, sensitivity, rng, noise))
    return np.setdiff1d(np.arange(values.size), remaining, assume_unique=True)


def _peeled_by_race(values: Scores, k: int, slope: Fraction, rng: Source) -> Integers:
    """Peel with exponential noise, opening blocks of scores only while they can win.

    With sets of one feature and gamma = 1 a set's loss is its score, negative: the canonical Lipschitz mechanism is
    permute-and-flip. So each round is a race among what is left of one sorted list.
    """
    ascending, gone, words = np.sort(values), NOBODY, Words(rng)
    for _ in range(k):
        # With k = 1 and gamma = 1 the loss of {j} is -v_j: permute-and-flip among those left, at epsilon / k.
        contest = Contest(_ranked(ascending, gone), values.size - gone.size, 1, slope, Fraction(1), False)
        head, tail = _compiled_race(contest, ascending, gone, rng, words)
        rank = _rank_among_all(1 if head < 0 else tail, gone)
        gone = np.insert(gone, np.searchsorted(gone, rank), rank)
    return _located(values, ascending, gone)


def _ranked(ascending: Scores, gone: Integers) -> Callable[[int], Fraction]:
    return lambda rank: Fraction(ascending[-_rank_among_all(rank, gone)].item())


def _rank_among_all(rank: int, gone: Integers) -> int:
    """Return the rank among all of the score with this rank among those that are not gone; `gone` increases."""
    for other in gone.tolist():
        rank += other <= rank
    return rank


def _checked(scores: npt.ArrayLike, k: int) -> tuple[Scores, int]:
    """Return scores as integers or floats of finite differences; clipping moves no two of them further apart."""
    values = np.asarray(scores)
    if values.dtype.kind not in "buif" or values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise InvalidParameterError("scores must be a non-empty list of finite numbers. Check what computes them.")
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= int(k) <= values.size:
        raise InvalidParameterError(f"k must be a whole number of 1 .. {values.size}, the number of scores, but k={k}.")
    if values.dtype.kind == "f":
        floats = values.astype(np.float64, copy=False)
        beyond = floats.max() > MAX_FLOAT or floats.min() < -MAX_FLOAT
        return np.clip(floats, -MAX_FLOAT, MAX_FLOAT) if beyond else floats, int(k)
    if values.dtype.itemsize < 8:
        return values.astype(np.int64), int(k)
    # A negative bound does not exist in an unsigned type.
    low = 0 if values.dtype.kind == "u" else -MAX_INTEGER
    return np.clip(values, low, MAX_INTEGER).astype(np.int64, copy=False), int(k)


def _sensitivity(value: Number) -> Fraction:
    size = exact(value, "sensitivity")
    if not LEAST_SENSITIVITY <= size <= 1 / LEAST_SENSITIVITY:
        raise InvalidParameterError(
            f"sensitivity must be in 1e-250 .. 1e250, but sensitivity={value}. Scale the scores."
        )
    return size


def _check_noise(noise: str) -> None:
    if noise not in ("exponential", "gumbel"):
        raise InvalidParameterError(f"noise must be exponential or gumbel, but noise={noise!r}.")
