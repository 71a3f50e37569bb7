"""A skeleton parses as it stands, holds every name exactly, and tells nothing but the header."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.data.metadata_strategies import names as any_name

from discreet.data.lint import lint
from discreet.data.metadata import Metadata
from discreet.data.skeleton import skeleton
from discreet.errors import InvalidParameterError, MetadataError

HOSTILE = [
    'say "hi"',
    "a: b",
    "# no comment",
    "- item",
    "{a: b}",
    "[1, 2]",
    "*alias",
    "&anchor",
    "!!python/object:os.system",
    "? key",
    "yes",
    "NO",
    "null",
    "~",
    "1",
    "1.5",
    "12:30",
    "2020-01-31",
    "<<",
    "=cmd|' /C calc'!A0",
    "Robert'); DROP TABLE students;--",
    "back\\slash",
    " lead and trail ",
    "\u202eturned",
    "\u2028",
    "\ufeff",
    "naïve 名前 😀",
    "x" * 1000,
]


def test_hostile_names_come_back_exactly() -> None:
    """Quotes, YAML and SQL in names change nothing but their own key."""
    text = skeleton([(name, "BIGINT") for name in HOSTILE], dataset="toy")
    assert list(Metadata.from_text(text).columns) == HOSTILE


@pytest.mark.parametrize("name", ["two\nlines", "tab\there", "\x00", "\x85", "age\x00", "\x01" * 1000])
def test_names_with_control_characters_are_left_out(name: str) -> None:
    """They stand in a comment, escaped, with what to do; alone they make no table."""
    text = skeleton([(name, "BIGINT"), ("age", "BIGINT")], dataset="toy")
    assert list(Metadata.from_text(text).columns) == ["age"]
    assert "stored as BIGINT; a name must hold no control character, rename it" in text
    assert text.isascii()
    assert all(line.isprintable() for line in text.split("\n"))
    with pytest.raises(MetadataError, match="has none"):
        skeleton([(name, "BIGINT")], dataset="toy")


@given(st.lists(any_name, min_size=1, max_size=5, unique=True))
def test_any_names_come_back_exactly(names: list[str]) -> None:
    """Any text without control characters can be a column's name."""
    text = skeleton([(name, "VARCHAR") for name in names], dataset="toy")
    assert list(Metadata.from_text(text).columns) == names


@given(st.text(min_size=1, max_size=50), st.text(max_size=50))
def test_what_is_left_out_cannot_leave_its_comment(name: str, storage: str) -> None:
    """A hostile name or type of an unsupported column stays inside a comment."""
    metadata = Metadata.from_text(skeleton([("age", "INT"), (name + "!", f"STRUCT({storage})")], dataset="toy"))
    assert list(metadata.columns) == ["age"]


def test_types_follow_storage_alone() -> None:
    """Each storage type that DuckDB prints has one type, or is left out."""
    numbers = "a BIGINT, b UTINYINT, c HUGEINT, d DOUBLE, e FLOAT, f DECIMAL(10,2), g DECIMAL(5,0)"
    others = "h VARCHAR, i BOOLEAN, j DATE, k INTEGER[], l STRUCT(a INT), m BLOB, n TIMESTAMPTZ"
    more = "o MAP(INT, INT), p UUID, q INT[3], r JSON"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t ({numbers}, {others}, {more})")
        header = [(name, storage) for name, storage, *_ in connection.execute("DESCRIBE t").fetchall()]
    text = skeleton(header, dataset="toy")
    columns = Metadata.from_text(text).columns
    assert "".join(column.type[0] for column in columns.values()) == "iiirrricc"
    assert all(f"#  {name}  stored as " in text for name in "jklmnopqr")


