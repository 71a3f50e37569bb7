"""Regressions without a delta: what they cost, what they release, how true it is, and that no rows make them fail."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.effort import either, pairwise

import discreet as dc
from discreet.accounting.compose import guarantee_of
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engines.arrays import ArraysTable
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.methods.regression.objective_perturbation import STEP, PreparedPerturbation
from discreet.methods.regression.score_answers import full
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


MOST = 9
COUNT = {"type": "integer", "lower": 0, "upper": MOST}


def prepared(epsilon=1.0, relation="replace_one", family="logistic", **changes) -> PreparedPerturbation:
    """Priced, from public facts."""
    counted = {"columns": COLUMNS | {"y": COUNT}} if family == "poisson" else {}
    return method_of(family, epsilon=epsilon, delta=0).prepare(metadata(relation, **(counted | changes)), "y")


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 2.0, 1000.0])
@pytest.mark.parametrize("family", ["logistic", "poisson"])
@pytest.mark.parametrize("rows_per_unit", [1, 3])
def test_the_event_is_pure_and_costs_what_is_spent(epsilon, relation, family, rows_per_unit):
    """Linear term and determinant on one side, the noise on output and information on the other; no delta."""
    several = {"rows_per_unit": rows_per_unit, "unit_id": "id"} if rows_per_unit > 1 else {}
    found = prepared(epsilon, relation, family, **several)
    guarantee = guarantee_of(found.event, NeighboringRelation[relation.upper()])
    assert (float(guarantee.epsilon), guarantee.delta) == (pytest.approx(epsilon, rel=1e-12), 0)
    cost = found.change.spent(found.chosen.ridge, found.chosen.beta)
    of_spread = float(found.spread.epsilon) if found.spread else 0.0
    assert of_spread == pytest.approx(0.05 * epsilon if family == "poisson" or rows_per_unit > 1 else 0.0)
    of_bound = float(found.bound.epsilon) if found.bound else 0.0
    assert of_bound == pytest.approx(0.1 * epsilon if family == "poisson" else 0.0)
    assert cost <= epsilon - float(found.output_epsilon) - float(found.information_epsilon) - of_spread - of_bound
    assert found.change.bound == pytest.approx(2.0)  # the constant, two columns, one level of a category
    assert (found.change.n_rows, found.change.replaces) == (rows_per_unit, relation == "replace_one")


def corner_rows(n, rng):
    """Rows at corners of the box, each of a level: cells as large as can be."""
    return {
        "a": rng.choice([-1.0, 1.0], n),
        "b": rng.choice([10.0, 14.0], n),
        "c": rng.choice(["north", "south", "west"], n),
        "y": rng.choice([0, 1], n),
    }


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("family", ["logistic", "poisson"])
@pytest.mark.parametrize("c", [1, 3])
def test_no_unit_moves_the_information_by_more_than_its_noise_covers(relation, family, c):
    """Exact sums of units at corners, replaced or added: the largest change of a number is reached and never passed.

    Control: a bound of one row is passed by three.
    """
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated rows, not noise
    several = {"rows_per_unit": c, "unit_id": "id"} if c > 1 else {}
    found, worst = prepared(1.0, relation, family, **several), 0
    plain = metadata("add_or_remove_one", columns=found.design.metadata.columns)

    row_maps = [found._row_map(theta) for theta in (np.zeros(5), np.array([0.4, 3.0, -2.0, 0.0, 5.0]))]

    def moved(row):
        return [exact_entries(found, ArraysTable(row, plain), row_map) for row_map in row_maps]

    for _ in range(60):
        row, other = corner_rows(1, rng), corner_rows(1, rng)
        same = [{name: np.repeat(values, c) for name, values in one.items()} for one in (row, other)]
        pairs = zip(moved(same[0]), moved(same[1]), strict=True)
        worst = max(worst, *(np.abs(one - (two if found.change.replaces else 0)).max() for one, two in pairs))
    bound = found.information_scale * found.information_epsilon
    assert 0.99 * bound <= worst <= bound
    assert c == 1 or worst > bound / c


def exact_entries(found, table, row_map):
    """Entries on and above the diagonal as they are drawn, and the number of rows where it is, without noise."""
    places = [*found.terms.places, found.design.n_columns - 1]

    def work(cells):
        return np.append(row_map.sums(np.asfortranarray(cells[:, places]))[:, :-1].ravel(), len(cells))

    exact = table.map_reduce(found.design, work, np.zeros(26, dtype=np.int64))
    entries = exact[:-1].reshape(5, 5)
    below = entries[~found._drawn().astype(bool)]
    assert not below.any()  # two levels of one category never meet, so their product needs no noise
    entries = entries + (found._of_diagonal - 1) * np.diag(np.diag(entries))
    counted = [exact[-1] * GRID**2] * (found.design.metadata.n_rows is None)
    drawn = np.append(entries[np.nonzero(np.triu(found._drawn()))], counted)
    assert len(drawn) == found._n_entries
    return drawn


def test_the_outputs_noise_covers_the_certificate():
    """Its scale over epsilon is at least the l1 distance of two certified points, and of their rounding."""
    found = prepared()
    p = len(found.terms.owners)
    apart = p**0.5 * found.chosen.output_sensitivity / STEP + p
    assert apart <= float(found.output_scale * found.output_epsilon) <= 1.05 * apart


def test_a_clear_model_comes_out():
    """At a large epsilon every coefficient is near the truth, in own units, with an interval that has ends."""
    table = ArraysTable(rows(np.random.default_rng(4)), metadata())  # noqa: TID251 - simulated rows, not noise
    outcome = prepared(20.0).run(table, Source.seeded(1))
    found = {one.name: one for one in outcome.fit.coefficients}
    for name, truth in {"a": 2.0, "b": -0.75, "c=south": 0.0, "c=west": 1.5}.items():
        assert found[name].estimate == pytest.approx(truth, abs=0.5)
        assert found[name].low <= truth <= found[name].high <= found[name].low + 1.5
        assert found[name].sampling_variance > 0
        assert found[name].privacy_variance > 0
    assert found["(intercept)"].estimate == pytest.approx(9.0, abs=2.0)
    assert [step.name for step in outcome.steps] == ["coefficients", "information"]


def test_a_bound_of_coefficients_opens_intervals():
    """An end that reaches the bound is none, and estimates stay within it."""
    table = ArraysTable(rows(np.random.default_rng(4)), metadata())  # noqa: TID251 - simulated rows, not noise
    method = method_of("logistic", epsilon=20.0, delta=0, coef_bound=1.5)
    fit = method.prepare(metadata(), "y").run(table, Source.seeded(1)).fit
    a = next(one for one in fit.coefficients if one.name == "a")
    assert a.high is None
    assert a.estimate <= 1.5 + 1e-9


def test_a_printed_table_has_intervals():
    """A real release, printed, with the system's entropy."""
    table = ArraysTable(rows(np.random.default_rng(4)), metadata())  # noqa: TID251 - simulated rows, not noise
    release = dc.LogisticRegression(epsilon=20.0, delta=0).fit(table, target="y").release_
    printed = coefficient_table(release).split("\n")
    assert release.fit.has_intervals
    assert "interval" in printed[0] or "95%" in printed[0]


