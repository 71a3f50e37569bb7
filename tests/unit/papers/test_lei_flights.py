"""The protocol of Lei et al., tables 5 and 6, on flights: rows, bounds, the best model, and what each variant is."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.tables import SHARED

from discreet.mechanisms.rng import Source
from discreet.simulation.choice import Choice
from discreet.simulation.rivals import Rival
from discreet_papers import lei_flights
from discreet_papers.experiment import Work
from discreet_papers.lei_flights import (
    BOUNDS,
    COLUMNS,
    EPSILONS,
    EXPERIMENTS,
    HONEST,
    LETTER,
    LINEAR,
    OURS,
    PENALTIES,
    RADII,
    TARGET,
    Flights,
    chosen,
    metadata,
    table_5,
    table_6,
)

ONE = Rival("one", "sis", {"n_features_to_select": 1})
N_DRAWN, N_MISSING = 400, 10


@pytest.fixture
def work(tmp_path):
    """Asks for a part on a drawn table: sched_dep_min matters, some cells are missing, some out of range."""
    row = np.arange(N_DRAWN)
    waves = {name: 0.5 + 0.5 * np.sin((2 + 3 * place) * row) for place, name in enumerate(COLUMNS)}
    cells = {name: BOUNDS[name][0] + (BOUNDS[name][1] - BOUNDS[name][0]) * one for name, one in waves.items()}
    cells["distance"][3] = 4983.0
    cells[TARGET] = 60.0 * waves["sched_dep_min"] + 20.0 * np.cos(1.7 * row)
    cells[TARGET][5], cells[TARGET][6] = 1272.0, -86.0
    frame = {name: pa.array(one) for name, one in cells.items()}
    gone = np.zeros(N_DRAWN, dtype=bool)
    gone[-N_MISSING:] = True
    frame["temp"] = pa.array(cells["temp"], mask=gone)
    pq.write_table(pa.table(frame), tmp_path / lei_flights.FILE)

    def asked(part="", repeats=3, seed=2):
        return Work(part, tmp_path, repeats, seed)

    return asked


@pytest.fixture
def choices(monkeypatch):
    """What the plan was asked, and one column for an answer."""
    asked = []

    def best(*args):
        asked.append(args)
        return Choice(ONE, 1.0, 1.0, 1.0, 1)

    monkeypatch.setattr(lei_flights, "best_selection", best)
    chosen.cache_clear()
    yield asked
    chosen.cache_clear()


def test_rows_with_missing_cells_are_dropped_and_the_target_is_clipped(work):
    """In units of 40 minutes, -60 to 180 of them; columns stay as measured."""
    flights = Flights.read(work())
    assert flights.raw.shape == (N_DRAWN - N_MISSING, 12)
    assert flights.y[[5, 6]].tolist() == [4.5, -1.5]
    assert flights.raw[3, 0] == 4983.0
    assert flights.raw[0, 2] == pytest.approx(720.0)


def test_scaling_is_by_extremes_or_by_public_bounds(work):
    """Products of a constant, and of columns within -1 and 1."""
    flights = Flights.read(work())
    assert flights.models.gram[0] == pytest.approx([390] + [0.0] * 12, abs=1e-8)
    centered = flights.raw[:, 0] - flights.raw[:, 0].mean()
    assert flights.models.gram[1, 1] == pytest.approx(np.sum((centered / np.abs(centered).max()) ** 2))
    miles = np.clip(flights.raw[:, 0] / 1500.0 - 1.0, -1.0, 1.0)
    assert flights.public_models.gram[:2, 1] == pytest.approx([miles.sum(), miles @ miles])


def test_worth_is_relative_to_the_best_model_and_fits_have_a_constant(work):
    """BIC's model is worth 1; leaving out the constant changes nothing; by a solver that sees the rows."""
    flights = Flights.read(work())
    place = {name: 1 + number for number, name in enumerate(COLUMNS)}
    assert flights.models.has(place["sched_dep_min"])[flights.best]
    assert flights.worth[flights.best] == 1.0
    assert flights.worth[0::2][1:] == pytest.approx(flights.worth[1::2])  # masks 3, 5, .. and 2, 4, ..
    assert flights.worth[0] == pytest.approx(0.0, abs=1e-12)

    def adjusted(model):
        kept = [j for j in range(1, 13) if flights.models.has(j)[model]]
        X = np.column_stack([np.ones(390), flights.raw[:, [j - 1 for j in kept]]])
        left = flights.y - X @ np.linalg.lstsq(X, flights.y, rcond=None)[0]
        return 1.0 - left @ left / (390 - X.shape[1]) / flights.y.var(ddof=1)

    for model in (8, 600, 8190):
        assert flights.worth[model] == pytest.approx(adjusted(model) / adjusted(flights.best), abs=1e-9)


