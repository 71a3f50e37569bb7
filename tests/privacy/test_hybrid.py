"""Public and private records together: what one row moves, exact laws on the worst pairs, controls that must fail."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.kernels.glm.bounded_loss import LOSS_ONE
from discreet.mechanisms.rng import Source
from discreet.methods.public_records import measures, public_subset
from discreet.methods.public_records.histogram import Histogram
from discreet.methods.public_records.hybrid import HybridEstimate
from discreet.methods.public_records.hybrid_published import ties_counted
from discreet.methods.public_records.public_subset import PublicSubset
from tests.privacy.laws import log_law, max_log_ratio

EPSILON = 1.0
BINARY = [f"b{j}" for j in range(10)]


def metadata_of(names, n=None, rows_per_unit=1, levels=None):
    columns = {name: {"type": "integer", "lower": 0, "upper": 1} for name in names}
    columns |= {name: {"type": "category", "levels": list("abc")} for name in levels or ()}
    unit = {"rows_per_unit": rows_per_unit, "unit_id": "who"} if rows_per_unit > 1 else {}
    relation = {"neighboring": "add_or_remove_one"} if n is None else {"neighboring": "replace_one", "n_rows": n}
    return Metadata.from_value({"dataset": "toy", "unit": "person", "columns": columns, **relation, **unit})


def frame(rows, names):
    return pa.table({name: pa.array([row[j] for row in rows]) for j, name in enumerate(names)})


def moved(monkeypatch, method, rows, names, relation="replace_one", **more):
    """What reaches the noise: the exact integers, the scale of each call, and losses with their range."""
    metadata = metadata_of(
        [n for n in names if n not in ("who", "c")], len(rows) if relation == "replace_one" else None, **more
    )
    seen = []

    def laplace(values, scale, rng):
        seen.append((np.array(list(values)), scale))
        return list(values)

    def choice(scores, gamma, epsilon, rng, noise):
        seen.append((np.array(scores), Fraction(gamma) / epsilon))
        return 0

    monkeypatch.setattr(measures, "discrete_laplace", laplace)
    monkeypatch.setattr(public_subset, "noisy_min", choice)
    method.prepare(metadata, names[0]).run(FrameTable(frame(rows, names), metadata), Source.seeded(0))
    return seen


def public_binary(m=150, seed=0):
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    return rng.integers(0, 2, (m, 10)).tolist()


def records(rows, names, **more):
    return PublicRecords(frame(rows, names), metadata_of([n for n in names if n != "c"], **more))


def neighbors(relation, base, old, new):
    return ([*base, old], [*base, new]) if relation == "replace_one" else ([*base, old], list(base))


@pytest.mark.parametrize(("relation", "most"), [("replace_one", 2), ("add_or_remove_one", 1)])
def test_counts_move_by_no_more_than_claimed_on_tables_full_of_ties(monkeypatch, relation, most):
    """P15: ten binary columns, where most rows have several nearest points; the bound holds and is met."""
    public = records(public_binary(), BINARY)
    method = HybridEstimate(epsilon=EPSILON, public=public, measure="counts", n_points="all", contrast="mean")
    rows, changes = list(itertools.product([0, 1], repeat=10))[::17], []
    for old, new in itertools.pairwise(rows):
        one, other = (
            moved(monkeypatch, method, table, BINARY, relation)[0] for table in neighbors(relation, rows[:5], old, new)
        )
        assert one[1] == other[1] == most / Fraction(EPSILON)
        changes.append(int(np.abs(one[0] - other[0]).sum()))
    assert max(changes) == most


def test_the_published_tie_rule_is_flagged():
    """Control: a row that counts at all of its nearest points moves the counts by far more than 2."""
    points = np.unique(np.array(public_binary(), dtype=np.int16) * 2 - 1, axis=0) * np.int16(32767)
    rows = (np.array(list(itertools.product([0, 1], repeat=10)), dtype=np.int16) * 2 - 1) * np.int16(32767)
    each = np.array([ties_counted(row[None], points, 10) for row in rows])
    assert (each.sum(axis=1) > 1).mean() > 0.4
    worst = max(np.abs(one - other).sum() for one in each[::31] for other in each)
    assert worst * EPSILON / 2 > 3 * EPSILON


CELL = st.sampled_from([0, 1, 0.4, -7.0, float("nan"), float("inf"), 1e300, None])
ROW = st.tuples(CELL, CELL, CELL, st.sampled_from(["a", "b", "c", "zzz", None]))
NAMES = ["y", "x", "z", "c"]
OPEN = [[0, 0, 0.1, "a"], [1, 0, 0.9, "b"], [0, 1, 0.4, "b"], [1, 1, 0.2, "a"], [1, 0, 0.6, "a"], [0, 1, 1.0, "b"]]


@settings(max_examples=40, deadline=None)
@given(st.lists(ROW, min_size=0, max_size=6), ROW, ROW, st.sampled_from(["replace_one", "add_or_remove_one"]))
def test_no_neighbors_move_counts_margins_or_losses_by_more_than_their_noise_covers(base, old, new, relation):
    """Odd cells included: l1 changes within the sensitivity, ranges of losses within theirs."""
    monkeypatch = pytest.MonkeyPatch()
    public = records(OPEN, NAMES, levels=["c"])
    for measure in ("counts", "margins"):
        method = PublicSubset(epsilon=EPSILON, public=public, measure=measure, contrast="linear", n0=10)
        one, other = (
            moved(monkeypatch, method, table, NAMES, relation, levels=["c"])
            for table in neighbors(relation, base, old, new)
        )
        share = Fraction(EPSILON) * Fraction(17, 20)
        assert np.abs(one[0][0] - other[0][0]).sum() <= one[0][1] * share
        if (one[0][0] == other[0][0]).all():  # the same candidates
            change = one[1][0] - other[1][0]
            assert change.max() - change.min() <= one[1][1] * Fraction(EPSILON) * Fraction(3, 20)
    monkeypatch.undo()


def test_margins_meet_their_sensitivity(monkeypatch):
    """A row at one corner for a row at the other: the noise is as large as needed, and no larger than that."""
    public = records([[0, 0], [1, 1], [0, 1], [1, 0]], ["y", "x"])
    method = HybridEstimate(epsilon=EPSILON, public=public, measure="margins", contrast="linear")
    one, other = (moved(monkeypatch, method, [[0, 0], row], ["y", "x"])[0] for row in ([1, 1], [0, 1]))
    assert np.abs(one[0] - other[0]).sum() == one[1] * Fraction(EPSILON)


def test_units_of_several_rows_are_cut_and_covered(monkeypatch):
    """Of a unit's five rows three count; the noise is three times as large."""
    names = ["y", "x", "who"]
    public = records([[0, 0], [1, 1], [0, 1], [1, 0]], ["y", "x"])
    method = HybridEstimate(epsilon=EPSILON, public=public, measure="counts", n_points="all", contrast="mean")
    base = [[0, 0, place] for place in range(6)]
    one, other = (
        moved(monkeypatch, method, rows, names, "add_or_remove_one", rows_per_unit=3)[0]
        for rows in (base, base + [[1, 1, 9]] * 5)
    )
    assert np.abs(one[0] - other[0]).sum() == 3 == one[1] * Fraction(EPSILON)


