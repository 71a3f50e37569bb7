"""No cell decides when something is shown: outcomes stand at the end of a public slot, whatever came out."""

import json
import os
import resource
import shutil
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet.errors import BudgetError, ComputationFailedError, ConflictError
from discreet.workflow import request as flow
from discreet_service.access.roles import Principal, Role
from discreet_service.context import open_context
from discreet_service.schemas import RequestIn
from discreet_service.store import audit
from discreet_service.use_cases import requests
from discreet_service.worker import job, loop, queue
from tests.acceptance.service_processes import own_machine, play, set_up
from tests.office import QUESTION, open_office, settings_of

ANN = Principal("ann", Role.ANALYST)
SLOT_S = 8
"""A whole number of ticks, so that the next slot ends one tick and one slot later."""
CELL = 2.7319052846137
"""In the table that is read slowly, or whose computation fails with it."""

# What a method does with the rows open, and whether it ends with a release all the same.
CAUSES = {
    "nothing": (None, True),
    "a quick table": ("be slow", True),
    "a slow table": ("be slow", True),
    "an error with a cell in it": ("fail", False),
    "more memory than there is": ("hoard", False),
    "an exit": ("exit", False),
    "an exit by the back door": ("leave", False),
    "a death": ("die", False),
    "a fault of a library": ("segmentation", False),
    "longer than the slot": ("dawdle", False),
    "said early, and longer than the slot": ("say", False),
}


