"""What pages show to whom, and what their forms do; every page speaks of what the use cases give, and no more."""

import json
import re

import pytest
from fastapi.testclient import TestClient
from tests.office import METADATA, PASSWORD, open_office

from discreet_service.access.roles import Principal, Role
from discreet_service.clock import now
from discreet_service.schemas import CapIn
from discreet_service.store import requests as rows
from discreet_service.use_cases import datasets, permissions
from discreet_service.worker import queue

CURATOR = Principal("cora", Role.CURATOR)
WIDE = METADATA | {
    "dataset": "wide",
    "columns": {f"c{at}": {"type": "real", "lower": 0, "upper": 1, "source": "by design"} for at in range(90)},
}


class Browser:
    """Somebody signed in."""

    def __init__(self, office, name):
        self.client = TestClient(office.client.app, follow_redirects=True)
        self.send("/sign-in", self.client.get("/sign-in").text, name=name, password=PASSWORD)

    def get(self, path, status=200):
        found = self.client.get(path)
        assert found.status_code == status, found.text
        return found.text

    def send(self, path, page, status=200, **data):
        """Send a form of a page."""
        token = re.search(r'name="form_token" value="(\w+)"', page)[1]
        found = self.client.post(path, data={"form_token": token} | data)
        assert found.status_code == status, found.text
        return found.text


@pytest.fixture
def office(tmp_path):
    with open_office(tmp_path) as found:
        yield found


def plan_of(**changes):
    usual = {"sent": "yes", "dataset": "toy", "project": "alpha", "method": "pcls", "target": "y", "epsilon": "0.5"}
    return usual | {"candidates": ["a", "b", "c"], "nonce": "n" * 20, "purpose": "to learn"} | changes


@pytest.mark.slow
def test_parts_of_other_projects_are_not_shown(office):
    """An analyst sees the data set's account and their own project's part; a curator sees all parts."""
    ann, cora = Browser(office, "ann"), Browser(office, "cora")
    assert "alpha" in ann.get("/datasets/toy")
    assert "beta" not in ann.get("/datasets/toy")
    assert "beta" in cora.get("/datasets/toy")
    assert "toy.parquet" not in ann.get("/datasets/toy")
    assert "toy.parquet" in cora.get("/datasets/toy")


def test_a_form_sent_twice_makes_one_request(office):
    """The same form twice is one request; changed and sent again it is another."""
    ann = Browser(office, "ann")
    page = ann.get("/plan?dataset=toy")
    for epsilon, count in (("0.5", 1), ("0.5", 1), ("0.25", 2)):
        ann.send("/requests", page, **plan_of(epsilon=epsilon))
        assert len(re.findall(r'<th scope="row"><a href="/requests/', ann.get("/requests"))) == count


def test_a_plan_says_what_it_would_leave(office):
    """Cost, what is left before and after, for the data set and the project; refused words keep what was typed."""
    ann = Browser(office, "ann")
    page = ann.get("/plan?dataset=toy&target=y")
    shown = re.sub(r"<[^>]+>|\s+", " ", ann.send("/plan", page, **plan_of()))
    shown = re.sub(r" +", " ", shown)
    assert "This will spend epsilon 0.5 of the 3 left of toy (project alpha: 2 of 2) and cannot be undone." in shown
    assert "left now 3 left after 2.5 of 3" in shown
    assert "left now 2 left after 1.5 of 2" in shown
    refused = ann.send("/requests", page, 422, **plan_of(epsilon="x", purpose="what I typed"))
    assert "epsilon must be a number" in refused
    assert "what I typed" in refused
    assert "It costs more than" in ann.send("/plan/cost", page, **plan_of(epsilon="2.5"))
    assert "is left for" in ann.send("/requests", page, 409, **plan_of(epsilon="2.5"))


@pytest.mark.slow
def test_many_columns_are_typed(office):
    """Of a wide table names are written one a line, and lead to the same request."""
    cora = Browser(office, "cora")
    page = cora.get("/register")
    fields = {"data_root": "tables", "data_path": "wide.parquet"}
    cora.send("/register", page, metadata=json.dumps(WIDE), **fields)
    cora.send("/datasets/wide/cap", page, epsilon="2", confirmed="yes")
    cora.send("/datasets/wide/allotments", page, project="alpha", epsilon="1")
    ann = Browser(office, "ann")
    page = ann.get("/plan?dataset=wide&target=c0")
    assert 'name="typed"' in page
    assert 'type="checkbox"' not in page
    made = ann.send("/requests", page, **plan_of(dataset="wide", target="c0", candidates=[], typed="c1\r\nc2\r\n"))
    assert "c1, c2" in made


