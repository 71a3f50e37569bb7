"""The face of best subsets: names, groups and sizes in, models out, and refusals that say what to do."""

from dataclasses import FrozenInstanceError
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InvalidParameterError
from discreet.estimators.best_subsets import MAX_BEST, BestSubset

NAMES = ["intercept", "age", "sex", "north", "south", "visits"]


@pytest.fixture(scope="module")
def data():
    """A table with a column of ones and two indicators."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    X = np.column_stack([np.ones(80), rng.uniform(18, 80, 80), rng.integers(0, 2, 80), np.zeros((80, 3))])
    region = rng.integers(0, 3, 80)
    X[:, 3], X[:, 4], X[:, 5] = region == 0, region == 1, rng.poisson(3.0, 80)
    return X, 2.0 + 0.1 * X[:, 1] - X[:, 4] + 0.5 * X[:, 5] + rng.standard_normal(80)


@pytest.fixture(scope="module")
def moments(data):
    """X'X, X'y and y'y."""
    X, y = data
    return X.T @ X, X.T @ y, float(y @ y)


def residual(data, columns):
    """Residual sum of squares of one model, from the table."""
    X, y = data
    used = [NAMES.index(name) for name in columns]
    return float(((y - X[:, used] @ np.linalg.lstsq(X[:, used], y, rcond=None)[0]) ** 2).sum())


def test_models_are_those_of_enumeration(data, moments):
    """By size and best first, forced columns in each, a group as one unit."""
    free = [("age",), ("sex",), ("north", "south"), ("visits",)]
    found = dc.best_subsets(*moments, names=NAMES, always=["intercept"], groups=[["north", "south"]], n_best=3)
    expected = []
    for size in range(1, 5):
        models = [{"intercept", *(name for unit in chosen for name in unit)} for chosen in combinations(free, size)]
        sorted_models = sorted(tuple(name for name in NAMES if name in model) for model in models)
        ranked = sorted(sorted_models, key=lambda model: residual(data, model))[:3]
        expected += [(size, model, pytest.approx(residual(data, model), rel=1e-9)) for model in ranked]
    assert [(model.size, model.columns, model.rss) for model in found] == expected


def test_without_names_columns_are_positions(moments):
    """Positions serve in the parameters and in the result."""
    named = dc.best_subsets(*moments, names=NAMES, always=["intercept"], groups=[["south", "north"]], max_size=2)
    plain = dc.best_subsets(*moments, always=[0], groups=[[4, 3]], max_size=2)
    assert [[NAMES[i] for i in model.columns] for model in plain] == [list(model.columns) for model in named]
    assert [model.size for model in plain] == [1, 2]


def test_a_model_is_a_value(moments):
    """Two calls give equal models, which nobody can change."""
    first, second = dc.best_subsets(*moments), dc.best_subsets(*moments)
    assert first == second
    with pytest.raises(FrozenInstanceError):
        first[0].rss = 0.0
    assert all(isinstance(model, BestSubset) and type(model.rss) is float for model in first)


def test_moments_may_be_frames_lists_and_integers(moments):
    """Whatever NumPy reads as numbers; a hair of asymmetry is rounding; nothing given is changed."""
    gram, xty, yty = moments
    expected = dc.best_subsets(*moments)
    assert dc.best_subsets(pd.DataFrame(gram), pd.Series(xty), np.float64(yty)) == expected
    assert dc.best_subsets(gram.tolist(), xty.tolist(), yty) == expected
    tilted = gram.copy()
    tilted[0, 1] *= 1.0 + 1e-13
    kept = tilted.copy()
    assert [model.columns for model in dc.best_subsets(tilted, xty, yty)] == [model.columns for model in expected]
    assert (tilted == kept).all()
    whole = np.array([[4, 2], [2, 4]])
    assert [model.rss for model in dc.best_subsets(whole, [4, 3], 5)] == [pytest.approx(1.0), pytest.approx(2 / 3)]


def test_all_models_can_be_listed(moments):
    """With n_best beyond their number every model is there once."""
    found = dc.best_subsets(*moments, n_best=MAX_BEST)
    assert len({model.columns for model in found}) == len(found) == 2**6 - 1
    assert [model.size for model in found] == sorted(model.size for model in found)


def noisy(gram, scale):
    """A Gram matrix released with symmetric noise."""
    noise = np.random.default_rng(1).standard_normal(gram.shape) * scale  # noqa: TID251 - simulated data
    return gram + noise + noise.T


def test_noisy_moments_are_refused_and_a_ridge_mends_them(moments):
    """The ridge that the error asks for makes the matrix acceptable; y'y may have to grow, by as much as it says."""
    gram, xty, yty = moments
    indefinite = noisy(gram, 30.0)
    with pytest.raises(InvalidParameterError, match=r"gram must be positive semidefinite.*Add a ridge") as refused:
        dc.best_subsets(indefinite, xty, yty)
    ridge = 2.0 * float(str(refused.value).rsplit(" ", 1)[1].rstrip("."))
    mended = indefinite + ridge * np.eye(6)
    assert np.linalg.eigvalsh(mended)[0] > 0.0
    with pytest.raises(InvalidParameterError, match=r"yty must be at least .* = (\S+),.*yty=.*larger yty"):
        dc.best_subsets(mended, xty, 1.0)
    least = float(xty @ np.linalg.solve(mended, xty))
    found, more = (dc.best_subsets(mended, xty, least + extra, n_best=2) for extra in (1.0, 1000.0))
    assert [model.columns for model in found] == [model.columns for model in more]
    assert [model.rss + 999.0 for model in found] == [pytest.approx(model.rss) for model in more]


