"""The best least squares models of each size, from moments, by branch and bound.

Columns of every model are projected out first, the rest are scaled to unit length. The root of the search tree is the
model of all units, and each step down drops one. A subtree is skipped when its root, the largest model in it, leaves as
much unexplained as the best models so far of every size in it.
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
    """The best models of each size that a search visited, and how good any other can be.

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
    """Return the residual sums of squares of the best models of each size, and these models as integers of bits.

    Row m - 1 holds models of m units, best first; infinite where there are not so many. Residual sums that differ by
    less than 1e-10 of themselves are ties, and any of them may be returned. Cost: exponential in d at worst; thousands
    to a million nodes, of a few microseconds, for 30 to 40 columns with some signal. Source: Furnival and Wilson 1974,
    Regressions by leaps and bounds; Gatu and Kontoghiorghes 2006, Branch-and-bound algorithms for computing the
    best-subset regression models (the order of the units at each node). Shapes: gram (p, p), xty (p,), units (d, p),
    always (p,).

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
    """Return the best models of each size within the work allowed, and what is proven of them.

    Every size has a model: the search starts from those of `stepwise`. A function of the arguments alone.
    Shapes: gram (p, p), xty (p,), units (d, p), always (p,).
    """
    scaled, starts, total = _scaled(gram, xty, yty, units, always)
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
    unlisted = np.multiply(least[1:], total, out=np.full(max_size, np.inf), where=np.isfinite(least[1:]))
    bits = np.unpackbits(words[1:].astype("<u8").view(np.uint8), axis=2, bitorder="little")
    return Search(rss, bits[:, :, : len(units)].view(np.bool_), unlisted, is_proven)


def stepwise_models(
    gram: Floats, xty: Floats, yty: float, units: Bools, always: Bools, max_size: int
) -> tuple[Floats, Bools]:
    """Return the residual sum of squares and the units of a good model of each size, by stepwise regression upward.

    Nothing is proven of them; a small share of the cost of `search_subsets`. Shapes: gram (p, p), xty (p,), units
    (d, p), always (p,); returns (max_size,), (max_size, d).
    """
    scaled, starts, total = _scaled(gram, xty, yty, units, always)
    compiled = importlib.import_module("discreet.kernels.subsets.best_subsets_steps_compiled")
    words = compiled.upward(np.ascontiguousarray(scaled[:-1, :-1]), scaled[:-1, -1].copy(), starts, max_size)
    models = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")[:, : len(units)].view(
        np.bool_
    )
    rss = np.empty(max_size)
    for size, model in enumerate(models):
        at = np.flatnonzero(np.repeat(model, np.diff(starts)))
        side = scaled[at, -1]
        rss[size] = max(1.0 - float(side @ np.linalg.lstsq(scaled[np.ix_(at, at)], side, rcond=DEPENDENT)[0]), 0.0)
    return rss * total, models


def _scaled(
    gram: Floats, xty: Floats, yty: float, units: Bools, always: Bools
) -> tuple[Floats, npt.NDArray[np.int64], float]:
    """Return the correlations of the units' columns, the target last, their places, and the target's square."""
    moments = project(np.block([[gram, xty[:, None]], [xty[None, :], np.array([[yty]])]]), always)
    total = max(float(moments[-1, -1]), 0.0)
    columns = [column for unit in units for column in np.flatnonzero(unit)]
    starts = np.concatenate([[0], np.cumsum(units.sum(axis=1))]).astype(np.int64)
    length = np.sqrt(np.maximum(np.append(moments.diagonal()[columns], total), 0.0))
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
    places = np.append(columns, len(xty))
    scaled = moments[np.ix_(places, places)] * inverse[:, None] * inverse[None, :]
    np.fill_diagonal(scaled, 1.0)  # a column that is left with nothing correlates with nothing
    return scaled, starts, total


def project(moments: Floats, always: Bools) -> Floats:
    """Return the moments of residuals on the columns of every model; a column without residual becomes zero."""
    size = moments.diagonal().copy()
    residual = moments.copy()
    remaining = np.flatnonzero(always).tolist()
    while remaining:  # one less each time
        column = max(remaining, key=lambda j: residual[j, j] / size[j] if size[j] > 0.0 else 0.0)
        remaining.remove(column)
        if residual[column, column] > DEPENDENT * size[column]:
            residual -= np.outer(residual[:, column], residual[:, column] / residual[column, column])
    dependent = residual.diagonal() <= DEPENDENT * size
    residual[dependent, :] = 0.0
    residual[:, dependent] = 0.0
    return residual
