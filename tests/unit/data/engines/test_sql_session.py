"""Addresses of PostgreSQL: what is public of one, and that nothing else is ever said."""

import sys

import pytest
from psycopg.conninfo import conninfo_to_dict

from discreet.data.engines.sql_session import DEFAULTS, Address
from discreet.data.sources import undeclared_table
from discreet.errors import InvalidParameterError

PLACES = {
    "postgresql://ann:p4ss@db.example.org:6543/clinic": "db.example.org:6543",
    "postgres://ann:p4ss@DB.example.org/clinic?sslmode=require": "db.example.org:5432",
    "postgresql+psycopg://db.example.org/clinic?user=ann&password=p4ss": "db.example.org:5432",
    "postgresql://ann:p4ss%40x@[::1]:6543/clinic": "[::1]:6543",
    "postgresql://ann:p4ss#q@db/clinic": "db:5432",
    "postgresql://ann:p4ss?x@db/clinic?port=6543": "db:6543",
    "postgresql://ann:p4ss?host=x&port=1@db/clinic": "db:5432",
    "postgresql://ann:p4ss@db/clinic?": "db:5432",
    "postgresql://ann:p4ss@db/clinic?port=6543&": "db:6543",
    "postgresql://ann:p4ss@/clinic?host=/var/run/postgresql": "/var/run/postgresql:5432",
    "postgresql://ann@/clinic?service=office&password=p4ss": "service=office",
    "postgresql:///clinic": "localhost:5432",
    "postgresql://": "localhost:5432",
}


@pytest.mark.parametrize("url", PLACES)
def test_a_place_has_neither_user_nor_password(url, monkeypatch):
    """Host and port alone, whatever an address is made of; no representation shows the rest."""
    for name in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    address = Address(url)
    assert address.place == PLACES[url]
    assert "p4ss" not in repr(address)


@pytest.mark.parametrize("url", PLACES)
def test_the_library_is_given_what_the_address_says(url, monkeypatch):
    """As every client of PostgreSQL reads it, and what is usual here besides."""
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    wanted = conninfo_to_dict(url.replace("postgresql+psycopg:", "postgresql:"))
    assert conninfo_to_dict(Address(url).libpq) == {**DEFAULTS, **wanted}


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:p4ss@127.0.0.1:1/x",
        "postgresql://ann:p4 ss@127.0.0.1:1/x",
        "postgresql://ann:p4/ss@127.0.0.1:1/x",
        "postgresql://ann:p4?ss@127.0.0.1:1/x?",
        "postgresql://127.0.0.1:p4ss/x",
        "postgresql://127.0.0.1:1/x?p4ss=1",
        "postgresql://127.0.0.1:1/x?password=p4ss&sslmode=p4ss",
        "postgresql:/ann:p4ss@h/x",
        "mysql://ann:p4ss@h/x",
        "postgresql+asyncpg://ann:p4ss@h/x",
    ],
)
def test_an_address_that_opens_nothing_is_not_repeated(url):
    """Whatever is wrong with it: it may hold the password, and so may what the library says."""
    with pytest.raises(InvalidParameterError) as error:
        undeclared_table(url, "t")
    assert "p4" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_a_missing_driver_is_named(monkeypatch):
    """And how to install it."""
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(InvalidParameterError, match=r"pip install 'discreet\[postgres\]'"):
        undeclared_table("postgresql://127.0.0.1:1/x")
