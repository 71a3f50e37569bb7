"""Models of a few out of many units, each against solvers that share nothing with the kernel."""

import math

import numpy as np
import pytest
from tests.unit.kernels.kernel_problems import MAX_ROWS, optimum_by_path, problem, simulated, stated_tolerance

from discreet.kernels.subsets import small_models_compiled
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.small_models import small_model_blocks
from discreet.kernels.subsets.subsets import score_blocks


def wide(d: int, radius: float, design: str = "uniform", times: float = 1.0) -> SubsetProblem:
    """So many columns and one in every model."""
    gram, xty, yty = problem(design, 150, d + 1, times=times)
    units, always = np.eye(d + 1, dtype=bool)[1:], np.eye(d + 1, dtype=bool)[0]
    return SubsetProblem(gram, xty, yty, radius, units, always, stated_tolerance(radius))


def listed(problem: SubsetProblem, size: int) -> dict[tuple[int, ...], tuple[float, float]]:
    """Score and gap of each model."""
    return {
        tuple(model.tolist()): (score, gap)
        for members, scores, gaps in small_model_blocks(problem, size)
        for model, score, gap in zip(members, scores, gaps, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize(("d", "size"), [(65, 2), (100, 2), (128, 2), (128, 1), (40, 3), (3, 9)])
@pytest.mark.parametrize("radius", [0.3, 2.0])
def test_every_model_is_there_once_and_solved(d: int, size: int, radius: float) -> None:
    """All models up to the size, each a certified score, and those of a sample what least angle regression finds."""
    problem = wide(d, radius)
    scores = listed(problem, size)
    assert len(scores) == sum(math.comb(d, k) for k in range(min(size, d) + 1))
    assert all(gap <= problem.tolerance for _, gap in scores.values())
    rng, models = simulated(3), list(scores)
    for at in (0, len(models) - 1, *rng.integers(0, len(models), 40)):
        columns = np.flatnonzero(problem.units[list(models[at])].any(axis=0) | problem.always)
        least = problem.yty + optimum_by_path(problem.gram[np.ix_(columns, columns)], problem.xty[columns], radius)
        assert least - 1e-8 <= scores[models[at]][0] <= least + problem.tolerance + 1e-8


@pytest.mark.parametrize("design", ["duplicated", "nearly equal", "zero column", "dummies and constant"])
def test_it_agrees_with_the_tree(design: str) -> None:
    """Where both fit, on dependent columns and with units of several columns."""
    problem = wide(14, 0.8, design, times=MAX_ROWS / 150)
    units = np.concatenate([problem.units[:3] | problem.units[3:6], problem.units[6:]])
    problem = problem._replace(units=units)
    scored = listed(problem, 3)
    tree = {int(m): s for masks, scores, _ in score_blocks(problem, 3) for m, s in zip(masks, scores, strict=True)}
    assert len(tree) == len(scored)
    for model, (score, _) in scored.items():
        assert abs(score - tree[sum(1 << unit for unit in model)]) <= 1.01 * problem.tolerance + 1e-5


def test_bits_of_a_machine_word_are_too_few() -> None:
    """Control: the tree, whose models are words of 64 bits, cannot list 65 columns."""
    with pytest.raises(OverflowError):
        list(score_blocks(wide(65, 0.5), 2))


def test_a_walk_that_does_not_end_is_finished_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the compiled loop leaves without a certificate gets one from the array code."""
    problem, score = wide(20, 0.4), small_models_compiled.score
    expected = listed(problem, 2)

    def lost(layout: object, members: object) -> object:
        scores, gaps = score(layout, members)
        return np.zeros_like(scores), np.full_like(gaps, np.inf)

    monkeypatch.setattr(small_models_compiled, "score", lost)
    scored = listed(problem, 2)
    for model, (value, gap) in scored.items():
        assert gap <= problem.tolerance
        assert abs(value - expected[model][0]) <= 2 * problem.tolerance
