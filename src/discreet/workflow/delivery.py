"""How an outcome is handed over: when it is recorded, with what else, and where the cause of a failure goes."""

import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from sqlalchemy import Connection

OWNER_LOG = "DISCREET_OWNER_LOG"
"""Names a file for the owner of the data: the cause of a failure may depend on the rows and is written nowhere else."""

Step = Callable[[Connection], None]
"""Changes further rows of the ledger's database in the transaction of a step."""


class Delivery:
    """An outcome is recorded at once, and the cause of a failure goes to the owner's log.

    Notes
    -----
    A service derives its own: it waits for a time that no row decides, and changes rows of its own with the ledger's.
    """

    def wait(self) -> None:
        """Return when the outcome may be recorded; called once the rows are done with, whatever came out."""

    def touched(self, connection: Connection) -> None:
        """Change further rows together with the step before the first row is read; whatever is raised stops it."""

    def released(self, connection: Connection) -> None:
        """Change further rows together with the release."""

    def lost(self, connection: Connection) -> None:
        """Change further rows together with the loss."""

    def failed(self, error: BaseException) -> None:
        """Write the cause of a failure where the owner asked for it, and nowhere else."""
        log = os.environ.get(OWNER_LOG)
        if not log:
            return
        cause = "".join(traceback.format_exception(error))
        with suppress(OSError, ValueError):  # when that fails, the answer must stay the same constant
            handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{datetime.now(UTC).isoformat()}\n{cause}\n")


AT_ONCE = Delivery()
"""What a laptop does."""
