"""Logistic regression without a delta: what it costs, what it releases, and that no rows make it fail."""

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.accounting.compose import guarantee_of
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engines.arrays import ArraysTable
from discreet.errors import InvalidParameterError
from discreet.kernels.glm.objective_perturbation import spent
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.methods.regression.perturbed_logistic import STEP, PreparedPerturbation
from discreet.report import coefficient_table

N_ROWS = 3000
COLUMNS = {
    "a": {"type": "real", "lower": -1, "upper": 1},
    "b": {"type": "real", "lower": 10, "upper": 14},
    "c": {"type": "category", "levels": ["north", "south", "west"]},
    "y": {"type": "integer", "lower": 0, "upper": 1},
}


def metadata(relation="replace_one", **changes):
    """Three columns, four coefficients and a constant."""
    public = {"n_rows": N_ROWS} if relation == "replace_one" else {}
    head = {"dataset": "toy", "unit": "person", "neighboring": relation, "columns": COLUMNS}
    return dc.Metadata.from_value(head | public | changes)


def rows(rng, n=N_ROWS):
    """The response rises with a, falls with b, and is more frequent in the west."""
    a, b, c = rng.uniform(-1, 1, n), rng.uniform(10, 14, n), rng.choice(["north", "south", "west"], n)
    eta = 2.0 * a - 0.75 * (b - 12.0) + 1.5 * (c == "west")
    return {"a": a, "b": b, "c": c, "y": (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-eta))).astype(int)}


def prepared(epsilon=1.0, relation="replace_one", **changes) -> PreparedPerturbation:
    """Priced, from public facts."""
    return method_of("logistic", epsilon=epsilon, delta=0).prepare(metadata(relation, **changes), "y")


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 2.0, 1000.0])
def test_the_event_is_pure_and_costs_what_is_spent(epsilon, relation):
    """Linear term and determinant on one side, the output's noise on the other; no delta."""
    found = prepared(epsilon, relation)
    guarantee = guarantee_of(found.event, NeighboringRelation[relation.upper()])
    assert (float(guarantee.epsilon), guarantee.delta) == (pytest.approx(epsilon, rel=1e-12), 0)
    cost = spent(found.chosen.ridge, found.chosen.beta, found.bound, relation == "replace_one")
    assert cost <= epsilon - float(found.output_epsilon)
    assert found.bound == pytest.approx(2.0)  # the constant, two columns, one level of a category


def test_the_outputs_noise_covers_the_certificate():
    """Its scale over epsilon is at least the l1 distance of two certified points, and of their rounding."""
    found = prepared()
    p = len(found.terms.owners)
    apart = p**0.5 * found.chosen.output_sensitivity / STEP + p
    assert apart <= float(found.output_scale * found.output_epsilon) <= 1.05 * apart


def test_a_clear_model_comes_out():
    """At a large epsilon every coefficient is near the truth, in own units, and none has an interval of no width."""
    table = ArraysTable(rows(np.random.default_rng(4)), metadata())  # noqa: TID251 - simulated rows, not noise
    fit = prepared(20.0).run(table, Source.seeded(1)).fit
    found = {one.name: one for one in fit.coefficients}
    for name, truth in {"a": 2.0, "b": -0.75, "c=south": 0.0, "c=west": 1.5}.items():
        assert found[name].estimate == pytest.approx(truth, abs=0.5)
    assert found["(intercept)"].estimate == pytest.approx(9.0, abs=2.0)
    assert all(one.uninformative for one in fit.coefficients)
    assert not fit.has_intervals
    assert all((one.low, one.high) == (None, None) for one in fit.coefficients)


def test_a_printed_table_has_estimates_and_no_intervals():
    """A real release, printed: the estimates keep the digits that the box would have rounded away."""
    table = ArraysTable(rows(np.random.default_rng(4)), metadata())  # noqa: TID251 - simulated rows, not noise
    release = dc.LogisticRegression(epsilon=20.0, delta=0).fit(table, target="y").release_
    printed = coefficient_table(release).split("\n")
    assert not release.fit.has_intervals
    assert printed[0].split() == ["estimate", "odds", "ratio"]
    a = next(one.estimate for one in release.fit.coefficients if one.column == "a")
    told = next(row.split()[1] for row in printed if row.startswith("a "))
    assert float(told) == pytest.approx(a, abs=5.1e-4)
    assert "only with a delta, such as 1e-6" in printed[-1]


