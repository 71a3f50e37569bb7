"""A request from its making to its release, by the API, on both databases: who pays, when, and for what exact text."""

import io
import json
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from discreet.release import Release
from discreet_service.access.roles import Principal, Role
from discreet_service.schemas import KeyIn
from discreet_service.use_cases import people
from tests.office import METADATA, QUESTION, open_office


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request):
    """Where the offices of this module keep their rows; None is a file of their own."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres")


@pytest.fixture
def office(tmp_path, database):
    """An office with nothing asked yet."""
    with open_office(tmp_path, database and database(), slot_s=1) as found:
        yield found


def spent(office, project="alpha"):
    """What the data set and the project have spent."""
    budget = office.call("cora", "GET", "/datasets/toy/budget").json()
    part = next(one for one in budget["allotments"] if one["project"] == project)
    return budget["epsilon_spent"], part["epsilon_spent"]


def test_the_whole_path(office):
    """Asked, approved, answered, read: charged once, with the approval; the ledger's head stands in the release."""
    asked = office.ask()
    assert (asked["state"], asked["entry"], spent(office)) == ("waiting", None, (0, 0))
    approved = office.approve(asked).json()
    assert (approved["state"], spent(office)) == ("approved", (0.5, 0.5))
    office.answer()
    answered = office.read(asked)
    assert (answered["state"], answered["ended"] >= answered["slot_end"]) == ("released", True)
    release = Release.from_json(office.call("ann", "GET", f"/requests/{asked['id']}/release").text)
    history = office.call("otto", "GET", "/datasets/toy/history").json()["items"]
    entry = next(one for one in history if one["seq"] == answered["entry"])
    assert release.provenance.ledger.head == entry["hash"]
    assert (entry["project"], entry["facts"]["reference"]) == ("alpha", asked["id"])
    assert office.call("otto", "POST", "/verification").json()["n_releases"] == 1


def test_every_form_of_a_release(office):
    """JSON is what the ledger recorded; the others are whole documents of their kind."""
    asked = office.ask(method="linear", candidates=["a", "b"], parameters={"epsilon": 1, "delta": 1e-7})
    office.approve(asked)
    office.answer()
    path = f"/requests/{asked['id']}/release"
    forms = {
        form: office.call("ann", "GET", f"{path}?format={form}") for form in ("html", "pdf", "csv", "markdown", "text")
    }
    assert all(answer.status_code == 200 for answer in forms.values())
    assert forms["html"].text.startswith("<!doctype html>") or forms["html"].text.startswith("<!DOCTYPE html>")
    assert "sandbox" in forms["html"].headers["content-security-policy"]
    assert forms["pdf"].content.startswith(b"%PDF-")
    table = pd.read_csv(io.StringIO(forms["csv"].text))
    assert set(table["column"].dropna()) == {"a", "b"}
    assert forms["csv"].headers["content-disposition"] == f'attachment; filename="release-{asked["id"]}.csv"'
    assert "epsilon" in forms["text"].text
    leaflet = office.call("ann", "GET", f"{path}?format=pdf&audience=participant")
    assert leaflet.headers["content-disposition"] == f'attachment; filename="release-{asked["id"]}-participant.pdf"'
    assert leaflet.content.startswith(b"%PDF-")
    assert leaflet.content != forms["pdf"].content
    stored = office.context.ledger.recorded(office.read(asked)["entry"])
    assert json.loads(stored) == office.call("ann", "GET", path).json()


def test_the_same_question_is_answered_once_and_free_from_then_on(office):
    """Another project's analyst who asks the same gets the stored release at once, without approval or charge."""
    first = office.ask()
    office.approve(first)
    office.answer()
    again = office.ask("another-key-1", who="abe", project="beta")
    assert (again["state"], again["is_free"], again["entry"]) == ("released", True, office.read(first)["entry"])
    assert (spent(office), spent(office, "beta")) == ((0.5, 0.5), (0.5, 0))
    texts = [
        office.call(who, "GET", f"/requests/{one['id']}/release").text for who, one in (("ann", first), ("abe", again))
    ]
    assert texts[0] == texts[1]


def test_the_same_question_is_not_answered_twice_at_once(office):
    """While one answer is under way a second approval waits; afterwards it is free."""
    first, second = office.ask(), office.ask("another-key-2")
    assert office.approve(first).status_code == 200
    refused = office.approve(second)
    assert (refused.status_code, office.read(second)["state"]) == (409, "waiting")
    assert "must not be answered twice at once" in refused.json()["detail"]
    office.answer()
    assert office.approve(second).json()["is_free"]
    assert spent(office) == (0.5, 0.5)


