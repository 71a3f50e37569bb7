"""PCLS with scikit-learn's face."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from discreet.data.metadata import Metadata
from discreet.estimators.subset_selector import SubsetSelector


class PCLS(SubsetSelector):
    """Select the columns of a linear regression by penalized constrained least squares, privately.

    Parameters
    ----------
    epsilon : float, default=1.0
        In nats, in (0, 1000].
    delta : float, default=0.0
        Accepted for the sake of other methods: this one spends none.
    mechanism : {"permute_and_flip", "exponential", "laplace"}, default="permute_and_flip"
        Law of the noise.
    l1_radius : float or "private", default=None
        R: bound on the sum of the absolute coefficients, in units of the target per half range of a column, the
        intercept included. Public, or "private" to estimate it from a share of epsilon. None is twice `y_bound`.
    l1_grid : sequence of float, default=None
        What a private R may be, in units of the target. None is 1/2, 1, 2, 4 and 8 times `y_bound`.
    model_penalty : float, "aic", "bic" or "auto", default="auto"
        phi: added for each selected column, in squared units of the target. "aic" and "bic" estimate the residual
        variance from a share of epsilon. "auto" is log(2 d) times the scale of the noise, d the number of free columns,
        and estimates the residual variance only where sampling can matter beside the noise.
    max_size : int, default=None
        The most columns that may be selected besides the forced ones.
    forced : sequence of str, default=()
        Candidates in every model.
    groups : sequence of sequences of str, default=()
        Candidates that enter and leave together. A category is a group by itself.
    models : sequence of sequences of str, default=None
        The candidate models themselves, instead of all subsets.
    y_bound : float or "private", default=None
        r: the target is clipped to within this of its center, in its unit. Public, or "private" to estimate it from a
        share of epsilon. None is the furthest of its bounds.
    y_quantile : float, default=None
        The quantile of the target's distance from its center that a private `y_bound` aims at. None is 0.95.
    y_center : float, default=None
        The target's zero, in its unit. Public. None is the middle of its bounds.
    fit_intercept : bool, default=True
        Whether every model has a constant, which shares the l1 bound.
    n0 : int, default=None
        A public guess of the number of rows, where it is private. None estimates it where a penalty needs it.
    shares : dict of str to float, default=None
        Shares of epsilon of the private estimates: "bounds", "y_bound", "n_rows", "l1_radius", "sigma2".
    as_published : bool, default=False
        Run Algorithm 1 as printed, its errors included, for study: gives no guarantee.
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
    >>> select = PCLS(epsilon=1.0, l1_radius=1.0, max_size=1).fit(table, target="y")
    >>> select.release_.selected, select.release_.private
    (('a',), True)

    Arrays alone, as scikit-learn hands them on, may be anything that was made of the rows, and nothing is promised:

    >>> select = PCLS(epsilon=1.0, l1_radius=1.0, max_size=1).fit(X, 0.5 * X[:, 0])
    >>> select.get_support(), select.release_.private
    (array([ True, False]), False)
    """

    _method: ClassVar[str] = "pcls"

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        mechanism: str = "permute_and_flip",
        l1_radius: float | str | None = None,
        l1_grid: Sequence[float] | None = None,
        model_penalty: float | str = "auto",
        max_size: int | None = None,
        forced: Sequence[str] = (),
        groups: Sequence[Sequence[str]] = (),
        models: Sequence[Sequence[str]] | None = None,
        y_bound: float | str | None = None,
        y_quantile: float | None = None,
        y_center: float | None = None,
        fit_intercept: bool = True,
        n0: int | None = None,
        shares: Mapping[str, float] | None = None,
        as_published: bool = False,
        random_state: int | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.l1_radius = l1_radius
        self.l1_grid = l1_grid
        self.model_penalty = model_penalty
        self.max_size = max_size
        self.forced = forced
        self.groups = groups
        self.models = models
        self.y_bound = y_bound
        self.y_quantile = y_quantile
        self.y_center = y_center
        self.fit_intercept = fit_intercept
        self.n0 = n0
        self.shares = shares
        self.as_published = as_published
        self.random_state = random_state
        self.metadata = metadata
