"""The methods on their worst pairs: what reaches the mechanisms, recorded on a table and repeated on a neighbor."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.data.halves import KEY_WORDS
from discreet.data.public_records import PublicRecords
from discreet.kernels.rows.unit_rows import CONSTANT
from discreet.methods.base.method import Method
from discreet.methods.registry import method_of
from discreet.methods.screening.own_score import OwnScore
from discreet.selftest.evidence import Evidence
from discreet.selftest.replay import Lift, no_noise, replayed
from discreet.selftest.tables import BOX, COUNT, CROWD, LABEL, Pair, Row, opened

DELTA = 1e-6
MANY = 3
"""Rows of one unit, where units of several rows are tried."""


@dataclass(frozen=True)
class Case:
    """A method with options, and the pairs that come nearest to what it is charged.

    Parameters
    ----------
    subject : str
        The method, as people call it.
    name : str
        What is special.
    method : str
        Its name on the command line.
    claim : str
        File of its claim, without ending.
    pairs : sequence of Pair
        Neighbors.
    options : dict of str to Any
        The method's parameters, but epsilon.
    target : str
        The response.
    candidates : sequence of str
        Columns that may be selected.
    rows_per_unit : sequence of int
        How many rows a unit may have.
    lift : callable
        What noise the sums get.
    words : sequence of float
        Uniform numbers for what else is done by chance.
    """

    subject: str
    name: str
    method: str
    claim: str
    pairs: Sequence[Pair]
    options: dict[str, Any] = field(default_factory=dict)
    target: str = "y"
    candidates: Sequence[str] = ("x1", "x2")
    rows_per_unit: Sequence[int] = (1, MANY)
    lift: Lift = no_noise
    words: Sequence[float] = ()

    def evidence(self, relation: str, epsilon: float) -> list[Evidence]:
        """Replay each pair, with units of one row and of several; one piece of evidence for each charged part."""
        return [each for rows in self.rows_per_unit for each in self._of_units(relation, epsilon, rows)]

    def _of_units(self, relation: str, epsilon: float, rows_per_unit: int) -> list[Evidence]:
        method = self._method(epsilon)
        runs = [
            replayed(method, pair.tables(relation, rows_per_unit), self.target, self.candidates, self.lift, self.words)
            for pair in self.pairs
        ]
        fault = next((run.fault for run in runs if run.fault), "")
        case = self.name if rows_per_unit == 1 else f"{self.name}; {rows_per_unit} rows of a unit of many"
        facts: dict[str, Any] = {
            "subject": self.subject,
            "claim": f"methods/{self.claim}.privacy.md",
            "neighboring": relation,
            "delta": 0.0,
            "how": "replay",
            "n_draws": 0,
        }
        if fault:
            return [Evidence(case=case, epsilon=epsilon, shown=0.0, fault=fault, **facts)]
        parts = zip(*(run.parts for run in runs), strict=True)
        return [self._of_part(part, case, facts) for part in parts]

    @staticmethod
    def _of_part(parts: Sequence[Any], case: str, facts: dict[str, Any]) -> Evidence:
        """Return the evidence of the pair with the largest privacy loss in a charged part."""
        unit = ", as rho" if parts[0].kind == "gaussian" else ""
        words = f"{case}: {parts[0].kind}{unit}"
        return Evidence(case=words, epsilon=parts[0].charge, shown=max(part.cost for part in parts), **facts)

    def _method(self, epsilon: float) -> Method:
        if self.method == "own-score":
            return OwnScore.of(score_func=_absolute_products, epsilon=epsilon, **self.options)
        public = {"public": _open_records()} if self.method in ("hybrid", "public-subset") else {}
        return method_of(self.method, epsilon=epsilon, **public, **self.options)


def _absolute_products(X: Any, y: Any) -> Any:
    return np.abs(X.T @ y)


@cache
def _open_records() -> PublicRecords:
    """Return records at the corners, most of them on a line that private rows may leave."""
    corners = [(1.0, 1.0, 1.0)] * 5 + [(-1.0, -1.0, -1.0)] * 5
    corners += [(1.0, 1.0, -1.0), (-1.0, -1.0, 1.0), (1.0, -1.0, 0.0), (-1.0, 1.0, 0.0)]
    rows = pa.table({name: [row[at] for row in corners] for at, name in enumerate(("x1", "x2", "y"))})
    declared = {"dataset": "open", "unit": "person", "neighboring": "add_or_remove_one"}
    return PublicRecords(
        rows, dc.Metadata.model_validate(declared | {"columns": dict.fromkeys(rows.column_names, BOX)})
    )


# ---- pairs

CORNERS = list(itertools.product((1.0, -1.0), repeat=3))


def _between(rows: Sequence[Row], base: Sequence[Row] = (), **more: Any) -> list[Pair]:
    """Return pairs in which each row becomes each other one."""
    return [Pair(base, old, new, **more) for old, new in itertools.permutations(rows, 2)]


def _both_ways(base: Sequence[Row], old: Row, new: Row, **more: Any) -> list[Pair]:
    return [Pair(base, old, new, **more), Pair(base, new, old, **more)]


PINNED = [(1.0, 0.0, 1.0), (-1.0, 0.0, -1.0), (0.0, 1.0, 1.0), (0.0, -1.0, -1.0)] * 100
"""Both coefficients at their limit of one, however one row is."""
ACROSS = ((-1.0, 1.0, 1.0), (1.0, -1.0, 1.0))
"""A row that fits one of two columns and misses the other, and the reverse."""
P2 = _both_ways(PINNED, *ACROSS)
PINNED_TOGETHER = [(0.5, 0.5, 1.0)] * 200
"""Both coefficients add up to their limit of one."""
P7 = _both_ways(PINNED_TOGETHER, (1.0, 1.0, 1.0), (-1.0, -1.0, 1.0))
ROOT = CONSTANT
"""A row of unit length whose cells are all alike."""
P18 = [
    Pair((), (1.0, 1.0, 1.0), (-1.0, -1.0, 1.0)),
    Pair((), (ROOT, ROOT, 1.0), (ROOT, ROOT, -1.0)),
    Pair((), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
]
P9 = [
    *_both_ways([(1.0, 0.75, 1.0)] * 5, *ACROSS),
    *_both_ways([(1.0, 0.75, 1.0)] * 5, (1.0, 1.0, 1.0), (1.0, 1.0, -1.0)),
]
HALVES = _both_ways(
    [(0.0, 0.1, -1.0), (-0.1, -0.1, 1.0), (0.2, 0.2, -1.0), (0.1, 0.0, -1.0), (-0.2, -0.2, -1.0)],
    (0.9, -0.9, 1.0),
    (-0.9, 0.9, 1.0),
)
"""A row that takes from one column's split all that it can give another's."""
AS_DECLARED = {"y_center": "middle", "y_bound": "furthest"}
"""All of epsilon is for the choice."""
EVERY = {"l1_radius": 1.0, "model_penalty": 0.0, "fit_intercept": False, **AS_DECLARED}
LISTED = {**EVERY, "models": (("x1",), ("x2",))}

# ---- least squares and likelihood


def _least_squares(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """`PCLS` on pair P2: both coefficients at their limit, and a row that fits one model and misses the other."""
    cases = [
        Case("PCLS", "P2: two models", "pcls", "pcls", P2, LISTED),
        Case(
            "PCLS", "P2: two models, exponential mechanism", "pcls", "pcls", P2, LISTED | {"mechanism": "exponential"}
        ),
        Case("PCLS", "P2: all subsets", "pcls", "pcls", P2, EVERY),
    ]
    return [each for case in cases for each in case.evidence(relation, epsilon)]


SURE = 1e-3
"""Delta of the profile likelihood's sum of squares here."""


