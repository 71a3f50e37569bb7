"""A file whose first line is no header: what `metadata new` says, from that line alone."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest


@pytest.mark.parametrize(
    ("first", "warned"),
    [("41,2.5,north", True), ("age, -3e2 ,site", True), ("age,income_2020,site", False), ("age,nan,site", False)],
)
def test_a_row_where_names_should_stand_is_warned_about(place, first, warned):
    """The warning depends on the first line alone, comes with the skeleton, and repeats no cell."""
    for name, rest in (("some.csv", "41,2.5,north\n"), ("none.csv", "")):
        Path(name).write_text(f"{first}\n{rest}")
        done = place.run("metadata", "new", name)
        assert done.code == 0
        assert ("The first line of a CSV file must name its columns" in done.err) == warned
        assert not re.search("41|2.5|north|3e2", done.err)


def test_a_row_with_a_cell_twice_is_refused_with_its_likely_cause(place):
    """Names that repeat are refused; that they may be no names is said as well."""
    Path("some.csv").write_text("0,1,0,0.5\n1,1,0,0.25\n")
    line = place.run("metadata", "new", "some.csv").refused(3)
    assert "must not repeat" in line
    assert "The first line of a CSV file must name its columns" in line


def test_columns_of_another_format_may_be_called_by_numbers(place):
    """Their names are no line of the file."""
    pyarrow.parquet.write_table(pa.table({"0": [1.5], "1": [2.5]}), "numbered.parquet")
    assert place.run("metadata", "new", "numbered.parquet").err == ""
