"""What came out is not shown before its slot is over, however quickly it came."""

import time
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from tests.office import open_office

from discreet.errors import ComputationFailedError
from discreet_service import clock
from discreet_service.clock import instant_of, now, seconds_until
from discreet_service.worker import parts, queue
from discreet_service.worker.delivery import AtSlotEnd


def test_an_outcome_waits_for_the_end_of_its_slot(capsys):
    """The worker hears that the rows are done with; whoever waits for the outcome learns nothing before."""
    end = now(0.5)
    AtSlotEnd(SimpleNamespace(slot_end=end)).wait()
    assert seconds_until(end) < 0.01  # what two clocks may differ by
    assert capsys.readouterr().out == ".\n"


def test_a_late_outcome_is_none(capsys):
    """Its time would tell of the rows; the worker is not told either."""
    with pytest.raises(ComputationFailedError):
        AtSlotEnd(SimpleNamespace(slot_end=now(-0.5))).wait()
    assert capsys.readouterr().out == ""


def set_clock(monkeypatch, jump_h):
    """Set the machine's clock."""

    class SetClock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=jump_h)

    monkeypatch.setattr(clock, "datetime", SetClock)


@pytest.mark.parametrize("jump_h", [1, -1])
def test_a_clock_that_is_set_within_a_slot_moves_no_outcome(jump_h, monkeypatch, capsys):
    """Else whether rows were done with before it was set would decide when the outcome is recorded, and whether."""
    request = SimpleNamespace(slot_end=now(60))
    slot_end = instant_of(request.slot_end)
    deliveries = [parts.AtShareEnd(request, end) for end in parts._ends(slot_end)] + [AtSlotEnd(request)]

    set_clock(monkeypatch, jump_h)
    assert abs(seconds_until(request.slot_end)) > 3000
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    for delivery in deliveries:
        delivery.wait()
    assert sorted(slept) == slept
    assert 0 < slept[0] < slept[-1] <= 60
    assert capsys.readouterr().out == ".\n"


@pytest.mark.parametrize("is_seen", [True, False])
@pytest.mark.parametrize("jump_h", [1, -1])
def test_a_clock_that_is_set_takes_no_request_from_its_worker(tmp_path, monkeypatch, jump_h, is_seen):
    """Whether another worker saw the slot before or after: it is over when it was to be over, and then it is found."""
    with open_office(tmp_path, slot_s=30) as office:
        watch = queue.Watch()
        assert watch.expired(office.context) == []
        assert office.approve(office.ask()).status_code == 200
        request = queue.take(office.context)
        if is_seen:
            assert watch.expired(office.context) == []
        set_clock(monkeypatch, jump_h)
        assert watch.expired(office.context) == []
        if jump_h > 0:  # by the time of day alone it would be over
            assert [each.id for each in queue.Watch().expired(office.context)] == [request.id]
        started, most = time.monotonic(), 30 + office.context.settings.tick_s + queue.GRACE_S
        if is_seen or jump_h > 0:  # after a step back a slot that was not seen yet looks as long as the step
            monkeypatch.setattr(time, "monotonic", lambda: started + most + 1)
            assert [each.id for each in watch.expired(office.context)] == [request.id]