def bad_rows(kind):
    """Rows that are as bad as can be."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated rows, not noise
    found = rows(rng)
    if kind == "one class":
        found["y"] = np.ones(N_ROWS)
    elif kind == "corners":
        found |= {"a": rng.choice([-1.0, 1.0], N_ROWS), "b": np.full(N_ROWS, 14.0)}
        found["y"] = (found["a"] > 0).astype(int)
    elif kind == "nothing":
        found = {name: cells[:0] for name, cells in found.items()}
    elif kind == "one row":
        found = {name: cells[:1] for name, cells in found.items()}
    elif kind == "no numbers":
        found |= {"a": np.full(N_ROWS, np.nan), "y": np.full(N_ROWS, np.inf)}
    return found


@pytest.mark.parametrize("kind", ["one class", "corners", "nothing", "one row", "no numbers"])
@pytest.mark.parametrize("epsilon", [0.01, 20.0])
def test_no_rows_make_it_fail(kind, epsilon):
    """There is a finite answer, whatever the rows."""
    table = ArraysTable(bad_rows(kind), metadata("add_or_remove_one"))
    for seed in range(3):
        fit = prepared(epsilon, "add_or_remove_one").run(table, Source.seeded(seed)).fit
        for one in fit.coefficients:
            assert np.isfinite(one.estimate)
            assert one.uninformative


def test_what_is_released_lies_on_the_grid():
    """Coefficients per half range are whole steps: no float of the computation gets out."""
    table = ArraysTable(rows(np.random.default_rng(4)), metadata())  # noqa: TID251 - simulated rows, not noise
    fit = prepared(1.0).run(table, Source()).fit
    found = {one.name: one.estimate for one in fit.coefficients}
    for value in (found["a"], 2.0 * found["b"], found["c=south"], found["c=west"]):
        assert (value / STEP).is_integer()


def test_units_of_several_rows_are_refused():
    """The proof is for one row; a delta is the way out, and the line says so."""
    with pytest.raises(InvalidParameterError, match="units of one row"):
        prepared(1.0, "add_or_remove_one", rows_per_unit=2, unit_id="id")


@pytest.mark.parametrize("epsilon", [1e-300, 1e-13])
def test_noise_that_cannot_be_drawn_is_refused(epsilon):
    """Before any row is read."""
    with pytest.raises(InvalidParameterError, match="epsilon must lie in"):
        prepared(epsilon)


def test_a_poisson_regression_needs_a_delta():
    """A refusal that names it."""
    with pytest.raises(ValueError, match="delta must lie in"):
        method_of("poisson", epsilon=1.0, delta=0)


def test_the_estimator_recovers_signs_without_a_delta():
    """With scikit-learn's face: a pure guarantee from the system's entropy, and the right signs at a large epsilon."""
    rng = np.random.default_rng(6)  # noqa: TID251 - simulated rows, not noise
    features = pd.DataFrame(rng.uniform(-1, 1, (2000, 3)), columns=list("pqr"))
    y = (rng.uniform(size=2000) < 1.0 / (1.0 + np.exp(-(features @ [3.0, -2.0, 1.5])))).astype(int)
    columns = {name: {"type": "real", "lower": -1, "upper": 1} for name in "pqr"}
    declared = metadata(n_rows=2000, columns={**columns, "y": {"type": "integer", "lower": 0, "upper": 1}})
    model = dc.LogisticRegression(epsilon=50.0, delta=0).fit(dc.open_table((features, y), declared), target="y")
    assert (model.release_.guarantee.epsilon, model.release_.guarantee.delta) == (50.0, 0.0)
    assert np.sign(model.coef_).tolist() == [1.0, -1.0, 1.0]
    assert (model.predict(features) == y).mean() > 0.7
    assert model.intervals_.tolist() == [[-np.inf, np.inf]] * len(model.coef_)


@pytest.mark.parametrize("epsilon", [0.2, 40.0])
def test_a_plan_that_selects_first_can_be_pure(epsilon):
    """The fit gets what the selection leaves, for the columns that it selected, be they none."""
    table = ArraysTable(rows(np.random.default_rng(4)), metadata())  # noqa: TID251 - simulated rows, not noise
    method = method_of("run", epsilon=epsilon, delta=0, select={"method": "pcls"}, fit={"family": "logistic"})
    prepared_steps = method.prepare(metadata(), "y")
    guarantee = guarantee_of(prepared_steps.event, NeighboringRelation.REPLACE_ONE)
    assert (float(guarantee.epsilon), guarantee.delta) == (pytest.approx(epsilon, rel=1e-12), 0)
    outcome = prepared_steps.run(table, Source.seeded(2))
    assert {one.column for one in outcome.fit.coefficients} == {None, *outcome.selected}
