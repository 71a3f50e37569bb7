"""Interpolated thresholds of simulated tables: nearly those that a release has, where the number of rows is private."""

import numpy as np
import pytest

import discreet as dc
from discreet.methods.registry import method_of
from discreet.simulation.cached_preparation import cached_preparation
from discreet.simulation.cached_threshold import GridThreshold

N_COLUMNS = 12
"""So many that all subsets are chosen among."""

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "test"}


def prepared(n_rows=None, method="sis", **parameters):
    relation = {"neighboring": "replace_one", "n_rows": n_rows} if n_rows else {"neighboring": "add_or_remove_one"}
    names = [f"x{j}" for j in range(N_COLUMNS)]
    columns = dict.fromkeys(names, BOX) | {"y": BOX}
    public = dc.Metadata.from_value({"dataset": "toy", "unit": "person", "columns": columns, **relation})
    return method_of(method, epsilon=1.0, **parameters).prepare(public, "y", names)


def test_the_threshold_is_that_of_a_release_within_half_a_percent():
    """For any noisy number of rows, also one below 1; never lower by more than rounding."""
    own = prepared(n_features_to_select="auto")
    quick = cached_preparation(own)
    assert isinstance(quick.choice, GridThreshold)
    assert quick.event == own.event
    for n_rows in (0.3, 57.3, 300.0, 12_345.6):
        exact = own.choice.thresholds(n_rows + 3.0)[0]
        assert 0.999 * exact <= quick.choice.thresholds(n_rows + 3.0)[0] <= 1.005 * exact


@pytest.mark.parametrize(
    "facts", [{"n_features_to_select": 2, "noise_test": False}, {"n_features_to_select": "auto", "n_rows": 500}]
)
def test_other_screenings_stay_as_they_are(facts):
    """A number of columns has no threshold, and where rows are public it is computed once."""
    own = prepared(**facts)
    assert cached_preparation(own) is own


def test_a_noise_test_takes_its_share_and_no_time():
    """It selects nothing: on simulated tables it is left out, with the choice at what it leaves of epsilon."""
    own = prepared(500, n_features_to_select=2, noise_test=True)
    quick = cached_preparation(own)
    assert (quick.test, quick.choice, quick.event) == (None, own.choice, own.event)
    assert own.test is not None


def test_decorrelated_scores_have_the_threshold_of_a_grid():
    """With public columns. Its variance is noisy even if rows are public; the request keeps the exact one."""
    known = {"labels": [f"x{j}" for j in range(N_COLUMNS)], "means": [0.0] * N_COLUMNS, "n_records": 100,
             "covariance": (0.3 * np.eye(N_COLUMNS)).tolist()}  # fmt: skip
    own = prepared(500, "decorrelated", public_moments=known).used
    quick = cached_preparation(own)
    assert isinstance(quick.choice, GridThreshold)
    assert not isinstance(own.choice, GridThreshold)
    for variance in (40.0, 777.7):
        assert 0.999 <= quick.choice.thresholds(variance)[0] / own.choice.thresholds(variance)[0] <= 1.005
