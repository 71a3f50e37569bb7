"""A database server that is killed loses no charge that it acknowledged, whatever its owners chose."""

import threading
import time
from fractions import Fraction

import psycopg
import pytest
from sqlalchemy import make_url

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.database import transactions
from discreet.errors import UnreachableError
from discreet.ledger import Ledger
from tests.servers import running_postgres

N_CRASHES = 7
"""Of a server for each of three owners."""

pytestmark = pytest.mark.database
COST = Fraction(1, 1000)
CHOICES = {
    "database": "ALTER DATABASE {database} SET synchronous_commit = off",
    "role": "ALTER ROLE {role} SET synchronous_commit = off",
    "server": "ALTER SYSTEM SET synchronous_commit = off",
}
RESETS = ("ALTER SYSTEM RESET ALL", "ALTER ROLE {role} RESET ALL", "SELECT pg_reload_conf()")


@pytest.fixture(scope="module")
def server():
    """A server that may keep commits in memory for ten seconds, where nobody waits for them."""
    with running_postgres(on_disk=False, wal_writer_delay="10s") as running:
        yield running


@pytest.fixture(params=CHOICES)
def url(request, server):
    """A ledger with a large cap, in a database whose connections do not wait for the disk."""
    place = server()
    with Ledger(place) as ledger:
        ledger.grant("toy", 1000)
    execute(place, CHOICES[request.param], "SELECT pg_reload_conf()")
    while execute(place, "SHOW synchronous_commit") != ("off",):
        time.sleep(0.001)
    yield place
    execute(place, *RESETS)
    server.drop(place)


def execute(url, *statements):
    """Do what an owner does, each in a transaction of its own; return the last one's row, if it has any."""
    place = make_url(url)
    plain = place.set(drivername="postgresql").render_as_string()
    with psycopg.connect(plain, autocommit=True) as connection:
        for statement in statements:
            done = connection.execute(statement.format(database=place.database, role=place.username))
        return done.fetchone() if done.description else None


def reserve(ledger):
    """Ask for a thousandth."""
    relation = NeighboringRelation.REPLACE_ONE
    return ledger.reserve(
        request="a" * 64,
        dataset="toy",
        unit="person",
        neighboring=relation,
        guarantee=Guarantee(COST, Fraction(0), relation),
        facts={},
    )


def spend_until_lost(ledger, acknowledged, begun):
    """Reserve and touch, and note what returned, until the server is gone."""
    try:
        while True:
            reservation = reserve(ledger)
            acknowledged.append((reservation.head, "reserve"))
            reservation.touch()
            acknowledged.append((reservation.head, "touch"))
            begun.set()
    except UnreachableError:
        begun.set()


def lost_in_a_crash(server, url):
    """Count the acknowledged steps that a ledger lacks after a crash while two threads spend."""
    acknowledged, begun = [], threading.Event()
    with Ledger(url) as ledger:
        threads = [threading.Thread(target=spend_until_lost, args=(ledger, acknowledged, begun)) for _ in range(2)]
        for thread in threads:
            thread.start()
        assert begun.wait(60)
        server.crash()
        for thread in threads:
            thread.join()
    server.start()
    assert len(acknowledged) >= 2
    with Ledger(url) as ledger:
        ledger.verify()
        entries = ledger.history()
    hashes = {entry.seq: entry.hash for entry in entries}
    return len(set(acknowledged) - {(hashes[entry.reservation or entry.seq], entry.kind) for entry in entries})


@pytest.mark.processes
def test_a_killed_server_loses_no_acknowledged_charge(server, url):
    """Nothing that returned is missing from the ledger when the server is back."""
    assert [lost_in_a_crash(server, url) for _ in range(N_CRASHES)] == [0] * N_CRASHES


@pytest.mark.processes
def test_without_waiting_for_the_disk_charges_are_lost(server, url, monkeypatch):
    """Control: transactions that leave the owner's choice as it is lose charges, and the ledger still fits itself."""
    monkeypatch.setattr(transactions, "make_durable", lambda _connection, _tables: None)
    assert sum(lost_in_a_crash(server, url) for _ in range(2)) > 0


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_that_never_waits_is_refused(server, name):
    """Before anything is charged, in one line that names the setting; what the ledger holds can still be read."""
    place = server()
    with Ledger(place) as ledger:
        ledger.grant("toy", 1)
        execute(place, f"ALTER SYSTEM SET {name} = off", "SELECT pg_reload_conf()")
        try:
            while execute(place, f"SHOW {name}") != ("off",):
                time.sleep(0.001)
            with pytest.raises(UnreachableError, match=rf"its server has {name}=off.*have {name}=on set") as refused:
                reserve(ledger)
            assert "\n" not in str(refused.value)
            assert [entry.kind for entry in ledger.history()] == ["grant"]
        finally:
            execute(place, *RESETS)
    server.drop(place)
