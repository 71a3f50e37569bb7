"""A public table as the pattern of simulated ones: its correlations, and the effects that BIC finds in it."""

import hashlib
import itertools
import math

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import discreet as dc
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError
from discreet.mechanisms.rng import Source
from discreet.simulation.scenario import Scenario

COLUMNS = {
    "a": {"type": "real", "lower": 0, "upper": 10, "source": "test"},
    "b": {"type": "integer", "lower": -4, "upper": 4, "source": "test"},
    "c": {"type": "category", "levels": ["low", "middle", "high"], "source": "test"},
    "d": {"type": "real", "lower": -1, "upper": 1, "source": "test"},
    "y": {"type": "real", "lower": -30, "upper": 50, "source": "test"},
}
LEVELS = {"low": 0.0, "middle": 6.0, "high": 2.0}


def metadata(**facts):
    value = {"dataset": "toy", "unit": "person", "neighboring": "add_or_remove_one", "columns": COLUMNS}
    return dc.Metadata.from_value(value | facts)


def public(n_rows=3000, seed=0, noise=2.0, slope=5.0):
    """Rows with correlated columns: `a` and the category matter, the others do not."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    a = rng.uniform(0, 10, n_rows)
    b = np.clip(np.rint((a - 5) * 0.6 + rng.normal(0, 1, n_rows)), -4, 4)
    c = rng.choice(["low", "middle", "high"], n_rows, p=[0.5, 0.3, 0.2])
    d = rng.uniform(-1, 1, n_rows)
    y = 12 + slope * (a - 5) / 5 + np.array([LEVELS[one] for one in c]) + rng.normal(0, noise, n_rows)
    return pa.table({"a": a, "b": b, "c": c, "d": d, "y": y})


def cells(table):
    return {name: np.array(table._arrow[name].to_pylist()) for name in table._arrow.column_names}


def test_effects_are_least_squares_of_what_matters():
    """Stated effects, their levels, the intercept and the noise are found again, the columns that do not matter not."""
    scenario = Scenario.like(metadata(), "y", public(30_000), n_rows=50)
    assert scenario.truth == {"a", "c"}
    assert scenario.effects == pytest.approx({"a": 5.0, "c": 6.0}, abs=0.15)
    assert scenario.level_effects["c"] == pytest.approx((0.0, 6.0, 2.0), abs=0.15)
    assert (scenario.intercept, scenario.noise_sd) == pytest.approx((12.0, 2.0), abs=0.1)
    assert scenario.r_squared == pytest.approx(1 - 4 / public(30_000)["y"].to_numpy().var(), abs=0.01)


def test_drawn_rows_are_like_the_public_ones():
    """Correlations, levels, whole numbers and the target's law are those of the public table, at another size."""
    own = public(2000)
    table = Scenario.like(metadata(), "y", own, n_rows=60_000).draw(Source.seeded(3))
    drawn, given = cells(table), {name: np.array(own[name].to_pylist()) for name in own.column_names}
    for pair in (("a", "b"), ("a", "d"), ("a", "y")):
        expected = np.corrcoef(given[pair[0]], given[pair[1]])[0, 1]
        assert np.corrcoef(drawn[pair[0]], drawn[pair[1]])[0, 1] == pytest.approx(expected, abs=0.03)
    for level in LEVELS:
        assert (drawn["c"] == level).mean() == pytest.approx((given["c"] == level).mean(), abs=0.02)
    assert set(drawn["b"]) == set(given["b"])
    assert drawn["y"].mean() == pytest.approx(given["y"].mean(), abs=0.1)
    assert drawn["y"].std() == pytest.approx(given["y"].std(), rel=0.02)
    table.check(("a", "b", "c", "d", "y"))


def test_multiplied_effects_leave_the_mean_and_the_noise():
    """Twice the effects, the levels' too, around the same mean of the target."""
    one = Scenario.like(metadata(), "y", public(), n_rows=40_000)
    two = one.multiplied(2.0)
    assert two.effects == pytest.approx({name: 2 * size for name, size in one.effects.items()})
    assert (two.noise_sd, two.times, two.truth) == (one.noise_sd, 2.0, one.truth)
    assert two.explained_variance == pytest.approx(4 * one.explained_variance)
    means = [cells(each.draw(Source.seeded(1)))["y"].mean() for each in (one, two)]
    assert means[0] == pytest.approx(means[1], abs=0.2)
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidParameterError):
            one.multiplied(wrong)


