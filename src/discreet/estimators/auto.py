"""A selection whose method a plan chooses, with scikit-learn's face."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.estimators.face import plain
from discreet.estimators.subset_selector import SubsetSelector
from discreet.methods.base.method import Method
from discreet.workflow.auto import auto_method


class AutoSelection(SubsetSelector):
    """Select the columns of a linear regression by the method that a plan finds best, privately.

    Before the rows are read, methods and tunings are tried on simulated tables of the same public shape: constrained
    least squares, noisy moments, and screening of columns one by one. The one whose columns overlap most with the right
    ones is run, once, at the whole of epsilon.

    Parameters
    ----------
    epsilon : float, default=1.0
        In nats, in (0, 1000].
    delta : float, default=0.0
        With a positive one, such as 1e-6, methods are tried that gain by it; 0 is pure privacy.
    n0 : int, default=None
        A public guess of the number of rows; needed where it is private.
    supposed : dict, default=None
        What is supposed of the table, from public knowledge alone: ``effects`` (by column: change of the target from
        the middle of the column to its upper bound), ``n_true``, ``r_squared``, ``noise_sd``, ``correlation``,
        ``times``, or ``like``, the file that the metadata declare public; as ``discreet plan`` takes them. None
        supposes that one to four uncorrelated columns explain half of the target's variance, or two or three
        correlated ones a tenth.
    random_state : int, default=None
        A seed for simulations alone: the release then carries no guarantee. The plan is the same with any seed.
    metadata : Metadata, default=None
        What is public about X and y, when they are arrays or frames, of which nothing is promised. None takes every
        column and the target to lie in [-1, 1]. A table has its own.

    Attributes
    ----------
    release_ : Release
        What was released; ``release_.request["chosen"]`` holds the choice, and what was supposed for it.
    chosen_ : dict
        The same: the selection's name, how many it was compared with, and the overlap to expect of it.
    support_ : ndarray of bool, shape (n_features,)
        Which columns were selected.
    feature_names_in_ : ndarray of str
        Names of the candidates, when they have names.
    n_features_in_ : int
        Number of candidates.

    Notes
    -----
    The choice depends on public facts alone, so it costs nothing; never look up in the table what is supposed of it.
    Cost: the plan takes some seconds, once for the same public facts.

    References
    ----------
    The methods': see `PCLS`, `NoisyMoments` and `DPSIS`.

    Examples
    --------
    Of arrays, so that nothing is promised; `PCLS` shows how a table is opened.

    >>> import numpy as np
    >>> X = np.tile([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], (500, 1))
    >>> AutoSelection(epsilon=5.0).fit(X, 0.5 * X[:, 0]).get_support()
    array([ True, False])
    """

    _method: ClassVar[str] = "auto"

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        n0: int | None = None,
        supposed: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n0 = n0
        self.supposed = supposed
        self.random_state = random_state
        self.metadata = metadata

    @override
    def _choose_method(
        self, table: Table, name: str, columns: Sequence[str] | None, charged: bool
    ) -> tuple[Method, dict[str, Any] | None]:
        self._source()  # a seed that cannot be is refused before the plan
        epsilon, delta, n0 = (plain(value) for value in (self.epsilon, self.delta, self.n0))
        options: dict[str, Any] = {"supposed": self.supposed, "private": table, "charged": charged}
        method, self.chosen_ = auto_method(table.metadata, name, columns, epsilon, delta, n0, **options)
        return method, self.chosen_
