"""Selections of columns, through the estimators alone: releases on worst pairs against exact laws."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

import discreet as dc
from discreet.selftest import laws
from discreet.selftest.evidence import (
    Evidence,
    Floats,
    loss_of_laws,
    misfit_of_chances_each,
    misfit_of_counts,
    misfit_of_noise,
)
from discreet.selftest.tables import Row, opened
from discreet.selftest.trials import DELTA, REPLACE, about, draws_for, pair_of, two_choices

LEAD = 1.2
"""How many scales the worse of two models lies behind on the table that is drawn from: draws then tell scales apart."""


def _least_squares(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`PCLS` on pair P2: both coefficients at their limit, and a row that fits one model and misses the other."""
    step = 8.0 if relation == REPLACE else 4.0
    lead = math.ceil((LEAD * step / epsilon + 4.0) / 0.75)
    base = [(0.5, 0.0, 1.0)] * (10 + lead) + [(0.0, 0.5, 1.0)] * 10
    pair = pair_of(relation, base, (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0))

    facts = about("PCLS", "P2: one row fits one model and misses the other", "pcls", relation, epsilon)
    return [two_choices(lambda: pinned_least_squares(epsilon), pair, squares_of, draws_for(epsilon) * effort, **facts)]


def pinned_least_squares(epsilon: float) -> Any:
    """Return an estimator that chooses one of two columns, without intercept or penalty.

    Parameters
    ----------
    epsilon : float
        In nats.

    Returns
    -------
    PCLS
        Not yet fitted.
    """
    return dc.PCLS(epsilon, l1_radius=1.0, model_penalty=0.0, fit_intercept=False, models=(("x1",), ("x2",)))


def squares_of(rows: Sequence[Row]) -> Floats:
    """Return residual sums of squares on one column, its coefficient from -1 to 1.

    Parameters
    ----------
    rows : sequence of sequence of float
        x1, x2, y.

    Returns
    -------
    ndarray of float, shape (2,)
        On x1, on x2.
    """
    table = np.array(rows, dtype=np.float64)
    y, found = table[:, -1], []
    for x in (table[:, 0], table[:, 1]):
        slope = float(np.clip((x @ y) / max(float(x @ x), 1e-12), -1.0, 1.0))
        found.append(float(((y - slope * x) ** 2).sum()))
    return np.array(found)


