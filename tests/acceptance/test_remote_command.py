"""``discreet remote`` against a server on this machine, as an analyst, a curator and an admin would use it."""

import csv
import hashlib
import io
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import discreet as dc
from discreet.errors import (
    ComputationFailedError,
    ForbiddenError,
    InvalidParameterError,
    PolicyError,
    ServiceError,
    WaitingError,
)
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares
from discreet_service.app import create_app
from discreet_service.context import Context
from discreet_service.worker import job, queue
from tests.acceptance.conftest import Done, Place
from tests.office import METADATA, furnish, settings_of, write_table
from tests.serving import serving

SELECT = ("select", "toy", "--purpose", "to learn", "--target", "y", "--epsilon")


class Office:
    """A server with an office's people, and the command as each of them would run it."""

    def __init__(self, url: str, context: Context, keys: dict[str, str]) -> None:
        self.url, self.context, self.keys = url, context, keys
        self.place: Place
        self.environment: Callable[[str, str], None]

    def run(self, who: str, *words: object) -> Done:
        """Run ``discreet remote`` as somebody."""
        self.environment("DISCREET_URL", self.url)
        self.environment("DISCREET_KEY", self.keys[who])
        done = self.place.run("remote", *words)
        assert not any(key.rpartition("_")[2] in done.out + done.err for key in self.keys.values())
        return done

    def json(self, who: str, *words: object) -> Any:
        """Run a command with --json; standard output must be nothing else."""
        done = self.run(who, *words, "--json")
        assert done.code in (0, 7), done
        return json.loads(done.out)

    def remote(self, who: str) -> dc.Remote:
        """The service in Python."""
        return dc.Remote(self.url, self.keys[who])

    def asked(self, epsilon: float, *words: object) -> str:
        """Ask and leave; return the request's id."""
        done = self.run("ann", *SELECT, epsilon, "--no-wait", *words)
        assert done.code == 7, done
        return done.out.strip()

    def answered(self) -> None:
        """Do what a worker does with the oldest approved request."""
        taken = queue.take(self.context)
        assert taken is not None
        with suppress(ComputationFailedError):
            job.run(self.context, taken.id)
        queue.settle(self.context, taken)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """A server with a table."""
    folder = tmp_path_factory.mktemp("office")
    for part in ("private", "public"):
        (folder / part).mkdir()
    write_table(folder)
    app = create_app(settings_of(folder, slot_s=1))
    with pytest.MonkeyPatch.context() as patch, serving(app) as url:
        patch.setattr("discreet_service.logs.sys", SimpleNamespace(stderr=io.StringIO()))  # not among a command's words
        patch.setattr(job.AtSlotEnd, "wait", lambda _: None)  # slots are not what is tested here
        yield Office(url, app.state.context, furnish(app.state.context))


@pytest.fixture
def office(served: Office, place: Place, monkeypatch: pytest.MonkeyPatch) -> Office:
    """The server, asked from a folder of the test's own."""
    served.place, served.environment = place, monkeypatch.setenv
    return served


# ---- logging in


