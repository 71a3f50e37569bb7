"""Features in the metadata: columns that are alike, by pattern, by name or by number; and the plan of their scores."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.data.columns import Codes, code_of
from discreet.data.design import Design
from discreet.data.dummy import dummy_table
from discreet.data.formats.convert import read_any, to_csvw, to_smartnoise
from discreet.data.lint import lint
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.data.sources import open_table
from discreet.errors import InvalidParameterError, MetadataError
from discreet.mechanisms.rng import Source

GRID = 32767
BASE: dict[str, Any] = {
    "dataset": "genes",
    "unit": "person",
    "neighboring": "add_or_remove_one",
    "columns": {
        "y": {"type": "integer", "lower": 0, "upper": 10},
        "site": {"type": "category", "levels": ["north", "south", "sea"]},
        "gene_age": {"type": "integer", "lower": 0, "upper": 110},
    },
}
BOX = {"type": "real", "lower": -1, "upper": 1, "source": "by normalization"}
LAYOUT = {"row": "who", "feature": "what", "value": "how much"}


def metadata_of(features: dict[str, Any], **changes: Any) -> Metadata:
    """Three listed columns, and features in [-1, 1]."""
    return Metadata.from_value({**BASE, "features": {**BOX, **features}, **changes})


def test_a_name_is_looked_up_among_the_listed_columns_then_by_the_pattern():
    """A listed column is what it was declared, even where the pattern fits."""
    metadata = metadata_of({"match": "gene_*"}, unit_id="gene_id")
    assert metadata.declared("gene_age").upper == 110
    assert metadata.declared("gene_1").upper == 1
    assert metadata.is_number("gene_1")
    assert not metadata.buys_bounds("gene_1")
    assert metadata.column("Gene_1") is None
    assert metadata.column("gene_id") is None
    with pytest.raises(MetadataError, match=r"'other' is not.*features named as gene_\*"):
        metadata.declared("other")


def test_names_and_numbers_are_features_where_they_are_declared():
    """Names with quotes and commas; numbers below the count in a long table."""
    names = ['a "quoted", one', "two: words", "Ärzte"]
    named = metadata_of({"names": names})
    assert [named.column(name) is None for name in [*names, "other"]] == [False] * 3 + [True]
    numbered = metadata_of({"count": 12}, layout=LAYOUT)
    assert [numbered.column(name) is None for name in ["0", "11", "12", "007", "-1", "x"]] == [False] * 2 + [True] * 4
    assert [code_of(text) for text in ["0", "10", "", "٣", "1_0", "1e3"]] == [0, 10, -1, -1, -1, -1]


def test_no_feature_has_a_control_character_in_its_name():
    """Whatever the pattern: in a header such a name is no declared column."""
    metadata = metadata_of({"match": "*"})
    assert [metadata.column(name) is None for name in ["g", "g\x00", "g\nh", "\x9f"]] == [False, True, True, True]


def test_metadata_survives_yaml(tmp_path):
    """What is written is read, digest included; without features nothing of them is written."""
    for metadata in (
        metadata_of({"match": "g[!a-z]*"}),
        metadata_of({"names": ["a: b", '"']}),
        metadata_of({"count": 5, "missing": 0.5, "out_of_bounds": "missing"}, layout=LAYOUT),
    ):
        found = Metadata.read(metadata.save(tmp_path / "m.yaml"))
        assert found == metadata
        assert found.sha256 == metadata.sha256
    assert not {"features", "layout"} & Metadata.from_value(BASE).to_dict().keys()


def test_names_are_read_from_a_file_beside_the_metadata(tmp_path):
    """One a line; the digest is one of the names, and another format's reader finds them, too."""
    (tmp_path / "names.txt").write_text("first\nsecond one\n\u00fc", encoding="utf-8")
    text = metadata_of({}).to_yaml().replace("match: '*'", "names: names.txt")
    assert "names.txt" in text
    (tmp_path / "m.yaml").write_text(text)
    metadata = Metadata.read(tmp_path / "m.yaml")
    assert metadata.features is not None
    assert metadata.features.names == ("first", "second one", "\u00fc")
    assert read_any(tmp_path / "m.yaml").metadata == metadata
    (tmp_path / "names.txt").write_text("first\nsecond\n")
    assert Metadata.read(tmp_path / "m.yaml").sha256 != metadata.sha256
    (tmp_path / "names.txt").unlink()
    with pytest.raises(InvalidParameterError, match=r"features\.names file .* cannot be read"):
        Metadata.read(tmp_path / "m.yaml")
    with pytest.raises(MetadataError, match=r"use Metadata\.read"):
        Metadata.from_text(text)