def test_a_cap_is_set_after_it_was_explained(office):
    """Without the confirmation nothing is set; a form that is wrong is shown again."""
    cora = Browser(office, "cora")
    page = cora.get("/datasets/toy/cap")
    assert 'value="3.0"' in page
    assert "is not refilled by time" in cora.send("/datasets/toy/cap", page, epsilon="5", delta="1e-5")
    assert "3 left" in re.sub(r"<[^>]+>", "", cora.get("/datasets/toy"))
    assert "The cap is set." in cora.send("/datasets/toy/cap", page, epsilon="5", delta="1e-5", confirmed="yes")
    assert "5 left" in re.sub(r"<[^>]+>", "", cora.get("/datasets/toy"))
    refused = cora.send("/datasets/toy/cap", page, 422, epsilon="-1", confirmed="yes")
    assert "The form cannot be used yet. epsilon: it must be at least 0." in refused
    assert 'value="-1"' in cora.send("/datasets/toy/cap", page, 422, epsilon="-1")


def test_titles_call_a_target_by_what_it_is(office):
    """On a request's page and in the inbox, as text; a data set's page has a column of meanings where one is told."""
    cora, ann = Browser(office, "cora"), Browser(office, "ann")
    page = cora.get("/register")
    columns = METADATA["columns"] | {"y": METADATA["columns"]["y"] | {"description": "Visits & <b>calls</b>."}}
    text = json.dumps(METADATA | {"dataset": "told", "columns": columns})
    cora.send("/register", page, metadata=text, data_root="tables", data_path="wide.parquet")
    cora.send("/datasets/told/cap", page, epsilon="2", delta="0", confirmed="yes")
    cora.send("/datasets/told/allotments", page, project="alpha", epsilon="1", delta="0")
    title = "Constrained least squares of Visits &amp; &lt;b&gt;calls&lt;/b&gt;<"
    made = ann.send("/requests", ann.get("/plan?dataset=told&target=y"), **plan_of(dataset="told"))
    assert f"<h1>{title}" in made
    assert title in cora.get("/inbox")
    assert "Meaning</th>" in cora.get("/datasets/told")
    assert "Meaning</th>" not in cora.get("/datasets/toy")


@pytest.mark.slow
def test_rho_is_told_where_rho_adds_up(office):
    """A data set under concentrated accounting shows its rho, and what the cap stands for."""
    cora = Browser(office, "cora")
    page = cora.get("/register")
    text = json.dumps(METADATA | {"dataset": "rho"})
    cora.send("/register", page, metadata=text, data_root="tables", data_path="rho.parquet")
    cora.send("/datasets/rho/cap", page, epsilon="2", delta="1e-6", accounting="zcdp", confirmed="yes")
    cora.send("/datasets/rho/allotments", page, project="alpha", epsilon="1", delta="1e-7")
    assert "the cap stands for epsilon 2 at delta 0.000001" in cora.get("/datasets/rho")
    ann = Browser(office, "ann")
    page = ann.get("/plan?dataset=rho&target=y")
    assert "where rho" in ann.send("/plan/cost", page, **plan_of(dataset="rho"))


@pytest.mark.slow
def test_a_failure_says_its_code_to_all_and_its_place_to_curators(office):
    """An analyst reads one of a closed list; where it failed is for the curator alone."""
    asked = office.ask()
    office.approve(asked)
    taken = queue.take(office.context)
    with office.context.database.write() as connection:
        rows.fail(connection, taken, "no_result", "KeyError: somewhere.py:1", now())
    told = "ended without a result after the data were opened"
    ann, cora, otto = (Browser(office, name) for name in ("ann", "cora", "otto"))
    for someone in (ann, cora, otto):
        assert told in someone.get(f"/requests/{asked['id']}")
    assert "somewhere.py" in cora.get(f"/requests/{asked['id']}")
    assert "somewhere.py" not in ann.get(f"/requests/{asked['id']}")
    assert "somewhere.py" not in otto.get(f"/requests/{asked['id']}")


