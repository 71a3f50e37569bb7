"""Cells of Parquet that its library cannot read: no row decides whether there is an answer, and footers say enough."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark import spark

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import DataMismatchError

TEXT = b"\x18\x01c\x25\x00\x4c\x1c\x00\x00"
"""In a footer: a column c, of text in the format's old words and in its new ones."""
DECIMAL = b"\x18\x01c\x25\x0a\x15\x04\x15\x28"
"""The same of decimals: 2 digits after the point, 20 in all."""


def declared(*names: str) -> Metadata:
    """Numbers between 0 and 1."""
    column = {"type": "real", "lower": 0, "upper": 1}
    usual = {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one"}
    return Metadata.from_value(usual | {"columns": dict.fromkeys(names, column)})


@pytest.fixture(params=["d", "", "d" * 20], ids=["a number", "nothing", "too long"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of two decimals as bytes: those that stand there as text."""
    path, table = tmp_path / "t.parquet", pa.table({"c": ["d", request.param], "y": [0.5, 0.5]})
    pq.write_table(table, path, store_schema=False, write_statistics=False, use_dictionary=False)
    whole = path.read_bytes()
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    footer = whole[start:-8].replace(TEXT, DECIMAL)
    path.write_bytes(whole[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert pq.read_schema(path).field("c").type == pa.decimal128(20, 2)
    return path


def test_decimals_of_any_length_are_refused(path: Path) -> None:
    """A cell of no bytes, or of more than a number has, ends the reading of all: its column is refused in any file."""
    opened = open_table(path, declared("c", "y"))
    opened.check(["y"])
    with pytest.raises(DataMismatchError, match="storage type is BINARY"):
        opened.check(["c", "y"])


def test_spark_refuses_such_decimals(path: Path) -> None:
    """By the footer, too, as it ends at such a cell as well; of one length they are a column like others."""
    spark()
    usual = pa.table({"c": pa.array([Decimal("0.5"), None], pa.decimal128(20, 2)), "y": [0.5, 0.5]})
    pq.write_table(usual, path.with_name("usual.parquet"))
    open_table(f"spark:{path.with_name('usual.parquet')}", declared("c", "y")).check(["c", "y"])
    with pytest.raises(DataMismatchError, match="at one length"):
        open_table(f"spark:{path}", declared("c", "y"))
