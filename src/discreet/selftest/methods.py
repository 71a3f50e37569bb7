"""The methods, through the estimators alone: releases on worst pairs against exact laws, or bounded from draws.

A law needs the scale of the noise: it is taken from the release, where it is public. What a method computes from the
rows is computed here anew, by its definition, so that a wrong scale, a wrong sensitivity and a wrong sum are all seen.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.selftest import laws
from discreet.selftest.evidence import (
    Evidence,
    Floats,
    loss_of_laws,
    loss_of_normal,
    misfit_of_chances_each,
    misfit_of_counts,
    misfit_of_noise,
    shown_by_draws,
)
from discreet.selftest.tables import LABEL, Row, opened

DELTA = 1e-6
REPLACE = "replace_one"
GRID = 32767
"""Steps of a half width: releases of moments say so."""
LEAD = 1.2
"""How many scales the worse of two models lies behind on the table that is drawn from: draws then tell scales apart."""


def two_choices(
    make: Callable[[], Any],
    pair: Sequence[Any],
    scores: Callable[[Any], Floats],
    n: int,
    target: str = "y",
    **about: Any,
) -> Evidence:
    """Compare a selection of one of two columns with the law of its noise.

    Parameters
    ----------
    make : callable
        Returns an estimator.
    pair : sequence of (rows, Table)
        Neighbors; draws are from the first.
    scores : callable
        Of rows: the smaller the better, one for x1 and one for x2.
    n : int
        Draws.
    target : str
        The target column.
    **about : Any
        Further fields of the evidence.

    Returns
    -------
    Evidence
        By exact law.
    """
    releases = [make().fit(pair[0][1], target=target).release_ for _ in range(n)]
    other = make().fit(pair[1][1], target=target).release_
    scales = {release.noise.scale for release in [*releases, other]}
    noise = str(other.noise.noise)
    chances = [laws.least_law(scores(rows), other.noise.scale, noise) for rows, _ in pair]
    counts = [sum(tuple(release.selected) == (name,) for release in releases) for name in ("x1", "x2")]
    fault = "" if len(scales) == 1 else "the printed scale depends on the rows"
    fault = fault if sum(counts) == n else "neither of two columns was selected"
    misfit = misfit_of_counts(counts, chances[0]) if sum(counts) == n else 0.0
    return Evidence(shown=loss_of_laws(*chances), how="exact law", n_draws=n, misfit=misfit, fault=fault, **about)


def least_squares(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`PCLS` on pair P2: both coefficients at their limit, and a row that fits one model and misses the other.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    epsilon : float
        In nats.
    effort : int
        Times as many draws.

    Returns
    -------
    list of Evidence
        One.
    """
    step = 8.0 if relation == REPLACE else 4.0
    lead = math.ceil((LEAD * step / epsilon + 4.0) / 0.75)
    base = [(0.5, 0.0, 1.0)] * (10 + lead) + [(0.0, 0.5, 1.0)] * 10
    pair = _pair(relation, base, (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0))

    about = _about("PCLS", "P2: one row fits one model and misses the other", "pcls", relation, epsilon)
    return [two_choices(lambda: pinned_least_squares(epsilon), pair, squares_of, _draws(epsilon) * effort, **about)]


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


