"""The witness: a file outside the ledger's backups that has seen every entry, so that an older copy is known as one."""

import fcntl
import json
import os
import re
import stat
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import Connection, RowMapping, select

from discreet.errors import BudgetError, VerificationError
from discreet.files import read_text
from discreet.ledger.schema import entries

_HASH = re.compile('"hash":"([0-9a-f]{64})"')

_NEWEST_BYTES = 2**16
"""About 190 lines."""


class Line(BaseModel):
    """What the witness keeps of one entry; amounts are in grains."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seq: int
    hash: str
    kind: str
    dataset: str
    project: str | None
    request: str | None
    unit: str | None
    neighboring: str | None
    epsilon: int
    delta: int
    rho: int | None
    failure: int | None
    charge: str | None
    """Hash of the reserve entry that it makes, moves on, or charges again."""
    charge_seq: int | None
    """Place of that entry."""


class Witness:
    """An append-only file of JSON lines, one for each entry.

    Parameters
    ----------
    path : str or Path
        The file.

    Notes
    -----
    A line that a crash cut off has no closing brace and is skipped: the method that wrote it never returned, so
    nothing was read on its account. The next line begins a line of its own.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()

    def holds_lines(self) -> bool:
        """Tell whether there is a file within reach that is not empty."""
        try:
            return self.path.stat().st_size > 0
        except (OSError, ValueError):
            return False

    def prepare(self) -> None:
        """Create the file where there is none."""
        try:
            # Also for appending alone, as the file may be protected against anything else.
            os.close(os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600))
            _sync_folder(self.path.parent)
            status = self.path.stat()
        except (OSError, ValueError) as error:
            raise self._unwritable(error) from None
        if not stat.S_ISREG(status.st_mode):
            raise self._unwritable(OSError(0, "it is no regular file"))

    def check(self) -> None:
        """Refuse a file that could not be written, before anything is charged on its account."""
        if not os.access(self.path, os.W_OK):
            raise self._unwritable(OSError(0, "it is missing, or permission is denied"))

    def add(self, lines: Sequence[Line]) -> None:
        """Append lines, on disk before it returns."""
        data = "".join(json.dumps(line.model_dump(), separators=(",", ":")) + "\n" for line in lines).encode()
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                _append(handle, data)
            finally:
                os.close(handle)
        except OSError as error:
            raise self._unwritable(error) from None

    def lines(self, known_hashes: Callable[[], Container[str]] = tuple) -> list[Line]:
        """Read all whole lines, in the order of the file."""
        texts = read_text(self.path, "witness").split("\n")
        left_out, lines = known_hashes(), []
        for number, text in enumerate(texts, start=1):
            shown = _HASH.search(text)
            if not text.endswith("}") or (shown is not None and shown[1] in left_out):
                continue
            try:
                lines.append(Line.model_validate_json(text))
            except ValidationError:
                raise VerificationError(
                    f"Each line of a witness must be one that the ledger wrote, but line {number} of {self.path} is "
                    "not. Put the file back as it was: without it an old copy of the ledger goes unnoticed."
                ) from None
        return lines

    def newest(self) -> list[Line]:
        """Read the last whole lines: at least one for each writer, as entries of one moment stand in any order."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _NEWEST_BYTES))
                data = file.read()
        except (OSError, ValueError) as error:
            raise self._unwritable(error) from None
        if size > _NEWEST_BYTES:
            # The first line may have been cut by where the reading began.
            data = data.partition(b"\n")[2]
        try:
            return [Line.model_validate_json(text) for text in data.split(b"\n") if text.endswith(b"}")]
        except ValidationError:
            return self.lines()  # which names the line

    def _unwritable(self, error: Exception) -> BudgetError:
        reason = (getattr(error, "strerror", None) or "it is no path").lower()
        return BudgetError(
            f"The ledger's witness must be writable, but witness={str(self.path)[:300]!r}: {reason}. "
            "Nothing is computed without it, and what is charged stays charged; make the file writable."
        )


def lines_since(connection: Connection, last: int) -> list[Line]:
    """Return the witness's lines of new entries, in order.

    A reservation comes again before its step, in case a crash kept it from the witness.
    """
    new = connection.execute(select(entries).where(entries.c.seq > last).order_by(entries.c.seq)).mappings().all()
    moved = {row["reservation"] for row in new} - {None} - {row["seq"] for row in new}
    before = connection.execute(select(entries).where(entries.c.seq.in_(moved)).order_by(entries.c.seq)).mappings()
    rows = [*before, *new]
    hashes = {row["seq"]: row["hash"] for row in rows}
    return [_line(row, hashes) for row in rows]


def _line(row: RowMapping, hashes: Mapping[int, str]) -> Line:
    seq = row["seq"] if row["kind"] == "reserve" else row["reservation"]
    charge = {"charge": hashes.get(seq), "charge_seq": seq}
    if row["kind"] == "reconcile":
        facts = json.loads(row["facts"])
        charge = {"charge": facts.get("lost_hash"), "charge_seq": facts.get("lost_seq")}
    return Line.model_validate({name: value for name, value in row.items() if name in Line.model_fields} | charge)


def _append(handle: int, data: bytes) -> None:
    size = os.fstat(handle).st_size
    # A line that a crash cut off has no end: it gets one, or the new line would be lost with it.
    if size and os.pread(handle, 1, size - 1) != b"\n":
        data = b"\n" + data
    if os.write(handle, data) != len(data):
        raise OSError(0, "no space left on device")
    os.fsync(handle)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
