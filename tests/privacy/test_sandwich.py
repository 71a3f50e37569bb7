"""The pass of units' squared scores: what units of 1 to c rows cost, from the scales that are drawn with."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.data.engines.arrays import ArraysTable
from discreet.data.metadata import Metadata
from discreet.kernels.glm.families import LOGISTIC, Columns, poisson
from discreet.kernels.glm.noisy_newton import noisy_newton
from discreet.kernels.glm.problem import Problem
from discreet.kernels.glm.sandwich import SpreadRequest
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.methods.regression.generalized_linear import LEAST_SCALE
from discreet.methods.regression.spread_release import SpreadRelease
from tests.privacy.test_generalized_linear import COLUMNS, MU, cells, price

PLACES = Columns(np.arange(COLUMNS + 1))


def spread_of(problem, rows):
    """The last request of a fit on simulated rows, without noise on the sums before it."""
    steps = noisy_newton(problem)
    request = next(steps)
    while not isinstance(request, SpreadRequest):
        request = steps.send(request.row_map.sums(rows).astype(float))
    return request


def sums_of(request, unit):
    """What one unit of these rows adds."""
    starts = np.array([0, len(unit)], dtype=np.int64)
    return request.row_map.sums_of_units(unit, starts, np.ones(1, dtype=np.uint64), len(unit), PLACES)


def units(rows, most):
    """Rows alone, alike and different ones together: at the corners and inside."""
    return [
        *(rows[i : i + 1] for i in range(20)),
        *(np.repeat(rows[i : i + 1], most, axis=0) for i in range(20)),
        *(rows[i : i + most] for i in range(20, 40)),
    ]


@pytest.mark.parametrize("family", [LOGISTIC, poisson(6.0)], ids=lambda family: family.name)
@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize("most", [1, 4])
def test_no_unit_costs_more_than_the_pass(family, replaces, most):
    """Over all pairs of units, of any number of rows each, the price is at most that of a unit."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated rows, not noise
    problem = Problem(family, COLUMNS, (), MU / most, replaces, 5000, robust=True, rows_per_unit=most)
    rows = cells(rng, 5000, (), family)
    request = spread_of(problem, rows)
    allowed = (request.mu * most) ** 2
    singles = [sums_of(request, unit) for unit in units(rows, most)]
    changes = [a - b for a, b in itertools.combinations(singles, 2)] if replaces else singles
    worst = max(price(request, change) for change in changes) / allowed
    assert worst <= 1.0
    assert min(request.sd_gradient, request.sd_above) > LEAST_SCALE
    uncut = replace(request.row_map, scale=16.0 * request.row_map.scale)  # nearer the cut, and never beyond it
    nearer = replace(request, row_map=uncut)
    singles = [sums_of(nearer, unit) for unit in units(rows, most)]
    changes = [a - b for a, b in itertools.combinations(singles, 2)] if replaces else singles
    assert 0.6 < max(price(request, change) for change in changes) / allowed <= 1.0


def test_less_noise_is_found_out():
    """A control: the noise of units that only come or go does not cover those that are exchanged."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated rows, not noise
    rows = cells(rng, 5000, (), LOGISTIC)
    there, exchanged = (
        spread_of(Problem(LOGISTIC, COLUMNS, (), MU, replaces, 5000, robust=True), rows) for replaces in (False, True)
    )
    short = replace(exchanged, row_map=replace(exchanged.row_map, scale=64.0 * exchanged.row_map.scale))
    singles = [sums_of(short, rows[i : i + 1]) for i in range(60)]
    worst = max(price(there, a - b) for a, b in itertools.combinations(singles, 2))
    assert worst > there.mu**2


EPSILON = Fraction(1, 10)


def length(release, change):
    """Of a change of the sums under pure epsilon, each number over the scale that it is drawn with."""
    of_lengths, of_products = release.scales
    upper = np.triu_indices(COLUMNS)
    scales = np.where(upper[0] == upper[1], of_products, of_products / 2.0**0.5)
    products = np.sum((change[:, :-1][upper].astype(float) / scales) ** 2)
    return float(np.sqrt((change[0, -1] / of_lengths) ** 2 + products))


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize(("family", "most"), [(poisson(6.0), 1), (poisson(6.0), 4), (LOGISTIC, 4)])
def test_no_unit_costs_more_than_the_pure_pass(replaces, family, most):
    """Over all pairs of units, of any number of rows each, the length of a change is at most epsilon."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated rows, not noise
    problem = Problem(family, COLUMNS, (), MU / most, replaces, 5000, robust=True, rows_per_unit=most)
    rows = cells(rng, 5000, (), family)
    request = spread_of(problem, rows)
    uncut = replace(request, row_map=replace(request.row_map, scale=64.0 * request.row_map.scale))
    release = SpreadRelease(EPSILON, COLUMNS, replaces)
    for seen, least in ((request, 0), (uncut, 0.7)):
        singles = [sums_of(seen, unit) for unit in units(rows, most)]
        changes = [a - b for a, b in itertools.combinations(singles, 2)] if replaces else singles
        worst = max(length(release, change) for change in changes)
        assert least * EPSILON < worst <= EPSILON


