"""Coefficients as a table for a terminal."""

import pytest
from report_fits import MANY, coefficient, make_fit

from discreet.report import coefficient_table
from discreet.report.widths import cells
from discreet.report.words import visible


def test_the_table_is_aligned(samples):
    """Every row of numbers ends where the heading ends."""
    rows = coefficient_table(samples["linear"]).split("\n")
    assert rows[0].split() == ["estimate", "95%", "interval", "privacy"]
    assert rows[3].split() == ["lncoins", "-0.081", "-0.115", "to", "-0.048", "31%"]
    assert len({cells(row) for row in rows[:7]}) == 1
    assert rows[-1].startswith("privacy: ")


@pytest.mark.parametrize("width", [80, 100])
def test_the_table_fits(release, width):
    """However long or hostile names are, and without a control character."""
    table = coefficient_table(release, width)
    assert all(cells(row) <= width for row in table.split("\n"))
    assert visible(table.replace("\n", "")) == table.replace("\n", "")


def test_ratios_have_a_column(samples):
    """Odds ratios for two values, rate ratios for counts."""
    assert "odds ratio" in coefficient_table(samples["logistic"])
    assert "rate ratio" in coefficient_table(samples["poisson"])
    assert "ratio" not in coefficient_table(samples["linear"])


def test_an_empty_interval_is_marked(samples):
    """With an asterisk and what it means; so is one that is open to a side."""
    table = coefficient_table(samples["fit says nothing"])
    assert "female *" in table
    assert "*: uninformative, because of the noise" in table
    assert "*" not in coefficient_table(samples["linear"])
    opened = coefficient_table(samples["open ends"])
    assert "above: no upper limit is known\nbelow: no lower limit is known\n*" in opened
    assert "is known" not in coefficient_table(samples["linear"])


def test_a_method_without_intervals_shows_estimates_alone(samples):
    """No interval, no share, no mark; what to do for intervals."""
    rows = coefficient_table(samples["no intervals"], 80).split("\n")
    assert rows[0].split() == ["estimate", "odds", "ratio"]
    assert rows[4].split() == ["age", "0.0131", "1.0132"]
    assert rows[-1] == "no intervals: the version that made this release gave them only with a delta"
    assert "*" not in "".join(rows)


def test_a_long_name_keeps_its_mark_and_its_end():
    """Names differ at their end, and the mark must not be lost."""
    long = coefficient("x" * 200 + "_17", 0.1, 0.01, 99.0, ends=(None, None))
    assert "_17 *" in coefficient_table(make_fit("logistic", long), 80)
    many = coefficient_table(make_fit("linear", *(coefficient(name, 1.0) for name in MANY)), 80)
    assert len(set(many.split("\n"))) > len(MANY)


def test_a_selection_has_no_table(samples):
    """Nothing is printed for it."""
    assert coefficient_table(samples["with ledger"]) == ""
