"""What one row costs where rows have an offset and weights: pairs at the corners of both, against what is stated."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data import adjusted_design
from discreet.data.metadata import Metadata
from discreet.kernels.glm.noisy_newton import noisy_newton
from discreet.kernels.moments.moments import exact_moments
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.moments.noisy_sums import NoisySums
from discreet.methods.registry import method_of
from tests.privacy.test_generalized_linear import noisy, price
from tests.privacy.test_noisy_sums import blocks

RELATIONS = ("replace_one", "add_or_remove_one")
EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)


def metadata(neighboring, upper=1):
    """Two columns, a category, a response, an offset, an exposure and weights."""
    ends = {"a": (-1, 1), "b": (0, 5), "o": (-2, 3), "e": (0.1, 20), "w": (0, 3), "y": (0, upper)}
    columns = {name: {"type": "real", "lower": low, "upper": high, "source": "s"} for name, (low, high) in ends.items()}
    columns["c"] = {"type": "category", "levels": ["k", "l", "m"], "source": "s"}
    size = {"n_rows": 500} if neighboring == "replace_one" else {}
    return Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": neighboring, "columns": columns} | size
    )


def batch(count, rng, upper=1):
    """Rows beyond the corners of all bounds, and inside; weights of 0, of their bound, and odd ones."""
    inside = {"a": (-1, 1), "b": (0, 5), "o": (-2, 3), "e": (0.1, 20), "w": (0, 3), "y": (0, upper)}
    columns = {
        name: np.where(rng.random(count) < 0.75, rng.choice([-1e9, 1e9], count), rng.uniform(*ends, count))
        for name, ends in inside.items()
    }
    columns["w"] = np.where(rng.random(count) < 0.8, rng.choice([0.0, 3.0, 50.0], count), columns["w"])
    return pa.RecordBatch.from_pydict(columns | {"c": rng.choice(["k", "l", "m", "none"], count)})


# ---- linear


def linear(neighboring, row_norm=None, weights="w"):
    """The method and its sums."""
    method = method_of("linear", delta=float(DELTA), offset="o", weights=weights, row_norm=row_norm)
    return method, method.sums(metadata(neighboring), "y", ["a", "b", "c"])


def changes(found, neighboring, count=90):
    """What neighbors change of the exact integers, block by block."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated rows, not noise
    cells = found.design.encode(batch(count, rng))
    singles = [blocks(found, exact_moments(cells[i : i + 1])) for i in range(count)]
    if neighboring == "add_or_remove_one":
        return singles
    return [{name: a[name] - b[name] for name in a} for a, b in itertools.combinations(singles, 2)]


def worst(found, estimates, budget, moved):
    """The largest price of a pair: squared changes over squared scales, in rho half of it, in epsilon its root.

    A count that changes and has no noise costs more than anything.
    """
    weights = {one.name: 1 / one.scale(budget) ** 2 for one in estimates}
    if "rows" not in weights:
        weights["rows"] = Fraction(10**9)
    most = max(sum((weights[name] * int((part**2).sum()) for name, part in one.items()), Fraction(0)) for one in moved)
    return Fraction(float(most) ** 0.5) if budget.rho is None else most / 2


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("row_norm", [None, 1.0])
@pytest.mark.parametrize("neighboring", RELATIONS)
def test_no_weighted_row_costs_more_than_the_budget(neighboring, row_norm, pure):
    """Each block changes by at most its sensitivity, and all together cost at most what is charged."""
    method, found = linear(neighboring, row_norm)
    budget = NoiseBudget.of(EPSILON, Fraction(0) if pure else DELTA, *found.size)
    estimates = found.estimates(method.shares(NeighboringRelation(neighboring), found))
    moved = changes(found, neighboring)
    for one in estimates:
        assert max(int((change[one.name] ** 2).sum()) for change in moved) <= one.l2
    assert worst(found, estimates, budget, moved) <= (EPSILON if pure else budget.rho)


def test_a_weight_of_one_against_none_is_among_the_pairs():
    """The corner that a replaced row reaches only with weights: the count itself changes, and by all of a row."""
    _, found = linear("replace_one")
    assert max(abs(int(change["rows"][0])) for change in changes(found, "replace_one")) == 32767**2


