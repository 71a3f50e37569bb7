"""Decorrelated scores: what they find, what they promise, and what they refuse."""

import math
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import norm

import discreet as dc
from discreet.data.engines.arrays import ArraysTable
from discreet.errors import InvalidParameterError, MetadataError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_rows import OCTAVES, SIGNED_STEPS, STEPS, SaturatedRows
from discreet.kernels.rows.decorrelated_scores import (
    Fit,
    Scoring,
    Target,
    column_sums,
    residual_sum,
    saturated,
    score_sums,
    target_sums,
)
from discreet.kernels.sufficient_statistics.cut_columns import columns_of
from discreet.kernels.sufficient_statistics.decorrelation import Decorrelation, Pilot, decorrelation, pilot
from discreet.mechanisms.rng import Source
from discreet.methods.registry import method_of
from discreet.methods.screening import decorrelated_estimates, decorrelated_plan
from discreet.methods.screening.decorrelated_plan import OF_UNIFORM
from discreet.methods.screening.threshold_choice import Chosen
from discreet.report.chance_words import LARGEST_CHANCE

BOX = {"type": "real", "lower": -1, "upper": 1}
COLUMNS = {
    "a": BOX,
    "b": {"type": "integer", "lower": 0, "upper": 1},
    "c": {"type": "real", "lower": 0, "upper": 5},
    "d": BOX,
    "e": BOX,
    "y": {"type": "real", "lower": 0, "upper": 20},
}


def metadata_of(columns, n_rows=None):
    public = {} if n_rows is None else {"n_rows": n_rows}
    relation = "add_or_remove_one" if n_rows is None else "replace_one"
    return dc.Metadata.from_value(
        {"dataset": "d", "unit": "person", "neighboring": relation, "columns": columns, **public}
    )


def selected(cells, columns, seed, n_rows=None, **parameters):
    metadata = metadata_of(columns, n_rows)
    prepared = method_of("decorrelated", **parameters).prepare(metadata, "y")
    return prepared.run(dc.open_table(pa.table(cells), metadata), Source.seeded(seed)).selected


def chain(rng, n, p, correlation):
    normal = rng.standard_normal((n, p))
    for j in range(1, p):
        normal[:, j] = correlation * normal[:, j - 1] + (1 - correlation**2) ** 0.5 * normal[:, j]
    return normal


TARGETS = {
    "skewed": lambda rng, n: np.minimum(rng.exponential(1.0, n), 20.0),
    "of two values": lambda rng, n: 20.0 * (rng.random(n) < 0.2),
    "narrow": lambda rng, n: 10.0 + 0.01 * rng.standard_normal(n),
    "a count": lambda rng, n: rng.poisson(1.0, n).astype(float),
}
SAMPLE_SIZE, MOST_FALSE = 60, 9
"""Of 60 tables with a chance of .05 each, 10 or more are false with a probability of .0007."""


@pytest.mark.parametrize(
    ("target", "n", "is_public"),
    [("skewed", 300, True), ("of two values", 1000, False), ("narrow", 1000, True), ("a count", 300, False)],
)
def test_a_table_without_an_effect_seldom_gives_a_column(target, n, is_public):
    """Correlated, skewed, rare, constant and narrow columns, and targets whose center and scale say little."""
    false = 0
    for seed in range(SAMPLE_SIZE):
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
        x = chain(rng, n, 5, 0.6)
        cells = {
            "a": np.clip(x[:, 0] / 3, -1, 1), "b": (x[:, 1] > 1.6).astype(int), "c": np.minimum(np.exp(x[:, 2]), 5.0),
            "d": np.zeros(n), "e": 0.02 * np.tanh(x[:, 4]), "y": TARGETS[target](rng, n),
        }  # fmt: skip
        false += bool(selected(cells, COLUMNS, seed, n if is_public else None))
    assert false <= MOST_FALSE