def test_lint_lists_what_is_to_fill_in() -> None:
    """Everything blank is an error of the lint, and once filled in there is none."""
    text = skeleton([("age", "BIGINT"), ("site", "VARCHAR"), ("smoker", "BOOLEAN")], dataset="toy")
    assert [finding.place for finding in lint(Metadata.from_text(text))] == ["columns.age", "columns.site"]
    filled = text.replace('lower: , upper: , source: ""', "lower: 0, upper: 110, source: by definition")
    filled = filled.replace('levels: , source: ""', "levels: [yes, no], source: study design")
    metadata = Metadata.from_text(filled)
    assert lint(metadata) == []
    assert metadata.columns["site"].levels == ("yes", "no")  # type: ignore[union-attr]


def test_labels_of_an_enum_are_not_copied() -> None:
    """Labels of an ENUM may have been made from the rows, so they never leave the header."""
    text = skeleton([("name", "ENUM('alice', 'bob')"), ("tag", "STRUCT(carol INTEGER)")], dataset="toy")
    assert not any(label in text for label in ("alice", "bob", "carol"))
    assert "labels may come from the rows" in text


def test_the_number_of_rows_is_private_unless_said() -> None:
    """The relation is add_or_remove_one; replace_one needs the number of rows."""
    header = [("age", "INT")]
    assert Metadata.from_text(skeleton(header, dataset="toy")).neighboring == "add_or_remove_one"
    public = Metadata.from_text(skeleton(header, dataset="toy", neighboring="replace_one", n_rows=9))
    assert public.n_rows == 9
    with pytest.raises(MetadataError, match="n_rows must be given"):
        skeleton(header, dataset="toy", neighboring="replace_one")
    with pytest.raises(MetadataError, match="n_rows must be absent"):
        skeleton(header, dataset="toy", n_rows=9)
    with pytest.raises(InvalidParameterError, match="replace_one or add_or_remove_one"):
        skeleton(header, dataset="toy", neighboring="other")


@pytest.mark.parametrize("unit", ["household", 'a "b": c\nd', "yes"])
def test_the_unit_comes_back_exactly(unit: str) -> None:
    """Whoever is protected stands as given."""
    assert Metadata.from_text(skeleton([("age", "INT")], dataset="toy", unit=unit)).unit == unit


def test_headers_that_cannot_be_used_are_refused() -> None:
    """Repeated names, no usable column and a bad dataset name each give one line."""
    with pytest.raises(MetadataError, match=r"must not repeat.*'age'"):
        skeleton([("age", "INT"), ("age", "DOUBLE")], dataset="toy")
    with pytest.raises(MetadataError, match="its header has none"):
        skeleton([("born", "DATE"), ("", "INT")], dataset="toy")
    with pytest.raises(MetadataError, match="dataset"):
        skeleton([("age", "INT")], dataset="a b")


def test_lines_are_short_enough_to_read() -> None:
    """No line of the guide or the settings is longer than a page is wide."""
    text = skeleton([("age", "BIGINT"), ("born", "DATE")], dataset="rand-hie")
    assert max(len(line) for line in text.splitlines()) <= 110


def test_many_columns_of_one_kind_are_declared_at_once():
    """Thousands of reals need one entry; what is of another kind keeps its line, and a target alone gets one."""
    probes = [(f'probe "{j}"', "FLOAT") for j in range(1000)]
    text = skeleton([*probes, ("ill", "BOOLEAN"), ("age", "BIGINT")], dataset="toy")
    metadata = Metadata.from_text(text)
    assert list(metadata.columns) == ["ill", "age"]
    assert metadata.features.type == "real"
    assert metadata.features.match == "*"
    assert len(text) < 3000
    assert list(Metadata.from_text(skeleton(probes, dataset="toy")).columns) == ['probe "999"']


def test_a_table_that_can_be_read_is_listed():
    """Two hundred columns of a kind are listed one by one."""
    metadata = Metadata.from_text(skeleton([(f"x{j}", "DOUBLE") for j in range(200)], dataset="toy"))
    assert len(metadata.columns) == 200
    assert metadata.features is None
