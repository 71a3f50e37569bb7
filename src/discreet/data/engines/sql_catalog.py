"""What a PostgreSQL database says of a table, without its rows: which one is meant, its columns, that it is one."""

from dataclasses import dataclass

from discreet.data.engines.file_table import quoted
from discreet.data.engines.sql_session import Session
from discreet.errors import DataMismatchError, InvalidParameterError

_NUMBERS = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
}
_TEXTS = ("text", "varchar", "bpchar", "name", "char")
_WRITTEN = {
    "uuid": ("UUID", "pg_catalog.uuid_out({})"),
    "json": ("JSON", "pg_catalog.json_out({})"),
    "jsonb": ("JSON", "pg_catalog.jsonb_out({})"),
    "numeric": ("DECIMAL", "pg_catalog.numeric_out(pg_catalog.trim_scale({}))"),  # equal numbers alike
}
"""Types without a built-in cast to text, and what writes their cells: a cast that somebody made could look at rows."""
_TABLES = ("r", "p")
"""Ordinary and partitioned: what holds rows, and computes none."""

_CANDIDATES = """
SELECT n.nspname::pg_catalog.text, c.relname::pg_catalog.text, c.relkind::pg_catalog.text, c.oid::pg_catalog.int8
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,m,f}'::pg_catalog."char"[])
AND NOT pg_catalog.starts_with(n.nspname::pg_catalog.text, 'pg_')
AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'::pg_catalog.name
AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
AND CASE WHEN $1::pg_catalog.text OPERATOR(pg_catalog.=) ''
        THEN pg_catalog.pg_table_is_visible(c.oid) AND NOT c.relispartition
    WHEN pg_catalog.strpos($1, '.') OPERATOR(pg_catalog.>) 0
        THEN pg_catalog.concat(n.nspname, '.', c.relname) OPERATOR(pg_catalog.=) $1
    ELSE c.relname::pg_catalog.text OPERATOR(pg_catalog.=) $1 AND pg_catalog.pg_table_is_visible(c.oid) END
ORDER BY 1, 2
"""
"""In the role's own search path, where anybody could have put operators and functions: all are named in full."""
_COLUMNS = """
WITH RECURSIVE typed(place, name, kind) AS (
    SELECT attnum, attname::text, atttypid FROM pg_catalog.pg_attribute
    WHERE attrelid = $1::bigint::oid AND attnum > 0 AND NOT attisdropped AND attgenerated <> 'v'
    AND pg_catalog.has_column_privilege(attrelid, attnum, 'SELECT')
    UNION ALL
    SELECT place, name, typbasetype FROM typed JOIN pg_catalog.pg_type t ON t.oid = kind WHERE typtype = 'd'
)
SELECT name, typtype::text, typname::text, typnamespace = 'pg_catalog'::regnamespace, format_type(kind, NULL)
FROM typed JOIN pg_catalog.pg_type t ON t.oid = kind WHERE typtype <> 'd' ORDER BY place
"""
_FAMILY = """
WITH RECURSIVE family(id) AS (
    SELECT $1::bigint::oid UNION SELECT inhrelid FROM pg_catalog.pg_inherits JOIN family ON inhparent = id
)
SELECT bool_and(relkind IN ('r', 'p')), pg_catalog.row_security_active($1::bigint::oid),
    coalesce(sum(CASE WHEN reltuples > 0 THEN reltuples ELSE pg_catalog.pg_relation_size(id) / 200 END)
        FILTER (WHERE relkind = 'r'), 0)::bigint,
    pg_catalog.current_database()::text, pg_catalog.current_setting('server_encoding')
FROM family JOIN pg_catalog.pg_class c ON c.oid = id
"""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
        As it is stored.
    kind : str
        Storage type, in the words of all engines.
    selected : str
        What reads it, in SQL.
    """

    name: str
    kind: str
    selected: str


@dataclass(frozen=True)
class Relation:
    """A table as the catalog has it.

    Parameters
    ----------
    database, schema, name : str
        Names.
    columns : tuple of Column
        Those that this role may read, in order.
    about_rows : int
        Number of rows, as the server's statistics estimate it. Not releasable.
    """

    database: str
    schema: str
    name: str
    columns: tuple[Column, ...]
    about_rows: int

    @property
    def quoted(self) -> str:
        """Its name in SQL."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"


def relation(session: Session, requested: str | None) -> Relation:
    """Find a table in the catalog, without reading a row."""
    candidates = session.rows(_CANDIDATES, (requested or "",))
    session.rows("SET LOCAL search_path = pg_catalog")
    schema, name, oid = _chosen(requested, [(str(s), str(n), str(k), int(o)) for s, n, k, o in candidates])
    [(are_tables, is_filtered, about_rows, database, encoding)] = session.rows(_FAMILY, (oid,))
    if not are_tables:
        raise InvalidParameterError(
            "A table must hold its rows itself, but a part of this one is a foreign table. Name another with --table."
        )
    if is_filtered:
        raise DataMismatchError(
            "A table must be the same for every role, but a policy of row-level security filters this one's rows. "
            "Read it as a role with BYPASSRLS."
        )
    if encoding == "SQL_ASCII":
        raise DataMismatchError(
            "The database must have an encoding, such as UTF8, but it has none (SQL_ASCII). Copy the table to another."
        )
    columns = tuple(_column(*row) for row in session.rows(_COLUMNS, (oid,)))
    return Relation(str(database), schema, name, columns, int(about_rows))


def _chosen(requested: str | None, candidates: list[tuple[str, str, str, int]]) -> tuple[str, str, int]:
    tables = [(schema, name, oid) for schema, name, kind, oid in candidates if kind in _TABLES]
    if len(tables) == 1:
        return tables[0]
    if requested is not None and candidates and not tables:
        raise InvalidParameterError(
            "What is read must be a table, but --table names a view or a foreign table, which may compute: one row "
            "could change another. Name the table itself, or have its owner write the view's rows into one."
        )
    if requested is not None and not tables:
        raise InvalidParameterError(
            f"The table must be one that this role may read, but {requested[:120]!r} is not. Name it as schema.table, "
            "as stored and without quotes, and check the role's privileges."
        )
    listed = ", ".join(repr(f"{schema}.{name}"[:120]) for schema, name, _ in tables[:20])
    raise InvalidParameterError(
        "One table of the database must be named with --table; this role may read: "
        f"{listed or 'none in its search path'}."
    )


def _column(name: str, typtype: str, typname: str, is_builtin: bool, shown: str) -> Column:
    """Return how a column is read: cells mean the same as in a file, and no function of a user is called."""
    place = quoted(name)
    if typtype == "e":  # its owner may have made a cast to text, and a domain must become the type itself
        return Column(name, "ENUM", _as_text(f"pg_catalog.enum_out({place}::{shown})"))
    if is_builtin and typname in _NUMBERS:
        return Column(name, _NUMBERS[typname], place)
    if is_builtin and typname in _TEXTS:
        return Column(name, "VARCHAR", f"{place}::pg_catalog.text")  # without the blanks that fill a char(n)
    if is_builtin and typname in _WRITTEN:
        kind, written = _WRITTEN[typname]
        text = _as_text(written.format(place))
        # What is not finite is missing, as in a decimal of Arrow.
        for word in ("NaN", "Infinity", "-Infinity") if kind == "DECIMAL" else ():
            text = f"nullif({text}, '{word}')"
        return Column(name, kind, text)
    return Column(name, shown.upper() if is_builtin else "USER-DEFINED", place)


def _as_text(written: str) -> str:
    return f"pg_catalog.textin({written})"
