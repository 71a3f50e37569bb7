"""The face of scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import discreet as dc
from discreet.data.public_records import PublicRecords
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError
from discreet.simulation import choice
from tests.effort import either

pytestmark = [pytest.mark.statistics, pytest.mark.filterwarnings("ignore:No features were selected")]

N = 4000
METADATA = dc.Metadata.from_value(
    {
        "dataset": "wages",
        "unit": "person",
        "neighboring": "replace_one",
        "n_rows": N,
        "columns": {
            "age": {"type": "integer", "lower": 18, "upper": 78, "source": "law"},
            "sector": {"type": "category", "levels": ["a", "b", "c"], "source": "questionnaire"},
            "noise": {"type": "real", "lower": -1, "upper": 1, "source": "design"},
            "wage": {"type": "real", "lower": 0, "upper": 100, "source": "design"},
        },
    }
)


@pytest.fixture(scope="module")
def frame():
    """Wages that depend on age and sector, not on noise."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    age, sector = rng.integers(18, 79, N), rng.choice(["a", "b", "c"], N)
    wage = 50 + 0.6 * (age - 48) + np.where(sector == "a", 15.0, -5.0)
    return pd.DataFrame({"age": age, "sector": sector, "noise": rng.uniform(-1, 1, N), "wage": wage})


UNSEEN_TARGET = {
    "check_supervised_y_no_nan": "cells of y are not looked at before the rows are read, and none can raise an error",
    "check_classifiers_classes": "the classes are 0 and 1: they are not read off the rows",
    "check_classifiers_train": "as above: its classes are 0, 1 and 2",
    "check_classifiers_one_label": "of 20 rows with one label the noise makes any other",
    "check_classifiers_regression_target": "cells of y are not looked at",
}
"""What scikit-learn expects of estimators that may look at y."""


class _Twin:
    """Public records for whatever table a check has: an effect of its first column."""

    def _records(self, metadata, target, names):
        rng = np.random.default_rng(3)  # noqa: TID251 - simulated data, not noise
        X = rng.uniform(-1, 1, (300, len(names)))
        columns = dict(zip(names, X.T, strict=True)) | {target: 0.5 * X[:, 0] + rng.uniform(-0.5, 0.5, 300)}
        return PublicRecords(pa.table(columns), metadata)


class HybridEstimator(_Twin, dc.HybridEstimator):
    """With public records."""

    def __init__(self, public="twin", *, epsilon=1.0, random_state=None, metadata=None):
        super().__init__(public, epsilon=epsilon, random_state=random_state, metadata=metadata)


class PublicSubset(_Twin, dc.PublicSubset):
    """With public records."""

    def __init__(self, public="twin", *, epsilon=1.0, random_state=None, metadata=None):
        super().__init__(public, epsilon=epsilon, random_state=random_state, metadata=metadata)


CHECKED = [
    *(dc.PCLS(), dc.PCPL(), dc.NoisyMoments(), dc.LinearRegression(), dc.LogisticRegression()),
    *(dc.AutoSelection(), dc.DecorrelatedScores()),
    *(dc.DPSIS(n_features_to_select=1), dc.TwoStage(n_features_to_select=1)),  # some checks have two columns
    *(HybridEstimator(), PublicSubset(), dc.PerturbedHistogram()),
]


@pytest.mark.parametrize("estimator", CHECKED, ids=lambda estimator: type(estimator).__name__)
def test_check_estimator(estimator, monkeypatch):
    """Scikit-learn's own checks pass; it sets a seed where it wants the same twice."""
    scenarios, n_scenarios = choice._scenarios, either(1, None)  # a choice in each of 60 fits
    monkeypatch.setattr(choice, "ROUNDS", either(((6, 2), (6, 1)), choice.ROUNDS))
    monkeypatch.setattr(choice, "_scenarios", lambda *given: scenarios(*given)[:n_scenarios])
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = [r["check_name"] for r in results if r["status"] == "failed" and r["check_name"] not in UNSEEN_TARGET]
    assert failed == []
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


