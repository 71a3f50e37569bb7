"""Swope et al. 2024, figure 1: without privacy, screening finds the true features more often than block-wise lassos."""

import pytest

from discreet import sure_independence_screening
from discreet.mechanisms.rng import Source
from discreet_papers.experiment import Work
from discreet_papers.swope_figure_1 import SIS, VOTED, K, figure_1, selected, simulated
from tests.effort import either

pytestmark = pytest.mark.statistics

N_TABLES = either(250, 500)
BAND = 25
PUBLISHED = {"W1": (970, 480), "W1/W2": (926, 390)}
"""How often of 1000 times a true feature is chosen by screening and by two stages, read off the figure."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_true_features_are_chosen_as_often_as_published(name):
    """Both counts of 1000 lie within 25 of the figure's."""
    rows = figure_1(Work(name, None, N_TABLES, 1974))
    for way, published in zip((SIS, VOTED), PUBLISHED[name], strict=True):
        times = [row.value for row in rows if row.column == way.name and row.settings["feature"] <= K]
        assert sum(times) / K == pytest.approx(published, abs=BAND)


def test_the_study_screens_as_the_package_does():
    """On simulated tables the public function selects the same features in the same order."""
    rng = Source.seeded(3)
    for mixed in (False, True):
        X, y = simulated(rng, mixed)
        assert selected(X, y, rng)[SIS.name].tolist() == sure_independence_screening(X, y, K).tolist()
