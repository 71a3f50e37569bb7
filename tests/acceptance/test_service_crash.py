"""Server, worker and job are killed at every step: budget may be lost, and nothing else."""

import json
import shutil
import signal
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from discreet.release import Release
from discreet.service.access.roles import Principal, Role
from discreet.service.context import open_context
from discreet.service.desk import releases, requests
from discreet.service.schemas import RequestIn
from tests.acceptance.service_processes import play, set_up
from tests.office import QUESTION, settings_of

COST = Fraction(1, 2)
SLOT_S = 6
ANN = Principal("ann", Role.ANALYST)

RESERVE = "discreet.ledger.ledger:Ledger.reserve"
DECIDE = "discreet.service.store.requests:decide"
WITNESS = "discreet.ledger.witness:Witness.add"
TAKE = "discreet.service.worker.queue:take"
SEND = "discreet.service.worker.loop:_send"
HEARD = "discreet.service.worker.loop:_heard"
SETTLE = "discreet.service.worker.queue:settle"
RUN = "discreet.service.worker.job:run"
OPENED = "discreet.service.worker.job:_opened"
TOUCH = "discreet.ledger.reservation:Reservation.touch"
COMPUTED = "discreet.workflow.request:_computed"
WAIT = "discreet.service.worker.job:AtSlotEnd.wait"
WORDED = "discreet.workflow.inquiry:Inquiry.release"
SHOWN = "discreet.service.worker.job:AtSlotEnd.released"
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
    "job has no orders": ({"worker": (SEND, "before")}, "released"),
    "job has its orders": ({"worker": (SEND, "after")}, "released", "orphan"),
    "job has said that it is done": ({"worker": (HEARD, "after")}, "released", "orphan"),
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
        if url is not None and name in ELSEWHERE:
            continue
        folder = Path(shutil.copytree(first, tmp_path_factory.mktemp("death") / "office"))
        there = settings_of(folder, fresh(url), slot_s=SLOT_S)
        scenarios[name] = {
            "settings": there.model_dump(mode="json") | {"pepper": there.secret.decode()},
            "log": str(folder / "rows.log"),
            "requests": [asked.id],
            "faults": faults,
            "again": "again" in more,
            "grace_s": 6.0 if "orphan" in more else 0.3,
        }
    return scenarios, dict(zip(scenarios, play(list(scenarios.values()))[0], strict=True))


@pytest.mark.parametrize("death", DEATHS)
def test_killed_at_a_step(played, death):
    """Whoever dies wherever: rows are read after the touch alone, once; the charge stands iff they were touched."""
    scenarios, ends = played
    if death not in scenarios:
        pytest.skip("played on SQLite alone")
    scenario, (faults, expected, *_) = scenarios[death], DEATHS[death]
    for role in ("server", "worker"):
        assert ends[death][role] == (-signal.SIGKILL if role in faults else 0)
    assert ends[death]["recovery"] == 0
    settings = settings_of(Path(scenario["log"]).parent, scenario["settings"]["database"], slot_s=SLOT_S)
    with open_context(settings) as context:
        found = requests.listed(context, ANN)[0]
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


def test_a_question_lost_is_asked_again_at_full_price(played):
    """What was lost stays charged, and its question is free to be asked and charged again: it is not in flight."""
    scenario = played[0]["rows are read"]
    settings = settings_of(Path(scenario["log"]).parent, scenario["settings"]["database"], slot_s=SLOT_S)
    with open_context(settings) as context:
        made, is_new = requests.submit(context, ANN, RequestIn.model_validate(QUESTION), "key-00000002")
        assert (made.state, is_new, made.is_free) == ("waiting", True, False)
    with Ledger(settings.database) as ledger:
        assert ledger.account("toy").epsilon_spent == COST
