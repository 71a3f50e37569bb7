"""The mechanisms, called as anybody can call them: decisions on given words, and draws against exact laws."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy.special import gammainc, ndtr

from discreet.accounting.neighbors import NeighboringRelation
from discreet.mechanisms import top_k
from discreet.mechanisms.additive import discrete_gaussian, discrete_laplace
from discreet.mechanisms.cube import cube_noise
from discreet.mechanisms.ellipsoid import ellipsoid_noise
from discreet.mechanisms.generalized_exponential import noisy_min_scaled
from discreet.mechanisms.quantile import noisy_quantile
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.mechanisms.spherical import spherical_laplace
from discreet.mechanisms.threshold import above_threshold
from discreet.mechanisms.top_k import canonical_lipschitz, one_shot, peeling
from discreet.selftest import laws
from discreet.selftest.decisions import by_decisions
from discreet.selftest.evidence import (
    Evidence,
    loss_at_delta,
    loss_of_laws,
    loss_of_normal,
    misfit_of_chances,
    misfit_of_counts,
)
from discreet.selftest.tape import Tape
from discreet.typing import Floats, Integers

CALLS = 1500
"""Of a mechanism, for one law."""
NUMBERS = 20_000
"""Of noise that is drawn many numbers at a time: a scale that is a tenth short is ten standard errors off."""
DELTA = 1e-6
RELATIONS = {
    "replace_one": NeighboringRelation.REPLACE_ONE,
    "add_or_remove_one": NeighboringRelation.ADD_OR_REMOVE_ONE,
}
AHEAD = 1e6
"""A score that is chosen whatever the noise."""


def drawn(draw: Callable[[], Hashable], laws_of_pair: Sequence[Mapping[Any, float]], n: int, **about: Any) -> Evidence:
    """Compare draws with their law, and the law with that on the neighbor."""
    law, neighbor_law = laws_of_pair
    counts = Counter(draw() for _ in range(n))
    strange, chances = set(counts) - set(law), list(law.values())
    misfit = 0.0 if strange else misfit_of_counts([counts.get(outcome, 0) for outcome in law], chances)
    shown = loss_of_laws(chances, [neighbor_law[outcome] for outcome in law])
    return Evidence(shown=shown, how="draws", n_draws=n, misfit=misfit, **about)


def _selection(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """`noisy_min` with each noise: where it turns, and draws among four candidates of which one falls behind."""
    evidence = []
    for noise in ("exponential", "gumbel", "laplace"):
        about = partial(_about, "mechanisms.selection.noisy_min", claim="selection", epsilon=epsilon)

        def decide(gap: float, source: Source, noise: Any = noise) -> bool:
            return noisy_min([0.0, gap], 1, epsilon, source, noise) == 1

        evidence.append(by_decisions(decide, noise, 1.0 / epsilon, **about(case=f"{noise} noise, its scale")))
        base = np.array([0.0, 0.8, 1.6, 12.0]) / epsilon
        neighbor = base + np.array([-0.5, -0.5, -0.5, 0.5])
        laws_of_pair = [_numbered(laws.least_law(scores, 1.0 / epsilon, noise)) for scores in (base, neighbor)]
        draw = partial(noisy_min, base, 1, epsilon, Source(), noise)
        evidence.append(
            drawn(draw, laws_of_pair, CALLS * effort, **about(case=f"{noise} noise, one candidate falls behind"))
        )
    return evidence


def _scaled_selection(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """`noisy_min_scaled`: where it turns, and draws of scores that all move by their own sensitivity."""
    about = partial(_about, "mechanisms.generalized_exponential.noisy_min_scaled", claim="generalized_exponential")

    def decide(gap: float, source: Source) -> bool:
        return noisy_min_scaled([1e4, 1e4 + 2.0 * gap], [1, 1], epsilon, source) == 1

    facts = about(case="exponential noise, its scale", epsilon=epsilon)
    evidence = [by_decisions(decide, "exponential", 2.0 / epsilon, rounding=1e-3, **facts)]  # scores end at 2^36
    sizes = np.array([1.0, 4.0, 20.0])
    base = np.array([10.0, 16.0, 40.0]) * max(1.0, 1.0 / epsilon)
    laws_of_pair = [_numbered(_scaled_law(scores, sizes, epsilon)) for scores in (base, base + sizes * [1, -1, -1])]
    draw = partial(noisy_min_scaled, base, [1, 4, 20], epsilon, Source())
    facts = about(case="sensitivities 1, 4, 20; the first rises, the others fall", epsilon=epsilon)
    return [*evidence, drawn(draw, laws_of_pair, CALLS * effort, **facts)]


def _scaled_law(scores: Floats, sizes: Floats, epsilon: float) -> Floats:
    """Raskhodnikova and Smith 2016: the worst normalized lead, then a selection of sensitivity one."""
    guarded = scores + 2.0 / epsilon * math.log(len(sizes) / 0.05) * sizes
    normalized = [
        max((e - f) / (s + t) for f, t in zip(guarded, sizes, strict=True)) for e, s in zip(guarded, sizes, strict=True)
    ]
    return laws.least_law(normalized, 2.0 / epsilon, "exponential")


def _top_k(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """`canonical_lipschitz`, `one_shot` and `peeling`: where they turn, and draws of the best two of six."""
    evidence = [each for noise in ("exponential", "gumbel") for each in _turns_of_top_k(noise, epsilon)]
    scores = np.array([6.0, 4.0, 4.0, 4.0, 3.0, 1.0]) / epsilon
    neighbor = scores + np.array([-1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    swapped = scores + np.array([1.0, -1.0, -1.0, -1.0, -1.0, 1.0])
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
            scores_law = law(scores)
            neighbor_law = max((law(neighbor), law(swapped)), key=partial(_distance, scores_law))
            facts = _of_top_k(mechanism, f"{noise} noise, 2 of 6, order and ties change", epsilon)
            evidence.append(
                drawn(
                    _chosen(mechanism, scores, epsilon, noise), (scores_law, neighbor_law), CALLS * effort // 2, **facts
                )
            )
    with _as_if_many():
        law = partial(laws.peeling_law, k=2, epsilon=epsilon, sensitivity=1.0, noise="exponential")
        pair = (law(scores), max((law(neighbor), law(swapped)), key=partial(_distance, law(scores))))
        facts = _of_top_k(peeling, "exponential noise, 2 of 6, order and ties change, by a race", epsilon)
        evidence.append(drawn(_chosen(peeling, scores, epsilon, "exponential"), pair, CALLS * effort // 2, **facts))
    return [*evidence, ties(epsilon, effort)]


def _threshold(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """`above_threshold`: where one feature turns, and draws among the subsets of four that move against each other."""
    evidence, steps = [], 2**30
    about = partial(_about, "mechanisms.threshold.above_threshold", claim="threshold", epsilon=epsilon)
    for noise in ("exponential", "gumbel"):

        def decide(gap: float, source: Source, noise: Any = noise) -> bool:
            return not above_threshold([round(gap * steps)], 0, epsilon, steps, source, noise=noise).size

        facts = about(case=f"{noise} noise, its scale")
        evidence.append(by_decisions(decide, noise, 2.0 / epsilon, is_ranked=True, rounding=1e-5, **facts))
        scores = np.rint(np.array([40.0, 30.0, -10.0, -20.0]) / epsilon).astype(np.int64)
        law = partial(laws.subset_law, threshold=0, epsilon=epsilon, sensitivity=10.0, absent_weight=2, noise=noise)
        call = partial(_subset, scores, epsilon, noise)
        facts = about(case=f"{noise} noise, 4 features, one moves against the others")
        pair = (law(scores), law(scores + np.array([10, -10, -10, 10])))
        evidence.append(drawn(call, pair, CALLS * effort, **facts))
    return evidence


def _subset(scores: Integers, epsilon: float, noise: Any) -> tuple[int, ...]:
    return tuple(above_threshold(scores, 0, epsilon, 10, Source(), 2, noise).tolist())


def ties(epsilon: float, effort: int) -> Evidence:
    """Draw three of six scores that are all but tied, whose order the neighbor reverses: pair P10."""
    scores: Floats = 5.0 + 1e-9 * np.arange(6, dtype=np.float64)
    laws_of_pair = [
        laws.lipschitz_law(ordered, 3, epsilon, 1.0, 0.5, "exponential") for ordered in (scores, scores[::-1])
    ]
    facts = _of_top_k(canonical_lipschitz, "P10: exponential noise, 3 of 6, all but tied, the order reversed", epsilon)
    call = _chosen(canonical_lipschitz, scores, epsilon, "exponential", 3)
    return drawn(call, laws_of_pair, 2 * CALLS * effort, **facts)


def _turns_of_top_k(noise: str, epsilon: float) -> list[Evidence]:
    """The first of three is far ahead, so that the choice is which of the others joins it."""
    cases = (
        (canonical_lipschitz, 4.0 / epsilon, 1),  # half a gap, over 2 sensitivities; a set without the first draws too
        (one_shot, 4.0 / epsilon, 1),
        (peeling, 4.0 / epsilon, 3 if noise == "exponential" else 1),
    )

    def turn(mechanism: Callable[..., Any], scale: float, before: int, case: str = "its scale") -> Evidence:
        def decide(gap: float, source: Source) -> bool:
            scores = [AHEAD / epsilon, 0.0, -gap]
            return 2 in mechanism(scores, 2, epsilon, 1, source, noise=noise)

        facts = _of_top_k(mechanism, f"{noise} noise, 2 of 3, {case}", epsilon)
        is_ranked = mechanism is canonical_lipschitz
        return by_decisions(decide, noise, scale, before=before, is_ranked=is_ranked, **facts)

    with _as_if_many():
        compiled = turn(canonical_lipschitz, 4.0 / epsilon, 1, "its scale in the compiled search")
    return [*(turn(*case) for case in cases), compiled]


@contextmanager
def _as_if_many() -> Iterator[None]:
    """Let the compiled search serve few features too: the number from which on it does changes times, and no law."""
    before = top_k.SMALL
    top_k.SMALL = 0
    try:
        yield
    finally:
        top_k.SMALL = before


def _of_top_k(mechanism: Callable[..., Any], case: str, epsilon: float) -> dict[str, Any]:
    return _about(f"mechanisms.top_k.{mechanism.__name__}", case, "top_k", epsilon)


def _distance(law: laws.Sets, neighbor_law: laws.Sets) -> float:
    return loss_of_laws(list(law.values()), [neighbor_law[chosen] for chosen in law])


def _chosen(
    mechanism: Callable[..., Any], scores: Floats, epsilon: float, noise: str, k: int = 2
) -> Callable[[], Hashable]:
    return lambda: tuple(sorted(mechanism(scores, k, epsilon, 1, Source(), noise=noise).tolist()))


def _quantile(relation: str, epsilon: float, effort: int) -> list[Evidence]:
    """`noisy_quantile`: where the median of two points turns, and draws of the middle of a histogram."""
    about = partial(_about, "mechanisms.quantile.noisy_quantile", claim="quantile", epsilon=epsilon, relation=relation)
    rows, share = 2**36, 2.0**-20  # so small an epsilon that rows are as good as real numbers

    def decide(gap: float, source: Source) -> bool:
        counts = [rows // 2 + round(gap), rows - rows // 2 - round(gap)]
        return noisy_quantile(counts, 0.5, RELATIONS[relation], 1, epsilon * share, source) == 1

    scale = (2.0 if relation == "replace_one" else 1.0) / epsilon
    evidence = [by_decisions(decide, "exponential", scale / share, rounding=1e-5, **about("the scale of its noise"))]
    rows_each = max(1, round(1.0 / epsilon))
    base = [3 * rows_each, 2 * rows_each, rows_each, 2 * rows_each, 3 * rows_each]
    neighbor = [base[0] + 1, *base[1:4], base[4] - (relation == "replace_one")]
    laws_of_pair = [
        _numbered(laws.least_law(laws.rank_distances(counts, 0.5), scale, "exponential")) for counts in (base, neighbor)
    ]
    call = partial(noisy_quantile, base, 0.5, RELATIONS[relation], 1, epsilon, Source())
    return [*evidence, drawn(call, laws_of_pair, CALLS * effort, **about("a row passes the median"))]


def _additive(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """Discrete Laplace and Gaussian noise on a count that moves by one."""
    return [laplace_sums(epsilon, effort), gaussian_sums(epsilon, effort)]


def laplace_sums(epsilon: float, effort: int) -> Evidence:
    """Draw discrete Laplace noise on a count."""
    n, scale = NUMBERS * effort, 1.0 / epsilon
    noise = np.array(discrete_laplace([7] * n, scale, Source())) - 7
    law = laws.laplace_law(scale, int(30 * scale) + 3)
    facts = _about("mechanisms.additive.discrete_laplace", "a count moves by one", "additive", epsilon)
    facts |= {"shown": loss_of_laws(law[1:-2], law[2:-1]), "misfit": _misfit_of_whole(noise, law)}
    return Evidence(how="draws", n_draws=n, **facts)


def gaussian_sums(epsilon: float, effort: int) -> Evidence:
    """Draw discrete Gaussian noise on a count."""
    n, sd = NUMBERS * effort, 5.0 / epsilon
    noise = np.array(discrete_gaussian([7] * n, sd, Source())) - 7
    law = laws.gaussian_law(sd, int(12 * sd) + 2)
    facts = _about("mechanisms.additive.discrete_gaussian", "a count moves by one", "additive", epsilon)
    facts |= {"epsilon": loss_of_normal(1.0 / sd, DELTA) + 1.0 / sd**2, "delta": DELTA}  # the lattice costs 1 / sd^2
    facts |= {"shown": loss_at_delta(law, np.append(0.0, law[:-1]), DELTA), "misfit": _misfit_of_whole(noise, law)}
    return Evidence(how="draws", n_draws=n, **facts)


def _misfit_of_whole(noise: Any, law: Floats) -> float:
    """Return the p-value of whole numbers whose law reaches as far below zero as above."""
    reach = len(law) // 2
    return _misfit_of_cells(np.clip(noise, -reach, reach) + reach, law)


def _misfit_of_cells(places: Any, law: Floats) -> float:
    """Return the p-value of places in a law, in cells of about equal chance, few beside the draws."""
    below = np.cumsum(law)
    edges = np.unique(np.searchsorted(below, np.linspace(0.0, 1.0, 41)[1:-1]))
    chances = np.diff(np.concatenate([[0.0], below[edges], [1.0]]))
    cells = np.searchsorted(edges, places, side="left")
    return misfit_of_counts(np.bincount(cells, minlength=len(chances)), chances)


def _cube(_: str, epsilon: float, effort: int) -> Iterator[Evidence]:
    """`cube_noise` on two and on three numbers that all move by one."""
    return (cube_sums(n_numbers, epsilon, effort) for n_numbers in (2, 3))


def cube_sums(n_numbers: int, epsilon: float, effort: int) -> Evidence:
    """Draw cube noise: the law of its largest number, and that of its first."""
    n, scale = NUMBERS // 4 * effort, 1.0 / epsilon
    noise = np.array([cube_noise([7] * n_numbers, scale, Source()) for _ in range(n)]) - 7
    reach = int(scale * (6 * n_numbers + 30)) + 2
    largest, first = np.minimum(np.abs(noise).max(axis=1), reach), np.clip(noise[:, 0], -reach, reach)
    m, x = np.meshgrid(np.arange(reach + 1), np.arange(-reach, reach + 1), indexing="ij")
    # Points whose largest number is m and whose first is x: a face of the shell, or the shell of the other numbers.
    face = (2.0 * m + 1) ** (n_numbers - 1)
    others = face - np.where(m > 0, np.maximum(2.0 * m - 1, 0.0) ** (n_numbers - 1), 0.0)
    law = np.where(np.abs(x) == m, face, np.where(np.abs(x) < m, others, 0.0)) * np.exp(-m / scale)
    law /= law.sum()
    both = _misfit_of_cells(largest, law.sum(axis=1)), _misfit_of_cells(first + reach, law.sum(axis=0))
    misfit = min(1.0, 2.0 * min(both))
    facts = _about("mechanisms.cube.cube_noise", f"{n_numbers} counts move by one", "cube", epsilon)
    chances = laws.cube_law(n_numbers, scale, 4)
    moved, still = (slice(1, None),) * n_numbers, (slice(None, -1),) * n_numbers
    shown = loss_of_laws(chances[moved], chances[still])
    return Evidence(shown=shown, how="draws", n_draws=n, misfit=misfit, **facts)


def _ellipsoid(_: str, epsilon: float, effort: int) -> Iterator[Evidence]:
    """`ellipsoid_noise` on two and on three numbers of unlike scales."""
    return (ellipsoid_sums(n_numbers, epsilon, effort) for n_numbers in (2, 3))


def ellipsoid_sums(n_numbers: int, epsilon: float, effort: int) -> Evidence:
    """Draw noise in an ellipsoid: its length, and its direction."""
    n, scales = NUMBERS // 5 * effort, [Fraction(10**12 * (j + 1)) / Fraction(epsilon) for j in range(n_numbers)]
    noise = np.array([ellipsoid_noise([7] * n_numbers, scales, Source()) for _ in range(n)], dtype=np.float64) - 7.0
    vectors = noise / np.array([float(scale) for scale in scales])
    lengths = np.linalg.norm(vectors, axis=1)
    # The first coordinate of a uniform direction in three dimensions is uniform; in two it is a cosine.
    first = vectors[:, 0] / lengths
    directions = (first + 1.0) / 2.0 if n_numbers == 3 else np.arccos(first) / math.pi
    both = misfit_of_chances(gammainc(n_numbers, lengths)), misfit_of_chances(directions)
    facts = _about("mechanisms.ellipsoid.ellipsoid_noise", f"{n_numbers} sums move", "ellipsoid", epsilon)
    return Evidence(shown=epsilon, how="draws", n_draws=n, misfit=min(1.0, 2.0 * min(both)), **facts)


def _spherical(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """`spherical_laplace`: the length of a vector of very many dimensions, its direction, and how both scale."""
    n = NUMBERS * effort
    vector = spherical_laplace(n, epsilon, Source())
    length = float(np.linalg.norm(vector))
    below = float(gammainc(n, epsilon * length))  # a length is Gamma distributed, so that of one vector tells its rate
    about = partial(_about, "mechanisms.spherical.spherical_laplace", claim="spherical", epsilon=epsilon)
    directions = misfit_of_chances(ndtr(vector / length * math.sqrt(n)))
    small = [spherical_laplace(3, rate, Tape((0.3, 0.7, 0.4, 0.6, 0.2))) * rate for rate in (1.0, epsilon)]
    ratio = float(np.linalg.norm(small[0]) / np.linalg.norm(small[1]))
    return [
        Evidence(
            shown=epsilon, how="draws", n_draws=n, misfit=2.0 * min(below, 1.0 - below), **about(case="its length")
        ),
        Evidence(shown=epsilon, how="draws", n_draws=n, misfit=directions, **about(case="its direction")),
        Evidence(shown=epsilon * ratio, how="decisions", n_draws=0, **about(case="its rate in three dimensions")),
    ]


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


OF_CALLERS = (_selection, _scaled_selection, _top_k, _threshold, _additive, _cube, _ellipsoid, _spherical)
"""Checks of mechanisms, to which the relation is their caller's: at an epsilon, with so many times the draws."""
OF_RELATIONS = (_quantile,)
"""Made under both relations."""
