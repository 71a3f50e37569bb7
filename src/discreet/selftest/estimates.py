"""Estimates, through the estimators alone: noisy sums against exact laws, coefficients bounded from draws."""

import itertools
import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.selftest import laws
from discreet.selftest.evidence import (
    Evidence,
    Floats,
    loss_of_normal,
    misfit_of_counts,
    misfit_of_noise,
)
from discreet.selftest.tables import LABEL, Row, opened
from discreet.selftest.trials import DELTA, REPLACE, about, by_draws, distance_for, draws_for, pair_of

GRID = 32767
"""Steps of a half width: releases of moments say so."""


def _moments(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`NoisyMoments` and `LinearRegression`, with Laplace and with Gaussian noise, on pair P18."""
    pair = pair_of(relation, [(0.5, -0.25, 0.75)] * 9, (1.0, 1.0, 1.0), (1.0, -1.0, -1.0))
    found = []
    for delta in (0.0, DELTA):
        for name, kind in (("NoisyMoments", _coefficient_moments), ("LinearRegression", dc.LinearRegression)):
            records = [
                kind(epsilon, delta=delta).fit(pair[0][1], target="y").release_.moments for _ in range(10 * effort)
            ]
            found.append(_of_moments(name, records, [rows for rows, _ in pair], relation, epsilon, delta))
    return found


def _coefficient_moments(epsilon: float, delta: float) -> Any:
    """Without the shrinking of long rows, which belongs to selections."""
    return dc.NoisyMoments(epsilon, delta=delta, question="coefficients")


def _of_moments(
    name: str, records: Sequence[Any], pair: Sequence[Sequence[Row]], relation: str, epsilon: float, delta: float
) -> Evidence:
    """The noise of all released sums in units of its scale, and what the pair moves them by."""
    record, sums = records[0], [_products(rows, records[0]) for rows in pair]
    upper = np.triu_indices(len(record.labels))
    variance = np.concatenate([np.array(record.gram_variance)[upper], record.xty_variance, [record.yty_variance]])
    noisy = np.array([np.concatenate([np.array(r.gram)[upper], r.xty, [r.yty]]) for r in records], dtype=np.float64)
    bought = variance > 0
    sd = np.sqrt(variance[bought])
    z = ((noisy[:, bought] - sums[0][bought]) / sd).ravel()
    moved = (sums[1] - sums[0])[bought] / sd
    if delta:
        shown, misfit = loss_of_normal(float(np.linalg.norm(moved)), delta), misfit_of_noise(z, "normal")
    else:
        shown = math.sqrt(2.0) * float(np.abs(moved).sum())
        misfit = misfit_of_noise(z * math.sqrt(2.0), "laplace")
    fault = "" if not (sums[1] - sums[0])[~bought].any() else "a sum that moves is free of noise"
    facts = about(name, "P18: all signs of a row change", "noisy_moments", relation, epsilon) | {"delta": delta}
    return Evidence(shown=shown, how="exact law", n_draws=z.size, misfit=misfit, fault=fault, **facts)


def _products(rows: Sequence[Row], record: Any) -> Floats:
    """Sums of products in the units of a release of moments."""
    table = np.rint(np.array(rows, dtype=np.float64) * GRID)
    x = np.column_stack([np.full(len(rows), float(np.rint(record.constant * GRID))), table[:, :2]])
    y = np.rint(np.clip(np.array(rows)[:, 2] / record.y_bound, -1, 1) * GRID)
    upper = np.triu_indices(3)
    return np.concatenate([(x.T @ x)[upper], x.T @ y, [y @ y]])


def _public_records(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`HybridEstimator` on pair P15: rows as near to one public point as to three others, and one that leaves them."""
    corners = list(itertools.product([-1.0, 1.0], repeat=2))
    public = pa.table({"x1": [a for a, _ in corners], "x2": [b for _, b in corners], "y": [0.0] * 4})
    names = ["x1", "x2", "y"]
    tied, n = [(0.0, 0.0, 0.0)] * 300, 40 * effort

    def noisy(table: Any) -> tuple[Floats, float]:
        def make() -> Any:
            return dc.HybridEstimator(public, epsilon=epsilon, measure="counts", n_points="all", contrast="mean")

        releases = [make().fit(table, target="y").release_ for _ in range(n)]
        return np.array([release.hybrid.points.noisy for release in releases]), releases[0].noise.scale

    counts, scale = noisy(opened(names, tied, relation))
    facts = about("HybridEstimator", "P15: 300 rows with four nearest points", "hybrid", relation, epsilon)
    moved = 2.0 if relation == REPLACE else 1.0
    totals = misfit_of_whole(counts.sum(axis=1) - len(tied), scale, 4)
    found = [Evidence(shown=moved / scale, how="exact law", n_draws=4 * n, misfit=totals, **facts)]

    unit = {"unit_id": "who", "rows_per_unit": 3}
    rows = [(*corners[0], 0.0, 1)] * 400 + [(*corners[3], 0.0, place) for place in range(2, 9)]
    more = {"columns": {}, **unit} | ({"n_rows": len(rows)} if relation == REPLACE else {})
    counts, scale = noisy(opened([*names, "who"], rows, relation, **more))
    facts["case"] = "one person has 400 rows where 3 are declared"
    each = misfit_of_whole((counts - [3, 0, 0, 7]).ravel(), scale, 1)
    found.append(Evidence(shown=3 * moved / scale, how="exact law", n_draws=4 * n, misfit=each, **facts))
    return found


def misfit_of_whole(noise: Floats, scale: float, n_summed: int) -> float:
    """Return the p-value of sums of discrete Laplace noise, in cells of about equal chance.

    Parameters
    ----------
    noise : ndarray of float
        Whole numbers.
    scale : float
        Of each noise.
    n_summed : int
        How many noises each is the sum of.

    Returns
    -------
    float
        Small where they are no such sums.
    """
    law = laws.laplace_law(scale, math.ceil(40 * scale))
    total = law
    for _ in range(n_summed - 1):
        total = np.convolve(total, law)
    reach = len(total) // 2
    below = np.cumsum(total)
    edges = np.searchsorted(below, np.linspace(0, 1, 9)[1:-1])
    chances = np.diff(np.concatenate([[0.0], below[edges], [1.0]]))
    places = np.searchsorted(edges, np.clip(noise + reach, 0, 2 * reach), side="left")
    return misfit_of_counts(np.bincount(places, minlength=8), chances)


def _histogram(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`PerturbedHistogram` on pair P20: rows move to an empty cell."""
    far = distance_for(epsilon)
    base = [(0.0, -1.0)] * (2 * far)
    pair = [
        (rows, opened(["x1", "y"], rows, relation))
        for rows in ([*base, *[(0.0, -1.0)] * far] if relation == REPLACE else base, [*base, *[(0.0, 1.0)] * far])
    ]
    facts = about("PerturbedHistogram", "P20: rows move to an empty cell", "histogram", relation, epsilon)

    def make() -> Any:
        return dc.PerturbedHistogram(epsilon, bins=2, contrast="mean")

    return [by_draws(make, pair, _rounded, draws_for(epsilon) * effort, far, **facts)]


def _labels(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`LogisticRegression`, by passes and by a perturbed objective, on pair P19: labels flip at the edge of the box."""
    far, found = distance_for(epsilon), []
    for name, kind, delta, claim in (
        ("LogisticRegression", dc.LogisticRegression, DELTA, "generalized_linear"),
        ("LogisticRegression", dc.LogisticRegression, 0.0, "perturbed_logistic"),
        ("PoissonRegression", dc.PoissonRegression, DELTA, "generalized_linear"),
    ):
        rows = [(1.0, 1.0)] * far
        base = [(1.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (-1.0, 0.0)]
        pair = [
            (each, opened(["x1", "y"], each, relation, columns={"y": LABEL}))
            for each in ([*base, *rows], [*base, *[(1.0, 0.0)] * far] if relation == REPLACE else base)
        ]
        facts = about(name, "P19: labels flip", claim, relation, epsilon) | {"delta": delta}

        def make(of: Any = kind, at: float = delta) -> Any:
            return of(epsilon, delta=at)

        n = 40 if epsilon == 1.0 else 10  # each a search of its own: there draws are dear
        found.append(by_draws(make, pair, lambda r: r.fit.coefficients[-1].estimate > 0, n * effort, far, **facts))
    return found


def _rounded(release: Any) -> Hashable:
    """Estimates, so coarse that outcomes come again."""
    return tuple(round(4.0 * term.estimate) for term in release.fit.coefficients)


CHECKS = (_moments, _public_records, _histogram, _labels)
"""All of them: under a relation, at an epsilon, with so many times the draws of the short run."""
