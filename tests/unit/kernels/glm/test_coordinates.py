"""Rows are turned where columns are narrow or alike: then noise is small beside sampling in every direction."""

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from glm_problems import fitted, logistic_cells, natural
from scipy.special import expit

from discreet.kernels.glm.coordinates import lengths, parts_of, turn_of
from discreet.kernels.glm.families import LOGISTIC, poisson
from discreet.kernels.glm.likely_rows import LikelyRows
from discreet.kernels.glm.problem import Problem
from discreet.kernels.moments.moments import GRID

COUNTS = poisson(30.0)
MODELS = {"logistic": sm.families.Binomial(), "poisson": sm.families.Poisson()}


def generator(seed: int) -> Any:
    return np.random.default_rng(seed)  # noqa: TID251 - simulated data and noise


def narrow_cells(n: int, rng: Any, family: Any) -> np.ndarray:
    """Three columns that fill a tenth of their bounds and go together (.9), far from the middle."""
    shared, own = rng.normal(size=(n, 1)), rng.normal(size=(n, 3))
    x = np.clip(0.4 + 0.04 * (0.95 * shared + 0.31 * own), -1.0, 1.0)
    eta = -0.4 + (x - 0.4) @ np.array([8.0, -4.0, 4.0])
    y = (rng.random(n) < expit(eta)) * 1.0 if family is LOGISTIC else np.minimum(rng.poisson(np.exp(eta)), 30)
    cells = np.column_stack([np.ones(n), x, (y - family.middle) / family.half])
    return np.asfortranarray(np.rint(cells * GRID).astype(np.int16))


@pytest.mark.parametrize("family", [LOGISTIC, COUNTS], ids=lambda family: family.name)
@pytest.mark.parametrize("replace", [True, False])
def test_little_noise_bends_nothing(family: Any, replace: bool) -> None:
    """Narrow columns that go together: estimates are within half a standard error of maximum likelihood."""
    for seed in range(4):
        cells = narrow_cells(5_000, generator(seed), family)
        x, y = natural(cells, family)
        wald = sm.GLM(y, x, family=MODELS[family.name]).fit()
        mu = 15.0 if family is LOGISTIC else 80.0
        fit, requests = fitted(Problem(family, 4, (), mu, replace, len(cells)), cells, generator(100 + seed))
        assert requests[-1].row_map.turn is not None
        assert np.abs((fit.coef - wald.params) / wald.bse).max() < 0.5
        assert (fit.high - fit.low) / (2.0 * 1.96 * wald.bse) == pytest.approx(1.0, abs=0.12)


@pytest.mark.statistics
def test_intervals_of_turned_rows_cover() -> None:
    """Noise as large as sampling, rows shortened: intervals are right as often as they say."""
    truth, hits, turned = np.array([8.0, -4.0, 4.0]), [], 0
    for seed in range(30):
        rng = generator(200 + seed)
        cells = narrow_cells(5_000, rng, LOGISTIC)
        fit, requests = fitted(Problem(LOGISTIC, 4, (), 0.7, False, 5_000), cells, rng)
        turned += requests[-1].row_map.turn is not None
        hits.append((fit.low[1:] <= truth) & (truth <= fit.high[1:]))
    assert turned > 20
    assert 0.88 <= np.mean(hits) <= 1.0


def test_rows_that_noise_hides_stay_as_they_are() -> None:
    """What the first pass tells of the score is worth more there, and turned passes cannot use it."""
    cells = logistic_cells(1_000, generator(3))
    _, requests = fitted(Problem(LOGISTIC, 4, (), 0.1, True, len(cells)), cells, generator(4))
    assert all(request.row_map.turn is None for request in requests)


def test_turned_columns_have_unit_variance_and_no_correlation() -> None:
    """Of the rows that released moments make likely; a direction below the noise is not stretched beyond it."""
    center, sd = np.array([1.0, 0.4, -0.2, 0.0]), np.array([0.0, 0.1, 0.3, 0.5])
    correlation = np.array([[1.0, 0, 0, 0], [0, 1, 0.6, 0.0], [0, 0.6, 1, -0.3], [0, 0.0, -0.3, 1]])
    spread = correlation * np.outer(sd, sd)
    rows = LikelyRows.of(LOGISTIC, np.zeros(4), center, spread, 100.0).rows
    assert rows.mean(axis=0) == pytest.approx(center, abs=0.02)
    assert np.cov(rows.T)[1:, 1:] == pytest.approx(spread[1:, 1:], abs=0.02)
    turned = rows @ turn_of(center, spread, 1e-6, 2.0).natural.T
    assert turned.mean(axis=0) == pytest.approx([1.0, 0, 0, 0], abs=0.1)
    assert np.cov(turned.T)[1:, 1:] == pytest.approx(np.eye(3), abs=0.12)
    less = rows @ turn_of(center, spread, 0.05, 2.0).natural.T
    assert np.cov(less.T)[1, 1] < 0.5


