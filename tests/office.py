"""A small office for tests: a service with a table, people of every role and their keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from argon2 import PasswordHasher
from fastapi.testclient import TestClient

from discreet_service.access.roles import Principal, Role
from discreet_service.app import create_app
from discreet_service.context import Context
from discreet_service.schemas import AllotmentIn, CapIn, DatasetIn, KeyIn, MembersIn
from discreet_service.settings import Settings
from discreet_service.store import users
from discreet_service.store.requests import Request
from discreet_service.use_cases import datasets, people
from discreet_service.worker import codes, job, queue

N_ROWS = 300
METADATA = {
    "schema": "discreet/metadata@1",
    "dataset": "toy",
    "unit": "person",
    "neighboring": "replace_one",
    "n_rows": N_ROWS,
    "columns": {
        name: {"type": "real", "lower": -3, "upper": 3, "source": "by design"} for name in ("y", "a", "b", "c")
    },
}
PASSWORD = "long enough for a test"  # noqa: S105
QUESTION = {
    "dataset": "toy",
    "project": "alpha",
    "method": "pcls",
    "target": "y",
    "parameters": {"epsilon": 0.5},
    "purpose": "to learn",
}
PEOPLE = {
    "ann": Role.ANALYST,  # of project alpha
    "abe": Role.ANALYST,  # of project beta
    "cora": Role.CURATOR,
    "carl": Role.CURATOR,
    "otto": Role.AUDITOR,
    "ada": Role.ADMIN,
}


@dataclass(frozen=True)
class Office:
    """An open service and what its people hold.

    Parameters
    ----------
    context : Context
        The service.
    client : TestClient
        Calls its server.
    keys : dict of str to str
        By account.
    folder : Path
        Of its files; private tables are in ``private``.
    """

    context: Context
    client: TestClient
    keys: dict[str, str]
    folder: Path

    def call(self, who: str, method: str, path: str, **given: Any) -> Any:
        """Call the API as somebody."""
        headers = {"Authorization": f"Bearer {self.keys[who]}", **given.pop("headers", {})}
        return self.client.request(method, f"/v1{path}", headers=headers, **given)

    def ask(self, key: str = "key-00000001", who: str = "ann", **changes: Any) -> dict[str, Any]:
        """Make a request and return it; fails when it is refused."""
        made = self.call(who, "POST", "/requests", json=QUESTION | changes, headers={"Idempotency-Key": key})
        assert made.status_code in (200, 201), made.text
        return dict(made.json())

    def approve(self, asked: dict[str, Any], who: str = "cora") -> Any:
        """Approve the text that was read."""
        return self.call(who, "POST", f"/requests/{asked['id']}/approval", json={"sha256": asked["sha256"]})

    def read(self, asked: dict[str, Any], who: str = "ann") -> dict[str, Any]:
        """Read a request again."""
        return dict(self.call(who, "GET", f"/requests/{asked['id']}").json())

    def answer(self) -> None:
        """Do what a worker does with the oldest approved request, in this process."""
        taken = queue.take(self.context)
        assert taken is not None
        try:
            job.run(self.context, taken.id)
        finally:
            queue.settle(self.context, taken)

    def work(self) -> Request:
        """Do what a worker and its job do with the oldest approved request, whatever becomes of it; the row before."""
        taken = queue.take(self.context)
        assert taken is not None
        code = codes.code_of(job.outcome(self.context, taken.id))
        queue.settle(self.context, taken, code)
        return taken


def settings_of(folder: Path, database: str | None = None, **changes: Any) -> Settings:
    """Return the settings of an office in a folder."""
    usual = {
        "database": database or str(folder / "office.sqlite"),
        "pepper": b"not a secret, but long enough",
        "private": {"tables": folder / "private"},
        "public": {"open": folder / "public"},
        "witness": folder / "witness.jsonl",
        "secure_cookies": False,
        "tick_s": 0.25,
        "slot_s": 2,
        "rate_per_minute": 100_000,
    }
    return Settings.model_validate(usual | changes)


def write_table(folder: Path, name: str = "toy.parquet", n_rows: int = N_ROWS) -> None:
    """Write a private table: y depends on a and b."""
    rng = np.random.default_rng(7)  # noqa: TID251
    a, b, c, e = rng.uniform(-1, 1, size=(4, n_rows))
    table = {"y": np.clip(a + b + 0.3 * e, -3, 3), "a": a, "b": b, "c": c}
    pyarrow.parquet.write_table(pa.table(table), folder / "private" / name)


@contextmanager
def open_office(folder: Path, database: str | None = None, **changes: Any) -> Iterator[Office]:
    """Set an office up: registered, granted 3, alpha allotted 2 and beta 1."""
    for part in ("private", "public"):
        (folder / part).mkdir(exist_ok=True)
    write_table(folder)
    app = create_app(settings_of(folder, database, **changes))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        context = app.state.context
        keys = furnish(context)
        yield Office(context, client, keys, folder)


@cache
def _hashed() -> str:
    """Hash the password with the least work, which each sign-in does again: few tests are about that work."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)


def furnish(context: Context) -> dict[str, str]:
    """Make the accounts with a key each, the data set, its cap and the projects' parts of it."""
    keys: dict[str, str] = {}
    for name, role in PEOPLE.items():
        with context.database.write() as connection:
            users.add(connection, name, role, name, _hashed(), None)
        keys[name] = str(people.make_key(context, Principal(name, role), KeyIn(label="test")).key)
    cora = Principal("cora", Role.CURATOR)
    source = {"data": {"root": "tables", "path": "toy.parquet"}}
    datasets.register(context, cora, DatasetIn.model_validate({"metadata": METADATA, "source": source}))
    datasets.grant(context, cora, "toy", CapIn(epsilon=3, delta=1e-5))
    for project, member, epsilon in (("alpha", "ann", 2), ("beta", "abe", 1)):
        people.set_members(context, cora, project, MembersIn(members=[member]))
        datasets.allot(context, cora, "toy", project, AllotmentIn(epsilon=epsilon, delta=1e-6))
    return keys
