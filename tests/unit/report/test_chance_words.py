"""What is said of chance: no number that cannot be, nothing twice."""

import pytest

from discreet.release import ChanceRecord
from discreet.report.chance_words import before, needed


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
