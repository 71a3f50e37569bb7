"""How a job tells its worker why it failed before any row was read: by an exit code."""

from discreet.service.codes import CHANGED as CHANGED
from discreet.service.codes import DATA_MISMATCH as DATA_MISMATCH
from discreet.service.codes import NO_RESULT as NO_RESULT
from discreet.service.codes import NOT_STARTED as NOT_STARTED
from discreet.service.codes import SHARED as SHARED

_EXITS = {DATA_MISMATCH: 11, CHANGED: 12, NOT_STARTED: 13, SHARED: 14}


def exit_of(code: str) -> int:
    """Return the exit code by which a job tells its worker.

    Not 0.
    """
    return _EXITS[code]


def code_of(exit_: int) -> str:
    """Return what an exit code tells.

    One of the list.
    """
    return next((code for code, known in _EXITS.items() if known == exit_), NOT_STARTED)
