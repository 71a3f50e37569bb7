"""Selection by decorrelated scores with scikit-learn's face."""

from typing import ClassVar

from discreet.estimators.subset_selector import SubsetSelector
from discreet.parameters.screening import DecorrelatedParameters


class DecorrelatedScores(SubsetSelector, DecorrelatedParameters):
    """Privately select the columns associated with the target given all the others, and how many there are.

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
    Claim: ``methods/screening/decorrelated_scores.privacy.md``. For columns that may be correlated, and a thousand rows
    or more at an epsilon of 1. The noise of the columns' products grows with their number's square, so of many columns
    a first screening leaves six or more: one whose effect is hidden by the others' may be lost there.

    References
    ----------
    Ning and Liu 2017; Hardt and Talwar 2010.

    Examples
    --------
    Of arrays, so that nothing is promised; `PCLS` shows how a table is opened.

    >>> import numpy as np
    >>> X = np.tile([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]], (5000, 1))
    >>> DecorrelatedScores(epsilon=5.0).fit(X, X[:, 0]).get_support()
    array([ True, False, False])
    """

    _method: ClassVar[str] = "decorrelated"
