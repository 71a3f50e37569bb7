"""Public and private records together, through scikit-learn's face."""

import hashlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dc
from discreet.errors import (
    ComputationFailedError,
    DataMismatchError,
    InvalidParameterError,
    MetadataError,
    PolicyError,
)

N = 4000


def sample(seed, n, slopes, spread):
    """Normal columns and a response of two values, as in the simulation of Wang et al."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    X = rng.standard_normal((n, len(slopes))) * np.sqrt(spread)
    y = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-X @ np.array(slopes)))
    return pa.table({"a": X[:, 0], "b": X[:, 1], "y": y.astype(np.int64)})


PRIVATE = sample(1, N, [0.9, -0.6], [1.0, 1.0])
PUBLIC = sample(2, N, [0.2, 0.4], [0.5, 1.0])


def metadata(**more):
    """No bounds: the public records have ranges."""
    real = {"type": "real", "source": "design"}
    y = {"type": "integer", "lower": 0, "upper": 1, "source": "design"}
    return dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": N}
        | {"columns": {"a": real, "b": real, "y": y}}
        | more
    )


def matrix(table):
    """Features and target."""
    return np.column_stack([table["a"], table["b"]]), table["y"].to_numpy()


def chances(estimator, X):
    """Of a 1, by scikit-learn's coefficients."""
    return 1.0 / (1.0 + np.exp(-(X @ estimator.coef_.ravel() + estimator.intercept_)))


@pytest.mark.parametrize("kind", [dc.HybridEstimator, dc.PublicSubset])
@pytest.mark.parametrize("measure", ["counts", "margins"])
def test_private_rows_pull_public_records(kind, measure):
    """In the simulation the predictions come closer to the private fit than those of public records alone."""
    table = dc.open_table(PRIVATE, metadata())
    found = kind(PUBLIC, epsilon=1.0, measure=measure, random_state=0).fit(table, target="y")
    X, y = matrix(PRIVATE)
    best = chances(LogisticRegression(C=np.inf).fit(X, y), X)
    ours = np.sqrt(np.mean((found.predict(PRIVATE.to_pandas()[["a", "b"]]) - best) ** 2))
    free = 1.0 / (1.0 + np.exp(-(X @ found.public_only_coef_ + found.public_only_intercept_)))
    assert ours < 0.5 * np.sqrt(np.mean((free - best) ** 2))
    assert found.terms_ == ("a", "b")
    assert found.release_.fit.family == "logistic"
    assert found.feature_names_in_.tolist() == ["a", "b"]
    assert found.weighted_public_.num_rows == found.n_points_
    assert sum(found.weighted_public_["weight"].to_pylist()) == pytest.approx(N)


def test_the_weighted_table_gives_the_estimate_again():
    """Any software that takes weights finds the released coefficients."""
    table = dc.open_table(PRIVATE, metadata())
    found = dc.HybridEstimator(PUBLIC, random_state=0).fit(table, target="y")
    X, y = matrix(found.weighted_public_)
    weights = found.weighted_public_["weight"].to_numpy()
    again = LogisticRegression(C=np.inf, tol=1e-9, max_iter=1000).fit(X, y, sample_weight=weights)
    # Cells of the release are on a grid of 1 / 32767 of their range.
    np.testing.assert_allclose(found.coef_, again.coef_.ravel(), rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(found.intercept_, again.intercept_[0], rtol=2e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [pa.table, pl.DataFrame, pd.DataFrame], ids=["arrow", "polars", "pandas"])
def test_every_kind_of_public_records_is_taken_alike(tmp_path, frame):
    """A file, a frame and a pair of arrays give the same coefficients."""
    path = tmp_path / "public.csv"
    PUBLIC.to_pandas().to_csv(path, index=False)
    X, y = matrix(PRIVATE)
    own = metadata()
    sources = [path, str(path), frame(PUBLIC.to_pydict()), matrix(PUBLIC)]
    features = frame(PUBLIC.select(["b", "a"]).to_pydict())  # by names, not by places
    sources.append((features, PUBLIC["y"].to_pylist()))
    private = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    found = [
        dc.HybridEstimator(source, random_state=4, metadata=own).fit(private, y, target="y").coef_ for source in sources
    ]
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])


