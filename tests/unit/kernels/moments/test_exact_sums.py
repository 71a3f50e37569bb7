"""Sums that no number of rows can carry from one end of the integers to the other."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.moments.exact_sums import ExactSum

LIMITS = np.iinfo(np.int64)
integers = st.integers(LIMITS.min, LIMITS.max) | st.sampled_from([LIMITS.min, LIMITS.max, -1, 0, 2**32, -(2**32)])


def total(parts: list[int], start: int = 0) -> int:
    """The sum as the class has it."""
    found = ExactSum(np.array([start]))
    for part in parts:
        found.add(np.array([part]))
    return int(found.value()[0])


@given(st.lists(integers, max_size=40), integers)
def test_sums_are_those_of_whole_numbers_cut_once(parts: list[int], start: int) -> None:
    """As Python adds, and cut at 64 bits at the end alone, however far sums go on the way."""
    assert total(parts, start) == min(max(start + sum(parts), LIMITS.min), LIMITS.max)


@given(st.lists(integers, max_size=20), st.lists(integers, max_size=20), st.integers(-(2**30), 2**30))
def test_one_row_moves_a_sum_of_sums_by_no_more_than_it_adds(first: list[int], second: list[int], row: int) -> None:
    """Sums that were cut on the way, as partial sums of a cluster are, stay within one row's part of each other."""
    before = total([total(first), total(second)])
    after = total([total([*first, row]), total(second)])
    assert abs(after - before) <= abs(row)


def test_plain_addition_would_fail_that() -> None:
    """The control: 64 bits that wrap around move by 2^64 when one row is added."""
    with np.errstate(over="ignore"):
        wrapped = int(np.add(np.array([LIMITS.max]), np.array([1]))[0])
    assert abs(wrapped - LIMITS.max) > 2**63
    assert total([LIMITS.max, 1]) == LIMITS.max


def test_shapes_stay() -> None:
    """Matrices add up entry by entry, and what was added is not changed."""
    part = np.arange(6).reshape(2, 3)
    found = ExactSum(np.zeros((2, 3), dtype=np.int64))
    found.add(part)
    found.add(part)
    assert found.value().tolist() == [[0, 2, 4], [6, 8, 10]]
    assert part.tolist() == [[0, 1, 2], [3, 4, 5]]
