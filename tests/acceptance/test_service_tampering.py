"""Rows changed behind the service's back, copies put back, and a web process that is to open no private table."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from discreet.cli.main import run
from discreet.errors import BudgetError, VerificationError
from discreet_service.access.digests import keyed_digest
from discreet_service.app import create_app
from discreet_service.context import open_context
from discreet_service.schemas import KeyIn
from discreet_service.store import requests
from discreet_service.use_cases import people
from discreet_service.use_cases.decisions import seal_of
from discreet_service.use_cases.requests import content_sha256
from discreet_service.worker import delivery, job, queue
from tests.acceptance.service_processes import environment, write_file
from tests.office import METADATA, PEOPLE, Office, Principal, open_office, settings_of

COST = Fraction(1, 8)
WRONG = b"another secret, just as long"


@pytest.fixture(params=["sqlite", "postgresql"])
def office(request, tmp_path, monkeypatch):
    """An office in which no job waits, and the URL of its database."""
    monkeypatch.setattr(delivery, "time", SimpleNamespace(sleep=lambda _: None))
    database = request.getfixturevalue("postgres")() if request.param == "postgresql" else None
    with open_office(tmp_path, database, slot_s=60) as found:
        yield found


def approved(office, number=1, epsilon=None):
    """A request that waits to be taken up."""
    asked = office.ask(f"key-{number:08}", parameters={"epsilon": epsilon or float(COST)})
    assert office.approve(asked).status_code == 200
    return asked["id"]


def change(office, statement, **values):
    """Change rows as somebody could who holds the database, but not the pepper."""
    with office.context.database.write() as connection:
        for name in ("decisions", "datasets", "entries", "releases"):
            _drop_guards(connection, name)
        connection.execute(text(statement), values)


def _drop_guards(connection, name):
    for deed in ("update", "delete"):
        if connection.dialect.name == "sqlite":
            connection.execute(text(f"DROP TRIGGER IF EXISTS {name}_no_{deed}"))
        else:
            connection.execute(text(f"DROP TRIGGER IF EXISTS {name}_no_{deed} ON {name}"))


def row_of(office, id_):
    """A request as it stands in its row."""
    with office.context.database.read() as connection:
        return requests.find(connection, id_)


def _content(office, id_):
    found = row_of(office, id_)
    content = found.content | {"parameters": {"epsilon": 0.25}}
    values = {"content": json.dumps(content), "sha": content_sha256(content, found.version), "id": id_}
    change(office, "UPDATE requests SET content = :content WHERE id = :id", id=id_, content=values["content"])
    return values


def _digest(office, id_):
    values = _content(office, id_)
    change(office, "UPDATE requests SET sha256 = :sha WHERE id = :id", sha=values["sha"], id=id_)
    return values


def _decision(office, id_):
    values = _digest(office, id_)
    change(office, "UPDATE decisions SET sha256 = :sha WHERE request = :id", sha=values["sha"], id=id_)


def _column(name, value):
    def tamper(office, id_):
        change(office, f"UPDATE requests SET {name} = :value WHERE id = :id", value=value, id=id_)

    return tamper


def _version(office, id_):
    """The metadata of a further version, under which the bounds are others."""
    columns = {name: {**column, "upper": 1} for name, column in METADATA["columns"].items()}
    body = {"metadata": METADATA | {"columns": columns}, "source": {"data": {"root": "tables", "path": "toy.parquet"}}}
    assert office.call("cora", "POST", "/datasets/toy/versions", json=body).status_code == 201
    sha = content_sha256(row_of(office, id_).content, 2)
    change(office, "UPDATE requests SET version = 2, sha256 = :sha WHERE id = :id", sha=sha, id=id_)
    change(office, "UPDATE decisions SET sha256 = :sha WHERE request = :id", sha=sha, id=id_)


def _source(office, id_):
    source = json.dumps({"data": {"root": "tables", "path": "other.parquet", "table": None}})
    change(office, "UPDATE datasets SET source = :source", source=source)


def _entry(office, id_):
    """Let it be paid by what is reserved for another request, which is to run after it."""
    other = row_of(office, approved(office, 77, 0.0625))
    change(office, "UPDATE requests SET entry = :entry WHERE id = :id", entry=other.entry, id=id_)


def _seal(office, id_):
    found = row_of(office, id_)
    rest = (found.id, found.by, found.project, found.dataset, found.sha256, found.question, "approved", "cora")
    change(
        office,
        "UPDATE decisions SET seal = :seal WHERE request = :id",
        seal=keyed_digest(WRONG, "decision", *rest, str(found.entry)),
        id=id_,
    )


TAMPERED = {
    "its text": _content,
    "its text and digest": _digest,
    "its text, digest and decision": _decision,
    "a text that is none": _column("content", "{"),
    "its digest": _column("sha256", "0" * 64),
    "its question": _column("question", "0" * 64),
    "its project": _column("project", "beta"),
    "whose it is": _column('"by"', "abe"),
    "its data set": _column("dataset", "other"),
    "a version that is none": _column("version", 99),
    "its version, digest and decision": _version,
    "where its table lies": _source,
    "what pays for it": _entry,
    "its seal, made with another pepper": _seal,
    "its decision, deleted": lambda office, id_: change(office, "DELETE FROM decisions WHERE request = :id", id=id_),
    "its decision, turned around": lambda office, id_: change(
        office, "UPDATE decisions SET decision = 'rejected' WHERE request = :id", id=id_
    ),
}


ON_POSTGRESQL = ("its text, digest and decision", "what pays for it", "its decision, deleted")
EACH = [("sqlite", what) for what in TAMPERED] + [("postgresql", what) for what in ON_POSTGRESQL]


@pytest.mark.parametrize(("office", "what"), EACH, indirect=["office"])
def test_changed_after_approval(office, what, monkeypatch):
    """Whatever was changed between approval and job: no table is opened, the code says so, the cost is given back."""
    id_ = approved(office)
    before = row_of(office, id_)
    TAMPERED[what](office, id_)
    opened = []
    monkeypatch.setattr(job, "_open_table", lambda *_: opened.append(1))
    assert office.work().id == id_
    found = office.call("cora", "GET", f"/requests/{id_}").json()
    assert (opened, found["state"], found["code"]) == ([], "failed", "changed_after_approval")
    ledger = office.context.ledger
    assert ledger.state(before.entry) == "cancelled"
    others = [one for one in ledger.history() if one.kind == "reserve" and one.seq != before.entry]
    assert ledger.account("toy").epsilon_spent == sum(Fraction(one.epsilon) for one in others)
    assert [one.state for one in others] == ["reserved"] * len(others)
    ledger.verify()
    assert queue.take(office.context) is not None or not others


def test_a_forged_approval(office, monkeypatch):
    """A request that nobody approved, made to look approved and paid by another's reservation, is not answered."""
    other = row_of(office, approved(office, 1))
    waiting = row_of(office, office.ask("key-00000002", parameters={"epsilon": 0.25})["id"])
    seal = seal_of(SimpleNamespace(settings=SimpleNamespace(secret=WRONG)), waiting, "approved", "cora", other.entry)
    values = {"id": waiting.id, "sha": waiting.sha256, "seal": seal}
    change(
        office,
        "INSERT INTO decisions VALUES (:id, 'approved', :sha, 'cora', '', '2026-01-01T00:00:00.000Z', :seal)",
        **values,
    )
    change(
        office,
        "UPDATE requests SET state = 'approved', entry = :entry WHERE id = :id",
        entry=other.entry,
        id=waiting.id,
    )
    change(office, "UPDATE requests SET seq = -1 WHERE id = :id", id=waiting.id)
    monkeypatch.setattr(job, "_open_table", lambda *_: pytest.fail("it was opened"))
    assert office.work().id == waiting.id
    found = row_of(office, waiting.id)
    assert (found.state, found.code) == ("failed", "changed_after_approval")
    assert office.context.ledger.state(other.entry) == "reserved"


