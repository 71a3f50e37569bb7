"""What the sums of noisy moments keep when private estimates change their design."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.data.metadata import Metadata
from discreet.methods.moments.noisy_sums import KEPT
from discreet.methods.registry import method_of

COLUMNS = {name: {"type": "real", "lower": -1, "upper": 1} for name in ("x0", "x1", "y")}
COLUMNS["site"] = {"type": "category", "levels": ["a", "b", "c"]}
FACTS = {"dataset": "d", "unit": "person", "neighboring": "replace_one", "n_rows": 100, "columns": COLUMNS}
WIDER = {**FACTS, "columns": {**COLUMNS, "x0": {"type": "real", "lower": -3, "upper": 9}}}


@pytest.mark.parametrize(
    ("changed", "keeps"),
    [
        ({"center": 0.5}, True),
        ({"bound": 0.5}, True),
        ({"candidates": ("x0", "x1")}, False),
        ({"unit_bound": None, "row_norm": None}, False),
        ({"metadata": Metadata.from_value(WIDER)}, False),
    ],
)
def test_sums_keep_what_private_estimates_leave_as_it_is(changed, keeps):
    """What is kept is what would be computed anew; with other columns, weights or bounds nothing is."""
    own = method_of("moments", epsilon=1.0, delta=1e-6).prepare(Metadata.from_value(FACTS), "y").sums
    assert own.design.is_weighted
    sums = own.under(replace(own.design, **changed))
    assert ("noisy_entries" in sums.__dict__) is keeps
    for name in KEPT:
        np.testing.assert_equal(getattr(sums, name), getattr(replace(sums), name))
