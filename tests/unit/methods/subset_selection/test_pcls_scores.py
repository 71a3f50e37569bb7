"""What the method hands to the noise, against formulas and solvers that share nothing with it."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.kernels.kernel_problems import optimum_by_path

from discreet.accounting.events import SelectionEvent
from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.sources import open_table
from discreet.errors import InvalidParameterError
from discreet.mechanisms import subset_search
from discreet.mechanisms.rng import Source
from discreet.methods.subset_selection import pcls, setting
from discreet.methods.subset_selection.pcls import PenalizedLeastSquares
from discreet.parameters.ranges import MAX_ROWS

N = 300
PUBLIC = {"y_center": "middle", "y_bound": "furthest"}
BOX = {"type": "real", "lower": -1, "upper": 1}
COLUMNS = {"a": BOX, "b": BOX, "c": BOX, "s": {"type": "category", "levels": ["u", "v", "w"]}}
TARGET = {"type": "real", "lower": 0, "upper": 6}


def declared(relation: str = "replace_one", **changes: Any) -> Metadata:
    """Three numbers and a category; the target has r = 3 around 3."""
    public = {"n_rows": N} if relation == "replace_one" else {}
    value = {"dataset": "t", "unit": "person", "neighboring": relation, **public}
    return Metadata.from_value({**value, "columns": {**COLUMNS, "y": TARGET}, **changes})


def rows(n: int = N, seed: int = 0) -> pa.Table:
    """Cells with effects of a, b and the category's first level."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    a, b, c = rng.uniform(-1, 1, (3, n))
    s = rng.choice(["u", "v", "w"], n)
    y = 3 + 1.2 * a - 0.8 * b + 0.9 * (s == "u") + 0.3 * rng.standard_normal(n)
    return pa.table({"a": a, "b": b, "c": c, "s": s, "y": y})


class Recorded:
    """Runs a method, and keeps what reached its mechanism."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, metadata: Metadata, table: Any = None, **parameters: Any):
        with monkeypatch.context() as patch:
            patch.setattr(pcls, "noisy_min", self._keep)
            patch.setattr(subset_search, "noisy_min_of_blocks", self._keep_blocks)
            self.prepared = PenalizedLeastSquares.of(**PUBLIC | parameters).prepare(metadata, "y")
            table = FrameTable(rows(), metadata) if table is None else table
            self.told: list[tuple[str, int, int | None]] = []
            self.outcome = self.prepared.run(table, Source.seeded(0), lambda *event: self.told.append(event))

    def _keep(self, scores: Any, gamma: Any, epsilon: Any, rng: Source, noise: str) -> int:
        self.scores, self.gamma, self.epsilon, self.noise = np.array(scores), gamma, epsilon, noise
        return int(np.argmin(scores))

    def _keep_blocks(self, blocks: Any, *law: Any) -> int:
        return self._keep(np.concatenate(list(blocks)), *law)

    def by_model(self) -> dict[tuple[str, ...], float]:
        """Scores by the names of the columns."""
        masks = self.prepared.space.masks()
        return {self.prepared.space.names(int(mask)): score for mask, score in zip(masks, self.scores, strict=True)}


def reference(model: tuple[str, ...], radius: float, *, center: float, bound: float, constant: bool) -> float:
    """Constrained least squares of the quantized cells, in squared bounds, by the lasso path."""
    table = {name: column.to_pylist() for name, column in zip(rows().column_names, rows().columns, strict=True)}
    columns = [np.ones(N)] if constant else []
    for name in model:
        if name == "s":
            columns += [np.array([float(cell == level) for cell in table["s"]]) for level in "uvw"]
        else:
            columns.append(np.rint(np.array(table[name]) * 32767) / 32767)
    y = np.rint(np.clip((np.clip(table["y"], 0, 6) - center) / bound, -1, 1) * 32767) / 32767
    if not columns:
        return float(y @ y)
    X = np.column_stack(columns)
    return float(y @ y) + optimum_by_path(X.T @ X, X.T @ y, radius)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    "choice", [{"l1_radius": 0.9}, {"l1_radius": 3.0}, {"l1_radius": 30.0, "y_center": 1.0}, {"y_bound": 1.5}]
)
def test_scores_are_constrained_least_squares_of_the_cells(choice, constant, monkeypatch):
    """Every model's score is that of the lasso path on its own columns, with the constant or without."""
    found = Recorded(monkeypatch, declared(), model_penalty=0.0, fit_intercept=constant, **choice)
    center, bound = choice.get("y_center", 3.0), choice.get("y_bound", 5.0 if "y_center" in choice else 3.0)
    radius = choice.get("l1_radius", 2 * bound) / bound
    assert len(found.by_model()) == 16
    for model, score in found.by_model().items():
        expected = reference(model, radius, center=center, bound=bound, constant=constant)
        assert score == pytest.approx(expected, abs=1e-4 * (1 + radius) ** 2)


