"""Public records beside a private table: what is opened, what is simulated, and which records get weights."""

import hashlib

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from discreet import workflow
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.errors import InvalidParameterError, MetadataError, PolicyError, VerificationError
from discreet.mechanisms.rng import Source

N_ROWS = 200
VALUE = {
    "dataset": "toy",
    "unit": "person",
    "neighboring": "replace_one",
    "n_rows": N_ROWS,
    "columns": {
        "x": {"type": "real", "lower": 0, "upper": 10},
        "kind": {"type": "category", "levels": ["a", "=b", "other"], "unknown": "other"},
        "y": {"type": "integer", "lower": 0, "upper": 5},
    },
}


def rows(count, step):
    return pa.table(
        {
            "x": [i * step % 97 / 9.0 for i in range(count)],
            "kind": [("a", "=b", "c")[i % 3] for i in range(count)],
            "y": [i % 6 for i in range(count)],
        }
    )


@pytest.fixture
def public(tmp_path):
    """A public file, and metadata that declare it."""
    path = tmp_path / "public.parquet"
    pq.write_table(rows(50, 31), path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return path, Metadata.from_value(VALUE | {"public": {"sha256": digest, "source": "they agreed"}})


def released(path, metadata, rng=None, **parameters):
    """A release, and the records that it is about."""
    records = workflow.open_public(path, metadata)
    method = workflow.method_of("hybrid", epsilon=2, public=records, **{"n_points": 12} | parameters)
    table = workflow.open_table(rows(N_ROWS, 53), metadata.model_copy(update={"public": None}))
    return workflow.answer(method, table, "y", rng=rng).release, records


def test_public_records_are_declared(public):
    """Metadata that do not say which file is public, or say another, open none."""
    path, metadata = public
    assert workflow.open_public(path, metadata).file_sha256 == metadata.public.sha256
    with pytest.raises(MetadataError, match="must say which file is public"):
        workflow.open_public(path, Metadata.from_value(VALUE))
    pq.write_table(rows(49, 31), path)
    with pytest.raises(MetadataError, match="must be the one that the metadata declare"):
        workflow.open_public(path, metadata)
    with pytest.raises(InvalidParameterError, match="public"):
        workflow.open_public(path.with_name("none.parquet"), metadata)


def test_expected_errors_are_of_methods_that_simulate(public):
    """Public records alone come first; a method without twins has none, and neither has one asked for none."""
    path, metadata = public
    records = workflow.open_public(path, metadata)
    told = []
    method = workflow.method_of("hybrid", public=records, twins=2, measure="counts", n_points=8)
    found = workflow.expected_errors(method, metadata, "y", None, lambda *what: told.append(what))
    assert [one.name for one in found][:2] == ["public records alone", "counts"]
    assert all(0 <= one.low <= one.error <= one.high <= 1 for one in found)
    assert len(told) == 2
    for other in (method.model_copy(update={"twins": 0}), workflow.method_of("pcls")):
        assert workflow.expected_errors(other, metadata, "y") == ()


def test_weighted_records_are_those_of_the_release(public):
    """A record of each point with a weight, as the estimate saw it: cut, levels for what is none, whole numbers."""
    path, metadata = public
    release, records = released(path, metadata)
    found = workflow.weighted_records(release, metadata, records)
    points = release.hybrid.points
    assert found.column_names == ["x", "kind", "y", "weight"]
    assert sorted(found["weight"].to_pylist()) == sorted(weight for weight in points.weights if weight > 0)
    seen = {
        (min(x, 10.0), "other" if kind == "c" else kind, y)
        for x, kind, y in zip(*rows(50, 31).to_pydict().values(), strict=True)
    }
    assert set(zip(*(found[name].to_pylist() for name in ("x", "kind", "y")), strict=True)) <= seen
    assert pa.types.is_integer(found.schema.field("y").type)


def test_cells_stored_as_text_become_numbers(tmp_path, public):
    """The same records in a CSV file have the same digest and give the same weighted table."""
    path, metadata = public
    release, records = released(path, metadata, measure="margins", n_points="auto")
    other = tmp_path / "public.csv"
    pyarrow.csv.write_csv(rows(50, 31), other)
    bare = metadata.model_copy(update={"public": None})
    text = PublicRecords(other, bare)
    assert text.points(bare, "y", None).sha256 == release.hybrid.points.sha256
    pairs = ((metadata, records), (bare, text))
    ours, theirs = (workflow.weighted_records(release, own, one) for own, one in pairs)
    assert ours.cast(theirs.schema).equals(theirs)


def test_other_records_or_metadata_are_refused(public):
    """Weights of one set of points do not go to another."""
    path, metadata = public
    release, records = released(path, metadata)
    others = PublicRecords(rows(50, 29), metadata)
    with pytest.raises(VerificationError, match="differ"):
        workflow.weighted_records(release, metadata, others)
    narrower = metadata.model_copy(
        update={"columns": metadata.columns | {"x": metadata.columns["x"].model_copy(update={"upper": 8.0})}}
    )
    with pytest.raises(VerificationError, match="differ"):
        workflow.weighted_records(release, narrower, records)


def test_weights_of_what_is_not_private_are_refused(public):
    """A seeded run tells of single rows, and a selection has no weights at all."""
    path, metadata = public
    release, records = released(path, metadata, rng=Source.seeded(1))
    with pytest.raises(PolicyError, match="private release"):
        workflow.weighted_records(release, metadata, records)
    without = release.model_copy(update={"hybrid": None})
    with pytest.raises(InvalidParameterError, match="has none"):
        workflow.weighted_records(without, metadata, records)


def test_no_weights_no_file(tmp_path, public):
    """An estimate that rests on no public record leaves no file."""
    path, metadata = public
    release, records = released(path, metadata)
    points = release.hybrid.points.model_copy(update={"kept": (), "weights": ()})
    empty = release.model_copy(update={"hybrid": release.hybrid.model_copy(update={"points": points})})
    assert workflow.write_weighted(tmp_path / "weighted.csv", empty, metadata, records) == 0
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.slow
def test_files(tmp_path, public):
    """Parquet and CSV hold the same; an ending that is not known is refused before anything is made."""
    path, metadata = public
    release, records = released(path, metadata)
    counts = {
        workflow.write_weighted(tmp_path / f"w.{ending}", release, metadata, records) for ending in ("parquet", "csv")
    }
    binary, text = pq.read_table(tmp_path / "w.parquet"), pyarrow.csv.read_csv(tmp_path / "w.csv")
    assert counts == {binary.num_rows}
    assert text["weight"].to_pylist() == binary["weight"].to_pylist()
    assert text["kind"].to_pylist() == [f"'{kind}" if kind == "=b" else kind for kind in binary["kind"].to_pylist()]
    with pytest.raises(InvalidParameterError, match="must end in one of"):
        workflow.write_weighted(tmp_path / "w.xlsx", release, metadata, records)