def test_a_row_that_moves_to_an_empty_cell_is_covered_and_leaving_those_out_is_flagged(monkeypatch):
    """P20: every cell has noise; were cells without rows left out, the output would tell."""
    method = Histogram(epsilon=EPSILON, bins=4, contrast="mean")
    rows = [[0, 0]] * 9
    one, other = (moved(monkeypatch, method, [*rows, row], ["y", "x"])[0] for row in ([0, 0], [1, 1]))
    assert len(one[0]) == len(other[0]) == 4
    assert np.abs(one[0] - other[0]).sum() == 2 == one[1] * Fraction(EPSILON)
    listed = [set(np.flatnonzero(counts).tolist()) for counts, _ in (one, other)]
    assert listed[0] != listed[1]  # control: which cells are named has probability 1 here and 0 there


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_the_choice_loses_at_most_its_share_on_the_worst_pair(monkeypatch, relation):
    """P17: one row for which one candidate is as wrong as can be and another right; the exact law of the choice."""
    public = records([[0, 0], [1, 1], [0, 1], [1, 0]] + [[1, 1], [0, 0]] * 500, ["y", "x"])
    shares = {"validation": 0.5}
    method = PublicSubset(epsilon=EPSILON, public=public, measure="margins", contrast="logistic", shares=shares, n0=9)
    prepared = method.prepare(metadata_of(["y", "x"], 10 if relation == "replace_one" else None), "y")
    models = np.array([[30.0, 0.0], [-30.0, 0.0]])
    laws = []
    for rows in neighbors(relation, [[0, 0], [1, 0]] * 4 + [[1, 1]], [1, 1], [0, 1]):
        table = FrameTable(frame(rows, ["y", "x"]), prepared.metadata)
        losses = prepared._losses(table, models, None).astype(float)
        laws.append((losses, log_law(losses, float(prepared.range / prepared.choice_epsilon), "exponential")))
    change = laws[0][0] - laws[1][0]
    assert change.max() - change.min() == prepared.range
    loss = max_log_ratio(laws[0][1], laws[1][1])
    assert 0.3 * float(prepared.choice_epsilon) < loss <= float(prepared.choice_epsilon) + 1e-9


@pytest.mark.parametrize(("n", "least"), [(100, 2.0), (1000, 6.0), (10_000, 20.0)])
def test_the_published_criterion_is_flagged(n, least):
    """P16: one flipped label moves the norm of all changes of chances by about sqrt(n) / 4 where 1 is claimed."""
    x = np.append(np.where(np.arange(n - 1) % 2, 4.0, -4.0) / n, 1.0)
    found = []
    for last in (0.0, 1.0):
        y = np.append((x[:-1] > 0).astype(float), last)
        theta = 0.0
        for _ in range(200):  # Newton's method on one coefficient
            chance = 1.0 / (1.0 + np.exp(-np.clip(x * theta, -500, 500)))
            slope, curve = (x * (y - chance)).sum(), (x**2 * chance * (1 - chance)).sum() + 1e-12
            theta += np.clip(slope / curve, -n, n)
        found.append(float(np.linalg.norm(0.5 - 1.0 / (1.0 + np.exp(-np.clip(x * theta, -500, 500))))))
    assert abs(found[0] - found[1]) * EPSILON > least * EPSILON


def test_losses_are_whole_and_within_their_bound():
    """However wild the model, a row loses 0 where it is right and 1 where it is as wrong as can be."""
    from discreet.kernels.glm.bounded_loss import loss_tables

    tables = loss_tables(np.array([[1e9, 0.0], [-1e9, 0.0]]), lambda eta: np.tanh(eta))
    cells = np.array([[32767, 0]], dtype=np.int16)
    assert tables.sums(cells, np.array([32767], dtype=np.int16)).tolist() == [0, LOSS_ONE]
