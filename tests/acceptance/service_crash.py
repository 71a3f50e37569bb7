"""A worker and its jobs that die, or misbehave, where they are told to. Reads scenarios as JSON; prints how all ended.

Processes are forked, which is quick. A job is a process of its own here as well, with pipes to its worker.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet
from sqlalchemy import Engine, event, select

from discreet.ledger import Ledger
from discreet.workflow import request as flow
from discreet_service.access.roles import Principal, Role
from discreet_service.context import open_context
from discreet_service.settings import Settings
from discreet_service.store import requests
from discreet_service.store.schema import requests as rows
from discreet_service.use_cases import decisions
from discreet_service.worker import job, loop, queue

PATIENCE_S = 60.0


def die():
    """End this process at once: no handler, no flush, no rollback of ours runs."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm(place, when, nth=1):
    """Have this process die before or after the nth call of a function; or before or after it commits from there on."""
    module, _, name = place.partition(":")
    owner = importlib.import_module(module)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    usual, seen = getattr(owner, last), []

    def wrapped(*given, **named):
        seen.append(1)
        if len(seen) != nth:
            return usual(*given, **named)
        if when == "before":
            die()
        if when == "commit":
            event.listen(Engine, "commit", lambda *_: die())
        found = usual(*given, **named)
        if when == "after":
            die()
        return found

    setattr(owner, last, wrapped)


def cell_of(table):
    """Read the first cell of a table, as a method could."""
    with open(table.locator, "rb") as file:
        return pyarrow.parquet.read_table(file)["y"][0].as_py()


def fail(table):
    """Fail with a cell in the text, the notes, the cause, and in the name of a type."""
    error = type(f"Cell{cell_of(table)}", (Exception,), {})(f"no number: {cell_of(table)}")
    error.add_note(f"in row 0: {cell_of(table)}")
    raise error from ValueError(str(cell_of(table)))


def say(table):
    """Say a cell on every channel there is, early, and go on for longer than the slot."""
    text = f"cell {cell_of(table)}\n"
    print(text, flush=True)
    os.write(1, text.encode())
    os.write(2, text.encode())
    warnings.warn(text, stacklevel=1)
    time.sleep(PATIENCE_S)


def hoard(table):
    """Take more memory than there may be."""
    return np.ones(10**10 + int(cell_of(table)))


def leave(table):
    """Leave the process by its back door, with a code of the job's own."""
    os._exit(11 + (cell_of(table) < 0))


MISCHIEF = {
    "fail": fail,
    "say": say,
    "hoard": hoard,
    "leave": leave,
    "die": lambda _: die(),
    "exit": lambda table: sys.exit(str(cell_of(table))),
    "segmentation": lambda _: os.kill(os.getpid(), signal.SIGSEGV),
    "dawdle": lambda _: time.sleep(PATIENCE_S),
    "be slow": lambda table: time.sleep(0.1 + (cell_of(table) > 0)),
}
"""What a method could do with the rows open; after "be slow" the method runs."""


