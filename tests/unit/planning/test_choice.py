"""The plan's choice: from public facts alone, the same every time, and good on designs of the literature."""

import pytest

import discreet as dc
from discreet.errors import InvalidParameterError
from discreet.planning.choice import best_selection
from discreet.planning.scenario import Scenario
from discreet.planning.selection import expected

DESIGNS = ({"x1": 1.0, "x2": 1.0, "x3": 1.0}, {"x1": 1.5, "x2": 1.0, "x3": 0.5})
"""Of Lei et al.: six columns even on [-1, 1], a noise of standard deviation 1."""


def metadata(relation, n_rows, bound=4.0, columns=6):
    """Public bounds."""
    box = {"type": "real", "lower": -1, "upper": 1, "source": "design"}
    y = {"type": "real", "lower": -bound, "upper": bound, "source": "design"}
    known = {"n_rows": n_rows} if relation == "replace_one" else {}
    names = [f"x{j}" for j in range(1, columns + 1)]
    return dc.Metadata.from_value(
        {"dataset": "toy", "unit": "row", "neighboring": relation, "columns": dict.fromkeys(names, box) | {"y": y}}
        | known
    )


@pytest.mark.parametrize(
    ("relation", "n_rows", "epsilon", "asked"),
    [("replace_one", 1000, 1.0, (0.9, 0.7)), ("add_or_remove_one", 100, 5.0, (0.6, 0.0))],
)
def test_the_choice_finds_the_right_model_as_often_as_asked(relation, n_rows, epsilon, asked):
    """Chance of exactly the right model, by a simulation that the choice has not seen."""
    public = metadata(relation, n_rows)
    chosen = best_selection(public, "y", None, epsilon, 1e-6, n_rows)
    for effects, least in zip(DESIGNS, asked, strict=True):
        scenario = Scenario.of(public, "y", effects=effects, noise_sd=1.0, n_rows=n_rows)
        found = expected(scenario, [chosen.rival], [epsilon], n_tables=60, n_draws=2, seed=5)[0]
        assert found.right >= least


def test_a_choice_is_the_same_every_time_and_needs_a_number_of_rows():
    """Whoever asks again gets the same request, and the stored answer."""
    public = metadata("add_or_remove_one", None, columns=2)
    first, second = (best_selection(public, "y", None, 1.0, 0.0, 100) for _ in range(2))
    assert first == second
    assert first.n_rivals > 5
    with pytest.raises(InvalidParameterError, match="n_rows"):
        best_selection(public, "y")


def test_an_epsilon_too_small_for_some_leaves_the_others():
    """Whose noise does not fit is left out; the choice is then no better than chance."""
    chosen = best_selection(metadata("replace_one", 100, columns=1), "y", None, 1e-250)
    assert chosen.right < 1.0
