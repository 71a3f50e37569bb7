"""The mechanisms, called as anybody can call them: their draws against exact laws, and the loss of those laws."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from discreet.accounting.neighbors import NeighboringRelation
from discreet.mechanisms.additive import discrete_gaussian, discrete_laplace
from discreet.mechanisms.generalized_exponential import noisy_min_scaled
from discreet.mechanisms.quantile import noisy_quantile
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.mechanisms.spherical import spherical_laplace
from discreet.mechanisms.top_k import canonical_lipschitz, one_shot, peeling
from discreet.selftest import laws
from discreet.selftest.evidence import (
    Evidence,
    Floats,
    loss_at_delta,
    loss_of_laws,
    loss_of_normal,
    misfit_of_chances,
    misfit_of_counts,
)

CALLS = 1500
"""Of a mechanism, for one law."""
NUMBERS = 50_000
"""Of noise that is drawn many numbers at a time."""
DELTA = 1e-6
RELATIONS = {
    "replace_one": NeighboringRelation.REPLACE_ONE,
    "add_or_remove_one": NeighboringRelation.ADD_OR_REMOVE_ONE,
}


def drawn(draw: Callable[[], Hashable], both: Sequence[Mapping[Any, float]], n: int, **about: Any) -> Evidence:
    """Compare draws with their law, and the law with that on the neighbor.

    Parameters
    ----------
    draw : callable
        Returns an outcome.
    both : sequence of mapping
        Chance of each outcome on the table that is drawn from, and on its neighbor.
    n : int
        Draws.
    **about : Any
        Further fields of the evidence.

    Returns
    -------
    Evidence
        By exact law.
    """
    law, other = both
    found = Counter(draw() for _ in range(n))
    strange = set(found) - set(law)
    counts, chances = [found.get(outcome, 0) for outcome in law], list(law.values())
    misfit = 0.0 if strange else misfit_of_counts(counts, chances)
    shown = loss_of_laws(chances, [other[outcome] for outcome in law])
    return Evidence(shown=shown, how="exact law", n_draws=n, misfit=misfit, **about)


def _selection(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """`noisy_min` with each noise: four candidates, the last far behind and left further behind by the neighbor."""
    found = []
    for noise in ("exponential", "gumbel", "laplace"):
        one = np.array([0.0, 0.8, 1.6, 12.0]) / epsilon
        other = one + np.array([-0.5, -0.5, -0.5, 0.5])
        both = [_numbered(laws.least_law(scores, 1.0 / epsilon, noise)) for scores in (one, other)]
        case = f"{noise} noise, one candidate falls behind"
        about = _about("mechanisms.selection.noisy_min", case, "selection", epsilon)
        found.append(drawn(partial(noisy_min, one, 1, epsilon, Source(), noise), both, CALLS * effort, **about))
    return found


def _scaled_selection(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """`noisy_min_scaled`: scores of unlike sensitivities, all moved by their own against the first."""
    sizes = np.array([1.0, 4.0, 20.0])
    one = np.array([10.0, 16.0, 40.0]) * max(1.0, 1.0 / epsilon)
    both = [_numbered(_scaled_law(scores, sizes, epsilon)) for scores in (one, one + sizes * [1, -1, -1])]
    case = "sensitivities 1, 4, 20; the first rises, the others fall"
    about = _about("mechanisms.generalized_exponential.noisy_min_scaled", case, "generalized_exponential", epsilon)
    return [drawn(partial(noisy_min_scaled, one, [1, 4, 20], epsilon, Source()), both, CALLS * effort, **about)]


def _scaled_law(scores: Floats, sizes: Floats, epsilon: float) -> Floats:
    """Raskhodnikova and Smith 2016: the worst normalized lead, then a selection of sensitivity one."""
    guarded = scores + 2.0 / epsilon * math.log(len(sizes) / 0.05) * sizes
    normalized = [
        max((e - f) / (s + t) for f, t in zip(guarded, sizes, strict=True)) for e, s in zip(guarded, sizes, strict=True)
    ]
    return laws.least_law(normalized, 2.0 / epsilon, "exponential")


def _top_k(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """`canonical_lipschitz`, `one_shot` and `peeling`: the best two of six; the leaders fall and the others rise."""
    one = np.array([6.0, 4.0, 4.0, 4.0, 3.0, 1.0]) / epsilon
    other = one + np.array([-1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    swapped = one + np.array([1.0, -1.0, -1.0, -1.0, -1.0, 1.0])
    found = []
    for noise in ("exponential", "gumbel"):
        kinds: tuple[tuple[Callable[..., Any], Callable[[Floats], laws.Sets]], ...] = (
            (
                canonical_lipschitz,
                partial(laws.lipschitz_law, k=2, epsilon=epsilon, sensitivity=1.0, gamma=0.5, noise=noise),
            ),
            (one_shot, partial(laws.one_shot_law, k=2, epsilon=epsilon, sensitivity=1.0, noise=noise)),
            (peeling, partial(laws.peeling_law, k=2, epsilon=epsilon, sensitivity=1.0, noise=noise)),
        )
        for mechanism, law in kinds:
            base = law(one)
            worst = max((law(other), law(swapped)), key=partial(_apart, base))
            about = _about(
                f"mechanisms.top_k.{mechanism.__name__}",
                f"{noise} noise, 2 of 6, order and ties change",
                "top_k",
                epsilon,
            )
            call = _chosen(mechanism, one, epsilon, noise)
            found.append(drawn(call, (base, worst), CALLS * effort // 2, **about))
    ties: Floats = 5.0 + 1e-9 * np.arange(6, dtype=np.float64)
    both = [laws.lipschitz_law(scores, 3, epsilon, 1.0, 0.5, "exponential") for scores in (ties, ties[::-1])]
    case = "P10: exponential noise, 3 of 6, all but tied, the order reversed"
    about = _about("mechanisms.top_k.canonical_lipschitz", case, "top_k", epsilon)
    call = _chosen(canonical_lipschitz, ties, epsilon, "exponential", 3)
    found.append(drawn(call, both, 2 * CALLS * effort, **about))
    return found


def _apart(one: laws.Sets, other: laws.Sets) -> float:
    return loss_of_laws(list(one.values()), [other[chosen] for chosen in one])


def _chosen(
    mechanism: Callable[..., Any], scores: Floats, epsilon: float, noise: str, k: int = 2
) -> Callable[[], Hashable]:
    return lambda: tuple(sorted(mechanism(scores, k, epsilon, 1, Source(), noise=noise).tolist()))


def _quantile(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`noisy_quantile`: the middle of a histogram, one row more below it or moved past it."""
    each = max(1, round(1.0 / epsilon))
    one = [3 * each, 2 * each, each, 2 * each, 3 * each]
    other = [one[0] + 1, *one[1:4], one[4] - (relation == "replace_one")]
    scale = (2.0 if relation == "replace_one" else 1.0) / epsilon
    both = [
        _numbered(laws.least_law(laws.rank_distances(counts, 0.5), scale, "exponential")) for counts in (one, other)
    ]
    about = _about("mechanisms.quantile.noisy_quantile", "a row passes the median", "quantile", epsilon, relation)
    call = partial(noisy_quantile, one, 0.5, RELATIONS[relation], 1, epsilon, Source())
    return [drawn(call, both, CALLS * effort, **about)]