@pytest.mark.slow
def test_a_decision_is_about_the_text_that_was_read(office):
    """A request that was changed after its page was shown is not approved with it."""
    asked = office.ask()
    ann, cora = Browser(office, "ann"), Browser(office, "cora")
    before = cora.get(f"/requests/{asked['id']}")
    ann.send(f"/requests/{asked['id']}/revision", ann.get("/plan?dataset=toy"), **plan_of(epsilon="1"))
    refused = cora.send(f"/requests/{asked['id']}/approval", before, 409, sha256=asked["sha256"], comment="read it")
    assert "was changed. Read it again." in refused
    assert "read it" in refused
    sha256 = re.search(r'name="sha256" value="(\w+)"', refused)[1]
    assert sha256 != asked["sha256"]
    done = cora.send(f"/requests/{asked['id']}/approval", before, sha256=sha256, comment="now")
    assert "It is approved and charged" in done
    assert "now" in ann.get(f"/requests/{asked['id']}")


def test_an_open_page_asks_for_news(office):
    """The answer is empty while nothing changed, and has the page loaded anew when something did."""
    asked = office.ask()
    ann = Browser(office, "ann")
    path = f"/requests/{asked['id']}/state?seen=waiting"
    assert ann.client.get(path).status_code == 204
    assert f'hx-get="{path}"' in ann.get(f"/requests/{asked['id']}")
    office.approve(asked)
    assert ann.client.get(path).headers["hx-refresh"] == "true"
    ann.send(f"/requests/{asked['id']}/withdrawal", ann.get(f"/requests/{asked['id']}"))
    assert "hx-get" not in ann.get(f"/requests/{asked['id']}")


@pytest.mark.slow
def test_secrets_are_shown_once(office):
    """A key and a password stand on the page that makes them, and on no page after."""
    ann, ada = Browser(office, "ann"), Browser(office, "ada")
    made = ann.send("/keys", ann.get("/keys"), 201, label="nightly", days="7")
    key = re.search(r"dk_\w+", made)[0]
    assert office.client.get("/v1/me", headers={"Authorization": f"Bearer {key}"}).json()["name"] == "ann"
    assert key not in ann.get("/keys")
    made = ada.send("/users", ada.get("/users"), 201, name="new", role="analyst", shown="A New Person")
    password = re.search(r'class="copied">(\w+)<', made)[1]
    assert password not in ada.get("/users")
    renewed = ada.send("/users/new", ada.get("/users"), change="password")
    assert re.search(r'class="copied">(\w+)<', renewed)[1] != password
    assert "A New Person" in ada.get("/users")


@pytest.mark.slow
def test_accounts_are_changed(office):
    """A role is set, an account disabled and enabled again; nobody disables themselves."""
    ada = Browser(office, "ada")
    page = ada.get("/users")
    assert "The account is changed." in ada.send("/users/abe", page, change="role", role="auditor")
    assert "disabled" in ada.send("/users/abe", page, change="disable")
    assert "disabled</span>" not in ada.send("/users/abe", page, change="enable")
    assert "nobody may disable" in ada.send("/users/ada", page, 403, change="disable")
    assert "change must be" in ada.send("/users/abe", page, 422, change="all")
    ada.send("/users/nobody", page, 404, change="disable")


@pytest.mark.slow
def test_a_new_project_takes_no_other_ones_name(office):
    """Making a project cannot empty one that exists; its own form changes its members."""
    cora = Browser(office, "cora")
    page = cora.get("/projects")
    assert "must have a new name" in cora.send("/projects", page, 409, project="alpha", new="yes")
    assert "alpha" in Browser(office, "ann").get("/projects")
    assert "letters, digits" in cora.send("/projects", page, 422, project="a b", new="yes")
    cora.send("/projects", page, project="alpha", members=["ann", "abe"])
    assert "alpha" in Browser(office, "abe").get("/projects")


