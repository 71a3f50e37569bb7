"""The problem that all kernels over subsets of units solve."""

from typing import NamedTuple

import numpy as np

from discreet.typing import Bools, Floats, Masks


class SubsetProblem(NamedTuple):
    """Least squares under an l1 bound, over models that are subsets of units.

    Parameters
    ----------
    gram : ndarray of float, shape (p, p)
        X'X.
    xty : ndarray of float, shape (p,)
        X'y.
    yty : float
        y'y.
    radius : float
        Bound on the l1 norm of the coefficients, positive.
    units : ndarray of bool, shape (d, p)
        Columns of each unit that enters or leaves as one; disjoint; d <= 63 where models are bits.
    always : ndarray of bool, shape (p,)
        Columns in every model, such as the intercept; in no unit.
    tolerance : float
        Largest duality gap allowed, positive, in the units of `yty`.
    """

    gram: Floats
    xty: Floats
    yty: float
    radius: float
    units: Bools
    always: Bools
    tolerance: float

    def columns(self, models: Masks) -> Bools:
        """Return the columns that each model may use: those of its units and those of every model.

        Shapes: models (n_models,); returns (n_models, p).
        """
        included = (models[:, None] >> np.arange(len(self.units), dtype=np.uint64)) & np.uint64(1)
        used: Bools = (included.astype(np.float64) @ self.units > 0.0) | self.always
        return used
