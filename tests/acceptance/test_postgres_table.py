"""A private table in PostgreSQL: the same answers as from a file, one charge, and no password anywhere."""

import json
import os
import time
from pathlib import Path

import psycopg
import pyarrow.parquet
import pytest
import yaml

from discreet import workflow
from discreet.data.engines import sql, sql_session
from discreet.errors import ComputationFailedError
from discreet.ledger import Ledger
from discreet_service.access.roles import Principal, Role
from discreet_service.schemas import AllotmentIn, CapIn, DatasetIn
from discreet_service.use_cases import datasets, people
from tests.acceptance import conftest
from tests.acceptance.service_processes import start, write_file
from tests.office import METADATA, open_office
from tests.warehouse import guard, load, plain, run, with_user

FAILED = str(ComputationFailedError())
READER = "clinic_reader"
PASSWORD = f"{READER}_password"


@pytest.fixture(scope="module")
def server(postgres):
    """A database with the clinic's table, and a reader of it who must give a password."""
    url = postgres()
    guard(url, READER, "office_worker")
    load(url, conftest.people(), "people")
    run(
        url,
        "CREATE VIEW s_people.seen AS SELECT * FROM s_people.people",
        "CREATE TABLE s_people.dates AS SELECT now()::date AS visits, 1 AS age, 1.5 AS income, 'north' AS site",
        "CREATE TABLE s_people.filtered AS SELECT * FROM s_people.people",
        "CREATE POLICY old_ones ON s_people.filtered USING (age > 40)",
        "ALTER TABLE s_people.filtered ENABLE ROW LEVEL SECURITY",
        "CREATE TABLE s_people.longer AS SELECT * FROM s_people.people UNION ALL SELECT * FROM s_people.people",
        f"GRANT USAGE ON SCHEMA s_people TO {READER}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA s_people TO {READER}",
    )
    return url


def everything(place, *done):
    """All that a command said or left behind."""
    said = [text for one in done for text in (one.out, one.err)]
    files = [path.read_bytes().decode("latin-1") for path in place.folder.rglob("*") if path.is_file()]
    return "\n".join([*said, *files])


@pytest.mark.usefixtures("postgres")
def test_one_question_is_charged_once_and_shows_no_password(server, place):
    """Asked twice, by two addresses of the same table: one charge, one answer; the release names the table alone."""
    address = with_user(server, READER, PASSWORD)
    out = place.folder / "release.json"
    first = place.select("--yes", data=address, table="s_people.people", out=out)
    assert first.code == 0, first
    again = place.select("--json", data=plain(server), table="s_people.people")
    assert again.code == 0, again
    assert "stored release" in again.err
    assert json.loads(again.out) == json.loads(out.read_text())
    assert place.spent() == 1
    text = everything(place, first, again)
    assert PASSWORD not in text
    assert READER not in text


REFUSED = {
    "wrong password": ("people", {"password": "not-this-one"}, "password"),
    "no password": ("people", {"password": None}, "password"),
    "wrong table": ("persons", {}, "schema.table"),
    "a view": ("seen", {}, "view"),
    "dates": ("dates", {}, "must hold numbers or text"),
    "a policy": ("filtered", {}, "row-level security"),
    "more rows than declared": ("longer", {}, "n_rows=240"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_before_the_charge(server, place, name):
    """One line, no password in it, and nothing is spent."""
    table, given, told = REFUSED[name]
    address = with_user(server, READER, given.get("password", PASSWORD) if given else PASSWORD)
    done = place.select("--yes", data=address, table=f"s_people.{table}")
    assert told in done.refused(done.code)
    assert done.code != 0
    assert place.spent() == 0
    text = everything(place, done)
    assert PASSWORD not in text
    assert "not-this-one" not in text


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://x:hush-hush@127.0.0.1:1/y",
        "postgresql://x:hush hush@h/y",
        "postgresql://h/y?hush=1",
        "hush://x:hush@h",
    ],
)
def test_an_address_that_opens_nothing_is_not_repeated(place, address):
    """Wrong hosts, ports, options and schemes."""
    done = place.select("--yes", data=address)
    assert "hush" not in done.refused(done.code)
    assert (done.code != 0, place.spent()) == (True, 0)


def answered(place, url, metadata, **more):
    """Ask for a selection from Python."""
    table = workflow.open_table(url, metadata, "s_people.wide")
    with Ledger(place.ledger) as ledger:
        return workflow.answer(workflow.method_of("pcls", epsilon=1), table, "visits", ledger=ledger, **more)


@pytest.fixture
def wide(server):
    """A table of more rows than the network holds at once."""
    run(
        server,
        "DROP TABLE IF EXISTS s_people.wide",
        "CREATE TABLE s_people.wide AS SELECT g % 20 AS visits, g % 110 AS age, g % 100 + 0.25 AS income, "
        "'north' AS site FROM generate_series(1, 200000) g",
    )
    metadata = {**conftest.METADATA, "neighboring": "add_or_remove_one"}
    return workflow.Metadata.from_value({name: value for name, value in metadata.items() if name != "n_rows"})


