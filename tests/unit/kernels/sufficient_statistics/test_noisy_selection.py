"""Without noise the answers are the ordinary ones; with noise they are possible, and right as often as is claimed."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from benchmarks.right_models import BETAS, Contestant, noisy_moments, share, table
from sklearn.linear_model import lars_path
from tests.unit.kernels.kernel_problems import DESIGNS, simulated

from discreet.kernels.rows.unit_rows import lengths, shortest_length, unit_rows
from discreet.kernels.subsets.best_subsets import best_subsets
from discreet.kernels.sufficient_statistics.cleaning import cleaned, declared
from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.kernels.sufficient_statistics.selection import (
    best_models,
    lasso_path,
    r_squared,
    unit_penalties,
    weighted,
)
from discreet.kernels.sufficient_statistics.shares import (
    Shares,
    clip_level,
    cost,
    noise_levels,
    selection_shares,
    sensitivities,
)

RELATIONS = ("replace_one", "add_or_remove_one")


def rows(seed: int, n: int = 400, p: int = 6, design: str = "uniform") -> tuple[Any, Any]:
    """A constant, p columns, and a response to the first and the third."""
    rng = simulated(seed)
    X = np.column_stack([np.ones(n), DESIGNS[design](rng, n, p)])
    return X, np.clip(0.1 + 0.5 * X[:, 1] - 0.3 * X[:, 3] + 0.2 * rng.standard_normal(n), -1.0, 1.0)


def moments(X: Any, y: Any, noise: float = 0.0, seed: int = 0, n_noise: float = 0.0) -> NoisyGram:
    """Moments with normal noise of one standard deviation, the constant's square public."""
    rng, p = simulated(1000 + seed), X.shape[1]
    spread = np.full((p, p), noise)
    spread[0, 0] = 0.0
    errors = np.triu(rng.standard_normal((p, p))) * spread
    gram = X.T @ X + errors + np.triu(errors, 1).T
    xty, yty = X.T @ y + noise * rng.standard_normal(p), float(y @ y + noise * rng.standard_normal())
    n_rows = len(y) + n_noise * float(rng.standard_normal())
    return NoisyGram(gram, xty, yty, spread**2, np.full(p, noise**2), noise**2, n_rows, n_noise**2)


def units_of(p: int) -> tuple[Any, Any]:
    """Each column but the first by itself; the first in every model."""
    each = np.eye(p, dtype=np.bool_)
    return each[1:], each[0]


# ---- without noise


@pytest.mark.parametrize("design", DESIGNS)
def test_without_noise_moments_stay_as_they_are(design: str) -> None:
    """Cleaning and weighting change nothing that has no noise, singular or not."""
    found = moments(*rows(1, design=design))
    clean = cleaned(found, 0)
    weights = weighted(found, clean)
    assert clean.gram is found.gram
    assert not clean.error.any()
    assert weights.gram is found.gram
    assert weights.xty is found.xty
    assert weights.yty == pytest.approx(found.yty)


def test_without_noise_the_residual_variance_is_least_squares() -> None:
    """Statsmodels estimates the same from the rows."""
    X, y = rows(2)
    found = moments(X, y)
    assert weighted(found, cleaned(found)).residual_variance == pytest.approx(sm.OLS(y, X).fit().scale)


@pytest.mark.parametrize("penalty", ["aic", "bic", "auto", 5.0])
def test_without_noise_the_best_model_is_that_of_enumeration(penalty: Any) -> None:
    """Its criterion is RSS / s^2 plus the penalties, and no other model's is smaller."""
    X, y = rows(3)
    found = moments(X, y)
    units, always = units_of(7)
    penalties = unit_penalties(penalty, units, len(y))
    best = best_models(weighted(found, cleaned(found)), units, always, penalties)
    s2 = sm.OLS(y, X).fit().scale
    by_mask = {}
    for size in range(7):
        for chosen in combinations(range(6), size):
            fit = sm.OLS(y, X[:, [0, *(j + 1 for j in chosen)]]).fit()
            by_mask[sum(1 << j for j in chosen)] = fit.ssr / s2 + penalties[list(chosen)].sum()
    assert best.mask == min(by_mask, key=by_mask.__getitem__)
    assert best.criterion == pytest.approx(by_mask[best.mask])
    for size, (mask, criterion) in enumerate(zip(best.masks, best.criteria, strict=True)):
        assert int(mask).bit_count() == size
        assert criterion == pytest.approx(by_mask[int(mask)])