def test_the_usual_request_is_answered(office):
    """Control: what nobody changed is answered and read."""
    id_ = approved(office)
    office.work()
    assert office.call("ann", "GET", f"/requests/{id_}/release").status_code == 200


@contextmanager
def undone(office, table, where, **changed):
    """Change columns of a row, and put them back."""
    names = ", ".join(changed)
    with office.context.database.read() as connection:
        before = dict(connection.execute(text(f"SELECT {names} FROM {table} WHERE {where}")).mappings().one())
    assignments = ", ".join(f"{name} = :{name}" for name in changed)
    change(office, f"UPDATE {table} SET {assignments} WHERE {where}", **changed)
    yield
    change(office, f"UPDATE {table} SET {assignments} WHERE {where}", **before)


def test_a_ledger_that_was_changed_does_not_verify(office):
    """An amount, a time, a fact, a sum, a release or the end of the chain: each is noticed, by the verb of the API."""
    id_ = approved(office)
    office.work()
    entry = row_of(office, id_).entry

    def verified():
        return office.call("otto", "POST", "/verification").status_code

    assert verified() == 200
    for table, where, changed in (
        ("entries", f"seq = {entry}", {"epsilon": 1}),
        ("entries", f"seq = {entry}", {"time": "2020-01-01T00:00:00Z"}),
        ("entries", f"seq = {entry}", {"facts": "{}"}),
        ("entries", f"seq = {entry}", {"project": "beta"}),
        ("accounts", "dataset = 'toy'", {"epsilon_spent": 0}),
        ("accounts", "dataset = 'toy'", {"epsilon_cap": 10**12}),
        ("allotments", "project = 'alpha'", {"epsilon_spent": 0}),
        ("releases", f"entry = {entry + 2}", {"text": "{}"}),
        ("head", "id = 1", {"seq": entry, "hash": "0" * 64}),
    ):
        with undone(office, table, where, **changed):
            assert verified() == 409, (table, changed)
            if table == "releases":
                read = office.call("ann", "GET", f"/requests/{id_}/release")
                assert (read.status_code, read.json()["type"]) == (409, "urn:discreet:problem:verification")
        assert verified() == 200


