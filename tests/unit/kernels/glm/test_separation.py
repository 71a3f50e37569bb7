"""Values of which rows may have one response alone, and directions in which rows may not vary."""

import numpy as np
import pytest
from glm_problems import logistic_cells
from scipy.optimize import linprog

from discreet.kernels.glm.families import LOGISTIC, linear_map, poisson
from discreet.kernels.glm.open_ways import OpenWays
from discreet.kernels.glm.pooled_score import Sums
from discreet.kernels.glm.separation import separating_sums
from discreet.kernels.glm.undetermined import pooled_information, undetermined, variance_of
from discreet.kernels.moments.moments import GRID

GROUPS = ((3, 4),)
P = 5


def generator(seed):
    return np.random.default_rng(seed)  # noqa: TID251 - simulated rows and noise


def cells_of(kind, n=600, seed=3):
    """A number, a column of two values, and the dummies of a category of three levels."""
    rng = generator(seed)
    cells = logistic_cells(n, rng, np.zeros(P))
    cells[:, 2] = np.where(rng.random(n) < 0.4, GRID, -GRID)
    level = rng.integers(kind == "empty reference", 2 if kind == "empty level" else 3, n)
    cells[:, 3], cells[:, 4] = GRID * (level == 1), GRID * (level == 2)
    if kind == "level":
        cells[level == 1, 5] = GRID
    elif kind == "reference":
        cells[level == 0, 5] = GRID
    elif kind == "low end":
        cells[cells[:, 2] < 0, 5] = -GRID
    elif kind == "all":
        cells[:, 5] = GRID
    return cells


def first_pass(cells, sd=0.0, seed=0):
    """The sums of the first pass with noise of one size."""
    rng = generator(seed)
    gradient, gram = linear_map(LOGISTIC, P).real(linear_map(LOGISTIC, P).sums(cells))
    above = np.triu(rng.normal(size=(P, P)) * sd / 2**0.5, 1)
    noise = above + above.T + np.diag(rng.normal(size=P) * sd)
    return Sums(gradient + rng.normal(size=P) * sd, gram + noise, sd**2, sd**2 / 2.0 * (1.0 + np.eye(P)))


def unbounded(cells, row):
    """Whether a combination has no upper end: it rises along a direction in which no row's likelihood falls."""
    signed = cells[:, :P] / GRID * np.sign(cells[:, 5:])
    best = linprog(-row, A_ub=-signed, b_ub=np.zeros(len(cells)), bounds=[(-1.0, 1.0)] * P)
    return -best.fun > 1e-6


ROWS = np.vstack([np.eye(P), np.eye(P)[4] - np.eye(P)[3], [1.0, 0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 1.0, 0.0]])
KINDS = ["plain", "level", "reference", "low end", "all", "empty level", "empty reference"]


@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_what_is_open_is_what_the_likelihood_leaves_open(kind):
    """Against a linear program over the rows: both ends of each coefficient, of contrasts and of linear predictors."""
    cells = cells_of(kind)
    ways = OpenWays(separating_sums(LOGISTIC, first_pass(cells), GROUPS))
    no_low, no_high = ways.without_ends(ROWS)
    assert no_high.tolist() == [unbounded(cells, row) for row in ROWS]
    assert no_low.tolist() == [unbounded(cells, -row) for row in ROWS]


@pytest.mark.parametrize("sd", [1.0, 8.0])
@pytest.mark.parametrize("kind", KINDS[1:])
def test_with_noise_what_the_likelihood_leaves_open_stays_open(kind, sd, monkeypatch):
    """In nearly all draws; the control, in which all numbers stand out, tells an end in half of them."""
    cells = cells_of(kind)
    truly = np.array([[unbounded(cells, row) for row in sign * ROWS] for sign in (-1.0, 1.0)])

    def missed():
        ends = [
            OpenWays(separating_sums(LOGISTIC, first_pass(cells, sd, seed), GROUPS)).without_ends(ROWS)
            for seed in range(60)
        ]
        return np.mean([(truly & ~np.array(end)).any() for end in ends])

    assert missed() <= 0.05
    monkeypatch.setattr("discreet.kernels.glm.separation.STANDS_OUT", 0.0)
    assert missed() > 0.2


def test_noise_that_is_small_beside_the_rows_opens_nothing():
    """600 rows, and noise of two of them."""
    assert all(
        not len(separating_sums(LOGISTIC, first_pass(cells_of("plain"), 2.0, seed), GROUPS)) for seed in range(20)
    )


