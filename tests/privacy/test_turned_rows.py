"""What one row costs in passes of turned rows, from the scales that are drawn with."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from discreet.kernels.glm import families
from discreet.kernels.glm.families import LOGISTIC, linear_map, poisson
from discreet.kernels.glm.problem import Problem
from discreet.kernels.glm.score_looks import LookRequest
from discreet.kernels.glm.turned_rows import Turn
from discreet.kernels.moments.moments import GRID
from tests.privacy.test_generalized_linear import COLUMNS, cells, price, requests

MU = 3.0


def narrow(rng, count, family):
    """Columns that fill a part of their bounds beside the middle, the last nearly the one before it."""
    x = np.ones((count, COLUMNS))
    x[:, 1] = 0.5 + 0.2 * rng.uniform(-1, 1, count)
    x[:, 2] = -0.3 + 0.1 * rng.uniform(-1, 1, count)
    x[:, 3] = x[:, 2] + 0.05 * rng.uniform(-1, 1, count)
    y = rng.choice([-1.0, 1.0], count) if family is LOGISTIC else rng.poisson(1.0, count) / family.high * 2.0 - 1.0
    return np.rint(np.column_stack([x, np.clip(y, -1.0, 1.0)]) * GRID).astype(np.int16)


def turned(family, replace, weighted=False, groups=()):
    """The passes of turned rows of a fit."""
    rng = np.random.default_rng(4)  # noqa: TID251 - simulated rows and points, not noise
    problem = Problem(family, COLUMNS, groups, MU if replace else MU / 2.0, replace, 20_000, weighted=weighted)
    passes = requests(problem, narrow(rng, 20_000, family), rng)
    return [one for one in passes if isinstance(one, LookRequest) or one.row_map.turn is not None]


def single_rows(family, groups=(), count=60):
    """Rows at the corners of the bounds, where no row of the table is, and inside."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated rows, not noise
    rows = np.concatenate([cells(rng, count, groups, family), narrow(rng, 15, family)])
    rows[::2, -1] = rng.choice([-GRID, GRID], len(rows[::2]))  # counts of 0, and the largest
    return rows


def furthest(request):
    """Rows from the least to the largest linear predictor, with responses at both ends."""
    row_map = request.row_map.row_map if isinstance(request, LookRequest) else request.row_map
    corner = np.sign(row_map.theta)[1:]
    rows = [[1.0, *(part * corner), y] for part in np.linspace(-1.0, 1.0, 25) for y in (-1.0, 1.0)]
    return (np.array(rows) * GRID).astype(np.int16)


def dearest(request, rows, replace, shares=None):
    """The largest price of a pair of rows over what the pass costs."""
    shares = [None] * len(rows) if shares is None else list(shares)
    rows, shares = np.concatenate([rows, furthest(request)]), [*shares, *shares[:50]]
    singles = [
        request.row_map.sums(row[None], None, None if share is None else np.array([share]))
        for row, share in zip(rows, shares, strict=True)
    ]
    moved = (a - b for a, b in itertools.combinations(singles, 2)) if replace else iter(singles)
    return max(price(request, change) for change in moved) / request.mu**2


@pytest.mark.parametrize(("family", "near"), [(LOGISTIC, 0.5), (poisson(6.0), 0.3)], ids=["logistic", "poisson"])
@pytest.mark.parametrize("replace", [True, False])
def test_no_turned_row_costs_more_than_its_pass(family, near, replace):
    """Over all pairs of rows, however far they are from those of the table, the price is at most mu^2, and near it.

    Of counts few rows have a linear predictor of the largest weight, so the pairs are less near.
    """
    prices = [dearest(one, single_rows(family), replace) for one in turned(family, replace)]
    assert prices
    assert near < max(prices) <= 1.0