def _additive(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """Discrete Laplace and Gaussian noise on a count that moves by one."""
    n, found = NUMBERS * effort, []
    scale = 1.0 / epsilon
    noise = np.array(discrete_laplace([7] * n, scale, Source())) - 7
    law = laws.laplace_law(scale, int(30 * scale) + 3)
    shown = loss_of_laws(law[1:-2], law[2:-1])
    about = _about("mechanisms.additive.discrete_laplace", "a count moves by one", "additive", epsilon)
    misfit = _misfit_of_whole(noise, law)
    found.append(Evidence(shown=shown, how="exact law", n_draws=n, misfit=misfit, **about))
    sd = 5.0 / epsilon
    noise = np.array(discrete_gaussian([7] * n, sd, Source())) - 7
    law = laws.gaussian_law(sd, int(12 * sd) + 2)
    shown = loss_at_delta(law, np.append(0.0, law[:-1]), DELTA)
    about = _about("mechanisms.additive.discrete_gaussian", "a count moves by one", "additive", epsilon)
    about |= {"epsilon": loss_of_normal(1.0 / sd, DELTA) + 1.0 / sd**2, "delta": DELTA}  # the lattice costs 1 / sd^2
    misfit = _misfit_of_whole(noise, law)
    found.append(Evidence(shown=shown, how="exact law", n_draws=n, misfit=misfit, **about))
    return found


def _misfit_of_whole(noise: Any, law: Floats) -> float:
    reach = len(law) // 2
    places = np.clip(noise, -reach, reach) + reach
    return misfit_of_counts(np.bincount(places.astype(np.int64), minlength=len(law)), law)


def _spherical(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """`spherical_laplace`: the vector's length against the Gamma law, its direction against the uniform one."""
    from scipy.special import gammainc

    n, dimension = CALLS * effort // 2, 3
    vectors = np.array([spherical_laplace(dimension, epsilon, Source()) for _ in range(n)])
    lengths = np.linalg.norm(vectors, axis=1)
    found = []
    for case, chances in (
        ("length", gammainc(dimension, epsilon * lengths)),
        ("direction", (vectors[:, 0] / lengths + 1.0) / 2.0),  # a coordinate of a sphere in three dimensions is uniform
    ):
        about = _about("mechanisms.spherical.spherical_laplace", case, "spherical", epsilon)
        found.append(Evidence(shown=epsilon, how="exact law", n_draws=n, misfit=misfit_of_chances(chances), **about))
    return found


def _numbered(chances: Sequence[float] | Floats) -> dict[int, float]:
    return {place: float(chance) for place, chance in enumerate(chances)}


def _about(subject: str, case: str, claim: str, epsilon: float, relation: str = "-") -> dict[str, Any]:
    return {
        "subject": subject,
        "case": case,
        "claim": f"mechanisms/{claim}.privacy.md",
        "neighboring": relation,
        "epsilon": epsilon,
        "delta": 0.0,
    }


OF_CALLERS = (_selection, _scaled_selection, _top_k, _additive, _spherical)
"""Checks of mechanisms, to which the relation is their caller's: at an epsilon, with so many times the draws."""
OF_RELATIONS = (_quantile,)
"""Made under both relations."""
