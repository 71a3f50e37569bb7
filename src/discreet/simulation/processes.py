"""Long simulations on all cores: processes that start anew and end with the one that asked."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from discreet.errors import DiscreetError

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(work: Callable[[Item], Result], items: Iterable[Item], n_processes: int) -> Iterator[Result]:
    """Yield the results of work in several spawned processes, in the order of the items; Ctrl-C ends all of them."""
    before = set(multiprocessing.active_children())
    # Spawned, not forked: a fork would copy locks that other threads hold.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_processes, mp_context=context, initializer=_follow)
    # Children are started with the signal held back: ctrl-C reaches the whole group, and is this process's to answer.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        futures: list[Future[Result]] = [pool.submit(work, item) for item in items]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    try:
        for future in futures:
            yield future.result()
    except BrokenProcessPool:
        raise DiscreetError(
            "All processes must live until the work is done, but one was ended from outside, perhaps for lack of "
            "memory. Ask for fewer processes."
        ) from None
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _follow() -> None:
    """End with the process that asked, however that ends."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
