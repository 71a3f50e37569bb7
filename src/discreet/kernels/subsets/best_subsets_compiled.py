"""The tree of `best_subsets`, compiled once and kept on disk.

A node is a model S, of which some units are fixed and the rest may still be dropped. It holds the inverse of the Gram
matrix of the free columns given the fixed ones, so that the residual sum of squares without a unit costs a division,
and that without two of them a row of the inverse. Dropping only raises it: what S leaves unexplained bounds all below.
"""

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.kernels.subsets.best_subsets_list_compiled import ROUNDING, TIE, is_wanted, offer, offer_without
from discreet.kernels.subsets.best_subsets_node_compiled import drop, invert_rest, refresh
from discreet.kernels.subsets.best_subsets_steps_compiled import stepwise
from discreet.typing import Floats, Masks

Places = npt.NDArray[np.int64]

PART = 2e9
"""Work between two checks for an interrupt: about a second."""

WORDS = 2
"""Words of 64 bits that a model is: bit j of them is set when unit j is in it."""

_compile = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)


def search(
    gram: Floats, xty: Floats, starts: Places, max_size: int, n_best: int, ridge: float, most_work: float = np.inf
) -> tuple[Floats, Masks, Floats, int]:
    """Return the best models of each size, a bound of all others, and the number of nodes visited.

    Shares of the total that they leave unexplained, best first, infinite where there are not so many models; their
    masks; by size, the share below which no model that is not listed can be, infinite where nothing is left to list;
    nodes.
    Shapes: gram (q, q), xty (q,), starts (d + 1,).
    """
    d, q = len(starts) - 1, len(xty)
    problem = (np.ascontiguousarray(gram), np.ascontiguousarray(xty), starts, float(ridge))
    last = np.append(0, last_places(d, max_size, n_best))
    limit = np.append(np.full(max_size + 1, np.inf), -np.inf)
    masks = np.zeros((max_size + 1, n_best, WORDS), np.uint64)
    best = (np.full((max_size + 1, n_best), np.inf), masks, last, limit)
    # One layer a depth of the tree.
    layers = (
        np.zeros((d + 1, d), np.int64),  # units that may be dropped
        np.zeros((d + 1, d), np.int64),  # the place of their first column in the inverse
        np.zeros((d + 1, d)),  # what dropping one adds
        np.zeros((d + 1, q, q)),  # inverse
        np.zeros((d + 1, q)),  # coefficients
        np.zeros((d + 1, q)),  # diagonal of the inverse when it was last computed anew
        np.zeros((d + 1, 4), np.int64),  # number of units, number of fixed ones, next child, last child
        np.zeros(d + 1),  # what is left unexplained
        np.zeros((d + 1, WORDS), np.uint64),  # the model
    )
    is_complete = np.array([n_best >= math.comb(d, size) for size in range(max_size + 1)])
    width = int(np.diff(starts).max())
    work = (
        np.zeros((q, q)), np.zeros((q, q)), np.zeros(q), np.zeros(q, np.int64), np.zeros(q), np.zeros(WORDS, np.uint64),
    )  # fmt: skip
    small = (np.zeros((width, width)), np.zeros((q, width)), np.zeros(width), np.zeros((width, width)), np.zeros(width))
    for models in stepwise(problem[0], problem[1], starts, max_size):
        for model in models:
            offer(problem, best, int(np.bitwise_count(model).sum()), model, work)
    _enter(problem, best, layers, work, small)
    depth, visited, done = 0, 0, 0.0
    while depth >= 0 and done < most_work:  # in parts: between them Python handles an interrupt
        depth, more, part = _walk(problem, best, layers, work, small, depth, min(PART, most_work - done))
        visited, done = visited + more, done + part
    return best[0], masks, _least(best, is_complete, layers, depth), visited


def last_places(d: int, max_size: int, n_best: int) -> Places:
    """Return the last place to fill in the list of each size from 1 on."""
    return np.array([min(n_best, math.comb(d, size)) - 1 for size in range(1, max_size + 1)], dtype=np.int64)


