"""Drawn tables are what the scenario says, and what a table remembers is what it would compute."""

import numpy as np
import pytest

import discreet as dc
from discreet.data.design import Design
from discreet.data.engines.frame import FrameTable
from discreet.data.score_design import ScoreDesign
from discreet.errors import InvalidParameterError, MetadataError
from discreet.kernels.moments.moments import exact_moments
from discreet.kernels.moments.products import exact_products
from discreet.mechanisms.rng import Source
from discreet.simulation.drawn_tables import DrawnTables
from discreet.simulation.scenario import SPREAD, Scenario

COLUMNS = {
    "a": {"type": "real", "lower": 0, "upper": 10, "source": "test"},
    "b": {"type": "integer", "lower": -4, "upper": 4, "source": "test"},
    "c": {"type": "category", "levels": ["low", "middle", "high"], "source": "test"},
    "y": {"type": "real", "lower": -30, "upper": 50, "source": "test"},
}


def metadata(**facts):
    value = {"dataset": "toy", "unit": "person", "neighboring": "add_or_remove_one", "columns": COLUMNS}
    return dc.Metadata.from_value(value | facts)


def drawn(scenario, seed=0):
    return scenario.draw(Source.seeded(seed))


def columns(table):
    return {name: np.array(table._arrow[name].to_pylist()) for name in table._arrow.column_names}


def test_a_table_fits_its_metadata():
    """Bounds, whole numbers, levels and the number of rows are as declared, under both relations."""
    for facts, count in (({}, 300), ({"neighboring": "replace_one", "n_rows": 77}, 300)):
        scenario = Scenario.of(metadata(**facts), "y", n_rows=count)
        table = drawn(scenario)
        cells = columns(table)
        assert len(cells["a"]) == count
        assert cells["a"].min() >= 0
        assert cells["a"].max() <= 10
        assert set(cells["b"]) == set(range(-4, 5))
        assert set(cells["c"]) == {"low", "middle", "high"}
        assert cells["y"].min() >= -30
        assert cells["y"].max() <= 50
        table.check(("a", "b", "c", "y"))
        assert table.metadata.n_rows == (count if facts else None)


def test_a_whole_number_target_stays_one():
    """A target that is declared as an integer is drawn as whole numbers."""
    own = COLUMNS | {"y": {"type": "integer", "lower": -30, "upper": 50, "source": "test"}}
    cells = columns(drawn(Scenario.of(metadata(columns=own), "y", n_rows=100)))["y"]
    assert (cells == np.rint(cells)).all()


@pytest.mark.parametrize("r_squared", [0.2, 0.7])
def test_what_is_explained(r_squared):
    """The columns explain the stated part of the target's variance, whose standard deviation is the stated one."""
    scenario = Scenario.of(metadata(), "y", ["a", "b"], n_true=2, r_squared=r_squared, n_rows=200_000)
    cells = columns(drawn(scenario, 5))
    x = np.column_stack([np.ones(len(cells["a"])), cells["a"], cells["b"]])
    left = cells["y"] - x @ np.linalg.lstsq(x, cells["y"], rcond=None)[0]
    assert 1 - left.var() / cells["y"].var() == pytest.approx(r_squared, abs=0.02)
    assert cells["y"].std() == pytest.approx(SPREAD * 40, rel=0.03)
    assert scenario.r_squared == pytest.approx(r_squared, abs=1e-9)


def test_stated_effects_and_noise():
    """An effect is the change from the middle to the upper bound, of a category from first to last level."""
    scenario = Scenario.of(metadata(), "y", effects={"a": 5.0, "c": -3.0}, noise_sd=2.0, n_rows=100_000)
    assert scenario.truth == {"a", "c"}
    cells = columns(drawn(scenario, 1))
    level = np.select([cells["c"] == "low", cells["c"] == "middle"], [0.0, 0.5], 1.0)
    x = np.column_stack([np.ones(len(cells["a"])), (cells["a"] - 5) / 5, cells["b"] / 4, level])
    fit = np.linalg.lstsq(x, cells["y"], rcond=None)[0]
    assert fit == pytest.approx([10.0, 5.0, 0.0, -3.0], abs=0.1)
    assert (cells["y"] - x @ fit).std() == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.8])
def test_correlation(correlation):
    """Neighboring columns have the correlation of the normal scores that they are made of."""
    cells = columns(drawn(Scenario.of(metadata(), "y", ["a", "b"], n_true=1, correlation=correlation, n_rows=50_000)))
    expected = 6 / np.pi * np.arcsin(correlation / 2)  # of two evenly spread columns with normal scores
    assert np.corrcoef(cells["a"], cells["b"])[0, 1] == pytest.approx(expected, abs=4 / np.sqrt(5000))


