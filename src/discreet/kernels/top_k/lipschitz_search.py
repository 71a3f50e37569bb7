"""The race of the canonical Lipschitz mechanism's classes in float64; its result shows where floats do not decide."""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.typing import Floats, Integers, Words


@dataclass(frozen=True)
class Course:
    """The state in which a search ended.

    Parameters
    ----------
    winner : int or None
        The node that wins; None where floats did not decide.
    nodes : ndarray
        Structured: head, start, stop, log_energy, error, log_count, bound, parent, word.
    left : ndarray of int
        Nodes that may still win.
    open_split : tuple of int or None
        A node whose split was drawn but not decided, where it is cut, and its first word.
    used : int
        Number of words used.
    """

    winner: int | None
    nodes: Any
    left: Integers
    open_split: tuple[int, int, int] | None
    used: int


def middle(start: int, stop: int, k: int) -> int:
    """Split a range of tails where the distance from rank k has its geometric mean; within start + 1 .. stop - 1."""
    return min(max(k + int(((start - k) * (stop - k)) ** 0.5), start + 1), stop - 1)


def log_counts(n: int, k: int) -> Floats:
    """Return, for h = 0 .. k - 1, the log of the number of k-sets that hold the best h of n and not the next one."""
    head = np.arange(k)
    # C(n - h - 1, k - h) is the product of (n - g - 1) / (k - g) over g = h .. k - 1, with C(n - k - 1, 0) = 1.
    steps = np.log((n - head - 1.0) / (k - head)).astype(np.longdouble)
    logs: Floats = np.cumsum(steps[::-1])[::-1].astype(np.float64)
    return logs


def count_error(n: int, k: int) -> float:
    """Bound the error of a log count, of a block or of a part of one."""
    # A sum of k logs of at most log n, and some sixty splits whose shares have k factors each.
    return float((k + 64.0) * (k + 64.0) * (1.0 + np.log(n)) * 2.0**-52 + (k + 64.0) * 64.0 * 2.0**-50)


def search(
    ascending: Any, gone: Integers, k: int, slope: float, gamma: float, gumbel: bool, words: Words
) -> Course | None:
    """Draw the class that wins, opening a block of classes only while it can; None when there were too few words.

    `gone` are ranks, increasing, of scores that take no part. With more words the search takes the same course. Cost:
    O((k + m) log m) for m splits, some hundred for most scores.
    """
    compiled = importlib.import_module("discreet.kernels.top_k.lipschitz_search_compiled")
    nodes = np.empty(len(words) + 2, dtype=compiled.NODE)
    heap = np.empty(len(words) + 2, dtype=np.int64)
    n = len(ascending) - len(gone)
    status, winner, size, cut, used = compiled.search(
        ascending, gone, k, slope, gamma, gumbel, log_counts(n, k), words, nodes, heap, count_error(n, k)
    )
    if status == compiled.SHORT:
        return None
    decided = winner if status == compiled.FOUND else None
    pending = (winner, cut, used) if status == compiled.CLOSE and winner >= 0 else None
    return Course(decided, nodes, heap[:size], pending, used)


def places(scores: Any, values: Any, starts: Integers, ties: Integers) -> Integers:
    """Return the indices of scores given by value and by place among equal ones. Cost: one comparison a score.

    Shapes: scores (d,), values (m,), starts (m + 1,); returns (len(ties),).
    """
    compiled = importlib.import_module("discreet.kernels.top_k.lipschitz_search_compiled")
    indices: Integers = compiled.places(scores, scores.view(np.uint64), values, values.view(np.uint64), starts, ties)
    return indices
