"""Intervals through the link: monotone, and no narrower than what they must hold."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import either

from discreet.kernels.glm.families import LOGISTIC, poisson
from discreet.methods.answers.effects import change, change_ends, change_ends_together, edge, mean, mean_ends

SAMPLE_SIZE = 2_000

LAWS = (LOGISTIC, poisson(12.0))
ends = st.floats(-8.0, 8.0) | st.sampled_from([-math.inf, math.inf])
boxes = st.tuples(ends, ends).map(lambda pair: (min(pair), max(pair))).filter(lambda pair: pair[0] < pair[1])


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@settings(max_examples=either(30, 300), deadline=None)
@given(box=boxes)
def test_ends_go_through_the_link_in_order(law, box):
    """An open end stays open, and so does one that the response's range gives."""
    low, high = mean_ends(law, *box, (law.low, law.high))
    assert (low is None) == (mean(law, box[0]) <= law.low)
    assert (high is None) == (mean(law, box[1]) >= law.high)
    inner = [mean(law, eta) for eta in np.linspace(max(box[0], -30.0), min(box[1], 30.0), 50)]
    assert low is None or low <= min(inner)
    assert high is None or high >= max(inner)
    assert all(a <= b for a, b in pairwise(inner))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@settings(max_examples=either(15, 200), deadline=None)
@given(predictor=boxes, step=boxes)
def test_a_change_holds_all_that_a_box_holds_and_no_more(law, predictor, step):
    """By trying the box."""
    low, high = change_ends(law, predictor, step)
    width = law.high - law.low
    places = [np.clip(np.linspace(*np.clip(box, -20.0, 20.0), 31), *box) for box in (predictor, step)]
    tried = [change(law, eta, by) for eta in places[0] for by in places[1]]
    assert (-width if low is None else low) <= min(tried) + 1e-9
    assert (width if high is None else high) >= max(tried) - 1e-9
    if all(map(math.isfinite, (*predictor, *step))):
        assert (-width if low is None else low) >= min(tried) - 0.2 * width
        assert (width if high is None else high) <= max(tried) + 0.2 * width


def test_what_lies_beside_the_range_tells_nothing():
    """A linear predictor beyond the target's bounds contradicts them."""
    assert mean_ends(None, 1.2, 1.5, (-1.0, 1.0)) == (None, None)
    assert mean_ends(None, 0.2, 1.5, (-1.0, 1.0)) == (0.2, None)
    assert mean_ends(None, -math.inf, 0.5, (-1.0, 1.0)) == (None, 0.5)


def ends_by(covariance, center, z=1.96):
    """Both ends of combinations of normal numbers."""

    def ends_of(rows):
        sd = np.sqrt(np.einsum("ki,ij,kj->k", rows, covariance, rows))
        return rows @ center - z * sd, rows @ center + z * sd

    return ends_of


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.6, 0.9999])
def test_the_edge_of_a_region_is_the_ellipse_of_all_directions(correlation):
    """Of two normal numbers: its reach in any direction is the interval of that combination."""
    sds = np.array([2.0, 0.01])
    covariance = np.outer(sds, sds) * np.array([[1.0, correlation], [correlation, 1.0]])
    ends_of, pair = ends_by(covariance, np.array([3.0, -0.2])), np.eye(2)
    region = edge(pair, *ends_of(pair), ends_of)
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 40.0], [-1.0, 90.0]])
    low, high = ends_of(rows)
    width = high - low
    assert np.abs((rows @ region.T).min(axis=1) - low).max() < 2e-4 * width.max()
    assert np.abs((rows @ region.T).max(axis=1) - high).max() < 2e-4 * width.max()


def test_a_region_without_an_end_has_no_edge():
    """In whatever direction."""
    pair, inf = np.eye(2), math.inf
    assert edge(pair, np.array([-inf, 0.0]), np.array([1.0, 1.0]), ends_by(np.eye(2), np.zeros(2))) is None
    assert edge(pair, -np.ones(2), np.ones(2), lambda rows: (-np.ones(len(rows)), np.full(len(rows), inf))) is None


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_change_over_a_region_has_the_level_of_one_number(law):
    """Of normal predictors with small errors 95 % hold the truth; of the box that holds both, nearly all."""
    rng = np.random.default_rng(4)  # noqa: TID251 - simulated estimates
    sds, correlation, truth = np.array([0.1, 0.1]), -0.4, np.array([0.5, 0.4])
    covariance = np.outer(sds, sds) * np.array([[1.0, correlation], [correlation, 1.0]])
    draws = truth + rng.multivariate_normal(np.zeros(2), covariance, SAMPLE_SIZE)
    right, right_of_box = 0, 0
    for center in draws:
        ends_of, pair = ends_by(covariance, center), np.eye(2)
        low, high = change_ends_together(law, edge(pair, *ends_of(pair), ends_of))
        right += low <= change(law, *truth) <= high
        box = np.array(ends_by(covariance, center, 2.2414)(pair)).T
        low, high = change_ends(law, tuple(box[0]), tuple(box[1]))
        right_of_box += low <= change(law, *truth) <= high
    assert abs(right / SAMPLE_SIZE - 0.95) < 4.0 * (0.95 * 0.05 / SAMPLE_SIZE) ** 0.5
    assert right_of_box / SAMPLE_SIZE > 0.97