@pytest.mark.parametrize(
    ("choice", "sizes"),
    [
        ({}, {(): 0, ("a",): 1, ("s",): 1, ("a", "b", "c", "s"): 4}),
        ({"groups": [["a", "c"]]}, {(): 0, ("a", "c"): 2, ("b",): 1, ("a", "b", "c", "s"): 4}),
        ({"forced": ["a", "s"]}, {("a", "s"): 0, ("a", "b", "s"): 1, ("a", "b", "c", "s"): 2}),
        ({"models": [["a"], ["a", "b"], []]}, {(): 0, ("a",): 1, ("a", "b"): 2}),
        ({"max_size": 1}, {(): 0, ("a",): 1, ("b",): 1, ("c",): 1, ("s",): 1}),
        ({"forced": ["a", "b", "c", "s"]}, {("a", "b", "c", "s"): 0}),
    ],
)
def test_the_penalty_is_paid_for_each_free_column(choice, sizes, monkeypatch):
    """Each column of a group pays, a category pays once, forced columns pay nothing; with all forced none is free."""
    free = Recorded(monkeypatch, declared(), model_penalty=0.0, **choice)
    paid = Recorded(monkeypatch, declared(), model_penalty=0.05 * 9, **choice)
    for model, size in sizes.items():
        assert paid.by_model()[model] - free.by_model()[model] == pytest.approx(0.05 * size, abs=1e-12)
    assert sizes.keys() <= free.by_model().keys()
    assert paid.outcome.selected == min(paid.by_model(), key=paid.by_model().get)


def calibration(relation: str, c: int, r: Fraction, R: Fraction, penalty: Fraction | None, d: int) -> dict[str, Any]:
    """Privacy specification 1.2 and 1.6 at r = 1, in fractions; d columns, six numbers a row beside the constant."""
    ratio = R / r
    both = (1 + ratio) ** 2
    omega = 4 * ratio if ratio <= 1 else both
    gamma = c * omega * (2 if relation == "replace_one" else 1)
    tau, eta = both / 10**4, 12 * (2 + 6 + 8) * both * MAX_ROWS / Fraction(2) ** 53
    if penalty is None:
        penalty = (gamma + 2 * tau + 2 * eta) * Fraction(math.log(2 * d))
    return {"gamma": gamma, "inflation": 2 * tau + 2 * (eta + penalty * 4 / 2**51), "penalty": penalty}


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("c", [1, 7])
@pytest.mark.parametrize("R", ["0.6", "3", "3.75", "48"])
@pytest.mark.parametrize("penalty", ["0", "4.5"])
def test_noise_is_calibrated_to_the_range_of_the_scores(relation, c, R, penalty, monkeypatch):
    """On both sides of r = R, Gamma, the inflations and the penalty that reach the noise are those of the formulas."""
    metadata = declared(relation, **({"rows_per_unit": c, "unit_id": "id"} if c > 1 else {}))
    table = FrameTable(rows().append_column("id", pa.array(range(N))), metadata)
    found = Recorded(monkeypatch, metadata, table, l1_radius=float(R), model_penalty=float(penalty))
    r = Fraction(3)
    expected = calibration(relation, c, r, Fraction(R), Fraction(penalty) / r**2, 4)
    assert found.gamma == expected["gamma"] + expected["inflation"]
    assert found.epsilon == 1
    box, unit = found.prepared.noise, float(r) ** 2
    assert box.sensitivity == pytest.approx(float(expected["gamma"]) * unit, rel=1e-12)
    assert box.inflation == pytest.approx(float(expected["inflation"]) * unit, rel=1e-12)
    assert box.scale == pytest.approx(float(found.gamma) * unit, rel=1e-12)
    assert found.prepared.parameters["model_penalty"] == pytest.approx(float(expected["penalty"]) * unit, rel=1e-12)


