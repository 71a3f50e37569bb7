"""Where a ledger can be, how it is created, and that every other place is refused in one line."""

import logging
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from discreet.database import transactions
from discreet.errors import BudgetError
from discreet.ledger import Ledger
from discreet.ledger.reader import Reader
from discreet.ledger.store import MIGRATIONS


@pytest.fixture
def path(tmp_path, empty):
    """A file, as most of these tests are about files."""
    return Path(shutil.copy(empty, tmp_path / "ledger.sqlite"))


def _read(path, query):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def _refused(location):
    with pytest.raises(BudgetError) as refused:
        Ledger(location)
    text = str(refused.value)
    assert "\n" not in text
    assert "sqlalche" not in text.lower()
    assert refused.value.__cause__ is None
    return text


def test_a_path_is_a_ledger(tmp_path, monkeypatch):
    """Text, a Path, a relative path and a URL name the same file, also after a change of folder."""
    place = tmp_path / "l.sqlite"
    monkeypatch.chdir(tmp_path)
    with Ledger("l.sqlite") as relative:
        monkeypatch.chdir("/")
        relative.grant("toy", 1)
        assert relative.location == "l.sqlite"
    for same in (place, str(place), f"sqlite:///{place}"):
        with Ledger(same) as ledger:
            assert [account.dataset for account in ledger.accounts()] == ["toy"]


def test_the_environment_names_the_default(tmp_path, monkeypatch):
    """DISCREET_LEDGER stands for the default."""
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "env.sqlite"))
    Ledger().close()
    assert (tmp_path / "env.sqlite").is_file()


def test_the_default_is_in_the_users_data_folder(tmp_path, monkeypatch):
    """Its folder is made when it is missing."""
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name: str(tmp_path / "share" / name))
    Ledger().close()
    assert (tmp_path / "share" / "discreet" / "discreet.sqlite").is_file()


def test_a_default_folder_that_cannot_be_made_is_refused(tmp_path, monkeypatch):
    """A file where the folder should be ends in one line."""
    (tmp_path / "share").write_text("")
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name: str(tmp_path / "share" / name))
    assert "not a directory" in _refused(None)


