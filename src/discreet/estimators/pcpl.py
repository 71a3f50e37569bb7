"""PCPL with scikit-learn's face."""

from typing import ClassVar

from discreet.estimators.subset_selector import SubsetSelector
from discreet.parameters.subset_selection import LikelihoodParameters


class PCPL(SubsetSelector, LikelihoodParameters):
    """Privately select the columns of a linear regression by penalized constrained profile likelihood.

    Attributes
    ----------
    release_ : Release
        What was released: selection, guarantee, noise, provenance.
    called_noise_ : bool or None
        Whether chance alone gives what was selected; None where it is not known.
    support_ : ndarray of bool, shape (n_features,)
        Which columns were selected.
    feature_names_in_ : ndarray of str
        Names of the candidates, when they have names.
    n_features_in_ : int
        Number of candidates.

    Notes
    -----
    Claim: ``methods/subset_selection/pcpl.privacy.md``.

    References
    ----------
    Lei, Charest, Slavkovic, Smith, Fienberg 2018, Algorithm 2, corrected.

    Examples
    --------
    Of arrays, so that nothing is promised; `PCLS` shows how a table is opened.

    >>> import numpy as np
    >>> X = np.tile([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], (5000, 1))
    >>> y = 0.5 * X[:, 0] + 0.5 * np.sin(np.arange(20000))
    >>> PCPL(epsilon=4.0, models=[["x0"], ["x1"]]).fit(X, y).get_support()
    array([ True, False])
    """

    _method: ClassVar[str] = "pcpl"
