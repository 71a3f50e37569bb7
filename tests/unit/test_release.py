"""A release in its file: whole, frozen, refused in one line when it is something else."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

import discreet as dc
from discreet.errors import InvalidParameterError, VerificationError
from discreet.ledger import Ledger
from discreet.mechanisms.rng import Source
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares
from discreet.release import CoefficientRecord, Release, canonical_sha256
from discreet.workflow import answer
from discreet.workflow.derive import fit_from
from discreet.workflow.verification import verify
from tests.privacy.pairs import table_of


@pytest.fixture(scope="module")
def release():
    """A real release of a small table."""
    box = {"type": "real", "lower": -1, "upper": 1, "source": "by design"}
    declared = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 20}
    metadata = dc.Metadata.from_value({**declared, "columns": {"a": box, "b": box, "y": box}})
    return dc.PCLS(epsilon=0.7).fit(dc.open_table((np.zeros((20, 2)), np.zeros(20)), metadata), target="y").release_


def test_round_trip(release, tmp_path):
    """What is saved is read again, equal, under its schema."""
    path = release.save(tmp_path / "release.json")
    assert Release.read(path) == release
    assert json.loads(path.read_text())["schema"] == "discreet/release@1"


def test_frozen(release):
    """No field of a release can be changed."""
    with pytest.raises(ValidationError):
        release.selected = ("other",)
    with pytest.raises(ValidationError):
        release.guarantee.epsilon = 0.1


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "discreet/release@2"},
        {"surprise": 1},
        {"selected": 3},
        {"guarantee": None},
        {"private": False},
        {"event": None},
    ],
)
def test_another_shape_is_refused_in_one_line(release, change):
    """Unknown schemas and fields, and a promise without its parts, are no release."""
    text = json.dumps({**json.loads(release.to_json()), **change})
    with pytest.raises(VerificationError, match="is not a release of schema") as refused:
        Release.from_json(text)
    assert "\n" not in str(refused.value)


def test_what_is_no_release_is_named(tmp_path):
    """By its file, without the parser's words."""
    (tmp_path / "report.html").write_text("<!doctype html>")
    with pytest.raises(VerificationError, match=r"report\.html is not a release .*\. It is not a JSON object\. Give"):
        Release.read(tmp_path / "report.html")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00", '{"schema": "discreet/release@1"}'])
def test_what_is_no_release_is_refused(text):
    """Broken or empty JSON gives the same one-line error."""
    with pytest.raises(VerificationError):
        Release.from_json(text)


def test_a_source_that_is_known_gives_no_guarantee():
    """A seeded source, or one whose words somebody overrides, makes a release that is not private."""

    class Known(Source):
        def words(self, count):
            return np.arange(count, dtype=np.uint64) << np.uint64(40)

    table = table_of(np.zeros((9, 2)), ["x1"], "y", "replace_one", 1.0)
    for source in (Source.seeded(1), Known()):
        given = answer(PenalizedLeastSquares(), table, "y", rng=source).release
        assert (given.private, given.guarantee, given.provenance.randomness) == (False, None, "seeded")
    assert answer(PenalizedLeastSquares(), table, "y").release.private


def test_digest_ignores_the_order_of_keys():
    """The same value has the same digest; another has another."""
    assert canonical_sha256({"a": [1, {"c": 2, "b": 3}]}) == canonical_sha256({"a": [1, {"b": 3, "c": 2}]})
    assert canonical_sha256({"a": [1, 2]}) != canonical_sha256({"a": [2, 1]})


def test_json_is_readable_text(release):
    """A release is indented UTF-8 with a final newline, names as they are written."""
    named = release.model_copy(update={"selected": ("größe", "年齢")})
    text = named.to_json()
    assert text.endswith("}\n")
    assert "größe" in text
    assert Release.from_json(text) == named


@pytest.mark.parametrize("value", [float("nan"), {"a": float("inf")}])
def test_digest_takes_no_number_that_json_lacks(value):
    """Not a number has no canonical text, so it has no digest."""
    with pytest.raises(ValueError, match="JSON"):
        canonical_sha256(value)


