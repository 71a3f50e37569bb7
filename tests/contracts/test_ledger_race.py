"""Many ask at once: what is granted is what the cap holds, to the last tenth."""

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.events import SelectionEvent
from discreet.accounting.guarantee import Guarantee, exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetExceededError
from discreet.ledger import Ledger
from tests.effort import either

pytestmark = pytest.mark.processes

RELATION = NeighboringRelation.REPLACE_ONE
N_ASKS = either(15, 40)
"""Of each of eight processes: more than the cap holds, from each alone."""
N_WRITES = either(6, 15)
"""Of each of four threads, while another one reads."""


def grants(path, asks, *, ledger=None, event=None, project=None):
    """Ask for 0.1 some times, each time anew from disk unless a ledger is shared; count the grants."""
    granted = 0
    for _ in range(asks):
        try:
            (ledger or Ledger(path)).reserve(
                request="a" * 64,
                dataset="toy",
                unit="person",
                neighboring=RELATION,
                guarantee=Guarantee(exact(0.1, "epsilon"), Fraction(0), RELATION),
                facts={},
                event=event,
                project=project,
            )
            granted += 1
        except BudgetExceededError:
            pass
    return granted


def grants_of_threads(path, threads, asks=1, *, ledger=None, event=None, projects=(None,)):
    """Let threads that start together ask; any other error than a full budget is one grant of -1000."""
    barrier, counts = threading.Barrier(threads), [-1000] * threads

    def run(number):
        barrier.wait()
        project = projects[number % len(projects)]
        counts[number] = grants(path, asks, ledger=ledger, event=event, project=project)

    workers = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts)


def fork_and_ask(path, processes, threads, asks):
    """Fork processes that start together, each with threads of its own; print their grants."""
    fork(processes, lambda: os.write(1, b"%d\n" % grants_of_threads(path, threads, asks)))


def fork_and_create(path, processes, threads):
    """Fork processes that start together, of which each thread creates the same ledger."""

    def create():
        workers = [threading.Thread(target=Ledger, args=(path,)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    fork(processes, create)


def in_processes(*words):
    """Run this module: on a path, with so many processes, threads of each, and asks of each thread."""
    command = [sys.executable, "-m", "tests.contracts.test_ledger_race", *map(str, words)]
    root = Path(__file__).parents[2]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=600, cwd=root)


def fork(processes, work):
    """Fork processes that start together; none may fail."""
    ready, go = os.pipe(), os.pipe()
    for _ in range(processes):
        if os.fork() == 0:
            os.close(go[1])
            os.write(ready[1], b".")
            os.read(go[0], 1)
            work()
            os._exit(0)
    for _ in range(processes):
        os.read(ready[0], 1)
    os.close(go[1])
    for _ in range(processes):
        assert os.wait()[1] == 0


def _check(path, granted):
    with Ledger(path) as ledger:
        account = ledger.account("toy")
        kinds = [entry.kind for entry in ledger.history()]
        ledger.verify()
    assert granted == 10
    assert kinds == ["grant"] + ["reserve"] * 10
    assert account.epsilon_left == 0


@pytest.fixture(params=["sqlite", "postgresql"])
def path(request, tmp_path):
    """A ledger with a cap of 1: a file, and then a server."""
    on_server = request.param == "postgresql"
    place = request.getfixturevalue("postgres")() if on_server else tmp_path / "ledger.sqlite"
    with Ledger(place) as ledger:
        ledger.grant("toy", 1)
    yield place
    if on_server:
        request.getfixturevalue("postgres").drop(place)


@pytest.mark.parametrize("sharing", ["alone", "shared", "pooled"])
def test_forty_threads(path, sharing):
    """Forty threads of one process, on one ledger object or each on its own, get ten tenths."""
    with Ledger(path, pooled=sharing == "pooled") as ledger:
        granted = grants_of_threads(path, 40, ledger=None if sharing == "alone" else ledger)
    _check(path, granted)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("event", "most"), [(SelectionEvent(Fraction(1, 10), "gumbel"), 19), (None, 4)])
