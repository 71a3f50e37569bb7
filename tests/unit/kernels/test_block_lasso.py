"""What a block names: the largest coefficients, and nothing where there is nothing to tell."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from discreet.kernels.block_lasso import named_by_lasso


def block(n=80, d=6, seed=0):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    cells = rng.integers(-20_000, 20_000, (n, d + 1))
    cells[:, -1] = np.clip(cells[:, 1] - cells[:, 4] + cells[:, -1] // 10, -32767, 32767)
    return cells.astype(np.int16)


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
