"""A selection whose method a plan chooses, with scikit-learn's face."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field
from typing_extensions import override

from discreet.data.engine import Table
from discreet.estimators.face import plain
from discreet.estimators.subset_selector import SubsetSelector
from discreet.methods.base.method import Method
from discreet.parameters.public_moments import PublicMoments, PublicMomentsOption
from discreet.parameters.shared import Delta, Epsilon, NumberOfRows, first
from discreet.workflow.auto import auto_method


class AutoSelection(SubsetSelector):
    """Privately select the columns of a linear regression by the method that a plan finds best.

    Before the rows are read, methods and tunings are tried on simulated tables of the same public shape: constrained
    least squares, noisy moments, and screening of columns. The one whose columns overlap with the right ones nearly as
    well as the best in most kinds of tables is run, once, at the whole of epsilon.

    Attributes
    ----------
    release_ : Release
        What was released; ``release_.request["chosen"]`` holds the choice, and what was supposed for it.
    chosen_ : dict
        The same: the selection's name, how many it was compared with, and the overlap to expect of it.
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
    >>> support = AutoSelection(epsilon=5.0).fit(X, 0.5 * X[:, 0]).get_support()
    >>> bool(support[0])  # and seldom the other column, which has no effect
    True
    """

    _method: ClassVar[str] = "auto"

    epsilon: Epsilon = first(default=1.0)
    delta: Annotated[
        Delta,
        Field(
            description="Added chance of a result outside the promise. With a positive one, such as 0.000001, "
            "methods are tried that gain by it; 0 is pure privacy."
        ),
    ] = 0.0
    n0: NumberOfRows = None
    supposed: Annotated[
        Mapping[str, Any] | None,
        Field(
            description="What is supposed of the table, from public knowledge alone. ``effects`` (by column: change of "
            "the target from the middle of the column to its upper bound), ``n_true``, ``r_squared``, ``noise_sd``, "
            "``correlation``, ``times``, or ``like``, the file that the metadata declare public; as ``discreet plan`` "
            "takes them. Default that one to four uncorrelated columns explain half of the target's variance, or two "
            "or three correlated ones a tenth."
        ),
    ] = None
    public_moments: PublicMomentsOption = None

    @override
    def _choose_method(
        self, table: Table, name: str, columns: Sequence[str] | None, charged: bool
    ) -> tuple[Method, dict[str, Any] | None]:
        self._source()  # a seed that cannot be is refused before the plan
        epsilon, delta, n0 = (plain(value) for value in (self.epsilon, self.delta, self.n0))
        options: dict[str, Any] = {"supposed": self.supposed, "private": table, "charged": charged}
        if self.public_moments is not None:
            options["public_moments"] = PublicMoments.model_validate(self.public_moments)
        method, self.chosen_ = auto_method(table.metadata, name, columns, epsilon, delta, n0, **options)
        return method, self.chosen_
