"""What came out is not shown before its slot is over, however quickly it came."""

from types import SimpleNamespace

import pytest

from discreet.errors import ComputationFailedError
from discreet_service.clock import now, seconds_until
from discreet_service.worker.job import AtSlotEnd


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
