"""Numbers and names as people read them."""

import math

import pytest

from discreet.report.drawing import plain
from discreet.report.words import (
    at_least,
    at_most,
    count,
    listed,
    number,
    percent,
    setting,
    shortened,
    thousands,
    visible,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0, "1"), (0.5, "0.5"), (2.25e-6, "0.00000225"), (0.1 + 0.2, "0.3"), (20190.0, "20190"), (-4.7, "-4.7")],
)
def test_a_number_has_no_spurious_digits(value, shown):
    """What a person wrote is what a person reads."""
    assert number(value) == shown


def test_an_infinite_number_is_still_shown():
    """A hostile release may hold infinity, and a report must not stumble over it."""
    assert (number(math.inf), at_most(math.inf)) == ("inf", "inf")


@pytest.mark.parametrize("value", [1 / 3, 0.1 + 0.2, 2.718281828, 1.0000004, 123456.7, 3e-9])
def test_a_cost_is_rounded_up_and_a_budget_down(value):
    """A printed guarantee is never stronger than the real one, up to the last bits of a float."""
    assert float(at_most(value)) >= value * (1 - 1e-11)
    assert float(at_least(value)) <= value * (1 + 1e-11)


def test_near_certainty_is_not_called_certainty():
    """A posterior of almost one is not rounded to 100 percent."""
    assert (percent(0.9999), percent(0.998), percent(0.5)) == (">99.9%", "99.8%", "50.0%")


@pytest.mark.parametrize(
    "mark", ["\n", "\r", "\t", "\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2028", "\u200b", "\uffff"]
)
def test_invisible_characters_are_written_out(mark):
    """No character that moves a cursor or turns a line around survives."""
    assert mark not in visible(f"a{mark}b")
    assert visible(f"a{mark}b").startswith("a\\")


def test_other_writing_is_left_alone():
    """Names in any script read as they are."""
    assert visible("Größe 列 é") == "Größe 列 é"


def test_names_in_a_sentence_are_told_apart():
    """A name that could be read as several stands in quotes."""
    assert listed(["a", "b and c", "d,e"]) == 'a, "b and c" and "d,e"'
    assert (listed(["a"]), listed([])) == ("a", "")


def test_settings_are_short():
    """Nothing, yes and no are said in words, lists as JSON."""
    assert [setting(value) for value in (None, {}, True, False, 1.0, "aic", {"g": ["a"]})] == [
        "none", "none", "yes", "no", "1", "aic", '{"g": ["a"]}',
    ]  # fmt: skip


def test_counts_stay_readable():
    """Thousands stand apart, and a number too long to read becomes its size."""
    assert (count(7), count(1_048_576), count(2**200)) == ("7", "1,048,576", "about 1.61e+60")


@pytest.mark.parametrize("value", [-0.5, -0.25, 0.5, -1.5, -1234.5, -0.0001, 2e6, -1e-9])
def test_thousands_keep_a_number(value):
    """Its sign, too, where its whole part is zero; a tick of an axis is the same number."""
    assert float(thousands(f"{value:.6g}").replace(",", "")) == value
    assert float(plain(value).replace(",", "").replace("\N{MINUS SIGN}", "-")) == value


def test_a_long_text_keeps_its_start():
    """Only where space is short, and never beyond the limit."""
    assert shortened("x" * 50, 10) == "x" * 7 + "..."