def _least(
    best: tuple[Floats, Masks, Places, Floats], is_complete: Any, layers: tuple[npt.NDArray[Any], ...], depth: int
) -> Floats:
    """Return the least bound of the subtrees not yet visited, by size."""
    values, _, last, _ = best
    rises, facts, rss = layers[2], layers[6], layers[7]
    least = values[np.arange(len(values)), last].copy()
    least[is_complete] = np.inf
    needed = values[np.arange(len(values)), last] * (1.0 - TIE) - ROUNDING
    for t in range(depth + 1):
        n, k, a, lowest = facts[t]
        for child in range(lowest, min(a, n - 2) + 1):
            below = np.arange(max(1, k + child), min(k + n - 1, len(least)))  # the child itself was offered
            bound = rss[t] + rises[t, child]
            below = below[bound < needed[below]]  # else its models are no better, but for ties
            least[below] = np.minimum(least[below], bound)
    return least


@_compile
def _enter(problem, best, layers, work, small):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Fill the root of the tree: the model of all units."""
    units, places, rises, inverses, coefs, firsts, facts, rss, models = layers
    d = units.shape[1]
    for u in range(d):
        units[0, u] = u
        models[0, u >> 6] |= np.uint64(1) << np.uint64(u & 63)
    if d < len(best[0]):
        offer(problem, best, d, models[0], work)
    rss[0] = refresh(
        problem, models[0], units[0], d, places[0], inverses[0], coefs[0], firsts[0], rises[0], work, small
    )
    offer_without(problem, best, d - 1, models[0], rss[0], units[0], rises[0], d, work)
    _sort(rises[0], units[0], places[0], d)
    facts[0, 0], facts[0, 2] = d, d - 1


@_compile
def _walk(problem, best, layers, work, small, t, budget):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Visit nodes depth first, the unit of least effect dropped first; return the depth or -1, nodes and work."""
    starts = problem[2]
    units, places, rises, inverses, coefs, firsts, facts, rss, models = layers
    visited, done = 0, 0.0
    while t >= 0 and done < budget:  # each turn adds work or removes a child for good
        n, k, a, lowest = facts[t, 0], facts[t, 1], facts[t, 2], facts[t, 3]
        done += 1.0
        if a < lowest:
            t -= 1
            continue
        facts[t, 2] -= 1
        # Without unit a and with the a units before it fixed, models have k + a to k + n - 1 units; the largest was
        # offered.
        size, bound = k + n - 1, rss[t] + rises[t, a]
        if a == n - 1 or not is_wanted(best, k + a, size - 1, bound):
            continue
        visited += 1
        # The child: without unit a, the units before it fixed.
        s, n_left, u = t + 1, n - a - 1, units[t, a]
        unit, place, rise, coef, first = units[s], places[s], rises[s], coefs[s], firsts[s]
        for j in range(n_left):
            unit[j], place[j] = units[t, a + 1 + j], places[t, a + 1 + j]
        for w in range(models.shape[1]):
            models[s, w] = models[t, w]
        models[s, u >> 6] &= ~(np.uint64(1) << np.uint64(u & 63))
        rss[s] = bound
        width = starts[u + 1] - starts[u]
        parent = (starts, inverses[t], coefs[t], firsts[t], places[t, a], width)
        is_exact = drop(parent, unit, place, n_left, coef, rise, small)
        done += 1.0 * n_left * width
        if not is_exact:
            done += 1.0 * len(coef) ** 3
            rss[s] = refresh(problem, models[s], unit, n_left, place, inverses[s], coef, first, rise, work, small)
        offered = offer_without(problem, best, size - 1, models[s], rss[s], unit, rise, n_left, work)
        done += n_left * n_left + offered * float(size) ** 3
        _sort(rise, unit, place, n_left)
        low = 0
        while low < n_left - 1 and not is_wanted(best, k + a + low, size - 2, rss[s] + rise[low]):
            low += 1
        if low >= n_left - 1:
            continue
        facts[s, 0], facts[s, 1], facts[s, 2], facts[s, 3] = n_left, k + a, n_left - 2, low
        if is_exact:
            done += 1.0 * (n_left - low) ** 2 * width
            invert_rest(parent, unit, place, low, n_left, inverses[s], coef, first, work, small)
        t = s
    return t, visited, done


@_compile
def _sort(rise, unit, place, n):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Order units by what dropping them adds, most first."""
    for i in range(1, n):
        r, u, p = rise[i], unit[i], place[i]
        j = i
        while j > 0 and rise[j - 1] < r:
            rise[j], unit[j], place[j] = rise[j - 1], unit[j - 1], place[j - 1]
            j -= 1
        rise[j], unit[j], place[j] = r, u, p