def write_cell(folder: Path, cell: float) -> None:
    """Change one cell of the private table."""
    path = folder / "private" / "toy.parquet"
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(table.set_column(0, "y", pa.array([cell, *table["y"].to_pylist()[1:]])), path)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Every cause in an office of its own, with a request that waits behind: their rows, entries and audit entries."""
    first = tmp_path_factory.mktemp("first")
    changes = {"slot_s": SLOT_S, "tick_s": SLOT_S, "memory_mb": 4000}
    _, settings, _ = set_up(first, **changes)
    with open_context(settings) as context:
        bodies = [RequestIn.model_validate(QUESTION | {"parameters": {"epsilon": epsilon}}) for epsilon in (0.5, 0.25)]
        asked = [requests.submit(context, ANN, body, f"key-{i:08}") for i, body in enumerate(bodies)]
    scenarios = {}
    for cause, (mischief, _) in CAUSES.items():
        folder = Path(shutil.copytree(first, tmp_path_factory.mktemp("cause") / "office"))
        write_cell(folder, -CELL if cause == "a quick table" else CELL)
        there = settings_of(folder, **changes)
        scenarios[cause] = {
            "settings": there.model_dump(mode="json") | {"pepper": there.secret.decode()},
            "log": str(folder / "rows.log"),
            "requests": [made.id for made, _ in asked],
            "faults": {},
            "again": False,
            "grace_s": 60.0,
            "mischief": mischief,
        }
    _, said = play(list(scenarios.values()))
    return {cause: _seen(Path(one["log"]).parent, changes) for cause, one in scenarios.items()}, said


def _seen(folder, changes):
    with own_machine(folder), open_context(settings_of(folder, **changes)) as context:
        second, first = (requests.request_out(context, one) for one in requests.list_visible(context, ANN))
        entries = [one for one in context.ledger.history() if one.reservation == first.entry]
        with context.database.read() as connection:
            audit_entries = [
                one for one in audit.page(connection, None, 50) if (one.actor, one.object) == ("worker", first.id)
            ]
        context.ledger.verify()
        return first, second, entries, audit_entries, (folder / "office.sqlite").read_bytes()


def seconds(time):
    """Return a time as a number."""
    return datetime.fromisoformat(time).timestamp()


@pytest.mark.processes
@pytest.mark.parametrize("cause", CAUSES)
def test_an_outcome_stands_at_the_end_of_its_slot(played, cause):
    """Request, audit and ledger have the slot's end; the next request's slot follows it, one tick on."""
    first, second, entries, (deed,), _ = played[0][cause]
    assert (first.state, first.code) == (("released", None) if CAUSES[cause][1] else ("failed", "no_result"))
    assert first.ended == first.slot_end == deed.time
    assert seconds(first.slot_end) % SLOT_S == 0
    assert [one.kind for one in entries] == ["touch", "release" if CAUSES[cause][1] else "lost"]
    assert seconds(entries[-1].time) // SLOT_S == seconds(first.slot_end) // SLOT_S
    assert seconds(second.slot_end) - seconds(first.slot_end) == 2 * SLOT_S
    assert second.state == "released"


@pytest.mark.processes
def test_failures_look_alike(played):
    """Whatever went wrong with the rows open, what is shown is the same to the byte, but for id and times."""
    shown = {one[0].model_copy(update=_PUBLIC).model_dump_json() for one in _failed(played)}
    assert len(shown) == 1
    audit_entries = {str(replace(one[3][0], seq=0, time="", object="")) for one in _failed(played)}
    assert len(audit_entries) == 1
    amounts = {(one.kind, one.epsilon, one.delta, str(one.facts)) for all_ in _failed(played) for one in all_[2]}
    assert amounts == {("touch", 0, 0, "{}"), ("lost", 0, 0, "{}")}


_PUBLIC = {"id": "", "created": "", "slot_end": "", "ended": "", "decision": None}


def _failed(played):
    return [played[0][cause] for cause, (_, is_released) in CAUSES.items() if not is_released]


@pytest.mark.processes
def test_no_cell_is_said_or_kept(played):
    """The cell that every misbehaving method read stands in no output and nowhere in the database."""
    seen, said = played
    digits = str(CELL)[2:12]
    assert digits not in said
    assert '"event": "slot ended"' in said
    for _, _, _, _, content in seen.values():
        assert digits.encode() not in content


def test_a_late_outcome_is_not_recorded(tmp_path, monkeypatch):
    """What comes after the slot's end leaves no trace of its own: the worker ends the request, at the slot's end."""
    with open_office(tmp_path, slot_s=1) as office:
        asked = office.ask()
        assert office.approve(asked).status_code == 200
        taken, usual = queue.take(office.context), flow._computed

        def slow(*given):
            given[-1]._end -= 100.0
            return usual(*given)

        monkeypatch.setattr(flow, "_computed", slow)
        with pytest.raises(ComputationFailedError):
            job.run(office.context, taken.id)
        assert office.read(asked)["state"] == "running"
        assert office.context.ledger.state(taken.entry) == "touched"
        queue.settle(office.context, taken)
        ended = office.read(asked)
        assert (ended["state"], ended["code"], ended["ended"]) == ("failed", "no_result", taken.slot_end)
        assert office.call("ann", "GET", f"/requests/{asked['id']}/release").status_code == 409


def test_no_row_is_touched_in_a_slot_that_is_over(tmp_path):
    """A job that starts too late, or that another worker has overtaken, opens no row; the cost can be given back."""
    with open_office(tmp_path, slot_s=1) as office:
        asked = office.ask()
        assert office.approve(asked).status_code == 200
        taken = queue.take(office.context)
        past, other = (taken.slot_end.replace("20", year, 1) for year in ("19", "21"))
        overtaken = job.AtSlotEnd(replace(taken, slot_end=other))
        with office.context.database.write() as connection:
            queue.requests.step(connection, taken.id, "running", "running", slot_end=past)
        late = job.AtSlotEnd(replace(taken, slot_end=past))
        for delivery, error in ((late, BudgetError), (overtaken, ConflictError)):
            with pytest.raises(error):
                office.context.ledger.reservation(taken.entry).touch(within=delivery.touched)
            assert office.context.ledger.state(taken.entry) == "reserved"
        taken = replace(taken, slot_end=past)
        queue.settle(office.context, taken)
        assert office.read(asked)["code"] == "not_started"
        assert office.context.ledger.account("toy").epsilon_spent == 0


def test_a_worker_that_was_overtaken_settles_nothing(tmp_path, monkeypatch):
    """Two workers find one stale request: it is queued once, and neither ends the slot that a third one began."""
    monkeypatch.setattr(queue, "GRACE_S", -100.0)
    with open_office(tmp_path, slot_s=1) as office:
        asked = office.ask()
        assert office.approve(asked).status_code == 200
        stale = queue.take(office.context)
        queue.recover(office.context)
        assert office.read(asked)["state"] == "approved"
        with monkeypatch.context() as patch:
            patch.setattr(queue, "slot_end", lambda *_: "2999-01-01T00:00:00.000Z")
            again = queue.take(office.context)
        assert again.attempts == 2
        queue.settle(office.context, stale)
        assert queue._requeue(office.context, stale)
        assert office.read(asked)["state"] == "running"


def test_what_was_recovered_by_hand_is_ended(tmp_path):
    """A reservation that `discreet budget recover` has marked as lost leaves no request that runs for ever."""
    with open_office(tmp_path, slot_s=1) as office:
        asked = office.ask()
        assert office.approve(asked).status_code == 200
        taken = queue.take(office.context)
        office.context.ledger.reservation(taken.entry).touch()
        assert office.context.ledger.recover(None) == [taken.entry]
        queue.settle(office.context, taken)
        assert office.read(asked)["code"] == "no_result"
        assert json.loads(office.client.get("/v1/health").text) == {"status": "ready"}


SLOW_START = """
import sys, time
if "discreet_service.worker.job" in sys.orig_argv:
    time.sleep(5)