def test_a_count_without_noise_is_found_out(monkeypatch):
    """A control: under the replace relation the sum of weights is private, which the number of rows is not."""
    monkeypatch.setattr(NoisySums, "count_is_noisy", property(lambda sums: sums.design.metadata.n_rows is None))
    method, found = linear("replace_one")
    budget = NoiseBudget.of(EPSILON, DELTA, *found.size)
    estimates = found.estimates(method.shares(NeighboringRelation.REPLACE_ONE, found))
    assert worst(found, estimates, budget, changes(found, "replace_one")) > budget.rho


@pytest.mark.parametrize("neighboring", RELATIONS)
def test_less_noise_is_found_out(neighboring):
    """A control: noise of 60% costs more than the budget on some pair."""
    method, found = linear(neighboring)
    budget = NoiseBudget.of(EPSILON, DELTA, *found.size)
    estimates = found.estimates(method.shares(NeighboringRelation(neighboring), found))
    less = [replace(one, l2=one.l2 * Fraction(9, 25)) for one in estimates]
    assert worst(found, less, budget, changes(found, neighboring)) > budget.rho


# ---- generalized linear models


def passes(neighboring, family, **named):
    """The prepared request, and all passes of a fit of simulated rows."""
    upper = 1 if family == "logistic" else 6
    rng = np.random.default_rng(2)  # noqa: TID251 - simulated rows and points, not noise
    prepared = method_of(family, epsilon=1.0, delta=1e-6, **named).prepare(
        metadata(neighboring, upper), "y", ["a", "b", "c"]
    )
    rows = prepared.design.encode(batch(500, rng, upper))
    steps, found = noisy_newton(prepared.problem), []
    request = next(steps)
    while True:
        found.append(request)
        try:
            request = steps.send(noisy(request, prepared.sums_of(request)(rows), rng))
        except StopIteration:
            return prepared, found, rows


def dearest(prepared, found, rows, neighboring, count=70):
    """The largest price of a pair in a pass, over what the pass costs."""
    worst_price = 0.0
    for request in found:
        singles = [prepared.sums_of(request)(rows[i : i + 1]) for i in range(count)]
        pairs = itertools.combinations(singles, 2)
        moved = (a - b for a, b in pairs) if neighboring == "replace_one" else iter(singles)
        worst_price = max(worst_price, max(price(request, change) for change in moved) / request.mu**2)
    return worst_price


FAMILIES = [
    ("logistic", {"offset": "o"}),
    ("logistic", {"offset": "o", "weights": "w"}),
    ("poisson", {"exposure": "e"}),
    ("poisson", {"weights": "w"}),
    ("poisson", {"exposure": "e", "weights": "w"}),
]


@pytest.mark.parametrize(("family", "named"), FAMILIES)
@pytest.mark.parametrize("neighboring", RELATIONS)
def test_no_row_of_a_generalized_model_costs_more_than_its_pass(neighboring, family, named):
    """With an offset at its ends and weights of 0 and 1; the passes together cost what was reserved."""
    prepared, found, rows = passes(neighboring, family, **named)
    assert sum(request.mu**2 for request in found) <= 2 * float(prepared.budget.rho)
    assert 0.3 < dearest(prepared, found, rows, neighboring) <= 1.0 + 1e-12  # noise is drawn a hair wider


def test_negative_weights_are_found_out(monkeypatch):
    """A control: a weight that is not clipped at 0 turns a row's products round, and a pair costs too much."""
    monkeypatch.setattr(
        adjusted_design,
        "_weight",
        lambda batch, *_: np.where(np.arange(batch.num_rows) % 2 == 0, 1.0, -1.0),
    )
    prepared, found, rows = passes("replace_one", "poisson", weights="w")
    assert dearest(prepared, found, rows, "replace_one") > 1.0


def test_a_first_pass_that_forgets_the_offset_is_found_out():
    """A control: the offset is a column of the first pass, and a row there is longer."""
    prepared, found, rows = passes("add_or_remove_one", "poisson", exposure="e")
    first = found[1]  # after the histogram of the counts
    shorter = (prepared.problem.squared_norm / prepared.problem.first_norm) ** 0.5
    less = replace(first, sd_gradient=first.sd_gradient * shorter, sd_diagonal=first.sd_diagonal * shorter)
    less = replace(less, sd_above=first.sd_above * shorter)
    assert dearest(prepared, [first], rows, "add_or_remove_one") <= 1.0
    assert dearest(prepared, [less], rows, "add_or_remove_one") > 1.0
