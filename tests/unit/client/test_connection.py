"""Calls that do not get through, answers that are none, and keys that must not be seen."""

import logging
import ssl
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from discreet.errors import InvalidParameterError, NotFoundError, ServiceError, TooManyRequestsError
from discreet_service.client import connection as connections
from discreet_service.client.connection import MOST_TRIES, Connection
from discreet_service.client.remote import Remote

URL, KEY = "https://statistics.example.org", "dk_someone_supersecretword"
PROBLEM = "application/problem+json"

Handler = Callable[[httpx2.Request], httpx2.Response]


class Wire:
    """Answers calls in turn with what the test says, and remembers them; the last answer is given again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[httpx2.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.calls.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx2.Response) else httpx2.Response(200, json=answer)

    def connection(self, url: str = URL) -> Connection:
        return Connection(url, KEY, transport=httpx2.MockTransport(self), pause=self.pauses.append)


def problem(status: int, kind: str = "conflict", detail: str = "It must be so.", **headers: str) -> httpx2.Response:
    body = {"type": f"urn:discreet:problem:{kind}", "title": "T", "status": status, "detail": detail}
    return httpx2.Response(status, json=body, headers={"content-type": PROBLEM, **headers})


LOST = httpx2.ReadError("lost")
AWAY = httpx2.ConnectError("refused")
GATEWAY = httpx2.Response(502, text="<html>", headers={"content-type": "text/html"})


@pytest.mark.parametrize("trouble", [LOST, AWAY, GATEWAY, httpx2.ReadTimeout("slow"), problem(429)], ids=repr)
def test_a_request_is_sent_again_with_the_same_key(trouble):
    """Whatever is in the way, a request that carries a key is repeated with that key until it is answered."""
    wire = Wire(trouble, trouble, {"id": "x"})
    assert (
        wire.connection().call("POST", "requests", body={"a": 1}, idempotency_key="word-0001").content == b'{"id":"x"}'
    )
    assert [call.headers["idempotency-key"] for call in wire.calls] == ["word-0001"] * 3
    assert {call.content for call in wire.calls} == {b'{"a":1}'}
    assert {call.headers["authorization"] for call in wire.calls} == {f"Bearer {KEY}"}


@pytest.mark.parametrize("trouble", [LOST, GATEWAY, httpx2.ReadTimeout("slow")], ids=repr)
def test_what_could_be_done_twice_is_not_sent_again(trouble):
    """A call without a key that may have arrived is not repeated: a second account or key could be made."""
    wire = Wire(trouble, {})
    with pytest.raises(ServiceError):
        wire.connection().call("POST", "users", body={})
    assert len(wire.calls) == 1


@pytest.mark.parametrize("trouble", [AWAY, problem(429, "too-many-requests")], ids=repr)
def test_what_did_not_arrive_is_sent_again(trouble):
    """Before anything was sent, and where the service counted it away, every call is repeated."""
    wire = Wire(trouble, {"made": True})
    assert wire.connection().call("POST", "users", body={}).content == b'{"made":true}'


@pytest.mark.parametrize(("trouble", "kind"), [(AWAY, ServiceError), (LOST, ServiceError), (GATEWAY, ServiceError)])
def test_tries_are_bounded(trouble, kind):
    """A service that stays away is an error in the end; pauses grow."""
    wire = Wire(trouble)
    with pytest.raises(kind, match=URL):
        wire.connection().call("GET", "me")
    assert len(wire.calls) == MOST_TRIES
    assert wire.pauses == sorted(wire.pauses)
    assert sum(wire.pauses) < 60


def test_a_busy_service_says_when():
    """Retry-After is waited for, within reason; what is no number is not believed."""
    for said, pause in (("7", 7.0), ("9999", connections.LONGEST_PAUSE_S), ("soon", 0.5), ("-3", 0.5)):
        wire = Wire(problem(429, "too-many-requests", **{"retry-after": said}), {})
        wire.connection().call("GET", "me")
        assert wire.pauses == [pause]
    wire = Wire(problem(429, "too-many-requests", "There may be 600 calls a minute."))
    with pytest.raises(TooManyRequestsError, match="600 calls"):
        wire.connection().call("GET", "me")


def test_what_the_service_decided_is_not_asked_again():
    """An error of the caller's is an answer."""
    wire = Wire(problem(404, "not-found", "A data set must exist."))
    with pytest.raises(NotFoundError, match=r"A data set must exist\."):
        wire.connection().call("GET", "datasets/none")
    assert len(wire.calls) == 1


