"""Lei et al., figures 1 and 2: tables as described, the algorithm by hand, one choice for all tables."""

import numpy as np
import pytest

from discreet.mechanisms.rng import Source
from discreet.simulation.choice import Choice
from discreet.simulation.rivals import Rival
from discreet_papers import lei_simulation
from discreet_papers.experiment import Work
from discreet_papers.lei_models import Models, laplace
from discreet_papers.lei_simulation import (
    ADD_REMOVE,
    AUTO_PARTS,
    COEFS,
    EXPERIMENTS,
    HONEST,
    LETTER,
    OPEN,
    PUBLISHED_PARTS,
    RADII,
    REPLACE,
    chosen,
    draw,
    figure_1,
    figure_2,
    is_right,
    metadata,
    penalties,
)

pytestmark = pytest.mark.statistics

RIGHT_PLACE = 0b000111 - 1
SURE = Rival("sure", "pcls", {"y_bound": 7.0, "l1_radius": 5.0, "model_penalty": 100.0})
"""A column that is left out costs 333 at 1000 rows, one that should be is worth a few."""


def work(part, repeats=3, seed=5):
    """Asks for a part."""
    return Work(part, None, repeats, seed)


@pytest.fixture
def choices(monkeypatch):
    """What the plan was asked, and a sure thing for an answer."""
    asked = []

    def best(*args):
        asked.append(args)
        return Choice(SURE, 1.0, 1.0, 1.0, 1)

    monkeypatch.setattr(lei_simulation, "best_selection", best)
    chosen.cache_clear()
    yield asked
    chosen.cache_clear()


@pytest.mark.parametrize("coef", COEFS.values())
def test_a_table_has_even_columns_and_unit_noise(coef):
    """Least squares on many rows give back the coefficients, within 5 standard errors, and a residual of 1."""
    X, y = draw(40_000, coef, Source.seeded(3))
    assert np.abs(X).max() <= 1.0
    assert X.mean(axis=0) == pytest.approx(np.zeros(6), abs=0.015)
    assert X.var(axis=0) == pytest.approx(np.full(6, 1 / 3), abs=0.01)
    found = np.linalg.lstsq(X, y, rcond=None)[0]
    assert found == pytest.approx(coef, abs=0.045)
    assert (y - X @ found).std() == pytest.approx(1.0, abs=0.02)