def test_a_connection_that_is_lost_leaves_the_charge_and_one_text(server, wide, place, monkeypatch):
    """In the middle of the rows, whatever was read."""
    monkeypatch.setattr(sql, "BATCH_ROWS", 1000)
    streamed = sql_session.Session.stream

    def cut(self, statement, batch_bytes):
        for number, batch in enumerate(streamed(self, statement, batch_bytes)):
            yield batch
            if number == 2:
                run(
                    server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'"
                )

    monkeypatch.setattr(sql_session.Session, "stream", cut)
    with pytest.raises(ComputationFailedError) as error:
        answered(place, server, wide)
    assert (str(error.value), place.spent()) == (FAILED, 1)


@pytest.mark.parametrize(
    "change", ["ALTER TABLE s_people.wide ALTER age TYPE text", "DROP TABLE s_people.wide", "TRUNCATE s_people.people"]
)
def test_a_table_that_changes_between_check_and_read(server, wide, place, change):
    """Other columns, or none, are a failure of one text, and the charge stands; other rows are other rows."""
    changed = lambda *_: run(server, change)  # noqa: E731
    if "TRUNCATE" in change:
        change = "TRUNCATE s_people.wide"
        assert answered(place, server, wide, confirm=changed).release
    else:
        with pytest.raises(ComputationFailedError) as error:
            answered(place, server, wide, confirm=changed)
        assert str(error.value) == FAILED
    assert place.spent() == 1


def test_metadata_begin_from_the_header(server, place):
    """Names and types, without a row; the data set is called after the table, not after the address."""
    done = place.run("metadata", "new", with_user(server, READER, PASSWORD), "--table", "s_people.people")
    assert done.code == 0, done
    found = yaml.safe_load(done.out)
    assert (found["dataset"], list(found["columns"])) == ("people", ["age", "income", "site", "visits"])
    assert PASSWORD not in done.out + done.err


def registered(office, dataset, root, path):
    """Register a data set with a budget, a part of it alpha's."""
    cora = Principal("cora", Role.CURATOR)
    source = {"data": {"root": root, "path": path}}
    datasets.register(
        office.context, cora, DatasetIn.model_validate({"metadata": METADATA | {"dataset": dataset}, "source": source})
    )
    datasets.grant(office.context, cora, dataset, CapIn(epsilon=3, delta=1e-5))
    datasets.allot(office.context, cora, dataset, "alpha", AllotmentIn(epsilon=2, delta=1e-6))
    assert "ann" in next(one.members for one in people.projects(office.context, cora) if one.name == "alpha")


@pytest.mark.processes
def test_a_service_lets_the_worker_alone_read(server, postgres, tmp_path, monkeypatch):
    """The web's role is refused by the database, the web's process lacks the worker's password, the worker answers."""
    for name in ("PGPASSFILE", "PGPASSWORD"):
        monkeypatch.delenv(name, raising=False)
    run(server, "CREATE ROLE office_web LOGIN")
    web, worker = with_user(postgres(), "office_web"), with_user(server, "office_worker")
    run(web.replace("office_web@", "discreet@"), "GRANT ALL ON SCHEMA public TO office_web")
    roots = {"tables": tmp_path / "private", "warehouse": worker}
    with open_office(tmp_path, web, private=roots, slot_s=15) as office:
        load(server, pyarrow.parquet.read_table(tmp_path / "private" / "toy.parquet"), "toy")
        run(
            server,
            "GRANT USAGE ON SCHEMA s_toy TO office_worker, office_web",
            "GRANT SELECT ON s_toy.toy TO office_worker",
        )
        as_web = with_user(server, "office_web")
        with psycopg.connect(as_web) as connection, pytest.raises(psycopg.Error, match="denied"):
            connection.execute("SELECT * FROM s_toy.toy")
        registered(office, "wares", "warehouse", "s_toy.toy")
        first = office.ask("key-00000002", dataset="wares")
        assert office.approve(first).status_code == 200
        office.work()  # with the web's environment
        assert (office.read(first)["state"], office.read(first)["code"]) == ("failed", "not_started")
        second = office.ask("key-00000003", dataset="wares", parameters={"epsilon": 0.25})
        assert office.approve(second).status_code == 200
        secret = tmp_path / "pgpass"
        secret.touch(mode=0o600)
        secret.write_text("*:*:*:office_worker:office_worker_password\n")
        log = tmp_path / "worker.log"
        file = write_file(tmp_path, office.context.settings)
        process = start("worker", "--config", file, log=log, PGPASSFILE=str(secret))
        try:
            deadline = time.monotonic() + 120
            while office.read(second)["state"] in ("approved", "running") and time.monotonic() < deadline:
                time.sleep(0.25)
        finally:
            process.terminate()
            process.wait(60)
        assert office.read(second)["state"] == "released", log.read_text()
        shown = [office.call(who, "GET", "/datasets/wares").text for who in ("ann", "cora", "otto")]
        shown += [office.call("ann", "GET", f"/requests/{second['id']}/release").text, log.read_text()]
    kept = [Path(folder, name).read_text(errors="replace") for folder, _, names in os.walk(tmp_path) for name in names]
    assert "office_worker_password" not in "".join([*shown, *(text for text in kept if not text.startswith("*:*"))])
