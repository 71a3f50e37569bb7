"""Steps, their noise and their prices."""

import pytest
from report_fits import GAUSSIAN, LAPLACE, QUANTILE, composed, step
from report_releases import make

from discreet.report.facts import gather
from discreet.report.noise_box import amounts, box, choice, purpose, steps
from discreet.report.price import Price, price


def test_a_price_is_the_sum_of_its_parts():
    """Composed events are opened; each currency adds up by itself."""
    inner = {"type": "ComposedEvent", "events": [{"type": "SelectionEvent", "epsilon": 0.5}, {"delta": 1e-6}]}
    found = price({"type": "ComposedEvent", "events": [inner, {"type": "GaussianEvent", "rho": 0.25, "lattice": 1}]})
    assert found == Price(0.5, 0.25, 1e-6)
    assert str(found) == "epsilon 0.5, rho 0.25, delta 0.000001"


@pytest.mark.parametrize("event", [None, {}, {"epsilon": "much"}, {"epsilon": -1}, {"events": [3, "x"]}, {"rho": None}])
def test_an_unreadable_price_is_nothing(event):
    """A release made by hand may hold anything."""
    assert price(event) == Price()
    assert str(price(event)) == "nothing"


def test_steps_are_told_in_words(samples):
    """What for, how drawn, the price, and the number where one was released."""
    told = list(steps(samples["tuned"]))
    assert [one.purpose for one in told] == [
        "bound of the target",
        "largest l1 norm of a model's coefficients",
        "residual variance",
        "number of rows",
        "bounds of lncoins",
        "selection of columns",
    ]
    assert [one.price for one in told] == [
        f"epsilon {price}" for price in ("0.05", "0.15", "0.1", "0.05", "0.05", "0.6")
    ]
    assert [one.value for one in told] == ["12", "24", "20.312", "20,188", "", ""]
    assert told[0].noise.drawn == "permute-and-flip, exponential noise, over 32 values"
    assert told[2].noise.drawn == "Laplace noise on whole numbers"
    assert told[5].noise.drawn == "permute-and-flip, exponential noise, over 32 models"


@pytest.mark.parametrize(
    ("name", "told"),
    [("bounds:age", "bounds of age"), ("lower bound of x", "lower bound of x"), ("new_part", "new part")],
)
def test_an_unknown_step_keeps_its_name(name, told):
    """With spaces for underscores."""
    assert purpose(name) == told


def test_gaussian_steps_share_what_the_others_leave(samples):
    """In proportion to their rho, and all parts make epsilon."""
    assert amounts(samples["run"]) == pytest.approx([0.1, 0.4, 0.5])
    assert amounts(samples["run by half"]) == pytest.approx([0.2, 0.8, 1.0])  # each half has all of epsilon
    assert amounts(samples["moments"]) == pytest.approx([0.5, 10 / 28, 4 / 28])


def test_parts_that_do_not_add_up_are_not_shared_out():
    """Where rho buys pure parts more cheaply than epsilon, no share is told."""
    one = step("selection", make().noise, epsilon=0.9)
    assert amounts(make(epsilon=1.0, **composed(one, one))) == [0.0, 0.0]


def test_additive_noise_is_no_choice():
    """Neither a number of models nor a gap is told, and Laplace noise is not taken for report noisy max."""
    told = box(GAUSSIAN, "y", 1.0)
    assert (told.is_choice, told.gap, told.lead, told.drawn) == (False, None, None, "Gaussian noise on whole numbers")
    assert box(GAUSSIAN.model_copy(update={"mechanism": "laplace"}), "y", 1.0).drawn == "Laplace noise"
    assert box(GAUSSIAN.model_copy(update={"mechanism": "new_kind"}), "y", 1.0).drawn == "new-kind, Gaussian noise"


def test_the_choice_is_the_selection(samples):
    """Of a run, of a selection alone, and of neither a fit nor the choice of a bound."""
    assert choice(samples["run"]) == samples["run"].steps[1].noise
    assert choice(samples["with ledger"]) == samples["with ledger"].noise
    assert choice(samples["linear"]) is None
    assert (
        choice(make(**composed(step("y_bound", QUANTILE, epsilon=0.5), step("n_rows", LAPLACE, epsilon=0.5)))) is None
    )


def test_the_unit_is_told_with_the_targets_name():
    """Squared units of the target are those of its name; others are told as they are."""
    assert box(make().noise, "mdvis", 1.0).unit == "squared units of mdvis"
    assert box(LAPLACE, "mdvis", 1.0).unit == "rows"


def test_the_noise_box_names_its_step(samples):
    """The release's noise box is a step's: of a plan the selection's, which is not the last one."""
    release = samples["run"]
    named = {one.name: one.noise for one in release.steps}
    assert len({one.scale for one in named.values()}) == len(named) > 1
    for name, noise in named.items():
        found = gather(release.model_copy(update={"noise": noise}), "board", None)
        assert found.boxed == purpose(name)
