"""Metrics of a chosen set of k columns where the true order is known: for studies, not for private tables."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class TopKMetrics(NamedTuple):
    """How near a set comes to the true top k.

    Parameters
    ----------
    top : bool
        It is the top k.
    great : bool
        It holds the top k/10 and lies within the top 11k/10.
    good : bool
        It holds the top k/100 and lies within the top 3k/2.
    overlap : float
        Share of the top k that it holds.
    """

    top: bool
    great: bool
    good: bool
    overlap: float


def top_k_metrics(chosen: npt.ArrayLike, scores: npt.ArrayLike) -> TopKMetrics:
    """Rate a chosen set against the true scores.

    Parameters
    ----------
    chosen : array_like of int, shape (k,)
        Places of the chosen columns, in any order, each once.
    scores : array_like of float, shape (d,)
        The true scores, larger is better; of equal ones the first counts as the better.

    Returns
    -------
    TopKMetrics
        Parts of columns are rounded up: of k = 5, great needs the best one and none beyond the best six.

    Raises
    ------
    ValueError
        When the places are not different ones of the scores.

    Notes
    -----
    Not private: it compares with the truth. Cost: one sort.

    References
    ----------
    Swope, Khanna, Doldo, Roy, Raff 2024, section 5.

    Examples
    --------
    >>> top_k_metrics([0, 2], [9.0, 5.0, 7.0, 1.0])
    TopKMetrics(top=True, great=True, good=True, overlap=1.0)
    >>> top_k_metrics([0, 3], [9.0, 5.0, 7.0, 1.0])
    TopKMetrics(top=False, great=False, good=False, overlap=0.5)
    """
    places, values = np.asarray(chosen, dtype=np.int64).ravel(), np.asarray(scores, dtype=np.float64).ravel()
    k, d = places.size, values.size
    if not 0 < k <= d or np.unique(places).size < k or places.min() < 0 or places.max() >= d:
        raise ValueError(f"chosen must be different places of the {d} scores, 1 of them at least. Check its indices.")
    rank = np.empty(d, dtype=np.int64)
    rank[np.argsort(-values, kind="stable")] = np.arange(d)
    ranks = np.sort(rank[places])

    def between(head: int, reach: int) -> bool:
        return bool(ranks[head - 1] == head - 1 and ranks[-1] < reach)

    return TopKMetrics(
        top=between(k, k),
        great=between(-(-k // 10), -(-11 * k // 10)),
        good=between(-(-k // 100), -(-3 * k // 2)),
        overlap=float(np.mean(ranks < k)),
    )