def test_a_few_rows_stand_for_many():
    """A row that counts ten times: sums are those of the whole table, and columns without effect seem no stronger."""
    n_rows = 200_000
    scenario = Scenario.of(metadata(), "y", ["a", "b"], effects={"a": 0.0}, n_rows=n_rows)
    assert (scenario.repeats, scenario.drawn_rows) == (40, 5_000)
    design, strengths = Design.plan(scenario.draw_metadata, "y", ["a", "b"]), []
    for seed in range(60):
        table = drawn(scenario, seed)
        moments = table.moments(design).astype(float)
        gram, xty, yty = moments[:3, :3], moments[:3, 3], moments[3, 3]
        coefficients = np.linalg.solve(gram, xty)
        residual = (yty - xty @ coefficients) / n_rows
        strengths += list(coefficients[1:] ** 2 / (residual * np.diag(np.linalg.inv(gram))[1:]))
    assert table.row_count() == n_rows
    assert np.mean(strengths) == pytest.approx(
        1.0, abs=4 * np.sqrt(2 / 120)
    )  # of chi-squared: forty without a correction


def test_no_effect_at_all():
    """Where no column matters the target is noise of a standard deviation that fits its bounds."""
    scenario = Scenario.of(metadata(), "y", effects={"a": 0.0}, n_rows=50)
    assert (scenario.truth, scenario.noise_sd) == (frozenset(), pytest.approx(SPREAD * 40))
    assert scenario.explained(drawn(scenario), ["a"]) == 1.0


def test_remembered_sums_are_the_tables():
    """What a table remembers agrees with an engine that remembers nothing, at any bound and at bought bounds."""
    scenario = Scenario.of(metadata(), "y", n_rows=500)
    table = drawn(scenario)
    plain = FrameTable(table._arrow, table.metadata)
    other = metadata(columns=COLUMNS | {"a": COLUMNS["a"] | {"upper": 5}})
    for facts in (scenario.draw_metadata, other):
        for bound, norm in ((40.0, None), (7.0, None), (7.0, 1.0)):
            whole = Design.plan(facts, "y", None, bound=bound)
            design = Design(facts, "y", whole.candidates, whole.center, bound, norm)
            for _ in range(2):
                assert (table.moments(design) == plain.moments(design)).all()
            start = np.zeros((design.n_columns,) * 2, dtype=np.int64)
            assert (table.map_reduce(design, exact_moments, start) == plain.moments(design)).all()
        for center in (10.0, 3.0):
            scores = ScoreDesign.plan(facts, "y", ["a", "b"], center, 20.0)
            assert (table.products(scores) == plain.products(scores)).all()
            assert table.target_sum(scores) == plain.target_sum(scores)
            blocks = plain.map_reduce(scores, exact_products, np.zeros(2, dtype=np.int64))
            assert (table.products(scores) == blocks).all()


def test_explained_is_a_ratio_of_adjusted_r_squared():
    """All right columns explain all; a wrong one next to nothing; more columns than right ones nothing more."""
    scenario = Scenario.of(metadata(), "y", effects={"a": 8.0, "b": 4.0}, n_rows=5000)
    table = drawn(scenario, 3)
    assert scenario.explained(table, ["a", "b"]) == 1.0
    assert scenario.explained(table, ["a", "b", "c"]) > 0.999
    assert scenario.explained(table, ["c"]) < 0.01
    assert scenario.explained(table, []) == 0.0
    cells = columns(table)
    alone = np.corrcoef(cells["a"], cells["y"])[0, 1] ** 2
    x = np.column_stack([np.ones(5000), cells["a"], cells["b"]])
    left = cells["y"] - x @ np.linalg.lstsq(x, cells["y"], rcond=None)[0]
    right = 1 - left.var() / cells["y"].var()
    assert scenario.explained(table, ["a"]) == pytest.approx(alone / right, abs=0.002)


def test_a_seed_is_a_table():
    """The same seed draws the same rows, whether the table was kept or not."""
    scenario = Scenario.of(metadata(), "y", n_rows=40)
    tables = DrawnTables(scenario)
    assert tables.table(4) is tables.table(4)
    assert tables.table(4)._arrow == drawn(scenario, 4)._arrow
    assert tables.table(4)._arrow != tables.table(5)._arrow


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"n_rows": 0},
        {"n_rows": 10**9},
        {"n_rows": 9, "r_squared": 1.0},
        {"n_rows": 9, "r_squared": float("nan")},
        {"n_rows": 9, "correlation": -1.0},
        {"n_rows": 9, "noise_sd": 0.0},
        {"n_rows": 9, "noise_sd": float("inf")},
        {"n_rows": 9, "effects": {"z": 1.0}},
        {"n_rows": 9, "effects": {"a": float("inf")}},
        {"n_rows": 9, "n_true": 4},
        {"n_rows": 9, "n_true": 0},
    ],
)
def test_what_cannot_be_supposed(wrong):
    """Numbers out of range, unknown columns and a private number of rows are refused."""
    with pytest.raises(InvalidParameterError):
        Scenario.of(metadata(), "y", **wrong)


def test_unknown_names():
    """A target or candidate that is not declared is told from the metadata."""
    with pytest.raises(MetadataError):
        Scenario.of(metadata(), "z", n_rows=9)
    with pytest.raises(MetadataError):
        Scenario.of(metadata(), "y", ["a", "z"], n_rows=9)