def test_one_key_makes_one_request(office):
    """Sent again, also many times at once, a call makes nothing new; with another body the key is refused."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: office.ask("the-one-key-3"), range(16)))
    assert len({one["id"] for one in made}) == 1
    headers = {"Idempotency-Key": "the-one-key-3"}
    other = office.call("ann", "POST", "/requests", json=QUESTION | {"purpose": "another"}, headers=headers)
    assert other.status_code == 409
    assert office.call("ann", "POST", "/requests", json=QUESTION).status_code == 422
    assert office.ask("the-one-key-3", who="abe", project="beta")["id"] != made[0]["id"]


def test_an_approval_names_the_exact_text(office):
    """A text that was changed after it was read cannot be approved by its old digest, nor by a wrong one."""
    asked = office.ask()
    changed = QUESTION | {"parameters": {"epsilon": 1.5}}
    revised = office.call("ann", "PUT", f"/requests/{asked['id']}", json=changed).json()
    assert revised["sha256"] != asked["sha256"]
    for sha256 in (asked["sha256"], "0" * 64):
        refused = office.call("cora", "POST", f"/requests/{asked['id']}/approval", json={"sha256": sha256})
        assert refused.status_code == 409
    assert spent(office) == (0, 0)
    assert office.approve(revised).json()["epsilon"] == 1.5
    late = office.call("ann", "PUT", f"/requests/{asked['id']}", json=QUESTION)
    assert (late.status_code, spent(office)) == (409, (1.5, 1.5))


def test_a_request_is_changed_by_who_made_it_alone(office):
    """Another analyst of the same project reads it, and can neither revise nor withdraw it."""
    request = office.ask()
    members = {"members": ["ann", "abe"]}
    assert office.call("cora", "PUT", "/projects/alpha", json=members).is_success
    assert office.read(request, "abe") == office.read(request)
    path = f"/requests/{request['id']}"
    assert office.call("abe", "PUT", path, json=QUESTION | {"purpose": "mine"}).status_code == 403
    assert office.call("abe", "POST", f"{path}/withdrawal").status_code == 403
    assert office.read(request) == request
    assert office.call("ann", "POST", f"{path}/withdrawal").json()["state"] == "withdrawn"


def test_nobody_decides_on_a_request_of_their_own(office):
    """Who asked and was made a curator since can neither approve nor reject it; another curator can."""
    asked = office.ask()
    assert office.call("ada", "PATCH", "/users/ann", json={"role": "curator"}).is_success
    key = people.make_key(office.context, Principal("ann", Role.CURATOR), KeyIn(label="new")).key
    body = {"sha256": asked["sha256"]}
    for decision in ("approval", "rejection"):
        path = f"/v1/requests/{asked['id']}/{decision}"
        refused = office.client.post(path, headers={"Authorization": f"Bearer {key}"}, json=body)
        assert (refused.status_code, "somebody else" in refused.text) == (403, True)
    assert (office.read(asked, "cora")["state"], spent(office)) == ("waiting", (0, 0))
    rejected = office.call("cora", "POST", f"/requests/{asked['id']}/rejection", json=body)
    assert rejected.is_success, rejected.text


def test_a_request_about_older_metadata_is_not_approved(office):
    """When the data set has a newer version, the request must be made about that one."""
    asked = office.ask()
    wider = METADATA | {"columns": METADATA["columns"] | {"y": METADATA["columns"]["y"] | {"upper": 4}}}
    body = {"metadata": wider, "source": {"data": {"root": "tables", "path": "toy.parquet"}}}
    assert office.call("cora", "POST", "/datasets/toy/versions", json=body).json()["version"] == 2
    assert office.approve(asked).status_code == 409
    revised = office.call("ann", "PUT", f"/requests/{asked['id']}", json=QUESTION).json()
    assert (revised["version"], office.approve(revised).status_code) == (2, 200)


def test_who_asks_must_still_belong_to_the_project(office):
    """A request of somebody who has left, or was disabled, is not approved, though it can be rejected."""
    left, disabled = office.ask("left-key-001"), office.ask("gone-key-001", who="abe", project="beta")
    office.call("cora", "PUT", "/projects/alpha", json={"members": []})
    office.call("ada", "PATCH", "/users/abe", json={"disabled": True})
    for one in (left, disabled):
        assert office.approve(one).status_code == 409
        body = {"sha256": one["sha256"]}
        assert office.call("cora", "POST", f"/requests/{one['id']}/rejection", json=body).json()["state"] == "rejected"
    assert office.call("ann", "GET", f"/requests/{left['id']}").status_code == 404
    assert spent(office) == (0, 0)


def test_texts_that_no_database_holds_are_refused(office):
    """NUL, half characters and numbers that are none are the caller's mistake, in every free part of a call."""
    broken = ['{"a": NaN}', '{"a": 1e999}', '{"a": "\\u0000"}', '{"a": "\\ud800"}', "[" * 5000 + "]" * 5000]
    headers = {"Idempotency-Key": "broken-key-1", "Content-Type": "application/json"}
    for text in broken:
        for name in ("chosen", "parameters", "purpose", "target"):
            body = json.dumps(QUESTION | {name: "?"}).replace('"?"', text)
            answer = office.call("ann", "POST", "/requests", content=body, headers=headers)
            assert answer.status_code in (400, 422), (name, text[:20], answer.text)
    for path in ("/requests/%00", "/requests/x%00", "/datasets/%00/budget"):
        assert office.call("ann", "GET", path).status_code == 422
    assert office.call("cora", "POST", "/keys", json={"label": "a\u0000b"}).status_code == 422