def subset_search(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`PCLS` among all subsets: 8 that are listed, and 2^21 that are searched, of columns that do not overlap.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    epsilon : float
        In nats.
    effort : int
        Times as many draws.

    Returns
    -------
    list of Evidence
        The list; where epsilon is at least 1 and a row is replaced, the search: under Gumbel noise each column of a
        table without overlaps is chosen by itself, so that its law is known.
    """
    found = [_listed(relation, epsilon, 200 * effort)]
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
    about = _about("PCLS, all subsets", "8 models, one row against the first column", "pcls", relation, epsilon)
    about["claim"] = "mechanisms/subset_search.privacy.md"
    return Evidence(shown=loss_of_laws(*laws_of), how="exact law", n_draws=n, misfit=misfit, **about)


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
    about = _about("PCLS, all subsets", "2^21 models, a score moves by its range", "pcls", REPLACE, epsilon)
    about["claim"] = "mechanisms/subset_search.privacy.md"
    return Evidence(shown=shown, how="exact law", n_draws=n * columns, misfit=misfit, **about)


def screening(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`DPSIS` on pair P9 with two columns: one row takes from one score what it gives the other.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    epsilon : float
        In nats.
    effort : int
        Times as many draws.

    Returns
    -------
    list of Evidence
        One.
    """
    step = 4.0 if relation == REPLACE else 2.0
    n = math.ceil((LEAD * step / epsilon + 2.0) / 0.25)
    pair = _pair(relation, [(1.0, 0.75, 1.0)] * n, (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0))

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
        two_choices(one, pair, of, _draws(epsilon) * effort, **_about(name, case, claim, relation, epsilon))
        for one, of, name, claim in kinds
    ]


def _absolute_products(X: Any, y: Any) -> Any:
    return np.abs(X.T @ y)


