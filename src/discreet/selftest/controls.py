"""Controls: what is known to be broken, put through the same tests; one that is not flagged makes the tester blind.

Privacy specification 9.2, and the errors of the papers in its section 10.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.selftest import estimates, laws, mechanisms, selections, trials
from discreet.selftest.evidence import Evidence, loss_of_laws, misfit_of_counts
from discreet.selftest.tables import opened

REPLACE = "replace_one"


def _half_the_noise(effort: int) -> Evidence:
    """A selection that draws with half the scale: seen by its draws."""
    scores, n = [0.0, 0.8, 1.6, 12.0], mechanisms.CALLS * effort
    law = dict(enumerate(laws.least_law(scores, 1.0, "exponential").tolist()))
    return mechanisms.drawn(
        partial(noisy_min, scores, 1, 2.0, Source()), (law, law), n, **_about("a selection")
    ).as_control("half the noise")


def _half_the_additive_noise(effort: int) -> Evidence:
    """A count with half the noise: seen by its draws."""
    n, law = 5000 * effort, laws.laplace_law(1.0, 40)
    places = np.clip(np.array(discrete_laplace([0] * n, 0.5, Source())), -40, 40) + 40
    misfit = misfit_of_counts(np.bincount(places, minlength=81), law)
    found = Evidence(shown=1.0, how="exact law", n_draws=n, misfit=misfit, **_about("a count"))
    return found.as_control("half the noise")


def _replaced_as_added(effort: int) -> Evidence:
    """Least squares where a row is replaced, under the noise for one that is added."""
    base = [(0.5, 0.0, 1.0)] * 40 + [(0.0, 0.5, 1.0)] * 10
    rows = [[*base, row] for row in ((-1.0, 1.0, 1.0), (1.0, -1.0, 1.0))]
    pair = [(each, opened(["x1", "x2", "y"], each, "add_or_remove_one")) for each in rows]
    found = trials.two_choices(
        lambda: selections.pinned_least_squares(1.0), pair, selections.squares_of, 20 * effort, **_about("PCLS")
    )
    return found.as_control("a row replaced under the noise for one added")


def _screening_as_published(effort: int) -> Evidence:
    """The paper's sensitivity of 1 for absolute correlations, where a row is replaced."""
    del effort
    one, other = (laws.least_law(scores, 2.0, "exponential") for scores in ([-12.0, -4.0], [-10.0, -6.0]))
    return _by_law("DPSIS", "sensitivity 1 where a row is replaced, as published", one, other)


def _printed_classes(effort: int) -> Evidence:
    """P12: sets drawn through classes of the sizes that the paper prints; the order of ties is reversed."""
    del effort
    one, other = (_through_printed_classes(order) for order in (range(6), range(5, -1, -1)))
    every = sorted(one)
    case = "P12: class sizes as printed"
    return _by_law("top-k sets", case, [one[y] for y in every], [other[y] for y in every], epsilon=0.1)


def _through_printed_classes(order: Any, k: int = 3) -> dict[tuple[int, ...], float]:
    """Equal scores of six columns, ranked in an order: each class is as likely as it is printed to be large."""
    ranked, weights = list(order), dict[tuple[int, ...], float]()
    for chosen in itertools.combinations(range(len(ranked)), k):
        head = next((place for place, rank in enumerate(chosen) if place != rank), k)
        tail = chosen[-1] + 1
        copies = 1.0
        if head < k:
            copies = math.comb(tail - head - 1, k - head - 1) / math.comb(tail - head - 2, k - head - 1)
        weights[tuple(sorted(ranked[rank] for rank in chosen))] = copies
    total = sum(weights.values())
    return {chosen: weight / total for chosen, weight in weights.items()}


def _unequal_scales(effort: int) -> Evidence:
    """P4: the noisy minimum with a noise of its own for each candidate, as the first paper has it."""
    del effort
    rivals, small, grid = 50, 0.05, np.linspace(-60.0, 60.0, 200_001)

    def wins(shift: float) -> float:
        below = laws.laplace_chance(math.log(rivals) - shift + small * grid) ** rivals
        return float(np.trapezoid(np.exp(-np.abs(grid)) / 2.0 * below, grid))

    return _by_law("a selection", "P4: a scale of its own for each candidate", [wins(0.0)], [wins(2.0)])


def _bounds_from_the_rows(effort: int) -> Evidence:
    """P3: `PCLS` as published, with the target's bound taken from the rows; one cell ten times as large."""
    box = {"y": {"type": "real", "lower": -10, "upper": 10}}
    corners = [(1.0, 1.0, 1.0), (-1.0, 1.0, -1.0), (1.0, -1.0, 1.0), (-1.0, -1.0, -1.0)] * 25
    rows = [corners, [*corners[:-1], (-1.0, -1.0, -10.0)]]
    pair = [(each, opened(["x1", "x2", "y"], each, REPLACE, columns=box)) for each in rows]

    def make() -> Any:
        models = (("x1",), ("x2",))
        return dc.PCLS(1.0, l1_radius=1.0, model_penalty=0.0, fit_intercept=False, models=models, as_published=True)

    found = trials.by_draws(make, pair, lambda r: tuple(r.selected), 400 * effort, 1, **_about("PCLS"))
    return found.as_control("P3: bounds from the rows, as published")


