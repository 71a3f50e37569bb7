"""Drawn tables: what they remember are the sums of the rows, and requests on them can go to other processes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.data.design import Design
from discreet.data.engines.frame import FrameTable
from discreet.kernels.rows.target_places import CLIPS, clip_counts
from discreet.kernels.rows.unit_rows import Scaling, column_sums
from discreet.mechanisms.rng import Source
from discreet.simulation.rivals import Rival
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import Simulation

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "test"}
LEVELS = {"type": "category", "levels": ["a", "b", "c"], "source": "test"}


def products(cells):
    """Products of each two columns of encoded rows."""
    return cells.T.astype(np.int64) @ cells.astype(np.int64)


def scenario(n_columns, n_rows):
    columns = {f"x{j}": BOX for j in range(n_columns)} | {"g": LEVELS, "y": BOX}
    public = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": n_rows, "columns": columns}
    return Scenario.of(dc.Metadata.from_value(public), "y")


@pytest.mark.parametrize("n_rows", [300, 20_000])
@pytest.mark.parametrize("scaling", [None, Scaling((-3000, 0, 9000, 0, 0, 0), (700, 1024, 32_768, 1024, 1024, 1024))])
def test_sums_of_unit_rows_are_those_of_the_rows(n_rows, scaling):
    """Moments and counts by the target's clip, each time it changes, and for another scaling in between."""
    own = scenario(3, n_rows)
    table = own.draw(Source.seeded(5))
    rows = FrameTable(table.frame, own.draw_metadata, "rows")
    plain = Design.plan(own.draw_metadata, "y", own.candidates)
    nothing = np.zeros(len(CLIPS), dtype=np.int64)
    for bound in (1.0, 0.2, 0.05):
        for own_scaling in (scaling, Scaling((0,) * 6, (1024,) * 6)):
            design = replace(plain, unit_bound=1.0, bound=bound, scaling=own_scaling)
            assert np.array_equal(table.moments(design), own.repeats * rows.moments(design))
            counts = table.map_reduce(design, clip_counts, nothing)
            assert np.array_equal(counts, own.repeats * rows.map_reduce(design, clip_counts, nothing))
    start = np.ones((2, 7), dtype=np.int64)
    for _ in range(2):
        sums = table.map_reduce(plain, column_sums, start)
        assert np.array_equal(sums - 1, own.repeats * (rows.map_reduce(plain, column_sums, start) - 1))


def test_columns_are_encoded_once_however_they_are_chosen(monkeypatch):
    """Any choice of columns, in any order, has the cells that the rows have; no column is encoded again."""
    own = scenario(4, 300)
    table = own.draw(Source.seeded(5))
    rows = FrameTable(table.frame, own.draw_metadata, "rows")
    table.moments(Design.plan(own.draw_metadata, "y", ("x2", "g")))
    encoded, encode = [], Design.encode

    def counted(design, batch):
        encoded.extend(design.candidates)
        return encode(design, batch)

    choices = (("x0", "x1", "x2", "g"), ("g", "x0"), ("x2",), ("x3", "x2"), ())
    for chosen in choices:
        design = Design.plan(own.draw_metadata, "y", chosen, least=0)
        with monkeypatch.context() as patched:
            patched.setattr(Design, "encode", counted)
            moments = table.moments(design)
            sums = table.map_reduce(design, products, np.zeros_like(moments))
        assert np.array_equal(moments, own.repeats * rows.moments(design))
        assert np.array_equal(sums, moments)
    assert sorted(encoded) == ["x0", "x1", "x3"]


def test_requests_that_screen_first_can_go_to_another_process():
    """They hold functions of this one: the other prepares them itself, and its ratings are the same."""
    own = scenario(30, 300)
    work = Simulation(own, (Rival("decorrelated", "decorrelated", {}),), (3.0,), 1, 7)
    here = work.rated(0)
    there = pickle.loads(pickle.dumps(work))  # noqa: S301 - written here
    assert np.array_equal(there.rated(0), here)
