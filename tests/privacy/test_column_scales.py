"""Columns' scales, bought before unit rows: their price, that no scaled row is too long, and that no slope is bent."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows import unit_rows as kernel
from discreet.kernels.rows.unit_rows import SCALE, Scaling, column_sums, shortest_length, unit_rows
from discreet.mechanisms.rng import Source
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.moments.column_scales import UNIT, ColumnScales, scaled_to, scaling_of
from discreet.methods.moments.further_moments import FurtherMoments
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.registry import method_of
from tests.privacy.test_noisy_sums import in_box

RELATIONS = ("replace_one", "add_or_remove_one")
BUDGETS = (NoiseBudget(Fraction(1, 200), None), NoiseBudget(None, Fraction(1, 2)))
ENDS = (GRID, GRID // 2, 3, 0, -1, -GRID)


def values(cells):
    """What is released of rows, in whole steps, the number of rows last."""
    sums = column_sums(np.array(cells, dtype=np.int16).reshape(-1, 5))
    return [2 * GRID * int(cell) for cell in sums[0, 1:]] + sums[1, 1:].tolist() + [UNIT * int(sums[0, 0])]


def largest_cost(relation, c, budget, l2=1):
    """Of c rows that are replaced, or leave, over the share: at the ends of the columns and inside."""
    scales = ColumnScales(in_box(3, 0, relation, True, c).design)
    estimate = scales.estimate()
    scale = replace(estimate, l2=estimate.l2 * l2).scale(budget)
    rows = [(GRID, *cells, 0) for cells in itertools.product(ENDS, repeat=3)]
    pairs = (
        [(row, other) for row in rows for other in rows[::7]] if relation == "replace_one" else [(r, ()) for r in rows]
    )
    costs = []
    for one, other in pairs:
        moved = [a - b for a, b in zip(values([one] * c), values([other] * c if other else []), strict=True)]
        length = sum(change**2 for change in moved[: scales.n_numbers])
        costs.append(length / float(scale) ** 2)
    limit = float(2 * budget.rho) if budget.rho is not None else float(budget.epsilon) ** 2
    return max(costs) / limit


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("budget", BUDGETS)
def test_no_pair_costs_more_than_the_share(relation, c, budget):
    """A row that goes from one end of all columns to the other costs all of it, and so does one that leaves."""
    assert 0.999 < largest_cost(relation, c, budget) <= 1.0


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_less_than_the_sensitivity_is_found_out(relation, budget):
    """Control."""
    assert largest_cost(relation, 1, budget, Fraction(9, 10)) > 1.0


def test_a_unit_that_gains_rows_costs_no_more_than_rows_that_are_replaced():
    """With a public number of units rows may come and go: less than what is counted for a row that is replaced."""
    for p in (1, 2, 50):
        assert Fraction(5 * p, 4) + 1 <= 4 * p


def longest(scaling, rows):
    scaled = unit_rows(rows, 1.0, shortest_length(rows.shape[1] - 2), scaling=scaling).astype(object)
    return max(int(value) for value in (scaled[:, :-1] ** 2).sum(axis=1))


def scaled_cases():
    """Random rows and those at the ends, under scalings as far as they go."""
    rng = np.random.default_rng(3)  # noqa: TID251 - rows, not noise
    for p in (1, 3, 64):
        rows = rng.integers(-GRID, GRID, (400, p + 2), endpoint=True).astype(np.int16)
        rows[::3, 1:-1] = rng.choice([-GRID, GRID], (134, p))
        for middle, factor in ((0, SCALE), (GRID, 32 * SCALE), (-GRID, 1), (77, 1311), (-GRID, 32 * SCALE)):
            yield Scaling((middle,) * p, (factor,) * p), rows


def test_no_scaled_row_is_longer_than_one():
    """In whole steps, the constant included; nearly all of it is used."""
    lengths = [longest(*each) for each in scaled_cases()]
    assert max(lengths) <= GRID**2
    assert max(lengths) > 0.99 * GRID**2


def test_rows_that_are_measured_before_they_are_scaled_are_found_out(monkeypatch):
    """Control: the length of the row as it was."""
    measured = kernel._lengths
    monkeypatch.setattr(kernel, "_lengths", lambda x, *given: measured(np.clip(x, -GRID, GRID), *given))
    assert max(longest(*each) for each in scaled_cases()) > GRID**2


@pytest.mark.parametrize("error", [0.0, 0.02, 0.1, 1.0])
def test_scales_are_within_what_a_row_map_can_do(error):
    """Whatever the noise is; an even column stays nearly as it is, and a narrow one off the middle does not."""
    means, squares = (each.ravel() for each in np.meshgrid(np.linspace(-9, 9, 19), np.linspace(-9, 9, 19)))
    middles, factors = scaled_to(means, squares, error)
    assert np.abs(middles).max() <= GRID
    assert factors.min() >= 1
    assert factors.max() <= 32 * SCALE
    middles, factors = scaled_to(np.array([0.0, 0.5]), np.array([1.0 / 3.0, 0.26]), error)
    assert middles[0] == 0
    assert 0.5 <= factors[0] / SCALE <= 1.0 + 1e-3
    assert error > 0.02 or factors[1] > 2 * SCALE


NAMES = ("x0", "x1", "x2", "x3")


def narrow(n, noise, relation="replace_one", seed=1):
    """Columns of a tenth of their range near an end, two of which matter; one is a category."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    x = np.clip(rng.normal(-0.6, 0.1, (n, 4)), -1, 1)
    level = rng.choice(["u", "v"], n)
    y = 0.2 + 0.8 * (x[:, 0] + 0.6) - 0.5 * (x[:, 1] + 0.6) + 0.1 * (level == "u") + noise * rng.normal(size=n)
    columns = {name: {"type": "real", "lower": -1, "upper": 1} for name in NAMES}
    columns |= {"g": {"type": "category", "levels": ["u", "v"]}, "y": {"type": "real", "lower": -2, "upper": 2}}
    facts = {"dataset": "d", "unit": "person", "neighboring": relation, "columns": columns}
    facts |= {"n_rows": n} if relation == "replace_one" else {}
    cells = {name: x[:, j] for j, name in enumerate(NAMES)} | {"g": level, "y": y}
    return open_table(pa.table(cells), Metadata.from_value(facts))


