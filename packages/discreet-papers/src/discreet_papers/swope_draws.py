"""Swope et al. 2024: the top-k mechanism as its appendix prints it, and the votes of two-stage selection."""

import math

import numpy as np
from scipy.special import gammaln

from discreet.mechanisms.rng import Source
from discreet.simulation.draws import uniforms
from discreet.typing import Floats, Integers
from discreet_papers.swope_tables import lasso, standardized


class Printed:
    """Algorithm 2 to the letter: NOT private, for its classes overlap. Gamma is 1/2, as in the paper's experiments.

    Parameters
    ----------
    scores : ndarray of float, shape (d,)
        Larger is better.
    k : int
        Size of the set, less than d.

    Notes
    -----
    The paper takes the middle of a set from rank h + 1 on, the best one left out, where the class (h, t) has it from
    h + 2 on. So a set counts up to k times, and how often depends on the order of the scores.

    References
    ----------
    Swope et al. 2024, Appendix A, definition A.2 and algorithm 2; privacy specification 4.3.
    """

    def __init__(self, scores: Floats, k: int) -> None:
        self.order, self.k = np.argsort(-scores, kind="stable"), k
        ranked, d = scores[self.order], len(scores)
        head, tail = np.arange(k)[:, None], np.arange(k + 1, d + 1)
        self.loss = (ranked[:k, None] - ranked[None, k:]) / 2.0
        log_sizes = gammaln(tail - head) - gammaln(k - head) - gammaln(tail - k + 1)  # C(t - h - 1, k - h - 1)
        self.shares = np.exp(-log_sizes)

    def draw(self, epsilon: float, sensitivity: float, rng: Source) -> Integers:
        """Return the places of a set, in no order that means something.

        Cost: O(d k). Noise is float, computed from the logarithm of a class's size.
        """
        noise = _largest(uniforms(rng, *self.loss.shape), self.shares)
        values = noise - epsilon / (2.0 * sensitivity) * self.loss
        head, column = np.unravel_index(int(np.argmax(values)), values.shape)
        if values[head, column] <= _largest(uniforms(rng, 1), np.ones(1))[0]:
            return self.order[: self.k]
        tail = self.k + 1 + int(column)
        places = np.argsort(uniforms(rng, tail - int(head) - 1))[: self.k - int(head) - 1]  # h + 1 .. t - 1
        ranks = np.array([*range(head), *(int(head) + places), tail - 1], dtype=np.int64)
        return self.order[ranks]


def _largest(chances: Floats, shares: Floats) -> Floats:
    """Return the largest of m exponential numbers, from one uniform number and 1 / m."""
    return -np.log(-np.expm1(np.log(chances) * shares))


def votes(X: Floats, y: Floats, k: int, rng: Source) -> Integers:
    """Return how many of about root n blocks name each column among the k of their own lasso, of shape (d,).

    Source: Kifer, Smith, Thakurta 2012, section 3; Swope et al. 2024, section 5.
    """
    # A replaced row changes one block, so no count by more than 1. Of equal coefficients the first column is named.
    n, counts = len(y), np.zeros(X.shape[1], dtype=np.int64)
    for rows in np.array_split(np.argsort(uniforms(rng, n)), round(math.sqrt(n))):
        sizes = np.abs(lasso(standardized(X[rows]), standardized(y[rows])))
        best = np.argsort(-sizes, kind="stable")[:k]
        counts[best[sizes[best] > 0.0]] += 1
    return counts


def most_voted(counts: Integers, k: int, rng: Source) -> Integers:
    """Return the places of the k columns with the most votes, without noise."""
    return np.lexsort((uniforms(rng, len(counts)), -counts))[:k]
