"""Names that people would take for one another, and transactions that decide on all names at once."""

import unicodedata

from sqlalchemy import Connection, Table, text


def folded(name: str) -> str:
    """Return what is the same for names that differ in case, or in the form of their characters, alone.

    Only to be compared.
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def hold(connection: Connection, table: Table) -> None:
    """Let no other transaction write to a table until this one ends; on SQLite there is one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f'LOCK TABLE "{table.name}" IN SHARE ROW EXCLUSIVE MODE'))
