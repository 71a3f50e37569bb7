"""A public table in ``select``, ``run`` and ``plan``: its products of the columns in place of bought ones."""

import hashlib
import json
import re
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.ledger import Ledger
from tests.acceptance.conftest import Place

COLUMNS = {name: {"type": "real", "lower": -4, "upper": 4, "source": "device"} for name in ("a", "b", "c")}
TARGET = {"y": {"type": "real", "lower": -9, "upper": 9, "source": "device"}}


def records(n, seed):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    x = np.clip(rng.standard_normal((n, 1)) + rng.standard_normal((n, 3)), -4, 4)
    return {name: x[:, j] for j, name in enumerate(COLUMNS)}, rng.standard_normal(n)


@pytest.fixture
def public(place: Place):
    """A private table, a public one without the target, and metadata that declare it."""
    cells, noise = records(2000, 1)
    pq.write_table(pa.table({**cells, "y": 2 * cells["a"] + noise}), place.data)
    path = place.folder / "public.parquet"
    pq.write_table(pa.table(records(500, 2)[0]), path)
    facts = {
        "schema": "discreet/metadata@1", "dataset": "open", "unit": "person", "neighboring": "replace_one",
        "n_rows": 2000, "columns": COLUMNS | TARGET,
        "public": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "source": "consent form of 2019"},
    }  # fmt: skip
    place.metadata.write_text(json.dumps(facts))
    with Ledger(place.ledger) as ledger:
        ledger.grant("open", 10)
    return path


def ask(place, public, method="decorrelated", *words):
    return place.run(
        "select", "--data", place.data, "--metadata", place.metadata, "--target", "y", "--method", method,
        "--epsilon", 2, "--public-table", public, "--ledger", place.ledger, "--yes", *words,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["decorrelated", "moments"])
def test_the_release_says_what_is_supposed(place: Place, public, method):
    """One column is found among three that go together; what was public stands beside it, and in the release."""
    out = place.folder / "r.json"
    done = ask(place, public, method, "--out", out)
    assert done.code == 0, done
    assert re.search(r"Selected for y: a\b", done.out)  # the chance of another one beside it is .05
    known = "from 500 public records (consent form of 2019); private rows are supposed to have about the same"
    bought = "bought all the same: that tells more than the public ones"
    assert (known in done.out) != (bought in done.out)
    assert method == "moments" or known in done.out
    stated = json.loads(out.read_text())["request"]["parameters"]["public_moments"]
    assert stated["sha256"] == hashlib.sha256(public.read_bytes()).hexdigest()


def test_other_files_and_methods_are_refused(place: Place, public):
    """Before the charge: a file that is not the declared one, the private one, a method that has no use for it."""
    other = place.folder / "other.parquet"
    pq.write_table(pa.table(records(50, 3)[0]), other)
    for done, words in (
        (ask(place, other), "must be the one that the metadata declare public"),
        (ask(place, place.data), "must be two"),
        (ask(place, public, "pcls"), "--public-table is for the methods"),
        (follow(place, steps(place, public_table="other.parquet")), "must be the one that the metadata declare public"),
        (follow(place, steps(place, public_table=place.data.name)), "must be two"),
        (follow(place, steps(place, "pcls"), "--public-table", public), "plans that select by moments or decorrelated"),
        (follow(place, steps(place, public_moments={}), "--public-table", public), "public_moments of its own"),
    ):
        assert done.code != 0
        assert words in done.err
    assert place.spent("open") == 0


# ---- a plan of several steps


def steps(place, method="decorrelated", *, inference=None, public_table=None, **own):
    """Write a plan that selects and fits; a public table is named as it lies beside the plan."""
    value = {
        "schema": "discreet/run@1", "data": place.data.name, "metadata": place.metadata.name, "target": "y",
        "epsilon": 4, "select": {"method": method, **own}, "fit": {"family": "linear"},
        **({} if public_table is None else {"public_table": public_table}),
        **({} if inference is None else {"selective_inference": inference}),
    }  # fmt: skip
    path = place.folder / "plan.json"
    path.write_text(json.dumps(value))
    return path


def follow(place, plan, *words):
    return place.run("run", plan, "--ledger", place.ledger, "--yes", *words)


