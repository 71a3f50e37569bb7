"""Random real numbers: floats within their error, digits that enclose the truth, and comparisons that end."""

from decimal import Decimal
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from race_sources import DIGITS, Chosen, InOrder, ends, middle, uniform
from tests.effort import either

from discreet.mechanisms.reals import Real, Uniform, Words, difference, image, largest, log_sum
from discreet.mechanisms.rng import Source

EDGES = [0, 1, 2, 3, 7, 12, 100, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 100, 2**64 - 3, 2**64 - 2, 2**64 - 1]
WORDS = [*EDGES, *(int(word) for word in Source.seeded(1).words(either(4, 15)))]
SEEDS = range(either(2, 5))
CLOSE = either(12, 30)


@pytest.fixture(autouse=True)
def _precision() -> Any:
    with mpmath.workdps(200):
        yield


def near(text: str, value: float, error: float) -> Real:
    """A number that is known exactly, and a float near it."""
    exact = Decimal(text)
    return Real(value, error, lambda _: (exact, exact))


def test_floats_that_are_apart_decide_alone() -> None:
    """Digits are not asked for where errors cannot matter."""

    def never(_: int) -> Any:
        raise AssertionError

    assert Real(1.0, 1e-3, never) < Real(1.01, 1e-3, never)
    assert not Real(1.01, 1e-3, never) < Real(1.0, 1e-3, never)


@pytest.mark.parametrize("place", [20, 39, 41, 100, 700])
def test_digits_decide_what_floats_cannot(place: int) -> None:
    """Numbers that differ far behind the last bit of a float, whose floats even tell the opposite."""
    small, large = near("1", 1.1, 0.2), near(f"1.{'0' * (place - 1)}1", 0.9, 0.2)
    assert small < large
    assert not large < small


def test_the_ends_of_the_line_are_beyond_all_numbers() -> None:
    """What stands for nothing yet compares with all."""
    assert Real.exactly(-np.inf) < Real.exactly(-1e300)
    assert Real.exactly(1e300) < Real.exactly(np.inf)
    assert Real(5.0, np.inf, lambda _: (Decimal(5), Decimal(5))) < Real.exactly(np.inf)


@pytest.mark.parametrize("word", WORDS)
def test_further_bits_stay_within_those_before(word: int) -> None:
    """Each interval lies in the one before, and holds the middle of what 64 bits say up to the stated error."""
    number = uniform(word)
    value = mpmath.mpf(number.value)
    first = mpmath.mpf(word) / mpmath.mpf(2) ** 64, mpmath.mpf(word + 1) / mpmath.mpf(2) ** 64
    intervals = [first, *(ends(number, digits) for digits in (40, 80, 120))]
    assert number.value == float(value)
    for (low, high), (less, more) in pairwise(intervals):
        assert low <= less < more <= high
    assert 0 < intervals[-1][0] < intervals[-1][1] < 1
    assert intervals[-1][1] - intervals[-1][0] <= mpmath.mpf(10) ** -120
    for low, high in intervals[1:]:
        assert max(abs(low - value), abs(high - value)) <= mpmath.mpf(2) ** -52


def test_asking_for_fewer_digits_again_gives_no_other_number() -> None:
    """The bits drawn once are the number's."""
    number = uniform(5, seed=9)
    narrow, wide = ends(number, 120), ends(number, 40)
    assert wide[0] <= narrow[0] < narrow[1] <= wide[1]


@pytest.mark.parametrize("word", WORDS)
def test_exponential_is_within_its_error(word: int) -> None:
    """For every value of the bits not yet drawn; the digits enclose the logarithm."""
    for seed in SEEDS:
        number = uniform(word, seed=seed)
        value, error = number.exponential()
        low, high = ends(number)
        inner = [-mpmath.log(end) for end in (high, low)]
        less, more = (mpmath.mpf(str(end)) for end in number.enclose_exponential(DIGITS))
        assert less <= inner[0] <= inner[1] <= more
        assert max(abs(inner[0] - value), abs(inner[1] - value)) <= error
    if word:
        # The whole cell that 64 bits tell.
        for end in (word, word + 1):
            if end < 2**64:
                assert abs(-mpmath.log(mpmath.mpf(end) / mpmath.mpf(2) ** 64) - value) <= error


