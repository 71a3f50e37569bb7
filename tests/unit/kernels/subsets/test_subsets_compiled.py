"""What only the compiled code does: its tree, its walk, its certificates, and what it leaves to the array code."""

import tracemalloc

import numpy as np
import pytest
from tests.unit.kernels.kernel_problems import DESIGNS, MAX_ROWS, problem, rounding, simulated, stated_tolerance

from discreet.kernels.subsets import subsets, subsets_compiled
from discreet.kernels.subsets.l1_ball import ridge_for, solve_on_l1_ball, value_and_gap
from discreet.kernels.subsets.l1_ball_compiled import grade, walk, walk_space
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import constrained_scores, score_blocks

RADII = (0.05, 0.6, 3.0, 100.0)


def all_subsets(design: str, d: int, radius: float, n: int = 60, times: float = 1.0) -> SubsetProblem:
    """Every column a unit."""
    gram, xty, yty = problem(design, n, d, times=times)
    return SubsetProblem(gram, xty, yty, radius, np.eye(d, dtype=bool), np.zeros(d, bool), stated_tolerance(radius))


@pytest.mark.parametrize("design", DESIGNS)
def test_the_walk_certifies_feasible_points(design: str) -> None:
    """From cold and from any signs, the walk's value and gap are those of a point in the ball and on its columns."""
    rng = simulated(6)
    for times in (1.0, MAX_ROWS / 60):
        gram, xty, _ = problem(design, 60, 8, times=times)
        for radius in RADII:
            ridge = ridge_for(gram, radius, stated_tolerance(radius))
            for _ in range(10):
                usable, space = rng.random(8) < 0.7, walk_space(8)
                sign, point, residual = space[0], space[-2], space[-1]
                sign[:] = np.where(usable, rng.integers(-1, 2, 8), 0)
                value, gap, largest = walk(gram, xty, radius, ridge, usable, *space)
                assert gap <= stated_tolerance(radius)
                assert np.abs(point).sum() <= radius * (1 + 1e-14)
                assert not point[~usable].any()
                assert not point[sign == 0].any()
                assert largest == np.abs(residual[usable]).max(initial=0.0)
                expected = value_and_gap(gram, xty, radius, usable[None], point[None])
                close = 1e-13 * 60 * times * (1 + radius) ** 2
                assert (value, gap) == (
                    pytest.approx(expected[0][0], abs=close),
                    pytest.approx(expected[1][0], abs=close),
                )


@pytest.mark.parametrize("design", DESIGNS)
def test_the_grade_of_any_point_is_its_value_and_gap(design: str) -> None:
    """Far from the optimum, too, the compiled certificate is the one that the array code computes."""
    rng = simulated(8)
    gram, xty, _ = problem(design, 100, 6)
    for _ in range(50):
        usable = rng.random(6) < 0.8
        point = np.where(usable & (rng.random(6) < 0.6), rng.uniform(-0.3, 0.3, 6), 0.0)
        active = np.flatnonzero(point)
        found = grade(gram, xty, 2.0, usable, active, active.size, point, np.empty(6))
        value, gap = value_and_gap(gram, xty, 2.0, usable[None], point[None])
        assert found[:2] == (pytest.approx(value[0]), pytest.approx(gap[0]))


@pytest.mark.parametrize("design", DESIGNS)
def test_tables_of_the_grid_hardly_need_the_array_code(design: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All models of hard tables are certified where they are; of 2^33 - 1 nearly equal rows rounding leaves a few."""
    left: list[int] = []

    def solve(gram, xty, radius, columns, *rest):
        left.append(len(columns))
        return solve_on_l1_ball(gram, xty, radius, columns, *rest)

    monkeypatch.setattr(subsets, "solve_on_l1_ball", solve)
    for times, allowed in ((1.0, 0), (MAX_ROWS / 60, 10)):
        for radius in RADII:
            where = all_subsets(design, 9, radius, times=times)
            for _, _, gaps in score_blocks(where, compiled=True):
                assert (gaps <= where.tolerance).all()
        assert sum(left) <= allowed


@pytest.mark.parametrize("design", DESIGNS)
def test_no_score_lies_outside_its_certificate(design: str) -> None:
    """Score - gap <= optimum <= score, by the array code at a hundredth of the tolerance; at most rows, too."""
    for times in (1.0, MAX_ROWS / 60):
        for radius in RADII:
            where = all_subsets(design, 9, radius, times=times)
            sharp = where._replace(tolerance=where.tolerance / (100 if times == 1.0 else 1))
            error = rounding(60 * times, 9, radius)
            for masks, scores, gaps in score_blocks(where, compiled=True):
                best, best_gaps = constrained_scores(sharp, masks, compiled=False)
                assert (scores - gaps <= best + error).all()
                assert (scores >= best - best_gaps - 2 * error).all()


def test_what_the_tree_cannot_certify_is_solved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that come back without a certificate are scored by the array code, and no others change."""
    where = all_subsets("uniform", 8, 0.6)
    expected = np.concatenate([scores for _, scores, _ in score_blocks(where, compiled=True)])
    score_block = subsets_compiled.score_block

    def loose(*arguments) -> tuple[np.ndarray, np.ndarray]:
        scores, gaps = score_block(*arguments)
        scores[::3], gaps[::3] = -1.0, np.inf
        return scores, gaps

    monkeypatch.setattr(subsets_compiled, "score_block", loose)
    for _, scores, gaps in score_blocks(where, compiled=True, threads=1):
        assert np.abs(scores - expected[: len(scores)]).max() <= where.tolerance
        assert (gaps <= where.tolerance).all()
        expected = expected[len(scores) :]


def test_where_rounding_is_large_every_gap_is_computed() -> None:
    """A tolerance below the bound on rounding leaves no model to the bound."""
    where = all_subsets("autoregressive", 8, 100.0)
    bounded = subsets_compiled.layout_of(where)[0]
    assert (bounded.inside, subsets_compiled.layout_of(where._replace(tolerance=1e-12))[0].inside) == (100.0, -1.0)
    masks = np.arange(256, dtype=np.uint64)
    scores, _ = subsets_compiled.score_block(bounded, 0, masks, 8)
    others, gaps = subsets_compiled.score_block(bounded._replace(inside=-1.0), 0, masks, 8)
    assert (gaps <= where.tolerance).all()
    assert len(np.unique(gaps)) > 100
    assert np.abs(scores - others).max() <= where.tolerance


@pytest.mark.parametrize("radius", RADII)
def test_threads_do_not_matter(radius: float) -> None:
    """One thread and two give the same blocks in the same order, bit by bit."""
    where = all_subsets("autoregressive", 15, radius)
    for one, two in zip(score_blocks(where, threads=1), score_blocks(where, threads=2), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_blocks_may_be_left_unread() -> None:
    """A caller who stops reading ends the work."""
    found = score_blocks(all_subsets("uniform", 20, 0.6), threads=2)
    masks, _, _ = next(found)
    found.close()
    assert len(masks) <= 2**subsets.BLOCK_UNITS


@pytest.mark.processes
def test_memory_does_not_grow_with_the_number_of_models() -> None:
    """Sixteen times as many models take about the same memory, however the two threads fall in step."""
    peaks = []
    for d in (17, 21):
        where = all_subsets("uniform", d, 3.0)
        tracemalloc.start()
        n_models = sum(len(masks) for masks, _, _ in score_blocks(where, threads=2))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert n_models == 2**d
    assert peaks[1] < 6 * peaks[0] < 6 * 2**25