def test_selects_from_a_frame_with_a_category(frame):
    """A category is one feature in and one feature out; names and container are kept."""
    selector = dc.PCLS(epsilon=200.0, l1_radius=60.0, model_penalty=3000.0, metadata=METADATA)
    selector.fit(frame[["age", "sector", "noise"]], frame["wage"])
    assert selector.get_feature_names_out().tolist() == ["age", "sector"]
    assert selector.get_support().tolist() == [True, True, False]
    assert selector.release_.selected == ("age", "sector")
    kept = selector.set_output(transform="pandas").transform(frame[["age", "sector", "noise"]])
    pd.testing.assert_frame_equal(kept, frame[["age", "sector"]])


def test_profile_likelihood_selects_from_a_frame(frame):
    """The same face: clear effects of one candidate list, the sum of squares as a step."""
    rng = np.random.default_rng(1)  # noqa: TID251 - simulated data, not noise
    wage = frame["wage"] + 8 * rng.standard_normal(N)
    models = [["age", "sector"], ["noise"]]
    selector = dc.PCPL(epsilon=400.0, l1_radius=60.0, models=models)
    selector.fit(dc.open_table((frame[["age", "sector", "noise"]], wage), METADATA), target="wage")
    assert selector.get_feature_names_out().tolist() == ["age", "sector"]
    steps = {step.name: step.value for step in selector.release_.steps}
    assert list(steps) == ["y_center", "residual_sum_of_squares", "sigma2", "selection"]
    assert selector.release_.guarantee.epsilon == 400.0
    assert 0 < selector.release_.guarantee.delta < 1e-5
    assert 100 * selector.release_.noise.scale < N  # against a difference of thousands: chance has no say


@pytest.mark.parametrize("selector", [dc.PCLS, dc.PCPL])
def test_parts_can_be_bought_through_the_face(frame, selector):
    """A clip and a radius asked for by the word, with shares; clone keeps them."""
    asked = {"y_bound": "private", "l1_radius": "private", "shares": {"l1_radius": 0.3}, "y_quantile": 0.9}
    table = dc.open_table(frame, METADATA)
    fitted = clone(selector(epsilon=100.0, **asked)).fit(table, target="wage", candidates=["age", "noise"])
    prices = {step.name: step.event.get("epsilon") for step in fitted.release_.steps}
    assert (prices["y_center"], prices["y_bound"], prices["l1_radius"]) == (3.0, 3.0, 30.0)
    assert fitted.release_.guarantee.epsilon == 100.0
    assert 0 < next(step.value for step in fitted.release_.steps if step.name == "y_bound") <= 50.0


def test_a_table_and_a_polars_frame_are_taken_alike(frame):
    """The same candidates whether rows come as a table, a pandas or a polars frame."""
    table = dc.open_table(pl.from_pandas(frame), METADATA)
    by_table = dc.PCLS(epsilon=200.0, l1_radius=60.0, model_penalty=3000.0).fit(table, target="wage")
    by_frame = dc.PCLS(epsilon=200.0, l1_radius=60.0, model_penalty=3000.0, metadata=METADATA).fit(
        pl.from_pandas(frame[["age", "sector", "noise"]]), frame["wage"].to_numpy(), target="wage"
    )
    assert by_table.get_feature_names_out().tolist() == by_frame.get_feature_names_out().tolist() == ["age", "sector"]
    assert by_table.n_features_in_ == 3


def test_array_columns_are_those_of_the_metadata(frame):
    """An array has no names: its columns are the declared ones in order, the target left out."""
    numeric = METADATA.to_dict()
    del numeric["columns"]["sector"]
    selector = dc.PCLS(epsilon=200.0, l1_radius=60.0, model_penalty=3000.0, metadata=dc.Metadata.from_value(numeric))
    selector.fit(frame[["age", "noise"]].to_numpy(), frame["wage"].to_numpy(), target="wage")
    assert selector.release_.selected == ("age",)
    with pytest.raises(MetadataError, match="declare 2 columns"):
        selector.fit(frame[["age"]].to_numpy(), frame["wage"].to_numpy(), target="wage")


def test_works_in_a_pipeline_and_under_a_search(frame):
    """Parameters pass through clone, pipelines and searches."""
    X, y = frame[["age", "noise"]] / 100, frame["wage"] / 100
    pipeline = make_pipeline(dc.PCLS(epsilon=200.0, l1_radius=1.0), LinearRegression())
    search = GridSearchCV(
        pipeline, {"pcls__max_size": [1, 2], "pcls__forced": [(), ("x0",)]}, cv=2, error_score="raise"
    )
    search.fit(X.to_numpy(), y.to_numpy())
    assert set(search.best_params_) == {"pcls__max_size", "pcls__forced"}
    params = dc.PCLS(epsilon=0.3, groups=(("a", "b"),)).get_params()
    assert clone(dc.PCLS(**params)).get_params() == params


