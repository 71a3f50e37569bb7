"""How well each top-k mechanism finds the best columns of a public or simulated table, against epsilon."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import exact_epsilon
from discreet.errors import InvalidParameterError
from discreet.kernels.top_k.top_k_metrics import top_k_metrics
from discreet.mechanisms.rng import Source
from discreet.mechanisms.top_k import canonical_lipschitz, one_shot, peeling
from discreet.methods.screening.top_k_choice import GAMMA, choose_mechanism
from discreet.typing import Floats

Draw = Callable[[Floats, int, Fraction, float, Source], npt.NDArray[np.int64]]

DRAWS: Mapping[str, Draw] = {
    "one_shot": one_shot,
    "peeling": peeling,
    "canonical_lipschitz": partial(canonical_lipschitz, gamma=GAMMA),
    "canonical_lipschitz, gamma=0.5": partial(canonical_lipschitz, gamma=0.5),
    "canonical_lipschitz, gamma=0.9": partial(canonical_lipschitz, gamma=0.9),
    "canonical_lipschitz, gamma=1": partial(canonical_lipschitz, gamma=1.0),
}
MECHANISMS = ("auto", *DRAWS)


@dataclass(frozen=True)
class TopKAccuracy:
    """Means over some draws of one mechanism at one epsilon.

    Parameters
    ----------
    mechanism : str
        One of `MECHANISMS`.
    epsilon : float
        In nats.
    overlap : float
        Share of the best k that is found.
    top, great, good : float
        Shares of the draws that are as good: see `top_k_metrics`.
    error : float
        Standard error of the overlap.
    """

    mechanism: str
    epsilon: float
    overlap: float
    top: float
    great: float
    good: float
    error: float


def top_k_accuracy(
    scores: npt.ArrayLike,
    k: int,
    epsilons: Sequence[float] = (1, 2, 5, 10, 20),
    *,
    sensitivity: float = 1.0,
    expected_score: float | None = None,
    mechanisms: Sequence[str] = ("auto", "canonical_lipschitz, gamma=0.5", "peeling"),
    n_draws: int = 100,
    truth: npt.ArrayLike | None = None,
    rng: Source | None = None,
) -> list[TopKAccuracy]:
    """Draw many times from public scores, and rate what is found.

    Parameters
    ----------
    scores : array_like of float, shape (d,)
        Of a public or simulated table, such as ``abs(X.T @ y)`` with cells scaled to [-1, 1]. Not of a private one:
        what is returned is not private.
    k : int
        How many columns are chosen, less than d.
    epsilons : sequence of float
        In nats.
    sensitivity : float
        The most that a record changes a score by: 1 if records come or go, 2 if they are replaced.
    expected_score : float, optional
        The input of the rule of "auto"; without it the rule chooses one-shot noise.
    mechanisms : sequence of str
        Some of `MECHANISMS`.
    n_draws : int
        How many draws each.
    truth : array_like of float, shape (d,), optional
        What the columns are rated by; default the scores.
    rng : Source, optional
        Where the noise comes from; default the system's entropy.

    Returns
    -------
    list of TopKAccuracy
        In the order of the mechanisms, then of the epsilons.

    Raises
    ------
    InvalidParameterError
        When a name or a size is out of range.

    Notes
    -----
    Cost: the mechanisms' own, `n_draws` times.

    Examples
    --------
    >>> scores = [30.0, 25.0, 2.0, 1.0, 1.0, 0.0]
    >>> found = top_k_accuracy(scores, 2, [0.01, 50.0], mechanisms=["auto"], n_draws=200)
    >>> found[0].overlap < 0.8, found[1].overlap > 0.9
    (True, True)
    """
    values = np.asarray(scores, dtype=np.float64)
    unknown = [name for name in mechanisms if name not in MECHANISMS]
    if unknown or n_draws < 1 or not 1 <= k < values.size:
        raise InvalidParameterError(
            f"mechanisms must be some of {'; '.join(MECHANISMS)}, n_draws at least 1 and k in 1 .. {values.size - 1}, "
            f"but found mechanisms={unknown or list(mechanisms)}, n_draws={n_draws}, k={k}."
        )
    source, rated = rng or Source(), values if truth is None else np.asarray(truth, dtype=np.float64)
    accuracies = []
    for name in mechanisms:
        for epsilon in epsilons:
            budget = exact_epsilon(epsilon)
            used = choose_mechanism(values.size, k, budget, sensitivity, expected_score) if name == "auto" else name
            draws = [DRAWS[used](values, k, budget, sensitivity, source) for _ in range(n_draws)]
            accuracies.append(_mean(name, float(epsilon), [top_k_metrics(chosen, rated) for chosen in draws]))
    return accuracies


def _mean(name: str, epsilon: float, ratings: Sequence[tuple[float, ...]]) -> TopKAccuracy:
    table = np.array(ratings, dtype=np.float64)
    top, great, good, overlap = table.mean(axis=0)
    error = float(table[:, 3].std() / np.sqrt(len(table)))
    return TopKAccuracy(name, epsilon, float(overlap), float(top), float(great), float(good), error)