def test_noise_and_columns_of_each_variant(work, monkeypatch):
    """2(r + R) / epsilon or its square; a public r = 4.5 where the figure is private, whatever the rows are."""
    flights, seen = Flights.read(work()), []
    flights.y[5] = 2.0  # now the largest is below the public bound
    monkeypatch.setattr(lei_flights, "picks", lambda *asked: seen.append(asked))
    for column in (LINEAR, LETTER, HONEST):
        flights.selected(column, (5.0, 15.0, 8.0), 7, Source.seeded(1))
    largest = flights.y.max()
    assert largest < 4.5
    assert [scale for _, scale, _, _ in seen] == pytest.approx(
        [2 * (largest + 15) / 5, 2 * (largest + 15) ** 2 / 5, 2 * (4.5 + 15) ** 2 / 5]
    )
    for (scores, _, times, _), models in zip(
        seen, (flights.models, flights.models, flights.public_models), strict=True
    ):
        assert scores == pytest.approx(models.residuals(15.0) + 8.0 * models.sizes)
        assert times == 7


def test_the_choice_is_planned_on_fewer_rows(choices):
    """The request is about all rows, the simulation about 20,000 at most; asked once."""
    for n_rows in (300_000, 300_000, 500):
        assert chosen(n_rows, 1, 0.0) == ONE
    asked = [(metadata(n), TARGET, COLUMNS, 1, 0.0, planned) for n, planned in ((300_000, 20_000), (500, 500))]
    assert choices == asked
    assert (metadata(500).n_rows, metadata(500).neighboring) == (500, "replace_one")


def test_tables_have_all_their_cells(work, choices):
    """Each setting once, the same for the same seed; ours has no R and no phi, and selects what it is told to."""
    quality = table_5(work(HONEST.name))
    grid = [(e, radius, phi) for e in EPSILONS for radius in RADII for phi in PENALTIES]
    assert [tuple(row.settings.values()) for row in quality] == grid
    assert quality == table_5(work(HONEST.name))
    ours = [row for epsilon in EPSILONS for row in table_5(work(f"{OURS.name}, epsilon {epsilon}"))]
    assert [(row.column, row.settings) for row in ours] == [(OURS.name, {"epsilon": 1}), (OURS.name, {"epsilon": 5})]
    assert ours[1].value > 0.8
    shares = table_6(work(LETTER.name))
    assert len(shares) == 4 * 12
    assert all(0.0 <= row.value <= 1.0 for row in shares)
    alone = {row.settings["variable"]: row.value for row in table_6(work(f"{OURS.name}, epsilon 1"))}
    assert sum(alone.values()) == pytest.approx(1.0)  # one column a draw
    assert max(alone, key=alone.__getitem__) == "sched_dep_min"


def test_printed_figures_stand_beside_the_radius_that_plays_their_part():
    """Table 5 of other data, in a column of its own that pictures leave out; table 6 has none."""
    fifth, sixth = (one.study for one in EXPERIMENTS)
    assert sixth.printed == ()
    assert {row.column for row in fifth.printed} == {"as printed (housing)"}
    found = {tuple(row.settings.values()): row.value for row in fifth.printed}
    assert [found[1, radius, 4] for radius in RADII] == [0.623, 0.995, 0.997, 0.994]
    assert [found[5, radius, 32] for radius in RADII] == [0.623, 0.998, 0.999, 0.999]
    assert fifth.columns[0].name not in fifth.pictures[0].columns


def test_what_is_told_about_the_flights_is_so():
    """Rows, BIC's model, its adjusted R^2 and penalty, the unit, the l1 norms of the least squares fits."""
    if not (SHARED / lei_flights.FILE).is_file():
        pytest.skip(f"{lei_flights.FILE} is not there: set DISCREET_SHARED to the folder that holds data/")
    flights = Flights.read(Work("", SHARED, 1, 1))
    n = len(flights.y)
    assert n == 272_467
    left_out = [name for place, name in enumerate(COLUMNS) if not flights.models.has(1 + place)[flights.best]]
    assert left_out == ["plane_year"]
    left = flights.models.least_squares()[flights.best] / n
    assert 1.0 - left / flights.y.var() == pytest.approx(0.146, abs=5e-4)
    assert left * np.log(n) == pytest.approx(10.7, abs=0.05)
    assert flights.y.std() == pytest.approx(1.0, abs=0.01)
    norms = [np.abs(np.linalg.solve(one.gram, one.xty)).sum() for one in (flights.public_models, flights.models)]
    assert norms == pytest.approx([11, 25], abs=0.5)