def _published_profile(effort: int) -> Evidence:
    """P6: the profile likelihood's published noise, whose scale can be anything: RSS (3, 2) becomes (2, 3)."""
    del effort
    n, delta, epsilon = 40, 1e-5, 0.1
    gap, z = n * math.log(1.5), np.linspace(-60.0, 60.0, 400_001)
    left = 2.0 + (z - math.log(1.0 / (2.0 * delta))) / epsilon - 1.0  # RSS, noisy and lowered, less one sensitivity
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = gap / (np.abs(2.0 * n * np.log1p(1.0 / np.where(left == 0.0, 1e-300, left))) / epsilon)
    behind = np.nan_to_num(np.minimum(ratio, 700.0), nan=0.0)
    worse = float(np.trapezoid(np.exp(-np.abs(z)) / 2.0 * (0.5 + behind / 4.0) * np.exp(-behind), z))
    case = "P6: the published scale of the noise"
    return _by_law("PCPL", case, [worse, 1.0 - worse], [1.0 - worse, worse], epsilon=2.0 * epsilon)


def _released_norm(effort: int) -> Evidence:
    """P8: the norm of the fit itself, with any noise, moves without bound when one cell goes from 1e-6 to 1."""
    del effort
    norms = [abs(last) / last**2 for last in (1e-6, 1.0)]
    return _moved("PCLS", "P8: the norm of the fit, as published", abs(norms[0] - norms[1]) / 8.0)


def _observed_normalization(effort: int) -> Evidence:
    """P14: columns divided by their largest cell; one row makes it a hundred times as large."""
    del effort
    scores = []
    for last in (0.01, 1.0):
        x = np.append(np.full(199, 0.01), last)
        scores.append(float((x / x.max()).sum()))
    return _moved("DPSIS", "P14: columns divided by their largest cell", abs(scores[0] - scores[1]) / 2.0)


def _published_criterion(effort: int) -> Evidence:
    """P16: the norm of all changes of chances, sensitivity 1 as published; one label flips among 1,000 rows."""
    del effort
    n, found = 1000, []
    x = np.append(np.where(np.arange(n - 1) % 2, 4.0, -4.0) / n, 1.0)
    for last in (0.0, 1.0):
        y, theta = np.append((x[:-1] > 0).astype(np.float64), last), 0.0
        for _ in range(200):  # Newton's method on one coefficient
            chance = 1.0 / (1.0 + np.exp(-np.clip(x * theta, -500, 500)))
            step = (x * (y - chance)).sum() / ((x**2 * chance * (1 - chance)).sum() + 1e-12)
            theta += float(np.clip(step, -n, n))
        found.append(float(np.linalg.norm(0.5 - 1.0 / (1.0 + np.exp(-np.clip(x * theta, -500, 500))))))
    return _moved("PublicSubset", "P16: the published criterion", abs(found[0] - found[1]))


def _published_ties(effort: int) -> Evidence:
    """A row that counts at each of its nearest public points, as published: seen by the sum of all counts."""
    corners = list(itertools.product([-1.0, 1.0], repeat=3))
    columns = {name: [corner[place] for corner in corners] for place, name in enumerate(("x1", "x2", "x3"))}
    public, rows = pa.table(columns | {"y": [0.0] * 8}), [(0.0, 0.0, 0.0, 0.0)] * 9
    n = 40 * effort

    def make(table: Any) -> Any:
        estimator = dc.HybridEstimator(public, epsilon=1.0, measure="counts", n_points="all", contrast="mean")
        return estimator.fit(table, target="y").release_

    releases = [make(opened(["x1", "x2", "x3", "y"], rows, REPLACE)) for _ in range(n)]
    sums = np.array([sum(release.hybrid.points.noisy) for release in releases])
    # What would come out if each row counted eight times: the same noise around 72 and not around 9.
    misfit = estimates.misfit_of_whole(sums + 63.0 - len(rows), releases[0].noise.scale, 8)
    found = Evidence(shown=1.0, how="exact law", n_draws=n, misfit=misfit, **_about("HybridEstimator"))
    return found.as_control("ties count at every nearest point, as published")


CONTROLS: tuple[Callable[[int], Evidence], ...] = (
    _half_the_noise,
    _half_the_additive_noise,
    _replaced_as_added,
    _screening_as_published,
    _printed_classes,
    _unequal_scales,
    _bounds_from_the_rows,
    _published_profile,
    _released_norm,
    _observed_normalization,
    _published_criterion,
    _published_ties,
)


def _by_law(subject: str, case: str, one: Any, other: Any, epsilon: float = 1.0) -> Evidence:
    about = _about(subject) | {"epsilon": epsilon, "case": case}
    return Evidence(shown=loss_of_laws(one, other), how="exact law", n_draws=0, is_control=True, **about)


def _moved(subject: str, case: str, sensitivities: float) -> Evidence:
    """Additive noise for one sensitivity: it loses epsilon for each that the statistic moves by."""
    about = _about(subject) | {"case": case}
    return Evidence(shown=sensitivities, how="exact law", n_draws=0, is_control=True, **about)


def _about(subject: str) -> dict[str, Any]:
    return {"subject": subject, "case": "", "claim": "", "neighboring": REPLACE, "epsilon": 1.0, "delta": 0.0}
