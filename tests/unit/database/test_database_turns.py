"""Turns: one at a time, by name, and gone with whoever held one."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from discreet.database import turns

NAME, OTHER = (hashlib.sha256(word).hexdigest() for word in (b"one", b"other"))


def nobody_waits():
    """Whoever is told to wait has found a turn taken."""
    raise AssertionError("a turn that is free was waited for")


def test_one_at_a_time(opened, place):
    """Eight threads that change a number in turn lose no change, and all but the first are told to wait."""
    held, told, inside, most = [0], [], [0], [0]
    first_is_in, all_are_here = threading.Event(), threading.Barrier(8)

    def run():
        database = opened()
        all_are_here.wait()
        with database.turn(NAME, lambda: told.append(1)):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            seen = held[0]
            first_is_in.wait(0.05)
            held[0] = seen + 1
            inside[0] -= 1

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (held, inside, most) == ([8], [0], [1])
    assert 1 <= len(told) <= 7
    if isinstance(place, Path):
        assert not list(place.parent.glob("*.turn"))


@pytest.mark.parametrize("pooled", [False, True])
def test_another_name_waits_for_nobody(opened, pooled):
    """Turns of other names are free, and one that ended by an error is free again."""
    database = opened(pooled=pooled)
    with database.turn(NAME, nobody_waits), opened(pooled=pooled).turn(OTHER, nobody_waits):
        pass
    with pytest.raises(ZeroDivisionError), database.turn(NAME, nobody_waits):
        raise ZeroDivisionError
    with database.turn(NAME, nobody_waits):
        pass


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_without_locks_everybody_enters(opened, place):
    """A place where no lock can be had costs nobody an answer."""
    database = opened()
    path = Path(f"{database.place}.{NAME[:32]}.turn")
    path.mkdir()
    with database.turn(NAME, nobody_waits), opened().turn(NAME, nobody_waits):
        pass
    assert path.is_dir()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_file_that_is_removed_between_lock_and_look_is_no_turn(opened, monkeypatch):
    """Whoever locked the file of one who was just leaving locks another, and does not enter without any."""
    database = opened()
    path, look, removed = Path(f"{database.place}.{NAME[:32]}.turn"), os.fstat, list[Path]()

    def fstat(handle):
        if not removed:
            path.unlink()
            removed.append(path)
        return look(handle)

    monkeypatch.setattr(turns.os, "fstat", fstat)
    told = list[int]()
    with database.turn(NAME, lambda: told.append(1)):
        assert path.exists()
    assert (removed, told) == ([path], [1])
    assert not path.exists()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_no_link_is_followed(opened, tmp_path):
    """Whoever may write beside a database makes nobody else create a file elsewhere."""
    database = opened()
    link, elsewhere = Path(f"{database.place}.{NAME[:32]}.turn"), tmp_path / "elsewhere"
    link.symlink_to(elsewhere)
    with database.turn(NAME, nobody_waits):
        assert not elsewhere.exists()
