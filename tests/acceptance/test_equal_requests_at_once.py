"""Two equal requests at once are paid for once; a process that dies makes nobody wait, and a wait is said."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from discreet import workflow
from discreet.cli.main import run
from discreet.data.metadata import Metadata
from discreet.ledger import Ledger
from discreet.workflow import request

pytestmark = pytest.mark.processes

RUNNING = "The same request is running, and its release will be given again for free: waiting for it."
LOCKED = "which another program has locked. To stop, press Ctrl-C.\n"


def held_at_the_rows(words):
    """Run the command, and stop with the budget reserved and the rows about to be read until a line comes."""
    compute = request._computed

    def computed(*given):
        print("reading", file=sys.stderr, flush=True)
        sys.stdin.readline()
        return compute(*given)

    request._computed = computed
    sys.exit(run(words))


@contextmanager
def process(*command):
    """Start a process with pipes."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    # A test run in the background ignores interruptions, and so would its children.
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen([sys.executable, *command], text=True, env=environment, **pipes, **heard) as started:
        yield started


def both(place, end):
    """Start a request, start an equal one, end the first one in some way, and return what became of both."""
    words = place.words("--json")
    with process("-m", __name__, *words) as first:
        assert first.stderr.readline() == "reading\n"
        with process("-m", "discreet", *words) as second:
            assert second.stderr.readline() == f"{RUNNING} To stop, press Ctrl-C.\n"
            assert second.poll() is None
            end(first, second)
            ends = first.communicate(timeout=120), second.communicate(timeout=120)
    return *ends, (first.returncode, second.returncode)


def test_two_processes_pay_once(place):
    """The second waits, says so in one line, and gives the release of the first."""

    def go_on(first, _):
        first.stdin.write("\n")
        first.stdin.flush()

    (out, _), (again, err), codes = both(place, go_on)
    assert codes == (0, 0)
    assert json.loads(out) == json.loads(again)
    assert err.startswith("The same request had been answered before")
    assert place.spent() == 1
    assert not list(place.folder.glob("*.turn"))


def test_a_process_that_dies_lets_the_next_one_in(place):
    """What it had reserved stays spent, as rows may have been read; the second is charged itself."""
    _, (out, _), codes = both(place, lambda first, _: first.kill())
    assert codes == (-signal.SIGKILL, 0)
    assert json.loads(out)["private"]
    assert place.spent() == 2
    with Ledger(place.ledger) as ledger:
        assert [entry.state for entry in ledger.history() if entry.kind == "reserve"] == ["touched", "released"]
    assert not list(place.folder.glob("*.turn"))


def test_who_waits_may_stop(place):
    """Ctrl-C ends the wait of the second, which has charged nothing; the first goes on."""

    def stop(first, second):
        second.send_signal(signal.SIGINT)
        second.wait(timeout=60)
        first.stdin.write("\n")
        first.stdin.flush()

    (out, _), (nothing, err), codes = both(place, stop)
    assert codes == (0, 130)
    assert (out != "", nothing, "Traceback" in err) == (True, "", False)
    assert place.spent() == 1


def test_two_threads_pay_once(place, monkeypatch):
    """In Python, too: whoever comes second gets the stored release."""
    metadata, answers, compute, is_asked = Metadata.read(place.metadata), [], request._computed, threading.Event()

    def computed(*given):
        is_asked.wait(60)
        return compute(*given)

    def ask():
        with Ledger(place.ledger) as ledger:
            table = workflow.open_table(place.data, metadata)
            answers.append(workflow.answer(workflow.method_of("pcls", epsilon=1.0), table, "visits", ledger=ledger))

    monkeypatch.setattr(request, "_computed", computed)
    monkeypatch.setattr("discreet.ledger.reader.say_awaited", lambda _: is_asked.set())
    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(answer.stored for answer in answers) == [False, True]
    assert answers[0].release == answers[1].release
    assert place.spent() == 1


def test_another_draw_waits_for_nobody(place):
    """--fresh asks for a draw of its own, and pays for it while the first still runs."""
    with process("-m", __name__, *place.words()) as first:
        assert first.stderr.readline() == "reading\n"
        assert place.select("--fresh").code == 0
        first.communicate("\n", timeout=120)
    assert place.spent() == 2


@contextmanager
def locked(ledger):
    """Hold a ledger as a program that writes does."""
    with closing(sqlite3.connect(ledger, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def test_a_wait_for_the_ledger_is_said(place):
    """One line on standard error says what is awaited; the result is as ever."""
    with locked(place.ledger) as other, process("-m", "discreet", *place.words("--json")) as asking:
        err = asking.stderr.readline()
        other.execute("ROLLBACK")
        out, rest = asking.communicate(timeout=120)
    assert err == f"Waiting for the ledger {place.ledger}, {LOCKED}"
    assert (rest, asking.returncode) == ("", 0)
    assert json.loads(out)["private"]
    assert place.spent() == 1


def test_a_wait_for_the_ledger_may_be_stopped(place):
    """Ctrl-C is heard while nothing is written, and nothing is charged."""
    with locked(place.ledger), process("-m", "discreet", *place.words()) as asking:
        assert asking.stderr.readline().endswith(LOCKED)
        asking.send_signal(signal.SIGINT)
        out, err = asking.communicate(timeout=120)
    assert (out, asking.returncode) == ("", 130)
    assert "Interrupted" in err
    assert place.spent() == 0


if __name__ == "__main__":
    held_at_the_rows(sys.argv[1:])
