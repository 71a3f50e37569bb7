"""A release in its file: whole, frozen, refused in one line when it is something else."""

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

import discreet as dc
from discreet.errors import InvalidParameterError, VerificationError
from discreet.mechanisms.rng import Source
from discreet.methods.pcls import PenalizedLeastSquares
from discreet.release import Release, canonical_sha256, writable, write_whole
from discreet.workflow import answer
from tests.privacy.pairs import table_of


@pytest.fixture(scope="module")
def release():
    """A real release of a small table."""
    return dc.PCLS(epsilon=0.7).fit(np.zeros((20, 2)), np.zeros(20)).release_


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
    with pytest.raises(VerificationError, match="must follow the schema") as refused:
        Release.from_json(text)
    assert "\n" not in str(refused.value)


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


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    """A full disk halfway through: the old file stands, nothing else is left, the error is one line."""
    path = tmp_path / "out.json"
    path.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidParameterError, match="no space left"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


def test_files_have_the_users_mode(tmp_path):
    """The mode follows the umask, as for any file that a user makes."""
    before = os.umask(0o027)
    try:
        path = write_whole(tmp_path / "out", b"bytes")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_paths_that_cannot_be_written_are_told_before(tmp_path):
    """A folder, and a file in no folder, are refused before anything is spent."""
    for path in (tmp_path, tmp_path / "none" / "out.json"):
        with pytest.raises(InvalidParameterError, match="must be writable"):
            writable(path)
    writable(tmp_path / "out.json")


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


def test_files_that_are_no_text_are_refused(tmp_path):
    """Bytes, a folder and a path with a null raise one line with the reason."""
    path = tmp_path / "bytes.json"
    path.write_bytes(b"\xff\xfe")
    for place, words in ((path, "must be UTF-8"), (tmp_path, "must be readable"), ("a\0b", "must be readable")):
        with pytest.raises(InvalidParameterError, match=words) as refused:
            Release.read(place)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("step", ["tempfile.mkstemp", "os.chmod", "os.replace"])
def test_a_write_that_fails_at_any_step_leaves_nothing(step, tmp_path, monkeypatch):
    """A folder that cannot be written, a mode that cannot be set, a name that cannot be taken: nothing new is left."""
    (tmp_path / "out").write_text("old")

    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(step, refuse)
    for name in ("out", "new"):
        with pytest.raises(InvalidParameterError, match="permission denied"):
            write_whole(tmp_path / name, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "old"


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    """Ctrl-C halfway through is passed on, and no part of the file stays."""

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "out", "new")
    assert list(tmp_path.iterdir()) == []


def test_a_write_is_whole_at_every_moment(tmp_path, monkeypatch):
    """Until the new file takes the old one's name the old one is as it was, and the new one stands whole beside it."""
    path, replace, seen = tmp_path / "out", os.replace, []
    path.write_text("old")

    def look(source, target):
        seen.append((path.read_text(), Path(source).parent, Path(source).read_text()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", look)
    assert write_whole(path, "new") == path
    assert seen == [("old", tmp_path, "new")]
    assert path.read_text() == "new"
