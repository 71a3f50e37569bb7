"""A second look at the target of a linear regression of few rows: its price, and what it is good for."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import logsumexp, ndtri

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.quantile import DENOMINATOR, rank_distances, rank_sensitivity
from discreet.mechanisms.rng import Source
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.moments import level
from discreet.methods.registry import method_of
from discreet.methods.regression.linear import PreparedLeveled, PreparedLinear
from tests.privacy.test_noisy_sums import in_box

RELATIONS = ("replace_one", "add_or_remove_one")
BUDGETS = (NoiseBudget(Fraction(1, 200), None), NoiseBudget(Fraction(2), None), NoiseBudget(None, Fraction(1, 2)))


def laws(relation, c, budget, ranks=rank_sensitivity):
    """Log chances of every point under neighbors: c rows of a table move from one end to the other, or leave."""
    epsilon = float(level._epsilon(budget))
    gamma = float(ranks(level.MEDIAN, NeighboringRelation(relation), c)) * DENOMINATOR
    for middle in (0, 3):
        base = np.zeros(9, dtype=np.int64)
        base[0], base[4], base[-1] = 4, middle, 4
        for place in (0, 4, 8):
            one, other = base.copy(), base.copy()
            one[place] += c
            if relation == "replace_one":
                other[8 - place] += c
            found = [-epsilon * rank_distances(counts, level.MEDIAN) / gamma for counts in (one, other)]
            yield tuple(values - logsumexp(values) for values in found)


def cost(one, other, budget):
    """Epsilon, or rho of the normal laws that are as easy to tell apart: by the best test of each size."""
    if budget.rho is None:
        return float(np.abs(one - other).max())
    order = np.argsort(other - one)
    p, q = np.exp(one[order]).cumsum()[:-1], np.exp(other[order]).cumsum()[:-1]
    inside = (p > 1e-12) & (p < 1 - 1e-12) & (q > 1e-12) & (q < 1 - 1e-12)
    return float(np.max(ndtri(p[inside]) - ndtri(q[inside]), initial=0.0)) ** 2 / 2.0


def worst(relation, c, budget, **given):
    return max(cost(one, other, budget) for one, other in laws(relation, c, budget, **given))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("budget", BUDGETS)
def test_no_pair_costs_more_than_the_share(relation, c, budget):
    """The median by its exact law, and the sum at its largest change."""
    limit = float(budget.epsilon if budget.rho is None else budget.rho)
    assert 0.2 * limit < worst(relation, c, budget) <= limit
    estimate = level.sum_of_target(in_box(2, 0, relation, True, c))
    moved = (2 if relation == "replace_one" else 1) * c * GRID**2
    scale = float(estimate.scale(budget))
    spent = moved / scale if budget.rho is None else moved**2 / (2 * scale**2)
    assert spent == pytest.approx(limit, rel=1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_half_the_range_is_found_out(relation, budget):
    """Control."""
    limit = float(budget.epsilon if budget.rho is None else budget.rho)
    assert worst(relation, 1, budget, ranks=lambda *args: rank_sensitivity(*args) / 4) > limit


# ---- what it is good for


def simulated(n, seed, relation="add_or_remove_one"):
    """Responses in a small part of their bounds, away from the middle."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    X = rng.uniform(-1, 1, (n, 4))
    y = 0.3 + 0.03 * X[:, 0] + 0.05 * rng.normal(size=n)
    columns = {f"x{j}": {"type": "real", "lower": -1, "upper": 1} for j in range(4)}
    facts = {"dataset": "d", "unit": "person", "neighboring": relation, "columns": columns}
    facts["columns"]["y"] = {"type": "real", "lower": -1, "upper": 1}
    facts |= {"n_rows": n} if relation == "replace_one" else {}
    table = pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": y})
    return table, Metadata.from_value(facts), X, y


@pytest.mark.parametrize(("relation", "epsilon"), [("add_or_remove_one", 0.5), ("replace_one", 1.0)])
def test_few_rows_predict_hardly_worse_than_their_mean(relation, epsilon):
    """The response spreads over a sixteenth of its bounds; where the sums alone lose many times its variance."""
    losses = []
    for seed in range(25):
        table, facts, X, y = simulated(300, seed, relation)
        prepared = method_of("linear", epsilon=epsilon, delta=1e-6).prepare(facts, "y")
        outcome = prepared.run(open_table(table, facts), Source.seeded(seed))
        assert outcome.moments.level is not None
        coef = np.array([entry.estimate for entry in outcome.fit.coefficients])
        errors = y - np.column_stack([np.ones(len(y)), X]) @ coef
        losses.append(np.mean(errors**2) / y.var() - 1.0)
    assert np.median(losses) < 0.4


def test_public_facts_say_which_look_and_what_it_costs():
    """Of more rows the sum, of fewer the median; the charge is one."""
    events = []
    for n, share in ((300, level.SHARE_OF_MEDIAN), (2000, level.SHARE_OF_SUM)):
        _, facts, *_ = simulated(n, 0, "replace_one")
        prepared = method_of("linear", epsilon=1.0, delta=1e-6).prepare(facts, "y")
        assert isinstance(prepared, PreparedLeveled)
        assert prepared.level_share == share
        assert prepared.budget.rho == prepared.whole.rho * (1 - share)
        events.append(prepared.event)
    assert events[0] == events[1]
    _, facts, *_ = simulated(20_000, 0, "replace_one")
    assert isinstance(method_of("linear", epsilon=1.0, delta=1e-6).prepare(facts, "y"), PreparedLinear)


@pytest.mark.parametrize("options", [{"row_norm": 1.0}, {"fit_intercept": False}, {"weights": "x3"}])
def test_without_a_constant_of_one_there_is_no_level(options):
    """Weighted rows, or no intercept: the sums have the whole budget."""
    table, facts, *_ = simulated(200, 1, "replace_one")
    if "weights" in options:
        facts = Metadata.from_value({
            **facts.model_dump(mode="json", exclude_none=True, exclude_defaults=True),
            "columns": {**facts.model_dump(mode="json", exclude_none=True)["columns"],
                        "x3": {"type": "real", "lower": 0, "upper": 1}},
        })  # fmt: skip
    prepared = method_of("linear", epsilon=1.0, delta=1e-6, **options).prepare(facts, "y")
    outcome = prepared.run(open_table(table, facts), Source.seeded(3))
    assert outcome.moments.level is None


def test_the_sum_is_pooled_by_precision():
    """Its variance is the harmonic one, and intervals use it."""
    table, facts, _, y = simulated(2000, 4, "replace_one")
    prepared = method_of("linear", epsilon=1.0, delta=1e-6).prepare(facts, "y")
    record = prepared.run(open_table(table, facts), Source.seeded(5)).moments
    assert record.level is None
    alone = level.sum_of_target(prepared.sums).variance(prepared.whole.part(prepared.level_share))
    of_others = record.xty_variance[1]
    assert record.xty_variance[0] == pytest.approx(1.0 / (1.0 / alone + 1.0 / of_others))
    assert abs(record.xty[0] / GRID**2 - y.sum()) < 5 * record.xty_variance[0] ** 0.5 / GRID**2
