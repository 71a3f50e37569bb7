"""What a block names: the largest coefficients, and nothing where there is nothing to tell."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from discreet.kernels.top_k.block_lasso import named_by_lasso
from discreet.kernels.top_k.block_lasso_compiled import lasso


def block(n=80, d=6, seed=0):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    cells = rng.integers(-20_000, 20_000, (n, d + 1))
    cells[:, -1] = np.clip(cells[:, 1] - cells[:, 4] + cells[:, -1] // 10, -32767, 32767)
    return cells.astype(np.int16)


@pytest.mark.slow
def test_names_the_largest_coefficients_in_order_of_place():
    """As scikit-learn's lasso on standardized columns has them."""
    cells = block()
    values = (cells - cells.mean(axis=0)) / cells.std(axis=0)
    sizes = np.abs(Lasso(alpha=0.1).fit(values[:, :-1], values[:, -1]).coef_)
    assert named_by_lasso(cells, 2, 0.1).tolist() == sorted(np.argsort(-sizes)[:2].tolist()) == [1, 4]
    assert named_by_lasso(cells, 6, 0.1).tolist() == np.flatnonzero(sizes).tolist()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_name_little(n):
    """No row or one: nothing; two rows decide whatever they can."""
    assert len(named_by_lasso(block()[:n], 3, 0.1)) <= (3 if n == 2 else 0)


def test_constants_are_never_named():
    """A constant target names nothing, a constant column is passed over."""
    cells = block()
    cells[:, 1] = 7
    assert named_by_lasso(cells, 6, 0.01).tolist().count(1) == 0
    cells[:, -1] = 7
    assert named_by_lasso(cells, 6, 0.01).size == 0


def test_doubled_columns_do_no_harm():
    """One of the two is named beside the other effect."""
    cells = block()
    cells[:, 0] = -cells[:, 1]
    assert named_by_lasso(cells, 2, 0.1).tolist() in ([0, 4], [1, 4])


def slow() -> np.ndarray:
    """Columns that are nearly one column: coordinate descent takes thousands of passes."""
    rng = np.random.default_rng(5)  # noqa: TID251 - simulated data, not noise
    base = np.cumsum(rng.standard_normal((60, 8)), axis=1) + 30.0 * rng.standard_normal((60, 1))
    target = base @ np.array([1.0, -2.0, 1.0, 3.0, -3.0, 1.0, -2.0, 1.0])
    table = np.column_stack([base, target])
    return np.rint(30_000 * table / np.abs(table).max(axis=0)).astype(np.int16)


def test_a_block_that_does_not_converge_says_nothing():
    """Control: on the same rows and price scikit-learn's solver warns, as any thread that undoes a filter would see."""
    cells = slow()
    values = (cells - cells.mean(axis=0)) / cells.std(axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(Lasso(alpha=1e-6, fit_intercept=False).fit, values[:, :-1], values[:, -1]).result()
    assert [warning.category for warning in caught] == [ConvergenceWarning]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with ThreadPoolExecutor(1) as pool:
            named = pool.submit(named_by_lasso, cells, 3, 1e-6).result()
    assert caught == []
    assert len(named) == 3


@pytest.mark.parametrize("alpha", [1e-9, 0.003, 0.1, 0.7, 1e9])
def test_coefficients_are_those_of_scikit_learn(alpha):
    """To the duality gap, on columns in any number."""
    for seed, (n, d) in enumerate([(80, 6), (12, 40), (200, 2)]):
        cells = block(n, d, seed) if d > 4 else block(n, 6, seed)[:, [0, 1, 6]]
        values = (cells - cells.mean(axis=0)) / cells.std(axis=0)
        X, y = np.asfortranarray(values[:, :-1]), values[:, -1].copy()

        def objective(b, X=X, y=y):
            return 0.5 * float(((y - X @ b) ** 2).sum()) / len(y) + alpha * np.abs(b).sum()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = Lasso(alpha=alpha, fit_intercept=False, max_iter=20_000).fit(X, y).coef_
        coef = lasso(X, y.copy(), alpha * n, 20_000, 1e-4)
        assert abs(objective(coef) - objective(expected)) <= 2e-4 * float(y @ y) / len(y)
