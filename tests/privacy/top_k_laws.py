"""Exact laws of the top-k mechanisms over all k-sets, by formulas that share no code with them."""

import itertools

import numpy as np

POINTS, PARTS = np.polynomial.legendre.leggauss(24)
EDGES = np.append(0.0, 2.0 ** np.arange(-40, 1))
NODES = np.concatenate([(a + b + (b - a) * POINTS) / 2 for a, b in itertools.pairwise(EDGES)])
WEIGHTS = np.concatenate([(b - a) * PARTS / 2 for a, b in itertools.pairwise(EDGES)])
"""Finer towards zero, where a product of a million factors falls off."""


def losses(scores, k, gamma):
    """LOSS of every k-set, by its definition."""
    found = {}
    for y in itertools.combinations(range(len(scores)), k):
        inside = min(scores[j] for j in y)
        outside = max((scores[j] for j in range(len(scores)) if j not in y), default=-np.inf)
        found[y] = (1 - gamma) * max(inside, outside) - gamma * inside
    return found


def race_law(utilities, times, noise):
    """Probability of each utility plus noise to be the largest, each of them there so many times."""
    u = np.asarray(utilities, dtype=float) - np.max(utilities)
    m = np.asarray(times, dtype=float)
    if noise == "gumbel":
        return np.exp(u) / np.sum(m * np.exp(u))
    # e^u_i times the integral over [0, 1] of prod (1 - s e^u_j) / (1 - s e^u_i): permute-and-flip
    with np.errstate(divide="ignore"):
        logs = np.log1p(-np.outer(NODES, np.exp(u)))
    return np.array([np.exp(v) * WEIGHTS @ np.exp(logs @ m - logs[:, i]) for i, v in enumerate(u)])


def lipschitz_law(scores, k, epsilon, sensitivity, gamma, noise):
    """Canonical Lipschitz by brute force over all k-sets."""
    found = losses(np.asarray(scores, dtype=float), k, gamma)
    chances = race_law([-epsilon / (2 * sensitivity) * v for v in found.values()], [1] * len(found), noise)
    return dict(zip(found, chances, strict=True))


def one_shot_law(scores, k, epsilon, sensitivity, noise, scale=None):
    """The k largest of noisy scores: integral over the threshold, the largest outside."""
    ahead = np.asarray(scores, dtype=float) / (scale or 2 * k * sensitivity / epsilon)
    x = np.linspace(ahead.min() - 12, ahead.max() + 45, 100_001)
    cdf = [_cdf(x - a, noise) for a in ahead]
    found = {}
    for y in itertools.combinations(range(len(ahead)), k):
        outside = np.prod([cdf[j] for j in range(len(ahead)) if j not in y], axis=0)
        inside = np.prod([1 - cdf[j] for j in y], axis=0)
        found[y] = float(np.sum(np.diff(outside) * (inside[1:] + inside[:-1]) / 2))
    return found


def peeling_law(scores, k, epsilon, sensitivity, noise):
    """Selections one after the other, by brute force over their orders."""
    ahead = np.asarray(scores, dtype=float) * epsilon / (2 * k * sensitivity)
    found = dict.fromkeys(itertools.combinations(range(len(ahead)), k), 0.0)
    for order in itertools.permutations(range(len(ahead)), k):
        chance, left = 1.0, list(range(len(ahead)))
        for j in order:
            chance *= race_law(ahead[left], [1] * len(left), noise)[left.index(j)]
            left.remove(j)
        found[tuple(sorted(order))] += chance
    return found


def _cdf(x, noise):
    return np.exp(-np.exp(-x)) if noise == "gumbel" else -np.expm1(-np.maximum(x, 0.0))