@pytest.mark.parametrize(
    ("given", "interval"),
    [
        ({"low": -1.0, "high": 2.0}, (-1.0, 2.0)),
        ({"low": None, "high": 2.0}, (-np.inf, 2.0)),
        ({"low": -1.0, "high": np.inf}, (-1.0, np.inf)),
        ({"low": -1e300, "high": np.nan}, (-np.inf, np.inf)),
        ({"low": -20.0, "high": 20.0, "uninformative": True}, (-np.inf, np.inf)),
        ({"low": -20.0, "high": 20.0, "uninformative": False}, (-20.0, 20.0)),
    ],
)
def test_an_end_is_a_number_or_none(given, interval):
    """Whatever a method, or an older version, gives; and it is uninformative exactly when it has neither."""
    record = CoefficientRecord(name="a", column="a", estimate=0.5, sampling_variance=1.0, privacy_variance=1.0, **given)
    ends = tuple(float(end) if np.isfinite(end) else None for end in interval)
    assert (record.low, record.high, record.interval) == (*ends, interval)
    assert record.uninformative is (ends == (None, None))
    value = json.loads(record.model_dump_json(), parse_constant=pytest.fail)
    assert (value["low"], value["high"], value["uninformative"]) == (*ends, record.uninformative)
    assert CoefficientRecord.model_validate(value) == record


def older(text):
    """Return a release's text as an older version wrote it, the limits of the method for ends."""
    value = json.loads(text)
    for one in value["fit"]["coefficients"]:
        one |= {"low": -2.0, "high": 2.0} if one["uninformative"] else {}
    return json.dumps(value)


def test_what_was_computed_from_an_older_release_verifies(tmp_path, monkeypatch):
    """The older release that the ledger holds has another text than it would have now."""
    box = {"type": "real", "lower": -1, "upper": 1, "source": "by design"}
    declared = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 20}
    metadata = dc.Metadata.from_value({**declared, "columns": {"a": box, "b": box, "y": box}})
    table = dc.open_table((np.zeros((20, 2)), np.zeros(20)), metadata)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("toy", 1)
        with monkeypatch.context() as patch:
            newer = Release.to_json
            patch.setattr(Release, "to_json", lambda one: older(newer(one)))
            asked = (dc.LinearRegression(epsilon=0.01 + place / 1000) for place in range(9))
            made = (one.fit(table, target="y", ledger=ledger).release_ for one in asked)
            release = next(one for one in made if any(term.uninformative for term in one.fit.coefficients))
        text = ledger.recorded(release.provenance.ledger.entry)
        assert 2.0 in {one["high"] for one in json.loads(text)["fit"]["coefficients"]}
        source = release.provenance.model_copy(update={"derived_from": canonical_sha256(json.loads(text))})
        of_older = fit_from(release.model_copy(update={"provenance": source}), ["a"])
        for name, computed in (("older", of_older), ("newer", fit_from(Release.from_json(text), ["a"]))):
            path = tmp_path / name
            computed.save(path)
            assert verify(ledger, [path]).derived == {str(path): release.provenance.ledger.entry}
        unknown = of_older.provenance.model_copy(update={"derived_from": "0" * 64})
        of_older.model_copy(update={"provenance": unknown}).save(tmp_path / "forged")
        with pytest.raises(VerificationError, match="no record of it"):
            verify(ledger, [tmp_path / "forged"])


def test_files_that_are_no_text_are_refused(tmp_path):
    """Bytes, a folder and a path with a null raise one line with the reason."""
    path = tmp_path / "bytes.json"
    path.write_bytes(b"\xff\xfe")
    for place, words in ((path, "is not UTF-8 text"), (tmp_path, "cannot be read"), ("a\0b", "cannot be read")):
        with pytest.raises(InvalidParameterError, match=words) as refused:
            Release.read(place)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("field", "value"), [("n_rows", 0), ("half_widths", 0), ("gram", 10**400), ("gram_variance", -1)]
)
def test_moments_that_no_noise_gives_are_refused(field, value):
    """A file that somebody wrote by hand: nothing is computed from it."""
    box = {"type": "real", "lower": -1, "upper": 1, "source": "by design"}
    declared = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 20}
    metadata = dc.Metadata.from_value({**declared, "columns": {"a": box, "y": box}})
    table = dc.open_table((np.zeros((20, 1)), np.zeros(20)), metadata)
    content = json.loads(dc.NoisyMoments(epsilon=1.0).fit(table, target="y").release_.to_json())
    at, place = content["moments"], field
    while isinstance(at[place], list):
        at, place = at[place], 0
    at[place] = value
    with pytest.raises(VerificationError, match=f"moments.{field}"):
        Release.from_json(json.dumps(content))
