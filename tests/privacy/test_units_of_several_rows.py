"""A unit of 1 to c rows exchanged for 1 to c others, where the number of units is public: what sums change by."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.data.sources import open_table
from discreet.kernels.glm.families import LOGISTIC
from discreet.kernels.glm.noisy_newton import noisy_newton
from discreet.kernels.glm.problem import Problem
from discreet.kernels.moments.moments import GRID, exact_moments
from discreet.mechanisms.rng import Source
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.moments.moments_method import MomentsMethod
from discreet.methods.registry import method_of
from discreet.methods.screening.target_center import Center
from tests.privacy.test_generalized_linear import price
from tests.privacy.test_noisy_sums import blocks

MOST = 3
"""c."""

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "s"}

UNITS = [
    [row] * size
    for size in (1, MOST)
    for row in (
        (1.0, 1.0, 1.0),
        (1.0, 1.0, -1.0),
        (-1.0, 1.0, 1.0),
        (-1.0, 1.0, -1.0),
        (1.0, -1.0, 1.0),
        (0.0, 0.0, 1.0),
    )
]
"""Rows at the corners, alone and as many as there may be; beyond c none counts."""


def declared(**more):
    """Metadata of units of 1 to c rows, their number public."""
    facts = {"n_units": 4, **more}
    return Metadata.from_value(
        {
            "dataset": "toy",
            "unit": "person",
            "neighboring": "replace_one",
            "rows_per_unit": MOST,
            "unit_id": "who",
            "columns": {"a": BOX, "b": BOX, "y": BOX},
            **facts,
        }
    )


def table_of(unit, metadata):
    """Three units that stay, and one."""
    base = [(0.5, -0.5, 0.25), (0.1, 0.2, -1.0), (-1.0, 1.0, 0.5), (0.3, 0.3, 0.3)]
    rows = [*base, *unit]
    owners = [1, 1, 2, 3, *[9] * len(unit)]
    cells = {name: [row[i] for row in rows] for i, name in enumerate("aby")}
    return open_table(pa.table({"who": owners, **cells}), metadata)


def worst_price(method, delta):
    """The most that an exchange costs in noisy sums, over the budget."""
    metadata = declared()
    found = method.sums(metadata, "y", None)
    budget = NoiseBudget.of(Fraction(1), delta, *found.size)
    estimates = found.estimates(method.shares(metadata.neighboring, found))
    assert "rows" in {one.name for one in estimates}
    sums = [blocks(found, table_of(unit, metadata).moments(found.design)) for unit in UNITS]
    changes = [{name: one[name] - other[name] for name in one} for one, other in itertools.combinations(sums, 2)]
    costs = [sum(int((c[e.name] ** 2).sum()) / (2 * e.scale(budget) ** 2) for e in estimates) for c in changes]
    if budget.rho is None:
        return math.sqrt(2 * float(max(costs))) / float(budget.epsilon), estimates, changes, budget
    return float(max(costs) / budget.rho), estimates, changes, budget


@pytest.mark.parametrize("name", ["linear", "moments"])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)], ids=["pure", "gaussian"])
def test_noisy_sums_cost_no_more_than_the_budget(name, delta):
    """All blocks together, the noisy count among them, whatever rows are exchanged for how many others."""
    method = method_of(name, epsilon=1.0, delta=float(delta))
    assert isinstance(method, MomentsMethod)
    worst, estimates, changes, budget = worst_price(method, delta)
    assert 0.3 < worst <= 1.0
    if delta:  # a control: noise for one row of a unit
        cost = max(
            sum(int((c[e.name] ** 2).sum()) * MOST**2 / (2 * e.scale(budget) ** 2) for e in estimates) for c in changes
        )
        assert cost > budget.rho


def test_the_number_of_rows_is_released_with_noise_or_not_at_all():
    """Two tables of as many units and other numbers of rows: no exact number follows the rows."""
    metadata = declared()
    for unit in (UNITS[0], UNITS[-1]):
        fit = method_of("linear", epsilon=1.0, delta=1e-6).prepare(metadata, "y")
        record = fit.run(table_of(unit, metadata), Source.seeded(3)).moments
        assert record.n_rows_variance > 0.0


def test_the_two_sums_of_a_mean_change_by_their_sensitivity():
    """Rows that count as high become rows that count as low: 4 c, where a row that only comes adds 2."""
    metadata = declared()
    center = Center(ScoreDesign.plan(metadata, "y", ["a", "b"]), Fraction(1))

    def pair(unit):
        total, count = table_of(unit, metadata).target_sum(center.design)
        return np.array([GRID * count + total, GRID * count - total])

    sums = [pair(unit) for unit in UNITS]
    worst = max(int(np.abs(one - other).sum()) for one, other in itertools.combinations(sums, 2))
    assert worst == center.sensitivity
    alone = Center(ScoreDesign.plan(declared(n_units=None, n_rows=7), "y", ["a", "b"]), Fraction(1))
    assert worst > alone.sensitivity  # a control: the noise of a sum whose count is public


@pytest.mark.parametrize("count_is_public", [False, True])
def test_passes_of_a_generalized_linear_model(count_is_public):
    """Over exchanges of 1 to c rows, each pass costs at most c times its mu, and its count is known by noise alone."""
    # Where long rows count less, the sum of what rows count is not known, whatever is public.
    problem = Problem(LOGISTIC, 3, (), 0.7, True, 5000, count_is_public=count_is_public, is_capped=not count_is_public)
    assert problem.knows_count is count_is_public
    rng = np.random.default_rng(2)  # noqa: TID251 - simulated rows, not noise
    rows = np.rint(rng.choice([-1.0, 1.0], (400, 4)) * GRID).astype(np.int16)
    rows[:, 0] = GRID
    steps = noisy_newton(problem)
    request, worst = next(steps), 0.0
    while True:
        units = [
            request.row_map.sums(np.repeat(rows[i : i + 1], size, axis=0)) for i in range(12) for size in (1, MOST)
        ]
        changes = (one - other for one, other in itertools.combinations(units, 2))
        worst = max(worst, max(price(request, change) for change in changes) / (MOST * request.mu) ** 2)
        try:
            request = steps.send(request.row_map.sums(rows).astype(float))
        except StopIteration:
            break
    assert 0.4 < worst <= 1.0


def test_moments_of_a_unit_count_at_most_c_of_its_rows():
    """Units beyond the bound are cut before anything is counted."""
    metadata = declared()
    design = method_of("linear", epsilon=1.0, delta=1e-6).sums(metadata, "y", None).design
    crowd, most = (table_of([(1.0, 1.0, 1.0)] * size, metadata).moments(design) for size in (3 * MOST, MOST))
    assert np.array_equal(crowd, most)
    assert int(crowd[0, 0]) == (4 + MOST) * int(exact_moments(np.full((1, 1), GRID, dtype=np.int16))[0, 0])
