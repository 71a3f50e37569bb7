"""A process that is interrupted or killed, at any point, spends what may have been read, and nothing else."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet import files
from discreet.cli.main import run
from discreet.data.engines.parquet import ParquetTable
from discreet.ledger import Ledger, Reservation, postings
from discreet.mechanisms import subset_search
from discreet.workflow import request
from tests.acceptance.conftest import Done, Place

pytestmark = pytest.mark.processes

INTERRUPTED = "Error: Interrupted. `discreet budget history` tells whether anything was charged.\n"

# Where the signal comes, the function whose call it precedes, and how often that was called before.
MOMENTS = {
    "before reserve": (Ledger, "stored", 0),
    "during reserve": (postings, "charge", 0),
    "between reserve and touch": (request, "_uninterrupted", 1),
    "during touch": (postings, "step", 0),
    "after touch": (request, "_computed", 0),
    "while reading rows": (ParquetTable, "streams", 0),
    "while scoring": (subset_search, "score_blocks", 0),
    "while drawing": (subset_search, "noisy_min_of_blocks", 0),
    "while recording": (Reservation, "release", 0),
    "during the record": (postings, "step", 1),
    "while writing the file": (files.os, "replace", 0),
}
# What is spent, and the state of the reservation, after an interruption.
INTERRUPTION = {
    "before reserve": (0, []),
    "during reserve": (0, ["cancelled"]),
    "between reserve and touch": (0, ["cancelled"]),
    "during touch": (1, ["lost"]),
    "after touch": (1, ["lost"]),
    "while reading rows": (1, ["lost"]),
    "while scoring": (1, ["lost"]),
    "while drawing": (1, ["lost"]),
    "while recording": (1, ["released"]),
    "during the record": (1, ["released"]),
    "while writing the file": (1, ["released"]),
}
# A killed process gives nothing back: what was reserved stays spent.
DEATH = INTERRUPTION | {
    "during reserve": (0, []),
    "between reserve and touch": (1, ["reserved"]),
    "during touch": (1, ["reserved"]),
    "after touch": (1, ["touched"]),
    "while reading rows": (1, ["touched"]),
    "while scoring": (1, ["touched"]),
    "while drawing": (1, ["touched"]),
    "while recording": (1, ["touched"]),
    "during the record": (1, ["touched"]),
}


def signalled_at(moment: str, number: int, words: list[str]) -> None:
    """Run the command, and send this process a signal at one precise moment."""
    home, name, left = MOMENTS[moment]
    original = getattr(home, name)
    calls = [left]

    def instead(*given, **named):
        calls[0] -= 1
        if calls[0] == -1:
            os.kill(os.getpid(), number)
        return original(*given, **named)

    setattr(home, name, instead)
    sys.exit(run(words))


def serve() -> None:
    """For each job on standard input, run it in a child of this process: so the libraries are loaded only once."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            os.chdir(job["folder"])
            os.environ.update(job["environment"])
            for number, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
            signalled_at(job["moment"], job["number"], job["words"])
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


@pytest.fixture(scope="module")
def driven():
    """Run a `select` that is signalled, as a process of its own."""
    command = [sys.executable, "-m", __name__]
    root = Path(__file__).parents[2]

    def run(place: Place, moment: str, number: signal.Signals) -> Done:
        folder = place.folder / "temporary"
        job = {
            "moment": moment,
            "number": int(number),
            "words": place.words(out=place.folder / "release.json"),
            "folder": str(folder),
            "environment": dict(os.environ),
        }
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        code = int(process.stdout.readline())
        return Done(code, (folder / "out").read_text(), (folder / "err").read_text())

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        yield run
        process.stdin.close()


def states(place: Place) -> list[str | None]:
    """Return what became of each reservation."""
    with Ledger(place.ledger) as ledger:
        return [entry.state for entry in ledger.history() if entry.kind == "reserve"]


def check_next(place: Place, spent: float, found: list[str | None]) -> None:
    """Check the ledger, then ask the same again: it is answered, free where a release had been recorded."""
    assert (place.spent(), states(place)) == (spent, found)
    again = place.select(out=place.folder / "release.json")
    assert again.code == 0
    assert place.spent() == (spent if found == ["released"] else spent + 1)
    assert place.run("budget", "verify", "release.json", "--ledger", place.ledger).code == 0
    assert place.select("--quiet").out == again.out


@pytest.mark.parametrize("moment", MOMENTS)
def test_interrupt(place, driven, moment):
    """After ctrl-C: one line, code 130, nothing half-written, and the budget gone only once rows may be read."""
    done = driven(place, moment, signal.SIGINT)
    assert (done.code, done.err) == (130, INTERRUPTED)
    # Only what was paid for and recorded is shown.
    assert (done.out != "") == (moment == "while writing the file")
    assert not list(place.folder.glob("*release.json*"))
    check_next(place, *INTERRUPTION[moment])


@pytest.mark.parametrize("moment", MOMENTS)
def test_kill(place, driven, moment):
    """After kill -9: nothing printed, no file in part, and what was reserved stays spent."""
    done = driven(place, moment, signal.SIGKILL)
    assert (done.code, done.out, done.err) == (-signal.SIGKILL, "", "")
    assert not place.folder.joinpath("release.json").exists()
    check_next(place, *DEATH[moment])


def test_recovery(place, driven):
    """What a killed process left open is closed by the ledger's recovery; the charge stands."""
    driven(place, "while scoring", signal.SIGKILL)
    with Ledger(place.ledger) as ledger:
        assert len(ledger.recover(None)) == 1
    check_next(place, 1, ["lost"])


def test_interrupt_at_the_question(place):
    """Ctrl-C at the question whether to go on spends nothing."""
    master, slave = os.openpty()
    command = [sys.executable, "-m", "discreet", *place.words(asks=True)]
    with subprocess.Popen(
        command,
        stdin=slave,
        stderr=slave,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test run in the background ignores it
    ) as process:
        os.close(slave)  # so that a process that ends early ends the reading
        shown = b""
        while b"Go on?" not in shown:
            shown += os.read(master, 4096)
        time.sleep(0.05)  # until it waits for the answer; before that, the outcome is the same
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
    shown += os.read(master, 4096)
    os.close(master)
    assert (process.returncode, out) == (130, "")
    assert b"Traceback" not in shown
    check_next(place, 0, [])


if __name__ == "__main__":
    serve()
