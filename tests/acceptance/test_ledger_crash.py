"""A process that is killed, at any point, can cost budget but never grants it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetExceededError
from discreet.ledger import Ledger

pytestmark = pytest.mark.processes

REQUEST = "a" * 64
COST = Fraction(1, 10)
# What is done before the call during which the process dies.
BEFORE = {
    "reserve": (),
    "touch": ("reserve",),
    "cancel": ("reserve",),
    "release": ("reserve", "touch"),
    "lose": ("reserve", "touch"),
}
STATES = {
    "reserve": "reserved",
    "touch": "touched",
    "release": "released",
    "lose": "lost",
    "cancel": "cancelled",
}


def reserve(ledger):
    """Ask for a tenth."""
    relation = NeighboringRelation.REPLACE_ONE
    return ledger.reserve(
        request=REQUEST,
        dataset="toy",
        unit="person",
        neighboring=relation,
        guarantee=Guarantee(COST, Fraction(0), relation),
        facts={},
    )


def die():
    """End this process at once: no handler, no flush, no rollback of ours runs."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_during(path, call, n_statements):
    """Do a call and die after so many statements of it, its commit last; or after it, when it has fewer."""
    ledger = Ledger(path)
    reservation = None
    for name in (*BEFORE[call], call):
        if name == call:
            _arm(n_statements)
        if name == "reserve":
            reservation = reserve(ledger)
        else:
            getattr(reservation, name)(*(["text"] if name == "release" else []))
    Path(f"{path}.after").touch()
    die()


def _arm(n_statements):
    left = [n_statements]

    def count(*_):
        left[0] -= 1
        if left[0] < 0:
            die()

    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)


def die_everywhere(folder):
    """Fork a child for each statement of each call; print where each one died."""
    for call in BEFORE:
        for n_statements in range(100):
            path = Path(shutil.copy(folder / "start.sqlite", folder / f"{call}-{n_statements}.sqlite"))
            child = os.fork()
            if child == 0:
                die_during(path, call, n_statements)
            status = os.waitpid(child, 0)[1]
            after = Path(f"{path}.after").exists()
            print(json.dumps([path.name, call, after, os.WTERMSIG(status)]))
            if after:
                break


def reserve_until_killed(path):
    """Reserve, and say so, again and again."""
    ledger = Ledger(path)
    while True:
        print(reserve(ledger).entry, flush=True)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A ledger with a cap of 1000 for toy."""
    path = tmp_path_factory.mktemp("crash") / "start.sqlite"
    with Ledger(path) as ledger:
        ledger.grant("toy", 1000)
    return path


def test_killed_at_every_statement(start):
    """Whatever statement is the last, the ledger verifies and holds the call as a whole, or not at all."""
    command = [sys.executable, __file__, "everywhere", start.parent]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    places = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(after for _, _, after, _ in places) == len(BEFORE)
    assert len(places) > 5 * len(BEFORE)
    for name, call, after, died_of in places:
        assert died_of == signal.SIGKILL
        _check_whole(start.parent / name, (*BEFORE[call], call) if after else BEFORE[call])


def _check_whole(path, calls):
    with Ledger(path) as ledger:
        ledger.verify()
        charged = calls != () and calls[-1] != "cancel"
        assert ledger.account("toy").epsilon_spent == COST * charged
        states = [entry.state for entry in ledger.history() if entry.kind == "reserve"]
        assert states == ([STATES[calls[-1]]] if calls else [])
        assert ledger.stored(REQUEST) == ("text" if calls and calls[-1] == "release" else None)
        _check_recovery(ledger, states, charged)


def _check_recovery(ledger, states, charged):
    """What was touched is lost, everything stays charged, and the ledger goes on."""
    assert len(ledger.recover(None)) == states.count("touched")
    assert ledger.account("toy").epsilon_spent == COST * charged
    reserve(ledger).touch()
    assert ledger.account("toy").epsilon_spent == COST * charged + COST
    ledger.verify()


@pytest.mark.parametrize(
    ("when", "call"),
    [("before", "reserve"), ("after", "reserve"), ("after", "touch"), ("after", "release")],
)
def test_killed_around_a_call(start, tmp_path, call, when):
    """A process of its own that dies right before or after a call leaves exactly the calls that returned."""
    path = shutil.copy(start, tmp_path / "ledger.sqlite")
    command = [sys.executable, __file__, call, path, "0" if when == "before" else "1000"]
    assert subprocess.run(command, check=False, timeout=600).returncode == -signal.SIGKILL
    _check_whole(path, (*BEFORE[call], call) if when == "after" else BEFORE[call])


@pytest.mark.parametrize("wait_s", [0.0, 0.0013, 0.0029])
def test_killed_from_outside(start, tmp_path, wait_s):
    """At any moment, what was granted is charged, and at most the one call under way besides."""
    path = shutil.copy(start, tmp_path / "ledger.sqlite")
    command = [sys.executable, __file__, "forever", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(5):
            process.stdout.readline()
        time.sleep(wait_s)
        process.kill()
        said = 5 + len(process.stdout.read().split())
    with Ledger(path) as ledger:
        ledger.verify()
        assert ledger.account("toy").epsilon_spent in (said * COST, (said + 1) * COST)


def test_crashes_never_grant_more_than_the_cap(start, tmp_path):
    """A process that always dies before its release can try no more often than the cap allows."""
    path = shutil.copy(start, tmp_path / "ledger.sqlite")
    with Ledger(path) as ledger:
        ledger.grant("toy", "0.2")
    for _ in range(2):
        subprocess.run([sys.executable, __file__, "release", path, "0"], check=False, timeout=600)
    with Ledger(path) as ledger:
        assert len(ledger.recover(None)) == 2
        with pytest.raises(BudgetExceededError):
            reserve(ledger)


if __name__ == "__main__":
    if sys.argv[1] == "everywhere":
        die_everywhere(Path(sys.argv[2]))
    elif sys.argv[1] == "forever":
        reserve_until_killed(sys.argv[2])
    else:
        die_during(sys.argv[2], sys.argv[1], int(sys.argv[3]))
