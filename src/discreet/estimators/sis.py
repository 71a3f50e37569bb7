"""Private sure independence screening with scikit-learn's face."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError, PolicyError
from discreet.estimators.subset_selector import SubsetSelector
from discreet.methods.base.method import Method
from discreet.methods.registry import method_of
from discreet.methods.screening.own_score import OwnScore

_NOT_OWN = {"y_center", "y_bound", "shares"}


class DPSIS(SubsetSelector):
    """Select the columns that go most with the target, one by one, privately: for hundreds to millions of columns.

    Parameters
    ----------
    epsilon : float, default=1.0
        In nats, in (0, 1000].
    n_features_to_select : int, default=5
        k, less than the number of columns.
    delta : float, default=0.0
        With a positive one the rule may choose peeling, whose rounds then add up as rho.
    mechanism : {"auto", "canonical_lipschitz", "one_shot", "peeling"}, default="auto"
        How the k columns are chosen. "auto" decides from public facts.
    gamma : float, default=None
        Of the canonical Lipschitz mechanism, in [0, 1]. None is the rule's.
    noise : {"exponential", "gumbel"}, default=None
        Its law. None is the first, but for peeling with a delta.
    y_center : float, "private" or "middle", default=None
        What the target's zero is. None is "private": its mean is estimated from a tenth of epsilon.
    y_bound : float, default=None
        The target is clipped to within this of its center, in its unit. None is half the width of its bounds.
    level : str, default=None
        Of a target that is a category: its rows against all others.
    codes : dict of str to float, default=None
        Of a target that is a category: a public number for each level. None is -1 and 1 where there are two.
    shares : dict of str to float, default=None
        Share of epsilon of "y_center".
    expected_score : float, default=None
        A public guess of the k-th best score, in rows, for the rule alone. None is a sixth of the number of rows.
    n0 : int, default=None
        A public guess of the number of rows where it is private, for the rule alone.
    score_func : callable, default=None
        A score of your own: from scaled columns (n, d) and scaled target (n,), in [-1, 1], to d numbers. The guarantee
        then holds as far as its `sensitivity` is true, which nothing checks; the release says so, and no ledger takes
        it.
    sensitivity : float, default=None
        The most that one unit changes any number of `score_func` by. Needed with it.
    random_state : int, default=None
        A seed for simulations alone: the release then carries no guarantee, and no ledger takes it. None draws from
        the system's entropy.
    metadata : Metadata, default=None
        What is public about X and y, when they are arrays or frames, of which nothing is promised. None takes every
        column and the target to lie in [-1, 1], and clips them there. A table has its own.

    Attributes
    ----------
    release_ : Release
        What was released: selection, guarantee, noise, provenance.
    support_ : ndarray of bool, shape (n_features,)
        Which columns were selected.
    feature_names_in_ : ndarray of str
        Names of the candidates, when they have names.
    n_features_in_ : int
        Number of candidates.

    Notes
    -----
    Claims: ``methods/screening/sis.privacy.md`` and, with a score of your own,
    ``methods/screening/own_score.privacy.md``. Scores are covariances on the columns' declared ranges: a column that
    varies little within wide bounds scores little. Tight public bounds matter more than the mechanism.

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

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        n_features_to_select: int = 5,
        delta: float = 0.0,
        mechanism: str = "auto",
        gamma: float | None = None,
        noise: str | None = None,
        y_center: float | str | None = None,
        y_bound: float | None = None,
        level: str | None = None,
        codes: Mapping[str, float] | None = None,
        shares: Mapping[str, float] | None = None,
        expected_score: float | None = None,
        n0: int | None = None,
        score_func: Callable[[Any, Any], Any] | None = None,
        sensitivity: float | None = None,
        random_state: int | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.n_features_to_select = n_features_to_select
        self.delta = delta
        self.mechanism = mechanism
        self.gamma = gamma
        self.noise = noise
        self.y_center = y_center
        self.y_bound = y_bound
        self.level = level
        self.codes = codes
        self.shares = shares
        self.expected_score = expected_score
        self.n0 = n0
        self.score_func = score_func
        self.sensitivity = sensitivity
        self.random_state = random_state
        self.metadata = metadata

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
        misplaced = sorted(stated.keys() & _NOT_OWN)
        if misplaced:
            raise InvalidParameterError(
                f"A score of your own must come without {misplaced[0]}: it gets the target as it is. Leave that out."
            )
        return OwnScore.of(**stated)