def unbounded_of_counts(cells, row):
    """The same where the low response is no count: a count above zero holds the linear predictor of its row."""
    x, is_zero = cells[:, :P] / GRID, cells[:, 5] < 0
    limits = {"A_ub": x[is_zero], "b_ub": np.zeros(is_zero.sum()), "A_eq": x[~is_zero], "b_eq": np.zeros(sum(~is_zero))}
    return -linprog(-row, **limits, bounds=[(-1.0, 1.0)] * P).fun > 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_open_where_a_value_has_none(kind):
    """Against a linear program over the rows: downward where all counts of a value are zero, and without rows."""
    cells = cells_of(kind)
    cells[:, 5] = -cells[:, 5]
    ways = OpenWays(separating_sums(poisson(1.0), first_pass(cells), GROUPS))
    no_low, no_high = ways.without_ends(ROWS)
    assert no_high.tolist() == [unbounded_of_counts(cells, row) for row in ROWS]
    assert no_low.tolist() == [unbounded_of_counts(cells, -row) for row in ROWS]


def test_counts_above_zero_open_nothing():
    """All of a level have the largest count: its coefficient has an end, which a class's has not."""
    cells = first_pass(cells_of("level"))
    assert len(separating_sums(poisson(1.0), cells, GROUPS)) == 0
    assert len(separating_sums(LOGISTIC, cells, GROUPS)) == 1


# ---- directions in which rows do not vary


def gram_of(kind, n=2000, seed=4):
    rng = generator(seed)
    x = np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, 4))])
    if kind == "equal":
        x[:, 2] = x[:, 1]
    elif kind == "dummies":
        x[:, 1:4] = 2.0 * np.eye(3)[rng.integers(0, 3, n)] - 1.0
    return x.T @ x


SPANS = {"equal": [[0, 1, -1, 0, 0]], "dummies": [[1, 1, 1, 1, 0]], "plain": []}


@pytest.mark.parametrize("kind", SPANS)
@pytest.mark.parametrize("turns", [False, True])
def test_directions_in_which_rows_do_not_vary_are_found(kind, turns, monkeypatch):
    """In nearly all draws, and no others, in any coordinates; the control finds them in half of the draws."""
    gram, sd = gram_of(kind), 6.0
    turn = generator(9).normal(size=(P, P)) if turns else np.eye(P)
    variances = sd**2 / 2.0 * (1.0 + np.eye(P))

    def basis(seed):
        rng = generator(seed)
        above = np.triu(rng.normal(size=(P, P)) * sd / 2**0.5, 1)
        noise = above + above.T + np.diag(rng.normal(size=P) * sd)
        return undetermined(turn @ gram @ turn.T + noise, variances, turn)

    truth = np.array(SPANS[kind], dtype=float).reshape(-1, P)

    def right(seed):
        found = basis(seed)
        if len(found) != len(truth):
            return False
        hidden = OpenWays(undetermined=found).hidden(ROWS)
        opened = np.abs(ROWS @ truth.T).sum(axis=1) > 1e-9
        return (hidden == opened).all()

    assert np.mean([right(seed) for seed in range(40)]) >= 0.9
    if kind != "plain":
        monkeypatch.setattr("discreet.kernels.glm.undetermined.STANDS_OUT", 0.0)
        assert np.mean([right(seed) for seed in range(40)]) <= 0.8


def test_the_variance_of_a_product_with_a_noisy_matrix():
    """Against draws."""
    rng, direction = generator(6), np.array([0.6, -0.3, 0.2, 0.0, 0.7])
    variances = rng.uniform(0.5, 2.0, (P, P))
    variances = variances + variances.T
    above = np.triu(rng.normal(size=(40_000, P, P)) * variances**0.5)
    draws = above + np.swapaxes(np.triu(above, 1), 1, 2)
    products = np.einsum("i,kij,j->k", direction, draws, direction)
    assert np.var(products) == pytest.approx(variance_of(direction, variances), rel=0.05)


def test_informations_pool_by_what_is_known_of_them():
    """The mean of two with noise as 1 to 2 has the weights 4 and 1 over 5, and their variance."""
    one, two = np.eye(2), 6.0 * np.eye(2)
    mean, variances = pooled_information([one, two], [np.ones((2, 2)), 4.0 * np.ones((2, 2))])
    assert mean == pytest.approx(2.0 * np.eye(2))
    assert variances == pytest.approx(np.full((2, 2), 0.8))
