"""No screening is priced above what was asked, whatever its mechanism; what is not proved is not charged."""

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from tests.effort import pairwise

import discreet as dc
from discreet.accounting.compose import guarantee_of
from discreet.accounting.guarantee import exact
from discreet.data.engines.frame import FrameTable
from discreet.data.engines.sparse import SparseTable
from discreet.data.long_table import LongTable
from discreet.data.score_design import ScoreDesign
from discreet.errors import PolicyError
from discreet.ledger import Ledger
from discreet.methods.registry import method_of
from discreet.methods.screening.own_score import OwnScore
from discreet.workflow.request import answer

BOX = {"type": "real", "lower": -1, "upper": 1, "source": "design"}


def metadata(relation="add_or_remove_one", **more):
    known = {"n_rows": 1000} if relation == "replace_one" else {}
    features = {**BOX, "count": 1200} if "layout" not in more else {**BOX, "count": 3}
    return dc.Metadata.from_value(
        {"dataset": "toy", "unit": "row", "neighboring": relation, "columns": {"y": BOX}, "features": features}
        | known
        | more
    )


@cache
def public():
    """The same for all that is asked below."""
    return metadata()


CHOICES = [
    (k, mechanism, noise)
    for k in (1, 2, 40, 1100)
    for mechanism in ("auto", "peeling", "one_shot", "canonical_lipschitz")
    for noise in (None, "gumbel", "exponential")
    if (mechanism, noise) != ("one_shot", "gumbel") and (mechanism != "peeling" or k <= 1000)
]
"""All that are not refused."""


NAMES = ("sis", "two-stage", "own-score")
BUDGETS = ((0.1, 0.01), (0.01, 1e-3), (1.0, 0.0), (1.0, 1e-6), (5.0, 0.1))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "choice", "budget"), pairwise(itertools.product(NAMES, CHOICES, BUDGETS)))
def test_no_screening_costs_more_than_was_asked(name, choice, budget):
    """The guarantee of what will be drawn is at most (epsilon, delta)."""
    (k, mechanism, noise), (epsilon, delta) = choice, budget
    asked = {"n_features_to_select": k, "epsilon": epsilon, "delta": delta, "mechanism": mechanism, "noise": noise}
    if name == "own-score":
        method = OwnScore.of(score_func=lambda X, y: X.T @ y, sensitivity=1.0, **asked)
    else:
        method = method_of(name, **asked, n0=1000)
    prepared = method.prepare(public(), "y")
    found = guarantee_of(prepared.event, public().neighboring, prepared.delta)
    assert found.epsilon <= exact(epsilon, "epsilon")
    assert found.delta <= exact(delta, "delta")
    if prepared.choice.mechanism == "one_shot":
        assert prepared.choice.noise == "exponential"


@pytest.mark.parametrize("epsilon", [0.7, 5.0, 7.0, 10.0])
@pytest.mark.parametrize("method", ["moments", "pcls"])
def test_parts_of_a_plan_never_exceed_the_whole(epsilon, method):
    """Not by a float's rounding either."""
    plan = method_of(
        "run",
        epsilon=epsilon,
        screen={"method": "sis", "n_features_to_select": 3},
        select={"method": method},
        fit={"family": "linear"},
    )
    prepared = plan.prepare(metadata("replace_one"), "y")
    assert guarantee_of(prepared.event, metadata().neighboring, prepared.delta).epsilon <= exact(epsilon, "epsilon")


def test_no_ledger_takes_a_score_whose_sensitivity_nobody_proved(tmp_path):
    """The workflow refuses it before anything is reserved or looked up."""
    columns = {f"x{j}": [0.5, -0.5] for j in range(3)} | {"y": [1.0, -1.0]}
    public = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "row", "neighboring": "add_or_remove_one", "columns": dict.fromkeys(columns, BOX)}
    )
    method = OwnScore.of(score_func=lambda X, y: X.T @ y, sensitivity=1.0, n_features_to_select=1)
    with Ledger(tmp_path / "l.sqlite") as book:
        book.grant("toy", 10.0)
        with pytest.raises(PolicyError, match="proved"):
            answer(method, dc.open_table(pd.DataFrame(columns), public), "y", ledger=book)
        assert [account.epsilon_spent for account in book.accounts()] == [0]


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_array])
def test_a_stored_cell_counts_once_whatever_the_matrix_says_of_itself(kind):
    """Indices changed behind scipy's back do not let one row count twice."""
    X = kind(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]]))
    assert X.has_canonical_format
    X.indices[1] = X.indices[0]
    public = metadata(features={**BOX, "count": 3})
    table = SparseTable(X, [1.0, 1.0, 1.0], public)
    scores = table.products(ScoreDesign.plan(public, "y", table.feature_names("y")))
    dense = np.clip(X.toarray(), -1, 1).T @ np.ones(3) * 32767**2
    np.testing.assert_array_equal(scores, dense)


def test_a_long_table_of_nobody_has_no_rows():
    """It is a neighbor of a table of one person, and ends as that does."""
    layout = {"row": "who", "feature": "what", "value": "how much"}
    public = metadata(layout=layout)
    values = pd.DataFrame({"who": [1, 2], "what": [0, 1], "how much": [0.5, 0.5]})
    for people in (0, 1):
        targets = pd.DataFrame({"who": np.arange(people), "y": np.zeros(people)})
        table = LongTable(FrameTable(values, public), FrameTable(targets, public), public)
        assert sum(batch.num_rows for batch in table.batches(("1", "y"))) == people
