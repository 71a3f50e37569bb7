"""`discreet budget`: accounts under zCDP, where rho is shown as rho and the cap alone is converted; allotments."""

import io
import json

import pytest

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import SelectionEvent
from discreet.accounting.guarantee import exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.ledger import Ledger
from tests.acceptance.conftest import Place

CONVERTS = "the cap converts to epsilon 1 at delta 0.000001"
RELATION = NeighboringRelation.REPLACE_ONE


@pytest.fixture
def run(tmp_path, capsys):
    """Run `discreet budget` on a ledger of the test's own; return what it prints, or its error."""
    place = Place(tmp_path, capsys)

    def budget(*words, code=0):
        done = place.run("budget", *words, "--ledger", place.ledger)
        assert done.code == code, done
        return done.err if code else done.out

    return budget


def spend(path, count, project=None):
    """Reserve selections of 0.1."""
    event = SelectionEvent(exact(0.1, "epsilon"), "gumbel")
    with Ledger(path) as ledger:
        for _ in range(count):
            ledger.reserve(
                request="a" * 64,
                dataset="toy",
                unit="person",
                neighboring=RELATION,
                guarantee=guarantee_of(event, RELATION),
                facts={},
                event=event,
                project=project,
            )


def test_an_account_under_zcdp(run, tmp_path):
    """Granted, charged, shown, listed and verified, in words and as JSON."""
    grant = ("grant", "toy", "--epsilon", "1", "--delta", "1e-6", "--accounting", "zcdp")
    assert run(*grant) == f"toy may spend rho 0.0241296223 in its lifetime.\n{CONVERTS.capitalize()}.\n"
    run("grant", "other", "--epsilon", "3")
    spend(tmp_path / "ledger.sqlite", 12)
    first, second = run("show").splitlines()
    assert first == f"{'other':<20} [{'.' * 30}] epsilon 0 of 3 spent, 3 left, 0 releases"
    bar = "#" * 19 + "." * 11
    assert second == (
        f"{'toy':<20} [{bar}] rho 0.015 of 0.0241296223 spent, 0.00912962234 left, 0 releases; {CONVERTS}"
    )
    amounts = [line.partition("toy")[2].split()[:2] for line in run("history", "toy").splitlines()]
    assert amounts == [["rho", "0.0241296223"], *[["rho", "0.00125"]] * 12]
    assert run("verify").splitlines()[1:] == [f"toy: rho 0.015 of 0.0241296223 is spent, and {CONVERTS}."]


def test_its_json(run, tmp_path):
    """Accounts and entries of both kinds have the same keys."""
    run("grant", "toy", "--epsilon", "1", "--delta", "1e-6", "--accounting", "zcdp")
    run("grant", "other", "--epsilon", "3")
    spend(tmp_path / "ledger.sqlite", 1)
    other, toy = json.loads(run("show", "--json"))["accounts"]
    assert (other["accounting"], other["rho"], toy["accounting"]) == ("basic", None, "zcdp")
    assert set(other) == set(toy)
    assert toy["epsilon"] == {"cap": 1.0, "spent": 0.1, "left": 0.214322818}
    assert toy["rho"] == {
        "cap": 0.024129622344,
        "spent": 0.00125,
        "left": 0.022879622344,
        "failure": {"cap": 1e-7, "spent": 0.0},
    }
    entries = json.loads(run("history", "--json"))["entries"]
    assert [(entry["rho"], entry["failure"]) for entry in entries] == [
        (0.024129622344, 1e-7),
        (None, None),
        (0.00125, 0),
    ]


def test_another_accounting_is_refused(run, tmp_path):
    """In one line, with the exit code of its kind: a name that is none, a cap without delta, a spent account."""
    grant = ("grant", "toy", "--epsilon", "1")
    assert "accounting must be basic or zcdp" in run(*grant, "--accounting", "rho", code=2)
    assert "delta of at least" in run(*grant, "--accounting", "zcdp", code=2)
    run(*grant, "--delta", "1e-6", "--accounting", "zcdp")
    spend(tmp_path / "ledger.sqlite", 1)
    assert "keeps zcdp" in run(*grant, "--accounting", "basic", code=4)


# ---- allotments


def test_an_allotment(run):
    """Set, shown below its data set, listed, and refused above the cap."""
    run("grant", "toy", "--epsilon", "1")
    assert run("allot", "toy", "thesis", "--epsilon", "0.5") == "thesis may spend epsilon 0.5 of toy.\n"
    assert run("show").splitlines()[1] == f"  {'thesis':<18} [{'.' * 30}] epsilon 0 of 0.5 spent, 0.5 left"
    told = [part.strip() for part in run("history").splitlines()[1].split("  ") if part.strip()]
    assert told[2:5] == ["allotment set", "toy thesis", "epsilon 0.5"]
    assert "exceeds the lifetime cap" in run("allot", "toy", "thesis", "--epsilon", "2", code=2)
    assert "discreet budget grant other" in run("allot", "other", "thesis", "--epsilon", "2", code=4)


def test_an_allotment_under_zcdp(run, tmp_path):
    """Its rho is shown as rho, and charged with the account's."""
    run("grant", "toy", "--epsilon", "1", "--delta", "1e-6", "--accounting", "zcdp")
    text = run("allot", "toy", "thesis", "--epsilon", "0.5", "--delta", "1e-7")
    assert text == "thesis may spend rho 0.00538187942 of toy.\n"
    spend(tmp_path / "ledger.sqlite", 4, project="thesis")
    shown = run("show").splitlines()[1]
    assert shown == f"  {'thesis':<18} [{'#' * 28}..] rho 0.005 of 0.00538187942 spent, 0.000381879422 left"


def test_the_json_of_an_allotment(run, tmp_path):
    """Alone, and within its account; the entries name the project."""
    run("grant", "toy", "--epsilon", "1")
    alone = json.loads(run("allot", "toy", "thesis", "--epsilon", "0.5", "--json"))
    assert alone.pop("schema") == "discreet/allotment@1"
    assert json.loads(run("show", "--json"))["accounts"][0]["allotments"] == [alone]
    assert alone["epsilon"] == {"cap": 0.5, "spent": 0.0, "left": 0.5}
    entries = json.loads(run("history", "--json"))["entries"]
    assert [entry["project"] for entry in entries] == [None, "thesis"]


def test_a_new_cap_keeps_its_delta_and_is_asked_about(run, monkeypatch):
    """A cap without --delta keeps the one it has; on a terminal a change is confirmed, or told with --yes."""
    run("grant", "toy", "--epsilon", "3", "--delta", "1e-5")
    assert run("grant", "toy", "--epsilon", "4") == "toy may spend epsilon 4 and delta 0.00001 in its lifetime.\n"
    monkeypatch.setattr("discreet.cli.budget.interactive", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert "Stopped before anything was spent" in run("grant", "toy", "--epsilon", "9", code=130)
    assert "epsilon 0 of 4 spent" in run("show", "toy")
    assert "epsilon 9" in run("grant", "toy", "--epsilon", "9", "--yes")