def small_table(family, rng, n=1200):
    """Three columns of moderate effects; columns, truth per half range, the response's bound."""
    x = rng.uniform(-1, 1, (n, 3))
    truth = np.array([-0.3, 1.0, -0.6, 0.4]) if family == "logistic" else np.array([0.5, 0.8, -0.5, 0.3])
    eta = truth[0] + x @ truth[1:]
    y = (
        (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-eta))).astype(int)
        if family == "logistic"
        else np.minimum(rng.poisson(np.exp(eta)), MOST)
    )
    return {f"x{j}": x[:, j] for j in range(3)} | {"y": y}, truth


def fits(family, epsilon, relation, n_tables, n=1200):
    """Yield fits of simulated tables with the truth."""
    columns = {f"x{j}": {"type": "real", "lower": -1, "upper": 1} for j in range(3)}
    columns["y"] = COUNT if family == "poisson" else COLUMNS["y"]
    facts = metadata(relation, columns=columns, **({"n_rows": n} if relation == "replace_one" else {}))
    ready = method_of(family, epsilon=epsilon, delta=0).prepare(facts, "y")
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated rows, not noise
        data, truth = small_table(family, rng, n)
        yield ready.run(ArraysTable(data, facts), Source.seeded(seed)).fit, truth, data


SAMPLE_SIZE, P_THRESHOLD = either(24, 40), either(1e-4, 1e-6)
"""Tables of a setting; of a false alarm, for both tests of coverage together."""

