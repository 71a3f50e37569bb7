"""Who may see which page: every page and every role, forms and their tokens, errors as pages."""

import re
from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient
from tests.office import PASSWORD, PEOPLE, open_office

from discreet_service.access.guard import guard_of, routes_of
from discreet_service.access.roles import Role
from discreet_service.pages.sign_in import local
from discreet_service.pages.visit import PageGuard


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    with open_office(tmp_path_factory.mktemp("pages")) as found:
        yield found


@pytest.fixture(scope="module")
def asked(office):
    """A request of ann's."""
    return office.ask()["id"]


@contextmanager
def browser(office, name=None):
    """A browser, of somebody who has signed in with it."""
    client = TestClient(office.client.app, follow_redirects=False)
    if name is not None:
        done = sign_in(client, name, PASSWORD)
        assert done.status_code == 303, done.text
    yield client


def sign_in(client, name, password, **fields):
    token = form_token(client.get("/sign-in").text)
    return client.post("/sign-in", data={"name": name, "password": password, "form_token": token, **fields})


def form_token(text):
    return re.search(r'name="form_token" value="([0-9a-f]{64})"', text)[1]


def pages(office, method):
    """Addresses of the pages that somebody must be signed in for, with the roles that may see them."""
    for route in routes_of(office.client.app):
        guard = guard_of(route)
        if method in route.methods and isinstance(guard, PageGuard):
            yield route.path, guard.roles


def test_every_page_has_a_guard_or_is_public_on_purpose(office):
    """Beside the API only signing in, single sign-on and the files are for everybody."""
    public = {
        route.path
        for route in routes_of(office.client.app)
        if not route.path.startswith("/v1") and guard_of(route) is None
    }
    assert {path for path in public if not path.startswith("/sign-on")} == {"/sign-in", "/static/{digest}/{name}"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ann", "cora", "otto", "ada"])
def test_every_page_is_for_its_roles_alone(office, asked, name):
    """A page answers whom it is for, and refuses the others with a page that says so."""
    fill = {"name": "toy", "id": asked, "ending": "json"}
    with browser(office, name) as client:
        for path, roles in pages(office, "GET"):
            if "pictures" in path or path.endswith(".svg"):
                continue
            found = client.get(re.sub(r"\{(\w+)\}", lambda word: fill[word[1]], path))
            if PEOPLE[name] in roles:
                assert found.status_code in (200, 204, 409), (path, found.text)  # 409: there is no release yet
            else:
                assert found.status_code == 403, path
                assert f"Your role is {PEOPLE[name].value}, and only" in found.text


def test_whoever_is_not_signed_in_is_sent_to_sign_in(office):
    """Every page, with the way back; a part of a page is not replaced by the page of signing in."""
    with browser(office) as client:
        for path, _ in pages(office, "GET"):
            found = client.get(path)
            assert found.status_code == 303
            assert found.headers["location"].startswith("/sign-in")
        assert client.get("/requests?state=waiting").headers["location"] == (
            "/sign-in?next=%2Frequests%3Fstate%3Dwaiting"
        )
        part = client.get("/requests/x/state", headers={"HX-Request": "true"})
        assert (part.status_code, part.headers["hx-redirect"]) == (401, "/sign-in")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ann", "cora", "otto", "ada"])
def test_no_form_without_its_token(office, asked, name):
    """Whatever is sent to a page without the session's token is refused, whoever's session it is."""
    with browser(office, name) as client, browser(office, name) as other:
        wrong = form_token(other.get("/account").text)
        for path, roles in pages(office, "POST"):
            place = re.sub(r"\{(\w+)\}", lambda word: {"name": "toy", "id": asked}[word[1]], path)
            for data in ({}, {"form_token": wrong}, {"form_token": ""}):
                found = client.post(place, data=data)
                assert found.status_code == 403, path
                assert ("was not. Go back" in found.text) == (PEOPLE[name] in roles), path
        assert client.post("/sign-out", data={}, headers={"X-Form-Token": wrong}).status_code == 403
        assert client.get("/").status_code == 200


def test_the_api_does_not_take_a_session(office):
    """A cookie opens no door of the API, so that no page of another site can use one."""
    with browser(office, "ann") as client:
        assert client.get("/v1/me").status_code == 401
        assert client.get("/v1/me").headers["content-type"] == "application/problem+json"


def test_what_does_not_exist_looks_like_what_is_not_open(office, asked):
    """A request of another project and one that is not there are the same page."""
    with browser(office, "abe") as client:
        other, none = client.get(f"/requests/{asked}"), client.get("/requests/aaaaaaaaaaaaaaaa")
        assert other.status_code == none.status_code == 404
        assert other.text.replace(asked, "x") == none.text.replace("a" * 16, "x")


def test_errors_are_pages_without_what_was_sent(office):
    """Paths, methods and bodies that do not fit are answered with pages, never with a trace or an echo."""
    with browser(office, "ann") as client:
        for found, status in (
            (client.get("/nothing/<b>here"), 404),
            (client.put("/plan"), 405),
            (client.get("/requests?cursor=<b>"), 422),
            (client.post("/keys", content=b"x" * (1 << 21)), 413),
        ):
            assert found.status_code == status
            assert found.headers["content-type"].startswith("text/html")
            assert "<h1>" in found.text
            assert "<b>" not in found.text
            assert "script-src 'self'" in found.headers["content-security-policy"]


def test_files_are_kept_under_their_digest(office):
    """The style may be kept for a year, as another content has another address."""
    with browser(office) as client:
        path = re.search(r'href="(/static/[0-9a-f]{16}/style.css)"', client.get("/sign-in").text)[1]
        assert "immutable" in client.get(path).headers["cache-control"]
        assert client.get("/static/0000000000000000/style.css").status_code == 404
        assert client.get("/static/x/..%2Fviews.py").status_code == 404
        assert client.get("/sign-in").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "lands"),
    [
        ("/", "/"),
        ("/requests/abc?state=x&y=1", "/requests/abc?state=x&y=1"),
        ("//elsewhere.example", "/"),
        ("/\\elsewhere.example", "/"),
        ("https://elsewhere.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nSet-Cookie: x=1", "/"),
        ("/a\n", "/"),
        ("", "/"),
        ("/" + "a" * 3000, "/"),
    ],
)
def test_signing_in_leads_nowhere_else(path, lands):
    """Only a path on this server is gone back to."""
    assert local(path) == lands


