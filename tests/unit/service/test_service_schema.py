"""The service's tables: what the migrations make, and what the database itself refuses."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from discreet.errors import UnreachableError
from discreet.ledger import Ledger
from discreet_service.store import schema
from discreet_service.store.revisions import open_database


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Where a service may be opened."""
    return str(tmp_path / "office.sqlite") if request.param == "sqlite" else request.getfixturevalue("postgres")()


@pytest.mark.parametrize("ledger_first", [True, False])
def test_migrations_lead_to_the_schema(place, ledger_first):
    """The tables are those that the code declares, whichever of ledger and service is opened first."""
    if ledger_first:
        Ledger(place).close()
    database = open_database(place)
    Ledger(place).close()
    with database.read() as connection:
        found = {"version_table": "service_version", "include_name": _is_ours}
        assert compare_metadata(MigrationContext.configure(connection, opts=found), schema.metadata) == []
    database.close()


def _is_ours(name, kind, _parents):
    return kind != "table" or name in schema.metadata.tables


def _furnish(connection):
    """An account and a project."""
    person = {"name": "ann", "role": "analyst", "shown": "Ann", "disabled": False, "created": "now"}
    connection.execute(schema.users.insert().values(person))
    connection.execute(schema.projects.insert().values(name="p", created="now"))


def _request(state):
    texts = dict.fromkeys(("content", "sha256", "question", "created", "idempotency", "body_sha256"), "a")
    of = {"id": "r", "by": "ann", "project": "p", "dataset": "toy", "version": 1, "state": state}
    return texts | of | {"epsilon": 1.0, "delta": 0.0, "is_free": False, "attempts": 0}


ROWS = {
    "datasets": dict.fromkeys(("name", "metadata", "metadata_sha256", "source", "created"), "a")
    | {"by": "ann", "version": 1, "slot_s": 1},
    "decisions": dict.fromkeys(("sha256", "comment", "time", "seal"), "a")
    | {"request": "r", "by": "ann", "decision": "approved"},
    "audit": dict.fromkeys(("time", "actor", "action", "object", "detail"), "a"),
}


@pytest.mark.parametrize("name", schema.APPEND_ONLY)
def test_what_was_decided_stays(place, name):
    """No statement changes or deletes a version, a decision or a line of the audit."""
    database, table = open_database(place), schema.metadata.tables[name]
    with database.write() as connection:
        _furnish(connection)
        connection.execute(schema.requests.insert().values(_request("waiting")))
        connection.execute(table.insert().values(ROWS[name]))
    statements = [table.update().values({next(iter(table.columns)).name: table.columns[0]}), table.delete()]
    for statement in statements:
        with pytest.raises(UnreachableError, match="append-only"), database.write() as connection:
            connection.execute(statement)
    with database.read() as connection:
        assert len(connection.execute(table.select()).all()) == 1
    database.close()


@pytest.mark.parametrize("state", ["approved", "running", "released", "paid"])
def test_nothing_is_queued_without_a_charge(place, state):
    """The database itself refuses a request that would run without an entry in the ledger, and a state that is none."""
    database = open_database(place)
    with database.write() as connection:
        _furnish(connection)
    with pytest.raises(UnreachableError, match=r"(?i)constraint"), database.write() as connection:
        connection.execute(schema.requests.insert().values(_request(state)))
    database.close()
