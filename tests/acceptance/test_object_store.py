"""A table in an object store: a server that speaks S3, read from afar as a folder here."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import workflow
from discreet.errors import ComputationFailedError
from discreet.mechanisms.rng import Source
from tests.acceptance.conftest import Place, people

pytestmark = pytest.mark.processes

KEY, SECRET = "AKIDISCREETTEST", "zqsecretzq"

SERVER = """
import sys, time
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """A server of S3's protocol, where this process's credentials and address come from the environment."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        for name, value in {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        }.items():
            monkeypatch.setenv(name, value)
        files, _ = pyarrow.fs.FileSystem.from_uri("s3://claims?allow_bucket_creation=true")
        files.create_dir("claims")
        for site, rows in _by_site(people()).items():
            pq.write_table(rows, f"claims/people/site={site}/part.parquet", filesystem=files, row_group_size=50)
        yield server
        server.kill()


def _by_site(table: pa.Table) -> dict[str, pa.Table]:
    """Rows of each site, the column left to the folder's name."""
    sites = np.array(table["site"].to_pylist())
    return {site: table.filter(pa.array(sites == site)).drop_columns(["site"]) for site in sorted(set(sites.tolist()))}


def test_the_same_release_from_afar(store: Any, place: Place) -> None:
    """Partitions in an object store and one file here: the same integers, and with one source the same release."""
    metadata = dc.Metadata.read(place.metadata)
    afar = dc.open_table("s3://claims/people", metadata)
    assert afar.name == "people"
    assert afar.locator == f"s3://claims/people?endpoint_override={os.environ['AWS_ENDPOINT_URL']}"
    releases = []
    for table in (afar, dc.open_table(place.data, metadata)):
        found = workflow.answer(workflow.method_of("pcls", epsilon=1.0), table, "visits", rng=Source.seeded(5)).release
        releases.append(json.loads(found.to_json()))
    assert releases[0]["selected"] == releases[1]["selected"]
    assert releases[0]["steps"] == releases[1]["steps"]


def test_the_command_reads_from_afar(store: Any, place: Place) -> None:
    """One release, charged once, with no secret in it; asked again by an address with other secrets, it is stored."""
    done = place.select("--json", data="s3://claims/people")
    assert done.code == 0, done.err
    again = place.select("--json", data=f"s3://{KEY}:{SECRET}@claims/people?region=us-east-1")
    assert json.loads(again.out) == json.loads(done.out)
    assert "nothing was charged" in again.err
    everything = done.out + done.err + again.out + again.err + Path(place.ledger).read_bytes().decode("latin-1")
    assert KEY not in everything
    assert SECRET not in everything


def test_what_is_not_there_costs_nothing(store: Any, place: Place) -> None:
    """A wrong bucket or folder is told before the charge."""
    for address in ("s3://other/people", "s3://claims/none", "s3://claims/people/site=none/part.parquet"):
        done = place.select(data=address)
        assert done.code == 2
        assert address in done.err


def test_a_store_that_goes_away_leaves_the_charge(store: Any, place: Place) -> None:
    """What was reserved before the connection was lost is spent; the error says no more than that."""
    metadata = dc.Metadata.read(place.metadata)
    table = dc.open_table("s3://claims/people", metadata)

    def gone(*_: Any) -> None:
        store.kill()
        store.wait()

    with workflow.Ledger(place.ledger) as ledger, pytest.raises(ComputationFailedError, match="stays charged"):
        workflow.answer(workflow.method_of("pcls", epsilon=1.0), table, "visits", ledger=ledger, confirm=gone)
