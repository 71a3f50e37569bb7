"""The schema takes what is declared whole, refuses the rest in one line, and keeps what it took."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from metadata_strategies import metadatas
from pydantic import ValidationError

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn, half_width
from discreet.data.yaml_text import parse_text
from discreet.errors import InvalidParameterError, MetadataError
from discreet.parameters.ranges import MAX_ROWS

AGE: dict[str, Any] = {"type": "integer", "lower": 0, "upper": 110}
SITE: dict[str, Any] = {"type": "category", "levels": ["dayton", "seattle"]}
STUDY: dict[str, Any] = {
    "schema": "discreet/metadata@1",
    "dataset": "rand-hie",
    "unit": "person",
    "neighboring": "replace_one",
    "n_rows": 100,
    "columns": {"age": AGE, "site": SITE},
}


SEVERAL: dict[str, Any] = {"rows_per_unit": 3, "unit_id": "who"}


def with_age(**changes: Any) -> dict[str, Any]:
    """The study with another age."""
    return STUDY | {"columns": {"age": AGE | changes, "site": SITE}}


def with_site(**changes: Any) -> dict[str, Any]:
    """The study with another site."""
    return STUDY | {"columns": {"age": AGE, "site": SITE | changes}}


def without(*keys: str) -> dict[str, Any]:
    """The study without some of its keys."""
    return {key: value for key, value in STUDY.items() if key not in keys}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no dataset": (without("dataset"), "dataset"),
    "no unit": (without("unit"), "unit"),
    "no relation": (without("neighboring"), "neighboring"),
    "no columns": (without("columns"), "columns"),
    "empty columns": (STUDY | {"columns": {}}, "columns"),
    "unknown key": (STUDY | {"rows": 5}, "rows"),
    "other schema": (STUDY | {"schema": "discreet/metadata@2"}, "schema"),
    "dataset with a slash": (STUDY | {"dataset": "a/b"}, "dataset"),
    "dataset with a newline": (STUDY | {"dataset": "a\n"}, "dataset"),
    "dataset that starts with a dash": (STUDY | {"dataset": "-a"}, "dataset"),
    "dataset too long": (STUDY | {"dataset": "a" * 101}, "dataset"),
    "unit without a name": (STUDY | {"unit": ""}, "unit"),
    "unknown relation": (STUDY | {"neighboring": "swap"}, "neighboring"),
    "replace_one without n_rows": (without("n_rows"), "n_rows must be given under replace_one"),
    "add_or_remove_one with n_rows": (
        STUDY | {"neighboring": "add_or_remove_one"},
        "n_rows must be absent under add_or_remove_one",
    ),
    "n_units beside n_rows": (STUDY | SEVERAL | {"n_units": 9}, "n_units must not stand beside n_rows"),
    "n_units of one row": (without("n_rows") | {"n_units": 9}, "n_units must come with rows_per_unit of more than 1"),
    "add_or_remove_one with n_units": (
        without("n_rows") | SEVERAL | {"neighboring": "add_or_remove_one", "n_units": 9},
        "n_units must be absent under add_or_remove_one",
    ),
    "no units": (without("n_rows") | SEVERAL | {"n_units": 0}, "n_units"),
    "too many units": (without("n_rows") | SEVERAL | {"n_units": MAX_ROWS + 1}, "n_units"),
    "no rows": (STUDY | {"n_rows": 0}, "n_rows"),
    "negative rows": (STUDY | {"n_rows": -1}, "n_rows"),
    "half a row": (STUDY | {"n_rows": 1.5}, "n_rows"),
    "too many rows": (STUDY | {"n_rows": MAX_ROWS + 1}, "n_rows"),
    "no rows per unit": (STUDY | {"rows_per_unit": 0}, "rows_per_unit"),
    "several rows per unit without its column": (STUDY | {"rows_per_unit": 2}, "unit_id is missing"),
    "unit_id that is a column": (STUDY | {"unit_id": "age"}, "unit_id must not be one of the columns"),
    "column without a name": (STUDY | {"columns": {"": AGE}}, "columns"),
    "name that is a number": (STUDY | {"columns": {2020: AGE}}, "columns.2020"),
    "column without a type": (with_age(type=None), "columns.age"),
    "unknown type": (with_age(type="text"), "columns.age"),
    "unknown column key": (with_age(min=0), "columns.age.min"),
    "levels of a number": (with_age(levels=["a", "b"]), "columns.age.levels"),
    "bounds of a category": (with_site(lower=0), "columns.site.lower"),
    "bound that is text": (with_age(lower="low"), "columns.age.lower"),
    "bound that is NaN": (with_age(lower=float("nan")), "columns.age.lower"),
    "bound that is infinite": (with_age(upper=float("inf")), "columns.age.upper"),
    "bound beyond 1e100": (with_age(upper=1.1e100), "columns.age.upper"),
    "equal bounds": (with_age(lower=110), "lower must be less than upper"),
    "bounds the wrong way round": (with_age(lower=111), "lower must be less than upper"),
    "bounds too close": (with_age(lower=1e9, upper=1e9 * (1 + 1e-12)), "further apart"),
    "bounds too close to 0": (with_age(lower=0, upper=1e-103), "further apart"),
    "missing below the bounds": (with_age(missing=-1), "missing must lie within the bounds"),
    "missing above the bounds": (with_age(missing=111), "missing must lie within the bounds"),
    "missing that is NaN": (with_age(missing=float("nan")), "columns.age.missing"),
    "unknown rule for bounds": (with_age(out_of_bounds="drop"), "columns.age.out_of_bounds"),
    "bounds that are not private": (with_age(bounds="observed"), "columns.age.bounds"),
    "source too long": (with_age(source="a" * 1001), "columns.age.source"),
    "one level": (with_site(levels=["a"]), "levels must list at least two values"),
    "no levels in the list": (with_site(levels=[]), "levels must list at least two values"),
    "repeated level": (with_site(levels=["a", "b", "a"]), "levels must not repeat"),
    "level repeated in another type": (with_site(levels=[1, "1"]), "levels must not repeat"),
    "level that is missing": (with_site(levels=["a", None]), "columns.site.levels.1"),
    "level that is a list": (with_site(levels=["a", ["b"]]), "columns.site.levels.1"),
    "too many levels": (with_site(levels=[str(i) for i in range(10_001)]), "columns.site.levels"),
    "unknown that is no level": (with_site(unknown="other"), "unknown must be one of the levels"),
    "NUL in a name": (
        STUDY | {"columns": {"a\x00": {"type": "real"}}},
        "columns.a\\x00.[key]: the name of a column must",
    ),
    "a line break in an id": (STUDY | {"unit_id": "p\nid"}, "unit_id: the name of a column must hold no control"),
    "a tab among features": (
        STUDY | {"features": {"type": "real", "names": ["g", "g\t"]}},
        "features.names.1: the name of a column must hold no control character",
    ),
    "text with half a character": (STUDY | {"unit": "\ud800"}, "unit"),
}


@pytest.mark.parametrize("flaw", REFUSED)
def test_each_flaw_is_refused_in_one_line_that_names_its_place(flaw: str) -> None:
    """A value outside the schema raises one line with the place, and no traceback of the parser beneath."""
    value, words = REFUSED[flaw]
    with pytest.raises(MetadataError) as caught:
        Metadata.from_value(value, "study.yaml")
    message = str(caught.value)
    assert message.startswith("study.yaml: ")
    assert words in message
    assert len(message.splitlines()) == 1
    assert caught.value.__suppress_context__


def test_the_edges_of_the_schema_are_taken() -> None:
    """What stands right beside the refused values is allowed."""
    assert Metadata.from_value(STUDY | {"n_rows": MAX_ROWS}).n_rows == MAX_ROWS
    assert Metadata.from_value(STUDY | {"dataset": "a" * 100}).rows_per_unit == 1
    assert Metadata.from_value(STUDY | {"rows_per_unit": 3, "unit_id": "pid"}).unit_id == "pid"
    assert Metadata.from_value(STUDY | {"unit_id": "pid"}).rows_per_unit == 1
    assert Metadata.from_value(with_age(missing=110)).columns["age"].missing == 110.0
    assert Metadata.from_value(with_age(lower=-1e100, upper=1e100)).columns["age"].lower == -1e100
    assert Metadata.from_value(with_age(lower=0, upper=1e-101)).columns["age"].upper == 1e-101
    assert Metadata.from_value(with_age(lower=None)).columns["age"].is_declared is False
    assert Metadata.from_value(with_site(levels=None)).columns["site"].is_declared is False
    assert Metadata.from_value(with_site(unknown="seattle")).columns["site"].unknown == "seattle"
    relation = Metadata.from_value(without("n_rows") | {"neighboring": "add_or_remove_one"}).neighboring
    assert relation is NeighboringRelation.ADD_OR_REMOVE_ONE


@pytest.mark.parametrize("value", [None, [], "text", 3, True])
def test_metadata_must_be_a_mapping(value: Any) -> None:
    """Anything but a mapping is refused, and the message says how to begin."""
    with pytest.raises(MetadataError, match="discreet metadata new"):
        Metadata.from_value(value)


def test_several_problems_are_counted() -> None:
    """The first problem is named and the number of the others told."""
    with pytest.raises(MetadataError, match=r"\(1 more problem\)"):
        Metadata.from_value(STUDY | {"unit": "", "dataset": ""})


def test_a_problem_in_odd_names_is_printed_on_one_line() -> None:
    """Control characters of a name are escaped in the message about it."""
    with pytest.raises(MetadataError, match=r"columns\.a\\nb\\x1b\[31m") as caught:
        Metadata.from_value(STUDY | {"columns": {"a\nb\x1b[31m": {"type": "real", "min": 0}}})
    assert "\n" not in str(caught.value)


def test_levels_are_text_however_they_are_written() -> None:
    """Numbers and booleans of YAML become the text that a cell of the table has."""
    metadata = Metadata.from_value(with_site(levels=[1, 2.0, True, 2.5, "x"], unknown=1))
    assert metadata.columns["site"] == CategoryColumn(
        type="category", levels=("1", "2", "true", "2.5", "x"), unknown="1"
    )


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        *[(word, word) for word in ("yes", "no", "on", "off", "Y", "010", "0x10", "12:30", "1_000", "2020-01-31")],
        *[("true", True), ("False", False), ("10", 10), ("-1.5", -1.5), ("1e3", "1e3"), (".inf", float("inf"))],
        *[("~", None), ("null", None), ("", None)],
    ],
)
def test_words_mean_what_they_say(word: str, meaning: Any) -> None:
    """YAML's guesses at booleans, octals, times and dates are text; sure numbers and booleans stay."""
    found = parse_text(f"key: {word}")["key"]
    assert (found, type(found)) == (meaning, type(meaning))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2", "the key 'a' repeats"),
        ('{"a": 1, "a": 2}', "the key 'a' repeats"),
        ('{"b": {"a": 1, "a": 2}}', "the key 'a' repeats"),
        ("a: {b: 1, b: 2}", "the key 'b' repeats"),
        ("a: &x [1]\nb: *x", "aliases are not allowed"),
        ("a: [1, 2", "near line"),
        ("a: !!python/object/apply:os.system [true]", "could not determine a constructor"),
        ("a: 1\n---\nb: 2", "YAML or JSON"),
        ("[" * 5000, "YAML or JSON"),
        ("? [a]\n: 1", "YAML or JSON"),
        ("a: \x00", "YAML or JSON"),
    ],
)
def test_texts_that_mislead_are_refused(text: str, words: str) -> None:
    """Repeated keys, aliases, tags, several documents and broken text raise one line."""
    with pytest.raises(MetadataError) as caught:
        parse_text(text, "study.yaml")
    assert words in str(caught.value)
    assert "study.yaml" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.slow
