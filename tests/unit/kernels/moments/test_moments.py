"""Second moments are the integers that exact arithmetic gives, however the rows come."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_limits

from discreet.kernels.moments import moments
from discreet.kernels.moments.moments import CHUNK_ROWS, GRID, compiled_moments, exact_moments

RNG = np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
CELLS = st.integers(-GRID, GRID)


def by_integers(rows: np.ndarray) -> np.ndarray:
    """The same sum in int64."""
    return rows.astype(np.int64).T @ rows.astype(np.int64)


def random_rows(n: int, p: int) -> np.ndarray:
    """Cells over the whole grid."""
    return RNG.integers(-GRID, GRID, size=(n, p), dtype=np.int16, endpoint=True)


@given(arrays(np.int16, st.tuples(st.integers(0, 9), st.integers(1, 5)), elements=CELLS))
def test_moments_are_those_of_integer_arithmetic(rows: np.ndarray) -> None:
    """Any small table gives the integers of int64 arithmetic, as int64 and symmetric."""
    for found in (exact_moments(rows), compiled_moments(rows)):
        assert found.dtype == np.int64
        assert np.array_equal(found, by_integers(rows))
        assert np.array_equal(found, found.T)


@pytest.mark.parametrize("n", [0, 1, 519, 520, 521, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 3 * CHUNK_ROWS + 7])
def test_every_row_counts_once_at_the_edges_of_chunks(n: int) -> None:
    """No row, one row, and one row less or more than whole chunks are summed in full."""
    rows = random_rows(n, 5)
    assert np.array_equal(exact_moments(rows), by_integers(rows))
    assert np.array_equal(compiled_moments(rows), by_integers(rows))


def test_order_of_rows_does_not_matter() -> None:
    """Reversed and shuffled rows give the same integers."""
    rows = random_rows(20_000, 4)
    found = exact_moments(rows)
    assert np.array_equal(found, exact_moments(rows[::-1]))
    assert np.array_equal(found, exact_moments(RNG.permutation(rows)))


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts add up to the whole, and other chunk sizes, with many flushes or none, give the same integers."""
    rows = random_rows(10_000, 3)
    found = exact_moments(rows)
    assert np.array_equal(found, sum(exact_moments(part) for part in np.array_split(rows, 7)))
    for size in (1, 17, 2**14):
        monkeypatch.setattr(moments, "CHUNK_ROWS", size)
        assert np.array_equal(found, exact_moments(rows))


@pytest.mark.slow
def test_threads_do_not_matter() -> None:
    """The linear algebra library gives the same integers on one thread as on many."""
    rows = random_rows(30_000, 64)
    expected = by_integers(rows)
    for threads in (1, 2, 4):
        with threadpool_limits(limits=threads):
            assert np.array_equal(exact_moments(rows), expected)


def test_layout_of_memory_does_not_matter() -> None:
    """Fortran order, strided rows and strided columns are read as what they are."""
    wide = random_rows(9_000, 6)
    for rows in (np.asfortranarray(wide), wide[::2], wide[:, ::2], wide[::-3, 1::2], np.asfortranarray(wide)[5:, 2:]):
        assert np.array_equal(exact_moments(rows), by_integers(np.ascontiguousarray(rows)))
        assert np.array_equal(compiled_moments(rows), by_integers(np.ascontiguousarray(rows)))


def test_more_extreme_rows_than_one_float_sum_holds_stay_exact() -> None:
    """12.6 million rows at the ends of the grid, a sum beyond 2^53 where a float64 loses units, are exact."""
    block = RNG.choice(np.array([GRID, GRID - 1, -GRID], dtype=np.int16), size=(4099, 2))
    block[:, 1] = np.sign(block[:, 0]) * -GRID
    times = (2**23 + 2**22) // len(block) + 1
    found = exact_moments(np.tile(block, (times, 1)))
    assert found[0, 0] > 2**53
    assert found[0, 1] < -(2**53)
    assert np.array_equal(found, times * by_integers(block))
    assert np.array_equal(found, compiled_moments(np.tile(block, (times, 1))))


def test_constant_extreme_rows_stay_exact() -> None:
    """Every cell at -32767 in more rows than one partial sum holds gives n times 32767 squared."""
    n = 2**21 + CHUNK_ROWS + 1
    rows = np.broadcast_to(np.int16(-GRID), (n, 1))
    assert exact_moments(rows).tolist() == [[n * GRID**2]]