@pytest.mark.parametrize(
    ("features", "changes", "message"),
    [
        ({"bounds": "private"}, {}, "features: bounds of features cannot be private"),
        ({"match": ""}, {}, "it is empty"),
        ({"match": "gene[1-9"}, {}, "not closed"),
        ({"match": "gene[]"}, {}, "not closed"),
        ({"match": "gene[9-1]"}, {}, "backwards"),
        ({"match": "g*", "names": ["g1"]}, {}, "match and names"),
        ({"names": ["a", "a"]}, {}, "must not repeat"),
        ({"names": []}, {}, "at least 1"),
        ({"names": ["a", ""]}, {}, "at least 1 character"),
        ({"names": ["a"], "count": 2}, {}, "count must be the number of names, 1, but count=2"),
        ({"count": 0}, {}, "at least 1, but it is 0"),
        ({"count": 2**31}, {}, "at most 2147483647"),
        ({"names": ["y"]}, {}, "must not be columns or unit_id, but 'y' is both"),
        ({"lower": 1, "upper": 1}, {}, "lower must be less than upper"),
        ({"type": "category"}, {}, "must be integer or real"),
        ({}, {"layout": LAYOUT}, "layout needs features, with their count or their names"),
        ({"count": 3, "match": "g*"}, {"layout": LAYOUT}, "match is for tables of a column a feature"),
        ({"count": 3}, {"layout": LAYOUT, "unit_id": "who"}, "unit_id must be absent with layout"),
        ({"count": 3}, {"layout": {**LAYOUT, "row": "y"}}, "row must not be one of the columns"),
        ({"count": 3}, {"layout": {**LAYOUT, "value": "who"}}, "must be three columns"),
        ({"count": 3}, {"layout": {"row": "who"}}, "must be given"),
        ({"count": 3}, {"layout": LAYOUT, "columns": {"2": BASE["columns"]["y"]}}, "must not be named as features"),
    ],
)
def test_bad_features_are_refused(features, changes, message):
    """With the place and what must hold."""
    with pytest.raises(MetadataError, match=message):
        metadata_of(features, **changes)
    with pytest.raises(MetadataError, match="layout needs features"):
        Metadata.from_value({**BASE, "layout": LAYOUT})


def test_features_without_bounds_are_found_by_the_lint_and_cannot_be_used():
    """But by median splits, of which the lint warns; and it looks at names that are listed."""
    metadata = metadata_of({"lower": None, "source": None})
    assert ("warning", "features") in [(finding.severity, finding.place) for finding in lint(metadata)]
    with pytest.raises(MetadataError, match="must have public bounds"):
        ScoreDesign.plan(metadata, "y", ["g1"])
    clean = {"source": "code book"}
    columns = {name: {**column, **clean} for name, column in BASE["columns"].items()}
    assert not lint(metadata_of(clean, columns=columns))
    found = lint(metadata_of({"source": "max of the data", "names": ["=1", "ok", "b\u200b"]}, columns=columns))
    assert [finding.place for finding in found] == ["features", "features.=1", "features.b\\u200b"]


def test_a_dummy_has_the_features_by_name_or_by_number():
    """And says what is missing where they cannot be made."""
    words = Source.seeded(1).words
    numbered = dummy_table(metadata_of({"match": "gene_*", "count": 3}), 4, words)
    assert numbered.column_names == ["y", "site", "gene_age", "gene_0", "gene_1", "gene_2"]
    assert dummy_table(metadata_of({"names": ["a", "b"]}), 4, words).column_names[3:] == ["a", "b"]
    table = open_table(numbered, metadata_of({"match": "gene_*", "count": 3}))
    table.check(("y", *table.feature_names("y")))
    for features, changes, message in (
        ({}, {}, "number of features"),
        ({"count": 3, "match": "g?"}, {}, r"features\.match='g\?' is no text"),
        ({"count": 3}, {"layout": LAYOUT}, "with `layout` there are two"),
    ):
        with pytest.raises(MetadataError, match=message):
            dummy_table(metadata_of(features, **changes), 4, words)


@pytest.mark.parametrize("convert", [to_csvw, to_smartnoise])
def test_formats_that_list_every_column_refuse_features(convert):
    """Nothing is left out in silence."""
    with pytest.raises(MetadataError, match="list every column"):
        convert(metadata_of({}))


def test_feature_names_follow_the_header():
    """Listed columns and those that match, the target and the unit's column left out."""
    frame = pa.table({name: [1.0] for name in ["gene_9", "y", "id", "gene_age", "x", "gene_1", "site"]})
    table = open_table(frame, metadata_of({"match": "gene_*"}, unit_id="id"))
    assert list(table.feature_names("y")) == ["gene_9", "gene_age", "gene_1", "site"]


