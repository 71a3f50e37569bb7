"""Parquet in one file, in folders, in partitions, with types that differ, and what is refused."""

import datetime
import io
import json
import uuid
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typing_extensions import override

from discreet.data.design import Design
from discreet.data.engines import parquet
from discreet.data.engines.parquet import ParquetTable
from discreet.data.engines.parquet_files import public_address
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import DataMismatchError, InvalidParameterError

BOX = {"type": "real", "lower": -1, "upper": 1}
SITE = {"type": "category", "levels": ["a", "b/c", "7"], "unknown": "7"}


def declared(**changes: Any) -> Metadata:
    """Two numbers and a site."""
    value = {"dataset": "t", "unit": "person", "neighboring": "add_or_remove_one"}
    return Metadata.from_value({**value, "columns": {"x": BOX, "site": SITE, "y": BOX}, **changes})


def rows(n: int, shift: int = 0) -> dict[str, list[Any]]:
    """Rows with a missing cell here and there."""
    return {
        "x": [None if (i + shift) % 11 == 3 else ((i + shift) % 9 - 4) / 4 for i in range(n)],
        "site": [("a", "b/c", "7", "z", None)[(i + shift) % 5] for i in range(n)],
        "y": [((i + shift) % 5 - 2) / 2 for i in range(n)],
        "pid": [(i + shift) // 3 for i in range(n)],
    }


def joined(*parts: dict[str, list[Any]]) -> pa.Table:
    """Rows one after the other."""
    return pa.table({name: [cell for part in parts for cell in part[name]] for name in parts[0]})


def moments(source: Any, metadata: Metadata) -> Any:
    """Second moments of a table."""
    table = open_table(source, metadata)
    design = Design.plan(metadata, "y")
    table.check(design.columns)
    return table.moments(design)


def test_a_folder_is_the_table_of_all_its_files(tmp_path: Path) -> None:
    """Files below it in any depth; those of a dot or an underscore, and of other endings, are no data."""
    parts = [rows(20), rows(7, 20), rows(0)]
    places = ["one.parquet", "deep/er/two.pq", "three.parquet"]
    kinds = pa.schema([("x", pa.float64()), ("site", pa.string()), ("y", pa.float64()), ("pid", pa.int64())])
    for place, part in zip(places, parts, strict=True):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(part, kinds), tmp_path / place, row_group_size=6)
    for other in ("_temporary/four.parquet", ".hidden.parquet", "_SUCCESS", "read.me"):
        (tmp_path / other).parent.mkdir(exist_ok=True)
        (tmp_path / other).write_bytes(b"no data")
    metadata = declared(n_rows=27, neighboring="replace_one")
    np.testing.assert_array_equal(moments(tmp_path, metadata), moments(joined(*parts), metadata))
    table = open_table(tmp_path, metadata)
    assert (table.name, table.locator, table.row_count()) == (tmp_path.name, str(tmp_path), 27)
    with pytest.raises(DataMismatchError, match="n_rows=26"):
        moments(tmp_path, declared(n_rows=26, neighboring="replace_one"))


class Watched(io.BytesIO):
    """A file that notes which of its bytes are read."""

    ranges: ClassVar[list[tuple[int, int]]] = []

    @override
    def read(self, size: int | None = -1) -> bytes:
        start = self.tell()
        data = super().read(size)
        self.ranges.append((start, start + len(data)))
        return data


class WatchedFiles:
    """The files of this machine, of which each read is noted."""

    get_file_info = staticmethod(pa.fs.LocalFileSystem().get_file_info)

    def open_input_file(self, path: str) -> pa.PythonFile:
        return pa.PythonFile(Watched(Path(path).read_bytes()), mode="r")


