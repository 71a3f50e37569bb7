"""The noise test's law without an effect, its share of epsilon, and when there is none."""

from fractions import Fraction

import numpy as np
import pytest
from tests.privacy.screenings import metadata_of

from discreet.errors import DiscreetError
from discreet.methods.screening.noise_test import SHARES, chance_without_effect
from discreet.methods.screening.sis import IndependenceScreening
from discreet.methods.screening.two_stage import TwoStageVotes
from discreet.methods.select_then_fit import SelectThenFit
from discreet.workflow.chance import chance_before
from discreet.workflow.dry_runs import dry_run

NAMES = [f"x{j}" for j in range(10)]


@pytest.mark.parametrize(("deviation", "scale", "n_columns"), [(5.0, 1.0, 1), (1.0, 4.0, 10), (3.0, 3.0, 50)])
def test_the_law_holds_for_independent_columns(deviation, scale, n_columns):
    """Drawn: at the 95 % point of the largest of independent columns it is 5 %, or a little more as a bound may be."""
    rng = np.random.default_rng(7)  # noqa: TID251 - simulated data, not noise
    largest = np.abs(rng.normal(0.0, deviation, (40_000, n_columns))).max(axis=1) + rng.laplace(0.0, scale, 40_000)
    value = float(np.quantile(largest, 0.95))
    assert 0.046 < chance_without_effect(value, deviation, scale, n_columns) < 0.06


def test_what_is_told_is_what_nine_of_ten_draws_tell():
    """Normal pairs with the correlation that is needed."""
    test = (
        IndependenceScreening(noise_test=True, n_features_to_select=1).prepare(metadata_of(NAMES, n_rows=500), "y").test
    )
    needed = test.correlation_needed(500)
    rng = np.random.default_rng(8)  # noqa: TID251 - simulated data, not noise
    mean, scale = 250.0 * np.arcsin(needed) * 2.0 / np.pi, float(test.scale) / 1024
    values = mean + rng.normal(0.0, test._deviation(500), 2000) + rng.laplace(0.0, scale, 2000)
    law = (test._deviation(500), scale, 10)
    assert np.mean([chance_without_effect(value, *law) <= 0.05 for value in values]) == pytest.approx(0.9, abs=0.02)


def test_fewer_rows_take_a_larger_share():
    """As much as tells a correlation of a half; a tenth where nothing does."""
    shares = [
        IndependenceScreening(noise_test=True, n_features_to_select=1, epsilon=1.0)
        .prepare(metadata_of(NAMES, n_rows=n), "y")
        .test.epsilon
        for n in (20, 400, 5000)
    ]
    assert shares[0] == shares[2] == SHARES[0] < shares[1] <= SHARES[-1]


@pytest.mark.parametrize("method", [IndependenceScreening, TwoStageVotes])
def test_it_can_be_left_out(method):
    """Then all of epsilon is for the choice; with it the parts add up to epsilon."""
    metadata = metadata_of(NAMES, n_rows=500)
    without = method(n_features_to_select=3, noise_test=False).prepare(metadata, "y")
    assert without.parameters["noise_test"] is False
    assert without.test is None
    assert "noise_test" not in [step.name for step in without.steps]
    tested = method(n_features_to_select=3, noise_test=True).prepare(metadata, "y")
    assert [step.name for step in tested.steps][-2:] == ["screening", "noise_test"]
    assert tested.choice.epsilon + tested.test.epsilon + (without.choice.epsilon - 1) <= Fraction(1)


@pytest.mark.parametrize("options", [{"n_features_to_select": "auto"}, {"association": "median_split"}])
def test_it_is_refused_where_there_is_none(options):
    """A number that is chosen has its own chance, and split columns have no cells to compare."""
    with pytest.raises((ValueError, DiscreetError), match="noise_test"):
        IndependenceScreening(noise_test=True, **options).prepare(metadata_of(NAMES, n_rows=500), "y")


@pytest.mark.parametrize("method", [IndependenceScreening, TwoStageVotes])
def test_without_a_word_it_is_made_where_a_column_could_stand_out(method):
    """Where none could, all of epsilon is for the choice, and the chance record says that nothing can stand out."""
    metadata = metadata_of(NAMES, n_rows=500)
    made, left_out = (
        dry_run(method(epsilon=epsilon, n_features_to_select=3), metadata, "y") for epsilon in (20.0, 0.01)
    )
    assert made.prepared.parameters["noise_test"] is True
    assert [step.name for step in made.prepared.steps][-1] == "noise_test"
    assert chance_before(made).test_correlation is not None
    assert left_out.prepared.parameters["noise_test"] is False
    assert left_out.prepared.test is None
    assert chance_before(left_out).could_stand_out is False
    assert chance_before(left_out).test_correlation is None


@pytest.mark.parametrize(
    "asked", [{"n_features_to_select": "auto"}, {"association": "median_split"}, {"shares": {"y_center": 0.95}}]
)
def test_without_a_word_it_is_left_out_where_it_cannot_be(asked):
    """A number that is chosen, split columns, and shares that leave nothing are no error without a word of it."""
    prepared = IndependenceScreening(epsilon=20.0, **asked).prepare(metadata_of(NAMES, n_rows=5000), "y")
    assert prepared.test is None
    assert not prepared.parameters.get("noise_test", False)


def test_no_step_of_a_plan_has_it():
    """The plan's parts are for its steps, and its parameters can be asked again."""
    screen = {"method": "sis", "n_features_to_select": 3}
    plan = SelectThenFit(epsilon=50.0, screen=screen, fit={"family": "linear"})
    prepared = plan.prepare(metadata_of(NAMES, n_rows=5000), "y")
    assert "noise_test" not in prepared.parameters["screen"]
    assert "noise_test" not in [step.name for step in prepared.steps]
