"""Public records: what is kept, on which ranges, and what is refused."""

import hashlib

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.engines.frame import FrameTable
from discreet.data.public_records import PublicRecords
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError, PolicyError


def metadata(columns=None, **more):
    """A number without bounds, one with, a category and a target."""
    declared = {
        "x": {"type": "real", "source": "design"},
        "z": {"type": "integer", "lower": 0, "upper": 10, "source": "design"},
        "g": {"type": "category", "levels": ["u", "v"], "source": "design"},
        "y": {"type": "real", "source": "design"},
    }
    facts = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 100}
    return dc.Metadata.from_value(facts | {"columns": declared | (columns or {})} | more)


FRAME = pa.table(
    {
        "x": [3.0, 1.0, 1.0, None, 5.0, 1.0],
        "z": [2, 4, 4, 5, 12, 4],
        "g": ["u", "v", "v", "u", "u", "u"],
        "y": [0.5, 2.5, 2.5, 9.0, -1.5, 2.5],
        "other": [1, 2, 3, 4, 5, 6],
    }
)


def test_points_are_distinct_records_in_order():
    """Records with a missing cell are left out; cells are cut at declared bounds, other ranges are the records' own."""
    points = PublicRecords(FRAME, metadata()).points(metadata(), "y", None)
    assert points.design.columns == ("x", "z", "y", "g")
    assert (len(points), points.n_dropped, points.records.tolist()) == (4, 1, [1, 2, 1, 1])
    assert points.rows.to_pylist()[1] == {"x": 1.0, "z": 4, "g": "v", "y": 2.5}
    declared = points.design.metadata.columns
    assert (declared["x"].lower, declared["x"].upper) == (1.0, 5.0)
    assert (declared["y"].lower, declared["y"].upper) == (-1.5, 2.5)
    assert (declared["z"].lower, declared["z"].upper) == (2, 10)  # of declared bounds, what the records reach
    assert sorted(map(tuple, points.cells.tolist())) == list(map(tuple, points.cells.tolist()))


def test_the_order_of_the_records_does_not_matter(tmp_path):
    """Nor whether they stand in a file or in a frame; what the columns are does."""
    first = PublicRecords(FRAME, metadata()).points(metadata(), "y", None)
    again = PublicRecords(FRAME.take(pa.array([5, 4, 3, 2, 1, 0])), metadata()).points(metadata(), "y", None)
    path = tmp_path / "public.csv"
    pl.from_arrow(FRAME).write_csv(path)
    filed = PublicRecords(path, metadata())
    assert filed.name == "public.csv"
    assert filed.file_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    for one in (again, filed.points(metadata(), "y", None)):
        np.testing.assert_array_equal(one.cells, first.cells)
        assert one.sha256 == first.sha256
    assert PublicRecords(FRAME, metadata()).points(metadata(), "y", ["x", "z"]).sha256 != first.sha256
    assert PublicRecords(FRAME, metadata()).points(metadata(), "x", ["y", "z", "g"]).sha256 != first.sha256


def test_weights_stand_beside_the_records():
    """In the records' own units; the new column's name is free."""
    points = PublicRecords(FRAME, metadata()).points(metadata(), "y", None)
    found = points.weighted([1, 3], [7.5, 0.5])
    assert found.column_names == ["x", "z", "g", "y", "weight"]
    assert found["weight"].to_pylist() == [7.5, 0.5]
    assert found.slice(0, 1).to_pylist()[0] == {"x": 1.0, "z": 4, "g": "v", "y": 2.5, "weight": 7.5}
    heavy = metadata({"weight": {"type": "real", "source": "design"}})
    frame = FRAME.append_column("weight", pa.array(range(6), pa.float64()))
    assert "weight_" in PublicRecords(frame, heavy).points(heavy, "y", None).weighted([0], [1.0]).column_names


def test_declared_values_replace_missing_cells():
    """Of a column with a declared value for them; a cell out of bounds can be declared missing as well."""
    own = metadata({"x": {"type": "real", "lower": 0, "upper": 9, "missing": 4, "source": "design"}})
    assert PublicRecords(FRAME, own).points(own, "y", None).n_dropped == 0
    strict = metadata(
        {"z": {"type": "integer", "lower": 0, "upper": 10, "out_of_bounds": "missing", "source": "design"}}
    )
    assert PublicRecords(FRAME, strict).points(strict, "y", None).n_dropped == 2


def test_a_column_that_does_not_vary_has_a_range():
    """Declared bounds, or some room around its value."""
    frame = pa.table({"x": [1.0, 1.0], "z": [4, 4], "g": ["u", "v"], "y": [0.0, 1.0]})
    declared = PublicRecords(frame, metadata()).points(metadata(), "y", None).design.metadata.columns
    assert (declared["x"].lower, declared["x"].upper) == (0.5, 1.5)
    assert (declared["z"].lower, declared["z"].upper) == (0, 10)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.drop_columns(["x"]), "public table"),
        (FRAME.slice(3, 1), "complete records"),
        (FRAME.slice(1, 2), "two distinct points"),
        (FRAME.set_column(2, "g", pa.array(["u", "v", "w", "u", "u", "u"])), "declared levels alone"),
        (FRAME.slice(0, 0), "must have records"),
    ],
)
def test_records_that_do_not_fit_are_refused(frame, message):
    """By name; no cell is shown, as it might be the wrong file."""
    with pytest.raises(DataMismatchError, match=message) as raised:
        PublicRecords(frame, metadata()).points(metadata(), "y", None)
    assert "w'" not in str(raised.value)


