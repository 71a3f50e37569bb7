"""Swope et al.: the tables, and the lasso that all rankings rest on."""

import json

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import Lasso

from discreet.mechanisms.rng import Source
from discreet.simulation.draws import normals
from discreet_papers.swope_tables import N_EFFECTS, PENALTY, explained, fan_lv, lasso, microarray, scaled, standardized


def problem(n, d, seed):
    """Columns in several units, two of them equal and one constant, and a target that two of them make."""
    X = normals(Source.seeded(seed), n, d) * np.geomspace(0.5, 4.0, d) + 3.0
    X[:, 4], X[:, 7] = X[:, 3], 5.0
    return X, 2.0 * X[:, 0] - X[:, 5] + normals(Source.seeded(seed + 1), n)


@pytest.mark.parametrize(("n", "d"), [(5, 300), (12, 300), (80, 20)])
def test_the_lasso_meets_its_optimality_conditions(n, d):
    """No column goes with the residual more than the price, and those in the fit by exactly that, with their sign."""
    X, y = problem(n, d, seed=n)
    found = lasso(X, y)
    centered = X - X.mean(axis=0)
    slopes = centered.T @ (y - y.mean() - centered @ found) / n
    assert np.abs(slopes).max() <= PENALTY + 1e-9
    inside = found != 0.0
    assert inside.any()
    assert slopes[inside] == pytest.approx(PENALTY * np.sign(found[inside]), abs=1e-9)


def test_r_squared_is_that_of_coordinate_descent():
    """An independent solver explains the same share of the target."""
    X, y = (standardized(one) for one in problem(80, 20, seed=3))
    peer = Lasso(alpha=PENALTY, tol=1e-10, max_iter=100_000).fit(X, y).score(X, y)
    assert explained(X, y) == pytest.approx(peer, abs=1e-6)


def test_a_constant_target_has_no_lasso():
    """A block of one class names nothing, without a warning."""
    assert not lasso(np.eye(4), np.full(4, 2.0)).any()


def test_scalings_give_their_sizes_and_leave_constants_at_zero():
    """Largest value 1, or mean square 1, around a mean of zero."""
    X, _ = problem(30, 10, seed=4)
    for found, sizes in (
        (scaled(X), np.abs(scaled(X)).max(axis=0)),
        (standardized(X), np.mean(standardized(X) ** 2, axis=0)),
    ):
        assert found.mean(axis=0) == pytest.approx(np.zeros(10), abs=1e-12)
        assert sizes == pytest.approx(np.where(np.arange(10) == 7, 0.0, 1.0))


def test_classes_are_numbered_in_the_order_of_the_source():
    """Not in that of the alphabet, nor of the rows."""
    values = {"y": ["b", "a", "c", "a"], "g1": [1.0, 2.0, 3.0, 4.0], "g2": [0.0, 0.0, 1.0, 1.0]}
    table = pa.table(values).replace_schema_metadata({"classes": json.dumps(["c", "a", "b"])})
    X, y = microarray(table)
    assert y.tolist() == [3.0, 2.0, 1.0, 2.0]
    assert X.tolist() == [[1.0, 0.0], [2.0, 0.0], [3.0, 1.0], [4.0, 1.0]]


def test_the_simulation_has_eight_large_effects():
    """Each is at least 4 log n / root n, which is 1.84 at 100 rows, and the target is theirs plus errors."""
    X, y, effects = fan_lv(Source.seeded(5))
    assert X.shape == (100, 2000)
    assert np.sum(effects != 0.0) == N_EFFECTS
    assert np.abs(effects[effects != 0.0]).min() > 1.84
    assert np.std(y - X @ effects) == pytest.approx(1.5, abs=0.5)
