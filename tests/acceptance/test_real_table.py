"""The command on a real table of 677,991 policies, when the shared data are there; else on a small one of its shape."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.tables import FREMTPL_METADATA, SHARED

from discreet.cli.main import run
from discreet.data.dummy import dummy_table
from discreet.data.metadata import Metadata
from discreet.mechanisms.rng import Source


@pytest.fixture(scope="module")
def policies(tmp_path_factory):
    """Metadata and table; without the real one, uniform cells with two planted effects."""
    folder = tmp_path_factory.mktemp("policies")
    metadata, data = folder / "policies.yaml", SHARED / "fremtpl2freq.parquet"
    metadata.write_text(FREMTPL_METADATA)
    if not data.is_file():
        declared = Metadata.read(metadata)
        table = dummy_table(declared, 60_000, Source.seeded(1).words)
        effect = 0.4 * table["Exposure"].to_numpy() + 0.4 * (table["BonusMalus"].to_numpy() - 50) / 100
        table = table.set_column(0, "ClaimNb", pa.array((effect > 0.4).astype(np.int64)))
        data = folder / "policies.parquet"
        pq.write_table(table, data)
        metadata.write_text(FREMTPL_METADATA.replace("677991", "60000"))
    return str(data), str(metadata), str(folder / "ledger.sqlite")


def test_select_finds_the_known_effects(policies, capsys):
    """Exposure and BonusMalus come out at epsilon 5, surely; groups enter whole, the ledger is charged once."""
    data, metadata, ledger = policies
    assert run(["budget", "grant", "fremtpl2freq", "--epsilon", "5", "--ledger", ledger]) == 0
    ask = ["select", "--data", data, "--metadata", metadata, "--target", "ClaimNb", "--epsilon", "5"]
    capsys.readouterr()
    assert run([*ask, "--l1-radius", "1", "--y-center", "0", "--ledger", ledger, "--yes", "--json"]) == 0
    release = json.loads(capsys.readouterr().out)
    assert {"Exposure", "BonusMalus"} <= set(release["selected"])
    assert release["noise"]["n_candidates"] == 1024
    assert release["guarantee"]["epsilon"] == 5.0
    assert run([*ask, "--l1-radius", "2", "--y-center", "0", "--ledger", ledger, "--yes"]) == 4
