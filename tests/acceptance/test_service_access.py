"""Who may call what: every route with every kind of credentials, and what analysts see of each other."""

import re

import pytest

from discreet.errors import ForbiddenError
from discreet_service.access.guard import Guard, check_guarded, guard_of, routes_of
from discreet_service.access.roles import Principal, Role
from discreet_service.app import create_app
from discreet_service.clock import now
from discreet_service.schemas import KeyIn, UserChange, UserIn
from discreet_service.store.schema import keys as key_rows
from discreet_service.use_cases import people
from tests.office import METADATA, PASSWORD, QUESTION, open_office, settings_of

PLAN = {name: QUESTION[name] for name in ("dataset", "method", "target", "parameters")}
SOURCE = {"data": {"root": "tables", "path": "toy.parquet"}}
DATASET = {"metadata": METADATA, "source": SOURCE}
EXPECT = {"dataset": "toy", "target": "y", "epsilons": [1.0]}
SHA = "0" * 64

# Codes for ann (analyst of the project), abe (of another), cora (curator), otto (auditor), ada (admin).
# R is a released request of ann's, W one that waits.
MATRIX = [
    ("GET", "/datasets", None, 200, 200, 200, 200, 403),
    ("POST", "/datasets", DATASET, 403, 403, 201, 403, 403),
    ("GET", "/datasets/toy", None, 200, 200, 200, 200, 403),
    ("GET", "/datasets/none", None, 404, 404, 404, 404, 403),
    ("POST", "/datasets/toy/versions", DATASET, 403, 403, 201, 403, 403),
    ("GET", "/datasets/toy/budget", None, 200, 200, 200, 200, 403),
    ("PUT", "/datasets/toy/budget", {"epsilon": 3, "delta": 1e-5}, 403, 403, 200, 403, 403),
    ("PUT", "/datasets/toy/allotments/alpha", {"epsilon": 2, "delta": 1e-6}, 403, 403, 200, 403, 403),
    ("GET", "/datasets/toy/history", None, 200, 200, 200, 200, 403),
    ("POST", "/plans", PLAN, 200, 200, 200, 200, 403),
    ("POST", "/expectations", EXPECT, 200, 200, 200, 200, 403),
    ("GET", "/requests", None, 200, 200, 200, 200, 403),
    ("POST", "/requests", QUESTION, 200, 404, 403, 403, 403),
    ("GET", "/requests/R", None, 200, 404, 200, 200, 403),
    ("PUT", "/requests/W", QUESTION, 200, 404, 403, 403, 403),
    ("POST", "/requests/R/withdrawal", None, 409, 404, 403, 403, 403),
    ("POST", "/requests/W/approval", {"sha256": SHA}, 403, 403, 409, 403, 403),
    ("POST", "/requests/W/rejection", {"sha256": SHA}, 403, 403, 409, 403, 403),
    ("GET", "/requests/R/failure", None, 403, 403, 404, 403, 403),
    ("GET", "/requests/R/release", None, 200, 404, 200, 200, 403),
    ("GET", "/me", None, 200, 200, 200, 200, 200),
    ("GET", "/users", None, 403, 403, 200, 403, 200),
    ("POST", "/users", {"name": "ann", "role": "analyst"}, 403, 403, 403, 403, 409),
    ("PATCH", "/users/abe", {}, 403, 403, 403, 403, 200),
    ("GET", "/projects", None, 200, 200, 200, 200, 403),
    ("PUT", "/projects/alpha", {"members": ["ann"]}, 403, 403, 200, 403, 403),
    ("GET", "/keys", None, 200, 200, 200, 200, 200),
    ("POST", "/keys", {"label": "new"}, 201, 201, 201, 201, 201),
    ("DELETE", "/keys/OTTO", None, 404, 404, 404, 200, 200),
    ("GET", "/audit", None, 403, 403, 200, 200, 200),
    ("POST", "/verification", None, 403, 403, 200, 200, 403),
    ("GET", "/metrics", None, 403, 403, 403, 200, 200),
]
NAMES = ("ann", "abe", "cora", "otto", "ada")


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    """An office with a released request R and one that waits, W."""
    with open_office(tmp_path_factory.mktemp("office"), slot_s=1) as found:
        released = found.ask()
        assert found.approve(released).status_code == 200
        found.answer()
        waiting = found.ask("key-of-waiting", parameters={"epsilon": 0.25})
        spare = found.call("otto", "POST", "/keys", json={"label": "spare"}).json()
        found.keys.update(R=released["id"], W=waiting["id"], OTTO=spare["id"], **_broken_keys(found))
        yield found