def test_a_new_version_starts_from_the_one_before(office):
    """The form is filled in with the metadata and the place of the newest version."""
    cora = Browser(office, "cora")
    page = cora.get("/datasets/toy/version")
    assert "dataset: toy" in page
    assert 'value="toy.parquet"' in page
    text = json.dumps(METADATA | {"description": "better described"})
    fields = {"data_root": "tables", "data_path": "toy.parquet", "slot_s": "3"}
    assert "better described" in cora.send("/datasets/toy/version", page, metadata=text, **fields)
    wrong = json.dumps(METADATA | {"dataset": "other"})
    assert "must be those of the data set" in cora.send("/datasets/toy/version", page, 422, metadata=wrong, **fields)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": "", "data_path": "toy.parquet"},
        {"metadata": "a: [", "data_path": "toy.parquet"},
        {"metadata": "x: 1", "data_path": "toy.parquet"},
        {"metadata": "GOOD", "data_path": "../toy.parquet"},
        {"metadata": "GOOD", "data_path": "/etc/passwd"},
        {"metadata": "GOOD", "data_path": ""},
        {"metadata": "GOOD", "data_path": "toy.parquet", "data_root": "elsewhere"},
        {"metadata": "GOOD", "data_path": "toy.parquet", "slot_s": "soon"},
        {"metadata": "GOOD\0", "data_path": "toy.parquet"},
    ],
)
def test_what_cannot_be_registered_is_said(office, fields):
    """Every mistake is shown above the form, which keeps what was typed."""
    cora = Browser(office, "cora")
    good = json.dumps(METADATA | {"dataset": "another"})
    sent = {"data_root": "tables"} | fields | {"metadata": fields["metadata"].replace("GOOD", good)}
    page = cora.send("/register", cora.get("/register"), 422, **sent)
    assert '<div class="alert" role="alert">' in page or "<h1>" in page
    assert len(permissions.open_datasets(office.context, CURATOR)) == 1


@pytest.mark.slow
def test_lists_go_on_where_they_ended(office):
    """The audit and the requests are shown by pages, none twice and none left out."""
    for _ in range(60):
        datasets.grant(office.context, CURATOR, "toy", CapIn(epsilon=3, delta=1e-5))
    otto = Browser(office, "otto")
    seen, path = [], "/audit"
    while path:
        page = otto.get(path)
        seen += re.findall(r'<th scope="row" class="n">(\d+)<', page)
        following = re.search(r'rel="next" href="([^"]+)"', page)
        path = following and following[1].replace("&amp;", "&")
    assert seen == sorted(seen, key=int, reverse=True)
    assert seen[-1] == "1"
    assert len(set(seen)) == len(seen) > 60
    assert "must fit it, but cursor" in otto.get("/audit?cursor=zzz", 422)


def test_the_ledger_is_verified_on_a_page(office):
    """An auditor verifies; when an entry was changed, the page says which one does not fit."""
    otto = Browser(office, "otto")
    home = otto.get("/")
    assert office.context.ledger.head in home
    assert "The ledger is whole" in otto.send("/verification", home)


def test_addresses_hold_no_nul(office):
    """What some databases cannot even look up is not there."""
    ann = Browser(office, "ann")
    ann.get("/requests/%00", 404)
    ann.get("/datasets/toy%00", 404)
    ann.get("/plan?dataset=toy%00", 422)


@pytest.mark.slow
def test_what_to_expect_is_drawn_and_told(office, tmp_path, monkeypatch):
    """Curves as a picture of their own without anything active in it, and the same figures as a table."""
    monkeypatch.setattr("discreet.workflow.expectation_cache.cache_folder", lambda: tmp_path)
    ann = Browser(office, "ann")
    page = ann.get("/plan?dataset=toy&target=y")
    part = ann.send("/plan/accuracy", page, **plan_of(candidates=["a", "b"]))
    assert "It uses public facts alone" in part
    assert part.count("<tr>") > 5
    drawn = ann.client.get(re.search(r'src="([^"]+)"', part)[1].replace("&amp;", "&"))
    assert drawn.headers["content-type"].startswith("image/svg+xml")
    assert drawn.headers["content-security-policy"].startswith("default-src 'none'")
    assert drawn.text.startswith("<svg")
    assert not re.search(r"<script|\son\w+=|https?://(?!www\.w3\.org)|style=", drawn.text)
    many = ann.send("/plan/accuracy", page, 422, **plan_of(candidates=[f"c{at}" for at in range(61)]))
    assert "at most 60" in many
    assert "What to expect" in ann.send("/plan", page, **plan_of(candidates=["a", "b"], show="accuracy"))