def test_without_noise_the_best_of_each_size_are_those_of_the_search() -> None:
    """Up to the size asked for."""
    found = moments(*rows(4, p=12))
    units, always = units_of(13)
    best = best_models(weighted(found, cleaned(found)), units, always, unit_penalties("bic", units, 400.0), 5)
    _, masks = best_subsets(found.gram, found.xty, found.yty, units, always, 5, 1)
    assert list(best.masks[1:]) == masks[:, 0].tolist()


def test_groups_of_different_size_pay_for_each_column_and_the_best_is_proven() -> None:
    """A wide unit may lose to a narrow one that explains less: more models are asked for until that is certain."""
    found = moments(*rows(5, p=9), noise=3.0)
    each = np.eye(10, dtype=np.bool_)
    units = np.array([each[1] | each[2], each[3], each[4] | each[5] | each[6], each[7], each[8], each[9]])
    weights = weighted(found, cleaned(found, 0))
    for penalty in (0.5, 4.0, 60.0):
        penalties = unit_penalties(penalty, units, 400.0)
        assert penalties.tolist() == [2 * penalty, penalty, 3 * penalty, penalty, penalty, penalty]
        values = []
        for mask in range(64):
            chosen = [k for k in range(6) if mask >> k & 1]
            at = np.flatnonzero(each[0] | units[chosen].any(axis=0))
            side = weights.xty[at]
            rss = weights.yty - side @ np.linalg.solve(weights.gram[np.ix_(at, at)], side)
            values.append(rss / weights.residual_variance + penalties[chosen].sum())
        best = best_models(weights, units, each[0], penalties)
        assert best.mask == int(np.argmin(values))
        assert best.criterion == pytest.approx(min(values))


def test_forced_columns_are_in_every_model_and_no_unit_is_too_few() -> None:
    """With nothing to choose, the empty choice is the answer."""
    found = moments(*rows(6))
    always = np.ones(7, dtype=np.bool_)
    best = best_models(weighted(found, cleaned(found)), np.zeros((0, 7), dtype=np.bool_), always, np.zeros(0))
    assert (best.mask, best.masks) == (0, (0,))


def test_without_noise_the_path_is_the_lasso() -> None:
    """Knots and coefficients of scikit-learn, from centered rows."""
    X, y = rows(7)
    found = moments(X, y)
    knots, path = lasso_path(weighted(found, cleaned(found)), units_of(7)[1])
    alphas, _, expected = lars_path(X[:, 1:] - X[:, 1:].mean(axis=0), y - y.mean(), method="lasso")
    np.testing.assert_allclose(knots, alphas * len(y), atol=1e-9)
    np.testing.assert_allclose(path[:, 1:], expected.T, atol=1e-9)
    np.testing.assert_allclose(path[-1], sm.OLS(y, X).fit().params, atol=1e-9)


def test_without_noise_r_squared_is_the_usual_one() -> None:
    """And has no error."""
    X, y = rows(8)
    found = moments(X, y)
    each, clean = np.eye(7, dtype=np.bool_), cleaned(found)
    models = [each[0], each[0] | each[1], each[0] | each[1] | each[3]]
    values, errors = r_squared(found, clean, weighted(found, clean), models, each[0])
    expected = [sm.OLS(y, X[:, model]).fit().rsquared for model in models]
    np.testing.assert_allclose(values, expected, atol=1e-9)
    assert not errors.any()


# ---- with noise


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("noise", [1.0, 30.0, 1e4])
def test_cleaned_moments_are_possible_and_keep_what_is_public(design: str, noise: float) -> None:
    """Positive semidefinite, squares within (0, n], the public count untouched, errors never negative."""
    for seed in range(5):
        X, y = rows(seed, design=design)
        clean = cleaned(moments(X, y, noise, seed), 0)
        assert np.linalg.eigvalsh(clean.gram)[0] >= -1e-9 * len(y)
        assert clean.gram[0, 0] == pytest.approx(len(y), rel=1e-9)
        assert (clean.gram == clean.gram.T).all()
        assert (clean.gram.diagonal() > 0.0).all()
        assert (clean.gram.diagonal() <= len(y) * (1 + 1e-6) + noise).all()
        assert (clean.error >= 0.0).all()


