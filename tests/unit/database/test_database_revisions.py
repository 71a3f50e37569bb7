"""Migrations: sets of tables that share a database, each with its own revision."""

import sqlite3
import threading
from contextlib import closing

import pytest
from sqlalchemy import inspect

from discreet.database.revisions import VERSION_TABLES
from discreet.errors import BudgetError, PolicyError
from discreet.ledger import Ledger
from discreet.ledger.store import MIGRATIONS


@pytest.fixture
def tables(place, open_at):
    """Names of all tables of a database that is brought up to date."""

    def names(migrations):
        with open_at(place, migrations).read() as connection:
            return set(inspect(connection).get_table_names())

    return names


@pytest.mark.parametrize("first", ["ledger", "desk"])
def test_two_sets_share_a_database(place, open_at, tables, desks, first):
    """Either may be there first, and each keeps its revision."""
    migrations = desks(1)
    openers = [lambda: Ledger(place).close(), lambda: open_at(place, migrations)]
    for opener in openers if first == "ledger" else openers[::-1]:
        opener()
    assert {"accounts", "entries", "ledger_version", "desk_0001", "service_version"} <= tables(migrations)
    with Ledger(place) as ledger:
        ledger.grant("toy", 1)
        assert ledger.verify().n_entries == 1


def test_a_newer_revision_is_reached_step_by_step(place, open_at, tables, desks):
    """The steps that are missing run, and no other."""
    open_at(place, desks(1))
    assert {"desk_0001", "desk_0002", "desk_0003"} <= tables(desks(3))


def test_an_unknown_revision_is_refused(place, open_at, tables, desks):
    """A newer version wrote it; the tables stay as they are."""
    later, migrations = desks(3), desks(2)
    open_at(place, later)
    with pytest.raises(PolicyError, match="must be of revision 0002 or older, but its revision='0003': a newer"):
        open_at(place, migrations)
    assert "desk_0003" in tables(later)


def test_a_step_that_fails_leaves_nothing(place, open_at, tables, desks):
    """All steps are one transaction."""
    migrations = desks(2)
    step = migrations.folder / "versions" / "0002.py"
    step.write_text(step.read_text() + "    raise LookupError\n")
    with pytest.raises(LookupError):
        open_at(place, migrations)
    step.write_text(step.read_text().replace("    raise LookupError\n", ""))
    assert "desk_0002" in tables(migrations)


def test_a_file_of_neither_is_refused(tmp_path, open_at, desks):
    """It may be the private table itself, and stays as it was."""
    place = tmp_path / "people.sqlite"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE people (age)")
    before = place.read_bytes()
    with pytest.raises(PolicyError, match="a database file of its own"):
        open_at(place, desks(1))
    with pytest.raises(BudgetError, match="a database file of its own"):
        Ledger(place)
    assert place.read_bytes() == before


def test_many_open_a_new_database(place, open_at, tables, desks):
    """Threads that open both sets at once end with both, made once."""
    migrations, errors = desks(2), []

    def run(number):
        try:
            if number % 2:
                Ledger(place).close()
            else:
                open_at(place, migrations)
        except Exception as error:
            errors.append(error)

    workers = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert errors == []
    assert {"accounts", "desk_0002"} <= tables(migrations)


def test_the_version_tables_are_known():
    """A set whose table is not listed could not share a file."""
    assert MIGRATIONS.version_table in VERSION_TABLES
