"""What a PostgreSQL database says of a table, without its rows: which one is meant, its columns, that it is one."""

from dataclasses import dataclass

from discreet.data.engines.file_table import changed, quoted
from discreet.data.engines.sql_session import Session
from discreet.data.engines.text_cells import MOST_BYTES
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
_MOST_STORED = 2**19
"""Bytes of a cell of JSON, which may be compressed: a longer one is missing before it is written as text."""
_MOST_UNPACKED = 4 * MOST_BYTES + 64
"""Bytes of a cell of JSONB in the server's memory, beyond which its text is too long: the shortest, of ones or of
brackets, has a letter for four. A number of a few bytes there may be 131,073 letters, and all text of a cell a gigabyte
at the most, at which the server ends the statement."""
_UNPACKED = (
    "pg_catalog.pg_column_size(pg_catalog.jsonb_concat({0}, CASE WHEN pg_catalog.jsonb_typeof({0}) "
    "OPERATOR(pg_catalog.=) 'object' THEN '{{}}'::pg_catalog.jsonb ELSE '[]'::pg_catalog.jsonb END))"
)
"""What tells it: an array or object to which nothing is joined is itself, unpacked, at whatever depth it goes."""
_CODECS = {
    **{f"LATIN{place}": f"iso8859-{part}" for place, part in enumerate((1, 2, 3, 4, 9, 10, 13, 14, 15, 16), 1)},
    **{f"ISO_8859_{part}": f"iso8859-{part}" for part in (5, 6, 7, 8)},
    **{f"WIN{page}": f"cp{page}" for page in (866, 874, *range(1250, 1259))},
    "KOI8R": "koi8-r",
    "KOI8U": "koi8-u",
    "UTF8": "utf-8",
    "EUC_JP": "euc_jp",
    "EUC_JIS_2004": "euc_jis_2004",
    "EUC_KR": "euc_kr",
    "EUC_CN": "gb2312",
}
"""What text is in, by the database's encoding: the server cannot convert all of it, and would end the statement."""
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
WITH RECURSIVE typed(place, name, kind, is_exact) AS (
    SELECT attnum, attname::text, atttypid, coalesce(collisdeterministic, true)
    FROM pg_catalog.pg_attribute LEFT JOIN pg_catalog.pg_collation c ON c.oid = attcollation
    WHERE attrelid = $1::bigint::oid AND attnum > 0 AND NOT attisdropped AND attgenerated <> 'v'
    AND pg_catalog.has_column_privilege(attrelid, attnum, 'SELECT')
    UNION ALL
    SELECT place, name, typbasetype, is_exact FROM typed JOIN pg_catalog.pg_type t ON t.oid = kind WHERE typtype = 'd'
)
SELECT name, typtype::text, typname::text, typnamespace = 'pg_catalog'::regnamespace, format_type(kind, NULL), is_exact
FROM typed JOIN pg_catalog.pg_type t ON t.oid = kind WHERE typtype <> 'd' ORDER BY place
"""
_FAMILY = """
WITH RECURSIVE family(id) AS (
    SELECT $1::bigint::oid UNION SELECT inhrelid FROM pg_catalog.pg_inherits JOIN family ON inhparent = id
)
SELECT bool_and(relkind IN ('r', 'p')), bool_and(relfilenode = pg_catalog.pg_relation_filenode(id)) IS NOT FALSE,
    coalesce(string_agg(id::text, ' ' ORDER BY id), ''), bool_or(id = $1::bigint::oid AND
        pg_catalog.has_table_privilege(id, 'SELECT')), pg_catalog.row_security_active($1::bigint::oid),
    coalesce(sum(CASE WHEN reltuples > 0 THEN reltuples ELSE pg_catalog.pg_relation_size(id) / 200 END)
        FILTER (WHERE relkind = 'r'), 0)::bigint,
    pg_catalog.current_database()::text, pg_catalog.current_setting('server_encoding')
