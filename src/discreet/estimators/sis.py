"""Private sure independence screening with scikit-learn's face."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field
from typing_extensions import override

from discreet.data.engine import Table
from discreet.errors import InvalidParameterError, PolicyError
from discreet.estimators.subset_selector import SubsetSelector
from discreet.methods.base.method import Method
from discreet.methods.registry import method_of
from discreet.methods.screening.own_score import OwnScore
from discreet.parameters.screening import SCORE, SENSITIVITY, IndependenceParameters, ScoreFunction, Sensitivity

_NOT_OWN = {
    "y_center",
    "y_bound",
    "shares",
    "saturation",
    "max_false",
    "max_size",
    "forced",
    "groups",
    "association",
    "noise_test",
}


class DPSIS(SubsetSelector, IndependenceParameters):
    """Privately select the columns most associated with the target, one by one, among hundreds to millions.

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
    Claims: ``methods/screening/sis.privacy.md`` and, with a score of your own,
    ``methods/screening/own_score.privacy.md``. By default columns are scored by the order of their cells, where
    the number of rows is known and the target has many values. Other scores are covariances on the columns' declared
    ranges: a column that varies little within wide bounds then scores little.

    References
    ----------
    Swope, Khanna, Doldo, Roy, Raff 2024; Fan and Lv 2008.

    Examples
    --------
    Of arrays, so that nothing is promised; `PCLS` shows how a table is opened.

    >>> import numpy as np
    >>> X = np.tile([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]], (5000, 1))
    >>> DPSIS(epsilon=1.0, n_features_to_select=1).fit(X, X[:, 0]).get_support()
    array([ True, False, False])
    """

    _method: ClassVar[str] = "sis"
    takes_sparse: ClassVar[bool] = True

    score_func: Annotated[ScoreFunction | None, Field(description=SCORE)] = None
    sensitivity: Annotated[Sensitivity | None, Field(description=f"{SENSITIVITY} Needed with `score_func`.")] = None

    @override
    def _choose_method(
        self, table: Table, name: str, columns: Sequence[str] | None, charged: bool
    ) -> tuple[Method, dict[str, Any] | None]:
        if self.score_func is not None and charged:
            raise PolicyError(
                "A ledger must hold proved costs alone, but the sensitivity of a score of your own is not checked. "
                "Leave out ledger, or leave out score_func."
            )
        return super()._choose_method(table, name, columns, charged)

    def _checked_method(self, **fixed: Any) -> Method:
        stated = {key: value for key, value in (self._method_parameters() | fixed).items() if value is not None}
        if self.score_func is None and self.sensitivity is None:
            return method_of(self._method, **stated)
        if self.score_func is None or self.sensitivity is None:
            raise InvalidParameterError(
                "score_func and sensitivity must be given together: the second is how far one unit can move a score. "
                "Add it."
            )
        misplaced = sorted(name for name in _NOT_OWN if stated.pop(name, None) != getattr(type(self), name))
        if misplaced:
            raise InvalidParameterError(
                f"A score of your own must come without {misplaced[0]}: it gets the target as it is. Leave that out."
            )
        return OwnScore.of(**stated)