def test_arrays_without_metadata_lie_in_a_box_of_one():
    """The target of 0 and 1 is known by the public records; frames are taken by places, public ones by names."""
    X, y = matrix(PRIVATE)
    E, e = matrix(PUBLIC)
    by_array = dc.HybridEstimator((E / 4, e), epsilon=50.0, random_state=1).fit(X / 4, y)
    assert by_array.release_.fit.family == "logistic"
    assert not hasattr(by_array, "feature_names_in_")
    assert np.corrcoef(by_array.predict(X / 4), y)[0, 1] > 0.3
    assert by_array.score(X / 4, y) > 0.1
    names = ["left", "right"]
    frame, public = pd.DataFrame(X / 4, columns=names), pd.DataFrame(E / 4, columns=names)
    by_frame = dc.HybridEstimator((public[["right", "left"]], e), epsilon=50.0, random_state=1).fit(frame, y)
    np.testing.assert_array_equal(by_frame.coef_, by_array.coef_)
    assert by_frame.feature_names_in_.tolist() == names
    with pytest.raises(InvalidParameterError, match="must be a pair"):
        dc.HybridEstimator(public).fit(frame, y)
    with pytest.raises(DataMismatchError, match="lacks 'right'"):
        dc.HybridEstimator((public[["left"]], e)).fit(frame, y)


@pytest.mark.parametrize(
    ("contrast", "attribute", "expected"),
    [
        ("mean", "location_", lambda y: y.mean()),
        ("median", "location_", np.median),
        ("quantile", "location_", lambda y: np.quantile(y, 0.9, method="inverted_cdf")),
    ],
)
def test_locations(contrast, attribute, expected):
    """One number in the target's unit, and the same prediction for everybody."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    values = np.linspace(-1, 1, 41)
    private, public = rng.choice(values, 20_000, p=np.arange(1, 42) / 861), np.repeat(values, 5)
    X, E = rng.choice([0.0, 1.0], (20_000, 1)), np.tile([[0.0], [1.0]], (205, 1))
    found = dc.HybridEstimator(
        (E, np.tile(public, 2)), contrast=contrast, quantile=0.9, epsilon=100.0, n_points="all", random_state=0
    ).fit(X, private)
    assert getattr(found, attribute) == pytest.approx(expected(private), abs=1e-3)
    assert set(found.predict(E)) == {found.location_}
    assert found.public_only_location_ != found.location_
    assert not hasattr(found, "coef_")


class Cauchy:
    """A loss that outliers hardly move."""

    def n_parameters(self, n_features):
        """An intercept and slopes."""
        return n_features + 1

    def value_and_gradient(self, theta, X, y):
        """The logarithm of 1 + r^2."""
        design = np.column_stack([np.ones(len(X)), X])
        r = design @ theta - y
        return np.log1p(r * r), (2 * r / (1 + r * r))[:, None] * design


@pytest.mark.parametrize("kind", ["hybrid", "histogram"])
def test_a_contrast_of_ones_own(kind):
    """It gets points in the columns' own units; its parameters are released, and it predicts nothing."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    X = rng.choice(np.linspace(-1, 1, 9), (20_000, 1))
    y = 0.25 + 0.5 * X[:, 0]
    shared = {"contrast": Cauchy(), "epsilon": 100.0, "random_state": 0}
    public = (X[:2000], y[:2000] * rng.choice([1.0, 0.2], 2000))
    found = dc.HybridEstimator(public, n_points="all", **shared) if kind == "hybrid" else None
    found = (found or dc.PerturbedHistogram(bins=32, **shared)).fit(X, y)
    np.testing.assert_allclose(found.theta_, [0.25, 0.5], atol=1e-3 if kind == "hybrid" else 0.05)
    assert not hasattr(found, "coef_")
    assert found.release_.request["parameters"]["contrast"] == "Cauchy"
    assert dc.Release.from_json(found.release_.to_json()) == found.release_
    with pytest.raises(InvalidParameterError, match="theta_"):
        found.predict(X)
    again = found.set_params(contrast="linear").fit(X, y)
    assert not hasattr(again, "theta_")
    assert again.predict(X).shape == (20_000,)
    assert not any("theta" in name for name in vars(again))
    if kind == "hybrid":
        with pytest.raises(InvalidParameterError, match="no predictions to choose by"):
            dc.PublicSubset(public, contrast=Cauchy()).fit(X, y)


