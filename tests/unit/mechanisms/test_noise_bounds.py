"""Bounds of noise from 64 bits, and from digits: they hold what further bits can give, and little more."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet.mechanisms import selection
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noise_bounds

NOISES: list[selection.Noise] = ["exponential", "gumbel", "laplace"]
EDGES = [1, 2, 100, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 100, 2**64 - 3, 2**64 - 2]
WORDS = [*EDGES, *(int(word) for word in Source.seeded(1).words(20))]


def quantile(noise: str, number: Any) -> Any:
    """The noise that a uniform number stands for, by the definition of its law."""
    if noise == "exponential":
        return -mpmath.log(number)
    if noise == "gumbel":
        return -mpmath.log(-mpmath.log(number))
    return mpmath.log(2 * number) if number < 0.5 else -mpmath.log(2 * (1 - number))


def cell(noise: str, word: int, bits: int = 64) -> tuple[Any, Any]:
    """The noises of all uniform numbers that begin with these bits."""
    return tuple(sorted(quantile(noise, mpmath.mpf(end) / mpmath.mpf(2) ** bits) for end in (word, word + 1)))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("ahead", [0.0, -7.25, 1e6])
def test_floats_bound_the_noise(noise: selection.Noise, ahead: float) -> None:
    """Both ends of what further bits can give are inside, and the bounds are wider by a few errors of floats only."""
    low, high = noise_bounds(np.array(WORDS, dtype=np.uint64), noise, np.full(len(WORDS), ahead))
    with mpmath.workdps(60):
        for word, less, more in zip(WORDS, low.tolist(), high.tolist(), strict=True):
            first, last = (end + ahead for end in cell(noise, word))
            size = 2 + abs(ahead) + max(abs(first), abs(last))
            assert first - 2.0**-45 * size <= less <= first - 2.0**-47 * (1 + abs(ahead))
            assert last + 2.0**-47 * (1 + abs(ahead)) <= more <= last + 2.0**-45 * size


@pytest.mark.parametrize("noise", NOISES)
def test_the_last_words_leave_the_tail_open(noise: selection.Noise) -> None:
    """Where further bits may give any large noise, the bound is infinite."""
    low, high = noise_bounds(np.array([0, 2**64 - 1], dtype=np.uint64), noise, np.zeros(2))
    assert (noise == "exponential") == bool(np.isfinite(low).all())
    assert np.isinf(high).any()


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("behind", [Fraction(0), Fraction(10**9, 3), Fraction(-1, 7)])
def test_digits_bound_the_noise(noise: selection.Noise, bits: int, behind: Fraction) -> None:
    """The same with more bits: inside, and wider by the last digits only."""
    for word in WORDS:
        long = word << (bits - 64) | 12345
        found = selection._exact_bounds(selection._Contender(0, behind, long, bits), noise)
        with mpmath.workdps(400):
            shift = mpmath.mpf(behind.numerator) / behind.denominator
            first, last = (end - shift for end in cell(noise, long, bits))
            low, high = (mpmath.mpf(str(end)) for end in found)
            assert low < first < last < high
            size = 1 + abs(shift) + max(abs(first), abs(last))
            wide = mpmath.mpf(10) ** (8 - bits // 2) * size
            assert first - low < wide
            assert high - last < wide


@pytest.mark.parametrize("noise", NOISES)
def test_digits_at_the_ends(noise: selection.Noise) -> None:
    """The first and the last cell reach to infinity on the side where the law does."""
    first = selection._exact_bounds(selection._Contender(0, Fraction(0), 0, 128), noise)
    last = selection._exact_bounds(selection._Contender(0, Fraction(0), 2**128 - 1, 128), noise)
    infinite = Decimal("Infinity")
    if noise == "exponential":
        assert first[1] == infinite
        assert abs(last[0]) < Decimal("1e-30")
    else:
        assert first[0] == -infinite
        assert last[1] == infinite
