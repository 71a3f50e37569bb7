"""Server, worker and job are killed at every step: budget may be lost, and nothing else."""

import json
import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import httpx2
import pytest

from discreet.ledger import Ledger
from discreet.release import Release
from discreet_service.access.roles import Principal, Role
from discreet_service.context import open_context
from discreet_service.schemas import RequestIn
from discreet_service.use_cases import releases, requests
from tests.acceptance.service_crash import approve
from tests.acceptance.service_processes import PATIENCE_S, crowd, own_machine, play, serve, set_up, start
from tests.effort import either
from tests.office import QUESTION, settings_of

pytestmark = pytest.mark.processes

COST = Fraction(1, 2)
SLOT_S = 12
"""Sixteen jobs begin at once, on one busy core."""
ANN = Principal("ann", Role.ANALYST)

RESERVE = "discreet.ledger.ledger:Ledger.reserve"
DECIDE = "discreet_service.store.decisions:add"
WITNESS = "discreet.ledger.witness:Witness.add"
TAKE = "discreet_service.worker.queue:take"
BEGIN = "discreet_service.worker.queue:begin"
TELL = "discreet_service.worker.loop:_send"
HEARD = "discreet_service.worker.loop:_read_byte"
SETTLE = "discreet_service.worker.queue:settle"
RUN = "discreet_service.worker.job:run"
OPENED = "discreet_service.worker.job:_open_table"
TOUCH = "discreet.ledger.reservation:Reservation.touch"
COMPUTED = "discreet.workflow.request:_computed"
WAIT = "discreet_service.worker.job:AtSlotEnd.wait"
WORDED = "discreet.workflow.priced_request:PricedRequest.release"
SHOWN = "discreet_service.worker.job:AtSlotEnd.released"
RELEASE = "discreet.ledger.reservation:Reservation.release"

# Who is killed, where, and how the request ends. "again" has the curator approve once more; "orphan" leaves a job
# without its worker that records what it found.
DEATHS = {
    "approval begins": ({"server": (RESERVE, "before")}, "released", "again"),
    "approval is charged, not decided": ({"server": (DECIDE, "before")}, "released", "again"),
    "approval is decided, not committed": ({"server": (RESERVE, "commit")}, "released", "again"),
    "approval is committed, not witnessed": ({"server": (WITNESS, "before")}, "released"),
    "approval is done": ({"server": (RESERVE, "after")}, "released"),
    "request is to be taken": ({"worker": (TAKE, "before")}, "released"),
    "request is taken, not committed": ({"worker": (TAKE, "commit")}, "released"),
    "request is taken": ({"worker": (TAKE, "after")}, "released"),
    "job has no orders": ({"worker": (TELL, "before")}, "released"),
    "job has its orders": ({"worker": (TELL, "after")}, "released"),
    "job has said that it is ready": ({"worker": (HEARD, "after")}, "released"),
    "slot is not committed": ({"worker": (BEGIN, "commit")}, "released"),
    "slot has begun": ({"worker": (BEGIN, "after")}, "released"),
    "job knows its slot": ({"worker": (TELL, "after", 2)}, "released", "orphan"),
    "job has said that it is done": ({"worker": (HEARD, "after", 2)}, "released", "orphan"),
    "job without a worker is slow": ({"worker": (TELL, "after", 2)}, "no_result", "dawdle"),
    "worker is to settle": ({"worker": (SETTLE, "before")}, "released"),
    "job begins": ({"job": (RUN, "before")}, "not_started"),
    "table is opened": ({"job": (OPENED, "after")}, "not_started"),
    "rows are to be touched": ({"job": (TOUCH, "before")}, "not_started"),
    "touch is not committed": ({"job": (TOUCH, "commit")}, "not_started"),
    "touch is not witnessed": ({"job": (WITNESS, "before", 1)}, "no_result"),
    "rows are touched": ({"job": (TOUCH, "after")}, "no_result"),
    "rows are read": ({"job": (COMPUTED, "after")}, "no_result"),
    "noise is drawn, job is to wait": ({"job": (WAIT, "before")}, "no_result"),
    "slot has ended": ({"job": (WAIT, "after")}, "no_result"),
    "release is worded": ({"job": (WORDED, "after")}, "no_result"),
    "release is recorded, not committed": ({"job": (SHOWN, "after")}, "no_result"),
    "release is at its commit": ({"job": (RELEASE, "commit")}, "no_result"),
    "release is not witnessed": ({"job": (WITNESS, "before", 2)}, "released"),
    "release is done": ({"job": (RELEASE, "after")}, "released"),
    "loss is not committed": ({"job": (COMPUTED, "after"), "worker": (SETTLE, "commit")}, "no_result"),
    "loss is recorded": ({"job": (COMPUTED, "after"), "worker": (SETTLE, "after")}, "no_result"),
    "refund is not committed": ({"job": (TOUCH, "before"), "worker": (SETTLE, "commit")}, "released"),
    "refund is recorded": ({"job": (TOUCH, "before"), "worker": (SETTLE, "after")}, "not_started"),
}