@pytest.mark.parametrize(
    ("choice", "free"),
    [({}, 4), ({"forced": ["a"]}, 3), ({"groups": [["a", "b", "c"]]}, 2), ({"forced": list("abcs")}, 1)],
)
def test_the_automatic_penalty_counts_what_is_free(choice, free, monkeypatch):
    """The logarithm is of twice the number of units that are free to enter, at least one."""
    found = Recorded(monkeypatch, declared(), epsilon=0.005, max_false=0.5, **choice)
    expected = calibration("replace_one", 1, Fraction(3), Fraction(6), None, free)
    assert float(found.prepared.calibration.penalty) == pytest.approx(200 * float(expected["penalty"]), rel=1e-3)


@pytest.mark.parametrize(
    ("mechanism", "noise"), [("permute_and_flip", "exponential"), ("exponential", "gumbel"), ("laplace", "laplace")]
)
def test_the_mechanism_and_epsilon_reach_the_noise_and_the_event(mechanism, noise, monkeypatch):
    """What is drawn is what is charged and what the noise box says."""
    found = Recorded(monkeypatch, declared(), mechanism=mechanism, epsilon=0.1)
    assert (found.noise, found.epsilon) == (noise, Fraction(1, 10))
    assert found.prepared.event == SelectionEvent(Fraction(1, 10), noise)
    assert (found.prepared.noise.mechanism, found.prepared.noise.noise) == (mechanism, noise)
    assert found.prepared.noise.n_candidates == len(found.scores) == 16
    assert found.prepared.noise.claim == "methods/subset_selection/pcls.privacy.md"


@pytest.mark.parametrize("chosen", [{}, {"models": [["a"], ["b"]]}])
def test_a_score_without_a_certificate_is_never_used(chosen, monkeypatch):
    """When the solver claims more than the tolerance, the run ends instead of drawing."""
    blocks, scores = subset_search.score_blocks, setting.constrained_scores

    def loose_blocks(*arguments: Any) -> Any:
        return ((masks, found, gaps + 1.0) for masks, found, gaps in blocks(*arguments))

    def loose(*arguments: Any) -> tuple[np.ndarray, np.ndarray]:
        found, gaps = scores(*arguments)
        return found, gaps + 1.0

    monkeypatch.setattr(subset_search, "score_blocks", loose_blocks)
    monkeypatch.setattr(setting, "constrained_scores", loose)
    prepared = PenalizedLeastSquares.of(**chosen, **PUBLIC).prepare(declared(), "y")
    with pytest.raises(ArithmeticError):
        prepared.run(FrameTable(rows(), declared()), Source.seeded(0))


def test_the_algorithm_as_published_is_run_to_the_letter(monkeypatch):
    """No constant, no empty model, zero as centre, Laplace noise to the largest |y| observed; and no event."""
    found = Recorded(
        monkeypatch, declared(), as_published=True, y_center=None, l1_radius=3.0, model_penalty=0.0, epsilon=2.0
    )
    assert found.prepared.event is None
    assert () not in found.by_model()
    assert len(found.by_model()) == 15
    largest = round(max(rows()["y"].to_pylist()) / 6 * 32767) / 32767
    assert found.gamma == pytest.approx(2 * (largest + 0.5) ** 2, rel=1e-12)
    assert (found.noise, found.epsilon) == ("laplace", 2)
    for model, score in found.by_model().items():
        expected = reference(model, 0.5, center=0.0, bound=6.0, constant=False)
        assert score == pytest.approx(expected, abs=1e-4 * 1.5**2)
    assert found.outcome.noise.scale == pytest.approx(float(found.gamma) * 36 / 2)
    assert found.outcome.noise.claim == "none"
    assert found.prepared.parameters["fit_intercept"] is False


