"""The command as people and programs use it: help, results and words apart, JSON, questions, a first session."""

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from discreet.data.engines.parquet import ParquetTable
from discreet.data.metadata import Metadata
from tests.acceptance.conftest import N_ROWS, Done, Place, in_process_of_its_own
from tests.effort import either

COMMANDS = [
    ["demo"],
    ["doctor"],
    ["dummy"],
    ["plan"],
    ["predict"],
    ["joint"],
    ["effects"],
    ["select"],
    ["fit"],
    ["hybrid"],
    ["run"],
    ["report"],
    ["reproduce"],
    ["selftest"],
    ["metadata", "new"],
    ["metadata", "check"],
    ["metadata", "schema"],
    ["metadata", "convert"],
    ["budget", "free"],
    ["budget", "grant"],
    ["budget", "allot"],
    ["budget", "show"],
    ["budget", "history"],
    ["budget", "verify"],
    ["budget", "reconcile"],
    ["budget", "witness"],
    ["serve"],
    ["worker"],
    ["remote", "login"],
    ["remote", "logout"],
    ["remote", "datasets"],
    ["remote", "metadata"],
    ["remote", "budget"],
    ["remote", "plan"],
    ["remote", "select"],
    ["remote", "fit"],
    ["remote", "hybrid"],
    ["remote", "run"],
    ["remote", "requests"],
    ["remote", "show"],
    ["remote", "release"],
    ["remote", "report"],
    ["remote", "approve"],
    ["remote", "reject"],
    ["remote", "withdraw"],
    ["remote", "register"],
    ["remote", "grant"],
    ["remote", "allot"],
    ["remote", "members"],
    ["remote", "users", "list"],
    ["remote", "users", "add"],
    ["remote", "users", "change"],
    ["remote", "keys", "list"],
    ["remote", "keys", "make"],
    ["remote", "keys", "revoke"],
    ["remote", "audit"],
    ["remote", "verify"],
]

BRIEFLY = either([["select"], ["budget", "show"], ["remote", "users", "list"]], COMMANDS)
"""Commands whose help is asked for in one letter, too: one of each depth, or all."""
GROUPS: list[list[str]] = [[], ["metadata"], ["budget"], ["remote"], ["remote", "users"], ["remote", "keys"]]


# ---- help


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help(place, command):
    """The help of a command fits a terminal of 80 columns and shows an example of that very command."""
    done = place.run(*command, "--help")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    example = done.out.partition("Example:")[2]
    assert f"discreet {' '.join(command)}" in example
    if command in BRIEFLY:
        assert place.run(*command, "-h") == done


NAMED = re.compile(r"^(?:│|  ?) (\w+) ", re.MULTILINE)
"""A command in a list, in a panel or without one."""


@pytest.mark.parametrize("command", GROUPS, ids=str)
def test_help_of_groups(place, command):
    """The help of a group names all its commands."""
    done = place.run(*command, "--help")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    inside = {words[len(command)] for words in COMMANDS if words[: len(command)] == command}
    assert inside <= set(re.findall(NAMED, done.out))


def test_help_is_readable_on_a_narrow_terminal(place, monkeypatch):
    """What an option does fills half of a line of 80 characters at least; wide ones have panels."""
    told = place.run("select", "--help").out
    texts = [line[34:] for line in told.splitlines() if line.startswith("  --") and len(line) > 34]
    assert max(map(len, texts)) >= 40
    assert "│" not in told
    monkeypatch.setenv("COLUMNS", "120")
    assert "│" in place.run("select", "--help").out


def test_every_command_is_tested(place):
    """No command is missing from the list above."""
    shown = set()
    for group in GROUPS:
        block = place.run(*group, "--help").out.partition("Commands")[2]
        shown |= {(*group, name) for name in re.findall(NAMED, block)}
    assert shown - set(map(tuple, GROUPS)) == set(map(tuple, COMMANDS))


