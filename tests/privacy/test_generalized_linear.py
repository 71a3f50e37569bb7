"""What one row costs in the passes of a logistic or Poisson fit, from the scales that are drawn with."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.kernels.glm.families import LOGISTIC, poisson
from discreet.kernels.glm.noisy_newton import Problem, noisy_newton
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


def requests(problem, rows, rng):
    """All passes of a fit on simulated rows, their noise drawn."""
    steps = noisy_newton(problem)
    request = next(steps)
    found = []
    while True:
        found.append(request)
        sums = request.row_map.sums(rows).astype(float)
        p = len(sums)
        noise = rng.normal(size=(p, p))
        noise = np.triu(noise, 1) * request.sd_above
        sums[:, :p] += noise + noise.T + np.diag(rng.normal(size=p) * request.sd_diagonal)
        sums[:, p] += rng.normal(size=p) * request.sd_gradient
        try:
            request = steps.send(sums)
        except StopIteration:
            return found


def price(request, change):
    """Squared changes over squared scales: mu squared of one pass."""
    p = len(change)
    upper = np.triu_indices(p, 1)
    parts = (
        (change[:, p], request.sd_gradient),
        (np.diagonal(change[:, :p]), request.sd_diagonal),
        (change[:, :p][upper], request.sd_above),
    )
    return sum(float(((part.astype(float) / sd) ** 2).sum()) for part, sd in parts)


@pytest.mark.parametrize("groups", [(), ((2, 3),)])
@pytest.mark.parametrize("family", [LOGISTIC, poisson(6.0)], ids=lambda family: family.name)
@pytest.mark.parametrize("replace", [True, False])
def test_no_row_costs_more_than_its_pass(family, groups, replace):
    """Over all pairs of rows, and all passes of fits with and without signal, the price is at most mu^2."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated rows and points, not noise
    problem = Problem(family, COLUMNS, groups, MU, replace, 5000)
    rows = cells(rng, 5000, groups, family)
    worst = 0.0
    for some in (rows, rows[rows[:, 1] * np.sign(rows[:, -1].astype(int)) > 0]):
        passes = requests(problem, some, rng)
        assert sum(one.mu**2 for one in passes) <= MU**2 * (1 + 1e-9)
        for one in passes:
            singles = [one.row_map.sums(rows[i : i + 1]) for i in range(60)]
            changes = (a - b for a, b in itertools.combinations(singles, 2)) if replace else iter(singles)
            worst = max(worst, max(price(one, change) for change in changes) / one.mu**2)
            assert min(one.sd_gradient, one.sd_diagonal, one.sd_above) > LEAST_SCALE  # the floor is never met here
    assert 0.5 < worst <= 1.0


def test_less_noise_is_found_out():
    """A control: two thirds of the noise cost more than mu^2 on some pair."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated rows, not noise
    problem = Problem(LOGISTIC, COLUMNS, (), MU, True, 5000)
    rows = cells(rng, 5000, (), LOGISTIC)
    one = requests(problem, rows, rng)[0]
    singles = [one.row_map.sums(rows[i : i + 1]) for i in range(60)]
    worst = max(price(one, a - b) for a, b in itertools.combinations(singles, 2)) / one.mu**2
    assert worst * float(Fraction(9, 4)) > 1.0
