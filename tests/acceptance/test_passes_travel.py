"""What a method asks of rows can be sent to where the rows are, and takes nothing along that must not leave."""

import io
import json
import pickle

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from discreet.data.engine import Table
from discreet.ledger import Ledger
from tests.acceptance.conftest import METADATA, Place, people
from tests.acceptance.test_hybrid_command import declared, volunteers

cloudpickle = pytest.importorskip("pyspark.cloudpickle")

REQUESTS = {
    "pcls": ["select", "--y-bound", "private", "--l1-radius", "private"],
    "pcpl": ["select", "--method", "pcpl", "--delta", "1e-5", "--set", "n0=200"],
    "moments": ["select", "--method", "moments", "--delta", "1e-5"],
    "sis": ["select", "--method", "sis", "--candidates", "age,income", "-k", "1", "--association", "products"],
    "decorrelated": ["select", "--method", "decorrelated"],
    "linear": ["fit", "--columns", "age,site", "--family", "linear"],
    "logistic": ["fit", "--columns", "age,site", "--family", "logistic", "--target", "sick"],
    "logistic without delta": [
        "fit",
        "--columns",
        "age,site",
        "--family",
        "logistic",
        "--target",
        "sick",
        "--delta",
        "0",
    ],
    "poisson": ["fit", "--columns", "age,site", "--family", "poisson"],
    "an offset": ["fit", "--columns", "site", "--family", "linear", "--offset", "age", "--weights", "income"],
    "weights": ["fit", "--columns", "site", "--family", "poisson", "--weights", "income"],
    "counts": ["hybrid", "--method", "hybrid", "--measure", "counts"],
    "margins": ["hybrid", "--method", "hybrid", "--measure", "margins"],
    "public subset": ["hybrid", "--method", "public-subset"],
    "log loss": ["hybrid", "--loss", "log", "--target", "sick"],
}
HOME = ("discreet.data.", "discreet.kernels.", "discreet.accounting.neighbors.", "numpy.", "pyspark.cloudpickle.")
BASICS = {"builtins", "typing", "types", "functools", "fractions", "collections"}


class Reader(pickle.Unpickler):
    """Notes what a pickle names."""

    def __init__(self, sent):
        super().__init__(io.BytesIO(sent))
        self.named = set()

    def find_class(self, module, name):
        found = super().find_class(module, name)
        self.named.add((module, found))
        return found


@pytest.fixture
def sent(monkeypatch):
    """Every pass is packed, unpacked elsewhere, and run there; what was packed is kept."""
    found = []
    run = Table._reduced

    def travelled(self, row_pass, progress):
        found.append(cloudpickle.dumps(row_pass))
        return run(self, cloudpickle.loads(found[-1]), progress)

    monkeypatch.setattr(Table, "_reduced", travelled)
    return found


@pytest.mark.parametrize("cut", [False, True], ids=["rows", "units"])
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_passes_travel(place: Place, sent, request_, cut):
    """Row maps, kernels and public numbers alone, in less than five megabytes; no table, ledger, noise or row."""
    table = people()
    table = table.append_column("sick", [[int(visits > 9) for visits in table["visits"].to_pylist()]])
    table = table.append_column("who", [[f"zqcanary{row // 2}" for row in range(table.num_rows)]])
    pq.write_table(table, place.data)
    public = place.folder / "public.csv"
    own = volunteers()
    pyarrow.csv.write_csv(
        own.append_column("sick", [[int(visits > 9) for visits in own["visits"].to_pylist()]]), public
    )
    facts = declared(public)
    facts["columns"] = METADATA["columns"] | {
        "sick": {"type": "integer", "lower": 0, "upper": 1, "source": "by definition"}
    }
    if cut:
        facts |= {"neighboring": "add_or_remove_one", "unit_id": "who", "rows_per_unit": 1}
        facts.pop("n_rows")
    place.metadata.write_text(json.dumps(facts))
    with Ledger(place.ledger) as ledger:
        ledger.grant("clinic", 10, 0.01)
    words = [
        *request_,
        "--data",
        place.data,
        "--metadata",
        place.metadata,
        "--epsilon",
        1,
        "--ledger",
        place.ledger,
        "--yes",
    ]
    if "--target" not in words:
        words += ["--target", "visits"]
    if request_[0] == "hybrid":
        words += ["--public", public, "--twins", 0]
    if request_[0] == "fit" and "--delta" not in words and "linear" not in words:
        words += ["--delta", "1e-5"]
    done = place.run(*words)
    assert done.code == 0, done
    assert sent
    for one in sent:
        reader = Reader(one)
        reader.load()
        strangers = {module for module, _ in reader.named if not f"{module}.".startswith(HOME)} - BASICS
        assert not strangers
        assert not [thing for _, thing in reader.named if isinstance(thing, type) and issubclass(thing, Table)]
        assert len(one) < 5 * 2**20  # tables over the widest range of linear predictors have 4.5
        assert b"zqcanary" not in one
