"""Words that are decided beforehand."""

from discreet.mechanisms.rng import Source
from discreet.selftest.tape import Tape


def test_words_come_in_order():
    """Those given, then the rest, whatever is asked for at a time; and no release from them has a guarantee."""
    tape = Tape((0.25, 0.75), rest=0.5)
    assert isinstance(tape, Source)
    assert not tape.is_system
    assert tape.words(1).tolist() == [2**62]
    assert tape.words(2).tolist() == [3 * 2**62, 2**63]
    assert tape.words(1).tolist() == [2**63]
