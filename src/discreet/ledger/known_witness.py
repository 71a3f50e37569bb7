"""Where a ledger's witness lies: the ledger says so itself, and so does a file that no backup of it brings back.

A copy that is older than its witness may not know of it. So each witness is also remembered in the user's state folder,
under the ledger's place and under the hash of its first entry, which every copy has. A note holds all that the ledger
was written to since a witness was last begun or moved: each may have seen what the others did not.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import platformdirs
from sqlalchemy import Connection, select, update

from discreet.errors import DiscreetError
from discreet.files import write_whole
from discreet.ledger.schema import entries, head
from discreet.ledger.store import Store

ENVIRONMENT = "DISCREET_WITNESS"
"""Environment variable that names the witness of whichever ledger is opened without one being named."""

_SEPARATOR = "\0"
"""Between the paths of a note: the only character that no path holds."""


def named(witness: str | Path | None) -> Path | None:
    """Return the absolute path of the witness that the caller names."""
    if witness is None:
        witness = os.environ.get(ENVIRONMENT) or None
    return None if witness is None else Path(witness).absolute()


def recorded(connection: Connection) -> Path | None:
    """Return the absolute path of the witness that the ledger records."""
    place = connection.execute(select(head.c.witness)).scalar_one()
    return None if place is None else Path(place)


def record(connection: Connection, witness: Path) -> None:
    """Record a witness in the ledger: whoever opens it without naming one keeps this one."""
    connection.execute(update(head).values(witness=str(witness)))


def remembered(store: Store, connection: Connection) -> list[Path]:
    """Return the witnesses in this user's state folder, under the ledger's place and under its first entry."""
    return [Path(place) for note in _notes(store, connection) for place in _places(note)]


def remember(store: Store, connection: Connection, witness: Path, *, alone: bool) -> None:
    """Remember a witness in this user's state folder, where it can be written."""
    for note in _notes(store, connection):
        noted = _places(note)
        places = [str(witness)] if alone else list(dict.fromkeys([*noted, str(witness)]))
        if places != noted:
            with suppress(OSError, DiscreetError):  # a second memory: the ledger has the first
                note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_whole(note, _SEPARATOR.join(places))


def _notes(store: Store, connection: Connection) -> list[Path]:
    """Return the files that would remember a ledger's witness."""
    first = connection.execute(select(entries.c.hash).where(entries.c.seq == 1)).scalar()
    folder = Path(platformdirs.user_state_dir("discreet")) / "witnesses"
    return [folder / hashlib.sha256(key.encode()).hexdigest() for key in (store.place, first) if key is not None]


def _places(note: Path) -> list[str]:
    """Return the paths in a note, none where it cannot be read."""
    with suppress(OSError, ValueError):
        return note.read_text(encoding="utf-8").split(_SEPARATOR)
    return []
