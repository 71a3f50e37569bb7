"""Simulations are free: in processes of their own, ended with the caller or at a limit, and nobody keeps others out."""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from discreet import errors, workflow
from discreet.errors import InvalidParameterError
from discreet_service.access.roles import Principal, Role
from discreet_service.problems import status_of
from discreet_service.schemas import ExpectIn
from discreet_service.simulation import child, run
from discreet_service.use_cases import plans
from tests.acceptance.service_processes import server, set_up
from tests.office import METADATA, open_office

PATIENCE_S = 120.0
SMALL = {"dataset": "toy", "target": "y", "epsilons": [1.0], "n_tables": 2}
LONG = SMALL | {"epsilons": [0.1, 0.3, 1.0, 3.0, 10.0], "n_rows": 4_000_000, "n_tables": 200}
"""Minutes of work."""


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    """An office that allows simulations so much that none of them comes to its limits here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))  # what was simulated before is no matter
        with open_office(tmp_path_factory.mktemp("office"), simulation_s=3600) as opened:
            yield opened


def simulations(cache):
    """Processes that simulate with a cache, which tells those of one service from all others on this machine."""
    processes = []
    for folder in Path("/proc").iterdir():
        try:
            words, names = ((folder / file).read_bytes().split(b"\0") for file in ("cmdline", "environ"))
        except OSError:
            continue
        if child.__name__.encode() in words and f"XDG_CACHE_HOME={cache}".encode() in names:
            processes.append(int(folder.name))
    return set(processes)


def wait_for(is_so):
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def asking(url, key, question):
    """Ask, and leave at the end of the block without an answer."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE_S)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/expectations", json.dumps(question), headers)
    try:
        yield connection
    finally:
        connection.close()


def expected(office, question=SMALL, **limits):
    """What a server with such limits answers."""
    context = office.context
    limited = run.Simulations(run.ResourceLimits(**({"memory_mb": 3072, "cpu_s": 600} | limits)))
    changed = replace(context, simulations=limited)
    return plans.expect_record(changed, Principal("cora", Role.CURATOR), ExpectIn.model_validate(question))


def test_the_server_does_not_compute(office, monkeypatch):
    """It answers though nothing can be simulated in its own process, where it was before; the answer is the same."""
    usual = workflow.expect
    monkeypatch.setattr(workflow, "expect", lambda *_: pytest.fail("computed here"))
    answer = office.call("ann", "POST", "/expectations", json=SMALL)
    with pytest.raises(pytest.fail.Exception):  # control
        workflow.expect(None)
    question = workflow.Question(workflow.Metadata.from_value(METADATA), "y", None, epsilons=(1.0,), n_tables=2)
    assert answer.json() == json.loads(json.dumps(usual(question).record(question)))


def test_the_same_question_takes_no_process(office, monkeypatch):
    """What was answered is remembered: the picture beside the table of a page is drawn from it."""
    first = office.call("ann", "POST", "/expectations", json=SMALL)
    monkeypatch.setattr(run, "_simulate", lambda *_: pytest.fail("asked again"))
    assert office.call("abe", "POST", "/expectations", json=SMALL).json() == first.json()


def test_a_simulation_ends_with_its_caller_and_others_do_not_wait(tmp_path):
    """Of two people with minutes of work one leaves, and that process ends; a third is answered beside the other."""
    file, _, keys = set_up(tmp_path, simulation_s=3600)
    with server(file, tmp_path / "log", XDG_CACHE_HOME=str(tmp_path)) as url:
        with asking(url, keys["ann"], LONG):
            wait_for(lambda: len(simulations(tmp_path)) == 1)
            (stays,) = simulations(tmp_path)
            with asking(url, keys["abe"], LONG | {"n_rows": 3_999_999}):
                wait_for(lambda: len(simulations(tmp_path)) == 2)
                (leaves,) = simulations(tmp_path) - {stays}
            wait_for(lambda: leaves not in simulations(tmp_path))
            assert stays in simulations(tmp_path)
            with asking(url, keys["ann"], LONG | {"n_rows": 3_999_998}):  # a second one of the same person waits
                with asking(url, keys["otto"], SMALL) as connection:
                    assert connection.getresponse().status == 200
                assert simulations(tmp_path) == {stays}
        wait_for(lambda: not simulations(tmp_path))


def test_one_at_a_time_keeps_others_waiting():
    """Control: the lock that was there before lets one call of one person keep everybody else out."""
    lock = threading.BoundedSemaphore(1)
    assert lock.acquire(timeout=0.1)
    assert not lock.acquire(timeout=0.1)


def test_what_takes_too_long_is_refused(office):
    """The process is ended by the system, and the caller is told what to do instead."""
    with pytest.raises(InvalidParameterError, match=r"may take 2 s .* use `discreet plan` on your machine"):
        expected(office, LONG, cpu_s=2)
    assert not simulations(os.environ["XDG_CACHE_HOME"])


def test_what_takes_too_much_memory_is_refused():
    """The system gives the process no more than its limit, which is told as one; a plan itself needs less."""
    code = (
        "from discreet import workflow; from discreet_service.simulation import child; child.limit(4096, 60);"
        "workflow.expect = lambda question: bytearray(8 << 30); child.question_of = dict; print(child.answer({}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{'error': 'memory', 'text': ''}\n"
    with pytest.raises(InvalidParameterError, match=r"may take 4096 MB .* use `discreet plan` on your machine"):
        run._read({"error": "memory", "text": ""}, run.ResourceLimits(4096, 60))


def test_the_clock_runs_for_who_sleeps(office, monkeypatch):
    """A process that waits for something takes no processor, and is ended all the same."""
    monkeypatch.setattr(run, "_CLOCK_FACTOR", 0.01)
    with pytest.raises(InvalidParameterError, match="may take 2 s"):
        expected(office, LONG, cpu_s=2)
    assert not simulations(os.environ["XDG_CACHE_HOME"])


def test_too_many_rows_are_refused_at_once(office, monkeypatch):
    """Ten million rows start no process: neither by the API nor on the page."""
    monkeypatch.setattr(run, "_simulate", lambda *_: pytest.fail("simulated"))
    refused = office.call("ann", "POST", "/expectations", json=SMALL | {"n_rows": 10_000_000})
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert "4194304 rows of 4 columns" in refused.json()["detail"]


@pytest.mark.processes
def test_a_simulation_ends_with_its_server():
    """However that ended: its end of the pipe is closed."""
    question = plans.question_in(METADATA, ExpectIn.model_validate(LONG))
    job = {"question": question, "limits": {"memory_mb": 3072, "cpu_s": 600}}
    command = [sys.executable, "-m", child.__name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"epsilons": [1e-9]},
        {"epsilons": [1000], "delta": 0.9999999},
        {"delta": 5e-324, "r_squared": 5e-324},
        {"r_squared": 1 - 1e-16, "correlation": 1 - 1e-16, "n_rows": 1},
        {"correlation": -1 + 1e-16, "n_true": 0},
    ],
    ids=str,
)
def test_extremes_are_answered_or_refused(odd):
    """The ends of every range: an answer or a refusal that callers are told, never a fault of the service."""
    body = ExpectIn.model_validate(SMALL | odd)
    answer = child.answer(plans.question_in(METADATA, body))
    assert ("value" in answer) != (status_of(getattr(errors, answer.get("error", ""), Exception)())[0] == 422), answer