@pytest.mark.parametrize("replace", [True, False])
def test_no_turned_row_with_a_weight_costs_more(replace):
    """Weights at both ends and between."""
    rows = single_rows(LOGISTIC)
    rng = np.random.default_rng(6)  # noqa: TID251 - simulated weights, not noise
    shares = rng.choice([0, GRID // 3, GRID, GRID], len(rows)).astype(np.int16)
    prices = [dearest(one, rows, replace, shares) for one in turned(LOGISTIC, replace, weighted=True)]
    assert prices
    assert 0.5 < max(prices) <= 1.0


@pytest.mark.parametrize("replace", [True, False])
def test_rows_that_are_not_shortened_are_found_out(replace, monkeypatch):
    """A control: noise is for rows no longer than a length, so a pass that leaves them as they are costs more."""
    passes = turned(LOGISTIC, replace)
    rows = single_rows(LOGISTIC)
    assert max(dearest(one, rows, replace) for one in passes) <= 1.0
    monkeypatch.setattr(families, "LONGEST", math.inf)
    assert max(dearest(one, rows, replace) for one in passes) > 1.0


def test_scores_that_are_not_cut_are_found_out():
    """A control: noise is for scores no longer than the cut."""
    rows, passes = single_rows(LOGISTIC), [one for one in turned(LOGISTIC, False) if not isinstance(one, LookRequest)]
    one = max(passes, key=lambda request: request.mu)
    longer = dataclasses.replace(one.row_map.turn, cut=3.0 * one.row_map.turn.cut)
    whole = dataclasses.replace(one, row_map=dataclasses.replace(one.row_map, turn=longer))
    assert dearest(one, rows, False) <= 1.0 < dearest(whole, rows, False)


@pytest.mark.parametrize("replace", [True, False])
def test_a_look_costs_what_one_direction_or_two_do(replace):
    """No pair costs more, and with less noise one does."""
    rows = single_rows(LOGISTIC)
    looks = [one for one in turned(LOGISTIC, replace) if isinstance(one, LookRequest)]
    assert len(looks) == 1
    wide = dataclasses.replace(looks[0], row_map=dataclasses.replace(looks[0].row_map, least=1e-3))
    assert 0.7 < dearest(wide, rows, replace) <= 1.0
    assert dearest(looks[0], rows, replace) <= 1.0
    assert dearest(dataclasses.replace(wide, sd=wide.sd * 2.0 / 3.0), rows, replace) > 1.0


def test_less_noise_is_found_out():
    """A control: two thirds of the noise cost more than mu^2 on some pair."""
    rows = single_rows(LOGISTIC)
    for one in turned(LOGISTIC, True)[-1:]:  # the last pass
        scales = {name: getattr(one, name) * 2.0 / 3.0 for name in ("sd_gradient", "sd_diagonal", "sd_above")}
        assert dearest(dataclasses.replace(one, **scales), rows, True) > 1.0


def test_no_turned_row_is_longer_than_the_grid():
    """Corners, rows of the table, and coordinates that stretch a row a thousand times."""
    rows = single_rows(LOGISTIC)
    rng = np.random.default_rng(7)  # noqa: TID251 - a matrix, not noise
    for size in (1.0, 30.0, 3e4):
        turn = Turn.of(rng.normal(size=(COLUMNS, COLUMNS)) * size, 2.0)
        row_map = dataclasses.replace(linear_map(LOGISTIC, COLUMNS), turn=turn)
        squares = [np.trace(row_map.sums(row[None])[:, :-1]) for row in rows]
        assert max(squares) <= GRID**2
        assert min(squares) > 0


def test_a_row_adds_the_same_wherever_it_stands():
    """Sums are those of the rows one by one, in any order: rounding looks at a row alone."""
    rng = np.random.default_rng(8)  # noqa: TID251 - simulated rows, not noise
    rows = np.asfortranarray(np.concatenate([narrow(rng, 5000, LOGISTIC), single_rows(LOGISTIC)]))
    for one in turned(LOGISTIC, True)[:2]:
        whole = one.row_map.sums(rows)
        assert (whole == one.row_map.sums(rows[::-1])).all()
        assert (whole == one.row_map.sums(rows[:777]) + one.row_map.sums(rows[777:])).all()
        assert (one.row_map.sums(rows[-40:]) == sum(one.row_map.sums(row[None]) for row in rows[-40:])).all()