@pytest.mark.parametrize("n_rows", [3, 3000, 40_000])
def test_opening_a_table_reads_its_footers_alone(n_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No byte of a row is read until rows are asked for; control: the library reads the end, rows and all."""
    paths = [tmp_path / f"{name}.parquet" for name in "ab"]
    for path in paths:
        pq.write_table(pa.table(rows(n_rows)), path, row_group_size=1000)
    monkeypatch.setattr(parquet, "files_at", lambda place: (WatchedFiles(), str(place), [str(path) for path in paths]))
    monkeypatch.setattr(Watched, "ranges", [])
    table = ParquetTable(tmp_path, declared())
    table.check(("x", "y"))
    assert table.row_count() == 2 * n_rows
    raw = paths[0].read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    assert min(Watched.ranges)[0] == footer
    assert max(stop for _, stop in Watched.ranges) == len(raw)
    assert sum(batch.num_rows for batch in table.batches(["x"])) == 2 * n_rows
    assert min(Watched.ranges)[0] < footer
    monkeypatch.setattr(Watched, "ranges", [])
    pq.read_metadata(WatchedFiles().open_input_file(str(paths[0])))
    assert min(Watched.ranges)[0] < footer


@pytest.mark.parametrize("length", [0, 7, 12, 2**31, 2**32 - 1])
def test_a_footer_of_a_false_length_is_refused(length: int, tmp_path: Path) -> None:
    """Whatever the last bytes say, no more is read than there is."""
    pq.write_table(pa.table(rows(9)), tmp_path / "t.parquet")
    raw = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(raw[:-8] + length.to_bytes(4, "little") + raw[-4:])
    with pytest.raises(DataMismatchError, match="readable Parquet"):
        open_table(tmp_path / "t.parquet", declared())


def test_names_of_folders_are_cells(tmp_path: Path) -> None:
    """A column that stands in the folders' names alone, written as Hive and Spark do: escaped, or of no value."""
    whole = rows(40)
    for level in ("a", "b/c", "7", "z", None):
        name = "__HIVE_DEFAULT_PARTITION__" if level is None else level.replace("/", "%2F")
        chosen = [i for i in range(40) if whole["site"][i] == level]
        folder = tmp_path / f"site={name}" / "half=1"
        folder.mkdir(parents=True)
        part = {name: [whole[name][i] for i in chosen] for name in ("x", "y")}
        pq.write_table(pa.table(part), folder / "part.parquet")
    np.testing.assert_array_equal(moments(tmp_path, declared()), moments(pa.table(whole), declared()))
    only = Metadata.from_value({**declared().to_dict(), "columns": {"site": SITE, "half": BOX}})
    table = open_table(tmp_path, only)
    assert table.moments(Design.plan(only, "half"))[0, 0] == 40 * 32767**2


CHANGES = {
    "wider integers": (pa.int8(), pa.int64()),
    "text": (pa.int64(), pa.string()),
    "text first": (pa.string(), pa.int32()),
    "other reals": (pa.float64(), pa.float32()),
    "decimals": (pa.float64(), pa.decimal128(21, 2)),
    "booleans": (pa.int64(), pa.bool_()),
    "dictionaries": (pa.string(), pa.dictionary(pa.int32(), pa.string())),
    "nothing": (pa.int64(), pa.null()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_type_may_change_in_the_third_file(change: str, tmp_path: Path) -> None:
    """Every cell counts as what it is, and a unit is the same unit, whichever file it is in."""
    first, other = CHANGES[change]
    is_text = change == "dictionaries"  # in all files: no number can be declared
    x = {"type": "category", "levels": list("01234")} if is_text else {"type": "integer", "lower": 0, "upper": 4}
    metadata = Metadata.from_value(
        {
            **declared().to_dict(),
            "columns": {"x": x, "y": BOX},
            "unit_id": "pid",
            "rows_per_unit": 2,
        }
    )
    parts = []
    for number, kind in enumerate([first, first, other]):
        own = [0, 1, 1, 0, 1] if change == "booleans" else [0, 1, 2, 3, 4]
        cells = [None] * 5 if kind == pa.null() else own
        ids = [None] * 5 if kind == pa.null() else own
        part = {"x": cells, "pid": ids, "y": [0.1 * number] * 5}
        parts.append({**part, "pid": [None if i is None else i % 2 for i in ids]})
        made = {name: _typed(part[name], kind) for name in ("x", "pid")}
        pq.write_table(pa.table({**made, "y": part["y"]}), tmp_path / f"{number}.parquet")
    if change in ("wider integers", "text", "text first", "other reals", "decimals", "nothing"):
        for number, part in enumerate(parts):
            parts[number] = {**part, "pid": part["x"]}
        np.testing.assert_array_equal(moments(tmp_path, metadata), moments(joined(*parts), metadata))
    else:
        plain = Metadata.from_value({**metadata.to_dict(), "unit_id": None, "rows_per_unit": 1})
        np.testing.assert_array_equal(moments(tmp_path, plain), moments(joined(*parts), plain))


def _typed(cells: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind) or pa.types.is_dictionary(kind):
        return pa.array([str(cell) for cell in cells]).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array([bool(cell) for cell in cells])
    return pa.array(cells).cast(kind)


def test_what_can_be_no_column_is_refused_whichever_file_it_is_in(tmp_path: Path) -> None:
    """A date in the third file, a column that one file lacks, folders of other columns: told before a row is read."""
    pq.write_table(pa.table(rows(5)), tmp_path / "1.parquet")
    pq.write_table(pa.table({**rows(1), "x": [datetime.date(2020, 1, 1)]}), tmp_path / "2.parquet")
    with pytest.raises(DataMismatchError, match=r"'x' must hold numbers or text, but its storage type is DATE32"):
        moments(tmp_path, declared())
    pq.write_table(pa.table({"x": [0.5]}), tmp_path / "2.parquet")
    with pytest.raises(DataMismatchError, match="column 'site' is not in all of them"):
        moments(tmp_path, declared())
    (tmp_path / "2.parquet").unlink()
    (tmp_path / "year=1").mkdir()
    pq.write_table(pa.table(rows(5)), tmp_path / "year=1" / "2.parquet")
    with pytest.raises(DataMismatchError, match="folders of the same columns"):
        moments(tmp_path, declared())


def test_a_column_both_in_the_file_and_in_its_folder_is_doubled(tmp_path: Path) -> None:
    """Nobody can tell which of the two counts."""
    (tmp_path / "site=a").mkdir()
    pq.write_table(pa.table(rows(5)), tmp_path / "site=a" / "1.parquet")
    with pytest.raises(DataMismatchError, match="'site' is declared, but the table has it more than once"):
        moments(tmp_path, declared())


@pytest.mark.parametrize("broken", ["empty", "no footer", "cut"])
def test_a_damaged_file_among_others_is_refused(broken: str, tmp_path: Path) -> None:
    """One line, and no path of the library's own."""
    pq.write_table(pa.table(rows(5)), tmp_path / "1.parquet")
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "2.parquet").write_bytes({"empty": b"", "no footer": b"x" * 500, "cut": whole[:-9]}[broken])
    with pytest.raises(DataMismatchError, match=r"'2\.parquet' is not a readable Parquet file"):
        open_table(tmp_path, declared())


def test_an_empty_folder_holds_no_table(tmp_path: Path) -> None:
    """What to do is said."""
    with pytest.raises(InvalidParameterError, match="must hold Parquet files"):
        open_table(tmp_path, declared())


def test_identifiers_of_sixteen_bytes_and_documents_are_text(tmp_path: Path) -> None:
    """What a file says to be a UUID or JSON is read as people write it."""
    ids = [uuid.UUID(int=i * 7919**8) for i in range(6)]
    made = pa.array([one.bytes for one in ids] + [None], pa.uuid())
    said = pa.array([json.dumps("x")] * 7, pa.json_())
    pq.write_table(pa.table({"pid": made, "said": said, "y": [0.5] * 7}), tmp_path / "t.parquet")
    table = ParquetTable(tmp_path / "t.parquet", declared())
    (batch,) = table.batches(["said", "pid"])
    assert batch.column("pid").to_pylist() == [*map(str, ids), None]
    assert batch.column("said").to_pylist() == ['"x"'] * 7
    assert dict(table.header()) == {"pid": "VARCHAR", "said": "VARCHAR", "y": "DOUBLE"}
    sliced = made.slice(2, 3)
    pq.write_table(pa.table({"pid": sliced, "y": [0.5] * 3}), tmp_path / "t.parquet")
    (batch,) = ParquetTable(tmp_path / "t.parquet", declared()).batches(["pid"])
    assert batch.column("pid").to_pylist() == [str(one) for one in ids[2:5]]


@pytest.mark.parametrize("kind", ["file", "folder", "hard"])
def test_links_are_refused(kind: str, tmp_path: Path) -> None:
    """Through a link the same rows would be read twice, and a person would count twice."""
    pq.write_table(pa.table(rows(5)), tmp_path / "1.parquet")
    if kind == "hard":
        (tmp_path / "2.parquet").hardlink_to(tmp_path / "1.parquet")
    else:
        (tmp_path / "again.parquet").symlink_to(tmp_path / "1.parquet" if kind == "file" else tmp_path)
    with pytest.raises(InvalidParameterError, match="is a link"):
        open_table(tmp_path, declared())
    link = tmp_path.parent / f"{tmp_path.name}.parquet"
    link.symlink_to(tmp_path / "1.parquet")
    assert open_table(link, declared()).row_count() == 5


def test_a_link_that_is_named_after_a_cell_is_not_repeated(tmp_path: Path) -> None:
    """Names of folders hold cells: a refusal says that one is a link, and not which."""
    (tmp_path / "site=a").mkdir()
    pq.write_table(pa.table(rows(5)).drop_columns("site"), tmp_path / "site=a" / "1.parquet")
    (tmp_path / "site=zqcanary").symlink_to(tmp_path / "site=a")
    with pytest.raises(InvalidParameterError, match="is a link") as refused:
        open_table(tmp_path, declared())
    assert "zqcanary" not in str(refused.value)


@pytest.mark.parametrize("sign", ["_delta_log/0.json", ".hoodie/x", "metadata/v1.metadata.json"])
def test_tables_with_old_versions_are_refused(sign: str, tmp_path: Path) -> None:
    """Their folders hold rows that were changed or deleted, besides those that are."""
    pq.write_table(pa.table(rows(5)), tmp_path / "1.parquet")
    (tmp_path / sign).parent.mkdir()
    (tmp_path / sign).write_text("{}")
    with pytest.raises(InvalidParameterError, match="old versions"):
        open_table(tmp_path, declared())


def test_a_column_doubled_in_a_later_file_is_refused(tmp_path: Path) -> None:
    """Nobody can tell which of the two counts."""
    pq.write_table(pa.table(rows(5)), tmp_path / "1.parquet")
    whole = pa.table(rows(5))
    pq.write_table(whole.append_column("y", whole["y"]), tmp_path / "2.parquet")
    with pytest.raises(DataMismatchError, match="each column once"):
        open_table(tmp_path, declared())


def test_a_cell_that_is_no_text_is_a_missing_one(tmp_path: Path) -> None:
    """Neighbors that differ in such a cell are both read: it does not decide whether there is a release."""
    part = rows(20)
    sites = [None if cell is None else cell.encode() for cell in part["site"]]
    odd = pa.array([b"\xff\xfe", *sites[1:]], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(odd), odd.buffers())
    pq.write_table(pa.table({**part, "site": texts}), tmp_path / "odd.parquet")
    missing = {**part, "site": [None, *part["site"][1:]]}
    found = moments(tmp_path / "odd.parquet", declared())
    np.testing.assert_array_equal(found, moments(pa.table(missing), declared()))


@pytest.mark.parametrize("places", [pa.int8(), pa.int32()], ids=str)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_an_identifier_in_a_dictionary_that_is_no_text_is_nobodys(
    places: pa.DataType, kind: pa.DataType, tmp_path: Path
) -> None:
    """A pandas category is written so, with places of 8 bits: the library would refuse to read all of its rows."""
    part = rows(20)
    letters = pa.array([b"\xff\xfe", b"7", b"8"], pa.binary() if kind == pa.string() else pa.large_binary())
    entries = pa.Array.from_buffers(kind, len(letters), letters.buffers())
    pids = pa.DictionaryArray.from_arrays(pa.array([0] + [1, 2] * 9 + [1], places), entries, safe=False)
    pq.write_table(pa.table({**part, "pid": pids}), tmp_path / "odd.parquet")
    units = {"unit_id": "pid", "rows_per_unit": 2}
    missing = pa.table({**part, "pid": [None] + ["7", "8"] * 9 + ["7"]})
    found = moments(tmp_path / "odd.parquet", declared(**units))
    np.testing.assert_array_equal(found, moments(missing, declared(**units)))


def test_a_table_knows_its_files(tmp_path: Path) -> None:
    """Whoever gives one file as private and as public is told, in a folder too."""
    (tmp_path / "all").mkdir()
    for path in (tmp_path / "all" / "1.parquet", tmp_path / "other.parquet"):
        pq.write_table(pa.table(rows(5)), path)
    folder = open_table(tmp_path / "all", declared())
    assert folder.holds_file(tmp_path / "all" / "1.parquet")
    assert not folder.holds_file(tmp_path / "other.parquet")
    assert open_table(tmp_path / "other.parquet", declared()).holds_file(tmp_path / "other.parquet")


def test_addresses_tell_tables_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever opens them stands in no locator; whatever they are found by does."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    for given, shown in {
        "s3://K:S@b/x/": "s3://b/x",
        "s3://b/x?region=eu": "s3://b/x",
        "s3://b/x?endpoint_override=h:1": "s3://b/x?endpoint_override=h:1",
        "abfs://one:pw@acc.dfs.core/x": "abfs://one@acc.dfs.core/x",
        "abfs://two@acc.dfs.core/x": "abfs://two@acc.dfs.core/x",
        "hdfs://h:8020/a@b": "hdfs://h:8020/a@b",
        "s3://[odd": "s3://[odd",
    }.items():
        assert public_address(given) == shown
    for hidden in ("s3://AKIA:abc/SECRET@bucket/x", "s3://AKIA:abc?SECRET@bucket/x"):
        with pytest.raises(InvalidParameterError, match="no key") as caught:
            open_table(hidden, declared())
        assert "SECRET" not in str(caught.value)


def test_secrets_of_an_address_are_not_shown() -> None:
    """Neither what identifies a caller nor a query's options stand in an error."""
    address = "s3://AKIA:s3cr3t@bucket/none.parquet?nonsense=9"
    with pytest.raises(InvalidParameterError, match=r"s3://bucket/none.parquet") as caught:
        open_table(address, declared())
    assert not any(secret in str(caught.value) for secret in ("AKIA", "s3cr3t", "9"))


@pytest.mark.parametrize(
    ("number", "text"), [(7.0, "7.0"), (1e-7, "1e-07"), (1e22, "1E+22"), (7, "7.00"), (-0.0, "-0")]
)
def test_a_number_is_one_unit_in_every_file(tmp_path: Path, number: float, text: str) -> None:
    """However another file writes it as text: of one unit one row stays."""
    for place, who in enumerate((pa.array([number]), pa.array([text]))):
        pq.write_table(pa.table({"pid": who, "x": [0.5], "site": ["a"], "y": [0.5]}), tmp_path / f"{place}.parquet")
    table = open_table(tmp_path, declared(unit_id="pid"))
    design = Design.plan(table.metadata, "y", ["x"])
    n_rows = table.map_reduce(design, lambda cells: np.array([len(cells)]), np.zeros(1, dtype=np.int64))
    assert n_rows.tolist() == [1]
