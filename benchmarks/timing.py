"""How long a call takes."""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any


def seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """Median wall time of a call after one that is not counted, where there are several."""
    if repeats > 1:
        work()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return median(found)


def interleaved(works: Sequence[Callable[[], Any]], repeats: int = 5) -> list[tuple[float, float]]:
    """Least and median processor time of several calls, taken in turns so that what else runs meets them alike.

    Of all threads; each call is made once before that is not counted.
    """
    times: list[list[float]] = [[] for _ in works]
    for turn in range(repeats + 1):
        for place, work in enumerate(works):
            start = time.process_time()
            work()
            if turn:
                times[place].append(time.process_time() - start)
    return [(min(taken), median(taken)) for taken in times]


def shown(taken: tuple[float, float]) -> str:
    """Least and median, in milliseconds."""
    return " / ".join(f"{1e3 * seconds:.3g}" for seconds in taken) + " ms"
