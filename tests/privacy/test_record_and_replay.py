"""Every method, recorded on odd tables and replayed on their neighbors with all that came out frozen."""

import importlib.util
import inspect
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.data.clipped_target import ClippedTarget
from discreet.kernels.glm import requests, score_fit
from discreet.mechanisms import quantile
from discreet.mechanisms.rng import Source
from discreet.methods import registry
from discreet.methods.base.method import Method
from discreet.methods.moments import column_scales, level
from discreet.methods.moments.noisy_sums import NoisySums
from discreet.methods.public_records import histogram, measures, public_subset
from discreet.methods.regression import bound_release, objective_perturbation, spread_release
from discreet.methods.screening import decorrelated_plan, target_center
from discreet.methods.screening.screener import Screening
from discreet.methods.subset_selection import calibration, likelihood_scores, sum_of_squares
from tests.effort import either
from tests.privacy.noise_entries import (
    COMPOSITES,
    ENTRIES,
    INNER,
    mechanism_functions,
    method_modules,
    places,
    unwrapped,
)
from tests.privacy.odd_tables import Pair, long_table, pair_of, pairs, people, plain
from tests.privacy.recording import WILD, Spent, most
from tests.privacy.replayed import RELATIONS, Case, case, cases

EXAMPLES = either(1, 2)
"""Of odd pairs for each case and relation, beside the one that is the same for all."""

HIGH = plain(a=1, b=5, c="u", d=1, e=10, g="no", y=2, z=1, k=9)
LOW = plain(a=-1, b=0, c="w", d=-1, e=0, g="yes", y=-2, z=0, k=0)
X_TURNED = {**LOW, "y": "2", "z": "1", "k": "9"}
Y_TURNED = {**HIGH, "y": "-2", "z": "0", "k": "0"}

CASES = cases()
EACH = [pytest.param(one, relation, id=f"{one.name}-{relation}") for one in CASES for relation in one.relations]
ALONE = {
    (one.name, relation): (0, WILD) if len(one.relations) == 1 else ((0, WILD)[(at + place) % 2],)
    for at, one in enumerate(CASES)
    for place, relation in enumerate(one.relations)
}
"""Noise on the pair that is the same for all: each case meets the usual and the wild, each relation in half of them."""


@pytest.mark.parametrize(("one", "relation"), EACH)
def test_neighbors_with_the_same_outputs_differ_by_what_is_charged_and_nothing_else(one, relation):
    """Same calls, public arguments and release; every part within its charge; nothing uncharged.

    The largest share of each charge that was seen is printed.
    """
    parts: list[Spent] = []

    @given(pairs(relation, one.rows_per_unit), st.sampled_from([0, 1, 2, WILD, WILD + 1]))
    @settings(max_examples=EXAMPLES)
    def holds(pair: Pair, seed: int) -> None:
        assume(pair.base and pair.old != pair.new)  # the pair below has no other rows, and equal tables tell nothing
        parts.extend(one.compared(pair, relation, seed))

    holds()
    # Alone there are no two halves.
    alone = pair_of([LOW] * one.is_by_half, HIGH, LOW, relation, one.rows_per_unit)
    for seed in either(ALONE[one.name, relation], (0, WILD)):
        parts += one.compared(alone, relation, seed)
    for part, share in most(parts).items():
        print(f"{share:.4f} of the charge of {part}")


MIXED = pair_of([plain(a=0.3, b=1, y=0.7, k=3), plain(a=-0.2, c="v", d=0.1, y=9)], HIGH, LOW, "replace_one", times=3)