def test_columns_are_told_apart_that_go_together():
    """One column of a chain matters; the others go with the target through it alone, and are left out."""
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
    n = 4000
    x = chain(rng, n, 3, 0.7)
    y = np.clip(10 + 2 * x[:, 1] + 2 * rng.standard_normal(n), 0, 20)
    cells = {"u": x[:, 0] / 4, "v": x[:, 1] / 4, "w": x[:, 2] / 4, "y": y}
    columns = {**dict.fromkeys("uvw", BOX), "y": COLUMNS["y"]}
    beside = [selected(cells, columns, seed, epsilon=3.0) for seed in range(10)]
    assert beside.count(("v",)) >= 9
    alone = method_of("sis", epsilon=3.0, n_features_to_select="auto").prepare(metadata_of(columns), "y")
    table = dc.open_table(pa.table(cells), metadata_of(columns))
    assert alone.run(table, Source.seeded(0)).selected == ("u", "v", "w")


def test_categories_and_groups_enter_as_one_and_forced_columns_always():
    """A category by any of its levels; a group by any of its columns; a forced column is adjusted for and told."""
    rng = np.random.default_rng(2)  # noqa: TID251 - simulated data, not noise
    n = 5000
    level, x = rng.integers(0, 3, n), rng.uniform(-1, 1, (n, 3))
    y = np.clip(10 + 3.0 * (level == 1) + 3.0 * x[:, 0] + rng.standard_normal(n), 0, 20)
    cells = {"k": np.array(["p", "q", "r"])[level], "u": x[:, 0], "v": x[:, 1], "w": x[:, 2], "y": y}
    columns = {"k": {"type": "category", "levels": ["p", "q", "r"]}, **dict.fromkeys("uvw", BOX), "y": COLUMNS["y"]}
    runs = [selected(cells, columns, seed, epsilon=4.0, groups=(("u", "v"),)) for seed in range(5)]
    assert runs == [("k", "u", "v")] * 5
    assert selected(cells, columns, 0, epsilon=4.0, forced=("w",)) == ("k", "u", "w")
    assert len(selected(cells, columns, 0, epsilon=4.0, max_size=1)) <= 1


