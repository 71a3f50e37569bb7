"""A ceiling that a curator approved: parts are bought in one slot, and what is not drawn goes back."""

import time

import pytest

from discreet import workflow
from discreet.errors import BudgetError, ComputationFailedError
from discreet.release import Release
from discreet_service.worker import codes, job, parts, queue
from tests.office import open_office

SLOT_S = 16
"""Long enough for each part's share on a busy machine."""

PARTS = {"until": 0.6, "at_most": 1.5, "delta": 5e-7, "y_center": 0.0, "y_bound": 3.0}


@pytest.fixture(params=["basic", "zcdp"])
def office(tmp_path, request):
    """An office whose account adds up the one or the other."""
    with open_office(tmp_path, slot_s=SLOT_S) as opened:
        if request.param == "zcdp":
            with opened.context.ledger as book:
                book.grant("toy", 3, 1e-5, accounting="zcdp")
                book.allot("toy", "alpha", 2, 1e-6)
        yield opened


def spent(office):
    """What the account has spent, in what it adds up."""
    account = office.context.ledger.account("toy")
    return account.rho_spent if account.accounting == "zcdp" else account.epsilon_spent


def test_what_is_not_drawn_goes_back(office):
    """The ceiling is charged with the approval; at the slot's end what was drawn stands, and the release says so."""
    asked = office.ask(method="moments", parameters=PARTS)
    assert (asked["state"], asked["epsilon"], spent(office)) == ("waiting", 1.5, 0)
    office.approve(asked)
    held = spent(office)
    assert held > 0
    office.answer()
    answered = office.read(asked)
    assert answered["state"] == "released"
    release = Release.from_json(office.call("ann", "GET", f"/requests/{asked['id']}/release").text)
    record = release.pooled
    drawn = record.rho_spent if record.accounting == "zcdp" else record.epsilon_spent
    assert float(spent(office)) == pytest.approx(drawn, rel=1e-5)
    assert spent(office) < held
    ended = {entry.time for entry in office.context.ledger.history() if entry.seq >= answered["entry"]}
    assert min(ended) >= answered["slot_end"][:19]
    office.context.ledger.verify()
    again = office.ask(key="key-00000002", method="moments", parameters=PARTS)
    assert (again["state"], again["is_free"]) == ("released", True)
    assert Release.from_json(office.call("ann", "GET", f"/requests/{again['id']}/release").text) == release


def test_a_worker_that_dies_between_parts_loses_nothing_bought(office, monkeypatch):
    """Its request is queued again; the part that was recorded is taken from the ledger, and the ceiling still holds."""
    asked = office.ask(method="moments", parameters=PARTS | {"until": 0.99999})
    office.approve(asked)
    held = spent(office)
    plain, bought = parts._part, []

    def die_after_one(*given):
        if bought:
            raise KeyboardInterrupt
        bought.append(plain(*given))
        return bought[0]

    monkeypatch.setattr(parts, "_part", die_after_one)
    taken = queue.take(office.context)
    with pytest.raises(KeyboardInterrupt):
        job.run(office.context, taken.id)
    assert spent(office) == held
    assert queue._requeue(office.context, taken)
    monkeypatch.setattr(parts, "_part", plain)
    office.answer()
    release = Release.from_json(office.call("ann", "GET", f"/requests/{asked['id']}/release").text)
    assert release.pooled.parts[0].entry == bought[0].provenance.ledger.entry
    assert spent(office) <= held
    office.context.ledger.verify()


def test_a_request_that_fails_gives_back_all_that_was_not_drawn(office, monkeypatch):
    """Where no row was read the whole ceiling goes back; withdrawn, too."""
    for key, end in (("key-00000001", "settle"), ("key-00000002", "withdraw")):
        asked = office.ask(key=key, method="moments", parameters=PARTS)
        office.approve(asked)
        assert spent(office) > 0
        if end == "withdraw":
            assert office.call("ann", "POST", f"/requests/{asked['id']}/withdrawal").status_code == 200
        else:
            with monkeypatch.context() as patch:
                patch.setattr(parts, "buy", _refuse)
                with pytest.raises(BudgetError):
                    office.answer()
        assert spent(office) == 0


def _refuse(*_):
    raise BudgetError("No part must be bought in this test. Ask again.")


@pytest.mark.parametrize(
    "parameters",
    [{"until": 0.8}, {"at_most": 1.0}, {"until": 0.8, "at_most": 1.0, "epsilon": 1.0}, {"until": 2, "at_most": 1}],
)
def test_parts_without_an_aim_or_a_ceiling_are_refused(office, parameters):
    """Before anything is charged, and in words."""
    body = {"dataset": "toy", "project": "alpha", "method": "moments", "target": "y", "parameters": parameters}
    answer = office.call("ann", "POST", "/requests", json=body, headers={"Idempotency-Key": "key-00000009"})
    assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("seconds", [0.0, 4.0])
def test_a_part_without_a_result_tells_no_more_than_that(office, monkeypatch, seconds):
    """Whether rows made it fail or late, and by how much, no time of the ledger says: the loss is of the slot's end."""
    asked = office.ask(method="moments", parameters=PARTS)
    office.approve(asked)
    states = []

    def late_or_broken(*_):
        time.sleep(seconds)  # beyond the first share, or not
        raise ComputationFailedError

    monkeypatch.setattr(workflow.request, "_computed", late_or_broken)
    monkeypatch.setattr(queue, "settle", lambda context, *_: states.append(context.ledger.history("toy")[-1].kind))
    taken = office.work()
    assert states == ["touch"]
    monkeypatch.undo()
    assert not queue._requeue(office.context, taken)
    queue.settle(office.context, taken, codes.NOT_STARTED)
    failed = office.read(asked)
    assert (failed["state"], failed["code"]) == ("failed", codes.NO_RESULT)
    drawn = [entry for entry in office.context.ledger.history("toy") if entry.state == "lost"]
    assert len(drawn) == 1
    assert float(spent(office)) == float(drawn[0].rho or drawn[0].epsilon)
    office.context.ledger.verify()
