"""The studies of Wang et al. 2018: every part gives rows of declared columns, again the same ones."""

import numpy as np
import pytest
from benchmarks.tables import SHARED
from tests.effort import either

from discreet.mechanisms.rng import Source
from discreet.report.study import Row
from discreet_papers import wang, wang_distances, wang_figures
from discreet_papers.experiment import Work
from discreet_papers.wang_curves import SIMULATED
from discreet_papers.wang_distances import COUNTS, FARTHEST, NOISY, cells_of, distances
from discreet_papers.wang_pairs import clinical, simulated
from discreet_papers.wang_ways import BY_SIZE, EXACT, HYBRID, ONE_SIZE, PUBLIC, SUBSET, Protocol, averaged

pytestmark = pytest.mark.statistics

EXPERIMENTS = {one.study.name: one for one in wang.EXPERIMENTS}


@pytest.fixture
def small(monkeypatch):
    """Simulated tables of 300 rows, two sizes, one epsilon."""
    for p in (2, 100):
        monkeypatch.setitem(wang_figures.PROTOCOLS, p, Protocol((4,), (10, 60), SIMULATED))
    monkeypatch.setattr(wang_figures, "simulated", lambda p, number: simulated(p, number, 300))
    monkeypatch.setattr(wang_distances, "cells_of", lambda p, number: cells_of(p, number, 300))


def folder(experiment):
    """Where the tables lie."""
    if any(not (SHARED / name).is_file() for name in experiment.study.files):
        pytest.skip("The public tables are not there: set DISCREET_SHARED to the folder that holds data/")
    return SHARED


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_parts_fill_the_columns(name, small):
    """All columns, no others; figures are finite; the same work gives the same rows."""
    experiment = EXPERIMENTS[name]
    where, found = folder(experiment), []
    for part in experiment.parts:
        rows = experiment.work(Work(part, where, 1, 9))
        if part in experiment.parts[: either(1, None)]:
            assert rows == experiment.work(Work(part, where, 1, 9))
        found += rows
    assert {row.column for row in found} == {column.name for column in experiment.study.columns}
    assert all(np.isfinite(row.value) and row.value >= 0.0 for row in found)
    keys = [(row.column, *row.settings.items()) for row in found]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_pictures_show_columns(name):
    """At most six of them, all declared; and nobody's figures are said to be printed."""
    study = EXPERIMENTS[name].study
    names = [column.name for column in study.columns]
    for picture in study.pictures:
        assert len(picture.columns or names) <= 6
        assert set(picture.columns) <= set(names)
    assert study.printed == ()
    assert study.missing


def test_only_honest_columns_are_private():
    """Nothing of the published algorithm but one size fixed beforehand; all of ours."""
    private = {column.name for column in EXPERIMENTS["wang-figure-5"].study.columns if column.is_private}
    assert {ONE_SIZE.name, PUBLIC.name, HYBRID.name, SUBSET.name} <= private
    assert not private & {EXACT.name, BY_SIZE.name, "as published, as claimed", "published, honest epsilon"}


def test_parts_see_the_same_tables(small):
    """The repeats of all parts are of the same pairs, so that ways are compared on them."""
    public = wang_figures.figure_5(Work("without private rows", None, 3, 1))[0]
    expected = [pair.error(pair.fit(pair.public)).t for pair in (simulated(2, number, 300) for number in range(3))]
    assert public.value == pytest.approx(np.mean(expected))
    assert public.error == pytest.approx(np.std(expected, ddof=1) / np.sqrt(3))


def test_means_have_standard_errors():
    """Of rows with the same column and settings; none for a single one."""
    rows = [Row("a", {"epsilon": 1}, value) for value in (1.0, 2.0, 6.0)] + [Row("a", {"epsilon": 2}, 5.0)]
    first, second = averaged(rows)
    assert (first.value, first.error) == pytest.approx((3.0, np.sqrt(7.0 / 3.0)))
    assert (second.value, second.error) == (5.0, None)


def test_distance_falls_to_that_of_all_points(monkeypatch):
    """Whatever their order; and it starts least where points lie far apart, which costs nothing."""
    monkeypatch.setattr(wang_distances, "SIZES", (20, 100, 400))
    rows, points = cells_of(2, 0, 400)
    found = {
        way.name: [d for _, d in distances(rows, points, way, Source.seeded(1))] for way in (COUNTS, NOISY, FARTHEST)
    }
    assert all(values == sorted(values, reverse=True) for values in found.values())
    ends = [values[-1] for values in found.values()]
    assert ends == pytest.approx([ends[0]] * 3, rel=1e-12)
    assert found[FARTHEST.name][0] == min(values[0] for values in found.values())


def test_regions_are_those_of_the_description():
    """1224 patients with 81 deaths, 583 with 52; swapped, the other way round."""
    work = Work("", folder(EXPERIMENTS["wang-gusto"]), 1, 0)
    for swapped in (False, True):
        pair = clinical(work, swapped)
        seen = [(len(table["day30"]), int(table["day30"].sum())) for table in (pair.private, pair.public)]
        assert seen == [(1224, 81), (583, 52)][:: -1 if swapped else 1]
        assert pair.metadata.n_rows == seen[0][0]


def test_the_authors_output_is_as_far_as_the_algorithm_claims_to_be():
    """Their coefficients err as much as our runs of their algorithm at the same claim, and more than ours."""
    experiment = EXPERIMENTS["wang-example"]
    where = folder(experiment)
    theirs = experiment.work(Work("the authors' output", where, 1, 0))[0].value
    assert theirs == pytest.approx(2.564, abs=0.001)
    ours = {row.settings["epsilon"]: row.value for row in experiment.work(Work(SUBSET.name, where, 10, 3))}
    assert ours[1] < 0.6 * theirs
