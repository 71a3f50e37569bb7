"""What came out is not shown before its slot is over, however quickly it came."""

from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from discreet.errors import ComputationFailedError
from discreet_service import clock
from discreet_service.clock import instant_of, now, seconds_until
from discreet_service.worker import parts
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


@pytest.mark.parametrize("jump_h", [1, -1])
def test_a_clock_that_is_set_within_a_slot_moves_no_outcome(jump_h, monkeypatch, capsys):
    """Else whether rows were done with before it was set would decide when the outcome is recorded, and whether."""
    request = SimpleNamespace(slot_end=now(60))
    slot_end = instant_of(request.slot_end)
    deliveries = [parts.AtShareEnd(request, end) for end in parts._ends(slot_end)] + [AtSlotEnd(request)]

    class SetClock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=jump_h)

    monkeypatch.setattr(clock, "datetime", SetClock)
    assert abs(seconds_until(request.slot_end)) > 3000
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    for delivery in deliveries:
        delivery.wait()
    assert sorted(slept) == slept
    assert 0 < slept[0] < slept[-1] <= 60
    assert capsys.readouterr().out == ".\n"
