"""What a skeleton of metadata calls its data set: the ledger's key, which unrelated tables must not share."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import yaml

from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.workflow import new_metadata, table_shape

TABLE = pa.table({"x": [1.5], "y": [2.5]})


class Named(Table):
    """A table of a catalog, that is called as it is called."""

    def __init__(self, name):
        super().__init__(Metadata.model_construct(columns={}))
        self._name = name

    @property
    def name(self):
        return self._name

    def header(self):
        return [("x", "DOUBLE")]

    def batches(self, columns):
        raise AssertionError(columns)


def key(data):
    return yaml.safe_load(new_metadata(str(data)))["dataset"]


@pytest.mark.parametrize("name", ["ins.claims", "ins.visits", "visits.2024", "visits.2025", "ins.csv"])
def test_a_table_of_a_catalog_keeps_its_name(name, monkeypatch):
    """A dot in it ends nothing."""
    monkeypatch.setattr(table_shape, "undeclared_table", lambda *_: Named(name))
    assert key("anywhere") == name


def test_a_file_loses_its_ending(tmp_path):
    """And a folder that is called as a file; no other."""
    pyarrow.csv.write_csv(TABLE, tmp_path / "visits.2024.csv")
    assert key(tmp_path / "visits.2024.csv") == "visits.2024"
    for name, told in {
        "visits.2025": "visits.2025",
        "visits.2024.parquet": "visits.2024",
        "my visits": "my-visits",
    }.items():
        (tmp_path / name).mkdir()
        pyarrow.parquet.write_table(TABLE, tmp_path / name / "part.parquet")
        assert key(tmp_path / name) == told


def test_a_given_key_is_taken(tmp_path):
    """Whatever the file is called."""
    pyarrow.csv.write_csv(TABLE, tmp_path / "visits.csv")
    assert yaml.safe_load(new_metadata(str(tmp_path / "visits.csv"), dataset="own.key"))["dataset"] == "own.key"
