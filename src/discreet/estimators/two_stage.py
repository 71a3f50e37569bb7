"""Two-stage selection with scikit-learn's face."""

from collections.abc import Mapping
from typing import ClassVar

from discreet.data.metadata import Metadata
from discreet.estimators.subset_selector import SubsetSelector


class TwoStage(SubsetSelector):
    """Select the columns that the most blocks of rows vote for, each by a lasso of its own, privately.

    Parameters
    ----------
    epsilon : float, default=1.0
        In nats, in (0, 1000].
    n_features_to_select : int, default=5
        k, less than the number of columns; a block votes for at most as many.
    delta : float, default=0.0
        With a positive one the rule may choose peeling, whose rounds then add up as rho.
    mechanism : {"auto", "canonical_lipschitz", "one_shot", "peeling"}, default="auto"
        How the k columns are chosen. "auto" decides from public facts.
    gamma : float, default=None
        Of the canonical Lipschitz mechanism, in [0, 1]. None is the rule's.
    noise : {"exponential", "gumbel"}, default=None
        Its law. None is the first, but for peeling with a delta.
    n_blocks : int, default=None
        B: each row goes to one of so many blocks at random. None is the root of the number of rows.
    alpha : float, default=0.1
        Penalty of a coefficient in a block's lasso, on standardized columns.
    level : str, default=None
        Of a target that is a category: its rows against all others.
    codes : dict of str to float, default=None
        Of a target that is a category: a public number for each level. None is -1 and 1 where there are two.
    expected_score : float, default=None
        A public guess of the k-th most votes, for the rule alone. None is a sixth of the blocks.
    n0 : int, default=None
        A public guess of the number of rows where it is private, for the number of blocks.
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

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        n_features_to_select: int = 5,
        delta: float = 0.0,
        mechanism: str = "auto",
        gamma: float | None = None,
        noise: str | None = None,
        n_blocks: int | None = None,
        alpha: float = 0.1,
        level: str | None = None,
        codes: Mapping[str, float] | None = None,
        expected_score: float | None = None,
        n0: int | None = None,
        random_state: int | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.n_features_to_select = n_features_to_select
        self.delta = delta
        self.mechanism = mechanism
        self.gamma = gamma
        self.noise = noise
        self.n_blocks = n_blocks
        self.alpha = alpha
        self.level = level
        self.codes = codes
        self.expected_score = expected_score
        self.n0 = n0
        self.random_state = random_state
        self.metadata = metadata