COVERED = [
    ("logistic", 2.0, "replace_one"),
    ("logistic", 2.0, "add_or_remove_one"),
    ("logistic", 100.0, "add_or_remove_one"),
    ("logistic", 100.0, "replace_one"),
    ("poisson", 8.0, "add_or_remove_one"),
    ("poisson", 8.0, "replace_one"),
]
"""Every second one has each family, each epsilon and each relation."""


@pytest.mark.statistics
@pytest.mark.parametrize(("family", "epsilon", "relation"), either(COVERED[::2], COVERED))
def test_intervals_hold_the_truth_as_often_as_they_say(family, epsilon, relation):
    """Of all that are told, of small tables; all but a few are told, and they are not there for being wide."""
    held = [
        one.interval[0] <= value <= one.interval[1]
        for fit, truth, _ in fits(family, epsilon, relation, SAMPLE_SIZE)
        for one, value in zip(fit.coefficients, truth, strict=True)
        if not one.uninformative
    ]
    assert len(held) >= 0.9 * 4 * SAMPLE_SIZE
    # Independent tables, four dependent intervals each: as few as `SAMPLE_SIZE` independent ones in the worst case.
    n_missed, most = held.count(False), stats.binom.isf(P_THRESHOLD, SAMPLE_SIZE, 0.05)
    assert n_missed <= 4 * most
    assert n_missed > 0 or epsilon < 100.0


def dispersed_fits(robust, n_tables, n=4000):
    """Yield the slopes' intervals of counts with a variance of their mean and its square, and the truth."""
    columns = {f"x{j}": {"type": "real", "lower": -1, "upper": 1} for j in range(3)}
    facts = metadata(columns=columns | {"y": COUNT | {"upper": 60}}, n_rows=n)
    ready = method_of("poisson", epsilon=100.0, delta=0, robust=robust).prepare(facts, "y")
    slopes = np.array([0.5, -0.3, 0.2])
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated rows, not noise
        x = rng.uniform(-1, 1, (n, 3))
        mean = np.exp(1.0 + x @ slopes) * rng.gamma(1.0, 1.0, n)
        data = {f"x{j}": x[:, j] for j in range(3)} | {"y": rng.poisson(mean)}
        fit = ready.run(ArraysTable(data, facts), Source.seeded(seed)).fit
        yield [one.interval for one in fit.coefficients[1:]], slopes


@pytest.mark.statistics
def test_counts_that_vary_more_than_poisson_ones_are_covered():
    """Their variance is 3.7 times the mean. Control: without the pass intervals miss the truth far too often."""
    n_tables = either(20, 40)
    missed = {
        robust: sum(
            not low <= truth <= high
            for ends, slopes in dispersed_fits(robust, n_tables)
            for (low, high), truth in zip(ends, slopes, strict=True)
        )
        for robust in (True, False)
    }
    assert missed[True] <= stats.binom.isf(1e-4, 3 * n_tables, 0.05)
    assert missed[False] > stats.binom.isf(1e-4, 3 * n_tables, 0.05)


