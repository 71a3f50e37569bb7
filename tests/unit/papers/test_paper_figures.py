"""Means and shares of draws, and what is said of their errors."""

import numpy as np
import pytest

from discreet.report.study import Row
from discreet_papers import swope_figure_1
from discreet_papers.experiment import Work
from discreet_papers.figures import mean_row, share_error, share_row
from discreet_papers.wang_ways import averaged


def test_a_mean_has_the_error_of_its_draws():
    """None for one draw; exactly 0, and not a rounding error, where all draws agree."""
    assert mean_row("a", {}, np.array([1.0, 2.0, 3.0])).error == pytest.approx(1 / np.sqrt(3))
    assert mean_row("a", {}, np.array([1.0])).error is None
    assert np.full(100, 0.1).std(ddof=1) > 0.0  # what must not be printed
    assert mean_row("a", {}, np.full(100, 0.1)).error == 0.0
    assert mean_row("a", {}, np.array([0.3, 0.1 + 0.2, 0.3])).error == 0.0
    assert mean_row("a", {}, np.zeros(3)).error == 0.0
    assert averaged([Row("a", {}, 0.1)] * 100)[0].error == 0.0


def test_a_share_that_all_draws_agree_on_is_not_known_exactly():
    """One hit more and two draws more then; none for one draw."""
    assert share_row("a", {}, np.array([True, False, True, True])).error == pytest.approx(np.sqrt(0.75 * 0.25 / 4))
    sure = share_row("a", {}, np.ones(98, dtype=bool))
    assert (sure.value, sure.error) == (1.0, pytest.approx(np.sqrt(0.99 * 0.01 / 100)))
    assert share_error(0, 98) == pytest.approx(sure.error)
    assert share_row("a", {}, np.array([True])).error is None


def test_counts_of_1000_tables_have_the_errors_of_shares(monkeypatch):
    """A feature that is never selected has an error, and with one table none has."""
    monkeypatch.setattr(
        swope_figure_1, "selected", lambda *_: {way: np.arange(5) for way in (swope_figure_1.SIS.name, "two-stage")}
    )
    rows = swope_figure_1.figure_1(Work("W1", None, 8, 1))
    assert [row.value for row in rows[:6]] == [1000.0] * 5 + [0.0]
    assert all(row.error == pytest.approx(1000.0 * np.sqrt(0.1 * 0.9 / 10)) for row in rows)
    assert {row.error for row in swope_figure_1.figure_1(Work("W1", None, 1, 1))} == {None}
