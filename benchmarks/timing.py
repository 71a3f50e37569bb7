"""How long a call takes."""

import time
from collections.abc import Callable
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
