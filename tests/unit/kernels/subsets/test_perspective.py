"""The best model under penalties is that of enumeration; a certificate is below every model, finished or not."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from tests.unit.kernels.kernel_problems import DESIGNS, simulated

from discreet.kernels.subsets import perspective
from discreet.kernels.subsets.perspective import best_model, bounds_of_sizes, problem_of

CASES = {"equal correlations": 0.5, "nearly singular": 0.99, "all noise": 0.0}
"""Hard for a search: the correlation of any two columns."""


def problem(name, d, widths, seed):
    """Moments of a constant and d units with or without effects, and the units."""
    rng, q = simulated(seed), 1 + int(sum(widths))
    if name in CASES:
        r = CASES[name]
        X = np.sqrt(r) * rng.standard_normal((80, 1)) + np.sqrt(1.0 - r) * rng.standard_normal((80, q))
    else:
        X = DESIGNS[name](rng, 80, q)
    X[:, 0] = 1.0
    effects = np.zeros(q) if name == "all noise" else np.where(rng.random(q) < 0.4, rng.standard_normal(q), 0.0)
    y = X @ effects + rng.standard_normal(80)
    starts = np.concatenate([[1], 1 + np.cumsum(widths)])
    units = np.array([[a <= j < b for j in range(q)] for a, b in pairwise(starts)])
    assert len(units) == d
    return (X.T @ X, X.T @ y, float(y @ y)), units, np.arange(q) == 0


def enumerated(moments, units, always, penalties, max_size):
    """The least criterion, and by size the least residual sum of squares."""
    gram, xty, yty = moments
    best, least = np.inf, np.full(len(units) + 1, np.inf)
    for size in range(len(units) + 1):
        for chosen in combinations(range(len(units)), size):
            at = np.flatnonzero(always | units[list(chosen)].any(axis=0))
            rss = yty - xty[at] @ np.linalg.pinv(gram[np.ix_(at, at)], hermitian=True) @ xty[at]
            least[size] = min(least[size], rss)
            if size <= max_size:
                best = min(best, rss + penalties[list(chosen)].sum())
    return best, least


def check(name, widths, penalty, max_size, seed):
    """A finished search is exact, one that is cut off is true, and so is the bound of each size."""
    d = len(widths)
    moments, units, always = problem(name, d, widths, seed)
    penalties = penalty * np.array(widths, dtype=float)
    best, least = enumerated(moments, units, always, penalties, max_size)
    close = 1e-7 * moments[2]
    gram, xty, yty = moments
    start = np.zeros(d, dtype=bool), yty - xty[0] ** 2 / gram[0, 0]
    for most_work in (1.0, 1e5, 1e10):
        found = best_model(moments, units, always, penalties, max_size, start, most_work)
        at = np.flatnonzero(always | units[found.model].any(axis=0))
        rss = yty - xty[at] @ np.linalg.pinv(gram[np.ix_(at, at)], hermitian=True) @ xty[at]
        assert found.value == pytest.approx(rss + penalties[found.model].sum(), abs=close)
        assert found.model.sum() <= max_size
        assert found.bound <= best + close
        assert found.value >= best - close
    if problem_of(*moments, units, always) is not None:
        assert found.value == pytest.approx(best, abs=close)
        assert found.bound == found.value
    assert (bounds_of_sizes(moments, units, always, d) <= least[1:] + close).all()


@pytest.mark.parametrize("penalty", [0.5, 4.0, 20.0])
@pytest.mark.parametrize("name", [*DESIGNS, *CASES])
def test_the_best_model_is_that_of_enumeration(name, penalty):
    """Single columns; the limit of the size does not bind, or does."""
    for seed, max_size in ((0, 8), (1, 3)):
        check(name, [1] * 8, penalty, max_size, seed)


@pytest.mark.parametrize("name", ["uniform", *CASES])
def test_groups_of_different_size_pay_for_each_column(name):
    """Units of one to three columns whose penalties differ."""
    for seed in range(3):
        check(name, [1, 3, 2, 1, 2, 1, 3], 3.0, 7, seed)


@pytest.mark.slow
def test_fifteen_columns_are_those_of_enumeration():
    """All 32,768 models."""
    for name in CASES:
        check(name, [1] * 15, 3.0, 15, 5)


@pytest.mark.parametrize("name", ["uniform", *CASES])
def test_strengths_leave_a_semidefinite_matrix(name):
    """Without it nothing would be a bound."""
    moments, units, always = problem(name, 6, [1, 2, 1, 3, 1, 1], 4)
    found = problem_of(*moments, units, always)
    rest = found.gram - np.diag(np.repeat(found.strength, np.diff(found.starts)))
    assert np.linalg.eigvalsh(rest)[0] >= 0.0
    assert (found.strength > 0.0).all()


def test_strengths_that_are_too_large_are_found_out(monkeypatch):
    """The control: with twice the strength a bound passes the best model."""
    moments, units, always = problem("equal correlations", 8, [1] * 8, 0)
    _, least = enumerated(moments, units, always, np.zeros(8), 8)
    assert (bounds_of_sizes(moments, units, always, 8) <= least[1:] + 1e-6).all()
    ours = perspective.problem_of

    def doubled(*arguments):
        found = ours(*arguments)
        return found._replace(strength=np.minimum(2.0 * found.strength, 0.999))

    monkeypatch.setattr(perspective, "problem_of", doubled)
    assert (bounds_of_sizes(moments, units, always, 8) > least[1:] + 1e-6).any()


def test_a_hundred_and_twenty_eight_columns_are_proven_where_effects_are_clear():
    """More columns than two words of leaps and bounds can rule out one by one."""
    rng = simulated(7)
    X = rng.standard_normal((2000, 128))
    y = X[:, [3, 70, 127]].sum(axis=1) + rng.standard_normal(2000)
    moments, units = (X.T @ X, X.T @ y, float(y @ y)), np.eye(128, dtype=bool)
    start = np.zeros(128, dtype=bool), float(y @ y)
    found = best_model(moments, units, np.zeros(128, dtype=bool), np.full(128, 14.0), 128, start, 1e9)
    assert np.flatnonzero(found.model).tolist() == [3, 70, 127]
    assert found.bound == found.value
