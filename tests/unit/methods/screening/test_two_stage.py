"""Votes: number of blocks, what is refused, failures that stay inside."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.screening import two_stage
from discreet.methods.screening.two_stage import TwoStageVotes

N = 900
BOX = {"type": "real", "lower": -1, "upper": 1}


def metadata(relation="replace_one", **more):
    public = {"n_rows": N} if relation == "replace_one" else {}
    columns = {**{f"x{i}": BOX for i in range(8)}, "y": more.pop("target", BOX)}
    return Metadata.from_value(
        {"dataset": "d", "unit": "person", "neighboring": relation, "columns": columns, **public, **more}
    )


def table(given=None, coded=False):
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(-1, 1, (N, 8))
    y = np.clip(0.5 * x[:, 2] - 0.5 * x[:, 6] + 0.1 * rng.standard_normal(N), -1, 1)
    cells = {f"x{i}": x[:, i] for i in range(8)}
    return FrameTable(pa.table({**cells, "y": np.where(y > 0, "b", "a") if coded else y}), given or metadata())


def test_blocks_by_default_and_by_word():
    """The root of the public number of rows, of a guess, or what is asked."""
    assert TwoStageVotes(n_features_to_select=2).prepare(metadata(), "y").n_blocks == 30
    private = metadata("add_or_remove_one")
    assert TwoStageVotes(n_features_to_select=2, n0=400).prepare(private, "y").n_blocks == 20
    assert TwoStageVotes(n_features_to_select=2, n_blocks=7).prepare(private, "y").n_blocks == 7
    with pytest.raises(InvalidParameterError, match="n_blocks, such as 50, or n0"):
        TwoStageVotes(n_features_to_select=2).prepare(private, "y")
    with pytest.raises(InvalidParameterError, match="n_blocks"):
        TwoStageVotes.of(n_features_to_select=2, n_blocks=0)


@pytest.mark.parametrize("coded", [False, True])
def test_finds_what_the_lassos_find(coded):
    """Two effects of eight columns, for a number and for a category with two levels."""
    target = {"type": "category", "levels": ["a", "b"]} if coded else BOX
    given = table(metadata(target=target), coded)
    prepared = TwoStageVotes(epsilon=20.0, n_features_to_select=2).prepare(given.metadata, "y")
    assert prepared.run(given, Source.seeded(1)).selected == ("x2", "x6")


@pytest.mark.parametrize("cell", [0.0, float("nan"), 1.0])
def test_constant_columns_vote_for_nothing(cell):
    """No block can fit; the release comes all the same."""
    given = FrameTable(pa.table({**{f"x{i}": [cell] * N for i in range(8)}, "y": [cell] * N}), metadata())
    prepared = TwoStageVotes(n_features_to_select=2).prepare(given.metadata, "y")
    assert len(prepared.run(given, Source.seeded(1)).selected) == 2


@pytest.mark.filterwarnings("error")
def test_a_block_that_fails_votes_for_nothing(monkeypatch):
    """Whatever a solver complains of stays inside, warnings too."""

    def failing(cells, k, alpha):
        raise np.linalg.LinAlgError("rank 3 of 7 rows")

    monkeypatch.setattr(two_stage, "named_by_lasso", failing)
    given = table()
    prepared = TwoStageVotes(n_features_to_select=2).prepare(given.metadata, "y")
    told = []
    outcome = prepared.run(given, Source.seeded(1), lambda *what: told.append(what))
    assert len(outcome.selected) == 2
    assert told == [("Fitting blocks", 1, 30)] * 30


def test_empty_tables_and_more_blocks_than_rows():
    """No row at all, or most blocks empty."""
    private = metadata("add_or_remove_one")
    empty = FrameTable(pa.table({name: pa.array([], pa.float64()) for name in private.columns}), private)
    prepared = TwoStageVotes(n_features_to_select=2, n_blocks=500).prepare(private, "y")
    assert len(prepared.run(empty, Source.seeded(1)).selected) == 2


def test_a_table_of_a_value_a_row_is_refused():
    """Its people would have to be joined first."""
    layout = {"row": "person", "feature": "code", "value": "value"}
    long = Metadata.from_value(
        {
            "dataset": "d",
            "unit": "person",
            "neighboring": "add_or_remove_one",
            "columns": {"y": BOX},
            "features": {**BOX, "count": 50},
            "layout": layout,
        }
    )
    with pytest.raises(InvalidParameterError, match="Use sis"):
        TwoStageVotes(n_features_to_select=2, n_blocks=5).prepare(long, "y")
