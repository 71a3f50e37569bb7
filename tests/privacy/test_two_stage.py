"""Votes of blocks: how many blocks one unit can reach, and a control in which it reaches all."""

import numpy as np
import pytest

from discreet.kernels.moments.moments import GRID
from discreet.kernels.top_k.block_lasso import named_by_lasso
from discreet.mechanisms.rng import Source
from discreet.methods.screening import two_stage
from discreet.methods.screening.two_stage import TwoStageVotes
from tests.privacy.screenings import reached, table_of

BLOCKS = 20


def votes_of(rows, words, relation, method=None):
    """Votes when each row has the given word."""
    method = method or TwoStageVotes(n_features_to_select=1, n_blocks=BLOCKS)
    table = table_of(rows, relation)
    prepared = method.prepare(table.metadata, "y")
    cells = two_stage.all_rows(table, prepared.design)
    return prepared._votes(cells, (words % np.uint64(prepared.n_blocks)).astype(np.int64), None)


def random_rows(rng, n, columns=5):
    rows = rng.choice([-1.0, 1.0, 0.4], (n, columns + 1))
    return rows.tolist()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_one_row_changes_one_vote_a_column_at_most(seed, relation):
    """Any neighbors, the shared rows with equal words."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    rows, words = random_rows(rng, 60), rng.integers(0, 2**63, 60).astype(np.uint64)
    at = int(rng.integers(60))
    if relation == "replace_one":
        other, others = [*rows[:at], [1.0, -1.0, 1.0, -1.0, 1.0, 1.0], *rows[at + 1 :]], words
    else:
        other, others = rows[:at] + rows[at + 1 :], np.delete(words, at)
    one, two = votes_of(rows, words, relation), votes_of(other, others, relation)
    assert np.abs(one - two).max() <= 1


def alternating(n=400):
    """P13: even rows show one column, odd rows another; the target alternates within each block of every 20th row."""
    rows = []
    for i in range(n):
        y = 1.0 if (i // BLOCKS) % 2 else -1.0
        rows.append([y, 0.0, 0.0, y] if i % 2 == 0 else [0.0, y, 0.0, y])
    return rows


def blocks_that_change(rows, words, others):
    """How many blocks name other columns once the first row is gone."""
    named = []
    for part, each in ((rows, words), (rows[1:], others)):
        cells = np.rint(np.array(part) * GRID).astype(np.int16)
        named.append([named_by_lasso(cells[each % BLOCKS == block], 1, 0.1).tolist() for block in range(BLOCKS)])
    return sum(one != other for one, other in zip(*named, strict=True))


def test_removing_the_first_row_reaches_one_block_and_not_all():
    """P13: with words of their own at most one block changes its vote; by position, the control, all do."""
    rows = alternating()
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
    words = rng.integers(0, 2**31, len(rows))
    assert blocks_that_change(rows, words, words[1:]) <= 1
    places = np.arange(len(rows))
    assert blocks_that_change(rows, places, places[:-1]) == BLOCKS


def test_a_units_rows_reach_as_many_blocks_as_it_may_have_rows(monkeypatch):
    """C rows: the sensitivity is c votes a column, and the cut holds."""
    rows = [[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]] * 30
    units = [i // 2 for i in range(58)] + [99, 99]
    table = table_of(rows, "add_or_remove_one", units, rows_per_unit=2)
    found = reached(monkeypatch, TwoStageVotes(n_features_to_select=1, n_blocks=5), table)
    assert found.top_k.sensitivity == 2


def test_a_block_names_the_same_columns_in_any_order():
    """Its function is one of a multiset, to the last bit."""
    rng = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
    cells = rng.integers(-32767, 32767, (50, 9)).astype(np.int16)
    named = {tuple(named_by_lasso(rng.permutation(cells), 4, 0.01).tolist()) for _ in range(20)}
    assert len(named) == 1


def test_blocks_and_votes_stay_inside():
    """The release tells the number of blocks, which is public, and nothing of what they hold."""
    table = table_of([[1.0, 0.0, 0.5, 1.0]] * 30)
    prepared = TwoStageVotes(n_features_to_select=1).prepare(table.metadata, "y")
    outcome = prepared.run(table, Source.seeded(1))
    assert prepared.parameters["n_blocks"] == 5
    assert outcome.steps == ()
