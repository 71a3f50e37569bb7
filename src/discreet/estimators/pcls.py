"""PCLS with scikit-learn's face."""

from typing import ClassVar

from discreet.estimators.subset_selector import SubsetSelector
from discreet.parameters.subset_selection import LeastSquaresParameters


class PCLS(SubsetSelector, LeastSquaresParameters):
    """Privately select the columns of a linear regression by penalized constrained least squares.

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
    Claim: ``methods/subset_selection/pcls.privacy.md``.

    References
    ----------
    Lei, Charest, Slavkovic, Smith, Fienberg 2018, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dc
    >>> box = {"type": "real", "lower": -1, "upper": 1, "source": "by design"}
    >>> metadata = dc.Metadata.from_value({"dataset": "toy", "unit": "person", "neighboring": "replace_one",
    ...     "n_rows": 20000, "columns": {"a": box, "b": box, "y": box}})
    >>> X = np.tile([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], (5000, 1))
    >>> table = dc.open_table((X, 0.5 * X[:, 0]), metadata)
    >>> select = PCLS(epsilon=1.0, max_size=1).fit(table, target="y")
    >>> select.release_.selected, select.release_.private
    (('a',), True)

    Arrays alone, as scikit-learn hands them on, may be anything that was made of the rows, and nothing is promised:

    >>> select = PCLS(epsilon=1.0, max_size=1).fit(X, 0.5 * X[:, 0])
    >>> select.get_support(), select.release_.private
    (array([ True, False]), False)
    """

    _method: ClassVar[str] = "pcls"
