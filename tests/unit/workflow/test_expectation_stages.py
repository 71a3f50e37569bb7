"""How many tables a plan draws: fewer where its figures are sure or columns are many, and as many as were asked for."""

import pytest

from discreet import workflow
from discreet.workflow import expectation_cache
from discreet.workflow.expectation_stages import COUNTS

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "test"}


def planned(monkeypatch, folder, n_rows, n_columns=3, **asked):
    monkeypatch.setattr(expectation_cache, "cache_folder", lambda: folder)
    columns = {f"x{j}": BOX for j in range(1, n_columns + 1)} | {"y": BOX}
    public = {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": n_rows, "columns": columns}
    facts = {"epsilons": (1.0,), "methods": ("sis",), "parameters": {"n_features_to_select": 1}, "is_alone": True}
    question = workflow.Question(workflow.Metadata.from_value(public), "y", None, **(facts | asked))
    return workflow.expect(question)


def test_figures_that_are_sure_need_no_more_tables(monkeypatch, tmp_path):
    """Where all tables agree a plan stops at the first step whose error is small; where they do not, it goes on.

    What is recommended has as many tables as it must, at the epsilon of the comparison alone.
    """
    facts = {"epsilons": (10.0, 1.0)}  # the second one is compared
    sure, unsure = (
        {row["epsilon"]: row for row in planned(monkeypatch, tmp_path, n_rows, **facts).rows} for n_rows in (20_000, 30)
    )
    assert sure[10.0]["right"] == 1.0
    assert sure[10.0]["n_draws"] < COUNTS[0].many
    assert sure[10.0]["error"] <= COUNTS[0].sure
    assert sure[1.0]["n_draws"] == COUNTS[0].recommended
    assert unsure[1.0]["error"] > COUNTS[0].sure
    assert unsure[1.0]["n_draws"] == COUNTS[0].many


def test_as_many_tables_as_were_asked_for(monkeypatch, tmp_path):
    """A number of tables that is named is kept, however sure the figures are."""
    answer = planned(monkeypatch, tmp_path, 20_000, n_tables=70)
    assert {row["n_draws"] for row in (*answer.rows, *answer.unlucky, *answer.fewer)} == {70}


@pytest.mark.parametrize(("n_columns", "place"), [(9, 1), (61, 2)])
def test_many_columns_have_fewer_tables(monkeypatch, tmp_path, n_columns, place):
    """And the standard error of each figure says so."""
    answer = planned(monkeypatch, tmp_path, 60, n_columns)
    counts = COUNTS[place]
    assert {row["n_draws"] for row in answer.rows} == {counts.recommended}
    assert {row["n_draws"] for row in answer.unlucky} <= {counts.beside_first, counts.unkind}
    assert all(row["error"] > 0.0 for row in (*answer.rows, *answer.unlucky, *answer.fewer))