FROM family JOIN pg_catalog.pg_class c ON c.oid = id
"""
_LOCKED = """
SELECT coalesce(string_agg(relation::text, ' ' ORDER BY relation), '')
FROM pg_locks, LATERAL pg_identify_object(1259, relation, 0) AS o
WHERE pid = pg_backend_pid() AND locktype = 'relation'
AND (o.type IS NULL OR o.type NOT IN ('index', 'toast table') AND o.schema IS DISTINCT FROM 'pg_catalog')
"""
"""What the transaction has read or may read, as it is now: neither function looks at the transaction's own state."""


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
    is_exact : bool
        Whether cells that the server takes as equal are read as the same: not so of a collation that ignores case.
    """

    name: str
    kind: str
    selected: str
    is_exact: bool = True


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
    codec : str
        What decodes text where it is read as bytes.
    family : str
        Numbers in the catalog of the table and all its parts.
    is_whole : bool
        Whether the role may read all columns.
    """

    database: str
    schema: str
    name: str
    columns: tuple[Column, ...]
    about_rows: int
    codec: str
    family: str
    is_whole: bool

    @property
    def quoted(self) -> str:
        """Its name in SQL."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"


def relation(session: Session, requested: str | None) -> Relation:
    """Find a table in the catalog, without reading a row."""
    candidates = session.rows(_CANDIDATES, (requested or "",))
    session.rows("SET LOCAL search_path = pg_catalog")
    schema, name, oid = _chosen(requested, [(str(s), str(n), str(k), int(o)) for s, n, k, o in candidates])
    [(are_tables, is_current, family, is_whole, is_filtered, about_rows, database, encoding)] = session.rows(
        _FAMILY, (oid,)
    )
    if not is_current:  # it was emptied or written anew after this transaction's state, and before its lock
        raise changed()
    if not are_tables:
        raise InvalidParameterError(
            "A table must hold its rows itself, but a part of this one is a foreign table. Name another with --table."
        )
    if is_filtered:
        raise DataMismatchError(
            "A table must be the same for every role, but a policy of row-level security filters this one's rows. "
            "Read it as a role with BYPASSRLS."
        )
    if encoding not in _CODECS:
        raise DataMismatchError(
            "The database must have an encoding that can be read, such as UTF8, but it has another, or none "
            "(SQL_ASCII). Copy the table to another database."
        )
    as_bytes = None if encoding == "UTF8" else str(encoding)
    columns = tuple(_column(*row, as_bytes=as_bytes) for row in session.rows(_COLUMNS, (oid,)))
    codec = _CODECS[str(encoding)]
    return Relation(str(database), schema, name, columns, int(about_rows), codec, str(family), bool(is_whole))


def require_own_parts(session: Session, table: Relation) -> None:
    """Refuse what was read if it was not the table and its parts as they were looked at, but also or only others.

    A part that is attached meanwhile is read at once, whatever the transaction's state is, and may be a foreign table;
    but none is read without a lock, and none that is locked can be detached.
    """
    [(locked,)] = session.rows(_LOCKED)
    if locked != table.family:
        raise changed()


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


def _column(
    name: str, typtype: str, typname: str, is_builtin: bool, shown: str, is_exact: bool, *, as_bytes: str | None
) -> Column:
    """Return how a column is read: cells mean the same as in a file, and no function of a user is called."""
    place = quoted(name)
    if typtype == "e":  # its owner may have made a cast to text, and a domain must become the type itself
        return Column(name, "ENUM", _sent(_as_text(f"pg_catalog.enum_out({place}::{shown})"), as_bytes))
    if is_builtin and typname in _NUMBERS:
        return Column(name, _NUMBERS[typname], place)
    if is_builtin and typname in _TEXTS:
        text = f"{place}::pg_catalog.text"  # without the blanks that fill a char(n)
        return Column(name, "VARCHAR", _sent(_within(text), as_bytes), is_exact)
    if is_builtin and typname in _WRITTEN:
        kind, written = _WRITTEN[typname]
        text = _as_text(written.format(place))
        # What is not finite is missing, as in a decimal of Arrow.
        for word in ("NaN", "Infinity", "-Infinity") if kind == "DECIMAL" else ():
            text = f"nullif({text}, '{word}')"
        if kind == "JSON":
            stored = f"pg_catalog.pg_column_size({place}) OPERATOR(pg_catalog.<=) {_MOST_STORED}"
            text = _within(text)
            if typname == "jsonb":
                text = f"CASE WHEN {_UNPACKED.format(place)} OPERATOR(pg_catalog.<=) {_MOST_UNPACKED} THEN {text} END"
            text = f"CASE WHEN {stored} THEN {text} END"
        return Column(name, kind, _sent(text, as_bytes), kind != "JSON")
    return Column(name, shown.upper() if is_builtin else "USER-DEFINED", place)


def _as_text(written: str) -> str:
    return f"pg_catalog.textin({written})"


def _within(text: str) -> str:
    """Return text, null where it is too long: of a stored one the server knows the length without reading it."""
    return f"CASE WHEN pg_catalog.octet_length({text}) OPERATOR(pg_catalog.<=) {MOST_BYTES} THEN {text} END"


def _sent(text: str, as_bytes: str | None) -> str:
    """Return text as the server stores it: what is not UTF-8 is sent as bytes, as some has no equivalent there."""
    return text if as_bytes is None else f"pg_catalog.convert_to({text}, '{as_bytes}')"
