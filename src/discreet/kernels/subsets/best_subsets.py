"""The best least squares models of each size, from moments, by branch and bound.

Columns of every model are projected out first, the rest are scaled to unit length. Then a tree is searched whose root
is the model of all units; each step down drops one. A subtree is left when even its root, the largest model in it,
leaves as much unexplained as the models already found of every size in it.
"""

import importlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.kernels.subsets.bits import mask_of
from discreet.typing import Bools, Floats

DEPENDENT = 1e-12
"""A column of which the others leave less than this share of its square adds nothing to them."""

RIDGE = 1e-11
"""Added to the correlations where bounds are computed, when the smallest eigenvalue is below `DEPENDENT`."""


class Search(NamedTuple):
    """The best models of each size that a search came to, and how good any other can be.

    Parameters
    ----------
    rss : ndarray of float, shape (max_size, n_best)
        Row m - 1: residual sums of squares of models of m units, in increasing order; infinite where there are no more.
    models : ndarray of bool, shape (max_size, n_best, d)
        Their units.
    least : ndarray of float, shape (max_size,)
        No model of m units that is not listed leaves less, ties apart.
    is_proven : ndarray of bool, shape (max_size,)
        Whether the models of a size are the best ones: nothing that is not listed can be better.
    """

    rss: Floats
    models: Bools
    least: Floats
    is_proven: Bools


def best_subsets(
    gram: Floats, xty: Floats, yty: float, units: Bools, always: Bools, max_size: int, n_best: int
) -> tuple[Floats, npt.NDArray[np.object_]]:
    """Return the models of each size with the smallest residual sums of squares.

    Returns (1) row m - 1: min ||y - Xb||^2 of models of m units, in increasing order; infinite where there are not so
    many; (2) bit j set: unit j is in the model. Python's integers, of any length.

    The search is finished whatever it takes: `search_subsets` is the one with an end. A column that others explain but
    for 1e-12 of its square adds nothing to them. Models whose residual sums of squares differ by less than 1e-10 of
    themselves, or 1e-14 of what the columns of every model leave unexplained, are ties, and any of them may be
    returned; with singular moments, 1e-10 of the latter. Cost: exponential in d at worst; a few microseconds a node,
    and thousands to a million nodes for 30 to 40 columns with some signal.

    Source: Furnival and Wilson 1974, Regressions by leaps and bounds; Gatu and Kontoghiorghes 2006, Branch-and-bound
    algorithms for computing the best-subset regression models (the order of the units at each node).

    Shapes: gram (p, p), xty (p,), units (d, p), always (p,); returns rss (max_size, n_best), masks (max_size,
    n_best).

    Examples
    --------
    >>> gram, xty = np.array([[4.0, 2.0], [2.0, 4.0]]), np.array([4.0, 3.0])
    >>> rss, masks = best_subsets(gram, xty, 5.0, np.eye(2, dtype=bool), np.zeros(2, dtype=bool), 2, 1)
    >>> rss.round(6).tolist(), masks.tolist()
    ([[1.0], [0.666667]], [[1], [3]])
    """
    search = search_subsets(gram, xty, yty, units, always, max_size, n_best)
    masks = np.array([[mask_of(model.view(np.uint8)) for model in row] for row in search.models], dtype=object)
    return search.rss, masks


def search_subsets(
    gram: Floats,
    xty: Floats,
    yty: float,
    units: Bools,
    always: Bools,
    max_size: int,
    n_best: int = 1,
    most_work: float = np.inf,
) -> Search:
    """Return the best models of each size, or the best that so much work finds, and what is proven of them.

    Every size has a model: the search starts from those that steps and exchanges find. A function of the arguments
    alone, also where it is not finished.

    Source: As for `best_subsets`.

    Shapes: gram (p, p), xty (p,), units (d, p), always (p,).
    """
    moments = _project(np.block([[gram, xty[:, None]], [xty[None, :], np.array([[yty]])]]), always)
    total = max(float(moments[-1, -1]), 0.0)
    columns = [column for unit in units for column in np.flatnonzero(unit)]
    starts = np.concatenate([[0], np.cumsum(units.sum(axis=1))]).astype(np.int64)
    length = np.sqrt(np.maximum(np.append(moments.diagonal()[columns], total), 0.0))
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
    places = np.append(columns, len(xty))
    scaled = moments[np.ix_(places, places)] * inverse[:, None] * inverse[None, :]
    np.fill_diagonal(scaled, 1.0)  # a column that is left with nothing correlates with nothing
    correlations = scaled[:-1, :-1]
    smallest = float(np.linalg.eigvalsh(correlations)[0])
    ridge = RIDGE - min(smallest, 0.0) if smallest < DEPENDENT else 0.0
    # Loading the compiler takes half a second: whoever imports this module does not pay for it.
    compiled = importlib.import_module("discreet.kernels.subsets.best_subsets_compiled")
    unexplained, words, least, _ = compiled.search(
        correlations, scaled[:-1, -1], starts, max_size, n_best, ridge, most_work
    )
    is_proven = least[1:] >= unexplained[np.arange(1, max_size + 1), compiled.last_places(len(units), max_size, n_best)]
    rss = np.where(np.isfinite(unexplained), unexplained * total if total > 0.0 else 0.0, np.inf)[1:]
    left = np.multiply(least[1:], total, out=np.full(max_size, np.inf), where=np.isfinite(least[1:]))
    bits = np.unpackbits(words[1:].astype("<u8").view(np.uint8), axis=2, bitorder="little")
    return Search(rss, bits[:, :, : len(units)].view(np.bool_), left, is_proven)


def _project(moments: Floats, always: Bools) -> Floats:
    """Moments of what the columns of every model leave of the others; a column left with nothing becomes zero."""
    size = moments.diagonal().copy()
    left = moments.copy()
    waiting = np.flatnonzero(always).tolist()
    while waiting:  # one less each time
        column = max(waiting, key=lambda j: left[j, j] / size[j] if size[j] > 0.0 else 0.0)
        waiting.remove(column)
        if left[column, column] > DEPENDENT * size[column]:
            left -= np.outer(left[:, column], left[:, column] / left[column, column])
    gone = left.diagonal() <= DEPENDENT * size
    left[gone, :] = 0.0
    left[:, gone] = 0.0
    return left