def test_sums_are_the_same_by_any_blocks():
    """Whole numbers of each row: what stands beside a row changes nothing, to the last bit."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
    cells = rng.integers(-GRID, GRID + 1, (500, 6)).astype(np.int16)
    centers, halves = np.array([0, 0, 9000, -29000, 0]), np.array([20_000, GRID, 700, 40_000, GRID])
    columns = saturated(cells[:, :5], np.array([False, True, False, False, True]), centers, halves)
    response, target = cells[:, 5].astype(np.int64), Target(77, 4000)
    large = rng.integers(-(2**32), 2**32, (5, 5))
    scoring = Scoring(large, large[0] * GRID, large.T.copy(), large[1] * GRID, 321)
    pairs = np.triu_indices(5)

    def all_sums(rows):
        return np.concatenate([
            column_sums(columns[rows], pairs), target_sums(columns[rows], response[rows], target),
            score_sums(columns[rows], response[rows], target, scoring),
            residual_sum(columns[rows], response[rows], target, Fit(large[2], int(large[3, 0]))),
        ])  # fmt: skip

    apart = sum(all_sums(slice(start, start + 7)) for start in range(0, 500, 7))
    assert np.array_equal(all_sums(slice(None)), apart)
    each = np.array([all_sums(slice(row, row + 1)) for row in range(500)])
    assert np.abs(each).max() <= GRID**2


def test_scores_without_noise_are_those_of_the_columns_beside_each_other():
    """Of normal columns with exact moments: no effect, no score, however the columns go together."""
    rng = np.random.default_rng(4)  # noqa: TID251 - simulated data, not noise
    n = 200_000
    x = chain(rng, n, 4, 0.6) / 8.0
    y = x @ np.array([1.0, 0.0, 0.5, 0.0]) + 0.1 * rng.standard_normal(n)
    cells = np.rint(np.clip(x, -1, 1) * GRID).astype(np.int64)
    response = np.rint(np.clip(y, -1, 1) * GRID).astype(np.int64)
    columns, target = (
        saturated(cells, np.zeros(4, dtype=bool), np.zeros(4, dtype=int), np.full(4, GRID)),
        Target(0, round(0.05 * GRID)),
    )
    means, products = columns.mean(axis=0) / GRID, columns.T @ columns / n / GRID**2
    moments = columns_of(means, products, 1e-9, np.zeros(4, dtype=bool), 9.0, True)
    averages = target_sums(columns, response, target) / n / GRID**2
    first = pilot(moments, averages, n, 1e-9)
    plan = decorrelation(moments, first, n, np.eye(4, dtype=bool), round(0.1 * GRID), 0.7)
    scores = score_sums(columns, response, target, plan.scoring) / n / GRID**2
    assert np.abs(scores[[0, 2]]).min() > 0.15
    assert np.abs(scores[[1, 3]]).max() < 0.02


def test_with_many_rows_no_column_is_chosen_for_its_shape():
    """Skewed columns and uneven ones of two values, correlated: what cuts bend is gone with the noise."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated data, not noise
    n = 20_000
    x = chain(rng, n, 4, 0.5)
    skewed, rare = np.minimum(np.exp(x), 8.0) / 4.0 - 1.0, (x > 0.8).astype(int)
    y = np.clip(10 + 3.0 * skewed[:, 0] + 1.5 * rare[:, 2] + rng.standard_normal(n), 0, 20)
    cells = {"u": skewed[:, 0], "v": skewed[:, 1], "p": rare[:, 2], "q": rare[:, 3], "y": y}
    columns = {**dict.fromkeys("uv", BOX), **dict.fromkeys("pq", COLUMNS["b"]), "y": COLUMNS["y"]}
    runs = [selected(cells, columns, seed, epsilon=2.0) for seed in range(10)]
    assert runs.count(("u", "p")) >= 8


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_wide_bounds_hide_no_column(relation):
    """Columns that fill a 16th of their bounds, beside skewed and rare ones: no neighbor stands for one of them."""
    narrow, rare = {"type": "real", "lower": -50, "upper": 50}, {"type": "integer", "lower": 0, "upper": 1}
    kinds = ({"type": "real", "lower": 0, "upper": 200}, rare, narrow)
    columns = {f"x{j}": kinds[j % 3] for j in range(15)} | {"y": {"type": "real", "lower": 0, "upper": 400}}
    right = false = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
        n = 8000
        z = 0.6 * rng.standard_normal((n, 1)) + 0.8 * rng.standard_normal((n, 15))
        z[:, ::3], z[:, 1::3], z[:, 2::3] = 20.0 * np.exp(0.8 * z[:, ::3]), z[:, 1::3] > 0.9, 8.0 + 3.0 * z[:, 2::3]
        effects = (0.8 * (z[:, j] - z[:, j].mean()) / z[:, j].std() for j in range(3))
        cells = {f"x{j}": z[:, j].astype(int) if j % 3 == 1 else z[:, j] for j in range(15)}
        cells["y"] = 40.0 + 8.0 * (sum(effects) + rng.standard_normal(n))
        chosen = set(selected(cells, columns, seed, n if relation == "replace_one" else None, n0=n))
        right, false = right + (chosen == {"x0", "x1", "x2"}), false + bool(chosen - {"x0", "x1", "x2"})
    assert right >= 10
    assert false <= 1


def test_a_spread_is_read_from_the_logarithms_of_distances():
    """Their mean, of a column of any spread, is as many octaves below that of one that fills its bounds."""
    rng = np.random.default_rng(9)  # noqa: TID251 - simulated data, not noise
    spreads = np.array([1.0, 0.5, 0.25, 0.125])
    filled = rng.uniform(-1, 1, (20_000, 4)) * spreads * (GRID - 9000) + 9000
    cells = np.column_stack([np.full(len(filled), GRID), np.rint(filled), np.zeros(len(filled))]).astype(np.int16)
    rows = SaturatedRows(np.ones(4, dtype=bool), np.zeros(4, dtype=bool), centers=(9000,) * 4)
    averages = rows.log_distances(cells, with_count=False) / STEPS / len(cells)
    octaves = (1.0 - averages) * OCTAVES / 2.0 - OF_UNIFORM
    assert octaves[:3] == pytest.approx([0.0, 1.0, 2.0], abs=0.2)  # what is nearer than OCTAVES counts as these
    each = [rows.log_distances(cells[row : row + 1], with_count=True) for row in range(200)]
    assert np.abs(each).max() == STEPS


