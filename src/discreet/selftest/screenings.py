"""The screenings on their worst pairs."""

from collections.abc import Callable, Iterator
from typing import Any

from discreet.selftest.case import DELTA, MANY, Case, words_of
from discreet.selftest.evidence import Evidence
from discreet.selftest.tables import ACROSS, BOX, CROWD, both_ways

P9 = [
    *both_ways([(1.0, 0.75, 1.0)] * 5, *ACROSS),
    *both_ways([(1.0, 0.75, 1.0)] * 5, (1.0, 1.0, 1.0), (1.0, 1.0, -1.0)),
]
HALVES = both_ways(
    [(0.0, 0.1, -1.0), (-0.1, -0.1, 1.0), (0.2, 0.2, -1.0), (0.1, 0.0, -1.0), (-0.2, -0.2, -1.0)],
    (0.9, -0.9, 1.0),
    (-0.9, 0.9, 1.0),
)
"""A row that takes from one column's split all that it can give another's."""
TURNED = both_ways(
    [(place / 32.0, (7 * place % 41) / 64.0, -place / 32.0) for place in range(-24, 24)],
    (1.0, 1.0, 1.0),
    (-1.0, -1.0, 1.0),
)
"""Rows that fall in one column and have no order in the other: a row takes from one score what it gives the other."""
MANY_ROWS = 100_000
"""As a guess of their number: a bound of the target is bought by rule."""
IN_ORDER = tuple((place + 0.5) * 2.0**-64 for place in range(100))
"""Words that put rows into their order."""


def _screening(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """`DPSIS` on pair P9: one row takes from one score what it gives the other; scores of one's own too."""
    first: dict[str, Any] = {"n_features_to_select": 1}
    untested = first | {"noise_test": False}
    kinds: tuple[dict[str, Any], ...] = (
        {"mechanism": "one_shot"},
        {"mechanism": "one_shot", "y_center": "middle"},
        {"mechanism": "canonical_lipschitz", "y_center": "middle"},
        {"mechanism": "peeling", "y_center": "middle"},
        {"mechanism": "peeling", "delta": DELTA, "y_center": "middle"},
        {"mechanism": "one_shot", "n0": MANY_ROWS},
        {"n_features_to_select": "auto", "n0": 20},
        {"n_features_to_select": "auto", "n0": MANY_ROWS},
        {"n_features_to_select": "auto", "y_center": "middle", "n0": 20},
    )
    cases = [Case("DPSIS", f"P9: {words_of(kind)}", "sis", "sis", P9, untested | kind) for kind in kinds]
    splits = untested | {"mechanism": "one_shot", "association": "median_split", "y_center": "middle"}
    cases.append(Case("DPSIS", "rows cross a median", "sis", "sis", HALVES, splits, words=IN_ORDER,
                      rows_per_unit=(1,)))  # fmt: skip
    pairs = untested | {"mechanism": "one_shot", "association": "kendall"}
    cases.append(Case("DPSIS", "a row turns all of its pairs", "sis", "sis", TURNED, pairs, rows_per_unit=(1,)))
    most = 2.0 if relation == "replace_one" else 1.0
    cases += [
        Case("DPSIS, own score", f"P9: {mechanism}", "own-score", "own_score", P9, rows_per_unit=(1,),
             options=first | {"mechanism": mechanism, "sensitivity": most + 1e-9})
        for mechanism in ("one_shot", "canonical_lipschitz")
    ]  # fmt: skip
    return (each for case in cases for each in case.evidence(relation, epsilon))


FALLING = [(place / 32.0, 0.0, -place / 32.0) for place in range(-24, 24)]
"""Rows that fall: one that is above all in both turns every pair of its own, and what all others count to one."""
ABOVE_ALL = both_ways(FALLING, (1.0, 0.0, 1.0), (0.01, 0.0, -0.01))


def _noise_tests(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """The noise test of `DPSIS` and of `TwoStage`: one row above all others, which fall."""
    options = {"n_features_to_select": 1, "noise_test": True}
    cases = [
        Case("DPSIS", "noise test", "sis", "noise_test", ABOVE_ALL, options | {"y_center": "middle"}),
        Case("TwoStage", "noise test", "two-stage", "noise_test", ABOVE_ALL, options | {"n_blocks": 2}, words=IN_ORDER),
    ]
    return (each for case in cases for each in case.evidence(relation, epsilon))


def _votes(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """`TwoStage`: a row turns the vote of its block, and those of a unit the votes of theirs."""
    n_blocks = CROWD * MANY
    one_block = ((0.9, 1.0, 1.0), (-0.9, -1.0, -1.0), (0.0, 0.2, 0.2), (0.0, -0.2, -0.2))
    base = [row for row in one_block for _ in range(n_blocks)]
    pairs = both_ways(base, (0.0, 1.0, 1.0), (1.0, 0.0, 1.0))
    options = {"n_features_to_select": 1, "n_blocks": n_blocks, "noise_test": False}
    cases = [
        Case("TwoStage", f"rows turn votes: {mechanism}", "two-stage", "two_stage", pairs,
             options | {"mechanism": mechanism}, words=IN_ORDER)
        for mechanism in ("one_shot", "canonical_lipschitz", "peeling")
    ]  # fmt: skip
    return (each for case in cases for each in case.evidence(relation, epsilon))


def _decorrelated(relation: str, epsilon: float, _: int) -> Iterator[Evidence]:
    """`DecorrelatedScores`: a row turns every product at once, and two scores against each other."""
    columns = {"x1": BOX | {"lower": -0.6, "upper": 0.6}, "x2": BOX | {"lower": -0.6, "upper": 0.6}}
    base = [(0.6, 0.6, 1.0), (-0.6, 0.6, 0.0), (0.6, -0.6, 0.0), (-0.6, -0.6, -1.0)] * 20
    pairs = [
        *both_ways(base, (0.6, 0.6, 1.0), (-0.6, -0.6, 1.0), columns=columns),
        *both_ways(base, (0.6, -0.6, 1.0), (-0.6, 0.6, 1.0), columns=columns),
        *both_ways([*base, *[(0.6, -0.6, 1.0)] * 2], (0.6, -0.6, -1.0), (-0.6, 0.6, -1.0), columns=columns),
    ]
    kinds: tuple[dict[str, Any], ...] = ({}, {"y_center": "middle"}, {"n_screened": 1, "y_center": "middle"})
    method = ("decorrelated", "decorrelated_scores", pairs)
    cases = [Case("DecorrelatedScores", words_of(kind) or "by default", *method, kind) for kind in kinds]
    alike = [(0.6, 0.6, 1.0), (-0.6, -0.6, -1.0)] * 20
    turned = both_ways(alike, (0.6, 0.6, 1.0), (-0.6, 0.6, 1.0), columns=columns)
    public_columns = {"labels": ("x1", "x2"), "means": (0.0, 0.0), "covariance": ((0.3, 0.0), (0.0, 0.3))}
    looked = [*turned, *pairs]
    cases.append(
        Case("PublicLook", "a row turns the largest product", "decorrelated", "public_check", looked,
             {"public_moments": public_columns, "y_center": "middle"})
    )  # fmt: skip
    return (each for case in cases for each in case.evidence(relation, epsilon))


CHECKS: tuple[Callable[[str, float, int], Iterator[Evidence]], ...] = (_screening, _votes, _noise_tests, _decorrelated)
"""All of them: under a relation, at an epsilon. They make no draws."""
