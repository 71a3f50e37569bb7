"""The threshold of a screening that chooses how many: what it promises, and how columns saturate."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.screening import threshold_choice
from discreet.methods.screening.sis import IndependenceScreening
from discreet.methods.screening.threshold_choice import false_chances, threshold_of
from discreet.methods.screening.units import Units
from discreet.selftest.laws import subset_law

N_ROWS = 1000


def metadata(d, relation="replace_one", half=1.0):
    """Columns in [-1, 1], a target within `half` of 0."""
    columns = {f"x{j}": {"type": "real", "lower": -1, "upper": 1, "source": "test"} for j in range(d)}
    columns["y"] = {"type": "real", "lower": -half, "upper": half, "source": "test"}
    public = {"n_rows": N_ROWS} if relation == "replace_one" else {}
    return dc.Metadata.from_value(
        {"dataset": "test", "unit": "person", "neighboring": relation, "columns": columns, **public}
    )


def drawn(rng, d, effect=0.0):
    """Columns of which the first goes with the target."""
    x = rng.uniform(-1, 1, (N_ROWS, d))
    y = effect * x[:, 0] + rng.normal(size=N_ROWS)
    return pa.table({**{f"x{j}": x[:, j] for j in range(d)}, "y": y})


def test_chance_of_a_false_column_is_that_of_all_subsets():
    """Through classes as by brute force over all subsets."""
    sizes = np.array([[30, 12, 4, 22], [0, 0, 0, 0], [50, 50, 1, 2]])
    got = false_chances(sizes.astype(float), 25.0, 4.0, 2)
    asked = [1.0 - subset_law(row, 25, 1.0, 2.0, 2, "gumbel")[()] for row in sizes]
    assert got == pytest.approx(asked)


@pytest.mark.parametrize("d", [1, 6, 60])
@pytest.mark.parametrize("max_false", [0.01, 0.05, 0.3])
def test_threshold_keeps_its_promise_on_other_draws(d, max_false):
    """Fresh tables without an effect, scores normal: within four standard errors."""
    t = threshold_of(d, 4.0, 30.0, max(1, round(d / 3)), max_false)
    rng = np.random.default_rng(d)  # noqa: TID251 - simulated data, not noise
    wrong = false_chances(np.abs(rng.normal(size=(4000, d))) * 30.0, t, 4.0, max(1, round(d / 3)))
    assert abs(wrong.mean() - max_false) < 4 * 2**0.5 * (max_false / 4000) ** 0.5


@pytest.mark.parametrize(("d", "scale", "sd"), [(1, 3.0, 20.0), (40, 30.0, 5.0), (200, 2.0, 140.0)])
def test_threshold_is_where_the_mean_chance_crosses(d, scale, sd):
    """On the tables that are drawn, the chance of a false column is above what is allowed just below the threshold."""
    weight = max(1, round(d / 3))
    t, sizes = threshold_of(d, scale, sd, weight, 0.05), threshold_choice._sizes_of_no_effect(d) * sd
    below, above = (false_chances(sizes, t * (1 + shift), scale, weight).mean() for shift in (-1e-9, 1e-9))
    assert above < 0.05 < below


def test_threshold_of_many_columns_is_a_bound_and_grows_slowly():
    """Beyond what is drawn it holds as well; a thousand times the columns cost a small factor."""
    few, many = (threshold_of(d, 4.0, 30.0, round(d / 3), 0.05) for d in (20_000, 20_000_000))
    assert few < many < 2.5 * few


@pytest.mark.statistics
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("center", ["private", "middle"])
def test_tables_without_an_effect_give_no_column(relation, center):
    """Of 300 tables, with wide bounds and skewed columns of mean .2; with one effect it is found."""
    public = metadata(5, relation, half=7.0)
    asked = {"epsilon": 1.0, "n_features_to_select": "auto", "y_center": center, "n0": N_ROWS}
    prepared = IndependenceScreening(**asked).prepare(public, "y")
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
    chosen = [
        prepared.run(dc.open_table(drawn(rng, 5, effect), public), Source.seeded(place)).selected
        for effect in (0.0, 1.5)
        for place in range(150)
    ]
    assert sum(bool(names) for names in chosen[:150]) <= 7 + 8  # 7.5 expected, three standard errors beyond
    assert sum(names == ("x0",) for names in chosen[150:]) > 120


@pytest.mark.statistics
def test_unkind_tables_without_an_effect_give_no_column():
    """A skewed target far from its middle; narrow, rare, skewed and constant columns; its center is estimated."""
    columns = {f"x{j}": {"type": "real", "lower": -1, "upper": 1, "source": "test"} for j in range(4)}
    columns["y"] = {"type": "real", "lower": 0, "upper": 30, "source": "test"}
    facts = {"dataset": "test", "unit": "person", "neighboring": "replace_one", "n_rows": N_ROWS}
    public = dc.Metadata.from_value({**facts, "columns": columns})
    prepared = IndependenceScreening(n_features_to_select="auto").prepare(public, "y")
    rng, wrong = np.random.default_rng(5), 0  # noqa: TID251 - simulated data, not noise
    for place in range(150):
        cells = [rng.uniform(0.5, 0.9, N_ROWS), 2.0 * (rng.random(N_ROWS) < 0.1) - 1.0]
        cells += [np.clip(rng.gamma(2.0, 0.15, N_ROWS) - 1.0, -1.0, 1.0), np.full(N_ROWS, 0.8)]
        names = dict(zip(["x0", "x1", "x2", "x3"], cells, strict=True))
        table = dc.open_table(pa.table({**names, "y": rng.gamma(2.0, 2.0, N_ROWS)}), public)
        wrong += bool(prepared.run(table, Source.seeded(place)).selected)
    assert wrong <= 7 + 9  # .05 of them expected, three standard errors beyond


@pytest.mark.statistics
def test_rows_of_one_unit_that_are_alike_give_no_column():
    """Four rows a person, all the same: the scores of 250 people stray twice as far as those of 1,000."""
    columns = {name: {"type": "real", "lower": -1, "upper": 1, "source": "test"} for name in ("x0", "x1", "x2", "y")}
    facts = {"dataset": "test", "unit": "person", "unit_id": "id", "neighboring": "replace_one", "n_rows": N_ROWS}
    public = dc.Metadata.from_value({**facts, "rows_per_unit": 4, "columns": columns})
    asked = {"epsilon": 100.0, "n_features_to_select": "auto", "y_center": "middle"}
    prepared = IndependenceScreening(**asked).prepare(public, "y")
    rng, wrong = np.random.default_rng(6), 0  # noqa: TID251 - simulated data, not noise
    for place in range(100):
        cells = {name: np.repeat(rng.uniform(-1.0, 1.0, N_ROWS // 4), 4) for name in columns}
        table = dc.open_table(pa.table({**cells, "id": np.repeat(np.arange(N_ROWS // 4), 4)}), public)
        wrong += bool(prepared.run(table, Source.seeded(place)).selected)
    assert wrong <= 5 + 7  # .05 of them expected, three standard errors beyond


UNITS = {"forced": ["x1"], "groups": [["x2", "x4"]]}


@pytest.mark.parametrize(("effect_of", "selected"), [(0, ("x0", "x1")), (4, ("x1", "x2", "x4")), (1, ("x1",))])
def test_groups_enter_together_and_forced_columns_always(effect_of, selected):
    """A group by its best column; the column that matters by itself."""
    public = metadata(6)
    prepared = IndependenceScreening(epsilon=8.0, n_features_to_select="auto", **UNITS).prepare(public, "y")
    rng = np.random.default_rng(7)  # noqa: TID251 - simulated data, not noise
    rows = drawn(rng, 6)
    x = rows.column(effect_of).to_numpy()
    rows = rows.set_column(6, "y", pa.array(np.clip(x + 0.1 * rng.normal(size=N_ROWS), -1, 1)))
    assert prepared.run(dc.open_table(rows, public), Source.seeded(1)).selected == selected
    assert prepared.parameters["forced"] == ["x1"]


def test_at_most_some_columns_are_selected():
    """The best of those that lie above the threshold."""
    public = metadata(4)
    prepared = IndependenceScreening(epsilon=20.0, n_features_to_select="auto", max_size=1).prepare(public, "y")
    rng = np.random.default_rng(8)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(-1, 1, (N_ROWS, 4))
    cells = {f"x{j}": x[:, j] for j in range(4)}
    table = dc.open_table(pa.table({**cells, "y": np.clip(x[:, 0] + 0.4 * x[:, 2], -1, 1)}), public)
    assert {prepared.run(table, Source.seeded(place)).selected for place in range(20)} == {("x0",)}


def test_largest_scores_of_units_against_a_loop():
    """Also where a group's columns lie apart."""
    units = Units.of(("a", "b", "c", "d", "e"), ("c",), (("e", "a"),))
    assert units.scores(np.array([3, 4, 9, 1, 7])).tolist() == [7, 4, 1]
    assert (units.n_columns, units.n_units) == (4, 3)
    assert units.columns([0]) == [0, 2, 4]
    assert units.columns([]) == [2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"forced": ["z"]},
        {"forced": ["x0", "x0"]},
        {"groups": [["x0", "x1"], ["x1"]]},
        {"forced": ["x0"], "groups": [["x0", "x1"]]},
        {"forced": ["x0", "x1", "x2"]},
    ],
)
def test_units_that_do_not_fit_are_refused(wrong):
    """Before anything is charged."""
    method = IndependenceScreening(n_features_to_select="auto", **wrong)
    with pytest.raises(InvalidParameterError):
        method.prepare(metadata(3), "y")