def test_a_singular_gram_with_a_noisy_xty_asks_for_a_ridge(moments):
    """Two equal columns must have equal moments with the target: no y'y mends that."""
    gram, xty, yty = moments
    twice = [0, 1, 2, 3, 4, 5, 5]
    with pytest.raises(InvalidParameterError, match=r"xty is not in the span.*Add a ridge"):
        dc.best_subsets(gram[np.ix_(twice, twice)], xty[twice] + np.eye(7)[6], yty)
    assert len(dc.best_subsets(gram[np.ix_(twice, twice)], xty[twice], yty)) == 7


def changed(moments, what):
    """The moments with one thing wrong."""
    gram, xty, yty = (np.array(value) for value in moments)
    if what == "asymmetric":
        gram[1, 2] += 7.0
    elif what == "nan":
        gram[0, 0] = np.nan
    elif what == "infinite":
        xty[2] = -np.inf
    elif what == "negative square":
        gram[5, 5] = -1.0
    elif what == "zero square":
        gram[5, 5] = 0.0
    else:
        gram, xty, yty = {
            "not square": (gram[:5], xty, yty),
            "empty": (np.zeros((0, 0)), np.zeros(0), yty),
            "vector": (gram[0], xty, yty),
            "short xty": (gram, xty[:5], yty),
            "two-dimensional xty": (gram, xty[:, None], yty),
            "yty of two": (gram, xty, np.array([1.0, 2.0])),
            "no yty": (gram, xty, np.nan),
            "negative yty": (gram, xty, -1.0),
            "text": ([["a"]], xty, yty),
        }[what]
    return gram, xty, yty


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("asymmetric", r"gram must be symmetric, but gram\[1, 2\]=.* and gram\[2, 1\]=.*\(gram \+ gram\.T\) / 2"),
        ("nan", "gram must be finite, but it holds nan"),
        ("infinite", "xty must be finite, but it holds -inf"),
        ("negative square", "gram must be positive semidefinite"),
        ("zero square", "gram must be positive semidefinite"),
        ("not square", r"gram must be a square matrix, but its shape is \(5, 6\)"),
        ("empty", "gram must be a square matrix"),
        ("vector", "gram must be a square matrix"),
        ("short xty", "xty must have one entry a column"),
        ("two-dimensional xty", "xty must have one entry a column"),
        ("yty of two", "yty must be a number"),
        ("no yty", "yty must be finite"),
        ("negative yty", "yty must be at least"),
        ("text", "gram must hold numbers"),
    ],
)
def test_moments_of_no_table_are_refused(what, message, moments):
    """Each refusal says what must hold and what was found."""
    with pytest.raises(InvalidParameterError, match=message):
        dc.best_subsets(*changed(moments, what))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"names": NAMES[:5]}, "names must have one name a column of gram, but there are 5 names and 6 columns"),
        ({"names": [*NAMES[:5], "age"]}, "names must differ, but 'age'"),
        ({"names": NAMES, "always": ["income"]}, "always must hold columns of gram, each once, but it holds 'income'"),
        ({"names": NAMES, "always": "age"}, "always must be a sequence of columns, but it is 'age'"),
        ({"names": NAMES, "always": ["age", "age"]}, "a column twice"),
        ({"names": NAMES, "always": [0]}, "it holds 0. Use the names given"),
        ({"always": [6]}, "it holds 6. Use positions from 0"),
        ({"always": [True]}, "it holds True"),
        ({"always": [0, 1, 2, 3, 4, 5]}, "there are 0. Take a column out of always"),
        ({"groups": [[1, 2], [2, 3]]}, "groups must not share a column"),
        ({"groups": [[1, 7]]}, "groups must hold columns of gram"),
        ({"groups": [[0, 1]], "always": [0]}, "A column of always cannot be in a group"),
        ({"max_size": 0}, "max_size must be an integer from 1 to 6, but max_size=0"),
        ({"max_size": 7}, "max_size=7"),
        ({"max_size": 5, "groups": [[1, 2]], "always": [0]}, "from 1 to 4"),
        ({"max_size": 2.0}, "max_size=2.0"),
        ({"n_best": 0}, "n_best must be an integer from 1 to 10,000, but n_best=0"),
        ({"n_best": True}, "n_best=True"),
    ],
)
def test_parameters_out_of_range_are_refused(given, message, moments):
    """Each refusal names the parameter, what was found and what to do."""
    with pytest.raises(InvalidParameterError, match=message):
        dc.best_subsets(*moments, **given)


@pytest.mark.slow
def test_more_units_than_bits_are_refused():
    """129 free columns are one too many; a group or a forced column makes room."""
    gram, xty = np.eye(129), np.full(129, 0.01)
    with pytest.raises(InvalidParameterError, match=r"From 1 to 128 columns or groups .* but there are 129"):
        dc.best_subsets(gram, xty, 1.0)
    assert len(dc.best_subsets(gram, xty, 1.0, groups=[[0, 128]], max_size=1)) == 1
    assert len(dc.best_subsets(gram, xty, 1.0, always=[128], max_size=2)) == 2
