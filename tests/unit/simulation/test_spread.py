"""Work spread over processes: results in order, and a clear error where a process is ended from outside."""

import os
import signal

import pytest

from discreet.errors import DiscreetError
from discreet.simulation.processes import spread


def square(number):
    return number * number


def ended(number):
    os.kill(os.getpid(), signal.SIGKILL)


def test_results_come_in_order():
    """Whichever process is done first."""
    assert list(spread(square, range(6), 2)) == [0, 1, 4, 9, 16, 25]


def test_a_process_that_is_ended_is_told_of():
    """As the kernel ends one for lack of memory: no fault of the program's, and what to do."""
    with pytest.raises(DiscreetError, match="Ask for fewer processes"):
        list(spread(ended, [1, 2], 1))
