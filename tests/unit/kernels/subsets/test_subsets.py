"""Scores of many models at once are those of each model alone, on both backends."""

import numpy as np
import pytest
from tests.effort import either
from tests.unit.kernels.kernel_problems import (
    DESIGNS,
    MAX_ROWS,
    Bools,
    Floats,
    optimum_by_enumeration,
    optimum_by_path,
    problem,
    simulated,
    stated_tolerance,
)

from discreet.kernels.subsets import subsets
from discreet.kernels.subsets.l1_ball import solve_on_l1_ball
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import constrained_scores, score_blocks

pytestmark = pytest.mark.parametrize("compiled", [False, True], ids=["arrays", "compiled"])

RADII = (0.05, 0.6, 3.0)
ALONE = either(16, 1)
"""One of so many models is solved by itself too."""


class Search:
    """A table, its units and its radius; every column is a unit of its own unless units are given."""

    def __init__(
        self,
        design: str = "uniform",
        p: int = 6,
        radius: float = 0.6,
        units: Bools | None = None,
        always: tuple[int, ...] = (),
        n: int = 200,
        times: float = 1.0,
    ) -> None:
        self.gram, self.xty, self.yty = problem(design, n, p, times=times)
        self.radius, self.tolerance = radius, stated_tolerance(radius)
        self.always = np.isin(np.arange(p), always)
        self.units = np.eye(p, dtype=bool)[~self.always] if units is None else units

    @property
    def masks(self) -> np.ndarray:
        """Every subset of the units."""
        return np.arange(2 ** len(self.units), dtype=np.uint64)

    def columns(self, mask: int) -> Bools:
        """Columns that a model may use, one unit after another."""
        used = self.always.copy()
        for j, unit in enumerate(self.units):
            if int(mask) >> j & 1:
                used |= unit
        return used

    def scores(self, masks: np.ndarray, compiled: bool, progress=None) -> tuple[Floats, Floats]:
        """What is tested."""
        return constrained_scores(self.problem, masks, progress, compiled)

    @property
    def problem(self) -> SubsetProblem:
        """As the kernels take it."""
        return SubsetProblem(self.gram, self.xty, self.yty, self.radius, self.units, self.always, self.tolerance)

    def alone(self, mask: int) -> float:
        """The score of one model, solved by itself and from zeros."""
        columns = self.columns(mask)[None]
        start = np.zeros(columns.shape, dtype=np.int8)
        value, gap, _ = solve_on_l1_ball(self.gram, self.xty, self.radius, columns, start, self.tolerance)
        assert gap[0] <= self.tolerance
        return max(self.yty + value[0], 0.0)

    def from_zeros(self, masks: np.ndarray) -> Floats:
        """The scores of many models, solved side by side, each from zeros."""
        columns = np.array([self.columns(mask) for mask in masks])
        start = np.zeros(columns.shape, dtype=np.int8)
        values, gaps, _ = solve_on_l1_ball(self.gram, self.xty, self.radius, columns, start, self.tolerance)
        assert (gaps <= self.tolerance).all()
        return np.maximum(self.yty + values, 0.0)

    def check(self, masks: np.ndarray, compiled: bool) -> Floats:
        """Every score is certified, and within its gap of the model's own."""
        scores, gaps = self.scores(masks, compiled)
        assert scores.shape == gaps.shape == masks.shape
        assert ((gaps >= 0.0) & (gaps <= self.tolerance)).all()
        expected = np.array([self.alone(mask) for mask in masks])
        assert np.abs(scores - expected).max() <= self.tolerance
        return scores


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_scores_are_those_of_each_model_alone(design: str, compiled: bool) -> None:
    """All models of six columns, with the bound active, half active and idle."""
    for radius in RADII:
        search = Search(design, p=6, radius=radius)
        search.check(search.masks, compiled)


@pytest.mark.parametrize("design", DESIGNS)
def test_scores_are_those_of_other_solvers(design: str, compiled: bool) -> None:
    """Score - gap <= the lasso path's optimum <= score, for every model."""
    search = Search(design, p=6)
    scores, gaps = search.scores(search.masks, compiled)
    for mask, score, gap in zip(search.masks, scores, gaps, strict=True):
        used = search.columns(mask)
        gram, xty = search.gram[np.ix_(used, used)], search.xty[used]
        best = search.yty + optimum_by_path(gram, xty, search.radius)
        assert score - gap - 1e-7 <= best <= score + 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("design", ["uniform", "duplicated", "dummies and constant", "nearly equal", "signs"])
def test_scores_at_the_most_rows_are_those_of_each_model_alone(design: str, compiled: bool) -> None:
    """At 2^33 - 1 rows the backends and the single solves still agree within the tolerance."""
    for radius in RADII:
        search = Search(design, p=6, radius=radius, n=30, times=MAX_ROWS / 30)
        search.check(search.masks, compiled)


