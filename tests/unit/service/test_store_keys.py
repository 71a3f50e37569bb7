"""Keys end with the key that made them, and nobody makes one who may not call any more."""

import re

import pytest
from alembic import command
from alembic.config import Config
from fastapi.testclient import TestClient
from sqlalchemy import NullPool, create_engine, text
from tests.office import PASSWORD, open_office

from discreet_service.access.roles import Principal, Role
from discreet_service.schemas import KeyIn
from discreet_service.store import keys, users
from discreet_service.store.revisions import MIGRATIONS, open_database
from discreet_service.use_cases import people

OTTO = Principal("otto", Role.AUDITOR)


@pytest.fixture(params=["sqlite", "postgresql"])
def office(request, tmp_path):
    """An office on a file, and then on a server."""
    database = request.getfixturevalue("postgres")() if request.param == "postgresql" else None
    with open_office(tmp_path, database) as opened:
        yield opened


def made(office, maker):
    """A key that the key of a name makes, under its own label as a name."""
    answer = office.call(maker, "POST", "/keys", json={"label": f"by {maker}"})
    assert answer.status_code == 201, answer.text
    office.keys[f"by {maker}"] = answer.json()["key"]
    return f"by {maker}"


def public_part(office, name):
    return office.keys[name].split("_")[1]


def status(office, name):
    return office.call(name, "GET", "/me").status_code


def test_a_key_ends_with_its_maker(office):
    """All that descend from a key end with it; the account's other keys stay, and so does its maker."""
    child = made(office, "otto")
    grandchild, sibling = made(office, child), made(office, "cora")
    people.revoke_key(office.context, OTTO, public_part(office, child))
    assert [status(office, name) for name in ("otto", child, grandchild, "cora", sibling)] == [200, 401, 401, 200, 200]
    assert not any("maker" in shown.model_dump() for shown in people.list_keys(office.context, OTTO))


@pytest.mark.parametrize("end", ["the key", "the role"])
def test_who_may_not_call_any_more_makes_no_key(office, monkeypatch, end):
    """What ends between the first look at a key and the lock of all keys is seen; the control looks once alone."""
    lock, ended = keys.lock_keys, []

    def late(connection):
        monkeypatch.setattr(keys, "lock_keys", lock)  # what ends them locks them too
        if end == "the key":
            keys.revoke(connection, public_part(office, "otto"), "otto")
        else:
            users.change(connection, "otto", role=Role.CURATOR)
        ended.append(end)
        lock(connection)

    def n_valid():
        return sum(key.revoked is None for key in people.list_keys(office.context, OTTO))

    before = n_valid()
    monkeypatch.setattr(keys, "lock_keys", late)
    assert office.call("otto", "POST", "/keys", json={"label": "heir"}).status_code == 401
    assert ended == [end]
    assert n_valid() == before  # what ended them was of the same transaction, which is undone
    monkeypatch.setattr(keys, "lock_keys", late)
    assert people.make_key(office.context, OTTO, KeyIn(label="control")).key


def test_keys_of_the_first_revision_stay(request, tmp_path):
    """They have no maker, and their table is otherwise as it was."""
    for place in (str(tmp_path / "office.sqlite"), request.getfixturevalue("postgres")()):
        url = place if "://" in place else f"sqlite:///{place}"
        url = url.replace("postgresql://", "postgresql+psycopg://")
        with create_engine(url, poolclass=NullPool).begin() as connection:
            config = Config(attributes={"connection": connection, "version_table": MIGRATIONS.version_table})
            config.set_main_option("script_location", str(MIGRATIONS.folder))
            command.upgrade(config, "0001")
            connection.execute(text("INSERT INTO users VALUES ('ann', 'analyst', 'Ann', NULL, NULL, FALSE, 'now')"))
            connection.execute(text("INSERT INTO keys VALUES ('one', 'ann', 'old', 'd', 'now', '9999', NULL)"))
        database = open_database(place)
        with database.write() as connection:
            assert keys.key_holder(connection, "one") == ("d", Principal("ann", Role.ANALYST, "9999", "one"))
            assert keys.revoke(connection, "one", "ann").revoked
        database.close()


def test_a_session_that_ended_makes_no_key(office, monkeypatch):
    """On the page as in the API: a new password ends a session before the key is made."""
    client = TestClient(office.client.app, follow_redirects=False)

    def token(page):
        return re.search(r'name="form_token" value="([0-9a-f]{64})"', client.get(page).text)[1]

    form = {"name": "otto", "password": PASSWORD, "form_token": token("/sign-in")}
    assert client.post("/sign-in", data=form).status_code == 303
    form, lock = {"label": "heir", "days": "90", "form_token": token("/keys")}, keys.lock_keys

    def late(connection):
        users.change(connection, "otto", password=PASSWORD[::-1])
        lock(connection)

    assert client.post("/keys", data=form).status_code == 201
    monkeypatch.setattr(keys, "lock_keys", late)
    assert client.post("/keys", data=form).status_code == 401
    assert {key.label for key in people.list_keys(office.context, OTTO)} == {"test", "heir"}