@pytest.mark.slow
@pytest.mark.parametrize("rate", [-1e9, -3.0, 0.0, 700.0, 1e9])
@pytest.mark.parametrize("start", [None, -800.0, -1.0, 50.0])
def test_log_sum_is_within_its_error(start: float | None, rate: float) -> None:
    """log(e^start + E / e^rate) by mpmath, for extreme words too."""
    for word in WORDS:
        number = uniform(word, seed=word % 97)
        begin = None if start is None else Real.exactly(start)
        found = log_sum(begin, [number], Real.exactly(rate))
        energy = -mpmath.log(middle(number, 120))
        true = mpmath.log(energy) - rate
        if start is not None:
            top = max(true, mpmath.mpf(start))
            true = top + mpmath.log(mpmath.exp(true - top) + mpmath.exp(start - top))
        low, high = ends(found)
        assert low <= true <= high
        assert abs(true - found.value) <= found.error


def test_a_chain_of_points_keeps_its_error() -> None:
    """Forty points of a process, each from the one before."""
    rng = InOrder(Source.seeded(4))
    number, true = None, None
    for _ in range(40):
        step = Uniform(rng)
        number = log_sum(number, [step], Real.exactly(2.5))
        energy = mpmath.log(-mpmath.log(middle(step, 120))) - mpmath.mpf("2.5")
        true = energy if true is None else mpmath.log(mpmath.exp(true) + mpmath.exp(energy))
        assert abs(true - number.value) <= number.error < 1e-10
    assert number is not None
    low, high = ends(number)
    assert low <= true <= high


def test_some_energies_are_added() -> None:
    """The third next point of a process is that of three steps."""
    first, second, third = (uniform(word, seed=word) for word in (5, 2**63 + 9, 2**64 - 7))
    found = log_sum(Real.exactly(0.5), (first, second, third), Real.exactly(-2.0))
    energy = mpmath.fsum(-mpmath.log(middle(number, 120)) for number in (first, second, third))
    true = mpmath.log(mpmath.exp(mpmath.mpf("0.5")) + energy * mpmath.exp(2))
    low, high = ends(found)
    assert low <= true <= high
    assert abs(true - found.value) <= found.error


@pytest.mark.parametrize("size", [1.0, 1e9])
def test_difference_is_within_its_error(size: float) -> None:
    """Of two large numbers that nearly cancel."""
    rng = Source.seeded(2)
    for word in rng.words(40):
        left, right = (size * (1.0 + 1e-12 * int(part) / 2**32) for part in divmod(int(word), 2**32))
        found = difference(near(repr(left), left * (1 + 1e-16), size * 2e-16), Real.exactly(right))
        true = mpmath.mpf(repr(left)) - mpmath.mpf(right)
        low, high = ends(found)
        assert low <= true <= high
        assert abs(true - found.value) <= found.error


def test_comparisons_of_close_random_numbers_agree_with_200_digits() -> None:
    """Sums built to be closer than the error of floats: the answer is that of the digits."""
    for seed in range(CLOSE):
        word = int(Source.seeded(seed).words(1)[0])
        one, other = uniform(word, seed=seed), uniform(word, seed=1000 + seed)
        left, right = (log_sum(Real.exactly(-1.0), [number], Real.exactly(3.0)) for number in (one, other))
        assert abs(left.value - right.value) <= left.error + right.error
        assert (left < right) == (middle(one, 120) > middle(other, 120))


