"""Private rows alone: what a grid with hardly any noise makes of them."""

import numpy as np
import pyarrow as pa
import pytest
from hybrid_problems import design_matrix, estimates
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import discreet as dc
from discreet.errors import InvalidParameterError, MetadataError
from discreet.mechanisms.rng import Source
from discreet.methods.public_records.histogram import Histogram
from discreet.workflow.request import answer

N = 4000


def problem(kind, neighboring="replace_one"):
    """Whole numbers and a category: every row is a cell's middle."""
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    a, b, g = rng.integers(0, 5, N), rng.integers(-1, 2, N), rng.choice(["u", "v", "w"], N)
    eta = 0.4 * (a - 2) - 0.5 * b + 0.7 * (g == "w")
    upper = 1 if kind == "logistic" else 12
    if kind == "logistic":
        y = (rng.uniform(size=N) < 1 / (1 + np.exp(-eta))).astype(int)
    else:
        y = np.minimum(rng.poisson(np.exp(0.4 + 0.4 * eta)), 12)
    whole = {
        name: {"type": "integer", "lower": low, "upper": high, "source": "design"}
        for name, low, high in (("a", 0, 4), ("b", -1, 1), ("y", 0, upper))
    }
    columns = whole | {"g": {"type": "category", "levels": ["u", "v", "w"], "source": "design"}}
    size = {"n_rows": N} if neighboring == "replace_one" else {}
    own = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": neighboring, "columns": columns} | size
    )
    return dc.open_table(pa.table({"a": a, "g": g, "b": b, "y": y}), own), own


def released(table, **parameters):
    """A cell a value."""
    method = Histogram.of(**{"epsilon": 1000.0, "bins": 20} | parameters)
    return answer(method, table, "y", ["a", "g", "b"], rng=Source.seeded(0)).release


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("contrast", ["linear", "logistic", "poisson", "mean", "median"])
def test_estimates_are_those_of_other_software(contrast, constant, neighboring):
    """On the rows themselves."""
    table, _ = problem("logistic" if contrast == "logistic" else "poisson", neighboring)
    release = released(table, contrast=contrast, fit_intercept=constant)
    rows = next(iter(table.batches(["a", "g", "b", "y"])))
    X, y = design_matrix(rows, constant), np.asarray(rows["y"], dtype=float)
    if contrast == "linear":
        expected = np.linalg.lstsq(X, y, rcond=None)[0]
    elif contrast == "logistic":
        model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=5000)
        expected = model.fit(X, y).coef_.ravel()
    elif contrast == "poisson":
        expected = PoissonRegressor(alpha=0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(X, y).coef_
    else:
        expected = [y.mean() if contrast == "mean" else np.median(y)]
    np.testing.assert_allclose(estimates(release), expected, rtol=2e-3, atol=2e-3)
    assert release.request["parameters"]["n_cells"] == 5 * 3 * 3 * (2 if contrast == "logistic" else 13)


@pytest.mark.parametrize("neighboring", ["replace_one", "add_or_remove_one"])
def test_one_event_of_epsilon(neighboring):
    """Noise of two rows where one is replaced; of one where it comes or goes."""
    table, own = problem("logistic", neighboring)
    release = answer(Histogram.of(epsilon=0.5), table, "y").release
    assert release.guarantee.epsilon == 0.5
    assert release.noise.scale == (4.0 if neighboring == "replace_one" else 2.0)
    assert release.hybrid.points is None
    assert dc.Release.from_json(release.to_json()) == release
    assert Histogram.of(epsilon=0.5).prepare(own, "y").parameters["contrast"] == "logistic"


def test_columns_are_bounded():
    """The grid is laid without any data."""
    table, own = problem("logistic")
    bare = own.to_dict()
    bare["columns"]["a"] = {"type": "integer", "source": "design"}
    with pytest.raises(MetadataError, match="'a'"):
        Histogram.of().prepare(dc.Metadata.from_value(bare), "y")
    with pytest.raises(InvalidParameterError, match="bins"):
        Histogram.of(bins=0)
    with pytest.raises(InvalidParameterError, match="two values"):
        released(problem("poisson")[0], contrast="logistic")
    assert released(table, bins=1, contrast="linear").request["parameters"]["n_cells"] == 3
