"""Exact laws of what has finitely many outcomes, by formulas that share no code with the mechanisms.

Privacy specification 9.1.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.typing import Floats

Sets = dict[tuple[int, ...], float]

POINTS, PARTS = np.polynomial.legendre.leggauss(24)
EDGES = np.append(0.0, 2.0 ** np.arange(-40, 1))
NODES = np.concatenate([(a + b + (b - a) * POINTS) / 2 for a, b in itertools.pairwise(EDGES)])
WEIGHTS = np.concatenate([(b - a) * PARTS / 2 for a, b in itertools.pairwise(EDGES)])
"""Finer towards zero, where a product of a million factors falls off."""


def least_law(scores: npt.ArrayLike, scale: float, noise: str) -> Floats:
    """Return the chance of each score, less scale times its noise, to be the smallest."""
    ahead = -np.asarray(scores, dtype=np.float64) / scale
    if noise != "laplace":
        return race_law(ahead, [1] * ahead.size, noise)
    ahead -= ahead.max()
    kinks = np.unique(ahead[ahead > -40.0])
    ends = np.unique(np.concatenate([np.linspace(-45.0, 45.0 + np.log(ahead.size), 400), kinks]))
    # Integral over z of the density of one score times the chance that all others are beyond it; Gauss-Legendre between
    # the kinks of the Laplace density, where it is smooth.
    half, middle = np.diff(ends)[:, None] / 2.0, (ends[:-1, None] + ends[1:, None]) / 2.0
    z = (middle + half * POINTS).ravel()[:, None] - ahead
    below = np.where(z < 0.0, np.exp(np.minimum(z, 0.0)) / 2.0, 1.0 - np.exp(-np.maximum(z, 0.0)) / 2.0)
    density = np.exp(-np.abs(z)) / 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.exp(np.log(below).sum(axis=1)[:, None] - np.log(below))
    law: Floats = (half * PARTS).ravel() @ (density * np.nan_to_num(others))
    return law


def race_law(utilities: npt.ArrayLike, times: Sequence[int], noise: str) -> Floats:
    """Return the chance of each utility plus noise to be the largest, each of them there so many times."""
    u = np.asarray(utilities, dtype=np.float64) - np.max(np.asarray(utilities, dtype=np.float64))
    m = np.asarray(times, dtype=np.float64)
    if noise == "gumbel":
        closed: Floats = np.exp(u) / np.sum(m * np.exp(u))
        return closed
    # e^u_i times the integral over [0, 1] of prod (1 - s e^u_j) / (1 - s e^u_i): permute-and-flip
    with np.errstate(divide="ignore"):
        logs = np.log1p(-np.outer(NODES, np.exp(u)))
    return np.array([np.exp(v) * WEIGHTS @ np.exp(logs @ m - logs[:, i]) for i, v in enumerate(u)])


def losses(scores: npt.ArrayLike, k: int, gamma: float) -> Sets:
    """Return the loss of every k-set (privacy specification 4.3), which moves by at most as much as a score."""
    values = np.asarray(scores, dtype=np.float64)
    loss_of_set = {}
    for chosen in itertools.combinations(range(values.size), k):
        inside = values[list(chosen)].min()
        outside = max(np.delete(values, chosen), default=-np.inf)
        loss_of_set[chosen] = float((1 - gamma) * max(inside, outside) - gamma * inside)
    return loss_of_set


def lipschitz_law(scores: npt.ArrayLike, k: int, epsilon: float, sensitivity: float, gamma: float, noise: str) -> Sets:
    """Return each set's chance under the canonical Lipschitz mechanism, by brute force over all k-sets."""
    loss_of_set = losses(scores, k, gamma)
    chances = race_law([-epsilon / (2 * sensitivity) * v for v in loss_of_set.values()], [1] * len(loss_of_set), noise)
    return dict(zip(loss_of_set, chances.tolist(), strict=True))


def subset_law(
    scores: npt.ArrayLike,
    threshold: int,
    epsilon: float,
    sensitivity: float,
    absent_weight: int,
    noise: str,
    max_size: int | None = None,
) -> Sets:
    """Return each subset's chance under the choice above a threshold, by brute force over all subsets that may be."""
    values = np.asarray(scores)
    distances, above = np.abs(values - threshold) / sensitivity, values > threshold
    sizes = range(min(values.size, max_size if max_size is not None else values.size) + 1)
    subsets = [s for size in sizes for s in itertools.combinations(range(values.size), size)]
    wrong = [np.isin(np.arange(values.size), s) != above for s in subsets]
    utilities = [-epsilon / 2 * distances[at].max(initial=0.0) for at in wrong]
    times = [absent_weight ** (values.size - len(s)) for s in subsets]
    chances = race_law(utilities, times, noise) * np.array(times)
    return dict(zip(subsets, chances.tolist(), strict=True))