STRANGE = {
    "a page": httpx2.Response(404, text="<html>not here</html>", headers={"content-type": "text/html"}),
    "a redirection": httpx2.Response(302, headers={"location": "https://example.org/steal"}),
    "a redirection in JSON": httpx2.Response(
        307, json={"detail": "there"}, headers={"location": "https://example.org"}
    ),
    "JSON that says nothing": httpx2.Response(400, json=["what"]),
    "no JSON": httpx2.Response(400, content=b"{", headers={"content-type": "application/json"}),
    "nothing": httpx2.Response(500),
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE)
def test_an_answer_that_is_none(answer):
    """What no service of ours says is a clear error; a redirection is not followed with a key."""
    wire = Wire(answer)
    with pytest.raises(ServiceError, match="must") as caught:
        wire.connection().call("GET", "me")
    assert len(wire.calls) == 1
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("found", [b"<html>", b"[", b"[1]", b"{}", b'{"items": 3}', b"null"])
def test_a_success_that_is_none(found):
    """A page with status 200, or JSON of another kind, is no list of requests."""
    wire = Wire(httpx2.Response(200, content=found))
    remote = Remote(URL, KEY)
    remote._connection = wire.connection()
    with pytest.raises(ServiceError, match="as its API describes"):
        remote.requests()
    with pytest.raises(ServiceError, match="as its API describes"):
        remote.request("abc")


def test_the_key_is_never_seen(caplog):
    """Neither logs nor errors nor representations hold the key."""
    caplog.set_level(logging.DEBUG)
    seen = []
    for trouble in (AWAY, LOST, GATEWAY, problem(401, "not-signed-in"), ssl.SSLError("x"), {}):
        wire = Wire(httpx2.ConnectError(str(trouble)) if isinstance(trouble, OSError) else trouble)
        connection = wire.connection()
        try:
            connection.call("GET", "me")
        except Exception as error:  # whatever it is
            seen += [str(error), repr(error), str(error.__cause__), str(error.__context__)]
        seen += [repr(connection)]
    seen += [repr(Remote(URL, KEY)), caplog.text]
    assert not any("supersecret" in text for text in seen)


def test_a_certificate_that_is_not_trusted():
    """A wrong certificate is told from a service that is away."""
    wire = Wire(httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"))
    with pytest.raises(ServiceError, match="SSL_CERT_FILE"):
        wire.connection().call("GET", "me")


def test_names_stay_names():
    """A name with a slash, a question mark or a dot leads to no other path."""
    wire = Wire({})
    remote = Remote(URL, KEY)
    remote._connection = wire.connection()
    remote.budget("a/../users?x#y")
    assert wire.calls[0].url.raw_path == b"/v1/datasets/a%2F..%2Fusers%3Fx%23y/budget"
    for name in ("", ".", "..", " "):
        with pytest.raises(InvalidParameterError, match="must be a word"):
            remote.budget(name)


def test_what_json_cannot_hold():
    """Numbers that are none, and objects, are refused before anything is sent."""
    wire = Wire({"projects": ["p"]})
    remote = Remote(URL, KEY)
    remote._connection = wire.connection()
    for value in (float("nan"), float("inf"), object()):
        with pytest.raises(InvalidParameterError, match="what JSON can"):
            remote.ask("toy", target="y", project="p", purpose="to learn", epsilon=value)
    assert wire.calls == []
    with pytest.raises(InvalidParameterError, match="list of names"):
        remote.ask("toy", target="y", project="p", purpose="to learn", candidates="age", epsilon=1)


def test_each_request_has_a_key_of_its_own():
    """Two requests never share a key, and every one has one."""
    wire = Wire(problem(409))
    remote = Remote(URL, KEY)
    remote._connection = wire.connection()
    for _ in range(20):
        with pytest.raises(Exception, match="must be so"):
            remote.ask("toy", target="y", project="p", purpose="to learn", epsilon=1.0)
    keys = [call.headers["idempotency-key"] for call in wire.calls]
    assert len(set(keys)) == 20
    assert min(map(len, keys)) >= 32
