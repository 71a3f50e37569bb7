"""What is said of chance: no number that cannot be, nothing twice."""

from types import SimpleNamespace

import pytest

from discreet.release import ChanceRecord
from discreet.report.chance_words import before, hidden, needed, verdict


def chance(**facts) -> ChanceRecord:
    """A record of chance."""
    return ChanceRecord(**{"could_stand_out": False, **facts})


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (
            {"n_rows": 5000, "correlation_needed": 0.38},
            "With 5,000 rows, a column with a correlation of about 0.38 with the target is chosen in 9 of 10 draws; "
            "one with less may be missed.",
        ),
        (
            {"correlation_needed": 7.7},
            "No column is chosen in 9 of 10 draws, however much it correlates with the target.",
        ),
        (
            {"n_rows": 1, "correlation_needed": 244.0},
            "With 1 row, no column is chosen in 9 of 10 draws, however much it correlates with the target.",
        ),
        ({"votes_needed": 1.2}, "No column is chosen in 9 of 10 draws, even with the votes of all blocks."),
        ({"votes_needed": 0.5}, "A column with the votes of 50% of the blocks is chosen in 9 of 10 draws."),
    ],
)
def test_no_correlation_above_one_is_named(facts, text):
    """Where none suffices, the sentence says so."""
    assert needed(chance(**facts)) == text


def test_what_is_supposed_follows():
    """The correlation holds for a target of some spread, and the next sentence says which."""
    told = before(chance(n_rows=5000, correlation_needed=0.38, supposes="clip", could_stand_out=True))
    assert told[1] == (
        "This assumes that the target's standard deviation is a third of its clipping bound. With a smaller one, the "
        "correlation must be larger."
    )
    assert len(before(chance(n_rows=5000, correlation_needed=0.38, could_stand_out=True))) == 1


def test_a_noise_test_that_tells_nothing_says_so():
    """No correlation above 1 there, either."""
    assert (
        before(chance(test_correlation=3.0))[-1] == "The noise test tells no correlation from chance in 9 of 10 draws."
    )


@pytest.mark.parametrize(
    ("n_selected", "chance_of_noise", "text"),
    [
        (
            3,
            0.02,
            "If no column had an effect, about 2 in 100 tables would still give 3 columns of which the strongest "
            "stands out as far. This is about all of them together: the test does not tell which stand out.",
        ),
        (
            1,
            0.02,
            "If no column had an effect, about 2 in 100 tables would still give a column that stands out as far.",
        ),
        (
            3,
            0.4,
            "Nothing stood out: if no column had an effect, about 40 in 100 tables would still give 3 columns of which "
            "the strongest stands out as far.",
        ),
    ],
)
def test_a_noise_test_speaks_of_the_strongest_column(n_selected, chance_of_noise, text):
    """It looks at the strongest of the selected columns: nothing is said that sounds like each of them."""
    record = chance(chance_by_noise=chance_of_noise, called_noise=chance_of_noise > 0.05)
    steps = [SimpleNamespace(name="noise_test")]
    release = SimpleNamespace(chance=record, selected=("a", "b", "c")[:n_selected], steps=steps)
    assert verdict(release) == text


def test_hidden_columns_are_told_with_what_helps():
    """By their names, one or several; nothing where none is hidden."""
    assert hidden(chance(hidden_columns=("age", "income"))) == (
        "Declare closer bounds for age and income. Within the declared ones they vary too little to be told from "
        "noise, and a column that correlates may be selected instead."
    )
    assert "it varies too little" in hidden(chance(hidden_columns=("age",)))
    assert hidden(chance()) is None
