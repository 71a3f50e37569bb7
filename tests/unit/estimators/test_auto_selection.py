"""`AutoSelection`: the plan's choice through scikit-learn's face, from public facts alone."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.base import clone

import discreet as dc
from discreet.data.engines.frame import FrameTable
from discreet.errors import InvalidParameterError, MetadataError
from discreet.simulation import choice
from discreet.simulation.simulated_table import SimulatedTable

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "design"}
PUBLIC = {
    "dataset": "toy",
    "unit": "person",
    "neighboring": "replace_one",
    "n_rows": 1500,
    "columns": {"x1": BOX, "x2": BOX, "x3": BOX, "y": {**BOX, "lower": -4, "upper": 4}},
}


def rows(n_rows=1500, seed=0):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    x = rng.uniform(-1, 1, (n_rows, 3))
    y = 2.0 * x[:, 1] + rng.normal(0, 0.5, n_rows)
    return pa.table({"x1": x[:, 0], "x2": x[:, 1], "x3": x[:, 2], "y": y})


def metadata(**facts):
    return dc.Metadata.from_value({key: value for key, value in (PUBLIC | facts).items() if value is not None})


@pytest.fixture
def planned(monkeypatch):
    """A quick plan, and how often it was made."""
    calls = []
    own = choice.best_selection

    def counted(*asked):
        calls.append(asked)
        return own(*asked)

    monkeypatch.setattr(choice, "ROUNDS", ((13, 2), (13, 1)))
    monkeypatch.setattr(choice, "best_selection", counted)
    monkeypatch.setattr("discreet.workflow.auto._KNOWN", {})
    return calls


@pytest.mark.slow
def test_it_selects_and_tells_how_it_was_chosen(tmp_path, planned):
    """From a table with a ledger: the right column, the whole epsilon, and the choice in the release."""
    path = tmp_path / "ledger.sqlite"
    with dc.Ledger(path) as ledger:
        ledger.grant("toy", 5.0)
    own = dc.AutoSelection(epsilon=4.0, supposed={"n_true": 1})
    own.fit(dc.open_table(rows(), metadata()), target="y", ledger=path)
    assert own.get_feature_names_out().tolist() == ["x2"]
    assert own.release_.request["chosen"] == own.chosen_
    assert own.chosen_["by"] == "plan"
    assert len(planned) == 1
    assert own.chosen_["supposed"] == {"n_true": 1}
    assert own.release_.guarantee.epsilon == 4.0
    assert own.release_.method in ("pcls", "moments", "sis", "decorrelated")
    assert own.release_.provenance.ledger.epsilon_spent == 4.0


@pytest.mark.slow
def test_the_rows_do_not_matter_to_the_choice(planned):
    """Other rows of the same public shape have the same plan, made once; other facts have one of their own."""
    names = []
    for seed in (0, 1):
        own = dc.AutoSelection(epsilon=2.0, metadata=metadata())
        own.fit(rows(seed=seed).select(["x1", "x2", "x3"]).to_pandas(), rows(seed=seed)["y"].to_numpy(), target="y")
        names.append(own.chosen_)
    assert names[0] == names[1]
    assert len(planned) == 1
    clone(own).set_params(epsilon=1.0).fit(dc.open_table(rows(), metadata()), target="y")
    clone(own).set_params(supposed={"correlation": 0.5}).fit(dc.open_table(rows(), metadata()), target="y")
    assert len(planned) == 3


@pytest.mark.slow
@pytest.mark.parametrize("reads", [False, True], ids=["as it is", "a choice that reads a row"])
def test_the_worst_pair_has_one_choice(planned, monkeypatch, reads):
    """All cells but one person's at one end: the other end in theirs moves no choice, and no row is read before it.

    The control looks at a cell, and is found out by both.
    """
    plan, read = choice.best_selection, []
    batches = FrameTable.batches
    monkeypatch.setattr(FrameTable, "batches", lambda self, columns: read.append(self) or batches(self, columns))
    seen = []

    def watched(public, target, candidates, epsilon, *more):
        if reads:
            epsilon = 1.0 + float(next(iter(seen[-1].batches(["y"]))).column(0)[0].as_py() > 0)
        found = plan(public, target, candidates, epsilon, *more)
        before.extend(table for table in read if not isinstance(table, SimulatedTable))
        return found

    monkeypatch.setattr(choice, "best_selection", watched)
    before, chosen = [], []
    for end in (-4.0, 4.0):
        monkeypatch.setattr("discreet.workflow.auto._KNOWN", {})
        cells = {name: np.ones(1500) for name in ("x1", "x2", "x3")} | {"y": np.full(1500, -4.0)}
        cells["y"][0] = end
        seen.append(dc.open_table(pa.table(cells), metadata()))
        read.clear()
        chosen.append(dc.AutoSelection(epsilon=0.5).fit(seen[-1], target="y").chosen_)
    assert bool(before) is reads
    assert (chosen[0] != chosen[1]) is reads


def test_a_private_number_of_rows_needs_a_guess(planned):
    """n0 is that guess, and reaches the method."""
    table = dc.open_table(rows(), metadata(neighboring="add_or_remove_one", n_rows=None))
    with pytest.raises(InvalidParameterError, match="Give n0"):
        dc.AutoSelection().fit(table, target="y")
    own = dc.AutoSelection(n0=1200).fit(table, target="y")
    assert own.release_.guarantee.neighboring == "add_or_remove_one"
    assert len(planned) == 1


def test_like_a_public_table(planned, tmp_path):
    """The file that the metadata declare; no other and no frame, whether or not a ledger is charged."""
    public = tmp_path / "public.csv"
    pyarrow.csv.write_csv(rows(400, 5), public)
    own = dc.AutoSelection(supposed={"like": public})
    declared = {"sha256": hashlib.sha256(public.read_bytes()).hexdigest(), "source": "test"}
    own.fit(dc.open_table(rows(), metadata(public=declared)), target="y")
    assert own.chosen_["supposed"]["like"]["n_records"] == 400
    for like, facts in ((public, {}), (rows(400, 5), {}), (rows(400, 5), {"public": declared})):
        with pytest.raises(MetadataError, match="must say which file is public"):
            clone(own).set_params(supposed={"like": like}).fit(dc.open_table(rows(), metadata(**facts)), target="y")
    path = tmp_path / "ledger.sqlite"
    with dc.Ledger(path) as ledger:
        ledger.grant("toy", 5.0)
    with pytest.raises(MetadataError, match="public"):
        clone(own).fit(dc.open_table(rows(), metadata()), target="y", ledger=path)
    with dc.Ledger(path) as ledger:
        assert ledger.account("toy").epsilon_spent == 0


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"random_state": -1}, "random_state"),
        ({"supposed": {"colour": 1}}, "colour"),
        ({"supposed": {"effects": {"z": 1.0}}}, "'z'"),
        ({"supposed": {"r_squared": float("nan")}}, "r_squared"),
        ({"supposed": [0.5]}, "What is supposed must be given by name"),
    ],
)
def test_parameters_are_refused_at_fit(parameters, named, planned):
    """Before the rows are read, by name."""
    with pytest.raises(InvalidParameterError, match=named):
        dc.AutoSelection(**parameters).fit(dc.open_table(rows(), metadata()), target="y")