def test_progress_tells_of_rows_only_where_their_number_is_public(monkeypatch):
    """Models are counted always, rows never under add_or_remove_one, where how many there are is private."""
    public, private = (Recorded(monkeypatch, declared(relation)) for relation in ("replace_one", "add_or_remove_one"))
    assert sum(done for what, done, of in public.told if what == "Reading rows" and of == N) == N
    assert {what for what, *_ in private.told} == {"Scoring models"}
    for found in (public, private):
        assert sum(done for what, done, of in found.told if what == "Scoring models" and of == 16) == 16


def test_what_was_declared_is_said_with_its_role():
    """The target, the candidates and the unit's column are shown with bounds, levels and sources."""
    columns = {**COLUMNS, "a": {**BOX, "source": "code book"}, "y": TARGET}
    metadata = declared(columns=columns, unit_id="pid", rows_per_unit=4)
    prepared = PenalizedLeastSquares().prepare(metadata, "y", ["s", "a"])
    roles = {column.name: (column.role, column.source) for column in prepared.public}
    assert roles == {
        "s": ("candidate", "not stated"),
        "a": ("candidate", "code book"),
        "y": ("target", "not stated"),
        "pid": ("unit_id", "at most 4 rows of one person are used"),
    }
    shown = {column.name: (column.lower, column.upper, column.levels) for column in prepared.public}
    assert shown["y"] == (0.0, 6.0, None)
    assert shown["s"] == (None, None, ("u", "v", "w"))


def test_what_is_not_protected_is_said():
    """The number of rows under replace_one, and a person behind a smaller unit, are named as not protected."""
    facts = {
        relation: PenalizedLeastSquares().prepare(declared(relation), "y").not_protected
        for relation in ("replace_one", "add_or_remove_one")
    }
    assert "the number of rows" in facts["replace_one"]
    assert "the number of rows" not in facts["add_or_remove_one"]
    assert not any("c times epsilon" in fact for fact in facts["replace_one"])
    visits = PenalizedLeastSquares().prepare(declared(unit="visit"), "y").not_protected
    assert any("one visit" in fact and "c times epsilon" in fact for fact in visits)


def test_a_preparation_does_not_know_the_table(tmp_path):
    """Prepared before the file was replaced or after it was lost, everything that is said beforehand is the same."""
    path = tmp_path / "t.parquet"
    said = []
    for seed in (1, 2, None):
        if seed is None:
            path.unlink()
        else:
            pq.write_table(rows(seed=seed), path)
            open_table(path, declared()).check(["a", "y"])
        prepared = PenalizedLeastSquares(epsilon=0.3).prepare(declared(), "y")
        said.append((prepared.noise, prepared.parameters, prepared.public, prepared.event, prepared.calibration))
    assert said[0] == said[1] == said[2]


@pytest.mark.parametrize("names", list(itertools.permutations(["c", "a", "b"])))
def test_selected_columns_come_in_the_order_of_the_candidates(names):
    """Whatever the order of the table and of the candidates, effects that are clear come out in the latter."""
    metadata = declared()
    prepared = PenalizedLeastSquares(epsilon=1000, model_penalty=3.0, **PUBLIC).prepare(metadata, "y", names)
    outcome = prepared.run(FrameTable(rows(), metadata), Source.seeded(5))
    assert outcome.selected == tuple(name for name in names if name != "c")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1000.1}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"mechanism": "gaussian"}, "mechanism"),
        ({"l1_radius": 0.0}, "l1_radius"),
        ({"l1_radius": float("inf")}, "l1_radius"),
        ({"l1_radius": float("nan")}, "l1_radius"),
        ({"model_penalty": -0.1}, "model_penalty"),
        ({"model_penalty": float("nan")}, "model_penalty"),
        ({"model_penalty": "aicc"}, "model_penalty"),
        ({"max_size": -1}, "max_size"),
        ({"y_bound": 0.0}, "y_bound"),
        ({"y_center": float("inf")}, "y_center"),
        ({"forced": "a"}, "forced"),
        ({"groups": ["a"]}, "groups"),
        ({"models": []}, "models"),
        ({"models": ["a"]}, "models"),
        ({"seed": 3}, "seed"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name_in_one_line(parameters, words):
    """Each parameter is checked when the method is built, long before any table."""
    with pytest.raises(InvalidParameterError, match=words) as refused:
        PenalizedLeastSquares.of(**parameters)
    assert "\n" not in str(refused.value)