def test_a_chain_that_was_cut_short_does_not_verify(office):
    """Without its last entries the chain is whole by itself: the witness knows better, and so does the health check."""
    approved(office)
    with office.context.database.read() as connection:
        last = dict(connection.execute(text("SELECT * FROM entries ORDER BY seq DESC LIMIT 1")).mappings().one())
    change(office, "DELETE FROM entries WHERE seq = :seq", seq=last["seq"])
    change(office, "UPDATE head SET seq = :seq, hash = :hash", seq=last["seq"] - 1, hash=last["prev"])
    change(office, "UPDATE accounts SET epsilon_spent = 0")
    change(office, "UPDATE allotments SET epsilon_spent = 0")
    office.context.ledger.verify()
    assert office.call("otto", "POST", "/verification").status_code == 409
    assert office.client.get("/v1/health").status_code == 503


@pytest.mark.parametrize("table", ["datasets", "decisions", "audit"])
def test_rows_that_are_only_added(office, table):
    """The database itself refuses to change or delete them, also all at once."""
    approved(office)
    statements = [f"UPDATE {table} SET {'time' if table != 'datasets' else 'created'} = ''", f"DELETE FROM {table}"]
    if office.context.settings.database.startswith("postgresql"):
        statements.append(f"TRUNCATE {table} CASCADE")
    for statement in statements:
        with pytest.raises(BudgetError, match="append-only"), office.context.database.write() as connection:
            connection.execute(text(statement))


@pytest.fixture(params=["sqlite", "postgresql"])
def restored(request, tmp_path, monkeypatch):
    """An office in whose place an older copy was put, from before its last request; its settings, and both entries."""
    monkeypatch.setattr(delivery, "time", SimpleNamespace(sleep=lambda _: None))
    folder, fresh = tmp_path / "office", None
    folder.mkdir()
    if request.param == "postgresql":
        fresh = request.getfixturevalue("postgres")
    url = None if fresh is None else fresh()
    with open_office(folder, url, slot_s=60) as office:
        approved(office, 1)
        office.work()
    old = shutil.copytree(folder, tmp_path / "old") if fresh is None else fresh(url)
    with open_office_again(folder, url) as office:
        for number, epsilon in ((2, 0.25), (3, 0.5)):
            approved(office, number, epsilon)
            if number == 2:
                office.work()
    if fresh is None:
        for path in folder.glob("office.sqlite*"):
            path.unlink()
        for path in old.glob("office.sqlite*"):
            shutil.copy(path, folder)
        old = None
    return settings_of(folder, old, slot_s=60)


@contextmanager
def open_office_again(folder, url):
    """Open an office that was set up before; everybody has a new key."""
    app = create_app(settings_of(folder, url, slot_s=60))
    with TestClient(app, base_url="http://localhost") as client:
        context = app.state.context
        keys = {
            name: people.make_key(context, Principal(name, role), KeyIn(label="new")).key
            for name, role in PEOPLE.items()
        }
        yield Office(context, client, keys, folder)


def test_an_old_copy_is_refused_and_mended(restored, capfd):
    """Server and worker do not start on an older copy; reconciling charges what was lost, and they start again."""
    folder = Path(restored.witness).parent
    with pytest.raises(VerificationError), TestClient(create_app(restored)):
        pass
    file = write_file(folder, restored)
    for words in (["worker", "--config", str(file), "--once"], ["serve", "--config", str(file), "--port", "1"]):
        assert run(words) == 8
        said = capfd.readouterr().err.splitlines()[-1]
        assert said.startswith("Error: ")
        assert "reconcile" in said
    words = ["budget", "reconcile", "--witness", str(restored.witness), "--ledger", restored.database]
    assert run(words) == 0
    with open_context(restored) as context:
        context.ledger.verify()
        assert context.ledger.account("toy").epsilon_spent == COST + Fraction(1, 4) + Fraction(1, 2)
    assert run(words) == 0
    with open_context(restored) as context:
        assert context.ledger.account("toy").epsilon_spent == COST + Fraction(1, 4) + Fraction(1, 2)
    assert run(["worker", "--config", str(file), "--once"]) == 0


def watched(folder, who):
    """Run a server that notes what it opens; what it found."""
    script = Path(__file__).with_name("service_watch.py")
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, script, folder, who], capture_output=True, text=True, env=environment(PYTHONPATH=path),
        check=True, timeout=600,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.processes
def test_the_web_process_opens_no_private_table(tmp_path):
    """From registering to reading: it opens nothing below the private folder, and works while that is elsewhere."""
    found = watched(tmp_path, "elsewhere")
    assert found == {"opened": [], "statuses": [200, 201], "state": "released", "code": None}


@pytest.mark.processes
def test_a_job_without_the_folder_fails(tmp_path):
    """Control: the same process could not have read the table, as a job in it cannot."""
    found = watched(tmp_path, "nowhere")
    assert (found["state"], found["code"]) == ("failed", "not_started")