def test_cleaning_comes_closer_to_the_truth() -> None:
    """Shrinkage more than halves the squared error of independent columns and does no harm to correlated ones."""
    for design, factor in (("uniform", 0.2), ("autoregressive", 1.0)):
        before, after = 0.0, 0.0
        for seed in range(20):
            X, y = rows(seed, design=design)
            noisy = moments(X, y, 20.0, seed)
            before += float(((noisy.gram - X.T @ X) ** 2).sum())
            after += float(((cleaned(noisy, 0).gram - X.T @ X) ** 2).sum())
        assert after < factor * before


def test_levels_of_a_category_exclude_each_other() -> None:
    """Their products are zero, and the square and the sum of a dummy are averaged."""
    X, y = rows(9, p=5, design="dummies and constant")
    X = X[:, [0, 2, 3, 4, 5]]
    dummies = np.array([[False, True, True, True, True]])
    errors = []
    for seed in range(30):
        noisy = moments(X, y, 15.0, seed)
        clean = cleaned(noisy, 0, dummies)
        assert clean.gram[1, 2] == pytest.approx(0.0, abs=1e-6)
        errors.append([np.square(c.gram[0, 1:] - X.sum(axis=0)[1:]).sum() for c in (clean, cleaned(noisy, 0))])
    with_it, without = np.mean(errors, axis=0)
    assert with_it < 0.7 * without


def test_statements_about_the_noise_hold() -> None:
    """Over many draws the residual of the true model is chi-squared: neither noise nor its removal is forgotten."""
    units, always = units_of(7)
    entered = []
    for seed in range(250):
        X, y = rows(seed)
        noisy = moments(X, y, 10.0, seed)
        weights = weighted(noisy, cleaned(noisy, 0))
        best = best_models(weights, units, always, unit_penalties(3.841, units, 400.0))
        entered.append([best.mask >> j & 1 for j in (1, 3, 4, 5)])
    assert 0.02 < np.mean(entered) < 0.08  # 5%, each by itself


def test_r_squared_is_corrected_for_noise() -> None:
    """Its mean over noise is the one without noise, and its standard error is the spread."""
    X, y = rows(10, n=2000)
    each = np.eye(7, dtype=np.bool_)
    models = [each[0] | each[1] | each[3]]
    truth = sm.OLS(y, X[:, models[0]]).fit().rsquared
    found = []
    for seed in range(200):
        noisy = moments(X, y, 15.0, seed)
        clean = cleaned(noisy, 0)
        value, error = r_squared(noisy, clean, weighted(noisy, clean), models, each[0])
        found.append((value[0], error[0]))
    values, errors = np.array(found).T
    assert values.mean() == pytest.approx(truth, abs=0.03)
    assert errors.mean() == pytest.approx(values.std(), rel=0.4)


def test_declared_moments_carry_what_chance_leaves() -> None:
    """They are n times the population's, each with the variance of a sum of n products."""
    clean = declared(300.0 * np.eye(2) / 3.0, 300.0)
    assert clean.error[0, 1] == pytest.approx(300.0 / 9.0)


