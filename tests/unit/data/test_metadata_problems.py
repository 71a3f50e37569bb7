"""What is wrong with metadata is told at once, with lines, in plain words, and with what was probably meant."""

import pytest

from discreet.data.metadata import Metadata
from discreet.data.metadata_problems import InvalidMetadataError
from discreet.workflow import check_metadata

FAULTY = """\
schema: discreet/metadata@1
dataset: survey
unit: person
neigboring: replace_one
n_rows: 2000
columns:
  age: {type: integer, lower: 90, upper: 18, source: "code book"}
  sex: {type: categorical, levels: [f, m], source: "code book"}
  bmi:
    type: real
    lower: 10
    uper: 60
  smoker: {type: integer, lower: 0, upper: one, source: "form"}
  place: {levels: [a, b], source: "form"}
"""


def test_all_problems_are_told_with_their_lines(tmp_path):
    """In the order of the file; a misspelled key is told once, with the one that was meant."""
    file = tmp_path / "survey.yaml"
    file.write_text(FAULTY)
    metadata, findings = check_metadata(file)
    assert metadata is None
    assert [(each.severity, each.line, each.place, each.message) for each in findings] == [
        ("error", 4, "neigboring", "is not a known key. Did you mean neighboring?"),
        ("error", 7, "columns.age", "lower must be less than upper, but lower=90 and upper=18."),
        (
            *("error", 8, "columns.sex.type"),
            "must be integer, real or category, but it is 'categorical'. Did you mean category?",
        ),
        ("error", 12, "columns.bmi.uper", "is not a known key of a column of type real. Did you mean upper?"),
        ("error", 13, "columns.smoker.upper", "must be a number, but it is 'one'."),
        ("error", 14, "columns.place.type", "must be given: integer, real or category."),
    ]


def test_whoever_spends_is_told_the_first_and_where_to_find_the_others():
    """In one line."""
    with pytest.raises(InvalidMetadataError) as raised:
        Metadata.from_text(FAULTY, "survey.yaml")
    assert "(5 more problems). `discreet metadata check survey.yaml` lists all problems." in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("n_rows: 0", "n_rows: must be at least 1, but it is 0"),
        ("columns: {day: {type: date, source: form}}", "Store a date as a number, such as days since a day"),
        (
            "columns: {age: {type: real, lower: 0,5, upper: 3, source: form}}",
            "write a decimal with a point, such as 0.5",
        ),
    ],
)
def test_a_typical_slip_is_told_with_what_to_write(line, message):
    """No rows, a date, a decimal comma."""
    with pytest.raises(InvalidMetadataError, match=message):
        Metadata.from_text(f"dataset: toy\nunit: person\nneighboring: replace_one\n{line}\n", "survey.yaml")


@pytest.mark.parametrize("key", ["colunms", "bounds\n", "<b>", "x" * 200])
def test_unknown_keys_stay_on_one_line(key):
    """Whatever they are."""
    value = {"dataset": "toy", "unit": "person", "neighboring": "add_or_remove_one", "columns": {}, key: 1}
    with pytest.raises(InvalidMetadataError) as raised:
        Metadata.from_value(value)
    assert str(raised.value).isprintable()


def test_findings_of_valid_metadata_have_lines_too(tmp_path):
    """A warning names the line of the column it is about."""
    file = tmp_path / "survey.yaml"
    file.write_text(
        "schema: discreet/metadata@1\ndataset: clinic\nunit: person\nneighboring: add_or_remove_one\ncolumns:\n"
        "  age: {type: integer, lower: 0, upper: 110, source: by definition}\n"
        "  income: {type: real, lower: 0, upper: 100, source: ''}\n"
    )
    metadata, findings = check_metadata(file)
    assert metadata is not None
    assert [(each.severity, each.place, each.line) for each in findings] == [("warning", "columns.income", 7)]
