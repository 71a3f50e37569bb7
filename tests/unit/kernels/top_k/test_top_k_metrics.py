"""How near a set comes to the truth."""

import numpy as np
import pytest

from discreet.kernels.top_k.top_k_metrics import top_k_metrics

SCORES = np.arange(200.0)[::-1]


def chosen(*outside, k=20):
    """The top k with its last columns replaced."""
    return [*range(k - len(outside)), *outside]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (chosen(), (True, True, True, 1.0)),
        (chosen(21), (False, True, True, 0.95)),
        (chosen(22), (False, False, True, 0.95)),
        (chosen(29), (False, False, True, 0.95)),
        (chosen(30), (False, False, False, 0.95)),
        ([0, *range(2, 21)], (False, False, True, 0.95)),
        ([*range(1, 21)], (False, False, False, 0.95)),
        ([*range(100, 120)], (False, False, False, 0.0)),
    ],
)
def test_definitions_at_their_edges(places, expected):
    """K = 20: great holds the best two and none beyond 22; good holds the best and none beyond 30."""
    assert top_k_metrics(places, SCORES) == expected
    assert top_k_metrics(places[::-1], SCORES) == expected


def test_ties_count_the_first_as_better():
    """So that the true order is one."""
    assert top_k_metrics([0, 1], [1.0, 1.0, 1.0]).top
    assert not top_k_metrics([0, 2], [1.0, 1.0, 1.0]).top


@pytest.mark.parametrize("places", [[], [0, 0], [-1], [200], list(range(201))])
def test_places_must_be_places(places):
    """Different ones of the scores."""
    with pytest.raises(ValueError, match="places"):
        top_k_metrics(places, SCORES)
