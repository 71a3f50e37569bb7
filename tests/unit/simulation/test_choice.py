"""The plan's choice: from public facts alone, the same every time, and good on designs of the literature."""

import math

import numpy as np
import pytest
from tests.effort import either

import discreet as dc
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.simulation import choice
from discreet.simulation.choice import best_selection
from discreet.simulation.rivals import Rival
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import expected

pytestmark = pytest.mark.statistics

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
        found = expected(scenario, [chosen.rival], [epsilon], n_tables=either(30, 60), n_draws=2, seed=5)[0]
        assert found.right >= least - 2.0 * found.error  # of few tables


def test_a_choice_is_the_same_every_time_and_needs_a_number_of_rows(monkeypatch):
    """Whoever asks again gets the same request, and the stored answer."""
    monkeypatch.setattr(choice, "ROUNDS", either(((13, 4), (26, 1)), choice.ROUNDS))
    public = metadata("add_or_remove_one", None, columns=2)
    first, second = (best_selection(public, "y", None, 1.0, 0.0, 100) for _ in range(2))
    assert first == second
    assert first.n_rivals > 5
    with pytest.raises(InvalidParameterError, match="n_rows"):
        best_selection(public, "y")


def test_the_least_epsilon_has_a_choice_and_a_smaller_one_is_refused():
    """The choice is then no better than chance; what no request may give is not tried."""
    own = metadata("replace_one", 100, columns=1)
    assert best_selection(own, "y", None, 1e-9).right < 1.0
    with pytest.raises(InvalidParameterError, match="epsilon must lie in"):
        best_selection(own, "y", None, 1e-250)


CORRELATION = 0.9
MASKED = {"x1": 12 / math.pi * math.asin(CORRELATION / 2), "x2": -2.0}
"""Two columns that matter but hide each other: x1 and the target are uncorrelated, and x2 is nearly so.

The first effect is twice the correlation of two evenly spread columns whose normal scores correlate so.
"""

SEARCHES = ("pcls", "moments")
N_TABLES = either(25, 40)


def masked(n_rows):
    """The target's columns look as if they did not matter, one by one."""
    public = metadata("replace_one", n_rows)
    return Scenario.of(public, "y", effects=MASKED, noise_sd=0.3, correlation=CORRELATION)


def test_masked_effects_are_found_by_comparing_subsets_alone():
    """At 1,000 rows and epsilon 5 subset search finds both columns; screening, told their number, never does."""
    scenario = masked(1000)
    cells = scenario.draw(Source.seeded(1))._arrow
    alone = [abs(np.corrcoef(cells[name].to_numpy(), cells["y"].to_numpy())[0, 1]) for name in ("x1", "x2")]
    assert alone[0] < 0.1
    assert alone[1] < 0.5
    assert scenario.r_squared > 0.7
    among = [
        Rival("pcls", "pcls", {"y_bound": 1.0, "l1_radius": 1.0}),
        Rival("pcls, wide", "pcls", {"y_bound": 4.0, "l1_radius": 4.0, "max_false": 0.2}),
        Rival("sis", "sis", {"n_features_to_select": 2}),
    ]
    search, wide, screening = (one.right for one in expected(scenario, among, [5.0], n_tables=N_TABLES, n_draws=8))
    assert search > 0.75
    assert wide > 0.6
    assert screening < 0.05


def test_the_choice_knows_masked_effects_where_they_are_supposed():
    """Told that two columns matter it scores; told that they hide each other it compares subsets, and finds them."""
    public = metadata("replace_one", 1000)
    plain = best_selection(public, "y", epsilon=1.0, supposed={"n_true": 2})
    assert plain.rival.method not in SEARCHES
    supposed = {"effects": MASKED, "noise_sd": 0.3, "correlation": CORRELATION}
    informed = best_selection(public, "y", epsilon=1.0, supposed=supposed)
    assert informed.rival.method in SEARCHES
    assert informed.supposed == {"effects": MASKED, "noise_sd": 0.3, "correlation": [CORRELATION]}
    right = [
        expected(masked(1000), [choice.rival], [1.0], n_tables=N_TABLES, n_draws=2, seed=7)[0].right
        for choice in (informed, plain)
    ]
    assert right[0] > 0.7
    assert right[1] < 0.4


