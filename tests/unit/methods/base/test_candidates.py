"""Names by the million: what a request and a release hold of them."""

import hashlib
import json

import pytest

from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.methods.base.candidates import MOST_LISTED, candidates_record, features_of, public_candidates

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "design"}


def metadata(columns=None, **more):
    value = {"dataset": "d", "unit": "person", "neighboring": "add_or_remove_one"}
    return Metadata.from_value({**value, "columns": {"y": BOX, **(columns or {})}, **more})


def test_few_names_are_listed_and_many_digested():
    """The digest is that of the list as JSON, in whatever chunks it is computed."""
    few = [f"x{i}" for i in range(MOST_LISTED)]
    assert candidates_record(few) == few
    many = [f'x"{i}\u5217' for i in range(70_000)]
    text = json.dumps(many, separators=(",", ":"), ensure_ascii=False)
    assert candidates_record(many) == {"count": 70_000, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def test_another_name_or_order_is_another_digest():
    """So that no other question is answered from the store."""
    many = [f"x{i}" for i in range(2000)]
    assert candidates_record(many) != candidates_record([*many[:-1], "z"])
    assert candidates_record(many) != candidates_record(many[::-1])


def test_families_are_told_once():
    """Listed columns by their bounds, features as one, the target by name."""
    given = metadata({**{f"a{i}": BOX for i in range(1500)}, "b": {**BOX, "upper": 2}}, features={**BOX, "match": "g*"})
    names = [*(f"a{i}" for i in range(1500)), "b", *(f"g{i}" for i in range(3000))]
    told = {column.name: column for column in public_candidates(given, "y", names)}
    assert list(told) == ["1,500 columns", "1 columns", "3,000 features", "y"]
    assert (told["1 columns"].upper, told["3,000 features"].source, told["y"].role) == (2.0, "design", "target")


def test_a_plan_needs_no_names_but_a_number():
    """With a count and a pattern the features are unnamed; without a count the error says so."""
    known = metadata({"age": BOX, "site": {"type": "category", "levels": ["a", "b"]}}, features={**BOX, "match": "g_*"})
    with pytest.raises(InvalidParameterError, match=r"features\.count"):
        features_of(known, "y", None)
    counted = metadata({"age": BOX}, features={**BOX, "match": "g_*", "count": 5000})
    found = features_of(counted, "y", None)
    assert (len(found), found[0], found[1]) == (5001, "age", "g_#0")
    assert counted.column(found[-1]) is not None
    assert candidates_record(found) == {"count": 5001}
    assert features_of(counted, "y", ["g_7"]) == ["g_7"]


def test_numbered_features_are_never_listed():
    """Ten million of a long table cost nothing to name."""
    layout = {"row": "person", "feature": "code", "value": "value"}
    long = metadata(features={**BOX, "count": 10**7}, layout=layout)
    found = features_of(long, "y", None)
    assert (len(found), found[10**7 - 1]) == (10**7, "9999999")
    assert [column.name for column in public_candidates(long, "y", found)] == ["10,000,000 features", "y"]