def _subset_search(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`PCLS` among all subsets: 8 that are listed, and 2^21 that are searched, of columns that do not overlap."""
    found = [_listed(relation, epsilon, 150 * effort)]
    if relation == REPLACE and epsilon >= 1.0:
        found.append(_searched(epsilon, 25 * effort))
    return found


def _without_overlaps(gains: Sequence[float], slope: float) -> list[Row]:
    """Rows that each have one column; a column's rows lower the sum of squares by about its gain."""
    rows: list[Row] = []
    for place, gain in enumerate(gains):
        cells = [0.0] * len(gains)
        cells[place] = 1.0
        rows += [(*cells, slope)] * math.ceil(gain / slope**2)
    return rows


def _gains(rows: Sequence[Row]) -> Floats:
    table = np.array(rows, dtype=np.float64)
    x, y = table[:, :-1], table[:, -1]
    found: Floats = (x.T @ y) ** 2 / (x * x).sum(axis=0)
    return found


def _listed(relation: str, epsilon: float, n: int) -> Evidence:
    scale = (18.0 if relation == REPLACE else 9.0) / epsilon
    base = _without_overlaps([0.8 * scale, 1.2 * scale, 2.0 * scale], 0.6)
    tables = [[*base, (1.0, 0.0, 0.0, 0.6)], [*base, (1.0, 0.0, 0.0, -1.0)]]
    tables[0] = tables[0] if relation == REPLACE else base
    names = ["x1", "x2", "x3"]
    models = [tuple(names[j] for j in range(3) if bits >> j & 1) for bits in range(8)]
    pair = [opened([*names, "y"], rows, relation) for rows in tables]
    penalty = 1.3 * scale

    def release(table: Any) -> Any:
        estimator = dc.PCLS(epsilon, l1_radius=2.0, model_penalty=penalty, fit_intercept=False)
        return estimator.fit(table, target="y").release_

    drawn = Counter(tuple(release(pair[0]).selected) for _ in range(n))
    declared = release(pair[1]).noise.scale
    laws_of = []
    for rows in tables:
        gains = _gains(rows)
        scores = [sum(penalty - gains[j] for j in range(3) if bits >> j & 1) for bits in range(8)]
        laws_of.append(laws.least_law(scores, declared, "exponential"))
    misfit = misfit_of_counts([drawn[model] for model in models], laws_of[0])
    facts = about("PCLS, all subsets", "8 models, one row against the first column", "pcls", relation, epsilon)
    facts["claim"] = "mechanisms/subset_search.privacy.md"
    return Evidence(shown=loss_of_laws(*laws_of), how="exact law", n_draws=n, misfit=misfit, **facts)


def _searched(epsilon: float, n: int) -> Evidence:
    columns, radius = 21, 2.0
    scale = 2.0 * (1.0 + radius) ** 2 / epsilon
    rows = _without_overlaps([scale * (0.2 + 2.0 * (j % 2)) for j in range(columns)], 0.9 * radius / columns)
    names = [f"x{j}" for j in range(columns)]
    table, penalty = opened([*names, "y"], rows, REPLACE), 1.2 * scale

    def release() -> Any:
        noise = {"mechanism": "exponential", "fit_intercept": False}
        estimator = dc.PCLS(epsilon, l1_radius=radius, model_penalty=penalty).set_params(**noise)
        return estimator.fit(table, target="y").release_

    releases = [release() for _ in range(n)]
    chances = 1.0 / (1.0 + np.exp((penalty - _gains(rows)) / releases[0].noise.scale))
    hits = np.array([sum(name in one.selected for one in releases) for name in names])
    lead = np.sign(chances - 0.5)  # half the noise moves each chance away from one half
    misfit = misfit_of_chances_each(
        int(np.where(lead > 0, hits, n - hits).sum()), np.repeat(np.maximum(chances, 1.0 - chances), n)
    )
    shown = 2.0 * (1.0 + radius) ** 2 / releases[0].noise.scale
    facts = about("PCLS, all subsets", "2^21 models, a score moves by its range", "pcls", REPLACE, epsilon)
    facts["claim"] = "mechanisms/subset_search.privacy.md"
    return Evidence(shown=shown, how="exact law", n_draws=n * columns, misfit=misfit, **facts)


def _screening(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`DPSIS` on pair P9 with two columns: one row takes from one score what it gives the other."""
    step = 4.0 if relation == REPLACE else 2.0
    n = math.ceil((LEAD * step / epsilon + 2.0) / 0.25)
    pair = pair_of(relation, [(1.0, 0.75, 1.0)] * n, (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0))

    def scores(rows: Sequence[Row]) -> Floats:
        table = np.array(rows, dtype=np.float64)
        found: Floats = -np.abs(table[:, :2].T @ table[:, 2])
        return found

    def make() -> Any:
        return dc.DPSIS(epsilon, n_features_to_select=1, y_center="middle")

    most = 2.0 if relation == REPLACE else 1.0

    def own() -> Any:
        return dc.DPSIS(epsilon, n_features_to_select=1, score_func=_absolute_products, sensitivity=most)

    case = "P9: one score falls, the other rises"
    kinds = (
        (make, scores, "DPSIS", "sis"),
        (own, lambda rows: scores(rows) / most, "DPSIS, own score", "own_score"),  # in declared sensitivities
    )
    return [
        two_choices(one, pair, of, draws_for(epsilon) * effort, **about(name, case, claim, relation, epsilon))
        for one, of, name, claim in kinds
    ]


def _absolute_products(X: Any, y: Any) -> Any:
    return np.abs(X.T @ y)


def _squares(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """The sum of squares that `PCPL` publishes, on pair P7: all rows fit, but one."""
    base = [(0.5, 0.0, 1.0)] * 20 + [(0.0, 0.5, 1.0)] * 10
    pair = pair_of(relation, base, (1.0, 0.0, 1.0), (-1.0, 0.0, 1.0))
    least = [float(squares_of(rows).min()) for rows, _ in pair]
    releases = [_pcpl(epsilon).fit(pair[0][1], target="y").release_ for _ in range(80 * effort)]
    step = next(step for step in releases[0].steps if step.name == "residual_sum_of_squares")
    values = np.array([next(s.value for s in release.steps if s.name == step.name) for release in releases])
    paid = float(step.event["epsilon"])
    shown = abs(least[1] - least[0]) / step.noise.scale
    facts = about("PCPL, its sum of squares", "P7: a row against the fit", "sum_of_squares", relation, paid)
    misfit = misfit_of_noise((values - least[0]) / step.noise.scale, "laplace")
    return [Evidence(shown=shown, how="exact law", n_draws=len(values), misfit=misfit, **facts)]


def _pcpl(epsilon: float) -> Any:
    choice = (("x1",), ("x2",))
    return dc.PCPL(epsilon, delta=DELTA, l1_radius=1.0, fit_intercept=False, model_penalty=0.0, models=choice, n0=3000)


def _profile(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`PCPL` on pair P5: rows that fit one model and miss the other change sides, or come."""
    pinned = [(0.5, 0.0, 1.0)] * 20 + [(0.0, 0.5, 1.0)] * 20
    pair = pair_of(relation, [*pinned, *[(0.0, 0.0, 1.0)] * 3000], (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0))
    n_rows = 3000 if relation != REPLACE else len(pair[0][0])
    scores = [n_rows * np.log(squares_of(rows)) for rows, _ in pair]
    releases = [_pcpl(epsilon).fit(pair[0][1], target="y").release_ for _ in range(120 * effort)]
    scales = np.array([release.noise.scale for release in releases])
    first = np.array([laws.least_law(scores[0], scale, "exponential")[0] for scale in scales])
    hits = sum(tuple(release.selected) == ("x1",) for release in releases)
    misfit = misfit_of_chances_each(hits, first)
    sums = next(step for step in releases[0].steps if step.name == "residual_sum_of_squares").noise
    moved = abs(float(squares_of(pair[1][0]).min() - squares_of(pair[0][0]).min())) / sums.scale
    scale = float(scales.min())
    shown = moved + loss_of_laws(*(laws.least_law(each, scale, "exponential") for each in scores))
    facts = about("PCPL", "P5: one row changes sides", "pcpl", relation, epsilon) | {"delta": DELTA}
    return [Evidence(shown=shown, how="exact law", n_draws=len(releases), misfit=misfit, **facts)]


def _votes(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`TwoStage` with one block: a row turns its vote."""
    base = [(0.9, 1.0, 1.0), (-0.9, -1.0, -1.0), (0.0, 0.2, 0.2), (0.0, -0.2, -0.2)]
    pair = pair_of(relation, base, (0.0, 1.0, 1.0), (1.0, 0.0, 1.0))
    facts = about("TwoStage", "one row turns the vote of its block", "two_stage", relation, epsilon)

    def make() -> Any:
        return dc.TwoStage(epsilon, n_features_to_select=1, n_blocks=1)

    def scores(rows: Sequence[Row]) -> Floats:
        table = np.array(rows, dtype=np.float64)
        told = np.abs(table[:, :2].T @ table[:, 2]) / np.linalg.norm(table[:, :2], axis=0)
        return np.where(told == told.max(), -1.0, 0.0)

    return [two_choices(make, pair, scores, 120 * effort, **facts)]


CHECKS = (_least_squares, _subset_search, _squares, _profile, _screening, _votes)
"""All of them: under a relation, at an epsilon, with so many times the draws of the short run."""
