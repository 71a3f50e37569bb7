"""Small parts of the service: times, secrets, the log, limits, statuses."""

import asyncio
import json
import re
import socket
from datetime import UTC, datetime

import pytest

from discreet import errors
from discreet_service import clock
from discreet_service.access import limits as limits_module
from discreet_service.access.digests import hash_password, keyed_digest, same_secret, verify_password
from discreet_service.access.limits import RateLimits
from discreet_service.cli import serve
from discreet_service.logs import FIELDS, log
from discreet_service.problems import status_of


def test_texts_of_times_have_the_order_of_the_times():
    """Times are compared as texts in the database, so the texts must sort as the times do."""
    times = [clock.now(after_s) for after_s in (-86_400, -1, 0, 0.5, 59, 3600, 86_400 * 400)]
    assert times == sorted(times)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times)
    assert clock.seconds_until(clock.now(100)) == pytest.approx(100, abs=5)


@pytest.mark.parametrize(("length_s", "tick_s"), [(2, 1), (5, 0.25), (60, 60), (0.1, 7)])
def test_a_slot_ends_on_the_first_tick_after_its_length(length_s, tick_s):
    """A slot is at least as long as it must be, at most a tick longer, and ends on a whole multiple of the tick."""
    before = datetime.now(UTC).timestamp()
    end = datetime.fromisoformat(clock.slot_end(length_s, tick_s)).timestamp()
    after = datetime.now(UTC).timestamp()
    assert before + length_s - 0.002 <= end <= after + length_s + tick_s + 0.002
    assert end / tick_s == pytest.approx(round(end / tick_s), abs=1e-6)


def test_a_seal_depends_on_pepper_purpose_and_the_cut_between_parts():
    """No two things have one seal: neither another secret, nor another use, nor the same letters cut elsewhere."""
    pepper = b"a pepper of twenty bytes"
    made = [
        keyed_digest(pepper, "key", "ab", "c"),
        keyed_digest(pepper, "key", "a", "bc"),
        keyed_digest(pepper, "key", "abc"),
        keyed_digest(pepper, "session", "ab", "c"),
        keyed_digest(pepper + b"!", "key", "ab", "c"),
        keyed_digest(pepper, "key", "ab", "c", ""),
        keyed_digest(pepper, "key2:ab", "c"),
    ]
    assert len(set(made)) == len(made)
    assert same_secret(made[0], keyed_digest(pepper, "key", "ab", "c"))
    assert not same_secret(made[0], made[1])


@pytest.mark.slow
def test_a_password_is_kept_as_argon2id_and_nothing_fits_an_account_without_one():
    """The hash has the library's parameters and a salt; an account of single sign-on has no password that fits."""
    kept = hash_password("correct horse")
    assert kept.startswith("$argon2id$")
    assert kept != hash_password("correct horse")
    assert verify_password("correct horse", kept)
    assert not verify_password("wrong horse", kept)
    assert not verify_password("", None)
    assert not verify_password("anything", None)
    assert not verify_password("anything", "no hash")


def test_the_log_writes_listed_fields_alone(capsys):
    """A line is one JSON object; a field that is not listed stops the code instead of being written."""
    log("call", method="GET", route="/v1/me", status=200, actor="ann\n{}")
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert json.loads(line)["actor"] == "ann\n{}"
    with pytest.raises(KeyError):
        log("call", value=7.5)
    assert capsys.readouterr().err == ""
    assert not FIELDS & {"value", "cell", "row", "text", "message", "detail", "seconds", "duration", "body", "error"}


def test_calls_a_minute_are_counted_for_each_caller():
    """The call beyond the limit is refused; another caller's is not."""
    limits = RateLimits(3)
    for _ in range(3):
        limits.check("one")
    with pytest.raises(errors.TooManyRequestsError):
        limits.check("one")
    limits.check("other")


def test_calls_of_more_than_a_minute_ago_do_not_count(monkeypatch):
    """A minute later one may call again, and callers who do not are forgotten."""
    at = [1000.0]
    monkeypatch.setattr(limits_module.time, "monotonic", lambda: at[0])
    limits = RateLimits(2)
    for caller, later_s in (("one", 0.0), ("one", 59.0), ("other", 0.5), ("one", 1.0)):
        at[0] += later_s
        limits.check(caller)
    with pytest.raises(errors.TooManyRequestsError):
        limits.check("one")
    at[0] += 61.0
    limits.check("one")
    assert set(limits._times) == {"one"}


def test_each_error_has_a_status_of_its_kind():
    """No error that is told to a caller counts as the service's own fault, and foreign errors always do."""
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.DiscreetError)
    ]
    internal = {
        errors.DiscreetError,
        errors.ServiceError,
        errors.WaitingError,
        errors.UnsupportedEventError,
        errors.ComputationFailedError,
    }
    for kind in kinds:
        found = status_of(kind.__new__(kind))
        assert (found[0] == 500) == (kind in internal), kind
    assert status_of(ValueError("a cell")) == (500, "internal")


async def _waits_for_more(listener):
    """Whether what is sent over a connection to a listener waits for more to send with it (Nagle's algorithm)."""
    accepted = asyncio.get_running_loop().create_future()

    class Server(asyncio.Protocol):
        def connection_made(self, transport):
            accepted.set_result(transport)

    server = await asyncio.get_running_loop().create_server(Server, sock=listener)
    async with server:
        with socket.create_connection(listener.getsockname()):
            transport = await accepted
            option = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            transport.close()
    return option == 0


def test_answers_do_not_wait_for_more():
    """A kept connection answers at once; the control, a socket that does not say that it is TCP, waits 40 ms a call."""
    with serve._listen("127.0.0.1", 0) as listener:
        assert not asyncio.run(_waits_for_more(listener))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert asyncio.run(_waits_for_more(listener))
