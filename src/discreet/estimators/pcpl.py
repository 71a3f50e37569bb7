"""PCPL with scikit-learn's face."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from discreet.data.metadata import Metadata
from discreet.estimators.subset_selector import SubsetSelector


class PCPL(SubsetSelector):
    """Select the columns of a linear regression by penalized constrained profile likelihood, privately.

    Parameters
    ----------
    epsilon : float, default=1.0
        In nats, in (0, 1000].
    delta : float, default=0.0
        The probability with which the bound that the noise rests on may fail. 0 takes the smaller of n^-1.5 and 1e-6;
        with `variance_floor` there is none.
    mechanism : {"permute_and_flip", "exponential", "laplace"}, default="permute_and_flip"
        Law of the noise.
    l1_radius : float or "private", default=None
        R: bound on the sum of the absolute coefficients, in units of the target per half range of a column, the
        intercept included. Public, or "private" to estimate it from a share of epsilon. None is twice `y_bound`.
    l1_grid : sequence of float, default=None
        What a private R may be, in units of the target. None is 1/2, 1, 2, 4 and 8 times `y_bound`.
    model_penalty : float, "aic", "bic" or "auto", default="auto"
        phi: added for each selected column, on the scale of -2 log-likelihood. "aic" is 2, "bic" log n; "auto" weighs
        the error of sampling and the noise of the choice together. All are free.
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
        A public number near that of the rows, needed where that is private.
    rss_guess : float, default=None
        A public guess of the least residual sum of squares, in squared units of the target: it sets how epsilon is
        split, and nothing else.
    variance_floor : float, default=None
        s0^2, in squared units of the target: choose by n log(RSS / n + s0^2), which needs no delta.
    shares : dict of str to float, default=None
        Shares of epsilon of the private estimates: "bounds", "y_bound", "l1_radius", "residual_sum_of_squares".
    as_published : bool, default=False
        Run Algorithm 2 as printed, its errors included, for study: gives no guarantee.
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
    >>> PCPL(epsilon=4.0, l1_radius=1.0, models=[["x0"], ["x1"]]).fit(X, y).get_support()
    array([ True, False])
    """

    _method: ClassVar[str] = "pcpl"

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
        rss_guess: float | None = None,
        variance_floor: float | None = None,
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
        self.rss_guess = rss_guess
        self.variance_floor = variance_floor
        self.shares = shares
        self.as_published = as_published
        self.random_state = random_state
        self.metadata = metadata
