"""Means and covariances of a public table: by the same map as private rows, of a declared file alone."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.design import Design
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError
from discreet.methods.base import known_columns
from discreet.methods.base.known_columns import KnownColumns
from discreet.methods.registry import method_of
from discreet.parameters.public_moments import PublicMoments

COLUMNS = {
    "a": {"type": "real", "lower": 0, "upper": 10},
    "b": {"type": "integer", "lower": 0, "upper": 1},
    "c": {"type": "category", "levels": ["p", "q", "r"]},
    "y": {"type": "real", "lower": -1, "upper": 1},
}
NAMES = ("a", "b", "c")
CELLS = pa.table({"a": [1.0, 99.0, None, 4.0], "b": [0, 1, 1, 0], "c": ["p", "q", "q", "p"]})


def metadata(**public):
    return dc.Metadata.from_value(
        {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one", "columns": COLUMNS, **public}
    )


def test_cells_are_those_that_private_rows_become():
    """Cut at the bounds, the middle where one is missing, a column a level; moments are numpy's."""
    found = dc.public_moments(CELLS, metadata(), NAMES)
    a, b = [1.0, 10.0, 5.0, 4.0], [0.0, 1.0, 1.0, 0.0]
    cells = np.array([a, b, [1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0]])
    assert found.labels == ("a", "b", "c=p", "c=q", "c=r")
    assert np.allclose(found.means, cells.mean(axis=1))
    assert np.allclose(found.covariance, np.cov(cells))
    assert found.n_records == 4


def test_encoded_they_are_those_of_encoded_rows():
    """A numeric cell in half ranges from its middle; a level that no record has varies a little."""
    table = metadata()
    known = KnownColumns.of(dc.public_moments(CELLS, table, NAMES), design_of(table))
    cells = np.array([[-0.8, 1.0, 0.0, -0.2], [-1.0, 1.0, 1.0, -1.0]])
    assert np.allclose(known.means[:2], cells.mean(axis=1))
    assert np.allclose(known.covariance[:2, :2], np.cov(cells))
    assert known.covariance[4, 4] == pytest.approx(0.25)


def design_of(table):
    return Design.plan(table, "y", NAMES)


def test_only_a_declared_file_is_read(tmp_path):
    """None without a declaration, and no other one."""
    path = tmp_path / "open.parquet"
    pq.write_table(CELLS, path)
    with pytest.raises(MetadataError, match="which file is public"):
        dc.public_moments(path, metadata(), NAMES)
    with pytest.raises(MetadataError, match="must be the one that the metadata declare public"):
        dc.public_moments(path, metadata(public={"sha256": "0" * 64, "source": "s"}), NAMES)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    declared = metadata(public={"sha256": digest, "source": "open consent"})
    found = dc.public_moments(path, declared, NAMES)
    assert (found.sha256, found.source) == (digest, "open consent")
    KnownColumns.of(found, design_of(declared))
    with pytest.raises(MetadataError, match="is not theirs"):
        KnownColumns.of(found, design_of(metadata()))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"labels": ("a", "a")}, "each label once"),
        ({"means": (0.0,)}, "each label once"),
        ({"covariance": ((1.0, 0.5), (0.4, 1.0))}, "symmetric"),
        ({"covariance": ((1.0, 2.0), (2.0, 1.0))}, "symmetric"),
        ({"means": (11.0, 0.5)}, "possible within"),
        ({"covariance": ((99.0, 0.0), (0.0, 0.2))}, "possible within"),
        ({"covariance": ((0.0, 0.0), (0.0, 0.2))}, "that vary"),
        ({"labels": ("a", "z")}, "'b' is missing"),
    ],
)
def test_what_no_table_has_is_refused(changed, words):
    """In one line, before anything is charged."""
    stated = {"labels": ("a", "b"), "means": (5.0, 0.5), "covariance": ((4.0, 0.1), (0.1, 0.25))} | changed
    for name in ("moments", "decorrelated"):
        with pytest.raises(InvalidParameterError, match=words):
            method(name, stated).prepare(metadata(), "y", ("a", "b"))


def test_a_matrix_of_no_table_is_refused():
    """Three columns of which each pair goes together, but for one that goes apart: no rows are so."""
    signs = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]])
    known_columns._check(["a", "b", "c"], np.zeros(3), 0.1 * np.abs(signs))
    with pytest.raises(InvalidParameterError, match="no table has"):
        known_columns._check(["a", "b", "c"], np.zeros(3), 0.1 * signs)


def method(name, stated):
    return method_of(name, public_moments=stated, **({"n0": 100} if name == "moments" else {}))


def test_one_record_says_nothing():
    """A covariance needs two."""
    with pytest.raises(DataMismatchError, match="two records"):
        dc.public_moments(CELLS.slice(0, 1), metadata(), NAMES)


def test_a_statement_survives_json():
    """A release holds it."""
    found = dc.public_moments(CELLS, metadata(), NAMES)
    assert PublicMoments.model_validate_json(found.model_dump_json()) == found