@pytest.mark.parametrize("seed", range(4))
def test_the_model_is_that_of_least_bic(seed):
    """Against least squares of all subsets, with dummies, one by one."""
    own = public(60, seed, noise=5.0, slope=1.5)
    found = Scenario.like(metadata(), "y", own, n_rows=9).truth
    columns = {name: own[name].to_numpy()[:, None] for name in ("a", "b", "d")}
    levels = np.array(own["c"].to_pylist())
    columns["c"] = np.column_stack([levels == "middle", levels == "high"]).astype(float)
    y, best = own["y"].to_numpy(), {}
    for size in range(5):
        for names in itertools.combinations(columns, size):
            x = np.column_stack([np.ones(60), *(columns[name] for name in names)])
            rss = ((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2).sum()
            best[frozenset(names)] = 60 * math.log(rss / 60) + math.log(60) * x.shape[1]
    assert found == min(best, key=best.get)


def test_stated_effects_with_public_columns():
    """Effects or a noise of one's own stand in place of those found; the rest of the target is the noise."""
    own = public(5000)
    stated = Scenario.like(metadata(), "y", own, effects={"a": 5.0}, n_rows=9)
    assert (stated.truth, dict(stated.level_effects)) == ({"a"}, {})
    left = own["y"].to_numpy() - (own["a"].to_numpy() - 5)
    assert stated.noise_sd == pytest.approx(left.std(), rel=1e-6)
    assert stated.intercept == pytest.approx(left.mean(), rel=1e-6)
    assert Scenario.like(metadata(), "y", own, noise_sd=7.0, n_rows=9).noise_sd == 7.0
    assert Scenario.like(metadata(), "y", own, r_squared=0.25, n_rows=9).r_squared == pytest.approx(0.25)


def test_cells_are_cut_and_incomplete_records_left_out():
    """Numbers beyond the declared bounds are cut; a record without a target or a cell does not count."""
    own = public(300).to_pydict()
    own["a"][0], own["a"][1], own["y"][2] = 1e6, None, None
    scenario = Scenario.like(metadata(), "y", pa.table(own), n_rows=2000)
    assert (scenario.pattern.n_records, scenario.pattern.n_dropped) == (298, 2)
    drawn = cells(scenario.draw(Source.seeded(0)))
    assert drawn["a"].max() == 10.0
    assert drawn["y"].min() >= -30


def test_another_table_is_another_scenario(tmp_path):
    """The digest tells tables apart, and is that of the file where there is one."""
    first, second = (Scenario.like(metadata(), "y", public(seed=seed), n_rows=9) for seed in (0, 1))
    assert first == Scenario.like(metadata(), "y", public(), n_rows=9)
    assert first != second
    path = tmp_path / "public.csv"
    pyarrow.csv.write_csv(public(), path)
    of_file = Scenario.like(metadata(), "y", path, n_rows=9).pattern
    assert of_file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert of_file.name == "public.csv"


@pytest.mark.parametrize(
    ("change", "asked", "error", "hint"),
    [
        (lambda own: own.drop_columns(["d"]), {}, DataMismatchError, "public table"),
        (lambda own: own.slice(0, 29), {}, DataMismatchError, "at least 30 records"),
        (lambda own: own.set_column(2, "c", pa.array(["other"] * len(own))), {}, DataMismatchError, "declared levels"),
        (lambda own: own.set_column(4, "y", own["a"]), {}, InvalidParameterError, "unexplained"),
        (lambda own: own, {"n_rows": None}, InvalidParameterError, "n_rows"),
        (lambda own: own, {"effects": {"z": 1.0}}, InvalidParameterError, "Effects"),
        (lambda own: own, {"noise_sd": -1.0}, InvalidParameterError, "noise_sd"),
        (lambda own: own, {"r_squared": 1.0}, InvalidParameterError, "r_squared"),
        (lambda own: own, {"candidates": ["a", "z"]}, MetadataError, "'z'"),
    ],
)
def test_what_is_refused(change, asked, error, hint):
    """A table that lacks a column, records, declared levels or any noise; and numbers out of range."""
    with pytest.raises(error, match=hint):
        Scenario.like(metadata(), "y", change(public(200)), **{"n_rows": 9, **asked})


def test_metadata_that_declare_another_file(tmp_path):
    """What is declared public cannot be replaced by some other file."""
    path = tmp_path / "public.csv"
    pyarrow.csv.write_csv(public(100), path)
    declared = metadata(public={"sha256": "0" * 64, "source": "test"})
    with pytest.raises(MetadataError, match="sha256"):
        Scenario.like(declared, "y", path, n_rows=9)
