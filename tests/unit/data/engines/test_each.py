"""A task on each batch, in threads: all of them, once; errors and interruptions come through."""

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest
from threadpoolctl import threadpool_info

from discreet.data.design import Design
from discreet.data.engines.each import WORKERS, each, interruptible
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.kernels.moments.exact_sums import ExactSum


def batch(n_rows: int) -> pa.RecordBatch:
    """Rows that can be counted."""
    return pa.record_batch([pa.array(range(n_rows))], names=["x"])


def streams(sizes: list[list[int]]) -> Iterator[list[pa.RecordBatch]]:
    """Streams of batches of these sizes."""
    return ([batch(size) for size in stream] for stream in sizes)


def test_every_batch_is_seen_once() -> None:
    """Whatever the streams, results and rows told are those of all batches."""
    told: list[int] = []
    sizes = [[3, 1], [], [5], *[[7, 2]] * 50]
    found = list(each(streams(sizes), lambda one: one.num_rows, told.append))
    assert sorted(found) == sorted(told) == sorted(size for stream in sizes for size in stream)
    assert list(each([], len)) == []


def test_an_error_of_the_task_is_raised() -> None:
    """The first error ends the pass, and all threads with it."""

    def task(one: pa.RecordBatch) -> int:
        if one.num_rows == 4:
            raise ValueError("here")
        return one.num_rows

    before = threading.active_count()
    with pytest.raises(ValueError, match="here"):
        list(each(streams([[1], [4]] + [[2]] * 1000), task))
    assert threading.active_count() == before


def test_an_error_of_the_source_is_raised() -> None:
    """Reading may fail as well as computing."""

    def broken() -> Iterator[list[pa.RecordBatch]]:
        yield [batch(2)]
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(each(broken(), len))


def test_whoever_stops_listening_stops_the_reading() -> None:
    """After the iterator is closed no more is read than a few batches, and the source is closed too."""
    read, closed = [], []

    def endless() -> Iterator[list[pa.RecordBatch]]:
        try:
            while True:
                read.append(1)
                yield [batch(1)]
        finally:
            closed.append(True)

    before = threading.active_count()
    found = each(endless(), lambda one: one.num_rows)
    assert next(found) == 1
    found.close()
    assert threading.active_count() == before
    assert closed == [True]
    assert len(read) <= 4 * WORKERS + 2


def test_an_interruption_of_whoever_listens_leaves_nothing_behind() -> None:
    """Even while its traceback is kept, as a notebook does: no thread, no limit."""
    metadata = Metadata.from_value(
        {
            "dataset": "t",
            "unit": "person",
            "neighboring": "add_or_remove_one",
            "columns": {name: {"type": "real", "lower": 0, "upper": 1} for name in "xy"},
        }
    )
    table = FrameTable(pa.table({"x": [0.5] * 200_000, "y": [0.5] * 200_000}), metadata)
    design = Design.plan(metadata, "y")
    before = threading.active_count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExactSum, "add", _interrupted)
        with pytest.raises(KeyboardInterrupt) as kept:
            table.moments(design)
    assert kept.value is not None
    assert threading.active_count() == before
    assert table.moments(design)[0, 0] == 200_000 * 32767**2


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_thread_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is the system's own, and the source is closed."""
    closed = []

    def source() -> Iterator[list[pa.RecordBatch]]:
        try:
            yield [batch(1)]
        finally:
            closed.append(True)

    made = source()
    next(made)
    monkeypatch.setattr(threading.Thread, "start", _no_thread)
    with pytest.raises(RuntimeError, match="can't start"):
        list(each(made, len))
    assert closed == [True]


def _no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_what_waits_for_a_server_gives_its_result_or_its_error() -> None:
    """From a thread aside, in which ctrl-C is not heard."""
    assert interruptible(lambda: 7) == 7
    with pytest.raises(OSError, match="gone"):
        interruptible(lambda: (_ for _ in ()).throw(OSError("gone")))


def test_two_passes_at_once_leave_linear_algebra_as_it_was() -> None:
    """Its own threads are off while passes run, whichever ends first, and on again after the last."""
    blas = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
    first, second = each(streams([[1]] * 3), len), each(streams([[1]] * 3), len)
    next(first), next(second)
    assert {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"} <= {1}
    list(first)
    assert {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"} <= {1}
    list(second)
    assert [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"] == blas
