"""Tables for tests in a PostgreSQL database."""

import time

import psycopg
import pyarrow as pa
from psycopg import sql
from sqlalchemy import make_url

TYPES = {"bool": "boolean", "int64": "bigint", "double": "double precision", "string": "text", "null": "text"}
PADDED = {**TYPES, "int64": "numeric", "double": "numeric", "string": "char(60)"}
"""The same cells in types that no other storage has."""


def plain(url: str) -> str:
    """Return the URL that every client of PostgreSQL reads, of one that names SQLAlchemy's driver."""
    return url.replace("postgresql+psycopg://", "postgresql://")


def run(url: str, *statements: str) -> None:
    """Run statements as the tests' superuser."""
    with psycopg.connect(plain(url), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def load(url: str, table: pa.Table, name: str, types: dict[str, str] = TYPES) -> str:
    """Store a table in a schema of its own; return the URL in whose search path it is alone."""
    schema = f"s_{name}"
    columns = [f'"{field.name}" {types[str(field.type)]}' for field in table.schema]
    with psycopg.connect(plain(url)) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        place = sql.Identifier(schema, name)
        connection.execute(sql.SQL(f"CREATE TABLE {{}} ({', '.join(columns)})").format(place))
        with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(place)) as copy:
            for row in zip(*table.to_pydict().values(), strict=True):
                copy.write_row(row)
    found = make_url(url).update_query_dict({"options": f"-csearch_path={schema}"})
    return found.render_as_string(hide_password=False)


def guard(url: str, *roles: str) -> None:
    """Make roles that must give their password, which is theirs with ``_password`` behind it."""
    made = [f"CREATE ROLE {role} LOGIN PASSWORD '{role}_password'" for role in roles]
    lines = [*(f"local all {role} scram-sha-256" for role in roles), "local all all trust"]
    with psycopg.connect(plain(url), autocommit=True) as connection:
        for statement in made:
            connection.execute(sql.SQL(statement))
        [(file,)] = connection.execute("SHOW hba_file").fetchall()
        rows = ", ".join(f"('{line}')" for line in lines)
        connection.execute(sql.SQL(f"COPY (SELECT * FROM (VALUES {rows}) AS lines) TO '{file}'"))
        connection.execute("SELECT pg_reload_conf()")
    for role in roles:  # the server takes its time
        while _enters(url, role):
            time.sleep(0.05)


def _enters(url: str, role: str) -> bool:
    try:
        psycopg.connect(plain(url), user=role, password="wrong").close()  # noqa: S106
    except psycopg.OperationalError:
        return False
    return True


def with_user(url: str, role: str, password: str | None = None, **options: str) -> str:
    """Return a URL as somebody else gives it."""
    found = make_url(plain(url)).set(username=role, password=password).update_query_dict(options)
    return found.render_as_string(hide_password=False)