@pytest.mark.processes
def test_help_as_a_process(place):
    """The process starts, shows the help of `select`, and knows its version."""
    done = in_process_of_its_own("select", "--help")
    assert (done.code, done.err) == (0, "")
    assert "--epsilon" in done.out
    done = in_process_of_its_own("--version")
    assert done == Done(0, f"discreet {version('discreet')}\n", "")


@pytest.mark.processes
def test_completion(place, monkeypatch):
    """A shell can ask for the completion's script, and complete a command with it."""
    monkeypatch.setenv("_DISCREET_COMPLETE", "source_bash")
    done = _installed()
    assert (done.code, done.err) == (0, "")
    assert "_DISCREET_COMPLETE=complete_bash" in done.out
    monkeypatch.setenv("_DISCREET_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "discreet selec")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert _installed().out.split() == ["select"]


def _installed(*words: str) -> Done:
    """Run the installed script."""
    script = Path(sys.executable).with_name("discreet")
    done = subprocess.run([script, *words], capture_output=True, text=True, timeout=600, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


# ---- results and words apart


JSON_COMMANDS = {
    "discreet/release@1": ["select"],
    "discreet/plan@1": ["select", "--dry-run"],
    "discreet/expectation@1": ["plan", "--metadata", "people.yaml", "--target", "visits", "--tables", "1", "--compare"],
    "discreet/account@1": ["budget", "grant", "clinic", "--epsilon", "11"],
    "discreet/allotment@1": ["budget", "allot", "clinic", "thesis", "--epsilon", "2"],
    "discreet/accounts@1": ["budget", "show"],
    "discreet/history@1": ["budget", "history"],
    "discreet/verification@1": ["budget", "verify", "release.json"],
    "discreet/reconciliation@1": ["budget", "reconcile", "--release", "release.json"],
    "discreet/findings@1": ["metadata", "check", "people.yaml"],
}


@pytest.mark.parametrize("schema", JSON_COMMANDS)
def test_json(place, schema, monkeypatch):
    """With --json, standard output is JSON of a named schema and nothing else; standard error has no word."""
    monkeypatch.setenv("DISCREET_LEDGER", str(place.ledger))
    place.select(out="release.json")
    words = JSON_COMMANDS[schema]
    done = place.select(*words[1:], "--json", epsilon=2) if words[0] == "select" else place.run(*words, "--json")
    assert (done.code, done.err) == (0, "")
    value = json.loads(done.out, parse_constant=pytest.fail)
    assert value["schema"] == schema


def test_results_on_standard_output_words_on_standard_error(place):
    """What is asked for goes to standard output, what explains it to standard error."""
    done = place.select(asks=True, out="release.json")
    assert done.out.startswith("Selected for visits: ")
    assert done.err.startswith("Nothing can stand out here: whatever is selected may be due to chance. With 240 rows, ")
    assert done.err.endswith("\nRelease written to release.json. `discreet report release.json` explains it.\n")
    done = place.select("--json")
    assert json.loads(done.out) == json.loads(Path("release.json").read_text())
    assert done.err.startswith("The same request had been answered before")
    for form, start in (("markdown", "#"), ("html", "<!doctype html>"), ("json", "{")):
        done = place.run("report", "release.json", "--format", form)
        assert done.out.lower().startswith(start)
        assert done.err == ""
        done = place.run("report", "release.json", "--format", form, "--out", f"report.{form}")
        assert (done.out, done.err) == ("", f"Report written to report.{form}.\n")
    done = place.run("metadata", "convert", "people.yaml", "--to", "csvw")
    assert json.loads(done.out)
    done = place.run("dummy", "--metadata", "people.yaml", "--out", "fake.csv")
    assert done.out == ""
    assert "fake.csv" in done.err
    assert len((place.folder / "fake.csv").read_text().splitlines()) == 1 + N_ROWS


def test_quiet(place):
    """With --quiet, standard error has no word, whatever the outcome says on standard output."""
    for words in (["--quiet"], ["-q", "--json"], ["-q", "--fresh", "--out", "release.json"], ["-q", "--dry-run"]):
        done = place.select(*words)
        assert (done.code, done.err) == (0, ""), words
        assert done.out
    assert place.select("--quiet", target="height").refused(3)


@pytest.mark.processes
def test_pipe_that_closes(place):
    """A reader that stops listening ends the command without a traceback; the release is stored."""
    command = shlex.join([sys.executable, "-m", "discreet", *place.words("--json")])
    done = subprocess.run(["bash", "-c", f"{command} | true"], capture_output=True, text=True, timeout=600, check=False)
    assert "Traceback" not in done.stderr
    assert place.spent() == 1
    assert place.select().err.startswith("The same request had been answered before")


# ---- a plan opens nothing


def test_dry_run(place, monkeypatch):
    """--dry-run tells the cost and the noise; it opens no data and no ledger, and charges nothing."""

    def opened(*_, **__):
        raise AssertionError("opened")

    monkeypatch.setattr(ParquetTable, "__init__", opened)
    monkeypatch.setattr("discreet.workflow.open_table", opened)
    monkeypatch.setattr("discreet.workflow.Ledger", opened)
    for data in (place.data, "none.parquet", None, "http://example.org/people.csv"):
        done = place.select("--dry-run", data=data, epsilon="0.5", ledger="nowhere/at/all")
        assert (done.code, done.err) == (0, ""), data
        assert "epsilon 0.5" in done.out
        assert "No data were opened and nothing was spent." in done.out
    monkeypatch.undo()
    assert place.spent() == 0


def test_dry_run_promises_what_the_release_keeps(place):
    """The plan's noise and parameters are the release's, where nothing is estimated before."""
    declared = {"y_center": "middle", "y_bound": "furthest"}
    plan = json.loads(place.select("--dry-run", "--json", **declared).out)
    release = json.loads(place.select("--json", **declared).out)
    assert plan["noise"] == release["noise"]
    assert plan["parameters"] == release["request"]["parameters"]
    assert plan["cost"] == {name: release["guarantee"][name] for name in ("epsilon", "delta")}
    assert plan["neighboring"] == release["guarantee"]["neighboring"]


def test_as_published_is_not_private(place):
    """A run for study says so wherever it is shown, and is refused on a data set that has a budget."""
    assert "every run on it must give a guarantee" in place.select("--as-published").refused(9)
    assert place.spent() == 0
    other = place.write_metadata(dataset="study")
    done = place.select("--as-published", metadata=other, out="study.json")
    assert done.code == 0
    assert "NOT PRIVATE" in done.out
    assert json.loads(Path("study.json").read_text())["private"] is False
    assert "not private" in place.run("report", "study.json").out.lower()
    place.run("budget", "verify", "study.json", "--ledger", place.ledger).refused(8)


# ---- a first session


def test_demo_twice(place):
    """The demonstration runs from nothing to a report, and again in the same folder for free."""
    first = place.run("demo", "--dir", "demo")
    assert first.code == 0
    assert first.out.startswith("Selected for mdvis: ")
    assert "1. Dry run" in first.err
    files = {path.name for path in Path("demo").iterdir()}
    assert files == {
        "rand_hie.parquet",
        "rand_hie.yaml",
        "ledger.sqlite",
        "release.json",
        "report.html",
        "report.md",
        "report.pdf",
        "plan.yaml",
    }
    again = place.run("demo", "--dir", "demo")
    assert (again.code, again.out) == (0, first.out)
    assert "nothing charged" in again.err
    assert place.run("demo", "--dir", "demo", "--quiet") == Done(0, first.out, "")
    for command in re.findall(r"  (discreet (?:select|fit) .*)", first.err):
        assert place.run(*shlex.split(command)[1:], "--quiet").code == 0
    assert place.run("budget", "verify", "demo/release.json", "--ledger", "demo/ledger.sqlite").code == 0
    shown = place.run("budget", "show", "--ledger", "demo/ledger.sqlite").out
    assert "epsilon 2 of 3 spent, 1 left, delta 0.000002 of 0.00001, 2 releases" in shown


def test_demo_in_a_bad_place(place):
    """A folder that cannot be made is a usage error."""
    assert "must be writable" in place.run("demo", "--dir", "people.yaml/demo").refused(2)


def test_from_a_csv_file_to_a_selection(place):
    """A skeleton from the header, filled in, checked, a cap, a selection: each step says the next one."""
    done = place.run("metadata", "new", "people.csv", "--unit", "person", "--out", "new.yaml")
    assert (done.code, done.out) == (0, "")
    assert done.err == "Skeleton written to new.yaml. Fill in the blanks, then: discreet metadata check new.yaml\n"
    skeleton = Path("new.yaml").read_text()
    assert not re.search("north|south|west", skeleton)
    done = place.run("metadata", "check", "new.yaml")
    assert done.code == 3
    assert done.err == "Error: new.yaml has 4 errors. Correct them and check again.\n"
    place.select(metadata="new.yaml").refused(3)
    value = yaml.safe_load(skeleton)
    assert set(value["columns"]) == {"age", "income", "site", "visits"}
    for name, lower, upper in (("age", 0, 110), ("income", 0, 100), ("visits", 0, 20)):
        value["columns"][name] = {"type": "real", "lower": lower, "upper": upper, "source": "questionnaire"}
    value["columns"]["site"].update(type="category", levels=["north", "south", "west"], source="study design")
    Path("new.yaml").write_text(yaml.safe_dump(value))
    done = place.run("metadata", "check", "new.yaml")
    assert done.code == 0, done
    assert "new.yaml is ready: 4 columns" in done.out
    done = place.select(metadata="new.yaml", data="people.csv")
    (command,) = re.findall("`(discreet .*)`", done.refused(4))
    assert place.run(*shlex.split(command)[1:]).code == 0
    done = place.select(metadata="new.yaml", data="people.csv", out="release.json")
    assert done.code == 0
    assert place.run("report", "release.json", "--out", "report.html").code == 0
    assert place.spent("people") == 1


def test_convert_there_and_back(place):
    """Metadata converted to another format and back have the same columns, bounds and levels."""
    before = Metadata.read("people.yaml")
    known = ["--unit", "person", "--neighboring", "replace_one", "--n-rows", "240", "--dataset", "clinic"]
    for form, name in (("csvw", "there.json"), ("smartnoise", "there.yaml"), ("discreet", "there.yaml")):
        assert place.run("metadata", "convert", "people.yaml", "--to", form, "--out", name).code == 0
        given = [] if form == "discreet" else known
        done = place.run("metadata", "convert", name, "--to", "discreet", *given, "--out", "back.yaml")
        assert done.code == 0, done
        assert done.out == ""
        after = Metadata.read("back.yaml")
        assert (after.dataset, after.unit, after.neighboring) == ("clinic", "person", "replace_one")
        for column, facts in before.columns.items():
            found = after.columns[column]
            for fact in ("lower", "upper", "levels"):
                assert getattr(found, fact, None) == getattr(facts, fact, None), (form, column, fact)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_dummy(place, ending):
    """A fake table of the declared shape is taken by `select` as the true one would be."""
    other = place.write_metadata(unit_id="person", rows_per_unit=2)
    done = place.run("dummy", "--metadata", other, "--rows", "240", "--out", f"fake.{ending}")
    assert done.code == 0
    assert place.select(data=f"fake.{ending}", metadata=other).code == 0
    assert place.select(data=f"fake.{ending}").code == 0


# ---- the question


def on_a_terminal(place: Place, answer: str, *words: str) -> tuple[int, str, str]:
    """Run a `select` on a terminal that types an answer; return code, standard output and what the terminal shows."""
    master, slave = os.openpty()
    command = [sys.executable, "-m", "discreet", *place.words(*words, asks=True)]
    with subprocess.Popen(command, stdin=slave, stderr=slave, stdout=subprocess.PIPE, text=True) as process:
        os.close(slave)
        os.write(master, answer.encode())
        shown = b""
        while True:
            try:
                shown += os.read(master, 4096)
            except OSError:  # how a terminal ends whose other side is closed
                break
        out = process.stdout.read()
    os.close(master)
    return process.returncode, out, shown.decode()


QUESTION = "This will spend epsilon 1 of the 10 left for clinic and cannot be undone."


@pytest.mark.processes
@pytest.mark.parametrize("answer", either(["\n", "\x04"], ["n\n", "\n", "\x04"]), ids=ascii)
def test_question_refused(place, answer):
    """On a terminal the cost is shown and asked for; any answer but yes spends nothing."""
    code, out, shown = on_a_terminal(place, answer)
    assert (code, out) == (130, "")
    assert QUESTION in shown
    assert "Go on? [y/N]: Error: Stopped before anything was spent." in shown
    assert place.spent() == 0


@pytest.mark.processes
def test_question_accepted(place):
    """Yes goes on, and standard output still holds the result alone."""
    code, out, shown = on_a_terminal(place, "y\n", "--json")
    assert code == 0
    assert out.startswith("{")
    assert json.loads(out)["schema"] == "discreet/release@1"
    assert QUESTION in shown
    assert place.spent() == 1


@pytest.mark.processes
def test_question_skipped(place):
    """--yes asks nothing; nor is there a question for what is free, or where nobody could answer."""
    code, out, shown = on_a_terminal(place, "n\n", "--yes")
    assert code == 0
    assert "Go on?" not in shown
    assert place.spent() == 1
    code, again, shown = on_a_terminal(place, "n\n")
    assert (code, again) == (0, out)
    assert "Go on?" not in shown
    assert place.select("--fresh").code == 0
    assert place.spent() == 2


# ---- the ledger


def test_budget(place):
    """Spending shows in the ledger's bar, its history and its check."""
    place.select()
    place.select("--fresh", epsilon="2")
    where = ["--ledger", place.ledger]
    assert "3 of 10 spent, 7 left, 2 releases" in place.run("budget", "show", *where).out
    told = [re.split(r"  +", line)[3] for line in place.run("budget", "history", *where).out.splitlines()]
    assert told == ["cap set", *["budget reserved (released)", "rows opened", "released"] * 2]
    assert place.run("budget", "verify", *where).out.startswith("The ledger is intact: 7 entries, 2 releases")
    account = json.loads(place.run("budget", "show", "clinic", "--json", *where).out)["accounts"][0]
    assert account["epsilon"] == {"cap": 10.0, "spent": 3.0, "left": 7.0}
    line = place.run("budget", "show", "other", *where).refused(4)
    assert "has no cap in this ledger" in line


def test_default_ledger(place):
    """Without --ledger the ledger is a file in the user's data folder, or what DISCREET_LEDGER names."""
    assert place.run("budget", "grant", "clinic", "--epsilon", "1").code == 0
    assert Path("temporary", "discreet", "discreet.sqlite").is_file()
    assert place.select(ledger=None).code == 0
    assert place.spent() == 0


def test_progress_in_lines_for_a_program(place, monkeypatch):
    """Asked for by the environment: how much is done of what, up to all of it; the result stays alone."""
    words = f"plan --metadata {place.metadata} --target visits --epsilon 1 --method pcls --alone --tables 2 --json"
    monkeypatch.setenv("DISCREET_PROGRESS", "lines")
    shown = place.run(*words.split())  # first: what was simulated is not simulated again
    monkeypatch.delenv("DISCREET_PROGRESS")
    silent = place.run(*words.split())
    lines = [json.loads(line) for line in shown.err.splitlines()]
    assert (silent.err, shown.out) == ("", silent.out)
    assert {line["schema"] for line in lines} == {"discreet/progress@1"}
    for work in {line["work"] for line in lines}:
        counts = [(line["done"], line["total"]) for line in lines if line["work"] == work]
        assert counts == sorted(counts)
        assert counts[-1][0] == counts[-1][1]
        assert len(counts) <= 101