ELSEWHERE = {
    "approval begins",
    "job has no orders",
    "job has its orders",
    "job has said that it is ready",
    "job has said that it is done",
    "worker is to settle",
    "job begins",
    "table is opened",
    "rows are to be touched",
    "noise is drawn, job is to wait",
    "slot has ended",
    "release is worded",
    "release is done",
    "loss is recorded",
    "refund is recorded",
}
"""Far from any transaction: what a database does for them is played on SQLite alone."""
BETWEEN = {
    "approval is charged, not decided",
    "approval is done",
    "request is to be taken",
    "request is taken",
    "slot has begun",
    "job knows its slot",
    "rows are touched",
    "release is done",
    "loss is recorded",
    "refund is recorded",
}
"""Before a transaction or after its commit, where a database has nothing to undo: on PostgreSQL in the long run."""
ON_A_SERVER = [name for name in DEATHS if name not in ELSEWHERE | either(BETWEEN, set())]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def played(request, tmp_path_factory):
    """Every death in an office of its own: folders, settings, requests, and how the processes ended."""
    first = tmp_path_factory.mktemp("first")
    fresh = request.getfixturevalue("postgres") if request.param == "postgresql" else lambda like=None: None
    url = fresh()
    _, settings, _ = set_up(first, url, slot_s=SLOT_S)
    with open_context(settings) as context:
        asked, _ = requests.submit(context, ANN, RequestIn.model_validate(QUESTION), "key-00000001")
    scenarios = {}
    for name, (faults, _, *more) in DEATHS.items():
        if url is not None and name not in ON_A_SERVER:
            continue
        folder = Path(shutil.copytree(first, tmp_path_factory.mktemp("death") / "office"))
        there = settings_of(folder, fresh(url), slot_s=SLOT_S)
        scenarios[name] = {
            "settings": there.model_dump(mode="json") | {"pepper": there.secret.decode()},
            "log": str(folder / "rows.log"),
            "requests": [asked.id],
            "faults": faults,
            "again": "again" in more,
            "mischief": "dawdle" if "dawdle" in more else None,
            "grace_s": 6.0 if "orphan" in more else 0.3,
        }
    return scenarios, dict(zip(scenarios, play(list(scenarios.values()))[0], strict=True))


@pytest.mark.parametrize("death", DEATHS)
def test_killed_at_a_step(played, death):
    """Whoever dies wherever: rows are read after the touch alone, once; the charge stands iff they were touched."""
    scenarios, ends = played
    if death not in scenarios:
        pytest.skip("played on SQLite alone, or in the long run")
    scenario, (faults, expected, *_) = scenarios[death], DEATHS[death]
    for role in ("server", "worker"):
        assert ends[death][role] == (-signal.SIGKILL if role in faults else 0)
    assert ends[death]["recovery"] == 0
    folder = Path(scenario["log"]).parent
    settings = settings_of(folder, scenario["settings"]["database"], slot_s=SLOT_S)
    with own_machine(folder), open_context(settings) as context:
        found = requests.list_visible(context, ANN)[0]
        assert (found.code or found.state) == expected
        _check_ledger(context.ledger, found, expected)
        if expected == "released":
            texts = {releases.release_of(context, ANN, found.id).to_json() for _ in range(2)}
            assert len(texts) == 1
            assert Release.from_json(texts.pop()).provenance.ledger.entry == found.entry
    _check_rows(Path(scenario["log"]), expected)


def _check_ledger(ledger, found, expected):
    ledger.verify()
    ledger.check_witness()
    kinds = [one.kind for one in ledger.history() if one.kind not in ("grant", "allot")]
    end = {"released": ["touch", "release"], "no_result": ["touch", "lost"], "not_started": ["cancel"]}[expected]
    assert kinds == ["reserve", *end]
    spent = 0 if expected == "not_started" else COST
    assert ledger.account("toy").epsilon_spent == spent
    assert {one.project: one.epsilon_spent for one in ledger.allotments("toy")} == {"alpha": spent, "beta": 0}


