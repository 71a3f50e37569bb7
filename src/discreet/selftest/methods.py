"""Choices of a subset, estimates, and what comes before or between them, on their worst pairs."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from discreet.data.halves import KEY_WORDS
from discreet.kernels.rows.unit_rows import CONSTANT
from discreet.methods.registry import method_of
from discreet.selftest.case import DELTA, MANY, Case, words_of
from discreet.selftest.evidence import Evidence
from discreet.selftest.replay import replayed
from discreet.selftest.tables import ACROSS, COUNT, LABEL, Pair, between, both_ways, opened

CORNERS = list(itertools.product((1.0, -1.0), repeat=3))

PINNED = [(1.0, 0.0, 1.0), (-1.0, 0.0, -1.0), (0.0, 1.0, 1.0), (0.0, -1.0, -1.0)] * 100
"""Both coefficients at their limit of one, however one row is."""
P2 = both_ways(PINNED, *ACROSS)
PINNED_TOGETHER = [(0.5, 0.5, 1.0)] * 200
"""Both coefficients add up to their limit of one."""
P7 = both_ways(PINNED_TOGETHER, (1.0, 1.0, 1.0), (-1.0, -1.0, 1.0))
ROOT = CONSTANT
"""A row of unit length whose cells are all alike."""
P18 = [
    Pair((), (1.0, 1.0, 1.0), (-1.0, -1.0, 1.0)),
    Pair((), (ROOT, ROOT, 1.0), (ROOT, ROOT, -1.0)),
    Pair((), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
]
AS_DECLARED = {"y_center": "middle", "y_bound": "furthest"}
"""All of epsilon is for the choice."""
EVERY = {"l1_radius": 1.0, "model_penalty": 0.0, "fit_intercept": False, **AS_DECLARED}
LISTED = {**EVERY, "models": (("x1",), ("x2",))}

# ---- least squares and likelihood


def _least_squares(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """`PCLS` on pair P2: both coefficients at their limit, and a row that fits one model and misses the other."""
    cases = [
        Case("PCLS", "P2: two models", "pcls", "pcls", P2, LISTED),
        Case(
            "PCLS", "P2: two models, exponential mechanism", "pcls", "pcls", P2, LISTED | {"mechanism": "exponential"}
        ),
        Case("PCLS", "P2: all subsets", "pcls", "pcls", P2, EVERY),
    ]
    return (each for case in cases for each in case.evidence(relation, epsilon))


SURE = 1e-3
"""Delta of the profile likelihood's sum of squares here."""


def _at_the_tail(where: str) -> float:
    """Return as much noise of the published sum of squares as comes more often than delta, and none elsewhere."""
    return 0.9999 * math.log(1.0 / (2.0 * SURE)) if where == "sum_of_squares" else 0.0