def test_steps_of_distances_are_those_of_whole_numbers():
    """Every cell, around every kind of center: division in doubles has the floor that whole numbers have."""
    every = np.arange(-GRID, GRID + 1)
    for center in (0, 1, -7, 9000, -29_490, 29_491, 32_767, *range(-32_000, 32_000, 4999)):
        room = GRID - min(abs(center), round(0.9 * GRID))
        exact = SIGNED_STEPS[np.minimum(np.abs(every - center) * GRID // room, GRID)]
        rows = SaturatedRows(np.ones(1, dtype=bool), np.zeros(1, dtype=bool), centers=(center,))
        cells = np.column_stack([np.full(len(every), GRID), every, np.zeros(len(every))]).astype(np.int16)
        assert rows.log_distances(cells, with_count=False).tolist() == [exact.sum(dtype=np.int64)]
        chosen = cells[::997]
        assert [rows.log_distances(cell[None], with_count=False)[0] for cell in chosen] == exact[::997].tolist()


def test_a_second_look_finds_a_center_near_the_first():
    """Of columns within reach it is their mean; one row moves a sum by its own cut cell, whole steps of at most 1."""
    rng = np.random.default_rng(10)  # noqa: TID251 - simulated data, not noise
    cells = np.zeros((5000, 5), dtype=np.int16)
    cells[:, 0] = GRID
    cells[:, 1:4] = np.rint(rng.normal([-29_000, 200, 20_000], [300, 500, 9000], (5000, 3)).clip(-GRID, GRID))
    rows = SaturatedRows(np.ones(3, dtype=bool), np.zeros(3, dtype=bool), centers=(-28_500, 0, 19_000))
    reach = 1600
    moved = rows.near_sums(cells, False, reach) / len(cells) / GRID * reach
    assert moved[:2] + rows.centers[:2] == pytest.approx(cells[:, 1:3].mean(axis=0), abs=15)
    assert abs(moved[2]) < 300  # a wide one stays where it is
    each = np.array([rows.near_sums(cells[row : row + 1], True, reach) for row in range(500)])
    assert (np.abs(each) <= GRID).all()
    assert (each.sum(axis=0) == rows.near_sums(cells[:500], True, reach)).all()


def narrow_tables(n_tables):
    """Of narrow columns at an end of their bounds that go together: how often one was right, and a false one sure."""
    columns = {f"x{j}": {"type": "real", "lower": 0, "upper": 200} for j in range(6)} | {"y": COLUMNS["y"]}
    right = sure = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(700 + seed)  # noqa: TID251 - simulated data, not noise
        z = chain(rng, 2000, 6, 0.6)
        cells = {f"x{j}": 10.0 + 3.0 * z[:, j] for j in range(6)} | {"y": 10.0 + z[:, 0] + rng.standard_normal(2000)}
        metadata = metadata_of(columns, 2000)
        prepared = method_of("decorrelated", epsilon=1.0).prepare(metadata, "y")
        outcome = prepared.run(ArraysTable(cells, metadata), Source.seeded(seed))
        right += "x0" in outcome.selected
        sure += any(outcome.chances[name] <= LARGEST_CHANCE for name in outcome.selected if name != "x0")
    return right, sure


def test_narrow_columns_at_an_end_of_their_bounds_are_found(monkeypatch):
    """Noise moved centers by three of their spreads, which hid them (control)."""
    right, sure = narrow_tables(40)
    assert right >= 32
    assert sure <= 5
    monkeypatch.setattr(decorrelated_plan, "FINE", math.inf)
    hidden, _ = narrow_tables(40)
    assert hidden < right


def test_beside_rare_columns_no_false_one_is_sure():
    """Six columns with 4 % ones that go together, three with effects: in a third of tables a false one was."""
    columns = {f"x{j}": {"type": "integer", "lower": 0, "upper": 1} for j in range(6)}
    metadata = metadata_of(columns | {"y": {"type": "real", "lower": -6, "upper": 14}}, 10_000)
    prepared = method_of("decorrelated", epsilon=1.0).prepare(metadata, "y")
    sure = found = 0
    for seed in range(24):
        rng = np.random.default_rng(400 + seed)  # noqa: TID251 - simulated data, not noise
        x = (chain(rng, 10_000, 6, 0.6) > 1.75).astype(float)
        signal = x[:, :3].sum(axis=1)
        cells = {f"x{j}": x[:, j] for j in range(6)} | {"y": signal / signal.std() + rng.standard_normal(10_000)}
        chances = prepared.run(ArraysTable(cells, metadata), Source.seeded(seed)).chances
        called = {name for name, chance in chances.items() if chance <= LARGEST_CHANCE}
        sure, found = sure + bool(called - {"x0", "x1", "x2"}), found + len(called & {"x0", "x1", "x2"})
    assert sure <= 3
    assert found >= 60


@pytest.mark.parametrize(("n", "told"), [(2000, ("narrow",)), (60, ())])
def test_a_column_that_noise_hides_is_named(n, told):
    """One in far wider bounds, beside two that fill theirs; with few rows nobody could tell, and none is."""
    real = {"type": "real", "lower": -1, "upper": 1}
    metadata = metadata_of({"narrow": {**real, "lower": -100, "upper": 100}, "a": real, "b": real, "y": real}, n)
    prepared = method_of("decorrelated", epsilon=1.0, saturation=0.8).prepare(metadata, "y")
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated data, not noise
    cells = dict(zip(("narrow", "a", "b", "y"), rng.uniform(-1.0, 1.0, (4, n)), strict=True))
    for seed in range(5):
        assert prepared.run(ArraysTable(cells, metadata), Source.seeded(seed)).hidden == told


MANY_COLUMNS = {f"x{j}": BOX for j in range(19)}


@pytest.mark.parametrize(
    ("effects", "most_false", "least_right"),
    [((), 3, 0), ((1.0, 1.0, 1.0), 3, 14), ((0.0, 0.0, 3.0), 5, 14)],
    ids=["none", "three alike", "one strong"],
)
def test_beside_effects_few_of_many_columns_are_false(effects, most_false, least_right):
    """Of 20 tables of 19 columns that correlate by .6. All scored beside each other a false one came in 8 to 19."""
    false = right = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
        x = 2.0 * norm.cdf(chain(rng, 3000, 19, 0.6)) - 1.0
        y = 10.0 + x[:, : len(effects)] @ np.array(effects) + rng.standard_normal(3000)
        cells = dict(zip(MANY_COLUMNS, x.T, strict=True)) | {"y": y}
        chosen = set(selected(cells, MANY_COLUMNS | {"y": COLUMNS["y"]}, seed, 3000))
        true = {f"x{j}" for j, effect in enumerate(effects) if effect}
        false, right = false + bool(chosen - true), right + (chosen == true)
    assert false <= most_false
    assert right >= least_right


def test_a_column_that_others_explain_is_left_out():
    """One by one, as long as its chance is above a half: what is left explains less of it."""
    columns = {**dict.fromkeys("uvw", BOX), "y": COLUMNS["y"]}
    prepared = method_of("decorrelated").prepare(metadata_of(columns, 1000), "y")
    leaks = np.array([[0.0, 0.0, 0.0], [0.15, 0.0, 0.0], [0.15, 0.15, 0.0]])
    ones = np.ones(3)
    none, nothing = 0.0 * ones, 0.0 * leaks
    scores = Decorrelation(None, none, ones, none, ones, leaks, nothing, nothing, none, none)
    noisy = np.array([900.0, 210.0, 205.0])

    def left(scores):
        choice = prepared._likely(Chosen([0, 1, 2], noisy), scores, 1000.0, 1000.0 * ones)
        return choice, prepared._told(choice, scores, 1000.0, 1000.0 * ones)

    choice, chances = left(scores)
    assert choice.units == [0]
    assert list(chances) == ["u"]
    exact, sure = left(scores._replace(leaks=0.0 * leaks))
    assert exact.units == [0, 1, 2]
    assert max(sure.values()) <= 0.5
    bent, _ = left(scores._replace(leaks=0.0 * leaks, bends=leaks, coefficients=np.array([1.0, 0.0, 0.0])))
    assert bent.units == [0]


def test_a_column_is_cut_around_its_center():
    """At its center it is 0, at the nearer bound and as far beyond it 1 or -1; one of two values has no center."""
    cells = np.array([[-GRID], [-20_000], [-20_000 + (GRID - 20_000) // 2], [-7000], [GRID]]).astype(np.int16)
    around = saturated(cells, np.array([False]), np.array([-20_000]), np.array([GRID - 20_000]))[:, 0] / GRID
    assert around == pytest.approx([-1.0, 0.0, 0.5, 1.0, 1.0], abs=1e-3)
    metadata = metadata_of(COLUMNS)
    rows = method_of("decorrelated", x_center={"c": 1.0}).prepare(metadata, "y").plan.rows
    assert rows.centers == (0, 0, round(-0.6 * GRID), 0, 0)
    assert rows.columns(np.array([[GRID, 0, 0, -19_660, 0, 0, 0]]))[0, 2] == 0


def test_columns_far_from_their_middle_are_found():
    """Skewed ones and uneven ones of two values, whose products would be those of their means."""
    right = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
        n = 1500
        skewed, rare = np.minimum(rng.exponential(1.0, (n, 3)), 5.0), (rng.random((n, 2)) < 0.2).astype(int)
        y = np.clip(10.0 + 0.8 * skewed[:, 0] + 1.6 * rare[:, 0] + rng.standard_normal(n), 0, 20)
        cells = {**dict(zip("abc", skewed.T, strict=True)), **dict(zip("de", rare.T, strict=True)), "y": y}
        columns = {**dict.fromkeys("abc", COLUMNS["c"]), **dict.fromkeys("de", COLUMNS["b"]), "y": COLUMNS["y"]}
        right += selected(cells, columns, seed, n) == ("a", "d")
    assert right >= 16


WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


@pytest.mark.parametrize(
    ("kind", "store"),
    [
        *((kind, "arrow") for kind in WHOLE),
        *((kind, "pandas") for kind in ("int8", "int64", "float32", "float64")),
        *((kind, store) for kind in ("int16", "float64") for store in ("duckdb", "parquet")),
    ],
)
def test_numbers_are_the_same_however_they_are_stored(monkeypatch, tmp_path, kind, store):
    """Of each pass: the integers that get noise do not depend on a column's type or on what holds the table."""
    rng = np.random.default_rng(6)  # noqa: TID251 - simulated data, not noise
    cells = {name: rng.integers(0, 6, 200) for name in "uvwy"}
    columns = {name: {"type": "integer", "lower": 0, "upper": 5} for name in cells}
    handed = []
    for of_kind, place in (("int64", "arrow"), (kind, store)):
        vectors = list[list[int]]()

        def kept(values, scale, rng, vectors=vectors):
            vectors.append(list(map(int, values)))
            return vectors[-1]

        monkeypatch.setattr(decorrelated_estimates, "cube_noise", kept)
        monkeypatch.setattr(decorrelated_estimates, "discrete_laplace", kept)
        monkeypatch.setattr(decorrelated_estimates, "noisy_quantile", lambda counts, *law: int(np.argmax(counts)))
        held = stored({name: values.astype(of_kind) for name, values in cells.items()}, place, tmp_path)
        metadata = metadata_of(columns, 200)
        method_of("decorrelated").prepare(metadata, "y").run(dc.open_table(held, metadata), Source.seeded(0))
        handed.append(vectors)
    assert len(handed[0]) == 4
    assert handed[0] == handed[1]


def stored(cells, place, folder):
    """Put a table where it is to be read from."""
    table = pa.table(cells)
    if place == "pandas":
        return table.to_pandas()
    if place == "parquet":
        pq.write_table(table, folder / "t.parquet")
        return folder / "t.parquet"
    if place == "duckdb":
        with duckdb.connect(str(folder / "t.duckdb")) as connection:
            connection.register("given", table)
            connection.execute("create table t as select * from given")
        return folder / "t.duckdb"
    return table


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"forced": tuple("abcde")}, "must be free to enter"),
        ({"shares": {"gram": 0.8}}, "must leave something"),
        ({"shares": {"y_median": 0.1}, "y_center": "middle"}, "must not have y_median"),
        ({"y_center": 99.0}, "y_center must lie within"),
        ({"groups": (("a", "z"),)}, "must name candidates"),
        ({"x_center": {"z": 0.5}}, "x_center must name numeric candidates"),
        ({"x_center": {"a": 0.5}, "shares": {"x_center": 0.1}}, "must not have x_center"),
        ({"saturation": 0.5, "shares": {"x_scale": 0.1}}, "must not have x_scale where saturation is given"),
    ],
)
def test_what_does_not_fit_is_refused(parameters, words):
    """In one line, before anything is charged."""
    with pytest.raises(InvalidParameterError, match=words):
        method_of("decorrelated", **parameters).prepare(metadata_of(COLUMNS), "y")


def test_too_many_columns_and_other_targets_are_refused():
    """Beside each other, of one category or of forced columns; a target must be a number."""
    many = {**{f"x{j}": BOX for j in range(66)}, "y": BOX}
    for forced in ((), tuple(f"x{j}" for j in range(64))):
        request = method_of("decorrelated", forced=forced)
        if not forced:
            assert len(request.prepare(metadata_of(many), "y").rest.candidates) == 6
            continue
        with pytest.raises(InvalidParameterError, match="at most 64 columns beside each other"):
            request.prepare(metadata_of(many), "y")
    levels = {"u": {"type": "category", "levels": [str(level) for level in range(70)]}, **many}
    with pytest.raises(InvalidParameterError, match="one category have more"):
        method_of("decorrelated").prepare(metadata_of(levels), "y")
    stated = {"labels": [*many][:-1], "means": [0.0] * 66, "covariance": np.eye(66).tolist()}
    with pytest.raises(InvalidParameterError, match="at most 64 columns with public_moments"):
        method_of("decorrelated", public_moments=stated).prepare(metadata_of(many), "y")
    columns = COLUMNS | {"y": {"type": "category", "levels": ["no", "yes"]}}
    with pytest.raises(MetadataError, match="target must be numeric"):
        method_of("decorrelated").prepare(metadata_of(columns), "y")


LOOKED_AT = 12


def public_of(rng, n, correlation):
    return dc.public_moments(pa.table(_chained(rng, n, correlation)), metadata_of(CHAINED), tuple("uvw"))


CHAINED = {**dict.fromkeys("uvw", BOX), "y": COLUMNS["y"]}


def _chained(rng, n, correlation):
    return {
        name: np.clip(column / 4, -1, 1) for name, column in zip("uvw", chain(rng, n, 3, correlation).T, strict=True)
    }


def test_public_columns_do_with_fewer_rows():
    """One of three correlated columns matters, at an epsilon at which little is found when all is bought."""
    found = {True: 0, False: 0}
    for seed in range(LOOKED_AT):
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
        known, cells = public_of(rng, 1000, 0.7), _chained(rng, 600, 0.7)
        cells["y"] = np.clip(10 + 8 * cells["v"] + 2 * rng.standard_normal(600), 0, 20)
        for is_public in found:
            more = {"public_moments": known} if is_public else {}
            found[is_public] += selected(cells, CHAINED, seed, 600, epsilon=0.4, **more) == ("v",)
    assert found[True] >= 9
    assert found[False] <= 6


@pytest.mark.parametrize(("correlation", "is_used"), [(0.7, True), (0.0, False)])
def test_a_public_table_of_other_people_is_not_used(correlation, is_used):
    """The rows are looked at first; the release says what came out, and moments are bought where these are wrong."""
    right = used = 0
    for seed in range(LOOKED_AT):
        rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
        known, cells = public_of(rng, 1000, correlation), _chained(rng, 4000, 0.7)
        cells["y"] = np.clip(10 + 8 * cells["v"] + 2 * rng.standard_normal(4000), 0, 20)
        prepared = method_of("decorrelated", epsilon=2.0, public_moments=known).prepare(metadata_of(CHAINED, 4000), "y")
        outcome = prepared.run(dc.open_table(pa.table(cells), metadata_of(CHAINED, 4000)), Source.seeded(seed))
        # Beside a column with a strong effect another may be named, if the release says that chance may do so.
        unsure = {name for name, chance in outcome.chances.items() if chance > 0.05}
        right += set(outcome.selected) - unsure == {"v"}
        assert (outcome.steps[0].value <= 1.0) == ("gram" not in [step.name for step in outcome.steps])
        used += outcome.steps[0].value <= 1.0
    assert used >= LOOKED_AT - 1 if is_used else used == 0
    assert right >= LOOKED_AT - 2


def test_a_look_takes_what_is_asked_of_epsilon_and_either_way_the_rest():
    """Exactly; a share of a part of either way is one of what is left."""
    rng = np.random.default_rng(7)  # noqa: TID251 - simulated data, not noise
    method = method_of(
        "decorrelated", public_moments=public_of(rng, 100, 0.3), shares={"public_check": 0.1, "gram": 0.2}
    )
    prepared = method.prepare(metadata_of(CHAINED, 500), "y")
    assert prepared.look.epsilon == Fraction(1, 10)
    assert {sum(path.budget.values()) for path in (prepared.used, prepared.bought)} == {Fraction(9, 10)}
    assert prepared.bought.budget["gram"] == Fraction(9, 50)
    with pytest.raises(InvalidParameterError, match="must not have public_check where there are no public_moments"):
        method_of("decorrelated", shares={"public_check": 0.1}).prepare(metadata_of(CHAINED, 500), "y")


def test_public_columns_and_saturation_exclude_each_other():
    """Public moments are of columns as they are."""
    stated = {"labels": ("a",), "means": (0.0,), "covariance": ((0.2,),)}
    with pytest.raises(InvalidParameterError, match="saturation must not"):
        method_of("decorrelated", public_moments=stated, saturation=0.5).prepare(metadata_of(COLUMNS), "y", ("a",))


def test_narrow_columns_are_seen_before_a_first_screening_at_a_higher_price():
    """Spreads of ten columns of 1,000 rows are bought for more than their share, of fifteen they are not."""
    names = {}
    for n_real in (10, 15):
        columns = {f"x{j}": BOX for j in range(n_real)} | {f"b{j}": COLUMNS["b"] for j in range(15 - n_real)}
        prepared = method_of("decorrelated").prepare(metadata_of({**columns, "y": COLUMNS["y"]}, 1000), "y")
        names[n_real] = [step.name for step in prepared.steps]
    assert names[10].index("x_scale") < names[10].index("first_screening")
    assert "x_scale" not in names[15][: names[15].index("first_screening")]


def test_chances_count_what_a_hidden_column_lets_through():
    """A column that noise hides may go with another as far as noise lets it; one that stands out may not."""
    second = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.3]]) / 3.0
    unseen = []
    for of_third in (0.3, 0.001):
        second[2, 2] = of_third
        columns = columns_of(np.zeros(3), second, 0.0004, np.zeros(3, dtype=bool), 1.0, True)
        unseen.append(decorrelation(columns, Pilot.none(3), 1000.0, np.eye(3, dtype=bool), 1000, 1.0).unseen)
    assert not unseen[0].any()
    assert (unseen[1][:2] > 0.0).all()
    hidden = decorrelation(columns, Pilot.none(3), 1000.0, np.eye(3, dtype=bool), 1000, 1.0, True).unseen
    assert (hidden > unseen[1] - 1e-12).all()
    assert hidden[0] > unseen[1][0]


def test_a_rare_column_has_less_of_its_own_effect_and_a_constant_one_some():
    """Of 0/1 columns with half, 4 % and no ones, cut at three deviations: what is left of an effect is over it."""
    means = np.array([0.0, -0.92, -1.0])
    columns = columns_of(means, np.eye(3) + np.outer(means, means) * (1 - np.eye(3)), 1e-6, means < 2.0, 3.0, False)
    slopes = decorrelation(columns, Pilot.none(3), 10_000.0, np.eye(3, dtype=bool), 1000, 3.0).slopes
    assert slopes[0] > 1.2 * slopes[1] > 0.0
    assert slopes[2] > 0.0
