"""The one door to randomness: how much is asked of the operating system, and what is told of a source."""

import os

import numpy as np
import pytest

from discreet.mechanisms.rng import Source, token


@pytest.mark.parametrize("count", [0, 1, 5])
def test_each_word_has_its_own_eight_bytes(monkeypatch, count):
    """The words are the bytes that the system gave, all of them and no others, asked for anew in every call."""
    asked = []

    def urandom(size):
        asked.append(size)
        return bytes(range(len(asked), len(asked) + size))

    monkeypatch.setattr(os, "urandom", urandom)
    source = Source()
    for call in (1, 2):
        words = source.words(count)
        assert words.tobytes() == bytes(range(call, call + 8 * count))
        assert (len(words), words.dtype) == (count, np.uint64)
    assert asked == [8 * count] * 2


def test_a_seeded_source_says_so():
    """Only the system's words are fit for a release; a seed repeats its own, over the whole range of a word."""
    assert Source().is_system is True
    assert Source.seeded(0).is_system is False
    words = Source.seeded(3).words(4000)
    assert np.array_equal(words, Source.seeded(3).words(4000))
    assert not np.array_equal(words, Source.seeded(4).words(4000))
    bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert abs(bits.mean(axis=0) - 0.5).max() < 6 * 0.5 / 4000**0.5


@pytest.mark.parametrize(("n_bytes", "length"), [(5, 8), (6, 10), (20, 32)])
def test_tokens_hold_all_their_bytes(monkeypatch, n_bytes, length):
    """Eight letters for each five bytes; another byte is another token."""
    assert len({token(n_bytes) for _ in range(20)}) == 20
    assert {len(token(n_bytes)) for _ in range(20)} == {length}
    monkeypatch.setattr(os, "urandom", lambda size: b"\xff" * size)
    assert token(5) == "77777777"
    assert len(token()) == 32