def test_a_seed_is_for_simulation_alone(frame, tmp_path):
    """A seeded fit repeats itself, carries no guarantee, and is refused where a data set has a cap."""
    X = np.zeros((50, 8))
    seeded = [dc.PCLS(epsilon=0.1, random_state=3).fit(X, X[:, 0]).release_ for _ in range(2)]
    assert seeded[0].selected == seeded[1].selected
    assert (seeded[0].private, seeded[0].guarantee, seeded[0].provenance.randomness) == (False, None, "seeded")
    with dc.Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("wages", 1.0)
        with pytest.raises(dc.errors.PolicyError):
            dc.PCLS(random_state=3).fit(dc.open_table(frame, METADATA), target="wage", ledger=ledger)
    with pytest.raises(InvalidParameterError, match="random_state"):
        dc.PCLS(random_state=-1).fit(X, X[:, 0])


def test_every_fit_draws_anew():
    """Without a seed and with no effect at all, repeated fits differ."""
    X = np.zeros((50, 8))
    seen = {dc.PCLS(epsilon=0.1, model_penalty=0.0).fit(X, X[:, 0]).release_.selected for _ in range(12)}
    assert len(seen) > 5


def test_charges_a_ledger_when_given_one(frame, tmp_path):
    """With a ledger the budget is reserved first, and refused at the cap; nothing is fitted then."""
    table, path = dc.open_table(frame, METADATA), tmp_path / "ledger.sqlite"
    with dc.Ledger(path) as ledger:
        ledger.grant("wages", 1.0)
    selector = dc.PCLS(epsilon=0.6).fit(table, target="wage", ledger=path)
    assert selector.release_.provenance.ledger.epsilon_spent == 0.6
    again = dc.PCLS(epsilon=0.6)
    with pytest.raises(dc.errors.BudgetExceededError) as refused:
        again.fit(table, target="wage", ledger=path)
    assert float(refused.value.remaining) == pytest.approx(0.4)
    assert not hasattr(again, "release_")


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"mechanism": "gaussian"}, "mechanism"),
        ({"l1_radius": -1}, "l1_radius"),
        ({"model_penalty": "cp"}, "model_penalty"),
        ({"max_size": -1}, "max_size"),
        ({"forced": ["nobody"]}, "forced"),
        ({"delta": 1.0}, "delta"),
    ],
)
def test_parameters_are_refused_at_fit(parameters, named):
    """The constructor stores anything; fit refuses by name."""
    X = np.zeros((10, 2))
    with pytest.raises(InvalidParameterError, match=named):
        dc.PCLS(**parameters).fit(X, X[:, 0])


def test_table_arguments_are_refused(frame):
    """A table needs a target and no y; X and y take no candidates; a frame must have the declared rows."""
    table = dc.open_table(frame, METADATA)
    with pytest.raises(InvalidParameterError, match="target=NAME"):
        dc.PCLS().fit(table)
    with pytest.raises(InvalidParameterError, match="candidates"):
        dc.PCLS().fit(np.zeros((5, 2)), np.zeros(5), candidates=["x0"])
    with pytest.raises(DataMismatchError, match="n_rows"):
        dc.PCLS().fit(dc.open_table(frame.head(10), METADATA), target="wage")


def test_as_published_is_marked_and_never_charged(frame, tmp_path):
    """The paper's algorithm gives no guarantee, and a data set with a cap is out of its reach."""
    X, y = frame[["age", "noise"]].to_numpy() / 100, frame["wage"].to_numpy()
    release = dc.PCLS(as_published=True).fit(X, y).release_
    assert (release.private, release.guarantee, release.event) == (False, None, None)
    with dc.Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("wages", 1.0)
        with pytest.raises(dc.errors.PolicyError, match="study"):
            dc.PCLS(as_published=True, y_center=50).fit(dc.open_table(frame, METADATA), target="wage", ledger=ledger)
        assert ledger.account("wages").epsilon_spent == 0
