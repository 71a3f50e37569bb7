"""Sure independence screening without privacy, for public tables."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils.validation import check_X_y

from discreet.errors import InvalidParameterError


def sure_independence_screening(X: Any, y: Any, k: int) -> npt.NDArray[np.int64]:
    """Return the k columns with the largest absolute correlations with the target. NOT private: for public tables.

    Parameters
    ----------
    X : array_like or sparse matrix of float, shape (n_samples, n_features)
        Columns; no missing cells.
    y : array_like of float, shape (n_samples,)
        Target.
    k : int
        How many, from 1 to the number of columns.

    Returns
    -------
    ndarray of int, shape (k,)
        Places of the columns, the largest correlation first; of equal ones the first column.

    Raises
    ------
    InvalidParameterError
        When k is out of range.

    Notes
    -----
    What it returns can reveal single rows. For a private table use `DPSIS`. A constant column has correlation 0. Cost:
    a few passes over the cells.

    References
    ----------
    Fan and Lv 2008.

    Examples
    --------
    >>> sure_independence_screening([[1, 5, 0], [2, 3, 0], [3, 1, 0], [4, 0, 1]], [1, 2, 3, 4], 2)
    array([0, 1])
    """
    matrix, target = check_X_y(X, y, accept_sparse=("csc", "csr"), dtype=np.float64, y_numeric=True)
    if not 1 <= k <= matrix.shape[1]:
        raise InvalidParameterError(f"k must lie between 1 and the {matrix.shape[1]} columns, but k={k}. Lower it.")
    centered = target - target.mean()
    means = np.asarray(matrix.mean(axis=0)).ravel()
    if scipy.sparse.issparse(matrix):
        squares = np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel() - len(target) * means**2
        products = matrix.T @ centered
    else:
        shifted = matrix - means
        squares, products = np.einsum("ij,ij->j", shifted, shifted), shifted.T @ centered
    spread = np.sqrt(np.maximum(squares, 0.0))
    scale = np.maximum(np.abs(means) * np.sqrt(len(target)), spread)
    varies = spread > 1e-7 * scale  # what is left of a constant is rounding
    size = np.where(varies, np.abs(products) / np.where(varies, spread, 1.0), 0.0)
    return np.argsort(-size, kind="stable")[:k].astype(np.int64)