@pytest.mark.slow
@pytest.mark.parametrize("word", [0, 2**64 - 1, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA])
@pytest.mark.parametrize("length", [2, 8])
def test_long_runs_of_one_word_end(word: int, length: int) -> None:
    """However many words are alike before one is not, two numbers are told apart."""
    one = Uniform(InOrder(Chosen([word] * length, 1)))
    other = Uniform(InOrder(Chosen([word] * length, 2)))
    left, right = (log_sum(None, [number], Real.exactly(0.0)) for number in (one, other))
    assert (left < right) != (right < left)


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_a_source_that_gives_one_word_for_ever_is_refused(word: int) -> None:
    """A broken source is an error, not an endless search."""

    class Broken(Source):
        def words(self, count: int) -> Any:
            return np.full(count, word, dtype=np.uint64)

    one, other = (log_sum(None, (Uniform(Words(Broken())),), Real.exactly(0.0)) for _ in range(2))
    with pytest.raises(ArithmeticError, match="source of random bits"):
        assert one < other


def test_words_come_from_the_source_one_after_the_other() -> None:
    """No word is given twice, none is lost."""
    words = Words(Source.seeded(3))
    given = [words.next() for _ in range(600)]
    assert len(set(given)) == 600
    whole = np.concatenate([Source.seeded(3).words(256)])
    assert set(given[:256]) == {int(word) for word in whole}


def test_the_digits_do_not_depend_on_the_thread_s_decimal_context() -> None:
    """A caller who works with few digits gets the same comparisons."""
    import decimal

    found = []
    for prec in (28, 3):
        with decimal.localcontext() as context:
            context.prec = prec
            number = log_sum(Real.exactly(0.3), [uniform(77, seed=1)], Real.exactly(1.0))
            found.append(number.enclose(80))
    assert found[0] == found[1]


@pytest.mark.parametrize("digits", [40, 80, 160])
@pytest.mark.parametrize("word", [5, 2**40, 2**63, 2**64 - 7])
def test_an_enclosure_is_as_narrow_as_asked(digits: int, word: int) -> None:
    """Whatever a number is made of, its ends are apart by little more than the last digit that was asked for."""
    number = uniform(word, seed=word % 89)
    point = log_sum(Real.exactly(-1.0), [number], Real.exactly(2.0))
    numbers = [
        point,
        difference(point, near("0.75", 0.75, 0.0)),
        largest([point, Real.exactly(-5.0)]),
    ]
    found = [each.enclose(digits) for each in numbers]
    found += [number.enclose(digits), number.enclose_exponential(digits)]
    found.append(image(lambda value, context: context.exp(value), point, digits))
    for low, high in found:
        assert low < high
        assert high - low < Decimal(10) ** (9 - digits) * (1 + abs(high))


def test_errors_of_floats_are_not_larger_than_needed() -> None:
    """What is stated is a few roundings of what was computed, and the errors of what it was made of."""
    one, other = Real(3.0, 1e-12, near("3", 0, 0).enclose), Real(-40.0, 3e-12, near("-40", 0, 0).enclose)
    assert difference(one, other).error == pytest.approx(4e-12 + 43 * 2.0**-46, rel=1e-12)
    assert largest([one, other]).error == pytest.approx(1e-12, rel=1e-2)
    step = Real(2.9999999999999, 5e-12, near("3", 0, 0).enclose)
    assert largest([one, step]).error == pytest.approx(5e-12 - 1e-13, rel=1e-2)
    for word in (2**40, 2**62, 2**63, 2**64 - 2**30):
        number = uniform(word)
        value, error = number.exponential()
        assert error <= value * (2.0**-45 + 2.0**-29)
        plain = log_sum(None, [number], one)
        size = 1 + abs(plain.value + 3.0) + 3.0
        assert plain.error <= 1.2 * error / value + 1e-12 + 2.0**-46 * 2 * size
        assert log_sum(other, [number], one).error <= plain.error + other.error + 2.0**-46 * 2 * size
