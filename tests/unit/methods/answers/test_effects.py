"""Intervals through the link: monotone, and no narrower than what they must hold."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import either

from discreet.kernels.glm.families import LOGISTIC, poisson
from discreet.methods.answers.effects import change, change_ends, mean, mean_ends

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
