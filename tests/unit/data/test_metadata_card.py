"""Metadata and tables in a Python session: public facts alone, and every text escaped."""

import pyarrow as pa
import pytest

from discreet.data.metadata import Metadata
from discreet.data.sources import open_table

SECRET = 7731


def declared(**columns):
    """Metadata of two columns and those given."""
    own = {
        "age": {"type": "integer", "lower": 0, "upper": 110, "source": "by definition", "description": "in years"},
        "site": {"type": "category", "levels": [f"s{i}" for i in range(12)], "source": "the register"},
    }
    return Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "add_or_remove_one", "columns": own | columns}
    )


def test_a_card_shows_what_is_declared():
    """Bounds, levels, descriptions and sources; of many levels the first."""
    card = declared()._repr_html_()
    for text in ("in years", "0 to 110", "by definition", "s7 and 4 more", "add_or_remove_one", "private"):
        assert text in card
    assert repr(declared()) == str(declared()) == "<Metadata toy: 2 columns, private number of rows, unit person>"


def test_what_is_blank_has_no_column():
    """A card of columns without a description does not leave room for one."""
    card = declared(age={"type": "integer", "lower": 0, "upper": 110, "source": "x"})._repr_html_()
    assert "what it is" not in card
    assert "source" in card


@pytest.mark.parametrize("name", ["<b>x</b>", 'a" onclick="f()', "a&b"])
def test_names_stay_text(name):
    """Whatever a column is called."""
    card = declared(**{name: {"type": "real", "lower": 0, "upper": 1, "source": "x"}})._repr_html_()
    assert name not in card


def test_a_table_shows_no_row():
    """Neither its line nor its card holds a cell; both are the same whatever the rows are."""
    shown = [
        (repr(table), table._repr_html_())
        for cell in (SECRET, 1)
        for table in [open_table(pa.table({"age": [cell], "site": ["s1"]}), declared())]
    ]
    assert shown[0] == shown[1]
    assert str(SECRET) not in "".join(shown[0])
