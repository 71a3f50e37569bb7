"""Draws of the same moments are weighted by the precision of their noise."""

import pytest

from discreet.methods.moments.pooled_records import pooled
from discreet.release import MomentsRecord


def record(xty, variance):
    """One column, released once."""
    return MomentsRecord(
        grid=1, labels=("a",), owners=("a",), centers=(0.0,), half_widths=(1.0,), y_center=0.0, y_bound=1.0,
        n_rows=10.0, n_rows_variance=0.0, gram=((xty,),), xty=(xty,), yty=xty, gram_variance=((2 * variance,),),
        xty_variance=(variance,), yty_variance=variance,
    )  # fmt: skip


def test_the_mean_has_the_least_variance_that_weights_can_give():
    """Precisions add up: 1/4 and 1 make 5/4, where equal weights would make less than one draw had."""
    both = pooled((record(100, 4.0), record(200, 1.0)))
    assert both.xty_variance[0] == pytest.approx(0.8)
    assert both.gram_variance[0][0] == pytest.approx(1.6)
    assert (both.xty, both.gram, both.yty) == ((180,), ((180,),), 180)
    assert pooled((both,)) == both


def test_any_number_of_draws_can_be_pooled_one_after_the_other():
    """In any order, up to rounding."""
    draws = [record(1000, 4.0), record(2000, 1.0), record(3000, 0.5)]
    at_once, in_turn = pooled(draws), pooled((pooled(draws[:2]), draws[2]))
    assert at_once.xty_variance[0] == pytest.approx(in_turn.xty_variance[0])
    assert abs(at_once.xty[0] - in_turn.xty[0]) <= 1
