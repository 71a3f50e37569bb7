"""Two-stage selection with scikit-learn's face."""

from typing import ClassVar

from discreet.estimators.subset_selector import SubsetSelector
from discreet.parameters.screening import VotesParameters


class TwoStage(SubsetSelector, VotesParameters):
    """Privately select the columns that the most blocks of rows vote for, each by a lasso of its own.

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
    Claim: ``methods/screening/two_stage.privacy.md``. All rows are held in memory.

    References
    ----------
    Kifer, Smith, Thakurta 2012; the baseline of Swope et al. 2024.

    Examples
    --------
    Of arrays, so that nothing is promised; `PCLS` shows how a table is opened.

    >>> import numpy as np
    >>> X = np.tile([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]], (1000, 1))
    >>> TwoStage(epsilon=5.0, n_features_to_select=1).fit(X, X[:, 0]).get_support()
    array([ True, False, False])
    """

    _method: ClassVar[str] = "two-stage"
    takes_sparse: ClassVar[bool] = True
