"""Files are written whole or not at all, and a path that cannot be written is told before."""

import os
import stat
from pathlib import Path

import pytest

from discreet.errors import InvalidParameterError
from discreet.files import writable, write_whole


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


def test_a_file_is_private_until_it_is_whole(tmp_path, monkeypatch):
    """Nobody else can reach what is being written, and no thread sees a process without its umask meanwhile."""
    modes, sync = [], os.fsync

    def look(handle):
        modes.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir())
        sync(handle)

    monkeypatch.setattr(os, "fsync", look)
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask is the whole process's"))
    write_whole(tmp_path / "out", "new")
    assert modes == [0o700]


def test_paths_that_cannot_be_written_are_told_before(tmp_path):
    """A folder, and a file in no folder, are refused before anything is spent."""
    for path in (tmp_path, tmp_path / "none" / "out.json"):
        with pytest.raises(InvalidParameterError, match="cannot be written: it"):
            writable(path)
    writable(tmp_path / "out.json")


@pytest.mark.parametrize("step", ["tempfile.mkdtemp", "pathlib.Path.open", "os.replace"])
def test_a_write_that_fails_at_any_step_leaves_nothing(step, tmp_path, monkeypatch):
    """A folder that cannot be written, a file that cannot be made, a name that cannot be taken: nothing new is left."""
    (tmp_path / "out").write_text("old")

    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    for name in ("out", "new"):
        with monkeypatch.context() as patch:
            patch.setattr(step, refuse)
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
        seen.append((path.read_text(), Path(source).parent.parent, Path(source).read_text()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", look)
    assert write_whole(path, "new") == path
    assert seen == [("old", tmp_path, "new")]
    assert path.read_text() == "new"
