"""A table in the form that was asked for: the same figures for people, spreadsheets and programs."""

import csv
import io
import json

import pytest


def rows(text):
    """The records of a CSV text."""
    return list(csv.DictReader(io.StringIO(text)))


def test_the_ledger_as_csv_says_what_its_json_says(place):
    """An account and its allotment have a line each; history has a line an entry."""
    place.run("budget", "allot", "clinic", "thesis", "--epsilon", 2, "--ledger", place.ledger)
    shown = place.run("budget", "show", "--format", "csv", "--ledger", place.ledger)
    account, allotment = rows(shown.out)
    record = json.loads(place.run("budget", "show", "--json", "--ledger", place.ledger).out)["accounts"][0]
    assert (account["project"], allotment["project"]) == ("", "thesis")
    assert float(account["epsilon.cap"]) == record["epsilon"]["cap"]
    assert float(allotment["epsilon.left"]) == 2
    history = rows(place.run("budget", "history", "--format", "csv", "--ledger", place.ledger).out)
    entries = json.loads(place.run("budget", "history", "--format", "json", "--ledger", place.ledger).out)["entries"]
    assert [entry["hash"] for entry in history] == [entry["hash"] for entry in entries]


def test_a_fit_and_what_it_answers_as_csv(place):
    """What a fit prints as CSV is what the report writes; answers have a line each."""
    words = ["fit", "--data", place.data, "--metadata", place.metadata, "--target", "visits", "--columns", "age,site"]
    words += ["--epsilon", 2, "--ledger", place.ledger, "--yes", "--format", "csv", "--out", "fit.json"]
    printed = place.run(*words).out
    assert printed == place.run("report", "fit.json", "--format", "csv").out
    assert {"name", "estimate", "epsilon"} <= rows(printed)[0].keys()
    predicted = rows(place.run("predict", "fit.json", "--at", "age=40,site=north", "--format", "csv").out)
    assert predicted[0]["values.site"] == "north"
    joint = rows(place.run("joint", "fit.json", "--columns", "site", "--format", "csv").out)
    assert len(joint) == 2


def test_findings_as_csv(place):
    """A finding has its line, and the exit code stays."""
    other = place.write_metadata(lambda value: value["columns"]["age"].update(source="max of the data"))
    done = place.run("metadata", "check", other, "--format", "csv")
    assert done.code == 0
    assert [finding["place"] for finding in rows(done.out)] == ["columns.age"]


@pytest.mark.parametrize(
    "words",
    [
        ["budget", "show", "--json", "--format", "csv"],
        ["budget", "show", "--format", "xml"],
    ],
    ids=" ".join,
)
def test_one_form_at_a_time(place, words):
    """Two forms, or an unknown one, are refused."""
    place.run(*words, "--ledger", place.ledger).refused(2)


def test_a_dry_run_has_no_csv(place):
    """It is words and numbers of several kinds."""
    place.select("--dry-run", "--format", "csv").refused(2)