def test_login(office, place, monkeypatch):
    """A key from a file is checked and kept; afterwards commands need neither address nor key, until one logs out."""
    for name in ("DISCREET_URL", "DISCREET_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert "discreet remote login URL" in place.run("remote", "datasets").refused(6)
    assert "--key-file" in place.run("remote", "login", office.url).refused(2)
    Path("key").write_text(office.keys["ann"] + "\n")
    done = place.run("remote", "login", office.url, "--key-file", "key")
    assert (done.code, done.out) == (0, f"You are ann (analyst) at {office.url}.\n")
    assert office.keys["ann"] not in done.err
    assert place.run("remote", "datasets").out.startswith("toy ")
    Path("key").write_text("dk_wrong_key")
    assert "valid key" in place.run("remote", "login", office.url, "--key-file", "key").refused(6)
    assert place.run("remote", "datasets").code == 0
    assert "HTTPS" in place.run("remote", "login", "http://192.0.2.1", "--key-file", "key").refused(2)
    assert place.run("remote", "logout").code == 0
    place.run("remote", "datasets").refused(6)


@pytest.mark.parametrize(
    ("who", "words", "name"),
    [
        ("ann", ["datasets"], "datasets"),
        ("ann", ["budget", "toy"], None),
        ("ann", ["requests"], "requests"),
        ("ann", ["keys", "list"], "keys"),
        ("carl", ["members"], None),
        ("ada", ["users", "list"], "users"),
        ("otto", ["audit"], "deeds"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else None,
)
def test_every_list_has_a_form_for_spreadsheets(office, who, words, name):
    """A line of CSV for each record of the JSON; two forms at once are refused."""
    lines = list(csv.DictReader(io.StringIO(office.run(who, *words, "--format", "csv").out)))
    records = office.json(who, *words)
    if name is not None:
        assert len(lines) == len(records[name])
    assert lines or name == "requests"
    assert "one form" in office.run(who, *words, "--json", "--format", "csv").refused(2)


def test_a_service_that_is_away(place, monkeypatch):
    """A service that does not answer is told from one that refuses."""
    monkeypatch.setattr("discreet_service.client.connection.MOST_TRIES", 1)
    monkeypatch.setenv("DISCREET_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("DISCREET_KEY", "dk_a_b")
    assert "cannot be reached: nothing answers there. Check the address" in place.run("remote", "datasets").refused(1)


# ---- looking


def test_looking(office):
    """Data sets, metadata and budgets are the service's."""
    assert office.json("ann", "datasets")["datasets"][0]["name"] == "toy"
    assert yaml.safe_load(office.run("ann", "metadata", "toy").out)["dataset"] == "toy"
    office.run("ann", "metadata", "toy", "--out", "toy.yaml")
    assert dc.Metadata.read("toy.yaml").sha256 == dc.Metadata.from_value(METADATA).sha256
    found = office.json("ann", "budget", "toy")
    assert (found["epsilon_cap"], [one["project"] for one in found["allotments"]]) == (3.0, ["alpha"])
    assert re.search(r"alpha +\[[#.]{30}\] epsilon [\d.]+ of 2 spent", office.run("ann", "budget", "toy").out)
    assert "There is no data set" in office.run("ann", "budget", "none").refused(2)


def test_a_price_and_a_plan(office):
    """--dry-run prices a request and asks nothing; plan simulates here, from the service's metadata."""
    before = office.json("ann", "requests")["requests"]
    done = office.run("ann", *SELECT, 0.5, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "epsilon 0.5, replace_one" in done.out
    record = office.json("ann", *SELECT, 0.5, "--dry-run")
    assert (record["schema"], record["cost"]["epsilon"]) == ("discreet/plan@1", 0.5)
    parts = office.json("ann", "plan", "toy", "--target", "y", "--until", "0.9", "--at-most", "1", "--tables", 2)
    assert (parts["until"], parts["at_most"]) == (0.9, 1.0)
    assert all(0.0 < scenario["mean"] <= scenario["worst"] <= 1.0 for scenario in parts["scenarios"])
    figures = office.json("ann", "plan", "toy", "--target", "y", "--epsilon", "1", "--tables", 1, "--compare")
    assert figures["schema"] == "discreet/expectation@1"
    assert office.json("ann", "requests")["requests"] == before


# ---- from a question to a release


@pytest.mark.processes
def test_ask_approve_read(office):
    """Ask and leave, approve what was read, come back for the release; the same question again is free."""
    done = office.run("ann", *SELECT, 0.3, "--no-wait", "--out", "r.json")
    assert done.code == 7
    id_ = done.out.strip()
    assert f"discreet remote release {id_} --out r.json" in done.err
    assert not Path("r.json").exists()
    assert office.run("ann", "release", id_, "--no-wait").code == 7
    assert "purpose: to learn" in office.run("cora", "show", id_).out
    assert "Your role is analyst, and only a curator may do this" in office.run("ann", "approve", id_).refused(6)
    assert office.run("cora", "approve", id_, "--comment", "fine").out == f"Request {id_} is approved.\n"
    worker = threading.Thread(target=office.answered)
    worker.start()
    done = office.run("ann", "release", id_, "--out", "r.json")
    worker.join()
    assert done.code == 0, done
    assert done.out.startswith("Selected for y: ")
    release = dc.Release.read("r.json")
    assert release.provenance.dataset == "toy"
    again = office.run("ann", *SELECT, 0.3, "--json")
    assert json.loads(again.out) == json.loads(Path("r.json").read_text())
    assert "nothing was charged" in again.err
    assert office.run("ann", "report", id_).out
    assert office.run("ann", "report", id_, "--out", "r.pdf").code == 0
    assert Path("r.pdf").read_bytes().startswith(b"%PDF")
    assert office.place.run("report", "r.json").code == 0
    assert office.run("abe", "release", id_).refused(2)  # of another project: not there


def test_a_question_of_several_steps(office):
    """A plan's file is asked as one unit."""
    Path("plan.yaml").write_text(
        yaml.safe_dump(
            {
                "schema": "discreet/run@1",
                "target": "y",
                "epsilon": 0.2,
                "delta": 1e-7,
                "select": {"method": "pcls"},
                "fit": {"family": "linear"},
            }
        )
    )
    assert office.json("ann", "run", "toy", "plan.yaml", "--dry-run")["method"] == "run"
    made = office.json("ann", "run", "toy", "plan.yaml", "--purpose", "to learn", "--no-wait")
    assert (made["content"]["method"], made["state"]) == ("run", "waiting")
    assert office.run("ann", "withdraw", made["id"]).out == f"Request {made['id']} is withdrawn.\n"


def test_a_plan_chooses(office):
    """The method auto is chosen here from public facts, and the request tells how."""
    made = office.json("ann", *SELECT, 0.4, "--method", "auto", "--no-wait")
    assert made["content"]["method"] != "auto"
    assert made["content"]["chosen"]["by"] == "plan"
    office.run("ann", "withdraw", made["id"])


def test_noisy_moments_answer_here(office, monkeypatch):
    """A fit from noisy moments is free and needs no service; another one asks for what the release selected."""
    id_ = office.asked(0.3, "--method", "moments", "--delta", "1e-7", "--out", "m.json")
    office.run("cora", "approve", id_)
    office.answered()
    assert office.run("ann", "release", id_, "--out", "m.json", "-q").code == 0
    with monkeypatch.context() as patch:
        patch.setattr("discreet_service.cli.remote_ask.service", None)
        done = office.run("ann", "fit", "--from", "m.json", "--columns", "a,b")
    assert done.code == 0, done
    assert "nothing further was spent" in done.out
    assert "cannot have --epsilon" in office.run("ann", "fit", "--from", "m.json", "--epsilon", 1).refused(2)


# ---- what is refused


def test_refusals(office):
    """Each kind of refusal has its exit code."""
    assert "is left for project alpha" in office.run("ann", *SELECT, 50).refused(4)
    assert "toy" not in office.run("abe", *SELECT, 0.1, "--project", "alpha").refused(2)
    assert "no parameter" in office.run("ann", *SELECT, 0.1, "--set", "nonsense=1").refused(2)
    assert "may do this. Ask somebody with that role" in office.run("otto", *SELECT, 0.1, "--project", "alpha").refused(
        6
    )
    asked = ("select", "toy", "--target", "nothing", "--epsilon", 1)
    office.run("ann", *asked, "--purpose", "to learn").refused(3)
    assert "nothing" in office.run("ann", *asked).refused(3)  # before a purpose is asked for
    asked = [word if word != "nothing" else "y" for word in asked]
    assert "Add --purpose" in office.run("ann", *asked).refused(2)
    assert "stand for a guarantee" in office.run("ann", *SELECT, 0.1, "--as-published").refused(9)
    id_ = office.asked(0.11)
    office.run("cora", "reject", id_, "--comment", "ask for less")
    assert "ask for less" in office.run("ann", "release", id_).refused(9)
    assert "must wait to be decided" in office.run("cora", "approve", id_).refused(1)


def test_a_lost_computation(office, monkeypatch):
    """What failed after the rows were opened says so, with the code of product and library."""
    id_ = office.asked(0.12)
    office.run("cora", "approve", id_)
    with monkeypatch.context() as patch:
        patch.setattr(
            "discreet.methods.subset_selection.pcls.PenalizedLeastSquares.prepare",
            _broken(PenalizedLeastSquares.prepare),
        )
        office.answered()
    assert "ended without a result" in office.run("ann", "release", id_).refused(5)
    with office.remote("ann") as remote, pytest.raises(ComputationFailedError, match="stays charged"):
        remote.wait(id_)


def _broken(prepare: Any) -> Any:
    """Prepare as ever, and fail when the rows are open."""

    def prepared(self: Any, *args: Any, **named: Any) -> Any:
        found = prepare(self, *args, **named)
        object.__setattr__(found, "run", lambda *_, **__: 1 / 0)
        return found

    return prepared


def test_an_approval_is_of_what_was_read(office, monkeypatch):
    """On a terminal the text is shown and asked about; what was changed meanwhile is not approved."""
    id_ = office.asked(0.13)
    monkeypatch.setattr("discreet_service.cli.remote_decide.interactive", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    done = office.run("cora", "approve", id_)
    assert done.code == 130
    assert "method: pcls" in done.err
    with office.remote("ann") as ann, office.remote("cora") as cora:
        read = ann.request(id_)
        assert ann.revise(id_, purpose="another").content["purpose"] == "another"
        with pytest.raises(Exception, match="was changed"):
            cora.approve(id_, sha256=read.sha256)
        assert cora.request(id_).state == "waiting"
        ann.withdraw(id_)


def test_a_question_before_it_is_sent(office, monkeypatch):
    """On a terminal one is told the price and what is left first; no is no request."""
    monkeypatch.setattr("discreet_service.cli.remote_send.interactive", lambda: True)
    before = len(office.json("ann", "requests")["requests"])
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    done = office.run("ann", *SELECT, 0.14)
    assert done.code == 130
    assert re.search(r"this will spend epsilon 0.14, .*, of the [\d.]+ left to project alpha for toy", done.err)
    assert len(office.json("ann", "requests")["requests"]) == before
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    done = office.run("ann", *SELECT, 0.14, "--no-wait")
    assert done.code == 7
    office.run("ann", "withdraw", done.out.strip())


def test_interrupted_while_waiting(office, monkeypatch):
    """Ctrl-C while waiting leaves the request to the service, and says how to go on."""

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    # Not the module's own, which other threads call.
    monkeypatch.setattr(
        "discreet_service.client.reader_calls.time", SimpleNamespace(**vars(time) | {"sleep": interrupted})
    )
    done = office.run("ann", *SELECT, 0.15)
    assert done.code == 7
    id_ = done.out.strip()
    assert f"Nothing is lost; go on with: discreet remote release {id_}" in done.err
    assert office.json("ann", "show", id_)["state"] == "waiting"
    office.run("ann", "withdraw", id_)


def test_interrupted_while_sending(office, monkeypatch):
    """Ctrl-C while a request is on its way says how to find out whether it arrived."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet_service.client.analyst_calls.AnalystCalls.ask", interrupted)
    done = office.run("ann", *SELECT, 0.18)
    assert (done.code, done.out) == (7, "")
    assert "`discreet remote requests` shows whether it arrived" in done.err


def test_a_service_that_goes_away_while_one_waits(office, monkeypatch):
    """The request stands, and the error names it."""

    def away(*_: Any, **__: Any) -> None:
        raise ServiceError("The service must be reachable, but it is not.")

    with monkeypatch.context() as patch:
        patch.setattr("discreet_service.client.reader_calls.ReaderCalls.wait", away)
        done = office.run("ann", *SELECT, 0.19, "--quiet")
    (id_,) = re.findall("The request stands: discreet remote release ([a-z0-9]+)", done.refused(1))
    assert office.run("ann", "withdraw", id_).code == 0


# ---- what curators and admins do


def test_from_nothing_to_a_question(office):
    """A curator registers a data set, grants, makes a project and allots; its member asks."""
    Path("new.json").write_text(json.dumps(METADATA | {"dataset": "second"}))
    done = office.run("cora", "register", "--metadata", "new.json", "--data", "tables/second.parquet", "--slot", 1)
    assert done.out == "second is registered as version 1.\n"
    assert "discreet remote grant second" in done.err
    office.run("cora", "grant", "second", "--epsilon", 3, "--delta", "1e-5")
    kept = office.run("cora", "grant", "second", "--epsilon", 4).out
    assert "0 of 4 spent" in kept
    assert office.json("cora", "budget", "second")["delta_cap"] == 1e-5
    assert office.run("cora", "members", "gamma", "--set", "ann,abe").out.split() == ["gamma", "abe,", "ann"]
    assert "gamma" in office.run("cora", "allot", "second", "gamma", "--epsilon", 1).out
    words = ("--epsilon", 1, "--project", "gamma", "--purpose", "to learn", "--no-wait")
    made = office.json("abe", "select", "second", "--target", "y", *words)
    assert made["state"] == "waiting"
    assert "nosuch" in office.run("abe", "select", "second", "--target", "nosuch", "--epsilon", 1).refused(3)
    assert "must name the project" in office.run(
        "abe", "select", "second", "--target", "y", *words[:2], *words[4:]
    ).refused(2)
    further = ("register", "--metadata", "new.json", "--data", "tables/second.parquet", "--version-of", "second")
    assert office.json("cora", *further)["version"] == 2
    assert "ROOT/PATH" in office.run("cora", *further[:4], "toy.parquet").refused(2)
    office.run("cora", *further[:4], "elsewhere/toy.parquet").refused(2)
    office.run("cora", "members", "gamma", "--set", "abe")


def test_accounts_and_keys(office):
    """Accounts are made, changed and listed by admins alone; keys are made and revoked by everybody."""
    made = office.json("ada", "users", "add", "eve", "--role", "analyst", "--shown", "Eve")
    assert len(made["password"]) >= 12
    assert "eve" in office.run("ada", "users", "list").out
    assert made["password"] not in office.run("ada", "users", "list").out
    assert office.run("ada", "users", "change", "eve", "--disable").out == "eve (disabled)\n"
    office.run("cora", "users", "add", "mal", "--role", "admin").refused(6)
    key = office.json("ann", "keys", "make", "for a test", "--days", 1)
    with dc.Remote(office.url, key["key"]) as remote:
        assert remote.me()["name"] == "ann"
        assert office.run("ann", "keys", "revoke", key["id"]).code == 0
        with pytest.raises(PermissionError, match="valid key"):
            remote.me()
    assert "for a test" in office.run("ann", "keys", "list").out


def test_what_is_kept_honest(office):
    """Audit and verification are the auditor's."""
    assert office.run("otto", "verify").out.startswith("The ledger is intact: ")
    assert {"action", "actor", "object"} <= office.json("otto", "audit", "--limit", 3)["deeds"][0].keys()
    assert "make key" in office.run("otto", "audit", "--limit", 500).out
    office.run("ann", "audit").refused(6)


# ---- in Python


def test_in_python(office):
    """The words are those of one's own table; waiting ends with a release, an error, or later."""
    with office.remote("ann") as ann, office.remote("cora") as cora:
        question = {"dataset": "toy", "target": "y", "epsilon": 0.16, "purpose": "to learn"}
        with pytest.raises(InvalidParameterError, match="Give purpose="):
            ann.select("toy", target="y", epsilon=0.16)
        assert ann.plan("toy", target="y", epsilon=0.16)["cost"] == {"epsilon": 0.16, "delta": 0.0}
        with pytest.raises(WaitingError) as caught:
            ann.select(**question, wait=False)
        id_ = re.search("id=([a-z0-9]+)", str(caught.value))[1]
        with pytest.raises(ForbiddenError):
            ann.approve(id_)
        started = time.monotonic()
        with pytest.raises(WaitingError):
            ann.wait(id_, 0.2)
        assert time.monotonic() - started >= 0.2
        assert cora.approve(id_, "fine").state == "approved"
        office.answered()
        release = ann.wait(id_)
        assert release == ann.release(id_) == ann.select(**question)
        assert ann.report(id_, "pdf").startswith(b"%PDF")
        assert ann.report(id_, "html").lower().startswith("<!doctype html>")
        assert [one.id for one in ann.requests(limit=1)] != []
        rejected = ann.ask(
            "toy", target="y", method="linear", candidates=["a"], epsilon=0.17, delta=1e-8, purpose="to learn"
        )
        cora.reject(rejected.id, "no")
        with pytest.raises(PolicyError, match="no"):
            ann.wait(rejected.id)


def test_pages_of_a_list(office, monkeypatch):
    """A list is read to its end, page by page, each item once."""
    monkeypatch.setattr("discreet_service.client.caller.MOST_A_PAGE", 2)
    with office.remote("otto") as otto:
        every = [one["seq"] for one in otto.audit(None)]
        assert every == sorted(set(every), reverse=True)
        assert every[-1] == 1
        assert [one["seq"] for one in otto.audit(5)] == every[:5] or len(every) > 5


def test_parts_below_a_ceiling_are_asked_of_a_service(office, monkeypatch):
    """The curator approves the ceiling, the release says what was spent, and the same question again is free."""
    monkeypatch.setattr("discreet_service.worker.parts.AtShareEnd.wait", lambda _: None)
    monkeypatch.setattr(queue, "_slot_s", lambda *_: 20)  # parts take more than the second of the other tests
    words = ("select", "toy", "--target", "y", "--method", "moments", "--until", 0.51, "--at-most", 0.5)
    words += ("--set", "y_center=0", "--set", "y_bound=3", "--delta", 1e-7, "--purpose", "to learn", "--yes")
    done = office.run("ann", *words, "--no-wait")
    assert done.code == 7, done
    asked = done.out.strip()
    with office.remote("cora") as remote:
        assert remote.request(asked).epsilon == pytest.approx(0.5)
    assert office.run("cora", "approve", asked, "--yes").code == 0
    office.answered()
    told = office.run("ann", *words, "--out", "parts.json").out
    assert "Bought in" in told, told
    record = dc.Release.read("parts.json").pooled
    assert 0 < record.epsilon_spent <= record.at_most == 0.5
    assert office.run("ann", *words[:-1], "--epsilon", 1).code == 2


# ---- a public table


def test_a_public_table_is_used_by_what_is_asked(office, place):
    """In a selection and in a plan of steps: declared by its digest, in the request and the dry run; no other file."""
    records = pa.table({"y": [i / 50 - 1 for i in range(100)], "a": [(i * 7 % 100) / 50 - 1 for i in range(100)]})
    folder = Path(office.context.settings.public["open"])
    pq.write_table(records, folder / "volunteers.parquet")
    own = folder / "volunteers.parquet"
    public = {"sha256": hashlib.sha256(own.read_bytes()).hexdigest(), "source": "they agreed"}
    write_table(folder.parent, "pair.parquet")
    with office.remote("cora") as cora:
        facts = METADATA | {"dataset": "pair", "public": public}
        cora.register(facts, "tables/pair.parquet", public="open/volunteers.parquet")
        cora.grant("pair", 2)
        cora.allot("pair", "alpha", 2)
        assert (cora.budget("pair")["delta_cap"], cora.budget("pair")["allotments"][0]["delta_cap"]) == (0, 0)
        cora.grant("toy", 4)
        cora.allot("toy", "alpha", 3)
        budget = cora.budget("toy")
        assert (budget["epsilon_cap"], budget["delta_cap"]) == (4, 1e-5)
        alpha = next(each for each in budget["allotments"] if each["project"] == "alpha")
        assert (alpha["epsilon_cap"], alpha["delta_cap"]) == (3, 1e-6)
        assert cora.grant("toy", 4, 2e-5)["delta_cap"] == 2e-5
    common = ("--purpose", "to learn", "--public-table")
    ask = ("select", "pair", "--target", "y", "--candidates", "a", "--epsilon", 0.5, "--method")
    shown = office.run("ann", *ask, "decorrelated", "--dry-run", "--public-table", own)
    assert shown.code == 0, shown
    assert "from 100 public records (they agreed)" in shown.out
    done = office.run("ann", *ask, "decorrelated", "--no-wait", *common, own)
    assert done.code == 7, done
    with office.remote("ann") as ann:
        stated = ann.request(done.out.strip()).content["parameters"]["public_moments"]
    assert (stated["sha256"], stated["n_records"]) == (public["sha256"], 100)
    plan = Path("plan.yaml")
    plan.write_text(
        "{schema: discreet/run@1, target: y, epsilon: 1, candidates: [a], select: {method: decorrelated}, "
        "fit: {family: linear}}"
    )
    done = office.run("ann", "run", "pair", plan, "--no-wait", *common, own)
    assert done.code == 7, done
    with office.remote("ann") as ann:
        steps = ann.request(done.out.strip()).content["parameters"]
    assert steps["select"]["public_moments"] == stated
    Path("other.parquet").write_bytes(own.read_bytes() + b"\0")
    for words in ((*ask, "decorrelated", *common, "other.parquet"), ("run", "pair", plan, *common, "other.parquet")):
        office.run("ann", *words, "--no-wait").refused(5)
    assert "for the methods" in office.run("ann", *ask, "pcls", *common, own).refused(2)