def moments(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`NoisyMoments` and `LinearRegression`, with Laplace and with Gaussian noise, on pair P18.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    epsilon : float
        In nats.
    effort : int
        Times as many draws.

    Returns
    -------
    list of Evidence
        One an estimator and noise.
    """
    pair = _pair(relation, [(0.5, -0.25, 0.75)] * 9, (1.0, 1.0, 1.0), (1.0, -1.0, -1.0))
    found = []
    for delta in (0.0, DELTA):
        for name, kind in (("NoisyMoments", _coefficient_moments), ("LinearRegression", dc.LinearRegression)):
            records = [
                kind(epsilon, delta=delta).fit(pair[0][1], target="y").release_.moments for _ in range(13 * effort)
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
    about = _about(name, "P18: all signs of a row change", "noisy_moments", relation, epsilon) | {"delta": delta}
    return Evidence(shown=shown, how="exact law", n_draws=z.size, misfit=misfit, fault=fault, **about)


def _products(rows: Sequence[Row], record: Any) -> Floats:
    """Sums of products in the units of a release of moments."""
    table = np.rint(np.array(rows, dtype=np.float64) * GRID)
    x = np.column_stack([np.full(len(rows), float(np.rint(record.constant * GRID))), table[:, :2]])
    y = np.rint(np.clip(np.array(rows)[:, 2] / record.y_bound, -1, 1) * GRID)
    upper = np.triu_indices(3)
    return np.concatenate([(x.T @ x)[upper], x.T @ y, [y @ y]])


def public_records(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`HybridEstimator` on pair P15: rows as near to one public point as to three others, and one that leaves them.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    epsilon : float
        In nats.
    effort : int
        Times as many draws.

    Returns
    -------
    list of Evidence
        Rows that are tied, then a person with more rows than are declared.
    """
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
    about = _about("HybridEstimator", "P15: 300 rows with four nearest points", "hybrid", relation, epsilon)
    moved = 2.0 if relation == REPLACE else 1.0
    totals = misfit_of_whole(counts.sum(axis=1) - len(tied), scale, 4)
    found = [Evidence(shown=moved / scale, how="exact law", n_draws=4 * n, misfit=totals, **about)]

    unit = {"unit_id": "who", "rows_per_unit": 3}
    rows = [(*corners[0], 0.0, 1)] * 400 + [(*corners[3], 0.0, place) for place in range(2, 9)]
    more = {"columns": {}, **unit} | ({"n_rows": len(rows)} if relation == REPLACE else {})
    counts, scale = noisy(opened([*names, "who"], rows, relation, **more))
    about["case"] = "one person has 400 rows where 3 are declared"
    each = misfit_of_whole((counts - [3, 0, 0, 7]).ravel(), scale, 1)
    found.append(Evidence(shown=3 * moved / scale, how="exact law", n_draws=4 * n, misfit=each, **about))
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


def squares(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """The sum of squares that `PCPL` publishes, on pair P7: all rows fit, but one.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    epsilon : float
        In nats.
    effort : int
        Times as many draws.

    Returns
    -------
    list of Evidence
        One.
    """
    base = [(0.5, 0.0, 1.0)] * 20 + [(0.0, 0.5, 1.0)] * 10
    pair = _pair(relation, base, (1.0, 0.0, 1.0), (-1.0, 0.0, 1.0))
    least = [float(squares_of(rows).min()) for rows, _ in pair]
    releases = [_profile(epsilon).fit(pair[0][1], target="y").release_ for _ in range(100 * effort)]
    step = next(step for step in releases[0].steps if step.name == "residual_sum_of_squares")
    values = np.array([next(s.value for s in release.steps if s.name == step.name) for release in releases])
    paid = float(step.event["epsilon"])
    shown = abs(least[1] - least[0]) / step.noise.scale
    about = _about("PCPL, its sum of squares", "P7: a row against the fit", "sum_of_squares", relation, paid)
    misfit = misfit_of_noise((values - least[0]) / step.noise.scale, "laplace")
    return [Evidence(shown=shown, how="exact law", n_draws=len(values), misfit=misfit, **about)]


def _profile(epsilon: float) -> Any:
    choice = (("x1",), ("x2",))
    return dc.PCPL(epsilon, delta=DELTA, l1_radius=1.0, fit_intercept=False, model_penalty=0.0, models=choice, n0=3000)


def by_draws(
    make: Callable[[], Any],
    pair: Sequence[tuple[Sequence[Row], Any]],
    outcome: Callable[[Any], Hashable],
    n: int,
    distance: int,
    target: str = "y",
    **about: Any,
) -> Evidence:
    """Bound the loss of a pair from below by draws on both tables.

    Parameters
    ----------
    make : callable
        Returns an estimator.
    pair : sequence of (rows, Table)
        Tables that are `distance` units apart.
    outcome : callable
        Of a release.
    n : int
        Draws on each.
    distance : int
        With so many units the promise is for distance times epsilon.
    target : str
        The target column.
    **about : Any
        Further fields of the evidence; `epsilon` and `delta` of one unit.

    Returns
    -------
    Evidence
        By draws.
    """
    found = [[outcome(make().fit(table, target=target).release_) for _ in range(n)] for _, table in pair]
    epsilon, delta = about.pop("epsilon"), about.pop("delta")
    delta = delta * sum(math.exp(epsilon * place) for place in range(distance))
    shown, reach = shown_by_draws(found[0], found[1], delta)
    if distance > 1:
        about["case"] += f"; {distance} units apart"
    return Evidence(
        epsilon=epsilon * distance, delta=delta, shown=shown, how="draws", n_draws=2 * n, reach=reach, **about
    )


def profile(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`PCPL` on pair P5: rows that fit one model and miss the other change sides, or come.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    epsilon : float
        In nats.
    effort : int
        Times as many draws.

    Returns
    -------
    list of Evidence
        One.
    """
    pinned = [(0.5, 0.0, 1.0)] * 20 + [(0.0, 0.5, 1.0)] * 20
    pair = _pair(relation, [*pinned, *[(0.0, 0.0, 1.0)] * 3000], (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0))
    n_rows = 3000 if relation != REPLACE else len(pair[0][0])
    scores = [n_rows * np.log(squares_of(rows)) for rows, _ in pair]
    releases = [_profile(epsilon).fit(pair[0][1], target="y").release_ for _ in range(150 * effort)]
    scales = np.array([release.noise.scale for release in releases])
    first = np.array([laws.least_law(scores[0], scale, "exponential")[0] for scale in scales])
    hits = sum(tuple(release.selected) == ("x1",) for release in releases)
    misfit = misfit_of_chances_each(hits, first)
    sums = next(step for step in releases[0].steps if step.name == "residual_sum_of_squares").noise
    moved = abs(float(squares_of(pair[1][0]).min() - squares_of(pair[0][0]).min())) / sums.scale
    scale = float(scales.min())
    shown = moved + loss_of_laws(*(laws.least_law(each, scale, "exponential") for each in scores))
    about = _about("PCPL", "P5: one row changes sides", "pcpl", relation, epsilon) | {"delta": DELTA}
    return [Evidence(shown=shown, how="exact law", n_draws=len(releases), misfit=misfit, **about)]


def votes(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`TwoStage` with one block: a row turns its vote.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    epsilon : float
        In nats.
    effort : int
        Times as many draws.

    Returns
    -------
    list of Evidence
        One.
    """
    base = [(0.9, 1.0, 1.0), (-0.9, -1.0, -1.0), (0.0, 0.2, 0.2), (0.0, -0.2, -0.2)]
    pair = _pair(relation, base, (0.0, 1.0, 1.0), (1.0, 0.0, 1.0))
    about = _about("TwoStage", "one row turns the vote of its block", "two_stage", relation, epsilon)

    def make() -> Any:
        return dc.TwoStage(epsilon, n_features_to_select=1, n_blocks=1)

    def scores(rows: Sequence[Row]) -> Floats:
        table = np.array(rows, dtype=np.float64)
        told = np.abs(table[:, :2].T @ table[:, 2]) / np.linalg.norm(table[:, :2], axis=0)
        return np.where(told == told.max(), -1.0, 0.0)

    return [two_choices(make, pair, scores, 150 * effort, **about)]


def histogram(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`PerturbedHistogram` on pair P20: rows move to an empty cell.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    epsilon : float
        In nats.
    effort : int
        Times as many draws.

    Returns
    -------
    list of Evidence
        One.
    """
    far = _distance(epsilon)
    base = [(0.0, -1.0)] * (2 * far)
    pair = [
        (rows, opened(["x1", "y"], rows, relation))
        for rows in ([*base, *[(0.0, -1.0)] * far] if relation == REPLACE else base, [*base, *[(0.0, 1.0)] * far])
    ]
    about = _about("PerturbedHistogram", "P20: rows move to an empty cell", "histogram", relation, epsilon)

    def make() -> Any:
        return dc.PerturbedHistogram(epsilon, bins=2, contrast="mean")

    return [by_draws(make, pair, _rounded, _draws(epsilon) * effort, far, **about)]


def labels(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`LogisticRegression`, by passes and by a perturbed objective, on pair P19: labels flip at the edge of the box.

    Parameters
    ----------
    relation : str
        Which tables are neighbors.
    epsilon : float
        In nats.
    effort : int
        Times as many draws.

    Returns
    -------
    list of Evidence
        With delta, then without; and `PoissonRegression`.
    """
    far, found = _distance(epsilon), []
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
        about = _about(name, "P19: labels flip", claim, relation, epsilon) | {"delta": delta}

        def make(of: Any = kind, at: float = delta) -> Any:
            return of(epsilon, delta=at)

        n = 80 if epsilon == 1.0 else 20
        found.append(by_draws(make, pair, lambda r: r.fit.coefficients[-1].estimate > 0, n * effort, far, **about))
    return found


def _selected(release: Any) -> Hashable:
    return tuple(release.selected)


def _rounded(release: Any) -> Hashable:
    """Estimates, so coarse that outcomes come again."""
    return tuple(round(4.0 * term.estimate) for term in release.fit.coefficients)


def _pair(relation: str, base: Sequence[Row], old: Row, new: Row, rows: int = 1) -> list[tuple[Sequence[Row], Any]]:
    """Rows that are replaced, or added."""
    one = [*base, *[old] * rows] if relation == REPLACE else list(base)
    tables = (one, [*base, *[new] * rows])
    return [(each, opened(["x1", "x2", "y"], each, relation)) for each in tables]


def _distance(epsilon: float) -> int:
    """Units apart, so that the promise is for a loss that draws can show."""
    return max(1, round(1.0 / epsilon))


def _draws(epsilon: float) -> int:
    return 400 if epsilon == 1.0 else 100


def _about(subject: str, case: str, claim: str, relation: str, epsilon: float) -> dict[str, Any]:
    return {
        "subject": subject,
        "case": case,
        "claim": f"methods/{claim}.privacy.md",
        "neighboring": relation,
        "epsilon": epsilon,
        "delta": 0.0,
    }
