"""What slows guessing down: each limit alone, and equal work for names that are there and names that are not."""

import pytest
from argon2 import PasswordHasher, extract_parameters
from fastapi import Request
from fastapi.testclient import TestClient
from tests.office import PASSWORD, open_office, settings_of

from discreet.errors import NotSignedInError, TooManyRequestsError
from discreet_service.access import authentication, digests
from discreet_service.access.guard import address_of
from discreet_service.access.roles import Role
from discreet_service.context import open_context
from discreet_service.store import users

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
NO_LIMIT = 10**6

# Three tries that fail, a fourth that is refused whatever its password, and others that are not.
TRIES = {
    "pair": ([("ann", "10.0.0.1")] * 3, ("ann", "10.0.0.1"), [("ann", "10.0.0.2"), ("abe", "10.0.0.1")]),
    "address": ([(f"nobody {i}", "10.0.0.1") for i in range(3)], ("ann", "10.0.0.1"), [("ann", "10.0.0.2")]),
    "name": ([("ann", f"10.0.0.{i}") for i in range(3)], ("ann", "10.0.0.9"), [("abe", "10.0.0.1")]),
}


@pytest.fixture
def context(tmp_path, monkeypatch):
    """A service with accounts, whose hasher is quick."""
    monkeypatch.setattr(digests, "_hasher", QUICK)
    for part in ("private", "public"):
        (tmp_path / part).mkdir()
    digests._dummy_hash.cache_clear()
    with open_context(settings_of(tmp_path)) as opened:
        with opened.database.write() as connection:
            for name, password in (("ann", PASSWORD), ("abe", PASSWORD), ("without", None), ("gone", PASSWORD)):
                hashed = None if password is None else digests.hash_password(password)
                users.add(connection, name, Role.ANALYST, name, hashed, None)
            users.change(connection, "gone", disabled=True)
        yield opened
    digests._dummy_hash.cache_clear()


def outcome(context, name, address, password=PASSWORD):
    """How a try to sign in ends."""
    try:
        return authentication.check_password(context, name, password, address) and "in"
    except TooManyRequestsError:
        return "too many"
    except NotSignedInError:
        return "wrong"


@pytest.mark.parametrize("kind", TRIES)
@pytest.mark.parametrize("is_limited", [True, False], ids=["limited", "control"])
def test_tries_are_counted_for_each_kind(context, monkeypatch, kind, is_limited):
    """Each limit holds alone, and refuses the right password too; without it, which is the control, none is refused."""
    assert set(authentication.MOST_FAILURES) == set(TRIES)
    assert max(authentication.MOST_FAILURES.values()) <= 200
    for name in TRIES:
        monkeypatch.setitem(authentication.MOST_FAILURES, name, 3 if is_limited and name == kind else NO_LIMIT)
    before, refused, others = TRIES[kind]
    assert [outcome(context, *attempt, password="wrong") for attempt in before] == ["wrong"] * 3  # noqa: S106
    assert outcome(context, *refused) == ("too many" if is_limited else "in")
    assert [outcome(context, *attempt) for attempt in others] == ["in"] * len(others)


class Counting:
    """A hasher that writes down the parameters of the hashes it checks."""

    def __init__(self):
        self.checked = []

    def hash(self, password):
        """As usual."""
        return QUICK.hash(password)

    def verify(self, hashed, password):
        """As usual, and written down."""
        self.checked.append(extract_parameters(hashed))
        return QUICK.verify(hashed, password)


def work_of(context, monkeypatch, name):
    """What is hashed for a try to sign in with a wrong password."""
    counting = Counting()
    monkeypatch.setattr(digests, "_hasher", counting)
    assert outcome(context, name, "10.0.0.1", "wrong") == "wrong"
    return counting.checked


NAMES = ["ann", "nobody", "without", "gone"]
"""An account, none, one of single sign-on, one that was disabled."""


def test_a_name_that_is_not_there_takes_the_same_work(context, monkeypatch):
    """One check with the same parameters for every name, so that no time tells which names there are."""
    works = [work_of(context, monkeypatch, name) for name in NAMES]
    assert works == [[extract_parameters(QUICK.hash("x"))]] * len(NAMES)


def test_a_shortcut_for_unknown_names_is_flagged(context, monkeypatch):
    """Control: where a name without a hash is refused at once, the works differ."""
    usual = digests.verify_password
    monkeypatch.setattr(
        authentication, "verify_password", lambda password, stored: stored is not None and usual(password, stored)
    )
    works = [work_of(context, monkeypatch, name) for name in NAMES]
    assert [len(work) for work in works] == [1, 0, 0, 0]


def test_calls_are_counted_for_each_address_and_each_account(tmp_path):
    """One address is refused whatever its key, one account from wherever it calls; others are not."""
    with open_office(tmp_path, rate_per_minute=3) as office:

        def call(address, who=None):
            client = TestClient(office.client.app, client=(address, 1))
            headers = {} if who is None else {"Authorization": f"Bearer {office.keys[who]}"}
            return client.get("/v1/me" if who else "/v1/health", headers=headers).status_code

        assert [call("10.0.0.1") for _ in range(4)] == [200, 200, 200, 429]
        assert call("10.0.0.1", "abe") == 429
        assert call("10.0.0.2") == 200
        assert [call(f"10.0.1.{number}", "ann") for number in range(4)] == [200, 200, 200, 429]
        assert call("10.0.1.9", "abe") == 200


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_all_addresses_of_one_network_of_ipv6_are_one_caller(host, counted):
    """Who has one has 2^64 of them, each of which could guess a hundred times."""
    assert address_of(Request({"type": "http", "client": (host, 1)})) == counted