def test_groups_enter_whole(compiled: bool) -> None:
    """A unit of several columns brings all of them."""
    units = np.zeros((4, 9), dtype=bool)
    for j, columns in enumerate([(0, 4), (1,), (2, 5, 8), (3, 6)]):
        units[j, list(columns)] = True
    for radius in RADII:
        search = Search("autoregressive", p=9, radius=radius, units=units, always=(7,))
        search.check(search.masks, compiled)


def test_columns_of_every_model_are_in_every_model(compiled: bool) -> None:
    """The empty model has the constant and the forced columns, and so have all others."""
    search = Search("dummies and constant", p=7, radius=0.4, always=(0, 3))
    scores = search.check(search.masks, compiled)
    fixed = search.columns(0)
    best = optimum_by_enumeration(search.gram[np.ix_(fixed, fixed)], search.xty[fixed], 0.4)
    assert scores[0] == pytest.approx(search.yty + best, abs=1e-6)
    assert scores[0] < search.yty - 1.0


def test_columns_of_no_unit_are_in_no_model(compiled: bool) -> None:
    """A column that no unit owns and that is not in every model is never used."""
    full = Search("uniform", p=6)
    part = Search("uniform", p=6, units=full.units[[0, 2, 4]])
    masks = full.masks[(full.masks & np.uint64(0b101010)) == 0]
    assert np.allclose(part.check(part.masks, compiled), full.scores(masks, compiled)[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("mask", [0, 1, 0b101101, 2**8 - 1])
def test_a_single_model_is_enough(mask: int, compiled: bool) -> None:
    """A list of one model, empty, small or full, is scored without any other."""
    search = Search(p=8)
    search.check(np.array([mask], dtype=np.uint64), compiled)


def test_the_empty_model_scores_the_target_alone(compiled: bool) -> None:
    """Without a constant the empty model has no column, and its score is y'y, whoever stands beside it."""
    search = Search(p=5)
    for masks in ([0], [0, 1], [31, 0]):
        scores, gaps = search.scores(np.array(masks, dtype=np.uint64), compiled)
        assert scores[masks.index(0)] == search.yty
        assert gaps[masks.index(0)] <= search.tolerance


def test_a_table_without_free_columns_has_one_model(compiled: bool) -> None:
    """One unit without columns stands for no unit at all: the model of the fixed columns is scored."""
    search = Search(p=3, units=np.zeros((1, 3), dtype=bool), always=(0, 2))
    search.check(np.array([0], dtype=np.uint64), compiled)


def test_models_up_to_a_size(compiled: bool) -> None:
    """Without the larger models there is no parent at first, and the scores are the same."""
    search = Search("autoregressive", p=8)
    everything = search.scores(search.masks, compiled)[0]
    for size in (0, 1, 3):
        small = search.masks[np.bitwise_count(search.masks) <= size]
        found = search.check(small, compiled)
        assert np.abs(found - everything[small.astype(int)]).max() <= search.tolerance


def test_arbitrary_lists_of_models(compiled: bool) -> None:
    """Lists with gaps between the sizes, where most models have no parent, are scored as each model alone."""
    rng = simulated(2)
    for radius in RADII:
        search = Search("duplicated", p=10, radius=radius)
        sizes = np.bitwise_count(search.masks)
        chosen = rng.permutation(search.masks[np.isin(sizes, [10, 7, 6, 3, 1])])[:80]
        search.check(chosen, compiled)


def test_forty_units(compiled: bool) -> None:
    """More units than a table of places holds: large models, some of their parts, and parts of those."""
    rng = simulated(4)
    search = Search("uniform", p=40, radius=0.5, n=400)
    masks = {int(mask) | 1 << 39 for mask in rng.integers(0, 2**39, 5)}
    for _ in range(3):
        masks |= {mask & ~(1 << int(j)) for mask in masks for j in rng.integers(0, 39, 3)}
    listed = rng.permutation(np.array(sorted(masks), dtype=np.uint64))[:150]
    search.check(listed, compiled)


def test_sixty_three_units(compiled: bool) -> None:
    """The last bit that a model may have is read as any other."""
    search = Search("uniform", p=63, n=300, radius=0.5)
    top = (1 << 63) - 1
    listed = [0, 1, 1 << 62, top, top ^ 1, top ^ (1 << 62), top ^ (1 << 62) ^ (1 << 40)]
    search.check(np.array(listed, dtype=np.uint64), compiled)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_unit_more_never_scores_worse(design: str, compiled: bool) -> None:
    """Residual sums of squares fall, within the gap, whenever a unit is added."""
    search = Search(design, p=8, radius=0.5)
    scores, gaps = search.scores(search.masks, compiled)
    for j in range(8):
        without = np.flatnonzero(search.masks >> np.uint64(j) & np.uint64(1) == 0)
        more = without | 1 << j
        assert (scores[more] - gaps[more] <= scores[without] + 1e-9).all()


def test_scores_do_not_depend_on_the_order_of_models(compiled: bool) -> None:
    """Shuffled and reversed lists give each model the same bits."""
    search = Search("autoregressive", p=9)
    scores, gaps = search.scores(search.masks, compiled)
    for order in (simulated(1).permutation(512), np.arange(512)[::-1]):
        shuffled = search.scores(search.masks[order], compiled)
        assert np.array_equal(shuffled[0], scores[order])
        assert np.array_equal(shuffled[1], gaps[order])


def test_progress_adds_up_to_the_number_of_models(compiled: bool) -> None:
    """Every model is told as finished once, and none before it is."""
    told: list[int] = []
    search = Search(p=7)
    search.scores(search.masks, compiled, told.append)
    assert sum(told) == 2**7
    assert min(told) > 0


def test_scores_are_never_negative(compiled: bool) -> None:
    """An exact fit at the most rows scores 0 or more, whatever rounding does."""
    gram = np.array([[1.0, 0.5], [0.5, 1.0]]) * MAX_ROWS / 3
    point = np.array([0.3, -0.2])
    xty, yty = gram @ point, float(point @ gram @ point) * (1 - 1e-15)
    units, masks = np.eye(2, dtype=bool), np.arange(4, dtype=np.uint64)
    where = SubsetProblem(gram, xty, yty, 1.0, units, np.zeros(2, bool), 1e-4 * 4)
    scores, _ = constrained_scores(where, masks, compiled=compiled)
    assert (scores >= 0.0).all()
    assert scores[3] <= 1e-4 * 4


def test_both_backends_agree(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither backend is chosen by accident: each solves all models itself, and they agree."""
    search = Search("nearly equal", p=10)
    found, other = (search.scores(search.masks, backend)[0] for backend in (compiled, not compiled))
    assert np.abs(found - other).max() <= search.tolerance
    monkeypatch.delattr(subsets, "_compiled_blocks" if not compiled else "_scores_by_level")
    search.scores(search.masks, compiled)


def blocks(search: Search, compiled: bool, **options) -> tuple[np.ndarray, Floats, Floats]:
    """All blocks as one."""
    found = list(score_blocks(search.problem, compiled=compiled, **options))
    masks, scores, gaps = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return masks, scores, gaps


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_blocks_are_the_list_of_all_models(design: str, compiled: bool) -> None:
    """Each subset once, the empty one included, with the score it has from zeros; grouped and fixed columns too."""
    groups = np.zeros((6, 11), dtype=bool)
    for j, columns in enumerate([(0, 4, 9), (1,), (2, 5), (3,), (6, 10), (8,)]):
        groups[j, list(columns)] = True
    for radius in (*RADII, 100.0):
        for search in (
            Search(design, p=8, radius=radius),
            Search(design, p=11, radius=radius, units=groups, always=(7,)),
            Search(design, p=8, radius=radius, n=30, times=MAX_ROWS / 30),
        ):
            masks, scores, gaps = blocks(search, compiled)
            assert np.array_equal(np.sort(masks), search.masks)
            assert ((gaps >= 0.0) & (gaps <= search.tolerance)).all()
            assert np.abs(scores - search.from_zeros(masks)).max() <= search.tolerance
            alone = np.array([search.alone(mask) for mask in masks[::ALONE]])
            assert np.abs(scores[::ALONE] - alone).max() <= search.tolerance


def test_blocks_up_to_a_size(compiled: bool) -> None:
    """Models of more units are left out, and the others score as they do among all."""
    search = Search("autoregressive", p=9, radius=0.3)
    everything = search.scores(search.masks, compiled)[0]
    for size in (0, 1, 4, 9, 20):
        masks, scores, gaps = blocks(search, compiled, max_size=size)
        assert np.array_equal(np.sort(masks), search.masks[np.bitwise_count(search.masks) <= size])
        assert (gaps <= search.tolerance).all()
        assert np.abs(scores - everything[masks.astype(int)]).max() <= search.tolerance


def test_blocks_of_many_units_and_few_in_a_model(compiled: bool) -> None:
    """Sixty-three units, two in a model: what 2^63 would be is never counted through."""
    search = Search("uniform", p=63, n=300, radius=0.3)
    masks, scores, _ = blocks(search, compiled, max_size=2)
    assert len(np.unique(masks)) == len(masks) == 1 + 63 + 63 * 31
    assert np.bitwise_count(masks).max() == 2
    for i in range(0, len(masks), 97):
        assert scores[i] == pytest.approx(search.alone(masks[i]), abs=search.tolerance)


def test_progress_of_blocks_adds_up(compiled: bool) -> None:
    """Every model is told as finished once."""
    told: list[int] = []
    blocks(Search(p=9), compiled, progress=told.append)
    assert sum(told) == 2**9


def test_a_problem_without_moments_scores_y(compiled: bool) -> None:
    """No rows, or columns of zeros alone: every model's score is y'y."""
    for yty in (0.0, 3.0):
        where = SubsetProblem(np.zeros((9, 9)), np.zeros(9), yty, 1.0, np.eye(9, dtype=bool), np.zeros(9, bool), 1e-4)
        for _, scores, gaps in score_blocks(where, compiled=compiled):
            assert (scores == yty).all()
            assert (gaps <= 1e-4).all()
