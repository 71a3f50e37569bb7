"""Wang et al. 2018, figures 5 to 7: estimates on weighted public records beside the algorithm as published."""

import numpy as np
import pytest
from benchmarks import hybrid_accuracy
from benchmarks.hybrid_accuracy import Study, contestants, published
from benchmarks.tables import SHARED

from tests.effort import either

pytestmark = pytest.mark.statistics

AIMS = {"p2": (1.3, 0.90, 0.50), "p100": (42.9, 41.0, 39.0)}
"""Of the prediction error at epsilon 1, 2 and 6."""

OURS = ("hybrid", "public subset")


def means(name, repeats, rows):
    """The mean error of each row at each epsilon over draws of the noise on one table, from fixed seeds."""
    study = Study(name, same_table=True)
    for seed in range(repeats):
        study.repeat(seed, rows)
    return {
        row: [float(np.mean([each.t for each in found])) for found in by.values()] for row, by in study.errors.items()
    }


def only(*names):
    """Those contestants alone."""
    return lambda *asked: {name: method for name, method in contestants(*asked).items() if name in names}


@pytest.mark.parametrize(("name", "repeats"), [("p2", either(1, 3)), ("p100", 1)])
def test_errors_reach_the_aim(name, repeats):
    """Both estimates come below the aim at every epsilon, and far below what needs no private row."""
    found = means(name, repeats, only(*OURS))
    for row in OURS:
        assert np.all(np.array(found[row]) < AIMS[name]), (row, found[row])
        assert np.all(np.array(found[row]) < 0.8 * np.array(found["public records alone"]))


def test_private_rows_improve_on_another_region():
    """Of two regions' infarctions, weighted records predict better than the records as they are, at epsilon 10."""
    if not (SHARED / "gusto_ami.parquet").is_file():
        pytest.skip("gusto_ami.parquet is not there: set DISCREET_SHARED to the folder that holds data/")
    found = means("gusto", 10, only(*OURS))
    for row in OURS:
        assert found[row][-1] < 0.7 * found["public records alone"][-1]


def test_published_algorithm_errs_as_published(monkeypatch):
    """At epsilon 1 as claimed it errs by several units, as the study's 6.9; at the epsilon it really costs, by more."""
    monkeypatch.setitem(hybrid_accuracy.SIZES, "p2", range(10, 610, either(40, 10)))
    monkeypatch.setitem(hybrid_accuracy.EPSILONS, "p2", (1.0,))
    found = means("p2", 1, published)
    assert 2.0 < found["published, as claimed"][0] < 20.0
    assert found["published, honest epsilon"][0] > 1.5 * found["published, as claimed"][0]