def _check_rows(log, expected):
    opened = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    assert len(opened) <= (expected != "not_started")
    assert len(opened) == 1 or expected != "released"
    assert all(one["states"] == ["touched"] for one in opened)
    for one in opened:  # the system ends a job with its slot, also where no worker is left to do it
        with pytest.raises(ProcessLookupError):
            os.kill(one["pid"], 0)


def test_a_question_lost_is_asked_again_at_full_price(played):
    """What was lost stays charged, and its question is free to be asked and charged again: it is not in flight."""
    scenario = played[0]["rows are read"]
    folder = Path(scenario["log"]).parent
    settings = settings_of(folder, scenario["settings"]["database"], slot_s=SLOT_S)
    with own_machine(folder), open_context(settings) as context:
        made, is_new = requests.submit(context, ANN, RequestIn.model_validate(QUESTION), "key-00000002")
        assert (made.state, is_new, made.is_free) == ("waiting", True, False)
    with own_machine(folder), Ledger(settings.database) as ledger:
        assert ledger.account("toy").epsilon_spent == COST


def test_a_job_outlives_its_worker(tmp_path):
    """Ctrl-C and a killed worker leave the job alone: what it found is recorded at the slot's end, and can be read."""
    workers = {}
    for number in (signal.SIGINT, signal.SIGKILL):
        folder = tmp_path / number.name
        folder.mkdir()
        file, settings, _ = set_up(folder, slot_s=20)
        with open_context(settings) as context:
            asked, _ = requests.submit(context, ANN, RequestIn.model_validate(QUESTION), "key-00000001")
        approve(settings, asked.id)
        workers[number] = start("worker", "--config", file, log=folder / "worker.log"), settings
    for number, (worker, settings) in workers.items():
        wait_until(lambda settings=settings: states(settings) == ["touched"])
        os.killpg(worker.pid, number)
    for number, (worker, settings) in workers.items():
        assert worker.wait(PATIENCE_S) == (0 if number is signal.SIGINT else -number)
        wait_until(lambda settings=settings: states(settings) == ["released"])
        with open_context(settings) as context:
            found = requests.list_visible(context, ANN)[0]
            assert (found.state, found.ended) == ("released", found.slot_end)
            context.ledger.verify()


def states(settings):
    """What has become of every reservation."""
    with Ledger(settings.database) as ledger:
        return [one.state for one in ledger.history() if one.kind == "reserve"]


def wait_until(holds):
    """Wait for something that comes, however busy the machine is."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _approved(url, key, asked):
    """The answer to an approval; None when the server died first."""
    try:
        headers = {"Authorization": f"Bearer {key}"}
        body = {"sha256": asked["sha256"]}
        answer = httpx2.post(
            f"{url}/v1/requests/{asked['id']}/approval", json=body, headers=headers, timeout=PATIENCE_S
        )
    except httpx2.TransportError:
        return None
    assert answer.status_code == 200
    return answer.json()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_server_killed_among_approvals(kind, request, tmp_path):
    """A server dies in a crowd of calls: each request is approved and charged, or neither; the next server opens."""
    database = request.getfixturevalue("postgres")() if kind == "postgresql" else None
    file, settings, keys = set_up(tmp_path, database)
    server, url = serve(file, tmp_path / "server.log")
    bodies = [QUESTION | {"parameters": {"epsilon": 0.01 + 1e-5 * i}} for i in range(40)]
    headers = [{"Idempotency-Key": f"key-{i:08}"} for i in range(len(bodies))]
    asks = [("POST", "/requests", keys["ann"], body, more) for body, more in zip(bodies, headers, strict=True)]
    asked = [body for _, body in crowd([url], [asks])[0]]
    with ThreadPoolExecutor(4) as pool:
        tried = [pool.submit(_approved, url, keys["cora"], one) for one in asked]
        wait_until(lambda: len(states(settings)) >= 10)
        server.kill()
        answered = [one.result() for one in tried]
    assert server.wait(PATIENCE_S) == -signal.SIGKILL
    with open_context(settings) as context:
        rows = {one.id: one for one in requests.list_visible(context, ANN, limit=100)}
        reserved = {one.facts["reference"]: one for one in context.ledger.history() if one.kind == "reserve"}
        assert {id_ for id_, row in rows.items() if row.state == "approved"} == set(reserved)
        assert {row.entry for row in rows.values() if row.entry} == {one.seq for one in reserved.values()}
        assert {one["id"] for one in answered if one} <= set(reserved)
        assert context.ledger.account("toy").epsilon_spent == sum(one.epsilon for one in reserved.values())
        context.ledger.verify()
        assert len(reserved) < len(asked)
    again, _ = serve(file, tmp_path / "again.log")
    again.terminate()
    again.wait(PATIENCE_S)
