"""Turns: few at once, one of each person, next whoever had one longest ago, and no queue without an end."""

import threading
import time
from contextlib import contextmanager

import pytest

from discreet.errors import ConflictError, TooManyRequestsError
from discreet_service.simulation.turns import Turns

PATIENCE_S = 60.0


def here():
    """The caller has not left."""
    return False


class Crowd:
    """People who take turns in threads: each writes down when it begins, and ends when it is told to."""

    def __init__(self, turns):
        self.turns, self.begun, self.refused = turns, [], []
        self._ends, self._threads = {}, []

    def come(self, who, name=None, *, is_queued=True):
        """Let somebody come; wait until they are in the queue or in their turn."""
        name = name or who
        self._ends[name] = threading.Event()
        self._threads.append(threading.Thread(target=self._take, args=(who, name), daemon=True))
        before = len(self.begun) + len(self.turns._waiting)
        self._threads[-1].start()
        if is_queued:
            wait_for(lambda: len(self.begun) + len(self.turns._waiting) > before)

    def _take(self, who, name):
        try:
            with self.turns.turn(who, PATIENCE_S, here):
                self.begun.append(name)
                self._ends[name].wait(PATIENCE_S)
        except TooManyRequestsError:
            self.refused.append(name)

    def end(self, name, n_begun=None):
        """Let a turn end; wait until so many have begun in all."""
        self._ends[name].set()
        if n_begun is not None:
            wait_for(lambda: len(self.begun) >= n_begun)

    def close(self):
        """Let all end."""
        for event in self._ends.values():
            event.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        assert not any(thread.is_alive() for thread in self._threads)


@contextmanager
def crowd(*limits):
    """A crowd that is gone at the end."""
    callers = Crowd(Turns(*limits))
    try:
        yield callers
    finally:
        callers.close()


def wait_for(is_so):
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_one_person_does_not_keep_others_from_their_turns():
    """Whoever asks again and again runs once at a time: the second place is another's, in whatever order they came."""
    with crowd(2, 9, 9) as people:
        for number in range(4):
            people.come("ann", f"ann {number}")
        people.come("abe")
        assert people.begun == ["ann 0", "abe"]
        people.end("abe")
        people.come("eve")
        wait_for(lambda: len(people.begun) > 2)
        assert people.begun == ["ann 0", "abe", "eve"]


def test_next_is_who_had_a_turn_longest_ago():
    """Not who came first: one who has just had a turn lets others go before."""
    with crowd(1, 9, 9) as people:
        people.come("ann", "ann 0")
        people.come("ann", "ann 1")
        people.come("abe", "abe 0")
        people.come("eve", "eve 0")
        people.end("ann 0", 2)
        people.come("abe", "abe 1")
        people.end("abe 0", 3)
        people.end("eve 0", 4)
        people.end("ann 1", 5)
        assert people.begun == ["ann 0", "abe 0", "eve 0", "ann 1", "abe 1"]


def test_the_queue_ends():
    """One person's third call and the queue's fourth are refused at once; an end makes room."""
    with crowd(1, 3, 2) as people:
        for name in ("ann 0", "ann 1", "ann 2"):
            people.come("ann", name)
        people.come("ann", "ann 3", is_queued=False)
        wait_for(lambda: people.refused == ["ann 3"])
        people.come("abe")
        people.come("eve", is_queued=False)
        wait_for(lambda: people.refused == ["ann 3", "eve"])
        people.end("ann 0", 2)
        people.come("eve", "eve again")
        assert people.refused == ["ann 3", "eve"]


def test_who_has_left_waits_no_more():
    """Its place in the queue is free, and its turn is another's; so it is with who waits too long."""
    with crowd(1, 1, 1) as people:
        people.come("ann")
        for timeout_s, is_gone, error in ((PATIENCE_S, lambda: True, ConflictError), (0, here, TooManyRequestsError)):
            with pytest.raises(error), people.turns.turn("abe", timeout_s, is_gone):
                pytest.fail("its turn came")
        people.come("eve")
        people.end("ann", 2)
        assert people.begun == ["ann", "eve"]


def test_a_turn_that_fails_ends():
    """Whatever happens in it, the next one can begin."""
    turns = Turns(1, 1, 1)
    with pytest.raises(ZeroDivisionError), turns.turn("ann", PATIENCE_S, here):
        raise ZeroDivisionError
    with turns.turn("ann", PATIENCE_S, here):
        assert turns._running == {"ann"}
    assert turns._running == set()