"""
SHORT_S = 4
"""A slot that is shorter than a start-up takes."""


def worked(folder, monkeypatch, **changes):
    """Have a worker and a job of its own answer a request after a slow start-up; the request, entries and limits."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SLOW_START)
    limits = []
    usual = loop._start_slot

    def begun(context, process, taken):
        started = usual(context, process, taken)  # the job waits to be told when its slot ends
        limits.append([resource.prlimit(process.pid, kind) for kind in (resource.RLIMIT_AS, resource.RLIMIT_CORE)])
        return started

    with monkeypatch.context() as patch, open_office(folder, slot_s=SHORT_S, **changes) as office:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]))
        patch.setattr(loop, "REST_S", 0.0)
        patch.setattr(loop, "_start_slot", begun)
        request = office.ask()
        assert office.approve(request).status_code == 200
        loop.work(office.context, once=True)
        entries = [entry.kind for entry in office.context.ledger.history("toy")]
        return office.read(request), entries, limits[0]


def test_a_slow_start_up_costs_nothing_of_the_slot(tmp_path, monkeypatch):
    """The slot's clock starts when the job can: one whose program takes longer to load than the slot is answers."""
    request, entries, limits = worked(tmp_path / "new", monkeypatch, memory_mb=4321)
    assert (request["state"], request["code"]) == ("released", None)
    assert entries[-3:] == ["reserve", "touch", "release"]
    assert request["ended"] == request["slot_end"]
    assert limits == [(4321 << 20, 4321 << 20), (0, 0)]  # before anything of the table is looked at


def test_a_clock_that_runs_during_start_up_is_flagged(tmp_path, monkeypatch):
    """Control: with a slot that begins when the request is taken up, as it was, the same start-up leaves no release."""
    monkeypatch.setattr(queue, "begin", lambda _, taken: taken)
    request, entries, _ = worked(tmp_path / "old", monkeypatch)
    assert (request["state"], request["code"]) == ("failed", "not_started")
    assert "release" not in entries


def test_a_job_that_never_starts_costs_nothing(tmp_path, monkeypatch):
    """It is ended after a time that no row decides; its slot begins, and at the end the cost is given back."""
    monkeypatch.setattr(job, "START_S", 1.0)
    request, entries, _ = worked(tmp_path / "never", monkeypatch)
    assert (request["state"], request["code"], request["ended"]) == ("failed", "not_started", request["slot_end"])
    assert entries[-2:] == ["reserve", "cancel"]
