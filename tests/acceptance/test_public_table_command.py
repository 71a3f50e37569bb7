"""``discreet select --public-table``: public records in place of bought products of the columns."""

import hashlib
import json

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
    assert "Selected for y: a\n" in done.out
    assert (
        "from 500 public records (consent form of 2019); private rows are supposed to have about the same" in done.out
    )
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
    ):
        assert done.code != 0
        assert words in done.err
    assert place.spent("open") == 0