def _profile(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """`PCPL` on pairs P5 and P7, the noise of its sum of squares so large that its bound all but fails."""
    pinned = [*PINNED, *[(0.0, 0.0, 1.0)] * 400]
    pairs = [*both_ways(pinned, *ACROSS), *both_ways(pinned, (1.0, 1.0, 1.0), (-1.0, -1.0, 1.0))]
    alike = both_ways([(1.0, 1.0, 1.0)] * 1000, *ACROSS)
    estimated, floored = {"n0": 1000, "delta": SURE}, {"n0": 1000, "variance_floor": 0.1}
    cases = [
        Case("PCPL", "P5, P7: at the tail", "pcpl", "pcpl", pairs, LISTED | estimated, lift=_at_the_tail),
        Case("PCPL", "P5: a floor of the variance", "pcpl", "pcpl", alike, LISTED | floored),
    ]
    for case in cases:
        yield from case.evidence(relation, epsilon)
    yield _of_the_better(relation, epsilon)


def _of_the_better(relation: str, epsilon: float) -> Evidence:
    """Without noise in the choice, the model that fits must win; its sum of squares is far above its bound."""
    table = opened(["x1", "x2", "y"], [(0.5, 1.0, 0.5), (0.5, -1.0, -0.5)] * 2000, relation)
    method = method_of("pcpl", epsilon=epsilon, n0=4000, **LISTED)
    selected = replayed(method, [table, table], "y", ["x1", "x2"], lambda _: 50.0).selected
    return Evidence(
        subject="PCPL",
        case="of two models the one that fits, without noise",
        claim="methods/subset_selection/pcpl.privacy.md",
        neighboring=relation,
        epsilon=epsilon,
        delta=0.0,
        shown=0.0,
        how="replay",
        n_draws=0,
        fault="" if selected == ("x2",) else "it chooses the model that fits worse",
    )


# ---- estimates


def _moments(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """`NoisyMoments` and `LinearRegression`, with Laplace and with Gaussian noise, on pair P18."""
    cases = []
    for delta in (0.0, DELTA):
        kinds: tuple[tuple[str, str, dict[str, Any]], ...] = (
            ("NoisyMoments", "moments", AS_DECLARED),
            ("NoisyMoments", "moments", {"question": "coefficients"}),
            ("LinearRegression", "linear", {}),
        )
        for subject, method, options in kinds:
            name = f"P18: delta {delta:g}" + (f", {words_of(options)}" if options else "")
            cases.append(Case(subject, name, method, "noisy_moments", P18, options | {"delta": delta}))
    return (each for case in cases for each in case.evidence(relation, epsilon))


def _labels(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """`LogisticRegression` and `PoissonRegression` by passes, on pair P19: labels flip at the edge of the box."""
    labels = between([(1.0, 0.0), (1.0, 1.0), (-1.0, 1.0)], names=("x1", "z"), columns={"z": LABEL})[:4]
    counts = both_ways((), (1.0, 9.0), (-1.0, 9.0), names=("x1", "k"), columns={"k": COUNT})
    cases = [
        Case("LogisticRegression", "P19: labels flip", "logistic", "generalized_linear", labels,
             {"delta": DELTA}, "z", ("x1",)),
        Case("PoissonRegression", "P19: counts at the ends", "poisson", "generalized_linear", counts,
             {"delta": DELTA}, "k", ("x1",)),
    ]  # fmt: skip
    return (each for case in cases for each in case.evidence(relation, epsilon))


# ---- public records


def _public_records(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """`HybridEstimator` and `PublicSubset` on pair P15: rows as near to one public point as to three others."""
    ties = [(0.0, 0.0, 0.0), *CORNERS]
    pairs = [Pair([(0.0, 0.0, 0.0)] * 30, old, new) for old, new in itertools.pairwise(ties)]
    counts = {"measure": "counts", "n_points": "all", "contrast": "mean"}
    cases = [
        Case("HybridEstimator", "P15: counts", "hybrid", "hybrid", pairs, counts),
        Case("HybridEstimator", "corners: margins", "hybrid", "hybrid", pairs, {"measure": "margins"}),
        Case(
            "PublicSubset",
            "corners",
            "public-subset",
            "public_subset",
            _of_losses(),
            {"measure": "counts", "n_points": "all"},
        ),
    ]
    return (each for case in cases for each in case.evidence(relation, epsilon))


def _of_losses() -> list[Pair]:
    """Rows that a model from the public records fits, or misses as far as can be."""
    base = [(1.0, 1.0, -1.0)] * 30 + [(-1.0, -1.0, 1.0)] * 30
    return both_ways(base, (1.0, 1.0, 1.0), (1.0, 1.0, -1.0))


def _histogram(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """`PerturbedHistogram` on pair P20: a row moves to an empty cell."""
    pairs = both_ways([(0.0, 0.0, -1.0)] * 2, (0.0, 0.0, -1.0), (0.0, 0.0, 1.0))
    options = {"bins": 2, "contrast": "mean"}
    return Case("PerturbedHistogram", "P20", "histogram", "histogram", pairs, options).evidence(relation, epsilon)


# ---- private estimates that come first, and runs of several steps


def _tuning(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """Private bounds, center, clipping bound, row count, l1 radius and residual variance, on pairs of their own."""
    middle = [(0.0, 0.0, 0.5)] * 40
    clip = both_ways(middle, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    around = both_ways([(0.0, 0.0, -0.5)] * 20 + [(0.0, 0.0, 0.5)] * 20, (0.0, 0.0, -1.0), (0.0, 0.0, 1.0))
    steep = both_ways([(0.125, 0.0, 1.0)] * 4000, (-1.0, 0.0, 1.0), (0.125, 0.0, 1.0))
    unknown = {"x1": {"type": "real", "bounds": "private"}}
    ends = both_ways(
        [(0.5, 0.0, 0.5)] * 60 + [(-0.5, 0.0, 0.5)] * 60, (-40.0, 0.0, 0.5), (40.0, 0.0, 0.5), columns=unknown
    )
    cases = [
        Case("PCLS", "a private clipping bound of the target", "pcls", "tuning", clip, EVERY | {"y_bound": "private"}),
        Case("PCLS", "a private center of the target", "pcls", "tuning", around, EVERY | {"y_center": "private"}),
        Case(
            "PCLS",
            "a private l1 radius",
            "pcls",
            "tuning",
            steep,
            AS_DECLARED | {"l1_radius": "private", "fit_intercept": False},
        ),
        Case("PCLS", "a private residual variance", "pcls", "tuning", P7, EVERY | {"model_penalty": "aic"}),
        Case("PCLS", "private bounds of a column", "pcls", "private_bounds", ends, EVERY),
    ]
    if relation != "replace_one":
        wide = {**AS_DECLARED, "l1_radius": "private", "l1_grid": (0.01, 1.0, 100.0), "n0": 50}
        cases.append(Case("PCLS", "a private l1 radius, wide grid", "pcls", "tuning", P2, wide))
    return (each for case in cases for each in case.evidence(relation, epsilon))


def _pipelines(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """A selection and a fit after it, on the same rows and by half of the units each."""
    listed = {key: value for key, value in LISTED.items() if key != "fit_intercept"}
    options = {"select": {"method": "pcls", **listed}, "fit": {"family": "linear"}}
    cases = [
        Case(
            "run",
            f"P2: pcls, then linear, delta {delta:g}",
            "run",
            "prepared_steps",
            [*P2, *P7],
            options | {"delta": delta, "selective_inference": "none"},
        )
        for delta in (0.0, DELTA)
    ]
    # Identifiers make the sizes of halves private, which replace_one does not take.
    several = (1,) if relation == "replace_one" else (1, MANY)
    cases += [
        Case(
            "run",
            f"P2: pcls, then linear, by half, {name} coins, delta {delta:g}",
            "run",
            "selection_by_half",
            [*P2, *P7],
            options | {"delta": delta, "selective_inference": "split"},
            rows_per_unit=several,
            words=(word,) * KEY_WORDS,
        )
        for delta in (0.0, DELTA)
        for name, word in (("some", 0.6), ("other", 0.7))  # the unit that differs is in one half, then in the other
    ]
    return (each for case in cases for each in case.evidence(relation, epsilon))


CHECKS: tuple[Callable[[str, float, int], Iterator[Evidence]], ...] = (
    _least_squares,
    _profile,
    _moments,
    _labels,
    _public_records,
    _histogram,
    _tuning,
    _pipelines,
)
"""All of them: under a relation, at an epsilon. They make no draws."""
