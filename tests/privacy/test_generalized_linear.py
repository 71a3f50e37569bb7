"""What one row costs in the passes of a logistic or Poisson fit, from the scales that are drawn with."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.kernels.glm.count_bound import HistogramRequest
from discreet.kernels.glm.families import LOGISTIC, poisson
from discreet.kernels.glm.noisy_newton import noisy_newton
from discreet.kernels.glm.problem import Problem
from discreet.kernels.glm.score_looks import LookRequest
from discreet.kernels.moments.moments import GRID
from discreet.methods.regression.generalized_linear import LEAST_SCALE

MU = 0.7
COLUMNS = 4


def cells(rng, count, groups, family):
    """Rows at the corners of the box and inside it; of a category's dummies at most one is 1."""
    x = np.where(rng.random((count, COLUMNS)) < 0.7, rng.choice([-1.0, 1.0], (count, COLUMNS)), 0.0)
    x += np.where(x == 0.0, rng.uniform(-1, 1, (count, COLUMNS)), 0.0)
    x[:, 0] = 1.0
    for group in groups:
        on = rng.integers(0, len(group) + 1, count)
        for place, j in enumerate(group):
            x[:, j] = on == place
    y = rng.choice([-1.0, 1.0], count) if family.name == "logistic" else rng.uniform(-1, 1, count)
    return np.rint(np.column_stack([x, y]) * GRID).astype(np.int16)


def noisy(request, exact, rng):
    """The sums of a pass with its noise."""
    sums = exact.astype(float)
    p = len(sums)
    if isinstance(request, HistogramRequest | LookRequest):
        return sums + rng.normal(size=sums.shape) * request.sd
    above = np.triu(rng.normal(size=(p, p)), 1) * request.sd_above
    sums[:, :p] += above + above.T + np.diag(rng.normal(size=p) * request.sd_diagonal)
    sums[:, p] += rng.normal(size=p) * request.sd_gradient
    return sums


def requests(problem, rows, rng):
    """All passes of a fit on simulated rows, their noise drawn."""
    steps = noisy_newton(problem)
    request = next(steps)
    found = []
    while True:
        found.append(request)
        try:
            request = steps.send(noisy(request, request.row_map.sums(rows), rng))
        except StopIteration:
            return found


def price(request, change):
    """Squared changes over squared scales: mu squared of one pass."""
    p = len(change)
    if isinstance(request, HistogramRequest | LookRequest):
        return float(((change.astype(float) / request.sd) ** 2).sum())
    upper = np.triu_indices(p, 1)
    parts = (
        (change[:, p], request.sd_gradient),
        (np.diagonal(change[:, :p]), request.sd_diagonal),
        (change[:, :p][upper], request.sd_above),
    )
    return sum(float(((part.astype(float) / sd) ** 2).sum()) for part, sd in parts)


@pytest.mark.parametrize("groups", [(), ((2, 3),)])
@pytest.mark.parametrize(
    ("family", "finds_bound"), [(LOGISTIC, False), (poisson(6.0), False), (poisson(6.0), True), (poisson(60.0), True)]
)
@pytest.mark.parametrize("replace", [True, False])
def test_no_row_costs_more_than_its_pass(family, finds_bound, groups, replace):
    """Over all pairs of rows, and all passes of fits with and without signal, the price is at most mu^2."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated rows and points, not noise
    problem = Problem(family, COLUMNS, groups, MU, replace, 5000, finds_bound=finds_bound)
    rows = cells(rng, 5000, groups, family)
    if family.high > 6.0:  # counts that are clipped
        rows[:, -1] = np.rint((2.0 * rng.poisson(0.3, 5000) / family.high - 1.0) * GRID)
        rows[:20, -1] = GRID
    worst = 0.0
    for some in (rows, rows[rows[:, 1] * np.sign(rows[:, -1].astype(int)) > 0]):
        passes = requests(problem, some, rng)
        assert sum(one.mu**2 for one in passes) <= MU**2 * (1 + 1e-9)
        for one in passes:
            singles = [one.row_map.sums(rows[i : i + 1]) for i in range(60)]
            changes = (a - b for a, b in itertools.combinations(singles, 2)) if replace else iter(singles)
            worst = max(worst, max(price(one, change) for change in changes) / one.mu**2)
            scales = (one.sd,) if hasattr(one, "sd") else (one.sd_gradient, one.sd_diagonal, one.sd_above)
            assert min(scales) > LEAST_SCALE  # the floor is never met here
    assert 0.5 < worst <= 1.0


def test_a_histogram_for_rows_that_come_or_go_is_found_out():
    """A control: a row that is replaced leaves one bin for another, which costs twice as much."""
    rows = np.array([[GRID, -GRID], [GRID, GRID]], dtype=np.int16)
    there, exchanged = (HistogramRequest.of(poisson(6.0), MU, replace) for replace in (False, True))
    first, second = (exchanged.row_map.sums(row[None]) for row in rows)
    assert price(exchanged, first - second) == pytest.approx(exchanged.mu**2)
    assert price(there, first) == pytest.approx(there.mu**2)
    assert price(there, first - second) > 1.9 * there.mu**2


def test_less_noise_is_found_out():
    """A control: two thirds of the noise cost more than mu^2 on some pair."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated rows, not noise
    problem = Problem(LOGISTIC, COLUMNS, (), MU, True, 5000)
    rows = cells(rng, 5000, (), LOGISTIC)
    one = requests(problem, rows, rng)[0]
    singles = [one.row_map.sums(rows[i : i + 1]) for i in range(60)]
    worst = max(price(one, a - b) for a, b in itertools.combinations(singles, 2)) / one.mu**2
    assert worst * float(Fraction(9, 4)) > 1.0


@pytest.mark.parametrize("replace", [True, False])
def test_long_rows_that_count_in_full_are_found_out(replace):
    """A control: noise is for rows no longer than the cap, so a pass that does not weigh them costs more than mu^2."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated rows, not noise
    problem = Problem(LOGISTIC, COLUMNS, (), MU, replace, 5000)
    rows = cells(rng, 5000, (), LOGISTIC)
    one = requests(problem, rows, rng)[0]
    whole = dataclasses.replace(one.row_map, cap=math.inf)
    prices = []
    for row_map in (one.row_map, whole):
        singles = [row_map.sums(rows[i : i + 1]) for i in range(60)]
        changes = (a - b for a, b in itertools.combinations(singles, 2)) if replace else iter(singles)
        prices.append(max(price(one, change) for change in changes) / one.mu**2)
    assert prices[0] <= 1.0 < prices[1]
