"""Thresholds for noisy scores: their law without an effect, what they promise beside effects, and what is told."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from discreet.mechanisms.rng import Source
from discreet.methods.screening import step_down
from discreet.methods.screening.step_down import FEW_UNITS, StepDown, thresholds_for
from discreet.methods.screening.threshold_choice import AboveThreshold
from discreet.methods.screening.units import Units

STEP = 2**10


def choice(n_units, epsilon=Fraction(1, 10), max_false=0.05, groups=(), max_size=None):
    """Sensitivity of two rows."""
    names = [f"x{j}" for j in range(n_units)]
    return StepDown(Units.of(names, (), groups), epsilon, 2 * STEP, STEP, max_false, max_size)


@pytest.mark.parametrize("d", [1, 3, 8])
@pytest.mark.parametrize("max_false", [0.01, 0.05, 0.3])
def test_first_threshold_is_the_quantile_of_the_noise(d, max_false):
    """By the exact law where sampling is nothing: r is a sum of d + 1 exponentials, each number uniform in [-r, r]."""
    scale = 20.0
    threshold = choice(d, max_false=max_false).thresholds(1.0)[0] / STEP

    def stays(r):
        return ((threshold + r) / (2 * r)) ** d * gamma.pdf(r, d + 1, scale=scale)

    beyond = 1.0 - gamma.cdf(threshold, d + 1, scale=scale) - quad(stays, threshold, 60 * (d + 5) * scale, limit=200)[0]
    assert beyond == pytest.approx(max_false, rel=0.12)


@pytest.mark.parametrize("n_effects", [0, 2, 5])
def test_chance_of_a_false_column_holds_beside_effects(n_effects):
    """Romano and Wolf: whichever columns matter, at most .05 of tables have another one; here 4,000, .01 beyond."""
    d, n_rows, rng = 6, 800.0, np.random.default_rng(n_effects)  # noqa: TID251 - simulated data, not noise
    drawing = choice(d)
    scores = np.abs(rng.normal(size=(4000, d))) * np.sqrt(n_rows)
    scores[:, :n_effects] += rng.uniform(0, 600, n_effects)
    source, thresholds = Source.seeded(1), drawing.thresholds(n_rows)
    rows = (np.rint(scores * STEP)).astype(np.int64)
    choices = [drawing.draw(row, thresholds, source) for row in rows]
    false = np.mean([any(place >= n_effects for place in each.units) for each in choices])
    assert false <= 0.05 + 0.01
    assert n_effects or false >= 0.05 - 0.01


def test_chosen_are_those_above_their_thresholds_step_by_step(monkeypatch):
    """The third is above the threshold of the first step alone when two are gone; the fourth is not reached."""
    monkeypatch.setattr(step_down, "cube_noise", lambda values, scale, rng: values)
    drawing = choice(4)
    all_of_them = drawing.draw(np.array([5, 90, 70, 80]), (75, 75, 60, 1), Source.seeded(0))
    assert all_of_them.units == [0, 1, 2, 3]
    assert drawing.draw(np.array([5, 90, 50, 80]), (75, 75, 60, 1), Source.seeded(0)).units == [1, 3]
    assert drawing.draw(np.array([5, 70, 50, 74]), (75, 75, 60, 1), Source.seeded(0)).units == []
    assert choice(4, max_size=1).draw(np.array([5, 90, 50, 80]), (75, 75, 60, 1), Source.seeded(0)).units == [1]
    assert all_of_them.noisy_scores.tolist() == [5 / STEP, 90 / STEP, 70 / STEP, 80 / STEP]


def test_thresholds_fall_with_each_column_and_rise_with_groups():
    """One column less to be wrong about; a group has the largest of several scores."""
    few, grouped = choice(5).thresholds(900.0), choice(6, groups=[["x0", "x1"]]).thresholds(900.0)
    assert list(few) == sorted(few, reverse=True)
    assert len(few) == len(grouped) == 5
    assert all(a < b for a, b in zip(few, grouped, strict=True))


def test_a_seldom_chance_takes_a_bound():
    """Beyond what drawn tables tell: above them, and above the exact quantile of the noise."""
    bound, quantile = (choice(4, max_false=share).thresholds(400.0)[0] for share in (1e-7, 1e-2))
    assert bound > quantile
    assert bound / STEP > gamma.isf(1e-7, 4, scale=20.0) / 2


def test_chances_are_those_of_tables_without_an_effect():
    """By fresh draws; never less than that of a larger score, and a larger variance has a larger chance."""
    drawing, rng = choice(3), np.random.default_rng(2)  # noqa: TID251 - simulated data, not noise
    noisy, variances = np.array([150.0, 90.0, 95.0]), np.array([900.0, 400.0, 400.0])
    chances = drawing.chances_of_units(noisy, variances, range(3))
    n = 200_000
    noise = rng.uniform(-1, 1, (n, 3)) * rng.gamma(4.0, 20.0, (n, 1))
    scores = np.abs(rng.normal(size=(n, 3))) * np.sqrt(variances) + noise
    shares = [(scores.max(axis=1) >= 150).mean(), (scores[:, 1] >= 90).mean(), (scores[:, 1:].max(axis=1) >= 95).mean()]
    shares[1] = max(shares[1], shares[2])
    assert chances == pytest.approx(shares, rel=0.05)
    assert drawing.chances_of_units(noisy, 4 * variances, range(3))[0] > chances[0]
    assert list(drawing.chances_of_units(noisy, variances, [0])) == [chances[0], 1.0, 1.0]
    assert drawing.chances_of_units(np.full(3, 1e9), variances, range(3)) == pytest.approx(1 / step_down.N_DRAWN)


def test_units_of_a_first_screening_are_the_best_of_all():
    """By fresh draws of 40 scores of which the 5 largest are left, whichever columns these are."""
    left = StepDown(Units(5, 5), Fraction(1, 10), 2 * STEP, STEP, 0.05, n_screened=40)
    rng, n = np.random.default_rng(3), 100_000  # noqa: TID251 - simulated data, not noise
    sizes = np.sort(np.abs(rng.normal(size=(n, 40))), axis=1)[:, -5:] * 30.0
    largest = (sizes + rng.uniform(-1, 1, (n, 5)) * rng.gamma(6.0, 20.0, (n, 1))).max(axis=1)
    threshold = left.thresholds(900.0)[0] / STEP
    assert (largest > threshold).mean() == pytest.approx(0.05, abs=0.005)
    assert left.thresholds(900.0)[0] > choice(5).thresholds(900.0)[0]
    chance = left.chances_of_units(np.array([threshold, 0.0, 0.0, 0.0, 0.0]), np.full(5, 900.0), [0])[0]
    assert chance == pytest.approx(0.05, abs=0.005)


def test_few_units_get_noisy_scores_and_many_one_draw():
    """Who states the law of a draw gets the draw."""
    facts = (Fraction(1), 2 * STEP, STEP, 0.05)
    many = FEW_UNITS + 1
    for d, noise, kind in ((FEW_UNITS, None, StepDown), (many, None, AboveThreshold), (3, "gumbel", AboveThreshold)):
        assert isinstance(thresholds_for(Units(d, d), *facts, noise), kind)