def test_a_wrong_contrast_is_an_error_of_its_own():
    """An object without a name is called by its class; what it returns is checked after the charge."""

    class Broken(Cauchy):
        def value_and_gradient(self, theta, X, y):
            values, gradients = super().value_and_gradient(theta, X, y)
            return values[:-1], gradients

    X = np.tile([[-1.0], [1.0], [0.5]], (50, 1))
    with pytest.raises((InvalidParameterError, ComputationFailedError)):
        dc.HybridEstimator((X, X[:, 0]), contrast=Broken()).fit(X, X[:, 0])
    with pytest.raises(InvalidParameterError, match="n_parameters and value_and_gradient"):
        dc.HybridEstimator((X, X[:, 0]), contrast=object()).fit(X, X[:, 0])


def test_categories_and_predictions_of_new_rows():
    """A level has a coefficient but the first; a table fitted predicts frames, cells clipped to the public range."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    own = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 6000}
        | {
            "columns": {
                "g": {"type": "category", "levels": ["u", "v", "w"], "source": "design"},
                "x": {"type": "integer", "source": "design"},
                "y": {"type": "real", "source": "design"},
            }
        }
    )

    def rows(n, effect):
        g, x = rng.choice(["u", "v", "w"], n), rng.integers(0, 11, n)
        return pa.table({"g": g, "x": x, "y": 10.0 + 2.0 * x + effect * (g == "w") - 3.0 * (g == "v")})

    shared, private = rows(400, 5.0), rows(6000, 5.0)
    public = pa.concat_tables([shared, rows(400, 0.0)])
    found = dc.HybridEstimator(public, epsilon=1000.0, n_points="all", random_state=0, metadata=own)
    found.fit(dc.open_table(private, own), target="y")
    assert found.terms_ == ("g=v", "g=w", "x")
    np.testing.assert_allclose(found.coef_, [-3.0, 5.0, 2.0], atol=0.01)
    assert abs(found.public_only_coef_[1] - 5.0) > 1.0
    new = pd.DataFrame({"g": ["u", "w", "v"], "x": [0, 10, 1000]})
    np.testing.assert_allclose(found.predict(new), [10.0, 35.0, 27.0], atol=0.05)


def test_records_with_missing_cells_are_left_out_and_counted():
    """Of the public table alone: a private row always counts."""
    broken = PUBLIC.to_pandas()
    broken.loc[:9, "a"] = np.nan
    table = dc.open_table(PRIVATE, metadata())
    found = dc.HybridEstimator(broken, random_state=0).fit(table, target="y")
    without = dc.HybridEstimator(broken.iloc[10:], random_state=0).fit(table, target="y")
    assert found.release_.hybrid.points.n_dropped == 10
    np.testing.assert_array_equal(found.coef_, without.coef_)


def test_what_is_wrong_with_the_public_records_is_said(tmp_path):
    """Before anything is spent."""
    table = dc.open_table(PRIVATE, metadata())
    for kind in (dc.HybridEstimator, dc.PublicSubset):
        with pytest.raises(InvalidParameterError, match="public=None"):
            kind().fit(table, target="y")
    with pytest.raises(DataMismatchError, match=r"public table.*b"):
        dc.HybridEstimator(PUBLIC.drop_columns(["b"])).fit(table, target="y")
    with pytest.raises(InvalidParameterError, match="pair"):
        dc.HybridEstimator(matrix(PUBLIC)[0]).fit(table, target="y")
    with pytest.raises(InvalidParameterError, match="3 parts"):
        dc.HybridEstimator((1, 2, 3)).fit(table, target="y")
    with pytest.raises(DataMismatchError, match="2 columns"):
        dc.HybridEstimator((np.zeros((5, 3)), np.zeros(5))).fit(table, target="y")
    with pytest.raises(ValueError, match="inconsistent"):
        dc.HybridEstimator((np.zeros((5, 2)), np.zeros(4))).fit(table, target="y")
    with pytest.raises(InvalidParameterError, match="pandas, polars or Arrow"):
        dc.HybridEstimator(3.5).fit(table, target="y")
    declared = metadata(public={"sha256": "0" * 64, "source": "a survey"})
    path = tmp_path / "public.parquet"
    PUBLIC.to_pandas().to_parquet(path)
    with pytest.raises(MetadataError, match="sha256"):
        dc.HybridEstimator(path).fit(dc.open_table(PRIVATE, declared), target="y")


@pytest.mark.slow
def test_a_ledger_takes_declared_public_files_alone(tmp_path):
    """A frame could be anything, and so could a file that nobody declared; the private file is not public."""
    path, private, ledger = (tmp_path / name for name in ("public.csv", "private.csv", "ledger.sqlite"))
    PUBLIC.to_pandas().to_csv(path, index=False)
    PRIVATE.to_pandas().to_csv(private, index=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    declared = metadata(public={"sha256": digest, "source": "a survey"})
    with dc.Ledger(ledger) as book:
        book.grant("toy", 2.0)
    for source, own in ((PUBLIC, declared), (path, metadata())):
        with pytest.raises(MetadataError, match="which file is public"):
            dc.HybridEstimator(source).fit(dc.open_table(private, own), target="y", ledger=ledger)
    with pytest.raises(PolicyError, match="must be two"):
        dc.HybridEstimator(private).fit(dc.open_table(private, metadata()), target="y")
    found = dc.HybridEstimator(path, epsilon=0.5).fit(dc.open_table(private, declared), target="y", ledger=ledger)
    assert found.release_.provenance.ledger.epsilon_spent == 0.5
    assert found.release_.guarantee.epsilon == 0.5
    again = dc.HybridEstimator(path, epsilon=0.5).fit(dc.open_table(private, declared), target="y", ledger=ledger)
    assert again.release_ == found.release_  # from the store, for free
    assert again.weighted_public_.equals(found.weighted_public_)


@pytest.fixture
def charged(tmp_path):
    """A public file, a private table that declares it, with bounds, and a ledger with a budget for it."""
    path, ledger = tmp_path / "public.csv", tmp_path / "ledger.sqlite"
    PUBLIC.to_pandas().to_csv(path, index=False)
    PRIVATE.to_pandas().to_csv(tmp_path / "private.csv", index=False)
    declared = metadata(public={"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "source": "a survey"})
    bounded = declared.to_dict()
    for name in ("a", "b"):
        bounded["columns"][name] |= {"lower": -4, "upper": 4}
    with dc.Ledger(ledger) as book:
        book.grant("toy", 2.0)
    return path, dc.open_table(tmp_path / "private.csv", dc.Metadata.from_value(bounded)), ledger


def spent(ledger):
    """Of the data set, and how many entries the ledger has of it."""
    with dc.Ledger(ledger) as book:
        return float(book.account("toy").epsilon_spent), len(book.history("toy"))


@pytest.mark.parametrize("kind", ["hybrid", "histogram"])
def test_a_ledger_takes_no_contrast_of_ones_own(charged, kind):
    """Nobody has read its code, which runs beside the rows; nothing is charged, and without a ledger it runs."""
    path, table, ledger = charged
    before = spent(ledger)
    made = dc.HybridEstimator(path) if kind == "hybrid" else dc.PerturbedHistogram(bins=4)
    made.set_params(contrast=Cauchy(), epsilon=0.5)
    with pytest.raises(PolicyError, match="contrast of your own is not checked"):
        made.fit(table, target="y", ledger=ledger)
    assert not hasattr(made, "release_")
    assert spent(ledger) == before
    assert before[0] == 0.0
    made.fit(table, target="y")
    assert made.release_.guarantee.epsilon == 0.5
    assert made.release_.provenance.ledger is None
    made.set_params(contrast="linear").fit(table, target="y", ledger=ledger)
    assert spent(ledger)[0] == 0.5


def test_shares_that_leave_nothing_cost_nothing(charged):
    """The error comes before the charge."""
    path, table, ledger = charged
    before = spent(ledger)
    for shares in ({"histogram": 0.9}, {"validation": 0.5, "histogram": 0.5}, {"counts": 0.2}):
        with pytest.raises(InvalidParameterError, match="shares must"):
            dc.PublicSubset(path, shares=shares).fit(table, target="y", ledger=ledger)
    assert spent(ledger) == before


@pytest.mark.parametrize("source", ["frame", "pair"])
def test_columns_of_a_table_go_by_its_own_names_in_every_fit(source):
    """Not by those that an earlier fit learned."""
    real, y = {"type": "real", "source": "design"}, metadata().to_dict()["columns"]["y"]
    renamed = metadata(columns={"b": real, "c": real, "y": y})
    private, public = (table.rename_columns(["b", "c", "y"]) for table in (PRIVATE, PUBLIC))
    both = PUBLIC.append_column("c", public["c"])
    given = both if source == "frame" else (both.select(["a", "b", "c"]), both["y"])
    shared = {"measure": "margins", "random_state": 0}
    expected = dc.HybridEstimator(given, **shared).fit(dc.open_table(private, renamed), target="y")
    found = dc.HybridEstimator(given, **shared).fit(dc.open_table(PRIVATE, metadata()), target="y")
    found.fit(dc.open_table(private, renamed), target="y")
    assert found.feature_names_in_.tolist() == ["b", "c"]
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert found.weighted_public_.equals(expected.weighted_public_)


def test_as_published_is_for_study():
    """No guarantee; the candidates are the sizes."""
    table = dc.open_table(PRIVATE.slice(0, 500), metadata(n_rows=500))
    public = PUBLIC.slice(0, 60)
    found = dc.PublicSubset(public, as_published=True, sizes=[10, 30]).fit(table, target="y")
    assert (found.release_.private, found.release_.guarantee) == (False, None)
    assert [one.n_points for one in found.candidates_] == [10, 30]
    assert found.n_points_ in (10, 30)


def test_parameters_pass_through_a_clone():
    """And are looked at in fit alone."""
    for kind in (dc.HybridEstimator, dc.PublicSubset, dc.PerturbedHistogram):
        made = kind(epsilon=0.3, contrast="huber", huber_delta=2.0, n0=50)
        assert clone(made).get_params() == made.get_params()
    contrast = clone(dc.HybridEstimator(matrix(PUBLIC), contrast=Cauchy()))
    assert isinstance(contrast.contrast, Cauchy)
    with pytest.raises(InvalidParameterError, match="contrast"):
        dc.PerturbedHistogram(contrast="probit").fit(np.zeros((5, 1)), np.zeros(5))


@pytest.mark.slow
def test_a_histogram_needs_no_public_records():
    """Linear and logistic, from declared bounds; too many columns are refused."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    X = rng.uniform(-1, 1, (20_000, 1))
    found = dc.PerturbedHistogram(epsilon=10.0, random_state=0).fit(X, 0.5 * X[:, 0])
    expected = LinearRegression().fit(X, 0.5 * X[:, 0])
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=0.05)
    bounded = metadata().to_dict()
    for name in ("a", "b"):
        bounded["columns"][name] |= {"lower": -4, "upper": 4}
    table = dc.open_table(PRIVATE, dc.Metadata.from_value(bounded))
    logistic = dc.PerturbedHistogram(epsilon=10.0, random_state=0).fit(table, target="y")
    assert logistic.release_.fit.family == "logistic"
    np.testing.assert_allclose(logistic.coef_, [0.9, -0.6], atol=0.2)
    with pytest.raises(InvalidParameterError, match="1,000,000 cells"):
        dc.PerturbedHistogram().fit(np.zeros((50, 30)), np.zeros(50))