def drawn(table, epsilon, seed=3, **options):
    prepared = method_of("moments", epsilon=epsilon, n0=4000, **options).prepare(table.metadata, "y")
    return prepared, prepared.run(table, Source.seeded(seed))


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_slope_is_bent(relation):
    """Nearly without noise: the slopes in the columns' own units, though rows are scaled and shortened."""
    prepared, outcome = drawn(narrow(4000, 0.02, relation), 1000.0, y_center="middle", y_bound="furthest")
    assert prepared.parameters["column_scales"] == "private"
    assert max(outcome.moments.half_widths[1:5]) < 0.25
    assert np.allclose(outcome.moments.centers[1:5], -0.6, atol=0.02)
    slopes = {term.name: term.estimate for term in MomentAnswers(outcome.moments).fit().coefficients}
    assert [slopes[name] for name in NAMES] == pytest.approx([0.8, -0.5, 0.0, 0.0], abs=0.05)


def test_narrow_columns_are_found_that_would_be_missed(monkeypatch):
    """Of ten tables; as wide as their bounds they tell too little beside the noise."""

    def right():
        outcomes = [drawn(narrow(4000, 0.1, seed=seed), 0.7, delta=1e-6, seed=seed)[1] for seed in range(10)]
        return sum({"x0", "x1"} <= set(outcome.selected) for outcome in outcomes)

    now = right()
    monkeypatch.setattr(ColumnScales, "is_worth_it", lambda *_: False)
    assert now >= 9
    assert right() <= 5


def test_nothing_is_bought_where_it_would_tell_little():
    """By public facts: few rows beside the noise, coefficients, bounds that are private."""
    table = narrow(4000, 0.1)
    assert drawn(table, 1.0, delta=1e-6)[0].scales is not None
    for options in ({"epsilon": 0.01}, {"question": "coefficients"}, {"row_norm": 0.5}, {"fit_intercept": False}):
        prepared = method_of("moments", **{"epsilon": 1.0, "delta": 1e-6, **options}).prepare(table.metadata, "y")
        assert prepared.scales is None
        assert "column_scales" not in prepared.parameters


def test_a_further_release_scales_columns_as_the_first_did():
    """Its moments are of the same columns, and it buys nothing of them."""
    table = narrow(4000, 0.1)
    first = drawn(table, 20.0)[1].moments
    scaling = scaling_of(first, table.metadata)
    further = FurtherMoments(epsilon=20.0, level=(first.y_center, first.y_bound), scaling=scaling)
    prepared = further.prepare(table.metadata, "y")
    again = prepared.run(table, Source.seeded(8)).moments
    assert prepared.scales is None
    assert (again.centers, again.half_widths) == (first.centers, first.half_widths)
    plain = drawn(table, 20.0, question="coefficients")[1].moments
    assert scaling_of(plain, table.metadata) is None