def test_a_model_needs_its_candidates_named_where_there_are_features():
    """All of them would be too many; the features do not stay out in silence."""
    with pytest.raises(InvalidParameterError, match="Candidates must be named"):
        Design.plan(metadata_of({}), "y")
    assert Design.plan(metadata_of({}), "y", ["g1", "site"]).widths == (1, 3)


# ---- the plan of scores

METADATA = metadata_of({"match": "g*"})


@pytest.mark.parametrize(
    ("target", "features", "how", "message"),
    [
        ("none", ["g1"], {}, "'none' is not"),
        ("y", [], {}, "At least one feature"),
        ("y", ["g1", "g1"], {}, "must not repeat"),
        ("y", ["g1", "y"], {}, "'y' is both"),
        ("y", ["g1", "site"], {}, "'site' is a category"),
        ("y", ["g1", "h1"], {}, "'h1' is not"),
        ("y", ["g1"], {"level": "1"}, "'y' is numeric"),
        ("y", ["g1"], {"codes": {"1": 1}}, "'y' is numeric"),
        ("y", ["g1"], {"center": 11}, "y_center=11"),
        ("y", ["g1"], {"center": float("nan")}, "y_center=nan"),
        ("y", ["g1"], {"bound": 0}, "y_bound=0"),
        ("y", ["g1"], {"bound": 11}, "range 10"),
        ("site", ["g1"], {}, "has neither. Its levels are: 'north', 'south', 'sea'"),
        ("site", ["g1"], {"level": "north", "codes": {}}, "has both"),
        ("site", ["g1"], {"level": "east"}, "level='east'"),
        ("site", ["g1"], {"level": "north", "center": 1.5}, r"bounds -1 \.\. 1"),
        ("site", ["g1"], {"codes": {"north": 1}}, "each level of 'site' one number"),
        ("site", ["g1"], {"codes": dict.fromkeys(["north", "south", "sea"], 1)}, "not all the same"),
        ("site", ["g1"], {"codes": {"north": 1, "south": 2, "sea": float("nan")}}, "must be numbers"),
    ],
)
def test_plans_that_do_not_fit_are_refused(target, features, how, message):
    """From public facts alone."""
    with pytest.raises((InvalidParameterError, MetadataError), match=message):
        ScoreDesign.plan(METADATA, target, features, **how)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"level": "north"}, [1, -1, -1, -1, -1]),
        ({"level": "north", "center": -0.5}, [1, -1 / 3, -1 / 3, -1 / 3, -1 / 3]),
        ({"level": "north", "center": -0.5, "bound": 1}, [1, -0.5, -0.5, -0.5, -0.5]),
        ({"codes": {"north": 0, "south": 2, "sea": 4}}, [-1, 0, 1, 0, 0]),
        ({"codes": {"north": 0, "south": 2, "sea": 4}, "center": 0}, [0, 0.5, 1, 0, 0]),
    ],
)
def test_a_category_is_coded_by_a_level_or_by_numbers(how, expected):
    """A row of no level is one of the others, or the center; the furthest code is 1 away."""
    design = ScoreDesign.plan(METADATA, "site", ["g1"], **how)
    found = design.responses(pa.array(["north", "south", "sea", "Atlantis", None]))
    np.testing.assert_allclose(found / GRID, expected, atol=2e-5)


def test_an_unknown_level_takes_what_is_undeclared():
    """As in a regression."""
    site = {"type": "category", "levels": ["north", "other"], "unknown": "other"}
    metadata = metadata_of({}, columns={"site": site})
    cells = pa.array(["north", "x", None])
    assert ScoreDesign.plan(metadata, "site", ["g"], level="other").responses(cells).tolist() == [-GRID, GRID, GRID]


def test_a_numeric_target_is_coded_as_in_a_regression():
    """The same integers for the same center and bound."""
    cells = pa.array([0.0, 3.0, 10.0, 99.0, None])
    for how in ({}, {"center": 2.0}, {"center": 2.0, "bound": 3.0}):
        batch = pa.record_batch([pa.array([0.0] * 5), cells], names=["g1", "y"])
        expected = Design.plan(METADATA, "y", ["g1"], **how).encode(batch)[:, -1]
        found = ScoreDesign.plan(METADATA, "y", ["g1"], **how)
        assert found.responses(cells).tolist() == expected.tolist()
        assert found.encode(batch)[:, -1].tolist() == expected.tolist()


def test_codes_are_a_sequence():
    """Slices stay lazy, and text that is no such number is not in it."""
    codes = Codes(range(10))
    assert codes[2:5] == Codes(range(2, 5))
    assert hash(codes) == hash(Codes(range(10)))
    assert ("7" in codes, "10" in codes, 7 in codes, "07" in codes) == (True, False, False, False)
    assert codes.index("3") == 3
    assert "range(0, 10)" in repr(codes)
    with pytest.raises(IndexError):
        codes[10]