HARD = {
    "constant column": lambda X, y: (np.column_stack([X, np.zeros(len(y))]), y),
    "perfect fit": lambda X, _: (X, 0.5 * X[:, 1]),
    "y all equal": lambda X, _: (X, np.full(len(X), 0.4)),
    "y zero": lambda X, _: (X, np.zeros(len(X))),
    "more columns than rows": lambda X, y: (X[:5], y[:5]),
    "one row": lambda X, y: (X[:1], y[:1]),
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("noise", [0.0, 5.0, 1e6])
@pytest.mark.parametrize("n_noise", [0.0, 1e4])
def test_hard_tables_have_finite_answers(case: str, noise: float, n_noise: float) -> None:
    """Whatever the noise, and a noisy number of rows that is negative."""
    for seed in range(3):
        X, y = HARD[case](*rows(seed))
        noisy = moments(X, y, noise, seed, n_noise)
        units, always = units_of(X.shape[1])
        clean = cleaned(noisy, 0)
        weights = weighted(noisy, clean)
        best = best_models(weights, units, always, unit_penalties("auto", units, clean.n_rows))
        values, errors = r_squared(noisy, clean, weights, [units.any(axis=0) | always], always)
        knots, path = lasso_path(weights, always)
        assert weights.residual_variance > 0.0
        assert np.isfinite(best.criteria).all()
        assert np.isfinite(knots).all()
        assert np.isfinite(path).all()
        assert 0.0 <= values[0] <= 1.0
        assert 0.0 <= errors[0] <= 1.0
        if case == "perfect fit" and noise == 0.0 and n_noise == 0.0:
            assert best.mask == 1
        if noise == 1e6:
            assert best.mask.bit_count() <= 2


# ---- shares and rows


def test_the_cost_of_shares_bounds_every_pair_of_rows() -> None:
    """Random and extreme rows, replaced by another: the squared norm over squared noise never exceeds it."""
    rng = simulated(11)
    x, w = rng.uniform(-1, 1, (2, 50_000, 3))
    y, v = rng.uniform(-1, 1, (2, 50_000))
    x[::2], w[::2], y[::2], v[::2] = np.sign(x[::2]), np.sign(w[::2]), np.sign(y[::2]), np.sign(v[::2])
    v[::4] = 0.0
    moved = [
        np.square(x * y[:, None] - w * v[:, None]).sum(axis=1),
        np.square(x[:, :, None] * x[:, None, :] - w[:, :, None] * w[:, None, :]).sum(axis=(1, 2)),
        (y**2 - v**2) ** 2,
    ]
    alone = sensitivities(3.0, "replace_one")
    for shares in (Shares(1.0, 0.25, 0.5), Shares(0.9, 0.43, 0.34), Shares(0.3, 0.6, 0.1), Shares(1.0, 0.0, 0.5)):
        weights = [f / limit**2 for f, limit in zip(shares[:3], alone[:3], strict=True)]
        largest = max(sum(weight * square for weight, square in zip(weights, moved, strict=True)))
        assert 0.8 * cost(shares, "replace_one") < largest <= cost(shares, "replace_one") + 1e-12


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("public_gram", [False, True])
def test_recommended_shares_can_be_afforded(relation: Any, public_gram: bool) -> None:
    """And nearly use up the budget; what is public gets no noise."""
    shares = selection_shares(relation, public_gram)
    assert 0.99 < cost(shares, relation) <= 1.0
    xty, gram, yty = noise_levels(shares, 7.0, 0.25, relation, 3)
    assert xty == pytest.approx(sensitivities(7.0, relation).xty / 0.25 / shares.xty**0.5)
    assert (gram[0, 1] == 0.0) == public_gram
    assert gram[0, 0] == pytest.approx(2.0**0.5 * gram[0, 1])
    assert yty > 0.0


def test_clipping_is_for_few_rows() -> None:
    """The level rises with the number of rows, and falls with the noise."""
    levels = [clip_level(9.0, n, 1.0 / 6.0) for n in (100, 1_000, 10_000, 1_000_000)]
    assert levels == sorted(levels)
    assert levels[-1] == 0.99
    assert clip_level(30.0, 1_000, 1.0 / 6.0) <= clip_level(3.0, 1_000, 1.0 / 6.0)


@pytest.mark.parametrize("beta", BETAS)
def test_no_row_is_longer_than_one(beta: tuple[float, ...]) -> None:
    """On the grid, exactly; and without clipping least squares finds the same coefficients, up to rounding."""
    cells = table(beta, 1)
    shortest = shortest_length(6)
    scaled = unit_rows(cells, 2.0, shortest).astype(np.int64)
    assert (np.square(scaled[:, :-1]).sum(axis=1) <= 32767**2).all()
    assert (np.abs(scaled[:, -1]) <= 32767).all()
    X, y = cells[:, :-1] / 32767, cells[:, -1] / 32767
    weights = lengths(cells, shortest) ** -2.0
    expected = sm.WLS(y, X, weights=weights).fit().params
    found = sm.OLS(scaled[:, -1] / 32767 * 2.0, scaled[:, :-1] / 32767).fit().params
    np.testing.assert_allclose(found * np.array([0.5, *[1.0] * 6]), expected, atol=2e-3)


@pytest.mark.statistics
@pytest.mark.parametrize(("relation", "least"), [("replace_one", (0.95, 0.75)), ("add_or_remove_one", (0.95, 0.9))])
def test_right_models_of_the_figure(relation: Any, least: tuple[float, float]) -> None:
    """Sixty tables of ``benchmarks/right_models.py``, seeded."""
    contestant = Contestant("noisy moments", noisy_moments)
    for beta, bound in zip(BETAS, least, strict=True):
        assert share(contestant, relation, [table(beta, seed) for seed in range(60)], beta) >= bound
