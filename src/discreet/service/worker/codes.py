"""Why a request may fail: a closed list. What happened after the rows were opened has one code, whatever it was."""

NO_RESULT = "no_result"
DATA_MISMATCH = "data_mismatch"
CHANGED = "changed_after_approval"
NOT_STARTED = "not_started"

MEANING = {
    NO_RESULT: "The computation ended without a result after the data were opened. What was charged stays charged.",
    DATA_MISMATCH: "The table does not have the shape that its metadata declare. Nothing was charged; ask its curator.",
    CHANGED: "The request is not what was approved. Nothing was charged; make it anew.",
    NOT_STARTED: "The computation could not begin. Nothing was charged; try again, or ask who runs the service.",
}
"""What people read."""

_EXITS = {DATA_MISMATCH: 11, CHANGED: 12, NOT_STARTED: 13}


def exit_of(code: str) -> int:
    """Return the exit code by which a job tells its worker.

    Parameters
    ----------
    code : str
        Before any row was read.

    Returns
    -------
    int
        Not 0.
    """
    return _EXITS[code]


def code_of(exit_: int) -> str:
    """Return what an exit code tells.

    Parameters
    ----------
    exit_ : int
        Of a job; negative when a signal ended it.

    Returns
    -------
    str
        One of the list.
    """
    return next((code for code, known in _EXITS.items() if known == exit_), NOT_STARTED)
