"""A fresh ledger, and a short way to ask it."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, NullPool, create_engine, delete, insert, select
from tests.effort import either
from tests.servers import Postgres

from discreet.accounting.guarantee import Guarantee, Number, exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.ledger import Ledger, Reservation
from discreet.ledger.chain import GENESIS, entry_hash
from discreet.ledger.schema import entries, metadata

REPLACE = NeighboringRelation.REPLACE_ONE


def ask(ledger: Ledger, epsilon: Number = "0.1", **changes: Any) -> Reservation:
    """Reserve with everything that a test does not care about filled in."""
    neighboring = changes.pop("neighboring", REPLACE)
    delta = exact(changes.pop("delta", 0), "delta")
    values = {
        "request": hashlib.sha256(str(changes.pop("question", "q")).encode()).hexdigest(),
        "dataset": "rand-hie",
        "unit": "person",
        "neighboring": neighboring,
        "guarantee": Guarantee(exact(epsilon, "epsilon"), delta, neighboring),
        "facts": {"method": "pcls"},
    }
    return ledger.reserve(**values | changes)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have the server answer each fourth case of a test of many: what they differ by is no matter of the database."""
    folder = str(Path(__file__).parent)
    here = [item for item in items if isinstance(item, pytest.Function) and str(item.path).startswith(folder)]
    by_test: dict[Any, list[pytest.Item]] = {}
    for item in here:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if params.get("path") == "postgresql" and len(params) > 1:
            by_test.setdefault(item.function, []).append(item)
    left_out = {item for cases in by_test.values() for at, item in enumerate(cases) if at % either(4, 1)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new ledger in a file, to copy: quicker than to create."""
    place = tmp_path_factory.mktemp("ledger") / "empty.sqlite"
    Ledger(place).close()
    return place


@pytest.fixture(scope="session")
def empty_on_server(postgres: Postgres) -> str:
    """A new ledger in PostgreSQL, to copy."""
    url = postgres()
    Ledger(url).close()
    return url


@pytest.fixture
def copied(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[Path | str], Path | str]]:
    """Copy a ledger that nobody has open, as a backup does."""
    made = []

    def copy(place: Path | str) -> Path | str:
        if isinstance(place, Path):
            return Path(shutil.copy(place, tmp_path / f"copy-of-{place.name}"))
        made.append(request.getfixturevalue("postgres")(like=place))
        return made[-1]

    yield copy
    for url in made:
        request.getfixturevalue("postgres").drop(url)


@pytest.fixture(params=["sqlite", "postgresql"])
def path(request: pytest.FixtureRequest, tmp_path: Path, copied: Callable[[Path | str], Path | str]) -> Path | str:
    """Where the test's ledger is: a file, and then a server."""
    if request.param == "sqlite":
        return Path(shutil.copy(request.getfixturevalue("empty"), tmp_path / "ledger.sqlite"))
    return copied(request.getfixturevalue("empty_on_server"))


@pytest.fixture
def ledger(path: Path | str) -> Iterator[Ledger]:
    """A ledger with a cap of 1 for rand-hie."""
    with Ledger(path) as opened:
        opened.grant("rand-hie", 1)
        yield opened


@pytest.fixture(name="ask", scope="session")
def _ask() -> Callable[..., Reservation]:
    """Give the tests the short way."""
    return ask


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where witnesses are remembered: a folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("DISCREET_WITNESS", raising=False)
    return tmp_path / "state"


@pytest.fixture
def forgotten(state: Path) -> Callable[[Path | str], Path | str]:
    """Make nobody know that a ledger has a witness: neither it nor this machine."""

    def forget(place: Path | str) -> Path | str:
        shutil.rmtree(state, ignore_errors=True)
        with connected(place) as connection:
            connection.exec_driver_sql("UPDATE head SET witness = NULL")
        return place

    return forget


@pytest.fixture
def restore() -> Callable[[Path | str, Path | str], None]:
    """Put a copy back in place of a ledger, as its owner does."""

    def put_back(place: Path | str, backup: Path | str) -> None:
        if isinstance(place, Path):
            for file in place.parent.glob(f"{place.name}*"):
                file.unlink()
            shutil.copy(backup, place)
            return
        with connected(place) as now, connected(backup) as before:
            for table in reversed(metadata.sorted_tables):
                now.execute(delete(table))
            for table in metadata.sorted_tables:
                for row in before.execute(select(table)).mappings():
                    now.execute(insert(table), dict(row))

    return put_back


@contextmanager
def connected(place: Path | str) -> Iterator[Connection]:
    """Reach into a ledger behind its back, without its guards; SQLite's remain, until they are dropped."""
    url = f"sqlite:///{place}" if isinstance(place, Path) else place
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SET session_replication_role = replica")
        yield connection


@pytest.fixture
def tamper() -> Callable[..., None]:
    """Change a ledger behind its back, its triggers gone."""

    def run(place: Path | str, *statements: str) -> None:
        with connected(place) as connection:
            if isinstance(place, Path):
                triggers = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'")
                statements = (*(f"DROP TRIGGER {name}" for (name,) in triggers.all()), *statements)
            for statement in statements:
                connection.exec_driver_sql(statement)

    return run


@pytest.fixture
def rewrite(tamper: Callable[..., None]) -> Callable[..., None]:
    """Change an entry and give it, and all after it, hashes that fit."""

    def run(place: Path | str, seq: int, **changes: Any) -> None:
        statements, previous = [], GENESIS
        with connected(place) as connection:
            rows = [dict(row) for row in connection.execute(select(entries).order_by(entries.c.seq)).mappings()]
        for row in rows:
            row |= (changes if row["seq"] == seq else {}) | {"prev": previous}
            previous = row["hash"] = entry_hash(row)
            values = ", ".join(f"{name} = {'NULL' if value is None else repr(value)}" for name, value in row.items())
            statements.append(f"UPDATE entries SET {values} WHERE seq = {row['seq']}")
        tamper(place, *statements, f"UPDATE head SET hash = '{previous}'")

    return run