def test_requests_that_do_not_fit_are_refused():
    """Columns that are not declared, repeat, or are no numbers."""
    records = PublicRecords(FRAME, metadata())
    for target, names, message in (
        ("y", ["x", "nobody"], "declared"),
        ("y", ["x", "x"], "repeat"),
        ("y", ["x", "y"], "repeat"),
        ("y", [], "At least one"),
        ("g", ["x"], "numeric"),
    ):
        with pytest.raises((MetadataError, InvalidParameterError), match=message):
            records.points(metadata(), target, names)


def test_an_unknown_level_goes_where_it_is_declared_to_go():
    """As a private cell would."""
    own = metadata({"g": {"type": "category", "levels": ["u", "v"], "unknown": "u", "source": "design"}})
    frame = FRAME.set_column(2, "g", pa.array(["w", "v", "v", "u", "u", "u"]))
    there = PublicRecords(frame, own).points(own, "y", None)
    np.testing.assert_array_equal(there.cells, PublicRecords(FRAME, own).points(own, "y", None).cells)


def test_the_public_file_is_the_declared_one(tmp_path):
    """By its digest; a file that cannot be read is said to be so, without its folder."""
    path = tmp_path / "public.csv"
    pl.from_arrow(FRAME).write_csv(path)
    right = metadata(public={"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "source": "a survey"})
    records = PublicRecords(path, right)
    wrong = metadata(public={"sha256": "0" * 64, "source": "a survey"})
    with pytest.raises(MetadataError, match="correct the metadata"):
        PublicRecords(path, wrong)
    private = FrameTable(FRAME, right)
    records.check_beside(private, charged=True)
    with pytest.raises(MetadataError, match="which file is public"):
        PublicRecords(FRAME, right).check_beside(private, charged=False)
    undeclared = FrameTable(FRAME, metadata())
    PublicRecords(FRAME, metadata()).check_beside(undeclared, charged=False)
    for source in (FRAME, path):
        with pytest.raises(MetadataError, match="which file is public"):
            PublicRecords(source, metadata()).check_beside(undeclared, charged=True)
    with pytest.raises(PolicyError, match="must be two"):
        records.check_beside(dc.open_table(path, right), charged=False)
    with pytest.raises(InvalidParameterError) as raised:
        PublicRecords(tmp_path / "nothing.csv", metadata())
    assert str(tmp_path) not in str(raised.value)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("postgresql://ann:p4ss@db.example.org/x", "one local file, but it is an address"),
        ("s3://key:p4ss@bucket/x.parquet", "one local file, but it is an address"),
        ("spark:ins.p4ss", "one local file, but it is an address"),
        ("host=db password=p4ss", "must be readable"),
        (".", "one local file, but it is a folder"),
    ],
)
def test_what_is_no_file_is_refused_and_not_repeated(source, told):
    """An address may hold a password."""
    with pytest.raises(InvalidParameterError, match=told) as refused:
        PublicRecords(source, metadata())
    assert "p4ss" not in str(refused.value)


def test_a_link_to_the_private_file_is_the_private_file(tmp_path):
    """Whatever it is called."""
    path, link = tmp_path / "private.csv", tmp_path / "public.csv"
    pl.from_arrow(FRAME).write_csv(path)
    link.symlink_to(path)
    with pytest.raises(PolicyError, match="must be two"):
        PublicRecords(link, metadata()).check_beside(dc.open_table(path, metadata()), charged=False)


def test_records_opened_under_other_metadata_must_still_be_the_declared_file(tmp_path):
    """Who opens a private file as public, without a declaration, cannot use it where another file is declared."""
    import pyarrow.csv

    frame = pa.table({"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 0.0]})
    path = tmp_path / "private.csv"
    pyarrow.csv.write_csv(frame, path)
    real = {"type": "real", "source": "design"}
    bare = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 3}
        | {"columns": {"x": real, "y": real}}
    )
    records = PublicRecords(path, bare)
    declared = dc.Metadata.from_value({**bare.to_dict(), "public": {"sha256": "0" * 64, "source": "consent"}})
    with pytest.raises(MetadataError, match="Is it the private one"):
        records.points(declared, "y", None)
    with pytest.raises(MetadataError, match="Is it the private one"):
        records.check_beside(dc.open_table(frame, declared), charged=True)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    """What was declared and what is read must be the same bytes."""
    import pyarrow.csv

    path = tmp_path / "public.csv"
    real = {"type": "real", "source": "design"}
    own = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 3}
        | {"columns": {"x": real, "y": real}}
    )
    pyarrow.csv.write_csv(pa.table({"x": [0.0, 1.0], "y": [0.0, 1.0]}), path)
    records = PublicRecords(path, own)
    pyarrow.csv.write_csv(pa.table({"x": [5.0, 6.0], "y": [0.0, 1.0]}), path)
    with pytest.raises(DataMismatchError, match="must stay as it"):
        records.points(own, "y", None)