@pytest.mark.parametrize("method", ["decorrelated", "moments"])
@pytest.mark.parametrize("inference", [None, "none"])
def test_a_plan_selects_by_the_public_table(place: Place, public, method, inference):
    """Named in the plan or beside it: one request, which says what is supposed; its report too, without a matrix."""
    plan, out = steps(place, method, inference=inference, public_table=public.name), place.folder / "r.json"
    done = follow(place, plan, "--out", out)
    assert done.code == 0, done
    assert re.search(r"Selected for y: a\b", done.out)
    assert "products of the columns: " in done.out
    value = json.loads(out.read_text())
    own = value["request"]["parameters"]["select"]["public_moments"]
    assert own["sha256"] == hashlib.sha256(public.read_bytes()).hexdigest()
    assert own["n_records"] == 500
    assert value["request"]["parameters"]["selective_inference"] == (inference or "split")
    spent = place.spent("open")
    assert spent == 4
    again = follow(place, steps(place, method, inference=inference), "--public-table", public)
    assert again.code == 0, again
    assert "had been answered before" in again.err
    assert place.spent("open") == spent
    shown = place.run("report", out, "--format", "markdown")
    assert shown.code == 0, shown
    assert re.search(r"500 public records|bought all the same", shown.out)
    assert not re.search(r"n\\*_records", shown.out)  # a field of what stands beside the matrix


def test_a_dry_run_of_a_plan_says_what_is_supposed(place: Place, public):
    """No private table is needed; the noise is that of a request that buys no products."""
    plan = steps(place, "moments", inference="none", public_table=public.name)
    value = json.loads(plan.read_text())
    plan.write_text(json.dumps({key: field for key, field in value.items() if key != "data"}))
    place.data.unlink()
    done = place.run("run", plan, "--dry-run")
    assert done.code == 0, done
    assert "products" in done.out
    assert place.spent("open") == 0


# ---- a plan beforehand


def expected(place, *words):
    return place.run("plan", "--metadata", place.metadata, "--target", "y", "--n-true", 1, "--tables", 6, *words)


def test_a_plan_compares_what_the_public_table_makes_possible(place: Place, public):
    """Selections that use it come beside the others; what is supposed is said, and the command names the file."""
    words = ("--epsilon", 1, "--delta", 0, "--r-squared", 0.7)
    known = expected(place, *words, "--public-table", public, "--json")
    assert known.code == 0, known
    value = json.loads(known.out)
    own = {choice["name"] for choice in value["choices"] if choice["is_with_public"]}
    assert own == {"decorrelated, public columns", "moments, public columns, y_bound private"}
    assert own <= {row["rival"] for row in value["figures"]}
    assert "covariance" not in known.out
    plain = json.loads(expected(place, *words, "--json").out)
    assert {choice["name"] for choice in plain["choices"]} == {choice["name"] for choice in value["choices"]} - own
    overlap = {row["rival"]: row["overlap"] for row in value["figures"] if row["n_rows"] == 2000}
    assert overlap["decorrelated, public columns"] >= 0.8
    assert place.spent("open") == 0


def test_a_plan_of_a_request_names_the_file(place: Place, public):
    """The request at hand alone, with parameters of its own: the command that it ends with can be followed."""
    words = ("--epsilon", 2, "--alone", "--method", "decorrelated", "--set", "max_false=0.1", "--public-table", public)
    done = expected(place, *words)
    assert done.code == 0, done
    assert "decorrelated, public columns, max_false 0.1" in done.out
    assert "supposed that private rows have about the same" in " ".join(done.out.split())
    assert "No private data were opened" in done.out
    command = shlex.split(json.loads(expected(place, *words, "--json").out)["command"])
    assert command[command.index("--public-table") + 1] == str(public)
    command[command.index("DATA")] = place.data
    answered = place.run(*command[1:], "--ledger", place.ledger, "--yes")
    assert answered.code == 0, answered
    assert place.spent("open") == 2


def test_a_plan_refuses_other_files_and_parts(place: Place, public):
    """A file that is not the declared one, and parts, which are of bought moments."""
    other = place.folder / "other.parquet"
    pq.write_table(pa.table(records(50, 3)[0]), other)
    assert "must be the one that the metadata declare public" in expected(place, "--public-table", other).err
    parts = expected(place, "--until", 0.9, "--at-most", 2, "--public-table", public)
    assert "Leave out --public-table" in parts.err


def test_a_plan_of_stated_moments(place: Place, public):
    """Moments that are known by design, as a parameter: simulated too, and they stand in the command."""
    stated = {"labels": ["a", "b", "c"], "means": [0, 0, 0], "covariance": [[2, 1, 1], [1, 2, 1], [1, 1, 2]]}
    words = ("--epsilon", 2, "--alone", "--method", "decorrelated", "--set", f"public_moments={json.dumps(stated)}")
    done = expected(place, *words, "--json")
    assert done.code == 0, done
    value = json.loads(done.out)
    assert [choice["name"] for choice in value["choices"]] == ["decorrelated, public columns"]
    assert value["choices"][0]["parameters"]["public_moments"] == stated
    assert value["figures"][0]["overlap"] > 0
    command = shlex.split(value["command"])
    assert f"public_moments={json.dumps(stated)}" in command
