"""The posterior of all models of a regression, from a normal estimate of its coefficients in information form.

The estimate tells of the coefficients b as a normal observation with information A and shift u = A b_hat does. A model
says which units (a column, or all levels of a category) have coefficients; those are normal about zero, the others
zero. How strong effects are is a mixture: of one scale for all columns of the table. What else is not known, such as
the variance of errors, is a mixture, too; each combination is a node, with an information of its own.
"""

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, logsumexp, ndtr

from discreet.typing import Bools, Floats

MOST_EXACT = 20
"""Units up to which every model is looked at."""

N_CHAINS, N_DRAWS, MOST_STEPS = 4, 1500, 600_000
"""Of the sampler: chains, draws that each keeps, and steps in all."""

N_BATCHES = 5
"""Of each chain, whose spread is the sampler's error."""

MOST_KEPT = 4000
"""Models of which coefficients are averaged, where all are looked at."""

SEEDS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)


class Prior(NamedTuple):
    """What is believed of a table before it is seen.

    Parameters
    ----------
    scales : tuple of float
        Standard deviations of effects, each as likely, in units of the effect that one row would tell with an error of
        one standard deviation: of a linear model, residual standard deviations for one of the column.
    is_sparse : bool
        The share of units that matter is uniform; where sparse, Beta(1, d), so that few do.
    """

    scales: tuple[float, ...]
    is_sparse: bool

    def of_sizes(self, d: int) -> Floats:
        """Return the logarithm of each model's prior by its size. Source: Scott and Berger 2010."""
        # Units are in with a chance of law Beta(1, b), integrated out: every size as likely for b = 1, one unit on
        # average, but for d / (d + 1), for b = d.
        sizes = np.arange(d + 1.0)
        b = float(max(d, 1)) if self.is_sparse else 1.0
        return np.asarray(betaln(1.0 + sizes, b + d - sizes) - betaln(1.0, b), dtype=np.float64)


class Evidence(NamedTuple):
    """What is known of the coefficients at one node.

    Parameters
    ----------
    information : ndarray of float, shape (p, p)
        A, positive semidefinite.
    shift : ndarray of float, shape (p,)
        u: A times the estimate.
    unit : ndarray of float, shape (p,)
        Information of one row on each coefficient.
    offset : float
        Logarithm of what the node itself has beside the others.
    """

    information: Floats
    shift: Floats
    unit: Floats
    offset: float


class Layout(NamedTuple):
    """Which columns are in every model, and which belong to each unit.

    Parameters
    ----------
    always : ndarray of bool, shape (p,)
        With a flat prior.
    units : ndarray of bool, shape (d, p)
        Each column in one of them, or in `always`.
    """

    always: Bools
    units: Bools

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """Columns as the compiled code takes them."""
        return np.concatenate([np.flatnonzero(self.always), *(np.flatnonzero(unit) for unit in self.units)]).astype(
            np.intp
        )

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each unit begins in that order, and the end."""
        return (int(self.always.sum()) + np.concatenate([[0], np.cumsum(self.units.sum(axis=1))])).astype(np.int64)


@dataclass(frozen=True)
class Posterior:
    """The posterior under one prior.

    Parameters
    ----------
    chances : ndarray of float, shape (d,)
        That each unit matters.
    models : ndarray of bool, shape (m, d)
        The most likely ones, the likeliest first.
    model_chances : ndarray of float, shape (m,)
        Theirs.
    error : float or None
        Largest standard error of these chances by sampling; None where all models were looked at.
    weights : ndarray of float, shape (k,)
        Of the models and nodes below, with a sum of 1.
    members : ndarray of bool, shape (k, d)
        Their units.
    nodes : ndarray of int, shape (k,)
        Their nodes.
    means, covariances : ndarray of float, shapes (k, p), (k, p, p)
        Of the coefficients in each.
    """

    chances: Floats
    models: Bools
    model_chances: Floats
    error: float | None
    weights: Floats
    members: Bools
    nodes: npt.NDArray[np.int64]
    means: Floats
    covariances: Floats

    @cached_property
    def coef(self) -> Floats:
        """Averaged coefficients, shape (p,)."""
        return np.asarray(self.weights @ self.means, dtype=np.float64)

    def moments_at(self, node: int) -> tuple[Floats, Floats] | None:
        """Return the means of b and of b b' at one node; None where it has no weight. Shapes (p,), (p, p)."""
        weights = np.where(self.nodes == node, self.weights, 0.0)
        if not weights.sum() > 1e-12:
            return None
        weights = weights / weights.sum()
        square = np.tensordot(weights, self.covariances, 1) + (self.means * weights[:, None]).T @ self.means
        return weights @ self.means, np.asarray(square, dtype=np.float64)

    def interval(self, combination: Floats, level: float) -> tuple[float, float]:
        """Return the ends between which a combination of coefficients lies with a probability of `level`."""
        means = self.means @ combination
        spreads = np.sqrt(np.maximum(np.einsum("i,kij,j->k", combination, self.covariances, combination), 0.0))
        reach = float(np.max(np.abs(means) + 12.0 * spreads, initial=1e-12))
        tail = (1.0 - level) / 2.0
        return self._quantile(means, spreads, tail, reach), -self._quantile(-means, spreads, tail, reach)

    def _quantile(self, means: Floats, spreads: Floats, share: float, reach: float) -> float:
        """Where so much of the mixture lies below; models without the column have all of theirs at zero."""
        low, high = -reach, reach
        at_zero = spreads <= 0.0
        for _ in range(60):
            middle = (low + high) / 2.0
            below = np.where(at_zero, middle >= means, ndtr((middle - means) / np.where(at_zero, 1.0, spreads)))
            low, high = (low, middle) if float(self.weights @ below) >= share else (middle, high)
        end = high
        return 0.0 if abs(end) < 1e-9 * reach else end