def test_less_noise_of_the_pure_pass_is_found_out():
    """A control: the noise of units that only come or go does not cover those that are exchanged."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated rows, not noise
    rows = cells(rng, 5000, (), LOGISTIC)
    request = spread_of(Problem(LOGISTIC, COLUMNS, (), MU, True, 5000, robust=True), rows)
    long = replace(request, row_map=replace(request.row_map, scale=64.0 * request.row_map.scale))
    singles = [sums_of(long, rows[i : i + 1]) for i in range(60)]
    release = SpreadRelease(EPSILON, COLUMNS, False)
    assert max(length(release, a - b) for a, b in itertools.combinations(singles, 2)) > EPSILON


def test_rows_add_up_before_they_are_cut():
    """A control against cutting rows: two rows that cancel add nothing, two that agree four times one."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated rows, not noise
    rows = cells(rng, 5000, (), LOGISTIC)
    request = spread_of(Problem(LOGISTIC, COLUMNS, (), MU / 2, True, 5000, robust=True, rows_per_unit=2), rows)
    small = replace(request, row_map=replace(request.row_map, scale=request.row_map.scale / 64.0))
    one, two = (np.repeat(rows[:1], size, axis=0) for size in (1, 2))
    assert sums_of(small, two)[0, 0] == pytest.approx(4 * sums_of(small, one)[0, 0], rel=0.1)
    assert np.array_equal(sums_of(small, one), small.row_map.sums(one))


def test_a_unit_adds_the_same_wherever_it_stands():
    """Bit for bit: alone, among others, in another order, in blocks of any size."""
    rng = np.random.default_rng(6)  # noqa: TID251 - simulated rows, not noise
    rows = cells(rng, 4000, (), LOGISTIC)
    request = spread_of(Problem(LOGISTIC, COLUMNS, (), MU, True, 4000, robust=True), rows)
    whole = request.row_map.sums(rows)
    assert np.array_equal(whole, request.row_map.sums(rows[rng.permutation(len(rows))]))
    assert np.array_equal(whole, sum(request.row_map.sums(part) for part in np.array_split(rows, 7)))
    assert np.array_equal(whole - request.row_map.sums(rows[1:]), request.row_map.sums(rows[:1]))


def test_offsets_and_weights_stand_in_the_scores_of_units():
    """Units of one row add what rows do; a weight of one is none, one of nought ends a row; an offset moves it."""
    rng = np.random.default_rng(8)  # noqa: TID251 - simulated rows, not noise
    rows = cells(rng, 300, (), LOGISTIC)
    request = spread_of(Problem(LOGISTIC, COLUMNS, (), MU, True, 300, robust=True), rows)
    row_map = replace(request.row_map, row_map=replace(request.row_map.row_map, offset=2.0**16))
    offsets = rng.integers(-GRID, GRID + 1, len(rows)).astype(np.int16)
    full, none = np.full(len(rows), GRID, dtype=np.int16), np.zeros(len(rows), dtype=np.int16)
    assert np.array_equal(row_map.sums(rows, none, full), row_map.sums(rows))
    assert not row_map.sums(rows, offsets, none).any()
    assert not np.array_equal(row_map.sums(rows, offsets, full), row_map.sums(rows))
    shares = rng.integers(0, GRID + 1, len(rows)).astype(np.int16)
    starts, words = np.arange(len(rows) + 1), np.arange(len(rows), dtype=np.uint64)
    beside = np.column_stack([rows, offsets, shares])
    places = Columns(np.arange(COLUMNS + 1), COLUMNS + 1, COLUMNS + 2)
    of_units = row_map.sums_of_units(beside, starts, words, 1, places)
    assert np.array_equal(of_units, row_map.sums(rows, offsets, shares))


def test_a_request_spends_what_it_reserved():
    """Through the method: over all passes c^2 times the squared mu of a row is 2 rho, whatever units own."""
    box = {"type": "real", "lower": -1, "upper": 1}
    columns = {"a": box, "b": box, "y": {"type": "integer", "lower": 0, "upper": 1}}
    facts = {"neighboring": "replace_one", "n_units": 500, "rows_per_unit": 3, "unit_id": "who"}
    metadata = Metadata.from_value({"dataset": "toy", "unit": "person", "columns": columns} | facts)
    rng = np.random.default_rng(7)  # noqa: TID251 - simulated rows, not noise
    who = np.repeat(np.arange(500), rng.integers(1, 6, 500))
    a, b = rng.uniform(-1, 1, (2, len(who)))
    table = ArraysTable({"who": who, "a": a, "b": b, "y": (rng.random(len(who)) < 0.5).astype(int)}, metadata)
    prepared, spent = method_of("logistic", epsilon=2.0, delta=1e-6).prepare(metadata, "y"), []
    noisy = prepared._noisy
    prepared._noisy = lambda table, request, *more: spent.append((3 * request.mu) ** 2) or noisy(table, request, *more)
    fit = prepared.run(table, Source.seeded(1)).fit
    assert sum(spent) == pytest.approx(2 * float(prepared.budget.rho), rel=1e-9)
    assert sum(spent) <= 2 * float(prepared.budget.rho)
    assert all(np.isfinite(one.sampling_variance) for one in fit.coefficients)
