"""A file whose first line is no header: `metadata new` takes no line of values for names unasked, and shows none."""

import io
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet.data import header
from discreet.errors import DataMismatchError
from discreet.workflow import new_metadata

ROWS = [
    "41,2.5,north",
    "north,-3e2 ,south",
    "north,site,2020-03-01",
    "north,site,1.3.2020 12:00",
    "Smith,,north",
    "north,Smith,north",
    "Smith,smith@example.org,north",
    "Smith,TRUE,north",
    "Smith,N/A,north",
    'Smith,north,"1.234,50"',
    *(
        f"Smith,{cell},north"
        for cell in ("AHV756.1234.5678.97", "120/80", "12 Main St", "Jan 5 1980", "F32.1", "1200 EUR")
    ),
    *(f"Smith,{cell},north" for cell in ("12kg", "38 EUR", "<5", "2020Q1", "½")),
    f"Smith,{'She came in with a cough. ' * 9},north",
]
NAMES = ["age,income_2020,site", "patient,1007_s_at,rs12345", "x,y,no.", "Alter,Größe (cm),BMI %", "Datum,PLZ,e-mail"]


@pytest.mark.parametrize("line", ROWS)
def test_a_row_is_not_taken_for_names(place, line):
    """Whatever follows it: refused by one line that shows no cell, and nothing is written."""
    for name, rest in (("some.csv", "41,2.5,north\n"), ("none.csv", "")):
        Path(name).write_text(f"{line}\n{rest}")
        for out in ((), ("--out", "new.yaml")):
            refusal = place.run("metadata", "new", name, *out).refused(5)
            assert "The first line of a CSV file must name its columns" in refusal
            assert not re.search("41|2.5|Smith|north|2020|cough|3e2", refusal)
    assert not Path("new.yaml").exists()
    with pytest.raises(DataMismatchError, match="must name its columns"):
        new_metadata("some.csv")


@pytest.mark.parametrize("line", NAMES)
def test_names_are_taken_unasked(place, line):
    """The skeleton comes without a word."""
    Path("some.csv").write_text(f"{line}\n41,2.5,north\n")
    done = place.run("metadata", "new", "some.csv")
    assert (done.code, done.err) == (0, "")


def test_names_that_look_like_values_are_taken_when_somebody_says_so(place, monkeypatch):
    """By an option, or on a terminal by an answer; any other answer stops, and nothing is written."""
    Path("years.csv").write_text("region,2019,2020\nnorth,41,2.5\n")
    assert "2019" in place.run("metadata", "new", "years.csv", "--header").out
    monkeypatch.setattr("discreet.cli.metadata.interactive", lambda: True)
    for answer, code in (("y", 0), ("n", 130), ("", 130)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{answer}\n"))
        done = place.run("metadata", "new", "years.csv", "--out", f"{code}.yaml")
        assert done.code == code
        assert "must name its columns" in done.err
        assert "2019" not in done.err
    assert Path("0.yaml").exists()
    assert not Path("130.yaml").exists()


def test_once_the_first_person_was_published(place, monkeypatch):
    """Control: without the check the skeleton holds the first row."""
    Path("some.csv").write_text("41,2.5,north\n42,3.5,south\n")
    assert header.may_be_row(["41", "2.5", "north"])
    monkeypatch.setattr("discreet.workflow.table_shape.may_be_row", lambda _: False)
    assert "north" in place.run("metadata", "new", "some.csv").out


def test_columns_of_another_format_may_be_called_by_numbers(place):
    """Their names are no line of the file."""
    pyarrow.parquet.write_table(pa.table({"0": [1.5], "1": [2.5]}), "numbered.parquet")
    assert place.run("metadata", "new", "numbered.parquet").err == ""


def test_no_long_cell_is_searched(monkeypatch):
    """A number and blanks can be cut in as many ways as the square of their number: one paste could stop a server."""
    searched = list[int]()
    match = re.fullmatch

    def fullmatch(pattern, text):
        searched.append(len(text))
        return match(pattern, text[:1000])

    monkeypatch.setattr(header.re, "fullmatch", fullmatch)
    assert header.may_be_row(["age", f"1{' ' * 10**6}x"])
    assert header.may_be_row(["age", "n" * 201])
    assert not header.may_be_row(["age", "n" * 200])
    assert max(searched) == 200