def posterior(evidences: Sequence[Evidence], layout: Layout, prior: Prior, n_models: int = 10) -> Posterior:
    """Return the posterior of all models: exact up to `MOST_EXACT` units, by a sampler beyond.

    A function of what is given: the sampler draws from a fixed sequence. Cost: O(2^d p^2) for each node and scale, or
    some `MOST_STEPS` models of O(p^3).
    Source: George and McCulloch 1997 (the posterior of models, and the walk); Scott and Berger 2010 (their prior).
    """
    d = len(layout.units)
    nodes = _Nodes.of(evidences, layout, prior)
    if d <= MOST_EXACT:
        return _exact(nodes, layout, prior, n_models)
    return _sampled(nodes, layout, prior, n_models)


class _Nodes(NamedTuple):
    """Nodes and scales as stacks, in the compiled code's order; k of them, and which node each comes from."""

    informations: Floats
    shifts: Floats
    precisions: Floats
    offsets: Floats
    origins: npt.NDArray[np.int64]

    @classmethod
    def of(cls, evidences: Sequence[Evidence], layout: Layout, prior: Prior) -> "_Nodes":
        order, always = layout.order, layout.always
        pairs = [(at, evidence, scale) for at, evidence in enumerate(evidences) for scale in prior.scales]
        precision = [
            np.where(always, 0.0, np.maximum(evidence.unit, 1e-300) / scale**2) for _, evidence, scale in pairs
        ]
        return cls(
            np.array([evidence.information[np.ix_(order, order)] for _, evidence, _ in pairs]),
            np.array([evidence.shift[order] for _, evidence, _ in pairs]),
            np.array([each[order] for each in precision]),
            np.array([evidence.offset for _, evidence, _ in pairs]) - math.log(len(prior.scales)),
            np.array([at for at, _, _ in pairs], dtype=np.int64),
        )


