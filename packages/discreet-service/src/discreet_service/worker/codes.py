"""How a job tells its worker why it failed before any row was read: by an exit code."""

from discreet_service.codes import CHANGED as CHANGED
from discreet_service.codes import DATA_MISMATCH as DATA_MISMATCH
from discreet_service.codes import NO_RESULT as NO_RESULT
from discreet_service.codes import NOT_STARTED as NOT_STARTED
from discreet_service.codes import SHARED as SHARED

_EXITS = {DATA_MISMATCH: 11, CHANGED: 12, NOT_STARTED: 13, SHARED: 14}


def exit_of(code: str) -> int:
    """Return the exit code of a job that failed so."""
    return _EXITS[code]


def code_of(exit_: int) -> str:
    """Return the cause of a failure from the exit code of its job."""
    return next((code for code, exit_code in _EXITS.items() if exit_code == exit_), NOT_STARTED)