def test_the_release_tells_the_threshold():
    """Public before the rows are opened where their number is; else with the number that was released."""
    for relation in ("replace_one", "add_or_remove_one"):
        public = metadata(3, relation)
        prepared = IndependenceScreening(n_features_to_select="auto").prepare(public, "y")
        rng = np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
        outcome = prepared.run(dc.open_table(drawn(rng, 3), public), Source.seeded(2))
        assert (prepared.noise.threshold is None) == (relation == "add_or_remove_one")
        assert outcome.noise.threshold > 20


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_features_to_select": 2, "max_false": 0.1}, "max_false"),
        ({"n_features_to_select": "auto", "mechanism": "one_shot"}, "mechanism"),
        ({"n_features_to_select": "auto", "delta": 1e-6}, "delta"),
        ({"n_features_to_select": 2, "max_size": 3}, "max_size"),
        ({"n_features_to_select": 2, "forced": ["x0"]}, "forced"),
        ({"n_features_to_select": "auto", "max_size": 1001}, "max_size"),
        ({"n_features_to_select": "many"}, "n_features_to_select"),
        ({"n_features_to_select": "auto", "saturation": 0.0}, "saturation"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(wrong, said):
    """Before the metadata is looked at."""
    with pytest.raises((InvalidParameterError, ValueError), match=said):
        IndependenceScreening.of(**wrong)


def test_a_threshold_needs_a_number_of_rows():
    """A public one, a guess, or one that is released."""
    with pytest.raises(InvalidParameterError, match="n0"):
        IndependenceScreening.of(n_features_to_select="auto", y_center="middle").prepare(
            metadata(3, "add_or_remove_one"), "y"
        )


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_an_epsilon_that_no_threshold_serves_is_refused(relation):
    """Before anything is charged: a threshold that was cut would promise too much."""
    method = IndependenceScreening.of(n_features_to_select="auto", epsilon=1e-9)
    with pytest.raises(InvalidParameterError, match="larger epsilon"):
        method.prepare(metadata(3, relation), "y")