@given(metadatas())
def test_yaml_and_json_read_back_the_same(metadata: Metadata) -> None:
    """Whatever the names, levels and numbers, both formats give the same metadata back."""
    assert Metadata.from_text(metadata.to_yaml()) == metadata
    assert Metadata.from_text(json.dumps(metadata.to_dict())) == metadata
    assert Metadata.from_value(metadata.to_dict()) == metadata


@given(metadata=metadatas())
@settings(max_examples=20)
def test_files_read_back_the_same(metadata: Metadata, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A file of either ending gives the same metadata and the same digest back."""
    folder = tmp_path_factory.mktemp("metadata")
    for name in ("study.yaml", "study.json"):
        path = metadata.save(folder / name)
        assert Metadata.read(path) == metadata
        assert Metadata.read(str(path)).sha256 == metadata.sha256
    assert json.loads((folder / "study.json").read_text()) == metadata.to_dict()
    assert yaml.safe_load((folder / "study.yaml").read_text())["schema"] == "discreet/metadata@1"


def reordered(value: Any) -> Any:
    """The same value with every key's place turned round."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return value


@pytest.mark.slow
@given(metadatas())
def test_the_digest_does_not_depend_on_the_order_of_keys(metadata: Metadata) -> None:
    """Keys in another order, and empty fields, make no other digest."""
    turned = Metadata.from_value(reordered(metadata.to_dict()))
    assert turned.sha256 == metadata.sha256
    assert Metadata.from_value({"description": None} | metadata.to_dict()).sha256 == metadata.sha256
    assert len(metadata.sha256) == 64


@pytest.mark.parametrize(
    "value",
    [
        STUDY | {"n_rows": 101},
        STUDY | {"unit_id": "pid"},
        STUDY | {"description": "x"},
        with_age(upper=111),
        with_age(missing=55),
        with_age(out_of_bounds="missing"),
        with_age(source="code book"),
        with_site(levels=["seattle", "dayton"]),
        with_site(unknown="dayton"),
    ],
)
def test_the_digest_changes_with_the_content(value: dict[str, Any]) -> None:
    """Any other bound, level, order of levels, source or count is another digest."""
    assert Metadata.from_value(value).sha256 != Metadata.from_value(STUDY).sha256


def test_the_digest_is_that_of_the_first_release() -> None:
    """The digest that stands in releases and ledgers does not change between versions."""
    assert Metadata.from_value(STUDY).sha256 == "0a335c278ec479d50e65d4e50c55da9468285d0f49b893a1bcb13e1b361846ad"


def test_metadata_are_frozen() -> None:
    """Nothing can be changed after validation."""
    metadata = Metadata.from_value(STUDY)
    with pytest.raises(ValidationError):
        metadata.n_rows = 5
    with pytest.raises(ValidationError):
        metadata.columns["age"].upper = 5.0


def test_a_column_is_given_only_when_it_can_be_used() -> None:
    """A declared column is returned; an undeclared or incomplete one is refused with what to write."""
    columns = {"age": AGE, "site": SITE, "pay": {"type": "real", "lower": 0}, "job": {"type": "category"}}
    metadata = Metadata.from_value(STUDY | {"columns": columns})
    assert metadata.declared("age") == NumericColumn(**AGE)
    assert [metadata.is_number(name) for name in ("age", "pay", "site", "none")] == [True, True, False, False]
    for name, words in (("pay", "lower: 0, upper: 30"), ("job", "levels: "), ("none", "columns: age, site, pay")):
        with pytest.raises(MetadataError, match=words) as caught:
            metadata.declared(name)
        assert repr(name) in str(caught.value)


@given(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100))
def test_half_widths_are_positive_and_finite(first: float, second: float) -> None:
    """Any bounds that the schema takes have a center between them and a positive, finite half width."""
    lower, upper = sorted((first, second))
    try:
        column = NumericColumn(type="real", lower=lower, upper=upper)
    except ValidationError:
        return
    center, half = half_width(column)
    assert lower <= center <= upper
    assert 0 < half < float("inf")
    assert center + half == pytest.approx(upper, abs=1e-15 * max(abs(lower), abs(upper)))


def test_half_width_needs_bounds() -> None:
    """A column without bounds has no half width, and the message says what to declare."""
    with pytest.raises(MetadataError, match="lower: 0, upper: 30"):
        half_width(NumericColumn(type="real", lower=0.0))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that are no text raise one line with the path."""
    bytes_ = tmp_path / "bytes.yaml"
    bytes_.write_bytes(b"\xff\xfe")
    for path in (tmp_path / "none.yaml", tmp_path, bytes_):
        with pytest.raises(InvalidParameterError) as caught:
            Metadata.read(path)
        assert str(path) in str(caught.value)
