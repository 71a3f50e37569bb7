"""Which PostgreSQL database an address leads to, and which of its tables share rows: from the server itself."""

from discreet.data.engines.sql_session import Address, session

_SERVER = """
SELECT concat(system_identifier, '/', (SELECT oid FROM pg_database WHERE datname = current_database()))
FROM pg_control_system()
"""
_RELATIVES = """
WITH RECURSIVE own(id) AS (
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE concat(n.nspname, '.', c.relname) = $1
), above(id) AS (
    SELECT id FROM own UNION SELECT inhparent FROM pg_inherits JOIN above ON inhrelid = id
), below(id) AS (
    SELECT id FROM own UNION SELECT inhrelid FROM pg_inherits JOIN below ON inhparent = id
)
SELECT concat(n.nspname, '.', c.relname) FROM (SELECT id FROM above UNION SELECT id FROM below) AS relatives
JOIN pg_class c ON c.oid = id JOIN pg_namespace n ON n.oid = c.relnamespace
"""


def database_server(url: str) -> str:
    """Return what identifies a database, for all names of its server and its replicas, without reading a row."""
    return _rows(url, _SERVER)[0]


def database_relatives(url: str, table: str) -> frozenset[str]:
    """Return the tables that share rows with one: itself, its partitions, its parents; none for no such table."""
    return frozenset(_rows(url, _RELATIVES, table))


def _rows(url: str, statement: str, *values: str) -> list[str]:
    with session(Address(url)) as opened:
        opened.rows("SET LOCAL search_path = pg_catalog")
        return [str(value) for (value,) in opened.rows(statement, values)]