def race(easier=None, **overlaps):
    """A race after one table of each kind, of selections with these overlaps."""
    after_one = choice._Race([], 1.0, None, easier)
    after_one._sums = {name: np.array([[each, 0.0] for each in np.atleast_1d(of)]) for name, of in overlaps.items()}
    after_one._tables = dict.fromkeys(overlaps, 1)
    return after_one


def test_what_fails_with_large_effects_is_not_chosen_for_small_ones():
    """Each size of effects counts alike. Control: by the smallest alone the other one would be chosen."""
    rivals = [Rival("strong", "moments", {}), Rival("weak", "moments", {})]
    usual = race(strong=1.0, weak=0.8)
    assert race(usual, strong=0.85, weak=0.9).best(rivals)[0].name == "strong"
    assert race(strong=0.85, weak=0.9).best(rivals)[0].name == "weak"


def test_one_kind_of_table_does_not_decide_alone():
    """Naming nothing in one kind of five is outweighed by .1 in each other one, though not on average; not by .05."""
    rivals = [Rival("usual", "moments", {}), Rival("even", "moments", {})]
    even = [0.7, 0.7, 0.7, 0.7, 0.9]
    usual, little = [0.8] * 4 + [0.0], [0.75] * 4 + [0.0]
    assert np.mean(usual) < np.mean(even)
    assert race(usual=usual, even=even).best(rivals)[0].name == "usual"
    assert race(usual=little, even=even).best(rivals)[0].name == "even"
    behind = [*rivals, Rival("best", "moments", {})]  # what is far behind everywhere is told apart, too
    assert [one.name for one in race(usual=0.1, even=0.2, best=0.9).best(behind)] == ["best", "even", "usual"]


def test_of_near_ties_the_one_is_chosen_that_is_more_often_right_at_half_of_epsilon(monkeypatch):
    """Not where the other loses clearly less; what is refused at half of epsilon is chosen where no other is left."""
    rivals = [Rival(name, "moments", {}) for name in ("steep", "flat", "early")]
    half = race(steep=0.6, flat=0.5, early=0.9)
    half._sums["flat"][0, 1] = 0.2

    def add(self, compared, n_tables, seed, explains):
        assert self._epsilon == 0.5
        self._sums, self._tables = half._sums, half._tables

    monkeypatch.setattr(choice._Race, "add", add)
    assert race(steep=0.91, flat=0.9, early=0.85).best_at_half(rivals, 1).name == "flat"
    assert race(steep=0.93, flat=0.9, early=0.85).best_at_half(rivals, 1).name == "steep"
    half._sums.clear()
    assert race(steep=0.91, flat=0.9, early=0.85).best_at_half(rivals, 1).name == "steep"


def test_what_is_exactly_right_more_often_breaks_a_near_tie():
    """A tenth of exact recovery is worth a hundredth of overlap."""
    both = race(often=0.8, seldom=0.81)
    both._sums["often"][0, 1] = 0.2
    rivals = [Rival("seldom", "moments", {}), Rival("often", "moments", {})]
    assert both.best(rivals)[0].name == "often"
    both._sums["often"][0, 1] = 0.05
    assert both.best(rivals)[0].name == "seldom"


def test_where_all_is_easy_the_reason_names_the_sizes_of_effects(monkeypatch):
    """With the overlap of each, the largest first."""
    monkeypatch.setattr(choice, "ROUNDS", ((15, 4), (15, 1)))
    reason = best_selection(metadata("add_or_remove_one", None, columns=3), "y", None, 90.0, 0.0, 5000).reason
    assert ", with effects of 1, 0.5" in reason
    assert reason.count("100%") >= 2