def _exact(nodes: _Nodes, layout: Layout, prior: Prior, n_models: int) -> Posterior:
    compiled = importlib.import_module("discreet.kernels.posterior.evidence_compiled")
    d, starts = len(layout.units), layout.starts
    masks = np.arange(1 << d)
    is_in = (masks[:, None] >> np.arange(d)) & 1 == 1
    of_model = prior.of_sizes(d)[is_in.sum(axis=1)]
    logs = np.empty((len(nodes.offsets), 1 << d))
    for at in range(len(logs)):
        compiled.tree(nodes.informations[at], nodes.shifts[at], nodes.precisions[at], int(starts[0]), starts, logs[at])
        logs[at] += nodes.offsets[at]
    logs += of_model
    logs -= logsumexp(logs)
    np.exp(logs, out=logs)
    by_model = logs.sum(axis=0)
    best = np.argsort(-by_model, kind="stable")[:n_models]
    # Coefficients are averaged over the pairs of a node and a model that hold nearly all of the weight.
    flat = logs.ravel()
    heaviest = np.argsort(-flat, kind="stable")[:MOST_KEPT] if flat.size <= 2**16 else _largest(flat, MOST_KEPT)
    heaviest = heaviest[flat[heaviest] > 0.0]
    of_nodes, models = np.divmod(heaviest, 1 << d)
    weights = flat[heaviest] / flat[heaviest].sum()
    means, covariances = _moments(nodes, layout, of_nodes, is_in[models])
    return Posterior(
        np.clip(by_model @ is_in, 0.0, 1.0), is_in[best], by_model[best], None,
        weights, is_in[models], nodes.origins[of_nodes], means, covariances,
    )  # fmt: skip


def _largest(values: Floats, count: int) -> npt.NDArray[np.intp]:
    largest = np.argpartition(-values, count)[:count]
    return largest[np.argsort(-values[largest], kind="stable")]


def _sampled(nodes: _Nodes, layout: Layout, prior: Prior, n_models: int) -> Posterior:
    compiled = importlib.import_module("discreet.kernels.posterior.evidence_compiled")
    d, starts = len(layout.units), layout.starts
    thin = max(MOST_STEPS // (N_CHAINS * N_DRAWS), 2)
    members, at = np.zeros((N_CHAINS, N_DRAWS, d), dtype=np.uint8), np.zeros((N_CHAINS, N_DRAWS), dtype=np.int64)
    for chain, seed in enumerate(SEEDS):
        compiled.walk(
            nodes.informations, nodes.shifts, nodes.precisions, nodes.offsets, prior.of_sizes(d), int(starts[0]),
            starts, thin * N_DRAWS // 5, N_DRAWS, thin, seed, members[chain], at[chain],
        )  # fmt: skip
    draws, of_draws = members.reshape(-1, d).astype(np.bool_), at.ravel()
    models, which, counts = np.unique(draws, axis=0, return_inverse=True, return_counts=True)
    best = np.argsort(-counts, kind="stable")[:n_models]
    # Draws of a chain hang together; means of a fifth of one hardly do, so their spread tells the sampler's error.
    batches = draws.reshape(N_CHAINS * N_BATCHES, -1, d).mean(axis=1)
    of_best = (which.ravel() == best[0]).reshape(N_CHAINS * N_BATCHES, -1).mean(axis=1)
    spread = np.concatenate([batches, of_best[:, None]], axis=1).std(axis=0, ddof=1)
    pairs, n_pairs = np.unique(np.concatenate([draws, of_draws[:, None]], axis=1), axis=0, return_counts=True)
    likely = np.argsort(-n_pairs, kind="stable")[:MOST_KEPT]
    of_pairs, in_pairs = pairs[likely, -1].astype(np.int64), pairs[likely, :-1].astype(np.bool_)
    means, covariances = _moments(nodes, layout, of_pairs, in_pairs)
    return Posterior(
        draws.mean(axis=0), models[best], counts[best] / len(draws), float(spread.max() / len(batches) ** 0.5),
        n_pairs[likely] / n_pairs[likely].sum(), in_pairs, nodes.origins[of_pairs], means, covariances,
    )  # fmt: skip


def _moments(nodes: _Nodes, layout: Layout, at: npt.NDArray[np.int64], members: Bools) -> tuple[Floats, Floats]:
    """Means and covariances of the coefficients, in the order in which they were given."""
    compiled = importlib.import_module("discreet.kernels.posterior.evidence_compiled")
    starts, original_order = layout.starts, np.argsort(layout.order)
    means, covariances = compiled.model_moments(
        nodes.informations, nodes.shifts, nodes.precisions, at, members.astype(np.uint8), int(starts[0]), starts
    )
    return means[:, original_order], covariances[:, original_order][:, :, original_order]
