"""What people write at first in Python, and what they are then told to write."""

import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InvalidParameterError

METADATA = dc.Metadata.from_value(
    {
        "dataset": "toy",
        "unit": "person",
        "neighboring": "replace_one",
        "n_rows": 10,
        "columns": {name: {"type": "integer", "lower": 0, "upper": 20, "source": "form"} for name in ("visits", "age")},
    }
)
FRAME = pd.DataFrame({"visits": range(10), "age": range(10)})


def test_a_frame_with_a_target_is_to_be_opened():
    """Its metadata would not apply otherwise."""
    with pytest.raises(InvalidParameterError, match=r"table = dc\.open_table\(frame, metadata\)"):
        dc.PCLS(epsilon=1.0).fit(FRAME, target="visits")


def test_one_name_is_no_list_of_its_letters():
    """The message says how a list of one is written."""
    with pytest.raises(InvalidParameterError, match=r"Write candidates=\['age'\]"):
        dc.LinearRegression(epsilon=1.0).fit(dc.open_table(FRAME, METADATA), target="visits", candidates="age")
