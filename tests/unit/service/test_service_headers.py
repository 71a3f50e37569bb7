"""What every answer tells a browser: no frame, no script of another's, no guess at a type, no copy that stays."""

from types import SimpleNamespace

import pytest
from tests.office import open_office

from discreet_service.worker import delivery

ALWAYS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@pytest.fixture
def office(tmp_path, monkeypatch):
    """An office with a released request R."""
    monkeypatch.setattr(delivery, "time", SimpleNamespace(sleep=lambda _: None))  # nothing here is about slots
    with open_office(tmp_path, slot_s=60) as opened:
        request = opened.ask()
        assert opened.approve(request).is_success
        opened.answer()
        opened.keys["R"] = request["id"]
        yield opened


def policy(answer):
    """The content security policy, by directive."""
    parts = (part.strip().partition(" ") for part in answer.headers["Content-Security-Policy"].split(";"))
    return {name: sources for name, _, sources in parts}


def test_every_answer_closes_what_a_browser_would_leave_open(office):
    """Calls, pages, refusals, too large a body, and above all a report, which shows names that others chose."""
    report = f"/requests/{office.keys['R']}/release?format=html&audience=participant"
    answers = [office.call("ann", "GET", path) for path in ("/me", "/nowhere", "/users", report)]
    answers += [office.client.get(path, follow_redirects=False) for path in ("/", "/sign-in", "/nowhere", "/v1/me")]
    answers.append(office.client.post("/sign-in", content=b"x" * (2 << 20)))
    assert {answer.status_code for answer in answers} == {200, 303, 401, 403, 404, 413}
    for answer in answers:
        assert ALWAYS.items() <= {name: answer.headers.get(name) for name in ALWAYS}.items(), answer.url
        directives = policy(answer)
        assert directives["default-src"] == "'none'"
        assert directives.get("script-src", "'none'") in ("'none'", "'self'")
    assert "sandbox" in policy(answers[3])


def test_no_answer_leads_to_a_host_that_a_call_names(office):
    """A path with a slash too many is not there: leading on would go where the call says, and to HTTP, with its key."""
    for path in ("/datasets/", "/sign-in/", "/v1/me/", "/v1/health/"):
        answer = office.client.get(path, headers={"Host": "other.example"}, follow_redirects=False)
        assert answer.status_code == 404
        assert "location" not in answer.headers
    away = office.client.get("/datasets", headers={"Host": "other.example"}, follow_redirects=False)
    assert away.headers["location"].startswith("/sign-in")


def test_after_a_body_that_is_not_read_the_connection_ends(office):
    """What follows it could be taken for another call, by this server or a proxy before it."""
    long = office.client.post("/sign-in", content=b"x" * (2 << 20))
    parts = office.client.post("/v1/plans", content=iter([b"0"]))
    for answer in (long, parts):
        assert (answer.status_code, answer.headers["connection"]) == (413, "close")
