"""A real table in every engine: the same integers and, from one seeded source, the same releases."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.tables import FREMTPL_METADATA, SHARED

from discreet import workflow
from discreet.data.dummy import dummy_table
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.data.sources import open_table
from discreet.mechanisms.rng import Source
from tests.effort import either
from tests.spark import spark
from tests.warehouse import TYPES, plain

ORDERS: dict[str, Callable[[int], Any]] = {
    "as it is": np.arange,
    "reversed": lambda n: np.arange(n)[::-1],
    "shuffled": lambda n: np.argsort(Source.seeded(2).words(n)),
}
SPLITS = {"as it is": 1, "reversed": 7, "shuffled": 16}
"""In how many files or partitions."""
STEP = either(41, 1)
"""From one row of the real table that is taken to the next."""


@pytest.fixture(scope="module")
def policies() -> pa.Table:
    """The real table of 677,991 policies, or some of them; without the shared data, 50,000 rows of its shape."""
    path = SHARED / "fremtpl2freq.parquet"
    if path.is_file():
        table = pq.read_table(path, columns=list(Metadata.from_text(FREMTPL_METADATA).columns))
        return table.take(pa.array(np.arange(0, table.num_rows, STEP)))
    return dummy_table(Metadata.from_text(FREMTPL_METADATA), 50_000, Source.seeded(9).words)


@pytest.fixture(scope="module")
def metadata(policies: pa.Table) -> Metadata:
    """As a tariff declares them, of so many rows."""
    return Metadata.from_text(FREMTPL_METADATA.replace("677991", str(policies.num_rows)))


def in_duckdb(table: pa.Table, split: int, folder: Path, _: Any) -> Any:
    """A database file."""
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE policies AS SELECT * FROM given")
    return folder / "t.duckdb"


def in_folder(table: pa.Table, split: int, folder: Path, _: Any) -> Any:
    """A folder of Parquet files."""
    for number, rows in enumerate(np.array_split(np.arange(table.num_rows), split)):
        pq.write_table(table.slice(rows[0], len(rows)), folder / f"{number}.parquet")
    return folder


def in_postgres(table: pa.Table, split: int, folder: Path, url: str) -> Any:
    """A table of a database, from as many pieces."""
    name = f"policies_{split}"
    columns = ", ".join(f'"{field.name}" {TYPES[_kind(field.type)]}' for field in table.schema)
    with psycopg.connect(plain(url)) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} ({columns})")
        for rows in np.array_split(np.arange(table.num_rows), split):
            text = pl.from_arrow(table.slice(rows[0], len(rows))).write_csv(include_header=False)
            with cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
                copy.write(text)
    return plain(url), name


def in_spark(table: pa.Table, split: int, folder: Path, _: Any) -> Any:
    """A frame of a cluster, in as many partitions, read from as many files."""
    return spark().read.parquet(str(in_folder(table, split, folder, None))).repartition(split)


def _kind(kind: pa.DataType) -> str:
    return "int64" if pa.types.is_integer(kind) else "double" if pa.types.is_floating(kind) else "string"


ENGINES: dict[str, Callable[[pa.Table, int, Path, Any], Any]] = {
    "duckdb": in_duckdb,
    "parquet": in_folder,
    "pandas": lambda table, *_: table.to_pandas(),
    "polars": lambda table, *_: pl.from_arrow(table),
    "postgres": in_postgres,
    "spark": in_spark,
}


@pytest.fixture(scope="module")
def requests(metadata: Metadata) -> list[tuple[Any, list[str]]]:
    """Methods that ask for moments, for scores, for counts beside public records, and for losses of models on rows."""
    public = PublicRecords(dummy_table(metadata, 600, Source.seeded(4).words), metadata)
    few = ["DrivAge", "BonusMalus", "VehGas"]
    return [
        (workflow.method_of("pcls", epsilon=1.0, l1_radius=1.0, y_center=0.0), list(metadata.columns)[1:]),
        (
            workflow.method_of("sis", epsilon=1.0, n_features_to_select=2, y_bound="furthest"),
            ["Exposure", "DrivAge", "BonusMalus", "VehAge"],
        ),
        (workflow.method_of("public-subset", epsilon=1.0, public=public, measure="counts", n_points=40), few),
    ]


def asked(table: Table, requests: list[tuple[Any, list[str]]], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """The sums that were asked of the rows, and what was released, without where it came from."""
    sums: list[Any] = []
    ask = Table.map_reduce

    def noted(self: Table, *words: Any, **named: Any) -> Any:
        sums.append(ask(self, *words, **named))
        return sums[-1]

    with monkeypatch.context() as patch:
        patch.setattr(Table, "map_reduce", noted)
        releases = [
            workflow.answer(method, table, "ClaimNb", candidates, rng=Source.seeded(7)).release
            for method, candidates in requests
        ]
    found = [json.loads(release.to_json()) for release in releases]
    return sums, [{key: one[key] for key in ("selected", "steps", "fit", "hybrid") if key in one} for one in found]


@pytest.fixture(scope="module")
def expected(policies: pa.Table, metadata: Metadata, requests: Any) -> Any:
    """What a frame in memory gives."""
    with pytest.MonkeyPatch.context() as patch:
        return asked(open_table(policies, metadata), requests, patch)


def test_the_requests_ask_for_all_there_is(expected: Any, policies: pa.Table, metadata: Metadata) -> None:
    """Second moments, sums of products, the target's sum, counts beside the target's, counts of rows, and losses."""
    shapes = [part.shape for part in expected[0]]
    p = 2 + sum(len(getattr(metadata.declared(name), "levels", "1")) for name in list(metadata.columns)[1:])
    assert shapes[0] == (p, p)
    assert shapes[1:3] == [(2,), (4,)]
    assert all(column.sum() == policies.num_rows for column in expected[0][3])
    assert expected[0][4].sum() == policies.num_rows
    assert len(shapes) == 6
    assert all(part.any() for part in expected[0])


@pytest.mark.parametrize("order", either(["reversed", "shuffled"], ORDERS))
@pytest.mark.parametrize("engine", ENGINES)
def test_integers_and_releases_are_the_same(
    engine: str,
    order: str,
    policies: pa.Table,
    metadata: Metadata,
    requests: Any,
    expected: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """To the last bit, whichever engine adds up, however rows lie and are split."""
    database = request.getfixturevalue("postgres")() if engine == "postgres" else None
    rows = policies.take(pa.array(ORDERS[order](policies.num_rows)))
    source = ENGINES[engine](rows, SPLITS[order], tmp_path, database)
    source, table = source if isinstance(source, tuple) else (source, None)
    sums, releases = asked(open_table(source, metadata, table), requests, monkeypatch)
    for found, right in zip(sums, expected[0], strict=True):
        np.testing.assert_array_equal(found, right)
    assert releases == expected[1]
    if database is not None:
        request.getfixturevalue("postgres").drop(database)