def one_shot_law(
    scores: npt.ArrayLike, k: int, epsilon: float, sensitivity: float, noise: str, scale: float | None = None
) -> Sets:
    """Return each set's chance to be the k largest noisy scores, by an integral over the largest outside."""
    ahead = np.asarray(scores, dtype=np.float64) / (scale or 2 * k * sensitivity / epsilon)
    x = np.linspace(ahead.min() - 12, ahead.max() + 45, 100_001)
    cdf = [np.exp(-np.exp(a - x)) if noise == "gumbel" else -np.expm1(-np.maximum(x - a, 0.0)) for a in ahead]
    # P(y) = integral of P(all of y are above x) dP(the largest outside is below x), by the trapezoidal rule
    chances = {}
    for y in itertools.combinations(range(ahead.size), k):
        outside = np.prod([cdf[j] for j in range(ahead.size) if j not in y], axis=0)
        inside = np.prod([1 - cdf[j] for j in y], axis=0)
        chances[y] = float(np.sum(np.diff(outside) * (inside[1:] + inside[:-1]) / 2))
    return chances


def peeling_law(scores: npt.ArrayLike, k: int, epsilon: float, sensitivity: float, noise: str) -> Sets:
    """Return each set's chance under selections one after the other, by brute force over their orders."""
    ahead = np.asarray(scores, dtype=np.float64) * epsilon / (2 * k * sensitivity)
    chances = dict.fromkeys(itertools.combinations(range(ahead.size), k), 0.0)
    for order in itertools.permutations(range(ahead.size), k):
        chance, left = 1.0, list(range(ahead.size))
        for j in order:
            chance *= float(race_law(ahead[left], [1] * len(left), noise)[left.index(j)])
            left.remove(j)
        chances[tuple(sorted(order))] += chance
    return chances


def rank_distances(counts: Sequence[int], quantile: float) -> Floats:
    """Return how many rows each point of a histogram is away from a quantile, row by row (specification 3.4)."""
    distances, total = [], sum(counts)
    for place, count in enumerate(counts):
        below = sum(counts[:place])
        distances.append(max(below - quantile * total, quantile * total - below - count, 0.0))
    return np.array(distances)


def laplace_law(scale: float, reach: int) -> Floats:
    """Return the chances of discrete Laplace noise, from -reach to reach, the tails in the last ones."""
    k = np.abs(np.arange(-reach, reach + 1))
    # P(k) = tanh(1 / 2s) e^(-|k| / s), and P(at least r) = e^(-r / s) / (1 + e^(-1 / s))
    law: Floats = np.tanh(0.5 / scale) * np.exp(-k / scale)
    law[0] = law[-1] = np.exp(-reach / scale) / (1.0 + np.exp(-1.0 / scale))
    return law


def gaussian_law(scale: float, reach: int) -> Floats:
    """Return the chances of discrete Gaussian noise, from -reach to reach, the tails in the last ones."""
    wide = int(reach + 12 * scale) + 1
    weights = np.exp(-0.5 * (np.arange(-wide, wide + 1) / scale) ** 2)
    weights /= weights.sum()
    law: Floats = weights[wide - reach : wide + reach + 1].copy()
    law[0] += weights[: wide - reach].sum()
    law[-1] += weights[wide + reach + 1 :].sum()
    return law


def cube_law(n_numbers: int, scale: float, reach: int) -> Floats:
    """Return the chance of every vector of integers within reach to be cube noise, as an array of so many dimensions.

    The chance of a radius m is ((2 m + 1)^d - (2 m - 1)^d) exp(-m / scale), divided by the sum.
    """
    far = np.arange(int(scale * (8 * n_numbers + 60)) + reach + 2, dtype=np.float64)
    shells = (2 * far + 1) ** n_numbers - np.maximum(2 * far - 1, 0.0) ** n_numbers
    grid = np.meshgrid(*[np.arange(-reach, reach + 1)] * n_numbers, indexing="ij")
    law: Floats = np.exp(-np.max(np.abs(grid), axis=0) / scale) / (shells @ np.exp(-far / scale))
    return law


def laplace_chance(x: Floats) -> Floats:
    """Return the distribution function of Laplace noise of scale one."""
    chances: Floats = np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2)
    return chances
