"""Halves of a table: each unit in one, the same in every pass and on every engine, by coins of a known law."""

from itertools import combinations
from math import comb

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy import stats

from discreet.data.design import Design
from discreet.data.halves import KEY_WORDS, halves_of, metadata_of_halves
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.mechanisms.rng import Source

BOX = {"type": "real", "lower": 0, "upper": 10_000}
COLUMNS = {"x": BOX, "y": BOX}
N, P_THRESHOLD, SAMPLE_SIZE = 5001, 1e-6, 600


def metadata(relation="add_or_remove_one", n_rows=None, **more):
    facts = {"dataset": "d", "unit": "person", "neighboring": relation, "columns": COLUMNS, **more}
    return Metadata.from_value(facts | ({} if n_rows is None else {"n_rows": n_rows}))


def key(seed=0):
    return Source.seeded(seed).words(KEY_WORDS)


def rows(half):
    """The x of a half's rows: the number of each row."""
    design = Design.plan(half.metadata, "y")
    cells = [np.rint((block[:, 1] / 32767 + 1) * 5000) for block in half.encoded(design)]
    return sorted(int(cell) for block in cells for cell in block)


def numbered(n=N):
    return pa.table({"x": np.arange(n), "y": np.zeros(n), "who": np.arange(n) // 3})


KINDS = ("frame", "polars", "arrays", "csv", "parquet", "duckdb", "sqlite", "lazy", "arrow")


def stored(kind, table, folder, public):
    """The same rows in another storage."""
    if kind == "frame":
        return open_table(table, public)
    if kind == "polars":
        return open_table(pl.from_arrow(table), public)
    if kind == "lazy":
        return open_table(pl.from_arrow(table).lazy(), public)
    if kind == "arrays":
        return open_table((table.select(["x"]).to_pandas(), table["y"].to_pandas()), public)
    path = folder / f"table.{kind}"
    if kind == "csv":
        pyarrow.csv.write_csv(table, path)
    elif kind == "parquet":
        pq.write_table(table, path, row_group_size=700)
    elif kind == "arrow":
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table, max_chunksize=333)
    elif kind == "duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.register("rows", table)
            connection.execute("CREATE TABLE t AS SELECT * FROM rows")
    else:
        table.to_pandas().to_sql("t", f"sqlite:///{path}", index=False)
    return open_table(path, public)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_the_same_key_gives_the_same_halves_on_every_engine(kind, relation, tmp_path):
    """By the rows' places, whatever is asked of them; together they are the table."""
    public = metadata(relation, N if relation == "replace_one" else None)
    table = stored(kind, numbered(), tmp_path, public)
    halves = halves_of(table, key(), ("x", "y"))
    there = [rows(half) for half in halves]
    assert sorted(there[0] + there[1]) == list(range(N))
    assert (
        there == [rows(half) for half in halves_of(open_table(numbered(), public), key(), ("x", "y"))] or kind == "lazy"
    )
    assert there == [rows(half) for half in halves]  # a second pass
    if relation == "replace_one":
        assert (
            [len(half) for half in there]
            == [half.n_rows for half in metadata_of_halves(public)]
            == [N // 2, N - N // 2]
        )
    for half, numbers in zip(halves, there, strict=True):
        of_one = [batch.column(0).to_pylist() for batch in half.batches(["x"])]
        assert sorted(round(float(cell)) for cells in of_one for cell in cells) == numbers


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "arrays"])
def test_a_unit_is_in_one_half_wherever_its_rows_are(kind, tmp_path):
    """By its identifier alone: in any order, as a number or as text."""
    public = metadata(unit_id="who", rows_per_unit=3)
    straight = [rows(half) for half in halves_of(stored(kind, numbered(), tmp_path, public), key(), ("x", "y"))]
    assert sorted(straight[0] + straight[1]) == list(range(N))
    owners = [{number // 3 for number in half} for half in straight]
    assert not owners[0] & owners[1]
    shuffled = numbered().take(np.random.default_rng(0).permutation(N))  # noqa: TID251 - simulated data, not noise
    as_text = shuffled.set_column(2, "who", shuffled["who"].cast(pa.float64()).cast(pa.string()))
    for table in (shuffled, as_text, shuffled.set_column(2, "who", shuffled["who"].cast(pa.float64()))):
        assert [rows(half) for half in halves_of(open_table(table, public), key(), ("x", "y"))] == straight


def test_one_unit_more_changes_its_half_alone():
    """With the same coins, wherever its rows are put; a row at the end, where its place is what throws it."""
    public = metadata(unit_id="who", rows_per_unit=3)
    whole = numbered()
    before = [rows(half) for half in halves_of(open_table(whole, public), key(), ("x", "y"))]
    for unit in (0, 7, 1666):
        less = whole.filter(pa.array(np.asarray(whole["who"]) != unit))
        after = [rows(half) for half in halves_of(open_table(less, public), key(), ("x", "y"))]
        assert [one == other for one, other in zip(before, after, strict=True)].count(False) == 1
    shorter = [rows(half) for half in halves_of(open_table(numbered(N - 1), metadata()), key(), ("x", "y"))]
    full = [rows(half) for half in halves_of(open_table(numbered(N), metadata()), key(), ("x", "y"))]
    assert [one == other for one, other in zip(shorter, full, strict=True)].count(False) == 1


@pytest.mark.statistics
def test_coins_are_fair_and_independent():
    """All pairs of sides are alike, of places and of identifiers; of a public number of rows, all sets of half."""
    table = numbered(4).select(["x", "y"]).append_column("who", pa.array(["a", "b", "c", None]))
    public = {"places": metadata(), "units": metadata(unit_id="who"), "sets": metadata("replace_one", 4)}
    for name, facts in public.items():
        seen = {}
        for seed in range(SAMPLE_SIZE):
            first = tuple(rows(halves_of(open_table(table, facts), key(seed), ("x", "y"))[0]))
            seen[first] = seen.get(first, 0) + 1
        sizes = range(5) if name != "sets" else [2]
        members = range(3 if name == "units" else 4)  # a row of nobody is nowhere
        sets = [one for size in sizes for one in combinations(members, size)]
        assert set(seen) <= set(sets)
        assert len(sets) == {"places": 16, "units": 8, "sets": comb(4, 2)}[name]
        assert stats.chisquare([seen.get(one, 0) for one in sets]).pvalue > P_THRESHOLD


def test_more_rows_than_declared_are_nowhere():
    """The number of rows is a public fact; a table that breaks it ends in no error."""
    halves = halves_of(open_table(numbered(10), metadata("replace_one", 6)), key(), ("x", "y"))
    assert sorted(rows(halves[0]) + rows(halves[1])) == list(range(6))


def test_progress_does_not_tell_the_size_of_a_half():
    """A bar over the rows of a half would."""
    told = []
    half, _ = halves_of(open_table(numbered(), metadata()), key(), ("x", "y"))
    half.moments(Design.plan(half.metadata, "y"), told.append)
    assert told == []


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_people_of_a_long_table_are_split(relation):
    """With all their values: a half of the targets is a half of the people, and as large as coins make it."""
    n = 40
    counted = {"n_rows": n} if relation == "replace_one" else {}
    public = Metadata.from_value(
        {"dataset": "d", "unit": "person", "neighboring": relation, "columns": {"y": BOX}, **counted,
         "layout": {"row": "who", "feature": "what", "value": "much"}, "features": {**BOX, "count": 2}}
    )  # fmt: skip
    values = pa.table({"who": np.repeat(np.arange(n), 2), "what": np.tile([0, 1], n), "much": np.arange(2 * n)})
    targets = pa.table({"who": np.arange(n), "y": np.arange(n)})
    table = open_table(values, public, targets=targets)
    assert [half.metadata.n_rows for half in halves_of(table, key(), ("0", "1", "y"))] == [None, None]
    people = [
        [round(y) for batch in half.batches(("0", "y")) for y in batch.column(1).to_pylist()]
        for half in halves_of(table, key(), ("0", "1", "y"))
    ]
    assert sorted(people[0] + people[1]) == list(range(n))
    assert 5 < len(people[0]) < 35
    wide = targets.rename_columns(["x", "y"]).append_column("who", targets["who"])
    by_unit = halves_of(open_table(wide, metadata(unit_id="who")), key(), ("x", "y"))
    assert [sorted(half) for half in people] == [rows(half) for half in by_unit]
