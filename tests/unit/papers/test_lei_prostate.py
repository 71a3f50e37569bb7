"""Lei et al., tables 3 and 4: the table in the paper's units, its models, and what each variant is."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.tables import SHARED
from scipy.optimize import minimize

from discreet.simulation.choice import Choice
from discreet.simulation.rivals import Rival
from discreet_papers import lei_prostate
from discreet_papers.experiment import Work
from discreet_papers.lei_prostate import (
    BOUNDS,
    COLUMNS,
    EPSILONS,
    HONEST,
    LETTER,
    LINEAR,
    OURS,
    PENALTIES,
    RADII,
    TARGET,
    Prostate,
    metadata,
    table_3,
    table_4,
)

ONE = Rival("one", "sis", {"n_features_to_select": 1})


@pytest.fixture
def work(tmp_path):
    """Asks for a part on a drawn table, where lcavol matters most and one cell is out of its public range."""
    row = np.arange(60)
    waves = {name: 0.5 + 0.5 * np.sin((2 + 3 * place) * row) for place, name in enumerate(COLUMNS)}
    cells = {name: BOUNDS[name][0] + (BOUNDS[name][1] - BOUNDS[name][0]) * one for name, one in waves.items()}
    cells["age"][3] = 95.0
    cells[TARGET] = 1.5 + 2.0 * waves["lcavol"] + 0.3 * np.cos(1.7 * row)
    pq.write_table(pa.table(cells), tmp_path / "prostate.parquet")

    def asked(part="", repeats=4, seed=2):
        return Work(part, tmp_path, repeats, seed)

    return asked


@pytest.fixture
def men():
    """The table of the paper."""
    if not (SHARED / "prostate.parquet").is_file():
        pytest.skip("prostate.parquet is not there: set DISCREET_SHARED to the folder that holds data/")
    return Prostate.read(Work("", SHARED, 1, 1))


def test_columns_are_centered_and_divided_by_their_largest(work):
    """A constant first; the target as measured; the public scaling maps bounds to -1 and 1, and clips."""
    table = Prostate.read(work())
    assert table.X.shape == (60, 6)
    assert (table.X[:, 0] == 1.0).all()
    assert table.X[:, 1:].mean(axis=0) == pytest.approx(np.zeros(5), abs=1e-12)
    assert np.abs(table.X[:, 1:]).max(axis=0) == pytest.approx(np.ones(5))
    assert table.y == pytest.approx(table.raw[:, -1])
    age = np.clip((table.raw[:, 2] - 60.0) / 20.0, -1.0, 1.0)
    assert table.public_models.gram[0, 3] == pytest.approx(age.sum())
    assert table.public_models.gram[3, 3] == pytest.approx(age @ age)


def test_a_model_is_a_set_of_six_columns(work):
    """63 models that are not empty; bit 0 is the constant, bit j the j-th column."""
    models = Prostate.read(work()).models
    assert len(models.sizes) == 63
    assert models.sizes.sum() == 6 * 32
    assert models.sizes[[0, 2, 62]].tolist() == [1, 2, 6]
    assert models.has(0)[::2].all()
    assert not models.has(0)[1::2].any()
    assert np.flatnonzero(models.has(5)).tolist() == list(range(31, 63))


def test_the_best_model_is_bics_and_its_fit_is_bounded(men):
    """BIC selects lcavol and lweight, adjusted R^2 .587; a fit of l1 norm 4 has .866 of it, by another solver."""
    sums, n = men.models.least_squares(), len(men.y)
    best = int((n * np.log(sums / n) + np.log(n) * men.models.sizes).argmin())
    assert best == 0b000111 - 1
    variance = men.y.var(ddof=1)
    base = 1.0 - sums[best] / (n - 3) / variance
    assert base == pytest.approx(0.587, abs=5e-4)

    X = men.X[:, :3]
    split = np.hstack([X, -X])
    found = minimize(
        lambda coef: np.sum((men.y - split @ coef) ** 2),
        np.full(6, 0.5),
        jac=lambda coef: -2.0 * split.T @ (men.y - split @ coef),
        bounds=[(0.0, None)] * 6,
        constraints=[{"type": "ineq", "fun": lambda coef: 4.0 - coef.sum(), "jac": lambda _: -np.ones(6)}],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert men.worth[best] == pytest.approx((1.0 - found.fun / (n - 4) / variance) / base, abs=1e-6)
    assert men.worth[best] == pytest.approx(0.866, abs=5e-4)
    assert men.worth.max() < 0.87


def test_noise_and_columns_of_each_variant(work, monkeypatch):
    """2(r + R) / epsilon or its square; r = 6 and public scaling where the figure is private."""
    table, seen = Prostate.read(work()), []
    monkeypatch.setattr(lei_prostate, "picks", lambda *asked: seen.append(asked))
    for column in (LINEAR, LETTER, HONEST):
        table.chosen(column, 5, 4, 2, work())
    largest = table.y.max()
    assert [scale for _, scale, _, _ in seen] == pytest.approx(
        [2 * (largest + 4) / 5, 2 * (largest + 4) ** 2 / 5, 2 * (6 + 4) ** 2 / 5]
    )
    for (scores, _, times, _), models in zip(seen, (table.models, table.models, table.public_models), strict=True):
        assert scores == pytest.approx(models.residuals(4) + 2 * models.sizes)
        assert times == 4


def test_ours_is_the_plans_choice_and_is_coded_with_a_constant(work, monkeypatch):
    """A screening of one column at hardly any noise selects lcavol: the model of the constant and bit 1."""
    asked = []

    def best(*args):
        asked.append(args)
        return Choice(ONE, 1.0, 1.0, 1.0, 1)

    monkeypatch.setattr(lei_prostate, "best_selection", best)
    table = Prostate.read(work())
    assert table.ours(500, work(repeats=3)).tolist() == [0b000011 - 1] * 3
    assert asked == [(metadata(60), TARGET, COLUMNS, 500)]  # no delta
    assert metadata(60).neighboring == "replace_one"


def test_tables_have_all_their_cells(work, monkeypatch):
    """Each setting once, the same for the same seed; ours has no R and no phi."""
    monkeypatch.setattr(lei_prostate, "best_selection", lambda *_: Choice(ONE, 1.0, 1.0, 1.0, 1))
    quality = table_3(work(LINEAR.name))
    grid = [(e, radius, phi) for e in EPSILONS for radius in RADII for phi in PENALTIES]
    assert [tuple(row.settings.values()) for row in quality] == grid
    assert quality == table_3(work(LINEAR.name))
    assert [row.settings for row in table_3(work(OURS.name))] == [{"epsilon": 1}, {"epsilon": 5}]
    shares = table_4(work(HONEST.name))
    assert {row.settings["variable"] for row in shares} == set(COLUMNS)
    assert len(shares) == 4 * 5
    assert all(0.0 <= row.value <= 1.0 for row in shares)
    assert sum(row.value for row in table_4(work(OURS.name))) == pytest.approx(1.0)  # one column a draw