def _broken_keys(office):
    """Keys that were valid once, and one that never was."""
    context, ann = office.context, Principal("ann", Role.ANALYST)
    revoked, expired = (people.make_key(context, ann, KeyIn(label="old")) for _ in range(2))
    people.revoke_key(context, ann, revoked.id)
    with context.database.write() as connection:
        connection.execute(key_rows.update().where(key_rows.c.id == expired.id).values(expires=now(-1)))
    people.add_account(context, "ada", UserIn(name="dora", role=Role.CURATOR, password=PASSWORD))
    disabled = people.make_key(context, Principal("dora", Role.CURATOR), KeyIn(label="of dora"))
    people.change_account(context, Principal("ada", Role.ADMIN), "dora", UserChange(disabled=True))
    good = office.keys["cora"]
    return {
        "revoked": revoked.key,
        "expired": expired.key,
        "disabled": disabled.key,
        "wrong": good[:-1] + ("a" if good[-1] != "a" else "b"),
        "another's": good.rpartition("_")[0] + "_" + office.keys["ada"].rpartition("_")[2],
        "garbage": "dk__",
        "empty": "",
    }


def _path(office, path):
    return re.sub(r"/(R|W|OTTO)(?=/|$)", lambda found: "/" + office.keys[found[1]], path)


@pytest.mark.parametrize("row", MATRIX, ids=lambda row: f"{row[0]} {row[1]}")
def test_each_role_gets_its_code(office, row):
    """Every route answers each role with the expected status, and refusals are problems of RFC 9457."""
    method, path, body, *codes = row
    for who, expected in zip(NAMES, codes, strict=True):
        headers = {"Idempotency-Key": "key-00000001"} if (method, path) == ("POST", "/requests") else {}
        answer = office.call(who, method, _path(office, path), json=body, headers=headers)
        assert answer.status_code == expected, (who, answer.text)
        if expected >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert set(answer.json()) >= {"type", "title", "status", "detail"}