def alike_fits(robust, n_tables, epsilon=50.0, n=2400, rows_per_unit=6):
    """Yield fits of people whose rows share two columns and most of what makes their classes, and the true slopes."""
    columns = {f"x{j}": {"type": "real", "lower": -1, "upper": 1} for j in range(3)} | {"y": COLUMNS["y"]}
    several = {"unit_id": "person", "rows_per_unit": rows_per_unit}
    facts = metadata("add_or_remove_one", columns=columns, **several)
    ready = method_of("logistic", epsilon=epsilon, delta=0, robust=robust).prepare(facts, "y")
    slopes = np.array([0.8, -0.6, 0.4])
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated rows, not noise
        people = np.repeat(np.arange(n // rows_per_unit), rows_per_unit)
        x = rng.uniform(-1, 1, (n, 3))
        x[:, :2] = x[people * rows_per_unit, :2]
        draws = np.where(rng.random(n) < 0.95, rng.random(n)[people], rng.random(n))
        data = {f"x{j}": x[:, j] for j in range(3)} | {"person": people}
        data["y"] = (draws < 1.0 / (1.0 + np.exp(-x @ slopes))).astype(int)
        yield ready.run(ArraysTable(data, facts), Source.seeded(seed)).fit, slopes[:2]


@pytest.mark.statistics
def test_rows_of_a_person_that_are_alike_are_covered():
    """A class's variance follows from its mean, a person's does not. Control: without the pass intervals miss it."""
    n_tables = either(20, 40)
    missed = {
        robust: sum(
            not entry.interval[0] <= truth <= entry.interval[1]
            for fit, slopes in alike_fits(robust, n_tables)
            for entry, truth in zip(fit.coefficients[1:3], slopes, strict=True)
        )
        for robust in (True, False)
    }
    assert missed[True] <= stats.binom.isf(1e-4, 2 * n_tables, 0.05)
    assert missed[False] > stats.binom.isf(1e-4, 2 * n_tables, 0.05)


@pytest.mark.parametrize(("epsilon", "is_hidden"), [(0.25, True), (200.0, False)])
def test_six_rows_vary_six_times_as_much_at_most(epsilon, is_hidden):
    """Where noise hides how alike rows are, that limit stands for it, as known; else what is seen, which is below."""
    (fit, _), most = next(alike_fits(True, 1, epsilon)), 6.0
    assert (fit.score.reliability is None) == is_hidden
    ratio = full(fit.score.sampling) / full(fit.score.information)
    if is_hidden:
        np.testing.assert_allclose(ratio, most, rtol=1e-4)
    else:
        assert 2.0 < ratio[0, 0] < most


def test_counts_and_people_of_several_rows_have_a_step_for_how_much_scores_vary():
    """What is drawn is charged: a twentieth of epsilon; of counts a tenth for their bound. A class's variance follows
    from its mean, and costs nothing.
    """
    table = ArraysTable(rows(np.random.default_rng(4)), metadata())  # noqa: TID251 - simulated rows, not noise
    both = ["coefficients", "information"]
    for family, names in (("poisson", ["count_bound", *both, "dispersion"]), ("logistic", both)):
        outcome = prepared(2.0, family=family).run(table, Source.seeded(1))
        assert [step.name for step in outcome.steps] == names
        assert (outcome.fit.score.reliability is not None) == (family == "poisson")


@pytest.mark.slow
@pytest.mark.parametrize("family", ["logistic", "poisson"])
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_without_noise_to_speak_of_estimates_are_those_of_maximum_likelihood(family, relation):
    """At epsilon 1000 within half a standard error, with intervals of the usual width."""
    for fit, truth, data in fits(family, 1000.0, relation, 3, 1000):
        beta, error = likelihood_fit(family, data, truth)
        for one, value, se in zip(fit.coefficients, beta, error, strict=True):
            assert abs(one.estimate - value) <= 0.5 * se
            assert one.high - one.low == pytest.approx(2 * 1.96 * se, rel=0.15)


def likelihood_fit(family, data, start):
    """Newton's method in plain numpy: estimates and standard errors."""
    x, beta = np.column_stack([np.ones(len(data["y"])), *(data[f"x{j}"] for j in range(3))]), start.copy()
    for _ in range(30):
        mean = np.exp(x @ beta) if family == "poisson" else 1.0 / (1.0 + np.exp(-x @ beta))
        weight = mean if family == "poisson" else mean * (1.0 - mean)
        information = (x.T * weight) @ x
        beta = beta + np.linalg.solve(information, x.T @ (data["y"] - mean))
    return beta, np.sqrt(np.diag(np.linalg.inv(information)))


def bad_rows(kind):
    """Rows that are as bad as can be."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated rows, not noise
    found = rows(rng)
    if kind == "one class":
        found["y"] = np.ones(N_ROWS)
    elif kind == "no class":
        found["y"] = np.zeros(N_ROWS)
    elif kind == "collinear":
        found["b"] = 12.0 + 2.0 * found["a"]
    elif kind == "empty level":
        found["c"] = rng.choice(["north", "south"], N_ROWS)
    elif kind == "separable":
        found["y"] = (found["a"] > 0).astype(int)
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


BAD = ["one class", "no class", "corners", "nothing", "one row", "no numbers", "collinear", "empty level", "separable"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "epsilon", "family"), pairwise(itertools.product(BAD, [0.01, 20.0], ["logistic", "poisson"]))
)
def test_no_rows_make_it_fail(kind, epsilon, family):
    """There is a finite answer, whatever the rows; where there is nothing to tell, nothing is told."""
    ready = prepared(epsilon, "add_or_remove_one", family)
    table = ArraysTable(bad_rows(kind), ready.design.metadata)
    for seed in range(either(2, 3)):
        fit = ready.run(table, Source.seeded(seed)).fit
        assert all(np.isfinite(one.estimate) for one in fit.coefficients)
        assert not any(np.isnan(one.interval).any() for one in fit.coefficients)
        if kind in ("nothing", "one row") or epsilon == 0.01:
            assert all(one.uninformative for one in fit.coefficients)
        if kind == "empty level":
            low, high = next(one for one in fit.coefficients if one.level == "west").interval
            assert high - low > 20.0


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_a_declared_number_of_rows_may_be_small(n, family):
    """One row, or none that is read: nothing is told."""
    ready = prepared(2.0, "replace_one", family, n_rows=1)
    data = {name: cells[:n] for name, cells in bad_rows("one row").items()}
    plain = metadata("add_or_remove_one", columns=ready.design.metadata.columns)
    fit = ready.run(ArraysTable(data, plain), Source.seeded(1)).fit
    assert all(one.uninformative for one in fit.coefficients)


def test_what_is_released_lies_on_the_grid(monkeypatch):
    """All that is computed from are whole steps with noise: no float of the minimization gets out."""
    seen = []
    whole = PreparedPerturbation._minimum
    monkeypatch.setattr(PreparedPerturbation, "_minimum", lambda *given: seen.append(given[1:]) or whole(*given))
    table = ArraysTable(rows(np.random.default_rng(4)), metadata())  # noqa: TID251 - simulated rows, not noise
    ready = prepared(1.0)
    ready.run(table, Source())
    theta, information, _, n_rows = seen[0]
    unit = ready._row_map(theta).weight_unit / GRID**2
    assert all((value / STEP).is_integer() for value in theta)
    halves = 2.0 * information / unit  # squared cells were counted twice
    assert np.abs(halves - np.rint(halves)).max() < 1e-3
    assert n_rows == N_ROWS


@pytest.mark.parametrize(("epsilon", "match"), [(1e-300, "epsilon must lie in"), (1e-9, "must fit in 64 bits")])
def test_noise_that_cannot_be_drawn_is_refused(epsilon, match):
    """Before any row is read."""
    with pytest.raises(InvalidParameterError, match=match):
        prepared(epsilon)


def test_a_count_without_a_useful_bound_is_refused():
    """Before any row is read: cells could not tell such counts apart."""
    with pytest.raises(InvalidParameterError, match="must be at most 1e"):
        prepared(1.0, family="poisson", columns=COLUMNS | {"y": COUNT | {"upper": 1e12}})


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
    assert np.isfinite(model.intervals_).all()


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