@pytest.mark.parametrize(("one", "relation"), [each for each in EACH if each.values[1] == each.values[0].relations[0]])
def test_the_order_of_the_rows_means_nothing(one, relation):
    """The same rows the other way round: nothing that reaches a mechanism moves at all."""
    if one.is_by_half and one.rows_per_unit == 1:
        pytest.skip("a row is thrown into a half by its place: the law means nothing of the order, one key does")
    pair = replace(MIXED, old=MIXED.old * one.rows_per_unit)
    parts = one.of_tables(*pair.in_both_orders(relation, one.rows_per_unit, one.private))
    assert {part.part for part in parts if part.cost} == set()


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "options", [{"mechanism": "one_shot"}, {"mechanism": "canonical_lipschitz", "y_center": "middle"}]
)
def test_a_table_of_one_value_a_row_moves_by_one_person(relation, options):
    """Values given twice, of no feature, of nobody; a person with any number of them."""
    screening = case("long", "sis", candidates=("0", "1", "2", "3"), n_features_to_select=2, **options)

    @given(st.lists(people(), max_size=4), people(), people(), st.booleans(), st.lists(people(), max_size=1))
    @settings(max_examples=10 * EXAMPLES)
    def holds(base: Any, old: Any, new: Any, is_first: bool, strangers: Any) -> None:
        shared = [(f"p{at}", person) for at, person in enumerate(base)]
        one = long_table([*shared, ("it", old)], relation, strangers)
        if relation == "replace_one":
            other = long_table([*shared, ("another", new)], relation, strangers)
        else:  # values without a target are nobody's
            other = long_table(shared, relation, [*strangers, *([new] if is_first else [])])
        pair = (one, other) if is_first else (other, one)
        assert screening.of_tables(*pair)

    holds()


# ---- that nothing is missed


def test_every_method_has_a_case():
    """A new method, or one that is not on the command line, cannot be forgotten."""
    kinds = {value for module in method_modules() for value in vars(module).values() if isinstance(value, type)}
    whole = {kind for kind in kinds if issubclass(kind, Method) and not inspect.isabstract(kind)}
    assert {type(one.method) for one in CASES} == {kind for kind in whole if "name" in vars(kind)}
    assert {one.name.split(":")[0] for one in CASES} == {*registry._HOMES, "own-score"}


def test_every_mechanism_is_recorded():
    """Each function that draws is recorded, is made of such, or is a part that no method may call."""
    assert mechanism_functions() == {*ENTRIES, *COMPOSITES, *INNER} - {"minimized"}


def test_no_method_reaches_a_mechanism_that_is_not_recorded():
    """Neither by another name, nor by a module, nor by an inner part; and each entry is wrapped somewhere."""
    assert {module.__name__: unwrapped(module) for module in method_modules() if unwrapped(module)} == {}
    assert {name for _, name in places()} == set(ENTRIES)


