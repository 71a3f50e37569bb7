"""The distance's gradient is its gradient, and intervals end where the distance passes its threshold."""

from dataclasses import replace

import numpy as np
import pytest
from glm_problems import logistic_cells, with_noise

from discreet.kernels.glm.curve import Curve
from discreet.kernels.glm.families import LOGISTIC
from discreet.kernels.glm.noisy_newton import noisy_newton
from discreet.kernels.glm.pooled_score import Pool
from discreet.kernels.glm.problem import Problem
from discreet.kernels.glm.score import NoiseTerm, ScoreModel, Turned, intervals, minimize


@pytest.fixture(scope="module")
def model() -> ScoreModel:
    """The pooled score of a noisy fit."""
    models = []
    original = Pool.model

    class Watched(Pool):
        def model(self) -> ScoreModel:
            models.append(original(self))
            return models[-1]

    rng = np.random.default_rng(4)  # noqa: TID251 - simulated rows and noise
    cells = logistic_cells(5000, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.kernels.glm.noisy_newton.Pool", Watched)
        steps = noisy_newton(Problem(LOGISTIC, 4, (), 0.5, True, 5000))
        request = next(steps)
        while True:
            try:
                request = steps.send(with_noise(request, cells, rng))
            except StopIteration:
                return models[-1]


@pytest.mark.parametrize("curvature", [0.0, 0.3])
def test_gradient_of_the_distance(model, curvature):
    """Against central differences, near the point and far from it."""
    model = replace(model, curvature=curvature)
    rng = np.random.default_rng(5)  # noqa: TID251 - points
    for size in (0.1, 1.0, 5.0):
        theta = model.point + size * rng.normal(size=(6, 4))
        value, gradient, _ = model.distance(theta)
        for j in range(4):
            step = np.zeros(4)
            step[j] = 1e-5
            slope = (model.distance(theta + step)[0] - model.distance(theta - step)[0]) / 2e-5
            assert gradient[:, j] == pytest.approx(slope, abs=2e-3 * (1.0 + np.abs(gradient).max() + value.max()))


def test_intervals_end_at_the_threshold(model):
    """The profile of the distance is the threshold at each end, also of a combination of coefficients."""
    turn = np.eye(4)
    turn[0] = [1.0, -0.5, 0.2, 0.0]
    precision, box = np.full(4, 1e-4), np.full(4, 50.0)
    center = minimize(model.settled(model.point), model.point[None], precision, box)[0][0]
    for matrix in (np.eye(4), np.linalg.inv(turn)):
        turned = Turned(model, matrix)
        at = np.linalg.inv(matrix) @ center
        low, high = intervals(turned, at, np.full(4, 0.3), precision, box, 3.84)
        assert np.all(low < at)
        assert np.all(at < high)
        for j in range(4):
            penalty = np.where(np.arange(4) == j, 0.0, precision)
            profile = [
                minimize(turned, np.where(np.arange(4) == j, value, at)[None], penalty, box, np.array([j]))[1][0]
                for value in (at[j], low[j], high[j])
            ]
            assert profile[1:] == pytest.approx([3.84 + profile[0]] * 2, abs=0.15)


def test_an_end_that_reaches_the_box_is_infinite(model):
    """Nothing can be told beyond what is allowed."""
    small = np.full(4, 0.05) + np.abs(model.point)
    low, high = intervals(model, model.point, np.full(4, 0.3), np.full(4, 1e-4), small, 400.0)
    assert np.isinf(low).all()
    assert np.isinf(high).all()


def test_values_that_are_not_rejected_again_open_an_end():
    """Fieller's set is two rays where the slope may be zero; a nearest end alone would leave out one, and the truth."""
    curve = Curve(LOGISTIC, 400.0, np.array([1.0, 0.0]), np.diag([0.0, 0.04]))
    slope = curve.sums(np.zeros((1, 2)))[1][0]
    unknown = NoiseTerm(np.diag([0.0, 16.0]), 1.0, np.zeros(2))
    score = ScoreModel(
        constant=np.array([0.0, -4.0]),
        point=np.zeros(2),
        rest=np.diag([0.0, -slope[1, 1] - 4.0]),
        curve=curve,
        information=slope,
        sampling=slope / 4.0,
        noise=np.zeros((2, 2)),
        rest_error=unknown,
    )
    precision, box, limit = np.full(2, 1e-4), np.full(2, 20.0), 3.84
    center = minimize(score.settled(score.point), score.point[None], precision, box)[0][0]
    low, high = intervals(score, center, np.full(2, 0.3), precision, box, limit, is_of_one_point=True)
    at = np.linspace(-4.0, 4.0, 81)
    start = np.column_stack([np.zeros(81), at])
    point, value = minimize(score, start, precision * [1.0, 0.0], box, np.ones(81, dtype=np.intp))
    held = (value <= limit) & score.is_near(point)
    assert held.any()
    assert not held.all()
    assert low[1] <= at[held].min()
    assert at[held].max() <= high[1]