def test_a_session_is_new_with_each_signing_in(office):
    """The token changes, what was before is over, and a token put into the browser by somebody else is not used."""
    with browser(office) as client:
        client.cookies.set("discreet", "planted")
        first = sign_in(client, "ann", PASSWORD, next="/keys")
        assert first.headers["location"] == "/keys"
        kept = first.cookies["discreet"]
        assert kept != "planted"
        session = first.headers["set-cookie"].split(", discreet-form")[0]
        assert {"HttpOnly", "Path=/", "SameSite=strict", "Max-Age=43200"} <= set(session.split("; "))
        second = sign_in(client, "ann", PASSWORD)
        assert second.cookies["discreet"] != kept
        client.cookies.clear()
        client.cookies.set("discreet", kept)
        assert client.get("/").status_code == 303


def test_signing_in_needs_the_page_that_was_shown(office):
    """Another site cannot sign somebody in to an account of its own."""
    with browser(office) as client:
        data = {"name": "ann", "password": PASSWORD}
        assert client.post("/sign-in", data=data).status_code == 403
        token = form_token(client.get("/sign-in").text)
        client.cookies.clear()
        assert client.post("/sign-in", data=data | {"form_token": token}).status_code == 403


@pytest.mark.slow
def test_guessing_is_slowed_down(tmp_path):
    """After ten wrong passwords the right one is refused too, with a page that says for how long."""
    with open_office(tmp_path) as office, browser(office) as client:
        for _ in range(10):
            assert sign_in(client, "ann", "wrong").status_code == 401
        found = sign_in(client, "ann", PASSWORD)
        assert found.status_code == 429
        assert found.headers["retry-after"] == "900"
        assert "a quarter of an hour" in found.text


def test_cookies_over_https_are_for_this_host_alone(tmp_path):
    """With secure cookies the browser keeps the session for this host, and sends it over HTTPS alone."""
    with open_office(tmp_path, secure_cookies=True) as office:
        client = TestClient(office.client.app, base_url="https://testserver", follow_redirects=False)
        done = sign_in(client, "ann", PASSWORD)
        assert "__Host-discreet=" in done.headers["set-cookie"]
        assert "Secure" in done.headers["set-cookie"]
        assert client.get("/").status_code == 200


@pytest.mark.slow
def test_a_password_is_changed_by_who_knows_it(tmp_path):
    """The old one is needed; all other sessions end and this one goes on under a new token."""
    with open_office(tmp_path) as office, browser(office, "ann") as client, browser(office, "ann") as other:
        new = "another long password"
        token = form_token(client.get("/account").text)
        sent = {"form_token": token, "old": PASSWORD, "new": new, "repeated": new}
        assert client.post("/account/password", data=sent | {"old": "wrong"}).status_code == 422
        assert client.post("/account/password", data=sent | {"new": "short", "repeated": "short"}).status_code == 422
        assert client.post("/account/password", data=sent | {"repeated": PASSWORD}).status_code == 422
        before = client.cookies["discreet"]
        assert client.post("/account/password", data=sent).headers["location"] == "/account?said=password"
        assert client.cookies["discreet"] != before
        assert client.get("/account").status_code == 200
        assert other.get("/account").status_code == 303
        assert sign_in(other, "ann", PASSWORD).status_code == 401
        assert sign_in(other, "ann", new).status_code == 303


@pytest.mark.slow
def test_pages_offer_what_a_role_may(office):
    """Nobody is led to a page that would refuse them."""
    allowed = dict(pages(office, "GET"))
    for name, role in PEOPLE.items():
        with browser(office, name) as client:
            links = re.findall(r'href="(/[a-z]*)"', client.get("/").text.partition("<main")[0])
            assert links
            assert all(role in allowed[link] for link in links), (name, links)
    assert allowed["/users"] == {Role.ADMIN}


def test_too_many_calls_are_told_on_a_page(tmp_path):
    """Whoever calls too often reads so, with the status that programs know."""
    with open_office(tmp_path, rate_per_minute=3) as office, browser(office) as client:
        found = [client.get("/sign-in") for _ in range(4)]
        assert [one.status_code for one in found] == [200, 200, 200, 429]
        assert "There may be 3 calls a minute" in found[3].text
        assert found[3].headers["content-type"].startswith("text/html")
