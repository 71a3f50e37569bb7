"""The face of scikit-learn for the methods that screen: frames, sparse matrices, tables, pipelines."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

import discreet as dc
from discreet.errors import InvalidParameterError

N, D = 3000, 20
NAMES = [f"gene_{i}" for i in range(D)]
BOX = {"type": "real", "lower": -2, "upper": 2, "source": "design"}
VALUE = {"dataset": "genes", "unit": "person", "neighboring": "replace_one", "n_rows": N}
METADATA = dc.Metadata.from_value({**VALUE, "columns": {**dict.fromkeys(NAMES, BOX), "dose": BOX}})
FAMILY = dc.Metadata.from_value({**VALUE, "columns": {"dose": BOX}, "features": {**BOX, "match": "gene_*"}})
SCREENERS = [dc.DPSIS, dc.TwoStage]


@pytest.fixture(scope="module")
def frame():
    """Two genes of twenty make the dose."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    cells = rng.uniform(-2, 2, (N, D))
    dose = 0.5 * cells[:, 4] - 0.4 * cells[:, 13] + 0.1 * rng.standard_normal(N)
    return pd.DataFrame(cells, columns=NAMES).assign(dose=np.clip(dose, -2, 2))


def screener(kind, **more):
    return kind(epsilon=30.0, n_features_to_select=2, **more)


@pytest.mark.parametrize("kind", SCREENERS)
@pytest.mark.parametrize("container", ["pandas", "polars", "array", "csr", "csc"])
def test_takes_every_container(frame, kind, container):
    """The same two columns, and transform takes what fit took."""
    X, y = frame[NAMES], frame["dose"].to_numpy()
    given = {
        "pandas": X,
        "polars": pl.from_pandas(X),
        "array": X.to_numpy(),
        "csr": sp.csr_matrix(X.to_numpy()),
        "csc": sp.csc_array(X.to_numpy()),
    }[container]
    fitted = clone(screener(kind, metadata=METADATA)).fit(given, y, target="dose")
    assert fitted.get_support(indices=True).tolist() == [4, 13]
    assert fitted.release_.selected == ("gene_4", "gene_13")
    assert fitted.n_features_in_ == D
    if container != "polars":
        assert fitted.transform(given).shape == (N, 2)


@pytest.mark.parametrize("kind", SCREENERS)
@pytest.mark.parametrize("metadata", [METADATA, FAMILY], ids=["listed", "family"])
def test_takes_a_table_whose_header_names_the_features(frame, kind, metadata):
    """Listed or declared at once; names are the header's."""
    fitted = screener(kind).fit(dc.open_table(frame, metadata), target="dose")
    assert fitted.get_feature_names_out().tolist() == ["gene_4", "gene_13"]
    assert fitted.feature_names_in_.tolist() == NAMES
    some = screener(kind).fit(dc.open_table(frame, metadata), target="dose", candidates=NAMES[3:8])
    assert some.n_features_in_ == 5
    assert "gene_4" in some.release_.selected


def test_a_pipeline_screens_then_selects_from_what_is_left(frame):
    """Frames keep names from step to step; but what is left was chosen by the rows, so nothing is promised of it."""
    pipeline = Pipeline(
        [
            ("screen", dc.DPSIS(30.0, n_features_to_select=5, metadata=METADATA)),
            ("select", dc.PCLS(30.0, l1_radius=4.0, metadata=METADATA)),
            ("fit", LinearRegression()),
        ]
    ).set_output(transform="pandas")
    pipeline.fit(frame[NAMES], frame["dose"])
    screened, selected = pipeline["screen"].release_, pipeline["select"].release_
    assert {"gene_4", "gene_13"} <= set(screened.selected)
    assert tuple(selected.request["candidates"]) == screened.selected
    assert {"gene_4", "gene_13"} <= set(selected.selected) <= set(screened.selected)
    assert [(release.private, release.guarantee) for release in (screened, selected)] == [(False, None)] * 2
    assert pipeline.predict(frame[NAMES][:5]).shape == (5,)


def test_a_classifiers_target_is_coded(frame):
    """Two levels need nothing; one against the rest of three is named."""
    levels = ["low", "middle", "high"]
    dose = np.array(levels)[np.digitize(frame["dose"], [-0.4, 0.4])]
    given = dc.Metadata.from_value(
        {**METADATA.to_dict(), "columns": {**dict.fromkeys(NAMES, BOX), "dose": {"type": "category", "levels": levels}}}
    )
    fitted = screener(dc.DPSIS, level="high", metadata=given).fit(frame[NAMES], dose, target="dose")
    assert fitted.release_.selected == ("gene_4", "gene_13")
    codes = {"low": -1, "middle": 0, "high": 1}
    fitted = screener(dc.TwoStage, codes=codes, metadata=given).fit(frame[NAMES], dose, target="dose")
    assert fitted.release_.selected == ("gene_4", "gene_13")


def test_a_million_columns_leave_a_small_release():
    """Beyond a thousand names the release holds their number and digest."""
    rng = np.random.default_rng(2)  # noqa: TID251 - simulated data, not noise
    n, d = 200, 100_000
    X = sp.random_array((n, d), density=0.001, format="csc", rng=rng)
    y = np.sign(rng.standard_normal(n))
    X = sp.hstack([X, sp.csc_array(y[:, None])]).tocsr()
    fitted = dc.DPSIS(20.0, n_features_to_select=1).fit(X, y)
    release = fitted.release_
    assert release.selected == (f"x{d}",)
    assert release.request["candidates"]["count"] == d + 1 == len(fitted.get_support())
    assert len(release.to_json()) < 6000
    assert f"1 of {d + 1} candidate columns" in " ".join(dc.render(release, "text").split())
    assert fitted.transform(X).shape == (n, 1)


@pytest.mark.parametrize("kind", SCREENERS)
def test_a_plan_charges_a_ledger_once(frame, kind, tmp_path):
    """One entry, one charge."""
    with dc.Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.grant("genes", 1.0)
        fitted = kind(0.75, n_features_to_select=3).fit(dc.open_table(frame, FAMILY), target="dose", ledger=ledger)
        assert fitted.release_.provenance.ledger.epsilon_spent == 0.75
        with pytest.raises(dc.errors.BudgetExceededError):
            kind(0.75).fit(dc.open_table(frame, FAMILY), target="dose", ledger=ledger)


@pytest.mark.parametrize("kind", SCREENERS)
def test_as_many_as_there_are_is_refused(kind):
    """Nothing needs to be spent for all of them."""
    X = np.zeros((50, 5))
    with pytest.raises(InvalidParameterError, match="nothing needs to be spent"):
        kind().fit(X, X[:, 0])