def test_zero_one_columns_are_likely_to_be_so() -> None:
    """A column with the largest variance that its mean allows has its bounds alone; and one of dummies 0 and 1."""
    at = 0.1
    center = np.array([1.0, 2.0 * at - 1.0, at])
    spread = np.diag([0.0, 4.0 * at * (1.0 - at), at * (1.0 - at)])
    rows = LikelyRows.of(LOGISTIC, np.zeros(3), center, spread, 100.0, ((2,),)).rows
    assert set(rows[:, 1]) == {-1.0, 1.0}
    assert set(rows[:, 2]) == {0.0, 1.0}
    assert (rows[:, 1] > 0).mean() == pytest.approx(at, abs=0.01)


def test_no_row_is_longer_than_the_longest_length() -> None:
    """At that length all rows within the bounds count alike, those of a category's levels too."""
    rng = generator(9)
    x = np.column_stack([np.ones(500), rng.choice([-1.0, 1.0], (500, 2)), np.zeros((500, 2))])
    x[np.arange(500), 3 + rng.integers(0, 2, 500)] = rng.integers(0, 2, 500)
    turn = turn_of(np.array([1.0, 0.4, -0.7, 0.2, 0.1]), np.diag([0.0, 0.2, 0.5, 0.1, 0.1]), 1e-6, 2.0)
    choices = lengths(turn, ((3, 4),))
    assert choices == sorted(choices)
    assert (parts_of(turn, x, choices[-1]) == 1.0).all()
    assert (parts_of(turn, x, choices[0]) < 1.0).any()


def test_slopes_that_sampling_hides_are_not_shrunk_without_noise() -> None:
    """No slope has an effect, so that a narrow prior is likely; noise is small beside what sampling makes of them."""
    for seed in range(4):
        rng = generator(300 + seed)
        cells = narrow_cells(2_000, rng, LOGISTIC)
        cells[:, -1] = np.where(rng.random(len(cells)) < 0.4, GRID, -GRID)
        x, y = natural(cells, LOGISTIC)
        wald = sm.GLM(y, x, family=MODELS["logistic"]).fit()
        fit, _ = fitted(Problem(LOGISTIC, 4, (), 25.0, True, len(cells)), cells, generator(400 + seed))
        assert np.abs((fit.coef - wald.params) / wald.bse).max() < 0.5


@pytest.mark.parametrize("family", [LOGISTIC, COUNTS], ids=lambda family: family.name)
def test_long_rows_count_as_others_do_where_the_model_does_not_hold(family: Any) -> None:
    """A skewed column acts by its logarithm: estimates are those of all rows, which shorter rows would move far."""
    rng = generator(7)
    wealth = np.exp(rng.normal(0.0, 0.9, 20_000))
    x = np.column_stack([np.ones(len(wealth)), np.clip(wealth / 8.0 - 1.0, -1.0, 1.0)])
    eta = -0.3 + 0.8 * np.log(wealth)
    y = (rng.random(len(eta)) < expit(eta)) * 1.0 if family is LOGISTIC else np.minimum(rng.poisson(np.exp(eta)), 30)
    cells = np.column_stack([x, (y - family.middle) / family.half])
    cells = np.asfortranarray(np.rint(cells * GRID).astype(np.int16))
    x, y = natural(cells, family)
    fit, requests = fitted(Problem(family, 2, (), 2.0, True, len(cells)), cells)
    turn = requests[-1].row_map.turn
    assert turn is not None
    wald = sm.GLM(y, x, family=MODELS[family.name]).fit()
    shares = np.minimum(1.0, 2.0 / ((x @ turn.natural.T) ** 2).sum(axis=1))
    weighted = sm.GLM(y, x, family=MODELS[family.name], var_weights=shares).fit()
    assert np.abs((fit.score.coef - wald.params) / wald.bse).max() < 1.5
    assert np.abs((weighted.params - wald.params) / wald.bse).max() > 4.0
