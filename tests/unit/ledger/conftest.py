"""A fresh ledger, and a short way to ask it."""

import hashlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting.guarantee import Guarantee, Number, exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.ledger import Ledger, Reservation
from discreet.ledger.chain import GENESIS, entry_hash

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


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new ledger, to copy: quicker than to create."""
    place = tmp_path_factory.mktemp("ledger") / "empty.sqlite"
    Ledger(place).close()
    return place


@pytest.fixture
def path(tmp_path: Path, empty: Path) -> Path:
    """Where the test's ledger is."""
    return Path(shutil.copy(empty, tmp_path / "ledger.sqlite"))


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    """A ledger with a cap of 1 for rand-hie."""
    with Ledger(path) as opened:
        opened.grant("rand-hie", 1)
        yield opened


@pytest.fixture(name="ask", scope="session")
def _ask() -> Callable[..., Reservation]:
    """Give the tests the short way."""
    return ask


@pytest.fixture
def tamper() -> Callable[..., None]:
    """Change the file behind the ledger's back, its triggers dropped first."""

    def run(path: Path, *statements: str) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for (name,) in names:
                connection.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                connection.execute(statement)

    return run


@pytest.fixture
def rewrite(tamper: Callable[..., None]) -> Callable[..., None]:
    """Change an entry and give it, and all after it, hashes that fit."""

    def run(path: Path, seq: int, **changes: Any) -> None:
        statements, previous = [], GENESIS
        with closing(sqlite3.connect(path)) as connection:
            connection.row_factory = sqlite3.Row
            rows = [dict(row) for row in connection.execute("SELECT * FROM entries ORDER BY seq")]
        for row in rows:
            row |= (changes if row["seq"] == seq else {}) | {"prev": previous}
            previous = row["hash"] = entry_hash(row)
            values = ", ".join(f"{name} = {'NULL' if value is None else repr(value)}" for name, value in row.items())
            statements.append(f"UPDATE entries SET {values} WHERE seq = {row['seq']}")
        tamper(path, *statements, f"UPDATE head SET hash = '{previous}'")

    return run