@pytest.mark.parametrize(
    "line",
    [
        "from discreet.mechanisms.selection import noisy_min_of_blocks",
        "from discreet.mechanisms.additive import discrete_laplace as noise",
        "from discreet.mechanisms import additive",
        "import discreet.mechanisms.additive",
        "from discreet.mechanisms.reals import Words",
        "def late():\n    from discreet.mechanisms.additive import discrete_laplace",
    ],
)
def test_a_way_around_the_recording_is_found(tmp_path, line):
    """Control: an inner part, another name, a module, a late import."""
    path = tmp_path / "around.py"
    path.write_text(f'"""A method that would draw unseen."""\n{line}\n')
    spec = importlib.util.spec_from_file_location("around", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert unwrapped(module)


# ---- pairs that are meant: what is claimed is reached, so that less noise is found out

PINNED = [plain(a=0.25, d=0, y=2)] * 200 + [plain(a=0, d=0.25, y=2)] * 200
TWO_MODELS: dict[str, Any] = {
    "models": (("a",), ("d",)), "fit_intercept": False, "candidates": ("a", "d"), "model_penalty": 0.0
}  # fmt: skip
BOUGHT: dict[str, Any] = {
    "y_bound": "private", "l1_radius": "private", "model_penalty": "aic", "fit_intercept": False, "candidates": ("a",)
}  # fmt: skip
R, A = RELATIONS


@dataclass(frozen=True)
class Meant:
    """A pair on which a part spends at least a share of its charge, and how to halve the noise of that part."""

    case: Case
    relation: str
    pair: Pair
    part: str
    least: float
    halved: tuple[Any, str, Any]

    def seen(self) -> float:
        """The intervals are left out: they follow the last draw, and nothing is spent on them."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(score_fit, "intervals", lambda _model, center, *_, **__: (center - 1.0, center + 1.0))
            patch.setattr(score_fit.ScoreFit, "_ends", lambda _fit, rows, _level: (-np.ones(len(rows)),) * 2)
            patch.setattr(score_fit.ScoreFit, "joint", lambda *_: (0.0, 1.0, None))
            return most(self.case.compared(self.pair, self.relation))[self.part]


def meant(
    one: Case, relation: str, base: Any, old: Any, new: Any, part: str, least: float, halved: Any, times: int = 1
) -> Meant:
    """The unit has as many rows as count."""
    return Meant(one, relation, pair_of(base, old, new, relation, one.rows_per_unit, times), part, least, halved)


def half(function: Any) -> Any:
    """A sensitivity that is claimed to be half of what it is."""
    return lambda *args, **given: function(*args, **given) / 2


def half_fields(function: Any, **of: float) -> Any:
    """The same of some fields of what is returned, each divided."""

    def found(*args: Any, **given: Any) -> Any:
        whole = function(*args, **given)
        return replace(whole, **{name: getattr(whole, name) / by for name, by in of.items()})

    return found


def half_estimates(self: NoisySums, shares: Any, whole: Any = NoisySums.estimates) -> Any:
    return tuple(replace(one, l2=one.l2 / 4) for one in whole(self, shares))


def half_top_k(self: Any, n: int, epsilon: Any, sensitivity: Any, *rest: Any, whole: Any = Screening.top_k) -> Any:
    return whole(self, n, epsilon, Fraction(sensitivity) / 2, *rest)


OF_SCORES = (calibration.Sensitivity, "of", staticmethod(half_fields(calibration.Sensitivity.of, gamma=2)))
OF_SQUARES = (sum_of_squares, "squares_scale", half(sum_of_squares.squares_scale))
OF_PROFILE = (likelihood_scores.LikelihoodScores, "gamma", half(likelihood_scores.LikelihoodScores.gamma))
OF_RANKS = (quantile, "rank_sensitivity", half(quantile.rank_sensitivity))
OF_LEVEL = (level, "rank_sensitivity", half(quantile.rank_sensitivity))
OF_SUMS = (NoisySums, "estimates", half_estimates)
OF_SCALES = (column_scales.ColumnScales, "estimate", half_fields(column_scales.ColumnScales.estimate, l2=4))
OF_COUNT = (ClippedTarget, "count", staticmethod(lambda cells: 2 * cells.astype(np.int64).sum(axis=0)))
OF_TOP_K = (Screening, "top_k", half_top_k)
OF_CENTER = (target_center.Center, "sensitivity", property(half(target_center.Center.sensitivity.fget)))
OF_CUBE = (decorrelated_plan.ScorePlan, "scale", half(decorrelated_plan.ScorePlan.scale))
OF_PASSES = (requests, "joint_sensitivity", half(requests.joint_sensitivity))
OF_LINEAR = (objective_perturbation, "perturbation", half_fields(objective_perturbation.perturbation, beta=0.5))
OF_SPREAD = (
    spread_release,
    "spread_sds",
    lambda *given, whole=spread_release.spread_sds: tuple(one / 2 for one in whole(*given)),
)
OF_BINS = (bound_release.BoundRelease, "sensitivity", property(half(bound_release.BoundRelease.sensitivity.fget)))
OF_INFORMATION = (
    objective_perturbation.PreparedPerturbation,
    "_entry_change",
    property(half(objective_perturbation.PreparedPerturbation._entry_change.fget)),
)
OF_MEASURE = (measures.Measure, "sensitivity", property(half(measures.Measure.sensitivity.fget)))
OF_LOSSES = (public_subset, "LOSS_ONE", public_subset.LOSS_ONE // 2)

BY_NAME = {one.name: one for one in CASES}
TWO = case("two models", "pcls", **TWO_MODELS)
PROFILE = case("two models", "pcpl", n0=1000, epsilon=20.0, **TWO_MODELS)
ALL_BOUGHT = case("all bought", "pcls", epsilon=20.0, **BOUGHT)
RANGE = (plain(a=-1, d=0.5, y=2), plain(a=0.5, d=-1, y=2))
AGAINST = ([plain(a=0.05, y=2)] * 1000, plain(a=-1, y=2), plain(a=1, y=2))
FILLED = [*PINNED, *[plain(a=0, d=0, y=2)] * 100]
CLASSES = [HIGH, X_TURNED] * 50
CENTRAL = [plain(y=0)] * 20
MIDDLE = plain(a=0, b=2.5, c="none", d=0, e=5, z=1, k=9)
AT_THE_NORM = (plain(a=0.5, c="none", y=2), plain(a=0.5, c="none", y=-2))

MEANT = [
    *(meant(TWO, r, PINNED, *RANGE, "noisy_min of pcls", 0.95, OF_SCORES) for r in RELATIONS),
    *(meant(PROFILE, r, FILLED, *RANGE, "noisy_min of pcpl", 0.9, OF_PROFILE, 3) for r in RELATIONS),
    meant(ALL_BOUGHT, A, *AGAINST, "noisy_min_subset of pcls", 0.9, OF_SCORES),
    meant(ALL_BOUGHT, A, *AGAINST, "noisy_min of tuning", 0.9, OF_SCORES),
    meant(ALL_BOUGHT, A, *AGAINST, "discrete_laplace of sum_of_squares", 0.9, OF_SQUARES),
    *(meant(BY_NAME["pcls: private bounds"], r, [plain(a=0, y=0)] * 40, HIGH, LOW, "noisy_min of quantile", 0.9,
            OF_RANKS) for r in RELATIONS),
    *(meant(BY_NAME["pcls: private center"], r, [plain(y=-1), plain(y=1)] * 20, HIGH, LOW, "noisy_min of quantile", 0.9,
            OF_RANKS) for r in RELATIONS),
    meant(BY_NAME["linear: pure"], R, [], HIGH, X_TURNED, "ellipsoid_noise of noise_budget", 0.55, OF_SUMS),
    meant(BY_NAME["linear: pure"], A, CENTRAL, HIGH, LOW, "ellipsoid_noise of noise_budget", 0.95, OF_LEVEL),
    meant(BY_NAME["linear: pure"], A, CENTRAL, HIGH, LOW, "ellipsoid_noise of noise_budget", 0.95, OF_SUMS),
    meant(BY_NAME["linear: gaussian"], R, CENTRAL, HIGH, Y_TURNED, "discrete_gaussian of noise_budget", 0.75, OF_LEVEL),
    meant(BY_NAME["linear: gaussian"], R, [], HIGH, X_TURNED, "discrete_gaussian of noise_budget", 0.75, OF_SUMS),
    meant(BY_NAME["moments: row norm, units"], R, [], *AT_THE_NORM, "discrete_gaussian of noise_budget", 0.9, OF_SUMS),
    *(meant(BY_NAME["moments: scaled columns"], r, [HIGH] * 9, HIGH, LOW, "ellipsoid_noise of noise_budget", 0.9,
            OF_SCALES) for r in RELATIONS),
    *(meant(BY_NAME["linear: clipped rows, units"], r, [], HIGH, plain(y=0), "discrete_laplace of tuning", 0.99,
            OF_COUNT) for r in RELATIONS),
    meant(BY_NAME["sis: one shot, middle"], R, [HIGH] * 50, HIGH, X_TURNED, "one_shot of top_k_choice", 0.99,
          OF_TOP_K),
    meant(BY_NAME["two-stage: votes"], R, [plain()] * 40, plain(a=1, y=2), plain(d=1, y=2), "one_shot of top_k_choice",
          0.99, OF_TOP_K),
    *(meant(BY_NAME["decorrelated: units"], r, [HIGH] * 50, HIGH, LOW, "cube_noise of decorrelated_estimates", 0.99,
            OF_CUBE) for r in RELATIONS),
    meant(BY_NAME["sis: canonical, gumbel, units"], R, [], HIGH, LOW, "discrete_laplace of target_center", 0.99,
          OF_CENTER),
    meant(BY_NAME["sis: peeled, delta"], A, [], HIGH, LOW, "peeling of top_k_choice", 0.99, OF_TOP_K),
    meant(BY_NAME["own-score: declared"], R, [HIGH] * 50, HIGH, X_TURNED, "one_shot of top_k_choice", 0.99, OF_TOP_K),
    *(meant(BY_NAME[name], R, CLASSES, Y_TURNED, LOW, "discrete_gaussian of generalized_linear", 0.3, OF_PASSES)
      for name in ("logistic: gaussian", "poisson: gaussian")),
    *(meant(BY_NAME["logistic: pure, large epsilon"], r, CLASSES, Y_TURNED, LOW, "minimized of objective_perturbation",
            0.6, OF_LINEAR) for r in RELATIONS),
    *(meant(BY_NAME["poisson: pure, large epsilon"], r, CLASSES, Y_TURNED, LOW, "ellipsoid_noise of spread_release",
            0.6, OF_SPREAD) for r in RELATIONS),
    *(meant(BY_NAME[name], r, CLASSES, HIGH, LOW, "discrete_laplace of bound_release", 0.99, OF_BINS)
      for name in ("poisson: pure, large epsilon", "poisson: pure, units") for r in RELATIONS),
    *(meant(BY_NAME[name], r, [], MIDDLE, HIGH, "cube_noise of objective_perturbation", 0.9, OF_INFORMATION)
      for name in ("logistic: pure, large epsilon", "logistic: pure, units") for r in RELATIONS),
    *(meant(BY_NAME["logistic: pure, units"], r, CLASSES, Y_TURNED, LOW, "ellipsoid_noise of spread_release",
            0.6, OF_SPREAD) for r in RELATIONS),
    *(meant(BY_NAME["hybrid: counts"], r, [HIGH] * 50, HIGH, LOW, "discrete_laplace of measures", 0.99, OF_MEASURE)
      for r in RELATIONS),
    meant(BY_NAME["hybrid: margins"], R, [], HIGH, Y_TURNED, "discrete_laplace of measures", 0.6, OF_MEASURE),
    meant(BY_NAME["histogram: cells"], R, [], HIGH, LOW, "discrete_laplace of measures", 0.99, OF_MEASURE),
    meant(BY_NAME["public-subset: classes, units"], R, [HIGH, LOW] * 20, HIGH, Y_TURNED, "noisy_min of public_subset",
          0.9, OF_LOSSES),
]  # fmt: skip
MEANT_EACH = [pytest.param(one, id=f"{one.case.name}-{one.relation}-{one.part}") for one in MEANT]


@pytest.mark.parametrize("one", MEANT_EACH)
def test_a_part_spends_what_it_is_charged_on_a_pair_that_is_meant(one):
    """Not more, and so nearly all of it that half the noise would be found out."""
    assert one.least <= one.seen() <= 1.0


@pytest.mark.parametrize("one", MEANT_EACH)
def test_half_the_sensitivity_is_found_out(monkeypatch, one):
    """Control: the same pair, with a claim of half of what a row can do."""
    monkeypatch.setattr(*one.halved)
    if one.halved is OF_LINEAR:  # it checks its own price
        monkeypatch.setattr(objective_perturbation.Change, "spent", lambda *_: 0)
    with pytest.raises(AssertionError, match="spends"):
        one.seen()


# ---- controls: methods that leak in other ways

COUNTED = BY_NAME["histogram: cells"]
COUNTS = pair_of([HIGH] * 3, HIGH, LOW, R)


def drawing(monkeypatch: Any, draw: Any) -> None:
    """Let the counts of a histogram be drawn in another way."""
    whole = measures.Counts.draw
    monkeypatch.setattr(measures.Counts, "draw", lambda self, table, rng, told=None: draw(self, table, rng, whole))


def total(self: Any, table: Any) -> int:
    """Something that depends on the rows."""
    first = table.map_reduce(self.design, lambda cells: cells.astype(np.int64).sum(axis=0), np.zeros(3, dtype=np.int64))
    return int(first[0])


def test_a_scale_that_depends_on_the_rows_is_found_out(monkeypatch):
    """Control: a public argument of a mechanism."""

    def draw(self: Any, table: Any, rng: Any, whole: Any) -> Any:
        return np.array(measures.discrete_laplace([0] * len(self.cells), 10**6 + total(self, table), rng))

    drawing(monkeypatch, draw)
    with pytest.raises(AssertionError, match="another scale"):
        COUNTED.compared(COUNTS, R)


def test_a_draw_that_nobody_pays_for_is_found_out(monkeypatch):
    """Control: the same counts, drawn twice and averaged."""

    def draw(self: Any, table: Any, rng: Any, whole: Any) -> Any:
        return (whole(self, table, rng) + whole(self, table, rng)) // 2

    drawing(monkeypatch, draw)
    with pytest.raises(AssertionError, match="is not charged"):
        COUNTED.compared(COUNTS, R)


def test_a_charge_for_nothing_is_found_out(monkeypatch):
    """Control: the noise is left out, and with it the call."""
    drawing(monkeypatch, lambda self, table, rng, whole: np.zeros(len(self.cells), dtype=np.int64))
    with pytest.raises(AssertionError, match="nothing is done for"):
        COUNTED.compared(COUNTS, R)


def test_a_draw_for_some_rows_only_is_found_out(monkeypatch):
    """Control: whether a mechanism is called at all depends on the rows."""

    def draw(self: Any, table: Any, rng: Any, whole: Any) -> Any:
        found = whole(self, table, rng)
        return found if total(self, table) > 3 * 32767 else whole(self, table, rng)

    drawing(monkeypatch, draw)
    with pytest.raises(AssertionError, match="once more"):
        COUNTED.compared(COUNTS, R)
    with pytest.raises(AssertionError, match="a call is missing"):
        COUNTED.compared(COUNTS.reversed(), R)


def test_a_number_of_values_that_depends_on_the_rows_is_found_out(monkeypatch):
    """Control: the histogram that leaves empty cells out (P20)."""

    def draw(self: Any, table: Any, rng: Any, whole: Any) -> Any:
        found = whole(self, table, rng)
        measures.discrete_laplace([1] * (1 + (total(self, table) > 3 * 32767)), self.scale, rng)
        return found

    drawing(monkeypatch, draw)
    with pytest.raises(AssertionError, match="another number of numbers"):
        COUNTED.compared(COUNTS, R)


def test_noise_straight_from_the_source_is_found_out(monkeypatch):
    """Control: words that no mechanism asked for."""
    drawing(monkeypatch, lambda self, table, rng, whole: rng.words(len(self.cells)).astype(np.int64))
    with pytest.raises(AssertionError, match="outside of any mechanism"):
        COUNTED.compared(COUNTS, R)


@pytest.mark.parametrize(
    ("source", "words"), [(Source(), "a source of its own"), (Source.seeded(1), "release depends on the rows")]
)
def test_noise_from_another_source_is_found_out(monkeypatch, source, words):
    """Control: a mechanism that is handed a source of the method's own, or one whose noise anybody knows."""
    drawing(monkeypatch, lambda self, table, rng, whole: whole(self, table, source))
    with pytest.raises(AssertionError, match=words):
        COUNTED.compared(COUNTS, R)


def test_progress_that_depends_on_the_rows_is_found_out(monkeypatch):
    """Control: a bar over work whose length does."""
    whole = histogram.PreparedHistogram.run

    def run(self: Any, table: Any, rng: Any, progress: Any) -> Any:
        progress("Doing", total(self.counts, table), None)
        return whole(self, table, rng, progress)

    monkeypatch.setattr(histogram.PreparedHistogram, "run", run)
    with pytest.raises(AssertionError, match="the progress depends on the rows"):
        COUNTED.compared(COUNTS, R)


@pytest.mark.parametrize(
    ("leak", "where"),
    [
        (lambda outcome, seen: replace(outcome, selected=(f"x{seen}",)), "selected"),
        (
            lambda outcome, seen: replace(outcome, noise=outcome.noise.model_copy(update={"scale": float(seen)})),
            "noise",
        ),
        (lambda outcome, seen: 1 // (seen - 3 * 32767 - 32767) and outcome, "failed"),
    ],
)
def test_a_release_that_depends_on_the_rows_is_found_out(monkeypatch, leak, where):
    """Control: a field, a number of the noise box, a failure."""
    whole = histogram.PreparedHistogram.run

    def run(self: Any, table: Any, rng: Any, progress: Any = None) -> Any:
        return leak(whole(self, table, rng, progress), total(self.counts, table))

    monkeypatch.setattr(histogram.PreparedHistogram, "run", run)
    with pytest.raises(AssertionError, match=rf"depends on the rows: .*{where}"):
        COUNTED.compared(COUNTS.reversed(), R)


@pytest.mark.parametrize(
    ("one", "pair", "words"),
    [
        (case("printed", "pcls", as_published=True, candidates=("a", "d")), pair_of([], HIGH, plain(y=0), R),
         "another range_sensitivity"),
        (case("printed", "pcpl", as_published=True, candidates=("a", "d")), pair_of(FILLED, HIGH, Y_TURNED, R),
         "another range_sensitivity"),
    ],
)  # fmt: skip
def test_algorithms_as_printed_are_found_out(one, pair, words):
    """Control: noise that follows the rows (P3, P6)."""
    with pytest.raises(AssertionError, match=words):
        one.compared(pair, R)
