"""A ledger that an older version wrote: opened, migrated, verified and used."""

import sqlite3
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import NullPool, create_engine

from discreet.accounting.events import SelectionEvent
from discreet.errors import BudgetError, VerificationError
from discreet.ledger import Accounting, Ledger
from discreet.ledger.schema import metadata
from discreet.ledger.store import MIGRATIONS

DUMP = Path(__file__).with_name("ledger_0001.sql")
HEAD = "bc9bb48b8a672fdcdb4af46f6205f85a5be7d658ef74684d32e026456e8446a7"
"""As the first version printed it."""


def migrate(place, revision):
    """Bring the tables to an old revision, as the version of that time did."""
    url = f"sqlite:///{place}" if isinstance(place, Path) else place
    with create_engine(url, poolclass=NullPool).begin() as connection:
        config = Config(attributes={"connection": connection, "version_table": MIGRATIONS.version_table})
        config.set_main_option("script_location", str(MIGRATIONS.folder))
        command.upgrade(config, revision)


@pytest.fixture(params=["sqlite-0001", "sqlite-0002", "postgresql-0001", "postgresql-0002"])
def old(request, tmp_path):
    """A ledger of an old revision with every kind of entry that the first one had."""
    dialect, revision = request.param.split("-")
    if dialect == "sqlite":
        place = tmp_path / "old.sqlite"
        with closing(sqlite3.connect(place)) as connection:
            connection.executescript(DUMP.read_text())
        migrate(place, revision)
        yield place
        return
    postgres = request.getfixturevalue("postgres")
    place = postgres()
    migrate(place, "0001")
    rows = [line for line in DUMP.read_text().splitlines() if line.startswith("INSERT") and "_version" not in line]
    with create_engine(place, poolclass=NullPool).begin() as connection:
        for row in rows:
            connection.exec_driver_sql(row.replace('INSERT INTO "head" VALUES(1,', "UPDATE head SET (seq, hash) = ("))
    migrate(place, revision)
    yield place
    postgres.drop(place)


def revision(place):
    """Read which schema a ledger has."""
    with Ledger(place)._store.read() as connection:
        return MIGRATIONS.revision_of(connection)


def test_migrations_give_the_schema(path):
    """The newest migration leaves the tables that the code expects, and it is the one that the code names."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS.folder))
    assert ScriptDirectory.from_config(config).get_current_head() == MIGRATIONS.head
    with Ledger(path)._store.read() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": MIGRATIONS.version_table})
        assert compare_metadata(context, metadata) == []


def test_an_old_ledger_verifies(old):
    """The hashes of old entries are those that were recorded, so every head ever shown is still in the chain."""
    with Ledger(old) as ledger:
        entries = ledger.history()
        found = ledger.verify([entry.hash for entry in entries])
    assert (found.n_entries, found.n_accounts, found.n_releases, found.head) == (13, 2, 1, HEAD)
    assert all((entry.rho, entry.failure, entry.project) == (None, None, None) for entry in entries)
    assert revision(old) == MIGRATIONS.head


def test_an_old_account_is_basic(old):
    """Caps and sums are what they were."""
    with Ledger(old) as ledger:
        account = ledger.account("rand-hie")
    assert account.accounting is Accounting.BASIC
    assert (account.epsilon_cap, account.epsilon_spent) == (2, Fraction(3, 4))
    assert (account.delta_cap, account.delta_spent) == (Fraction(1, 10**6), Fraction(1, 10**7))
    assert (account.unit, account.rho_cap, account.n_releases) == ("person", 0, 1)


def test_an_old_ledger_goes_on(old, ask):
    """Open computations end, stored releases are free, and new accounts of either kind are kept beside the old."""
    with Ledger(old) as ledger:
        assert ledger.stored(ledger.history()[3].request) == '{"answer":1}'
        assert ledger.recover(None) == [7]
        ask(ledger, "0.25")
        ledger.grant("new", 1, "1e-6", accounting="zcdp")
        ledger.allot("new", "thesis", 1, "1e-7")
        event = SelectionEvent(Fraction(1, 10), "gumbel")
        ask(ledger, "0.1", dataset="new", project="thesis", event=event).cancel()
        assert ledger.verify([HEAD]).n_entries == 19


def test_the_guards_are_there_again(old):
    """No account can be deleted, and no sum can pass its cap, by mistake."""
    changes = ["DELETE FROM accounts", "UPDATE accounts SET epsilon_spent = epsilon_cap + 1", "DELETE FROM entries"]
    changes += ["UPDATE accounts SET rho_spent = 1", "UPDATE accounts SET accounting = 'other'"]
    changes += ["UPDATE accounts SET accounting = 'zcdp', failure_spent = 1", "UPDATE entries SET rho = 1"]
    changes += ["UPDATE allotments SET epsilon_spent = epsilon_cap + 1", "DELETE FROM allotments"]
    with Ledger(old) as ledger:
        ledger.allot("toy", "thesis", 1)
        for change in changes:
            with pytest.raises(BudgetError, match=r"append|CHECK|check"), ledger._store.write() as connection:
                connection.exec_driver_sql(change)


def test_an_edited_old_ledger_does_not_verify(old, tamper):
    """Migrating forgives nothing."""
    tamper(old, "UPDATE entries SET epsilon = 1 WHERE seq = 4")
    with Ledger(old) as ledger, pytest.raises(VerificationError, match="entry 4 was changed"):
        ledger.verify()


@pytest.mark.processes
def test_many_migrate_one_ledger(old, ask):
    """Threads that open the same old ledger at once migrate it once, and each can charge."""
    barrier, done = threading.Barrier(8), []

    def run():
        barrier.wait()
        with Ledger(old) as ledger:
            ask(ledger, "0.1")
        done.append(1)

    workers = [threading.Thread(target=run) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with Ledger(old) as ledger:
        assert (len(done), ledger.account("rand-hie").epsilon_spent) == (8, Fraction(3, 4) + Fraction(8, 10))
        ledger.verify([HEAD])