def test_forty_threads_under_zcdp(path, shared, event, most):
    """Forty threads get exactly as many tenths as the cap on rho holds: 0.02413 over 0.00125, or over 0.005."""
    with Ledger(path) as ledger:
        cap = ledger.grant("toy", 1, "1e-6", accounting="zcdp").rho_cap
        granted = grants_of_threads(path, 40, ledger=ledger if shared else None, event=event)
        account, kinds = ledger.account("toy"), [entry.kind for entry in ledger.history()]
        ledger.verify()
    each = account.rho_spent / most
    assert granted == most == cap // each
    assert kinds == ["grant"] * 2 + ["reserve"] * most


def test_forty_threads_of_two_projects(path):
    """Each project gets what it is allotted, and both together what the cap holds."""
    with Ledger(path) as ledger:
        ledger.allot("toy", "thesis", "0.3")
        ledger.allot("toy", "survey", "0.9")
        granted = grants_of_threads(path, 40, ledger=ledger, projects=("thesis", "survey"))
        spent = {allotment.project: allotment.epsilon_spent for allotment in ledger.allotments("toy")}
        assert ledger.account("toy").epsilon_spent == sum(spent.values()) == Fraction(granted, 10) <= 1
        assert spent["thesis"] <= Fraction(3, 10)
        assert granted == 10
        ledger.verify()


def test_reading_while_many_write(path):
    """A verification sees one moment, whatever is written meanwhile."""
    with Ledger(path, pooled=True) as ledger:
        ledger.grant("toy", 1000)
        writer = threading.Thread(target=grants_of_threads, args=(path, 4, N_WRITES))
        writer.start()
        found = []
        while writer.is_alive():
            found.append(ledger.verify().n_entries)
        writer.join()
        assert ledger.verify().n_entries == 2 + 4 * N_WRITES
    assert found == sorted(found)


@pytest.mark.parametrize(("threads", "asks"), [(1, N_ASKS), (5, 1)])
def test_eight_processes(path, threads, asks):
    """Eight processes that ask many times each, or once in five threads each, get ten tenths."""
    done = in_processes(path, 8, threads, asks)
    assert all(line.startswith("Waiting for the ledger") for line in done.stderr.splitlines())
    assert len(done.stdout.split()) == 8
    _check(path, sum(map(int, done.stdout.split())))


@pytest.mark.parametrize("path", ["sqlite"], indirect=True)
def test_a_ledger_without_write_ahead_log(path):
    """Where the file system allows no write-ahead log, the count is the same."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode=DELETE").fetchall() == [("delete",)]
    _check(path, grants_of_threads(path, 40))


def test_many_create_one_ledger(tmp_path):
    """Processes and threads that create the same new ledger at once end with one, in the right mode."""
    done = in_processes(tmp_path / "new.sqlite", "create", 4, 5)
    assert done.stdout == ""
    assert all(line.startswith("Waiting for the ledger") for line in done.stderr.splitlines())
    with Ledger(tmp_path / "new.sqlite") as ledger:
        assert ledger.verify().n_entries == 0
    with closing(sqlite3.connect(tmp_path / "new.sqlite")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_many_create_many_ledgers(tmp_path):
    """Threads that each create a ledger of their own do not disturb one another."""
    paths = [tmp_path / f"{number}.sqlite" for number in range(6)]
    workers = [threading.Thread(target=Ledger, args=(path,)) for path in paths]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for path in paths:
        with Ledger(path) as ledger:
            ledger.grant("toy", 1)
            assert ledger.verify().n_entries == 1


if __name__ == "__main__":
    if sys.argv[2] == "create":
        fork_and_create(sys.argv[1], *map(int, sys.argv[3:]))
    else:
        fork_and_ask(sys.argv[1], *map(int, sys.argv[2:]))
