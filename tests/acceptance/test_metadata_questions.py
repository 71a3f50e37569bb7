"""Metadata by questions on a terminal, and the schema by which editors check them."""

import json
from pathlib import Path

import pytest

from discreet.cli import metadata as command
from discreet.cli import metadata_questions
from discreet.data.metadata import Metadata


@pytest.fixture
def talk(place, monkeypatch):
    """Run `metadata new` as on a terminal, with these answers; return the metadata and what was asked."""

    def talked(*lines):
        monkeypatch.setattr(command, "interactive", lambda: True)
        typed = iter([f"{line}\n" for line in lines])
        monkeypatch.setattr("sys.stdin.readline", lambda: next(typed, ""), raising=False)
        Path("new.yaml").unlink(missing_ok=True)
        done = place.run("metadata", "new", place.data, "--dataset", "clinic", "--out", "new.yaml")
        assert done.code == 0, done
        return Metadata.read("new.yaml"), done.err

    return talked


def test_answers_make_metadata_that_are_ready(talk, place):
    """Each answer stands where it belongs, and nothing is left to fill in."""
    columns = ["", "0 110", "by law", "r", "0..100", "form 3", "", "north, south", "design", "", "0 to 20", "form 3"]
    metadata, _ = talk("patient", "", "240", *columns)
    assert (metadata.unit, metadata.n_rows, metadata.neighboring) == ("patient", 240, "replace_one")
    age, income, site = (metadata.columns[name] for name in ("age", "income", "site"))
    assert (age.type, age.lower, age.upper, age.source) == ("integer", 0, 110, "by law")
    assert (income.type, income.upper) == ("real", 100)
    assert site.levels == ("north", "south")
    assert "0 warnings" in place.run("metadata", "check", "new.yaml").out


def test_an_early_end_leaves_blanks(talk):
    """Whoever stops has what was answered; the rest is as without questions."""
    metadata, asked = talk("", "", "", "", "0 110")
    assert metadata.columns["age"].upper is None
    assert metadata.columns["site"].levels is None
    assert "never from the rows" in asked


def test_an_answer_that_cannot_be_is_asked_again(talk):
    """Bounds the wrong way round, a single level, a number in words."""
    columns = ["", "110 0", "0 110", "", "l", "", "north", "north,south", "", "", "", ""]
    metadata, asked = talk("", "many", "1", "", *columns)
    assert "income" not in metadata.columns
    assert metadata.columns["age"].upper == 110
    for words in ("A whole number is needed", "the lesser first", "at least two values"):
        assert words in asked


def test_a_source_is_proposed_again_and_a_wrong_letter_is_explained(talk):
    """Enter repeats the source of the column before; what is no letter of a type is asked again."""
    columns = ["0 110", "", "0 110", "code book", "", "0 100", "", "", "north, south", "", "", "0 20", "form 3"]
    metadata, asked = talk("patient", "", "240", *columns)
    assert [column.source for column in metadata.columns.values()] == ["code book"] * 3 + ["form 3"]
    assert "Type i, r, c or l." in asked


@pytest.mark.parametrize(
    ("name", "kind", "letter"),
    [
        ("age", "category", "r"),
        ("weight_kg", "category", "r"),
        ("age_group", "category", "c"),
        ("passage", "category", "c"),
        ("age", "integer", "i"),
        ("patient_id", "integer", "l"),
    ],
)
def test_a_name_proposes_a_type(name, kind, letter):
    """A CSV file has no types; a storage type comes before a name, but for codes and identifiers."""
    assert metadata_questions._proposal(name, kind)[0] == letter


def test_several_rows_need_whose_they_are(talk):
    """Without a column that tells, the row is what is protected, and the metadata say so."""
    assert talk("person", "5", "none of them", "")[0].unit == "row"
    metadata = talk("person", "5", "age", "")[0]
    assert (metadata.unit, metadata.unit_id, metadata.rows_per_unit) == ("person", "age", 5)
    assert "age" not in metadata.columns


def test_the_schema_knows_what_the_metadata_know(place):
    """Every key of the file, the keys that must be given, and which number belongs to which relation."""
    schema = json.loads(place.run("metadata", "schema").out)
    keys = {field.alias or name for name, field in Metadata.model_fields.items()}
    assert schema["properties"].keys() == keys
    assert {"dataset", "unit", "neighboring", "columns"} == set(schema["required"])
    assert schema["additionalProperties"] is False
    (relation,) = schema["allOf"]
    assert relation["if"]["properties"]["neighboring"]["const"] == "replace_one"
    assert [part["required"] for part in relation["then"]["anyOf"]] == [["n_rows"], ["n_units"]]
