"""A limit of one thread for linear algebra, while our own threads or small systems make more of them useless."""

import sys
import threading
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _libraries(_: int) -> ThreadpoolController:
    """Return the loaded libraries; to look for them takes longer than a pass over a small table."""
    return ThreadpoolController()


class OneCore:
    """A block in which libraries of linear algebra start no threads.

    Notes
    -----
    Blocks may overlap and nest, in any threads: the limit is the process's own, and ends with the last of them.
    """

    _lock = threading.Lock()
    _running = 0
    _limits: Any = None

    def __enter__(self) -> None:
        kind = OneCore
        with kind._lock:
            if kind._running == 0:
                # By the number of modules: one that was imported since may have brought a library, and the loaded ones
                # are sought anew.
                kind._limits = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
            kind._running += 1

    def __exit__(self, *_: object) -> None:
        kind = OneCore
        with kind._lock:
            kind._running -= 1
            if kind._running == 0:
                kind._limits.restore_original_limits()
