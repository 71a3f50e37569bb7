"""Where counts are clipped under pure epsilon: what finding it costs, and that all parts keep to theirs."""

from fractions import Fraction

import numpy as np
import pytest
from tests.unit.methods.regression.test_pure_regressions import MOST, metadata, prepared, rows

from discreet.accounting.compose import guarantee_of
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engines.arrays import ArraysTable
from discreet.kernels.glm.count_bound import UNIT, Histogram, bounds_of
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of

RELATIONS = "replace_one", "add_or_remove_one"
WIDE = {"type": "integer", "lower": 0, "upper": 400}


def several(c):
    return {"rows_per_unit": c, "unit_id": "id"} if c > 1 else {}


def most_moved(bound, c):
    """The largest l1 change of exact numbers by a unit of c rows that comes, or that is replaced by another."""
    histogram, worst = Histogram.of(bound.family), 0
    cells = np.arange(-GRID, GRID + 1, 16, dtype=np.int16)[:, None]
    rng = np.random.default_rng(1)  # noqa: TID251 - units, not noise
    for _ in range(200):
        unit, replacement = (histogram.sums(cells[rng.integers(0, len(cells), c)]) for _ in range(2))
        worst = max(worst, np.abs(unit - (replacement if bound.replaces else 0)).sum())
    return worst


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("c", [1, 3])
def test_no_unit_moves_the_bins_by_more_than_their_noise_covers(relation, c):
    """The bound of the l1 change is reached and never passed."""
    bound = prepared(1.0, relation, "poisson", **several(c)).bound
    assert most_moved(bound, c) == bound.scale * bound.epsilon == UNIT * c * (2 if relation == "replace_one" else 1)


def test_noise_of_rows_that_come_or_go_is_found_out():
    """A control: it does not cover a row that leaves one bin for another, nor one row of three that are a unit's."""
    for exchanged, short in ((1, ("add_or_remove_one", 1)), (3, ("replace_one", 1))):
        bound = prepared(1.0, "replace_one", "poisson", **several(exchanged)).bound
        less = prepared(1.0, short[0], "poisson", **several(short[1])).bound
        assert most_moved(bound, exchanged) > less.scale * less.epsilon


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("c", [1, 3])
def test_each_part_keeps_to_its_epsilon_whatever_is_found(relation, epsilon, c):
    """With every bound there can be the minimizer spends no more than was planned, and no other part changes."""
    declared = prepared(epsilon, relation, "poisson", **several(c))
    total = guarantee_of(declared.event, NeighboringRelation[relation.upper()])
    assert (float(total.epsilon), total.delta) == (pytest.approx(epsilon, rel=1e-12), 0)
    for count in bounds_of(MOST):
        clipped = declared.clipped_to(count)
        cost = clipped.change.spent(clipped.chosen.ridge, clipped.chosen.beta)
        assert cost <= declared.minimizer_epsilon
        assert clipped.loss.family.high == count
        assert clipped.loss.family.responses().max() == count
        assert clipped.information_scale == declared.information_scale
        assert [step.event for step in clipped.steps] == [step.event for step in declared.steps]
        least = declared.n_coefficients**0.5 * clipped.chosen.output_sensitivity
        assert clipped.output_scale * declared.output_epsilon * Fraction(2) ** -24 >= Fraction(least)
    assert declared.clipped_to(MOST) is declared


def test_a_wide_bound_is_not_what_noise_grows_with():
    """Counts of about two in a range of 400 are clipped far below it, the release says where, and slopes are found."""
    rng = np.random.default_rng(4)  # noqa: TID251 - simulated rows, not noise
    table = rows(rng)
    table["y"] = rng.poisson(np.exp(0.3 + 0.8 * table["a"]))
    facts = metadata(columns=metadata().model_dump(mode="json")["columns"] | {"y": WIDE})
    outcome, plain = (
        method_of("poisson", epsilon=20.0, delta=0, private_count_bound=finds)
        .prepare(facts, "y")
        .run(ArraysTable(table, facts), Source.seeded(1))
        for finds in (True, False)
    )
    assert 3 <= outcome.fit.count_bound <= 48
    assert plain.fit.count_bound is None
    assert [step.name for step in outcome.steps] == ["count_bound", "coefficients", "information", "dispersion"]
    slope, other = (next(one for one in each.fit.coefficients if one.name == "a") for each in (outcome, plain))
    assert slope.estimate == pytest.approx(0.8, abs=0.25)
    assert slope.privacy_variance < other.privacy_variance / 50.0
