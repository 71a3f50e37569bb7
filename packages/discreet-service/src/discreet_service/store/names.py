"""Comparison of names that look alike, and the lock of a table whose names must stay unique."""

import unicodedata

from sqlalchemy import Connection, Table, text


def fold_name(name: str) -> str:
    """Return a form to compare: the same for names that differ in case, or in the form of characters, alone."""
    # Folding may leave a text unnormalized, hence NFKC on both sides (Unicode 3.13, compatibility caseless match).
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def lock_table(connection: Connection, table: Table) -> None:
    """Let no other transaction write to a table until this one ends; on SQLite there is one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f'LOCK TABLE "{table.name}" IN SHARE ROW EXCLUSIVE MODE'))