@pytest.mark.parametrize("row", MATRIX, ids=lambda row: f"{row[0]} {row[1]}")
@pytest.mark.parametrize(
    "credential", ["none", "basic", "revoked", "expired", "disabled", "wrong", "another's", "garbage", "empty"]
)
def test_no_valid_key_no_answer(office, row, credential):
    """Without a valid key every route says 401, in one text, whatever is wrong with the key."""
    method, path, body, *_ = row
    headers = {} if credential == "none" else {"Authorization": f"Bearer {office.keys.get(credential, '')}"}
    if credential == "basic":
        headers = {"Authorization": "Basic Y29yYTpjb3Jh"}
    answer = office.client.request(method, f"/v1{_path(office, path)}", json=body, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "Create one on the page Keys" in answer.json()["detail"]


def test_the_matrix_has_every_route(office):
    """A new route cannot be forgotten: the matrix and the application name the same ones."""
    written = {(method, re.sub(r"/(none|toy|R|W|OTTO|alpha|abe)(?=/|$)", "/{}", path)) for method, path, *_ in MATRIX}
    served = {
        (method, re.sub(r"\{\w+\}", "{}", route.path).removeprefix("/v1"))
        for route in routes_of(office.client.app)
        for method in route.methods
        if route.path.startswith("/v1/")
    }
    assert served - written == {("GET", "/health")}
    assert written <= served


def test_a_route_without_a_guard_is_not_served(tmp_path):
    """Control: the check that no route is unguarded sees one that is, also below a router."""
    app = create_app(settings_of(tmp_path))
    assert any(isinstance(guard_of(route), Guard) for route in routes_of(app))
    app.get("/v1/open")(lambda: "all of it")
    with pytest.raises(ForbiddenError, match="/v1/open"):
        check_guarded(app)


def test_a_session_is_no_key_and_a_cookie_opens_no_route(office):
    """The API takes keys alone: a browser's cookie, which another site could make it send, is not looked at."""
    answer = office.client.get("/v1/me", headers={"Cookie": "discreet=anything; __Host-discreet=anything"})
    assert answer.status_code == 401


def test_nobody_is_let_in_by_a_header(office):
    """Names in headers are not believed, with or without a key."""
    claimed = {"X-User": "ada", "X-Forwarded-User": "ada", "Remote-User": "ada", "user-name": "ada"}
    assert office.client.get("/v1/users", headers=claimed).status_code == 401
    assert office.call("ann", "GET", "/users", headers=claimed).status_code == 403


def test_analysts_do_not_see_each_other(office):
    """Another project's requests, allotments and texts are not listed; what one asks for is told from what is not."""
    assert office.call("abe", "GET", "/requests").json()["items"] == []
    assert [one["project"] for one in office.call("abe", "GET", "/datasets/toy/budget").json()["allotments"]] == [
        "beta"
    ]
    history = office.call("abe", "GET", "/datasets/toy/history").json()["items"]
    assert {(one["facts"], one["project"]) for one in history} == {(None, None)}
    theirs = office.call("abe", "GET", f"/requests/{office.keys['R']}").json()["detail"]
    nobodys = office.call("abe", "GET", "/requests/aaaaaaaaaaaaaaaa").json()["detail"]
    assert theirs.replace(office.keys["R"], "") == nobodys.replace("aaaaaaaaaaaaaaaa", "")


def test_a_dataset_without_an_allotment_looks_like_none(office):
    """Analysts see no data set of which their projects have no allotment: not in lists, not by name, not in plans."""
    source = {"data": {"root": "tables", "path": "hidden.parquet"}}
    other = {"metadata": METADATA | {"dataset": "hidden"}, "source": source}
    assert office.call("cora", "POST", "/datasets", json=other).status_code == 201
    assert "hidden" not in office.call("ann", "GET", "/datasets").text
    for method, path, body in (("GET", "/datasets/hidden", None), ("POST", "/plans", PLAN | {"dataset": "hidden"})):
        hidden = office.call("ann", method, path, json=body)
        nothing = office.call(
            "ann", method, path.replace("hidden", "nosuch"), json=body and body | {"dataset": "nosuch"}
        )
        assert (hidden.status_code, nothing.status_code) == (404, 404)
        assert hidden.text.replace("hidden", "nosuch") == nothing.text


def test_one_table_has_one_budget(office):
    """The same table under a second name would have a second lifetime cap: it is refused, a further version is not."""
    again = DATASET | {"metadata": METADATA | {"dataset": "toy-again"}}
    refused = office.call("cora", "POST", "/datasets", json=again)
    assert (refused.status_code, "'toy'" in refused.json()["detail"]) == (409, True)


def test_a_project_without_a_part_asks_nothing(office):
    """A part is the project's: who has one elsewhere cannot ask for another project, not even for free."""
    office.call("cora", "PUT", "/projects/gamma", json={"members": ["ann"]})
    for key, asked in (("key-gamma-1", QUESTION), ("key-gamma-2", QUESTION | {"parameters": {"epsilon": 0.125}})):
        headers = {"Idempotency-Key": key}
        answer = office.call("ann", "POST", "/requests", json=asked | {"project": "gamma"}, headers=headers)
        assert answer.status_code == 403, answer.text


def test_keys_made_by_a_key_end_with_it(office):
    """A key cannot outlive itself through another one that it makes."""
    short = office.call("abe", "POST", "/keys", json={"label": "short", "days": 1}).json()
    headers = {"Authorization": f"Bearer {short['key']}"}
    made = office.client.post("/v1/keys", json={"label": "long", "days": 700}, headers=headers).json()
    assert made["expires"] <= short["expires"]


def test_a_new_role_or_password_ends_keys(office):
    """What an account could do before ends with the change: sessions and keys have to be made anew."""
    for number, change in enumerate(({"role": "auditor"}, {"password": PASSWORD})):
        name = f"eve{number}"
        office.call("ada", "POST", "/users", json={"name": name, "role": "analyst", "password": PASSWORD})
        key = people.make_key(office.context, Principal(name, Role.ANALYST), KeyIn(label="old")).key
        headers = {"Authorization": f"Bearer {key}"}
        assert office.client.get("/v1/me", headers=headers).status_code == 200
        office.call("ada", "PATCH", f"/users/{name}", json=change)
        assert office.client.get("/v1/me", headers=headers).status_code == 401


def test_an_admin_sees_the_audit_of_accounts_alone(office):
    """The audit shows an admin who made which account and key, and no data set and no request."""
    seen = {one["action"] for one in office.call("ada", "GET", "/audit?limit=200").json()["items"]}
    everything = {one["action"] for one in office.call("otto", "GET", "/audit?limit=200").json()["items"]}
    assert "make key" in seen
    assert {"request", "approve", "register"} <= everything - seen


def test_where_tables_lie_is_for_curators(office):
    """Analysts and auditors see metadata, not the place of the table."""
    assert office.call("cora", "GET", "/datasets/toy").json()["source"]["data"]["path"] == "toy.parquet"
    for who in ("ann", "otto"):
        assert "toy.parquet" not in office.call(who, "GET", "/datasets/toy").text