def test_how_many_may_wait(office):
    """What has to be read by somebody is limited: the request beyond is refused, a withdrawn one makes room."""
    for n in range(100):
        last = office.ask(f"many-key-{n:03d}", parameters={"epsilon": 0.001 * (n + 1)})
    headers = {"Idempotency-Key": "many-key-100"}
    assert office.call("ann", "POST", "/requests", json=QUESTION, headers=headers).status_code == 429
    office.call("ann", "POST", f"/requests/{last['id']}/withdrawal")
    assert office.call("ann", "POST", "/requests", json=QUESTION, headers=headers).status_code == 201


def test_what_is_withdrawn_or_rejected_costs_nothing(office):
    """Before a row is read a request can be taken back, reserved or not; what has ended can be neither."""
    waiting, approved, rejected = (office.ask(f"a-key-{n:04d}", parameters={"epsilon": 0.1 * n}) for n in (1, 2, 3))
    office.approve(approved)
    assert spent(office)[0] == pytest.approx(0.2)
    for one in (waiting, approved):
        done = office.call("ann", "POST", f"/requests/{one['id']}/withdrawal")
        assert (done.status_code, done.json()["state"]) == (200, "withdrawn")
    body = {"sha256": rejected["sha256"], "comment": "ask for less"}
    done = office.call("cora", "POST", f"/requests/{rejected['id']}/rejection", json=body).json()
    assert (done["state"], done["decision"]["comment"]) == ("rejected", "ask for less")
    assert spent(office) == (0, 0)
    for one in (waiting, approved, rejected):
        assert office.call("ann", "POST", f"/requests/{one['id']}/withdrawal").status_code == 409
        assert office.approve(one).status_code == 409
        assert office.call("ann", "GET", f"/requests/{one['id']}/release").status_code == 409


def test_the_cap_is_everybodys_and_the_allotment_is_the_projects(office):
    """A project cannot spend more than its allotment, and all no more than the cap; what waits does not count."""
    assert office.call("cora", "PUT", "/datasets/toy/allotments/beta", json={"epsilon": 2.5}).status_code == 200
    large = office.ask("large-key-01", parameters={"epsilon": 2})
    other = office.ask("other-key-01", who="abe", project="beta", parameters={"epsilon": 1.25})
    office.approve(large)
    refused = office.approve(other)
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:discreet:problem:budget-exceeded")
    assert office.read(other, "abe")["state"] == "waiting"
    more = office.call("ann", "POST", "/requests", json=QUESTION, headers={"Idempotency-Key": "more-key-001"})
    assert (more.status_code, more.json()["type"]) == (409, "urn:discreet:problem:budget-exceeded")
    assert spent(office) == (2, 2)


def test_a_cap_is_never_set_below_what_is_spent(office):
    """Neither the cap nor an allotment can be lowered below what stands in the ledger."""
    office.approve(office.ask())
    for path in ("budget", "allotments/alpha"):
        assert office.call("cora", "PUT", f"/datasets/toy/{path}", json={"epsilon": 0.25}).status_code in (409, 422)
    assert spent(office) == (0.5, 0.5)


def test_lists_come_in_pages(office):
    """Following the cursors gives every item once, the newest first, while new ones arrive."""
    made = [office.ask(f"page-key-{n:03d}", parameters={"epsilon": 0.01 * (n + 1)})["id"] for n in range(7)]
    seen, cursor = [], None
    while True:
        given = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        found = office.call("ann", "GET", "/requests", params=given).json()
        seen += [one["id"] for one in found["items"]]
        office.ask(f"late-key-{len(seen):03d}", parameters={"epsilon": 0.5 + 0.01 * len(seen)})
        cursor = found["next"]
        if cursor is None:
            break
    assert seen == made[::-1]
