"""Keys and sessions end by the server's clock and with the account, whatever a browser or a program still holds."""

import pytest
from sqlalchemy import update
from tests.office import open_office

from discreet.errors import NotSignedInError
from discreet_service.access import authentication
from discreet_service.clock import now
from discreet_service.store.schema import sessions, users


@pytest.fixture
def office(tmp_path):
    """An office with its people and their keys."""
    with open_office(tmp_path) as opened:
        yield opened


def changed(office, statement):
    """Change rows by hand, beside the verbs that would end keys and sessions themselves."""
    with office.context.database.write() as connection:
        connection.execute(statement)


def test_a_session_ends_by_the_servers_clock(office):
    """A browser may keep a cookie for as long as it likes."""
    token = authentication.open_session(office.context, "ann")
    changed(office, update(sessions).values(expires=now(60)))
    assert authentication.authenticate_session(office.context, token).name == "ann"
    changed(office, update(sessions).values(expires=now(-1)))
    assert authentication.authenticate_session(office.context, token) is None


def test_a_disabled_account_has_neither_key_nor_session(office):
    """Also where somebody disabled it by hand, so that its keys and sessions are still there."""
    token = authentication.open_session(office.context, "ann")
    assert authentication.authenticate_key(office.context, office.keys["ann"]).name == "ann"
    changed(office, update(users).where(users.c.name == "ann").values(disabled=True))
    assert authentication.authenticate_session(office.context, token) is None
    with pytest.raises(NotSignedInError):
        authentication.authenticate_key(office.context, office.keys["ann"])
    assert authentication.authenticate_key(office.context, office.keys["abe"]).name == "abe"