def test_other_folders_are_not_made(tmp_path):
    """A typing mistake creates nothing."""
    assert "its folder does not exist" in _refused(tmp_path / "no" / "l.sqlite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("location", ["", ".", "/", "/dev/null", "a\0b", "x" * 5000, "/proc/ledger.sqlite"])
def test_what_is_no_file_is_refused(location):
    """Folders, devices and impossible names hold no ledger."""
    assert "cannot be opened: " in _refused(location)


def test_a_ledger_in_use_is_waited_for(tmp_path, monkeypatch):
    """Nobody is sent to another ledger, which would be a second budget."""
    monkeypatch.setitem(transactions._OPTIONS, True, {"connect_args": {"timeout": 0.1}})
    monkeypatch.setattr(transactions, "BUSY_S", 0.1)
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=DELETE")
        other.execute("BEGIN EXCLUSIVE")
        message = _refused(path)
    assert "is in use: another program kept it locked" in message
    assert "give another place" not in message


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&uri=true"])
def test_a_ledger_in_memory_is_refused(url):
    """What is not on disk forgets what was spent."""
    assert "plain file on disk" in _refused(url)


@pytest.mark.parametrize("url", ["mysql://me:secret@host/db", "nonsense://", "postgresql://me:secret@[/db"])
def test_other_databases_are_refused(url):
    """The message shows no password."""
    assert "secret" not in _refused(url)


def test_permissions_are_checked(tmp_path, monkeypatch):
    """A file or folder that cannot be written is named as such, before it is opened."""
    place = tmp_path / "l.sqlite"
    Ledger(place).close()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "permission denied" in _refused(place)
    assert "its folder cannot be written" in _refused(tmp_path / "other.sqlite")


def test_a_file_that_is_no_database_is_refused(tmp_path):
    """It is left as it was."""
    place = tmp_path / "table.csv"
    place.write_text("a,b\n" * 1000)
    assert "file is not a database" in _refused(place)
    assert place.read_text() == "a,b\n" * 1000


def test_another_database_is_refused(tmp_path):
    """A database of something else, such as the private table itself, gets no tables of ours."""
    place = tmp_path / "data.sqlite"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE people (age)")
    before = place.read_bytes()
    assert "a database file of its own" in _refused(place)
    assert place.read_bytes() == before


def test_a_newer_ledger_is_refused(ledger, path, tamper):
    """A revision that this version does not know is not guessed at."""
    tamper(path, "UPDATE ledger_version SET version_num = '9999'")
    assert "revision='9999'" in _refused(path)


def test_a_broken_ledger_is_refused(ledger, path, tamper, ask):
    """Without its tables, nothing is reserved."""
    tamper(path, "DELETE FROM head")
    with pytest.raises(BudgetError, match=r"a row that it needs is missing\. Nothing is computed without a ledger"):
        ask(ledger)
    tamper(path, "INSERT INTO head (id, seq, hash) SELECT 1, seq, hash FROM entries", "DROP TABLE accounts")
    with pytest.raises(BudgetError, match="no such table: accounts"):
        ask(ledger)


def test_the_ledger_that_goes_away_is_refused(ledger, path, ask):
    """A file that turns into a folder while it is used ends in one line."""
    path.unlink()
    path.mkdir()
    with pytest.raises(BudgetError, match="unable to open database file"):
        ask(ledger)


def test_creation_is_silent(tmp_path, caplog, capfd):
    """Nothing is printed or logged when a ledger is made."""
    with caplog.at_level(logging.DEBUG, logger="alembic"):
        Ledger(tmp_path / "l.sqlite").close()
    assert not [record for record in caplog.records if record.name.startswith("alembic")]
    assert capfd.readouterr() == ("", "")


def test_the_file_waits_for_the_disk(ledger, path):
    """The journal is a write-ahead log, and each commit is waited for, and what removes a journal too."""
    assert _read(path, "PRAGMA journal_mode") == [("wal",)]
    with ledger._store.read() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3


def test_rows_cannot_be_changed_by_mistake(ledger, path, ask):
    """Triggers and checks refuse changes of entries, releases and impossible sums."""
    reservation = ask(ledger)
    reservation.touch()
    reservation.release("text")
    changes = ["UPDATE entries SET epsilon = 0", "DELETE FROM entries", "UPDATE releases SET text = ''"]
    changes += ["DELETE FROM releases", "DELETE FROM accounts", "DELETE FROM head"]
    changes += ["UPDATE accounts SET epsilon_spent = epsilon_cap + 1", "UPDATE accounts SET delta_spent = -1"]
    for change in changes:
        with pytest.raises(sqlite3.IntegrityError, match=r"append-only|CHECK"):
            _read(path, change)
    ledger.verify()


@pytest.mark.processes
def test_an_open_ledger_needs_no_alembic(tmp_path):
    """Only creating and migrating import Alembic; the command line starts fast."""
    place = tmp_path / "l.sqlite"
    Ledger(place).close()
    script = "import sys; from discreet.ledger import Ledger; Ledger(sys.argv[1]).head; print('alembic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, place], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.processes
def test_a_forked_child_can_ask(ledger, ask):
    """Parent and child share no connection, so both can reserve."""
    child = os.fork()
    if child == 0:
        try:
            ask(ledger)
        finally:
            os._exit(0)
    ask(ledger)
    assert os.waitpid(child, 0)[1] == 0
    assert str(ledger.account("rand-hie").epsilon_left) == "4/5"
    ledger.verify()


def test_the_migrations_can_be_imported():
    """Tools that import every module do not run a migration."""
    script = Path(MIGRATIONS.folder, "env.py")
    exec(compile(script.read_text(), str(script), "exec"), {"__name__": "env"})  # noqa: S102


def _open_files(path):
    """Handles of this process on files whose names begin as the ledger's does."""
    handles = Path("/proc/self/fd").iterdir()
    targets = (os.readlink(handle) for handle in handles if handle.is_symlink() and handle.exists())
    return [target for target in targets if target.startswith(str(path))]


def test_nothing_stays_open(path, tmp_path):
    """Neither after a block, of the ledger or of its reader, nor where the witness was refused."""
    with Ledger(path, pooled=True) as ledger:
        ledger.grant("toy", 1)
        assert _open_files(path)
    assert _open_files(path) == []
    with Reader(path, pooled=True) as reader:
        assert reader.accounts()
        assert _open_files(path)
    assert _open_files(path) == []
    with pytest.raises(BudgetError, match="witness"):
        Ledger(path, pooled=True, witness=tmp_path / "another" / "witness.jsonl")
    assert _open_files(path) == []
