"""A task on each batch of rows, in threads that read and compute side by side."""

import os
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TypeVar

from discreet.kernels.rows.thread_limits import OneCore

T = TypeVar("T")
Block = TypeVar("Block", bound=Sized)

Progress = Callable[[int], None]

MOST_WORKERS = 8
WORKERS = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST_WORKERS)
"""Threads: as many as there are processors, and no more than a batch each can be held in memory."""
_WAIT_S = 0.05
LISTEN_S = 0.2
"""Some libraries, polars is one, install a handler of ctrl-C that does not end a wait."""


def each(
    streams: Iterable[Iterable[Block]],
    task: Callable[[Block], T],
    progress: Progress | None = None,
) -> Generator[T]:
    """Yield the result of a task on each batch, in any order, while few results wait at a time.

    An error in a thread is raised here. Closing the iterator, or an interruption, stops each thread after its batch.
    """
    source, lock, stop = iter(streams), threading.Lock(), threading.Event()
    results: queue.Queue[tuple[int, T] | BaseException | None] = queue.Queue(2 * WORKERS)

    def offer(item: tuple[int, T] | BaseException | None) -> None:
        while not stop.is_set():
            with suppress(queue.Full):
                results.put(item, timeout=_WAIT_S)
                return

    def run() -> None:
        try:
            while not stop.is_set():
                with lock:
                    stream = next(source, None)
                if stream is None:
                    break
                for batch in stream:
                    offer((len(batch), task(batch)))
                    if stop.is_set():
                        break
            offer(None)
        except BaseException as error:  # a panic of a compiled library is no Exception
            offer(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(WORKERS)]
    with OneCore():  # there are threads enough
        try:
            for thread in threads:
                thread.start()
            yield from _results(results, len(threads), progress)
        finally:
            stop.set()
            if hasattr(source, "cancel"):  # a thread may be waiting for a server
                source.cancel()
            for thread in threads:
                if thread.ident is not None:  # one that could not be started has none
                    thread.join()
            if hasattr(source, "close"):
                source.close()


def _results(
    results: "queue.Queue[tuple[int, T] | BaseException | None]", running: int, progress: Progress | None
) -> Iterator[T]:
    while running:
        try:
            item = results.get(timeout=LISTEN_S)
        except queue.Empty:
            continue
        if item is None:
            running -= 1
        elif isinstance(item, BaseException):
            raise item
        else:
            n_rows, result = item
            if progress is not None:
                progress(n_rows)
            yield result


def interruptible(task: Callable[[], T], cancel: Callable[[], object] | None = None) -> T:
    """Run a task that waits for a server, in another thread if this is the main one, so that ctrl-C works meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        return task()
    doing: Future[T] = Future()

    def run() -> None:
        try:
            doing.set_result(task())
        except BaseException as error:
            doing.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        while not wait([doing], timeout=LISTEN_S).done:
            pass
    except BaseException:  # a library's handler of ctrl-C may raise an error of its own
        while cancel is not None and not doing.done():
            with suppress(Exception):
                cancel()
            wait([doing], timeout=LISTEN_S)
        raise
    return doing.result()