def _at_the_tail(where: str) -> float:
    """Return as much noise of the published sum of squares as comes more often than delta, and none elsewhere."""
    return 0.9999 * math.log(1.0 / (2.0 * SURE)) if where == "sum_of_squares" else 0.0


def _profile(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """`PCPL` on pairs P5 and P7, the noise of its sum of squares so large that its bound all but fails."""
    pinned = [*PINNED, *[(0.0, 0.0, 1.0)] * 400]
    pairs = [*_both_ways(pinned, *ACROSS), *_both_ways(pinned, (1.0, 1.0, 1.0), (-1.0, -1.0, 1.0))]
    alike = _both_ways([(1.0, 1.0, 1.0)] * 1000, *ACROSS)
    estimated, floored = {"n0": 1000, "delta": SURE}, {"n0": 1000, "variance_floor": 0.1}
    cases = [
        Case("PCPL", "P5, P7: at the tail", "pcpl", "pcpl", pairs, LISTED | estimated, lift=_at_the_tail),
        Case("PCPL", "P5: a floor of the variance", "pcpl", "pcpl", alike, LISTED | floored),
    ]
    return [*(each for case in cases for each in case.evidence(relation, epsilon)), _of_the_better(relation, epsilon)]


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


# ---- screening

IN_ORDER = tuple((place + 0.5) * 2.0**-64 for place in range(100))
"""Words that put rows into their order."""


def _screening(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """`DPSIS` on pair P9: one row takes from one score what it gives the other; scores of one's own too."""
    first: dict[str, Any] = {"n_features_to_select": 1}
    untested = first | {"noise_test": False}
    kinds: tuple[dict[str, Any], ...] = (
        {"mechanism": "one_shot"},
        {"mechanism": "one_shot", "y_center": "middle"},
        {"mechanism": "canonical_lipschitz", "y_center": "middle"},
        {"mechanism": "peeling", "y_center": "middle"},
        {"mechanism": "peeling", "delta": DELTA, "y_center": "middle"},
        {"n_features_to_select": "auto", "n0": 20},
        {"n_features_to_select": "auto", "y_center": "middle", "n0": 20},
    )
    cases = [Case("DPSIS", f"P9: {_words(kind)}", "sis", "sis", P9, untested | kind) for kind in kinds]
    splits = untested | {"mechanism": "one_shot", "median_split": True, "y_center": "middle"}
    cases.append(Case("DPSIS", "rows cross a median", "sis", "sis", HALVES, splits, words=IN_ORDER,
                      rows_per_unit=(1,)))  # fmt: skip
    most = 2.0 if relation == "replace_one" else 1.0
    cases += [
        Case("DPSIS, own score", f"P9: {mechanism}", "own-score", "own_score", P9, rows_per_unit=(1,),
             options=first | {"mechanism": mechanism, "sensitivity": most + 1e-9})
        for mechanism in ("one_shot", "canonical_lipschitz")
    ]  # fmt: skip
    return [each for case in cases for each in case.evidence(relation, epsilon)]


FALLING = [(place / 32.0, 0.0, -place / 32.0) for place in range(-24, 24)]
"""Rows that fall: one that is above all in both turns every pair of its own, and what all others count to one."""
ABOVE_ALL = _both_ways(FALLING, (1.0, 0.0, 1.0), (0.01, 0.0, -0.01))


def _noise_tests(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """The noise test of `DPSIS` and of `TwoStage`: one row above all others, which fall."""
    options = {"n_features_to_select": 1, "noise_test": True}
    cases = [
        Case("DPSIS", "noise test", "sis", "noise_test", ABOVE_ALL, options | {"y_center": "middle"}),
        Case("TwoStage", "noise test", "two-stage", "noise_test", ABOVE_ALL, options | {"n_blocks": 2}, words=IN_ORDER),
    ]
    return [each for case in cases for each in case.evidence(relation, epsilon)]


def _words(options: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items())


def _votes(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """`TwoStage`: a row turns the vote of its block, and those of a unit the votes of theirs."""
    n_blocks = CROWD * MANY
    one_block = ((0.9, 1.0, 1.0), (-0.9, -1.0, -1.0), (0.0, 0.2, 0.2), (0.0, -0.2, -0.2))
    base = [row for row in one_block for _ in range(n_blocks)]
    pairs = _both_ways(base, (0.0, 1.0, 1.0), (1.0, 0.0, 1.0))
    options = {"n_features_to_select": 1, "n_blocks": n_blocks, "noise_test": False}
    cases = [
        Case("TwoStage", f"rows turn votes: {mechanism}", "two-stage", "two_stage", pairs,
             options | {"mechanism": mechanism}, words=IN_ORDER)
        for mechanism in ("one_shot", "canonical_lipschitz", "peeling")
    ]  # fmt: skip
    return [each for case in cases for each in case.evidence(relation, epsilon)]


def _decorrelated(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """`DecorrelatedScores`: a row turns every product at once, and two scores against each other."""
    columns = {"x1": BOX | {"lower": -0.6, "upper": 0.6}, "x2": BOX | {"lower": -0.6, "upper": 0.6}}
    base = [(0.6, 0.6, 1.0), (-0.6, 0.6, 0.0), (0.6, -0.6, 0.0), (-0.6, -0.6, -1.0)] * 20
    pairs = [
        *_both_ways(base, (0.6, 0.6, 1.0), (-0.6, -0.6, 1.0), columns=columns),
        *_both_ways(base, (0.6, -0.6, 1.0), (-0.6, 0.6, 1.0), columns=columns),
        *_both_ways([*base, *[(0.6, -0.6, 1.0)] * 2], (0.6, -0.6, -1.0), (-0.6, 0.6, -1.0), columns=columns),
    ]
    kinds: tuple[dict[str, Any], ...] = ({}, {"y_center": "middle"})
    method = ("decorrelated", "decorrelated_scores", pairs)
    cases = [Case("DecorrelatedScores", _words(kind) or "by default", *method, kind) for kind in kinds]
    alike = [(0.6, 0.6, 1.0), (-0.6, -0.6, -1.0)] * 20
    turned = _both_ways(alike, (0.6, 0.6, 1.0), (-0.6, 0.6, 1.0), columns=columns)
    known = {"labels": ("x1", "x2"), "means": (0.0, 0.0), "covariance": ((0.3, 0.0), (0.0, 0.3))}
    looked = [*turned, *pairs]
    cases.append(
        Case("PublicLook", "a row turns the largest product", "decorrelated", "public_check", looked,
             {"public_moments": known, "y_center": "middle"})
    )  # fmt: skip
    return [each for case in cases for each in case.evidence(relation, epsilon)]


# ---- estimates


def _moments(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """`NoisyMoments` and `LinearRegression`, with Laplace and with Gaussian noise, on pair P18."""
    cases = []
    for delta in (0.0, DELTA):
        kinds: tuple[tuple[str, str, dict[str, Any]], ...] = (
            ("NoisyMoments", "moments", AS_DECLARED),
            ("NoisyMoments", "moments", {"question": "coefficients"}),
            ("LinearRegression", "linear", {}),
        )
        for subject, method, options in kinds:
            name = f"P18: delta {delta:g}" + (f", {_words(options)}" if options else "")
            cases.append(Case(subject, name, method, "noisy_moments", P18, options | {"delta": delta}))
    return [each for case in cases for each in case.evidence(relation, epsilon)]


def _labels(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """`LogisticRegression` and `PoissonRegression` by passes, on pair P19: labels flip at the edge of the box."""
    labels = _between([(1.0, 0.0), (1.0, 1.0), (-1.0, 1.0)], names=("x1", "z"), columns={"z": LABEL})[:4]
    counts = _both_ways((), (1.0, 9.0), (-1.0, 9.0), names=("x1", "k"), columns={"k": COUNT})
    cases = [
        Case("LogisticRegression", "P19: labels flip", "logistic", "generalized_linear", labels,
             {"delta": DELTA}, "z", ("x1",)),
        Case("PoissonRegression", "P19: counts at the ends", "poisson", "generalized_linear", counts,
             {"delta": DELTA}, "k", ("x1",)),
    ]  # fmt: skip
    return [each for case in cases for each in case.evidence(relation, epsilon)]


# ---- public records


def _public_records(relation: str, epsilon: float, _: int) -> list[Evidence]:
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
    return [each for case in cases for each in case.evidence(relation, epsilon)]


def _of_losses() -> list[Pair]:
    """Rows that a model from the public records fits, or misses as far as can be."""
    base = [(1.0, 1.0, -1.0)] * 30 + [(-1.0, -1.0, 1.0)] * 30
    return _both_ways(base, (1.0, 1.0, 1.0), (1.0, 1.0, -1.0))


def _histogram(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """`PerturbedHistogram` on pair P20: a row moves to an empty cell."""
    pairs = _both_ways([(0.0, 0.0, -1.0)] * 2, (0.0, 0.0, -1.0), (0.0, 0.0, 1.0))
    options = {"bins": 2, "contrast": "mean"}
    return Case("PerturbedHistogram", "P20", "histogram", "histogram", pairs, options).evidence(relation, epsilon)


# ---- private estimates that come first, and runs of several steps


def _tuning(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """Private bounds, center, clipping bound, row count, l1 radius and residual variance, on pairs of their own."""
    middle = [(0.0, 0.0, 0.5)] * 40
    clip = _both_ways(middle, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    around = _both_ways([(0.0, 0.0, -0.5)] * 20 + [(0.0, 0.0, 0.5)] * 20, (0.0, 0.0, -1.0), (0.0, 0.0, 1.0))
    steep = _both_ways([(0.125, 0.0, 1.0)] * 4000, (-1.0, 0.0, 1.0), (0.125, 0.0, 1.0))
    unknown = {"x1": {"type": "real", "bounds": "private"}}
    ends = _both_ways(
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
    return [each for case in cases for each in case.evidence(relation, epsilon)]


def _pipelines(relation: str, epsilon: float, _: int) -> list[Evidence]:
    """A selection and a fit after it, on the same rows and by half of the units each."""
    listed = {key: value for key, value in LISTED.items() if key != "fit_intercept"}
    options = {"select": {"method": "pcls", **listed}, "fit": {"family": "linear"}}
    cases = [
        Case(
            "run",
            f"P2: pcls, then linear, delta {delta:g}",
            "run",
            "select_then_fit",
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
    return [each for case in cases for each in case.evidence(relation, epsilon)]


CHECKS: tuple[Callable[[str, float, int], list[Evidence]], ...] = (
    _least_squares,
    _profile,
    _screening,
    _votes,
    _noise_tests,
    _decorrelated,
    _moments,
    _labels,
    _public_records,
    _histogram,
    _tuning,
    _pipelines,
)
"""All of them: under a relation, at an epsilon. They make no draws."""