class ForkedJob:
    """What the worker takes for a process of Popen: the job, forked."""

    def __init__(self, log, settings, fault, mischief):
        (stdin, self._in), (self._out, stdout) = os.pipe(), os.pipe()
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            os.dup2(stdin, 0)
            os.dup2(stdout, 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.closerange(3, 1024)  # as Popen does: nobody waits for a job that outlives its worker
            _be_the_job(log, settings, fault, mischief)
        os.close(stdin)
        os.close(stdout)
        self.stdin, self.stdout = os.fdopen(self._in, "wb"), os.fdopen(self._out, "rb")

    def wait(self, timeout=PATIENCE_S):
        """Wait for it to end, as Popen does."""
        deadline = time.monotonic() + timeout
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("job", timeout)
            else:
                time.sleep(0.005)
        return self.returncode

    def kill(self):
        """End it, if it still runs."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stdin.close()
        self.stdout.close()
        self.wait()


def _be_the_job(log, settings, fault, mischief):
    code = 1
    try:
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        _watch_rows(log, settings, mischief)
        if fault is not None:
            arm(*fault)
        code = job.main()
    finally:
        os._exit(code)


def _watch_rows(log, settings, mischief):
    """Note whenever rows are opened, and what a look at the disk from outside says of the reservation then."""
    usual = flow._computed

    def watched(prepared, table, source, progress=None, delivery=flow.AT_ONCE):
        with Ledger(settings.database) as ledger:
            states = [one.state for one in ledger.history() if one.kind == "reserve"]
        with log.open("a") as file:
            file.write(json.dumps({"pid": os.getpid(), "states": states}) + "\n")
        if mischief is not None and not log.with_name("done").exists():
            log.with_name("done").touch()  # the next request is answered as usual
            prepared = SimpleNamespace(run=_misbehaving(mischief, prepared))
        return usual(prepared, table, source, progress, delivery)

    flow._computed = watched


def _misbehaving(mischief, prepared):
    def run(table, source, progress):
        MISCHIEF[mischief](table)
        return prepared.run(table, source, progress)

    return run


def forked(do):
    """Do something in a child; how it ended."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            do()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def approve(settings, id_, fault=None):
    """Do what the server does when a curator approves."""
    with open_context(settings) as context:
        if fault is not None:
            arm(*fault)
        with context.database.read() as connection:
            found = requests.find(connection, id_)
        decisions.approve(context, Principal("cora", Role.CURATOR), id_, found.sha256)


def work(settings, log, grace_s, fault=None, job_fault=None, mischief=None):
    """Do what a worker does until nothing is approved or running."""
    queue.GRACE_S, loop.POLL_S = grace_s, 0.2
    loop.subprocess = SimpleNamespace(
        Popen=lambda *_, **__: ForkedJob(Path(log), settings, job_fault, mischief),
        PIPE=None,
        DEVNULL=None,
        TimeoutExpired=subprocess.TimeoutExpired,
    )
    with open_context(settings) as context:
        if fault is not None:
            arm(*fault)
        loop.work(context, until=lambda: _is_at_rest(context))


def _is_at_rest(context):
    with context.database.read() as connection:
        states = list(connection.execute(select(rows.c.state)).scalars())
    return not {requests.APPROVED, requests.RUNNING} & set(states)


def play(scenario):
    """Approve, answer and recover, with one fault on the way; how everybody ended."""
    settings = Settings.model_validate(scenario["settings"])
    os.environ["XDG_STATE_HOME"] = str(
        Path(scenario["log"]).with_name("state")
    )  # a copy of an office is another machine
    log, asked, faults, grace_s = (scenario[name] for name in ("log", "requests", "faults", "grace_s"))
    ends = {"server": forked(lambda: [approve(settings, id_, faults.get("server")) for id_ in asked])}
    if scenario["again"]:
        ends["again"] = forked(lambda: [approve(settings, id_) for id_ in asked])
    given = (faults.get("worker"), faults.get("job"), scenario.get("mischief"))
    ends["worker"] = forked(lambda: work(settings, log, grace_s, *given))
    ends["recovery"] = forked(lambda: work(settings, log, grace_s))
    return ends


def play_all(scenarios, at_once=16):
    """Play scenarios, some at a time, each in a process of its own; a line for each."""
    waiting, running = list(enumerate(scenarios)), {}
    while waiting or running:
        while waiting and len(running) < at_once:
            number, scenario = waiting.pop(0)
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.write(write, json.dumps([number, play(scenario)]).encode())
                os._exit(0)
            os.close(write)
            running[pid] = read
        pid, _ = os.wait()
        with os.fdopen(running.pop(pid)) as file:
            print(file.read(), flush=True)


if __name__ == "__main__":
    play_all(json.load(sys.stdin))
