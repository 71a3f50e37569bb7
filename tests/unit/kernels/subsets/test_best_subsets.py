"""The best models of each size are those of enumeration, and those of another program on real tables."""

import itertools
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from benchmarks.tables import SHARED
from sklearn.datasets import load_breast_cancer, load_diabetes
from tests.unit.kernels.kernel_problems import DESIGNS, simulated

from discreet.kernels.subsets import best_subsets_compiled
from discreet.kernels.subsets.best_subsets import best_subsets, search_subsets, stepwise_models
from discreet.kernels.subsets.best_subsets_node_compiled import drop, refresh
from discreet.kernels.subsets.best_subsets_steps_compiled import stepwise

# R version 4.2.2 Patched (2022-11-10 r83330), package leaps 3.1, on the same numbers written with 17 digits:
#   fit <- regsubsets(X, y, nvmax = ncol(X), nbest = 1, method = "exhaustive", really.big = TRUE)
#   summary(fit)$rss by sprintf("%.17g"), and the places, from 0, of the columns in summary(fit)$which
LEAPS = {
    "diabetes": [
        (1719581.8107738814, "2"),
        (1416694.0139565843, "2 8"),
        (1362708.6937057676, "2 3 8"),
        (1331431.4035644589, "2 3 4 8"),
        (1287881.1553953434, "1 2 3 6 8"),
        (1271493.9972898606, "1 2 3 4 5 8"),
        (1267807.8120610102, "1 2 3 4 5 7 8"),
        (1264714.5798706813, "1 2 3 4 5 7 8 9"),
        (1264068.096392551, "1 2 3 4 5 6 7 8 9"),
        (1263985.785633343, "0 1 2 3 4 5 6 7 8 9"),
    ],
    "breast_cancer": [
        (49.248200823856443, "27"),
        (41.204811602362405, "20 27"),
        (38.119416514175803, "20 21 27"),
        (36.885276229107674, "20 21 23 27"),
        (35.166329998590903, "2 7 20 21 23"),
        (34.140247883159198, "14 20 21 23 27 28"),
        (33.574988057941766, "2 7 14 20 21 23 28"),
        (32.531021591654401, "5 7 14 20 21 23 28 29"),
        (31.894857555746434, "0 5 7 14 20 21 23 28 29"),
        (31.501292881695839, "5 6 14 16 17 20 21 23 28 29"),
        (30.919810551558925, "5 6 10 14 16 20 21 23 27 28 29"),
        (30.61937500922982, "5 6 10 13 14 16 20 21 23 27 28 29"),
        (30.40434199377539, "0 5 7 10 14 16 17 20 21 23 26 28 29"),
        (30.273285830907184, "0 5 6 7 10 14 16 17 20 21 23 26 28 29"),
        (30.236446307235848, "0 3 5 6 7 10 14 16 17 20 21 23 26 28 29"),
        (30.190100982016851, "0 3 5 6 7 10 12 14 16 17 20 21 23 26 28 29"),
        (30.159121465781062, "0 1 3 5 6 7 10 12 14 16 17 20 21 23 26 28 29"),
        (30.12927603759578, "0 2 3 5 6 7 10 12 14 16 17 19 20 21 23 26 28 29"),
        (30.09772056151051, "0 1 2 3 5 6 7 10 12 14 16 17 19 20 21 23 26 28 29"),
        (30.077671712732577, "0 1 2 3 5 6 7 10 12 14 16 17 18 19 20 21 23 26 28 29"),
        (30.056605964502726, "0 1 2 3 5 6 7 10 12 14 16 17 18 19 20 21 23 24 26 28 29"),
        (30.044560215785268, "0 1 2 3 5 6 7 10 12 13 14 16 17 18 19 20 21 23 24 26 28 29"),
        (30.030276785327256, "0 1 2 3 5 6 7 10 12 13 14 16 17 18 19 20 21 23 24 26 27 28 29"),
        (30.023012391010354, "0 1 2 3 5 6 7 10 12 13 14 16 17 18 19 20 21 22 23 24 26 27 28 29"),
        (30.020242389061735, "0 1 2 3 5 6 7 10 12 13 14 16 17 18 19 20 21 22 23 24 25 26 27 28 29"),
        (30.018928113607672, "0 1 2 3 5 6 7 10 11 12 13 14 16 17 18 19 20 21 22 23 24 25 26 27 28 29"),
        (30.017740548239594, "0 1 2 3 5 6 7 8 10 11 12 13 14 16 17 18 19 20 21 22 23 24 25 26 27 28 29"),
        (30.017648491390528, "0 1 2 3 4 5 6 7 8 10 11 12 13 14 16 17 18 19 20 21 22 23 24 25 26 27 28 29"),
        (30.017599508963606, "0 1 2 3 4 5 6 7 8 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29"),
        (30.01759752096541, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29"),
    ],
    "prostate": [
        (58.914784054974163, "0"),
        (51.742176016473351, "0 1"),
        (46.568436435862836, "0 1 4"),
        (45.595472167931646, "0 1 3 4"),
        (44.436681803710158, "0 1 2 3 4"),
        (43.775974015732722, "0 1 2 3 4 7"),
        (43.107557990871484, "0 1 2 3 4 5 7"),
        (43.058418771226236, "0 1 2 3 4 5 6 7"),
    ],
}


def diabetes():
    """Ten measurements in the units of the source; disease progression."""
    table = load_diabetes(scaled=False)
    return table.data, table.target


def breast_cancer():
    """Thirty strongly correlated measurements; benign or not."""
    table = load_breast_cancer()
    return table.data, table.target.astype(float)


def prostate():
    """Eight clinical measures; log of the prostate specific antigen."""
    path = SHARED / "prostate.parquet"
    if not path.exists():
        pytest.skip(f"{path.name} is not there: set DISCREET_SHARED to the folder that holds data/")
    table = pd.read_parquet(path)
    columns = ["lcavol", "lweight", "age", "lbph", "svi", "lcp", "gleason", "pgg45"]
    return table[columns].to_numpy(float), table["lpsa"].to_numpy(float)


TABLES = {"diabetes": diabetes, "breast_cancer": breast_cancer, "prostate": prostate}


@pytest.mark.parametrize("name", TABLES)
def test_a_real_table_has_the_models_that_leaps_finds(name):
    """Every size: the same columns, and the residual sum of squares to 1e-9 of itself."""
    X, y = TABLES[name]()
    D = np.column_stack([np.ones(len(y)), X])
    p = D.shape[1]
    rss, masks = best_subsets(D.T @ D, D.T @ y, float(y @ y), np.eye(p, dtype=bool)[1:], np.arange(p) == 0, p - 1, 1)
    assert rss.shape == (len(LEAPS[name]), 1)
    for m, (expected, columns) in enumerate(LEAPS[name]):
        assert [j for j in range(p - 1) if int(masks[m, 0]) >> j & 1] == [int(j) for j in columns.split()]
        assert rss[m, 0] == pytest.approx(expected, rel=1e-9, abs=0.0)


def enumerated(X, y, units, always, size):
    """Residual sums of squares of all models of a size, by an orthogonal solver on the table itself, best first."""
    found = []
    for chosen in combinations(range(len(units)), size):
        used = always | units[list(chosen)].any(axis=0)
        coef = np.linalg.lstsq(X[:, used], y, rcond=1e-9)[0]
        found.append((float(((y - X[:, used] @ coef) ** 2).sum()), sum(1 << j for j in chosen)))
    return sorted(found)


def check(X, y, units=None, always=(), n_best=1, max_size=None, rel=1e-7):
    """The kernel lists the best of all models, each with its own residual sum of squares."""
    p = X.shape[1]
    always = np.isin(np.arange(p), always)
    units = np.eye(p, dtype=bool)[~always] if units is None else units
    most = max_size or len(units)
    rss, masks = best_subsets(X.T @ X, X.T @ y, float(y @ y), units, always, most, n_best)
    assert rss.shape == masks.shape == (most, n_best)
    close = {"rel": rel, "abs": 1e-10 * float(y @ y)}
    for size in range(1, most + 1):
        expected = enumerated(X, y, units, always, size)
        own = {mask: value for value, mask in expected}
        there = min(n_best, len(expected))
        assert rss[size - 1, :there] == pytest.approx([value for value, _ in expected[:there]], **close)
        assert np.isinf(rss[size - 1, there:]).all()
        listed = [int(mask) for mask in masks[size - 1, :there]]
        assert len(set(listed)) == there
        assert rss[size - 1, :there] == pytest.approx([own[mask] for mask in listed], **close)
        assert (np.diff(rss[size - 1, :there]) >= 0.0).all()


def table(design, n, p, seed=0, noise=0.5):
    """A table and a target that depends on a third of its columns."""
    rng = simulated(seed)
    X = DESIGNS[design](rng, n, p)
    effects = np.where(rng.random(p) < 0.34, rng.standard_normal(p), 0.0)
    return X, X @ effects + noise * rng.standard_normal(n)


@pytest.mark.slow
@pytest.mark.parametrize("n_best", [1, 4, 300])
@pytest.mark.parametrize("design", DESIGNS)
def test_all_models_of_hard_tables_are_beaten(design, n_best):
    """Collinear, duplicated, opposite, empty and nearly equal columns; one model, some, or all of most sizes."""
    for seed in range(3):
        check(*table(design, 60, 9, seed), n_best=n_best)
        check(*table(design, 60, 9, seed, noise=5.0), n_best=n_best, always=(2, 5))


@pytest.mark.parametrize("design", DESIGNS)
def test_groups_enter_whole(design):
    """Units of one, two and three columns, beside columns of every model and columns of none."""
    units = np.zeros((6, 12), dtype=bool)
    for j, columns in enumerate([(0, 4), (1,), (2, 5, 8), (3, 6), (9,), (10,)]):
        units[j, list(columns)] = True
    for seed in range(3):
        for n_best in (1, 5):
            check(*table(design, 80, 12, seed), units=units, always=(7,), n_best=n_best)


@pytest.mark.parametrize("max_size", [1, 2, 5])
def test_the_largest_size_bounds_the_list(max_size):
    """Smaller models are the same when larger ones are not asked for."""
    for seed in range(3):
        check(*table("autoregressive", 50, 10, seed), max_size=max_size, n_best=2)


def test_fewer_rows_than_columns_fit_perfectly():
    """Models as large as the table leave nothing unexplained."""
    check(*table("uniform", 6, 9), n_best=2)


def test_columns_in_other_units_make_no_difference():
    """Scales from 1e-6 to 1e6, and a constant to be projected out, leave the models as they are."""
    X, y = table("uniform", 200, 8)
    scale = 10.0 ** np.linspace(-6, 6, 8)
    D = np.column_stack([np.ones(200), X + 3.0])
    units, always = np.eye(9, dtype=bool)[1:], np.arange(9) == 0
    first = best_subsets(D.T @ D, D.T @ y, float(y @ y), units, always, 8, 3)
    D[:, 1:] *= scale
    second = best_subsets(D.T @ D, D.T @ y, float(y @ y), units, always, 8, 3)
    assert second[0] == pytest.approx(first[0], rel=1e-9)
    assert (second[1] == first[1]).all()


@pytest.mark.parametrize("target", ["zero", "in the columns of every model", "in one column"])
def test_a_target_without_anything_to_explain(target):
    """Nothing is left to explain: all models are as good, and their residual sums of squares are zero."""
    X, _ = table("uniform", 50, 6)
    y = {"zero": np.zeros(50), "in the columns of every model": 2.0 * X[:, 0], "in one column": -X[:, 3]}[target]
    rss, masks = best_subsets(X.T @ X, X.T @ y, float(y @ y), np.eye(6, dtype=bool)[1:], np.arange(6) == 0, 5, 1)
    assert rss == pytest.approx(0.0, abs=1e-12 * float(y @ y))
    assert [mask.bit_count() for mask in masks[:, 0]] == [1, 2, 3, 4, 5]
    assert target != "in one column" or int(masks[0, 0]) == 1 << 2


def test_moments_that_are_semidefinite_but_for_rounding():
    """Eigenvalues of minus 1e-13 are treated as zeros."""
    X, y = table("dummies and constant", 300, 9)
    gram = X.T @ X
    values, vectors = np.linalg.eigh(gram)
    rounded = vectors @ np.diag(np.where(values < 1e-9, -1e-13 * values[-1], values)) @ vectors.T
    found = best_subsets(rounded, X.T @ y, float(y @ y), np.eye(9, dtype=bool), np.zeros(9, bool), 9, 1)[0]
    expected = best_subsets(gram, X.T @ y, float(y @ y), np.eye(9, dtype=bool), np.zeros(9, bool), 9, 1)[0]
    assert found == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("design", ["uniform", "nearly equal", "autoregressive"])
def test_a_search_in_many_parts_finds_the_same(design, monkeypatch):
    """Stopping after every few nodes to look for an interrupt changes nothing."""
    X, y = table(design, 100, 12)
    problem = (X.T @ X, X.T @ y, float(y @ y), np.eye(12, dtype=bool), np.zeros(12, bool), 12, 2)
    whole = best_subsets(*problem)
    monkeypatch.setattr(best_subsets_compiled, "PART", 30.0)
    parts = best_subsets(*problem)
    assert (parts[0] == whole[0]).all()
    assert (parts[1] == whole[1]).all()


@pytest.mark.parametrize("lost", ["never", "always"])
@pytest.mark.parametrize("design", DESIGNS)
def test_bounds_come_from_the_updated_inverse_as_from_a_new_one(design, lost, monkeypatch):
    """The node's rises, updated step by step, are those of its inverse computed from the correlations."""
    X, y = table(design, 60, 8)
    X = X + 1e-3 * simulated(9).standard_normal(X.shape)
    X, y = X / np.sqrt((X**2).sum(axis=0)), y / np.sqrt(y @ y)
    problem = (X.T @ X, X.T @ y, np.arange(9), 0.0)
    small = (np.zeros((1, 1)), np.zeros((8, 1)), np.zeros(1), np.zeros((1, 1)), np.zeros(1))
    work = (np.zeros((8, 8)), np.zeros((8, 8)), np.zeros(8), np.zeros(8, np.int64), np.zeros(8), np.zeros(2, np.uint64))

    def node(model, unit):
        place, n = np.zeros(len(unit), np.int64), len(unit)
        inverse, coef, first, rise = np.zeros((8, 8)), np.zeros(8), np.zeros(8), np.zeros(n)
        rss = refresh(problem, np.array([model, 0], np.uint64), unit, n, place, inverse, coef, first, rise, work, small)
        return rss, place, inverse, coef, first, rise

    rss, place, inverse, coef, first, rise = node(255, np.arange(8))
    unit, new_coef, new_rise = np.arange(1, 8), np.zeros(8), np.zeros(7)
    parent = (problem[2], inverse, coef, first * (1e9 if lost == "always" else 0.0), 0, 1)
    is_exact = drop(parent, unit, place[1:], 7, new_coef, new_rise, small)
    assert is_exact == (lost == "never")
    expected = node(254, unit)
    assert rss + rise[0] == pytest.approx(expected[0], rel=1e-6)
    assert new_rise == pytest.approx(expected[5], rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(("d", "max_size"), [(14, 14), (70, 3), (128, 2)])
def test_a_search_that_is_cut_off_says_what_it_has_not_proven(d, max_size):
    """Its models are no better than the finished search's, its bounds no higher than what is left, and it says so."""
    X, y = table("autoregressive", 300, d)
    units, always = np.eye(d, dtype=bool), np.zeros(d, bool)
    problem = (X.T @ X, X.T @ y, float(y @ y), units, always, max_size, 1)
    early, again, late = search_subsets(*problem, 1e3), search_subsets(*problem, 1e3), search_subsets(*problem, 1e7)
    assert (early.models == again.models).all()
    assert early.models.sum(axis=2).ravel().tolist() == [*range(1, max_size + 1)]
    best = [enumerated(X, y, units, always, m)[0][0] for m in range(1, min(max_size, 2) + 1)] if d < 128 else []
    for m, least in enumerate(best):
        assert early.least[m] <= least * (1 + 1e-8)
        assert early.rss[m, 0] >= least * (1 - 1e-8)
        assert not early.is_proven[m] or early.rss[m, 0] == pytest.approx(least, rel=1e-8)
    assert (late.rss <= early.rss * (1 + 1e-9)).all()
    assert (late.least >= early.least * (1 - 1e-9)).all()
    assert d > 14 or late.is_proven.all()
    assert not early.is_proven.all()


def test_steps_and_exchanges_find_what_enumeration_finds():
    """On independent columns nearly always; a unit of several columns counts as one."""
    hits = 0
    for seed in range(10):
        X, y = table("uniform", 200, 10, seed)
        scale = np.sqrt((X**2).sum(axis=0))
        starts = np.array([0, 1, 2, 4, 5, 8, 9, 10])
        units = np.array([[a <= j < b for j in range(10)] for a, b in itertools.pairwise(starts)])
        models = stepwise((X / scale).T @ (X / scale), (X / scale).T @ y / np.sqrt(y @ y), starts, 7)
        for size in range(1, 8):
            best = enumerated(X, y, units, np.zeros(10, bool), size)[0][1]
            hits += best in [int(words[size - 1, 0]) for words in models]
            assert all(int(words[size - 1, 0]).bit_count() == size for words in models)
    assert hits >= 66


def test_units_of_one_column_take_a_shorter_way_to_the_same_models():
    """A second column that is never swept in makes each unit take the longer one."""
    rng = np.random.default_rng(8)  # noqa: TID251 - simulated data, not noise
    for d in (6, 25):
        X = rng.normal(size=(60, d)) + rng.normal(size=(60, 1))
        X /= np.linalg.norm(X, axis=0)
        y = X @ rng.normal(size=d) + rng.normal(size=60) / 4
        gram, side = X.T @ X, X.T @ y / np.linalg.norm(y)
        gram[1], gram[:, 1], side[1] = gram[0], gram[:, 0], side[0]  # one that cannot be swept beside the first
        gram[1, 1] = 1.0
        short = stepwise(gram, side, np.arange(d + 1), d)
        doubled, doubled_side = np.zeros((2 * d, 2 * d)), np.zeros(2 * d)
        doubled[::2, ::2], doubled_side[::2] = gram, side
        longer = stepwise(doubled, doubled_side, 2 * np.arange(d + 1), d)
        assert all(np.array_equal(one, other) for one, other in zip(short, longer, strict=True))


@pytest.mark.parametrize("design", DESIGNS)
def test_stepwise_models_are_what_their_residuals_say(design):
    """Each size has a model of so many units, whose residuals an independent solver leaves, and none beats the best."""
    units = np.zeros((6, 10), dtype=bool)
    for j, columns in enumerate([(0, 4), (1,), (2, 5, 8), (3, 6), (9,), (7,)]):
        units[j, list(columns)] = True
    always, near = np.zeros(10, dtype=bool), 0
    for seed in range(3):
        X, y = table(design, 80, 10, seed)
        facts = X.T @ X, X.T @ y, float(y @ y), units, always, 6
        rss, models = stepwise_models(*facts)
        exact = best_subsets(*facts, 1)[0][:, 0]
        for size, model in enumerate(models, 1):
            inside = X[:, units[model].any(axis=0)]
            left = float(((y - inside @ np.linalg.lstsq(inside, y, rcond=1e-10)[0]) ** 2).sum())
            assert model.sum() == size
            assert rss[size - 1] == pytest.approx(left, rel=1e-6, abs=1e-8 * float(y @ y))
        assert (rss >= exact - 1e-8 * float(y @ y)).all()
        near += int((rss <= exact + 1e-3 * float(y @ y)).sum())
    assert near >= 15