def test_penalties_reach_from_zero_to_half_the_rows():
    """Eleven of them."""
    assert penalties(100) == (0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
    assert penalties(1000)[-1] == 500


def test_least_squares_of_all_models_are_those_of_each():
    """By a solver that sees the rows; and a wide l1 ball bounds nothing."""
    X, y = draw(60, COEFS["lei-figure-2"], Source.seeded(1))
    models = Models.of(X, y)
    kept = [[j for j in range(6) if models.has(j)[place]] for place in range(63)]
    expected = [np.sum((y - X[:, k] @ np.linalg.lstsq(X[:, k], y, rcond=None)[0]) ** 2) for k in kept]
    assert models.least_squares() == pytest.approx(expected)
    assert models.residuals(100.0) == pytest.approx(expected, rel=1e-6)
    assert [len(k) for k in kept] == models.sizes.tolist()


def test_laplace_numbers_follow_their_law():
    """Quantiles of 100,000 of them lie within 6 standard errors."""
    found = laplace(Source.seeded(2), 1000, 100)
    assert found.shape == (1000, 100)
    for place in (0.01, 0.25, 0.5, 0.75, 0.99):
        at = np.sign(place - 0.5) * -np.log(2 * min(place, 1 - place))
        assert (found <= at).mean() == pytest.approx(place, abs=6 * np.sqrt(place * (1 - place) / 1e5))


def test_shares_are_those_of_the_algorithm_by_hand(monkeypatch):
    """Two given tables, one with a target beyond the public bound, and given noise: each column by its formula."""
    rng = Source.seeded(9)
    tables = [draw(100, COEFS["lei-figure-1"], rng) for _ in range(2)]
    tables[1][1][0] = 9.5  # clipped to 7 where the bound is public
    monkeypatch.setattr(lei_simulation, "draw", lambda *_: given.pop(0))
    noise = np.array([[0.3 * np.sin(5.0 * k), 0.1 * np.cos(3.0 * k)] for k in range(63)]).T
    monkeypatch.setattr(lei_simulation, "laplace", lambda *_: noise)
    given = list(tables)
    rows = {
        (row.column, row.settings["R"], row.settings["phi"], row.settings.get("epsilon")): row.value
        for row in figure_1(work("Algorithm 1, n 100", 2))
    }
    assert len(rows) == 4 * 11 * (1 + 4 + 4)

    def share(column, radius, phi, epsilon):
        right = []
        for (X, y), one in zip(tables, noise, strict=True):
            r = 7.0 if column is HONEST else np.abs(y).max()
            models = Models.of(X, np.clip(y, -r, r))
            scale = 0.0 if epsilon is None else 2 * (r + radius) ** 2 / epsilon
            right.append((models.residuals(radius) + phi * models.sizes + scale * one).argmin() == RIGHT_PLACE)
        return np.mean(right)

    for (name, radius, phi, epsilon), value in rows.items():
        column = next(one for one in (OPEN, LETTER, HONEST) if one.name == name)
        assert value == share(column, radius, phi, epsilon), (name, radius, phi, epsilon)
    assert {0.0, 0.5, 1.0} <= set(rows.values())


def test_a_part_is_the_same_every_time():
    """For the same seed; the figures differ in their tables."""
    first, second = (figure_2(work("Algorithm 1, n 100")) for _ in range(2))
    assert first == second
    assert first != figure_2(work("Algorithm 1, n 100", seed=6))
    assert first != figure_1(work("Algorithm 1, n 100"))


def test_one_choice_serves_all_tables_and_both_figures(choices):
    """The plan is asked once for a size, an epsilon and a relation, with the delta, and told no row."""
    part = f"{REPLACE.name}, n 100, epsilon 5"
    rows = figure_1(work(part)) + figure_2(work(part, seed=6)) + figure_2(work(f"{ADD_REMOVE.name}, n 100, epsilon 5"))
    assert [row.settings for row in rows] == [{"n": 100, "epsilon": 5.0}] * 3
    assert [row.column for row in rows] == [REPLACE.name, REPLACE.name, ADD_REMOVE.name]
    assert choices == [
        (metadata(100, relation), "y", lei_simulation.COLUMNS, 5.0, 1e-6, 100)
        for relation in ("replace_one", "add_or_remove_one")
    ]
    assert [asked[0].n_rows for asked in choices] == [100, None]


def test_the_right_columns_are_told_from_others():
    """With hardly any noise a selection is right every time; a screening of two columns never is."""
    at, coef = (1000, 500.0, "replace_one"), COEFS["lei-figure-1"]
    assert is_right(SURE, at, coef, 20, 1).all()
    assert not is_right(Rival("two", "sis", {"n_features_to_select": 2}), at, coef, 20, 1).any()


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.study.name)
def test_studies_hang_together(experiment):
    """All parts are known, columns that spend nothing claim nothing, and pictures show each size."""
    study = experiment.study
    assert experiment.parts == (*PUBLISHED_PARTS, *AUTO_PARTS)
    assert len(AUTO_PARTS) == 2 * 4 * 3
    assert [one.is_private for one in study.columns] == [False, False, True, True, True, True]
    assert [one.where for one in study.pictures] == [{"n": 100}, {"n": 1000}]
    assert study.printed == ()
    assert sum(COEFS[study.name]) == 3.0  # the R that bounds nothing which is true: the grid surrounds it
    assert min(RADII) < 3.0 < max(RADII)
