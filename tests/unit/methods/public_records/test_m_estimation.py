"""Estimates in the columns' own units are those of independent software on the private rows."""

import numpy as np
import pyarrow as pa
import pytest
from hybrid_problems import N, design_matrix, estimates, problem
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import discreet as dc
from discreet.data.public_records import PublicRecords
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.methods.public_records.hybrid import HybridEstimate
from discreet.workflow.request import answer

PRECISE = {"epsilon": 1000.0, "n_points": "all"}


def released(table, public, **parameters):
    """With counts that hardly ever have noise."""
    method = HybridEstimate.of(public=public, **PRECISE | parameters)
    return answer(method, table, "y", rng=Source.seeded(0)).release


def frame_of(table):
    """The rows that a test's table holds."""
    return next(iter(table.batches(["a", "g", "b", "y"])))


def by_scipy(loss, X):
    """The minimum of a smooth loss's mean."""
    start = np.zeros(X.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-11})
    return found.x


def huber(X, y, delta):
    """Mean Huber loss and its gradient."""

    def loss(theta):
        r = X @ theta - y
        slope = np.clip(r, -delta, delta)
        return (slope * (r - slope / 2)).mean(), X.T @ slope / len(y)

    return loss


@pytest.mark.slow
@pytest.mark.parametrize("constant", [True, False], ids=["constant", "no constant"])
@pytest.mark.parametrize("contrast", ["linear", "huber", "logistic", "poisson"])
def test_regressions_are_those_of_other_software(contrast, constant):
    """Categories included; without a constant the columns' own zeros are kept."""
    table, _, public = problem(contrast)
    release = released(table, public, contrast=contrast, fit_intercept=constant, huber_delta=1.5)
    rows = frame_of(table)
    X, y = design_matrix(rows, constant), np.asarray(rows["y"], dtype=float)
    if contrast == "linear":
        expected = np.linalg.lstsq(X, y, rcond=None)[0]
    elif contrast == "huber":
        scale = np.abs(X).max(axis=0)
        expected = by_scipy(huber(X / scale, y, 1.5), X) / scale
    elif contrast == "logistic":
        model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=5000)
        expected = model.fit(X, y).coef_.ravel()
    else:
        expected = PoissonRegressor(alpha=0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(X, y).coef_
    names = [term.name for term in release.fit.coefficients]
    assert names == ["(intercept)"] * constant + ["a", "g=v", "g=w", "b"]
    np.testing.assert_allclose(estimates(release), expected, rtol=2e-3, atol=2e-3)
    assert release.fit.family == contrast
    assert release.hybrid.points.measure == "counts"
    assert sum(release.hybrid.points.weights) == pytest.approx(N)


@pytest.mark.parametrize(
    ("contrast", "expected"),
    [("mean", np.mean), ("median", np.median), ("quantile", lambda y: np.quantile(y, 0.8, method="inverted_cdf"))],
)
def test_locations_are_those_of_numpy(contrast, expected):
    """Of the target alone, in its unit."""
    table, _, public = problem("location")
    release = released(table, public, contrast=contrast, quantile=0.8)
    y = np.asarray(frame_of(table)["y"])
    np.testing.assert_allclose(estimates(release), [expected(y)], atol=2e-3)
    assert release.fit.coefficients[0].name == "y"
    assert ("quantile" in release.request["parameters"]) == (contrast == "quantile")


def test_public_records_alone_are_fitted_as_they_are():
    """Each record once, copies included: free, and untouched by the private rows."""
    table, _, public = problem("linear")
    release = released(table, public, contrast="linear")
    frame = public.table._frame.to_native()
    expected = np.linalg.lstsq(design_matrix(frame, True), np.asarray(frame["y"]), rcond=None)[0]
    found = [term.estimate for term in release.hybrid.public_only.coefficients]
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("ridge", [0.03, 1.0])
def test_a_ridge_counts_in_public_standard_deviations(ridge):
    """And holds no constant: closed form."""
    table, _, public = problem("linear")
    release = released(table, public, contrast="linear", ridge=ridge)
    rows = frame_of(table)
    X, y = design_matrix(rows, False), np.asarray(rows["y"])
    sd = design_matrix(public.table._frame.to_native(), False).std(axis=0)
    centered = X - X.mean(axis=0)
    slopes = np.linalg.solve(centered.T @ centered / N + ridge * np.diag(sd**2), centered.T @ (y - y.mean()) / N)
    np.testing.assert_allclose(estimates(release)[1:], slopes, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(estimates(release)[0], y.mean() - X.mean(axis=0) @ slopes, rtol=1e-3)


def test_the_default_residual_of_huber_is_a_tenth_of_the_range():
    """Of the public records."""
    table, _, public = problem("huber")
    y = np.asarray(public.table._frame.to_native()["y"])
    tenth = (y.max() - y.min()) / 10
    one, other = (released(table, public, contrast="huber", huber_delta=delta) for delta in (None, tenth))
    np.testing.assert_allclose(estimates(one), estimates(other), rtol=1e-6)


def test_auto_asks_the_public_records():
    """A target of two values is logistic, any other linear; the release says which."""
    for kind, expected in (("logistic", "logistic"), ("linear", "linear")):
        table, _, public = problem(kind)
        release = released(table, public)
        assert (release.fit.family, release.request["parameters"]["contrast"]) == (expected, expected)


def test_a_target_that_does_not_fit_is_refused():
    """Before anything is spent."""
    table, _, public = problem("linear")
    with pytest.raises(InvalidParameterError, match="two values"):
        released(table, public, contrast="logistic")
    table, _, public = problem("linear")
    with pytest.raises(InvalidParameterError, match="sums of the target times columns"):
        released(table, public, contrast="mean", measure="margins", n_points="auto")


class HalfSquares:
    """Least squares, as a contrast of one's own."""

    def n_parameters(self, n_features):
        """With a constant."""
        return n_features + 1

    def value_and_gradient(self, theta, X, y):
        """Of each point."""
        design = np.column_stack([np.ones(len(X)), X])
        r = design @ theta - y
        return r * r / 2, r[:, None] * design


def test_a_contrast_of_ones_own_sees_own_units():
    """Columns as the regression's, the target as it is."""
    table, _, public = problem("linear")
    own = released(table, public, contrast=HalfSquares())
    named = released(table, public, contrast="linear")
    np.testing.assert_allclose(estimates(own), estimates(named), rtol=1e-3, atol=1e-3)
    assert [term.name for term in own.fit.coefficients][:2] == ["theta[0]", "theta[1]"]


@pytest.mark.parametrize(("x", "y"), [(1e-300, 1e90), (1e90, 1e-300), (1e90, 1e90)])
def test_units_may_be_as_far_apart_as_floats_are(x, y):
    """Coefficients are finite, whatever the columns' units: an error now would come after the charge."""
    real = {"type": "real", "source": "design"}
    own = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": 50}
        | {"columns": {"x": real, "y": real}}
    )
    rng = np.random.default_rng(0)  # noqa: TID251 - simulated data, not noise
    public = PublicRecords(pa.table({"x": x * rng.choice([0, 1, 2], 50), "y": y * rng.choice([-1, 0, 1], 50)}), own)
    private = dc.open_table(public.table._frame.to_native(), own)
    for constant in (True, False):
        method = HybridEstimate.of(public=public, fit_intercept=constant, measure="counts")
        release = answer(method, private, "y", rng=Source.seeded(0)).release
        assert np.isfinite(estimates(release)).all()
        assert dc.Release.from_json(release.to_json()) == release


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"contrast": "probit"}, "contrast"),
        ({"contrast": 3}, "contrast"),
        ({"quantile": 1.0}, "quantile"),
        ({"huber_delta": 0.0}, "huber_delta"),
        ({"ridge": -1.0}, "ridge"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"n_points": 1}, "n_points"),
        ({"measure": "sums"}, "measure"),
        ({"twins": 1000}, "twins"),
        ({"public": "records.csv"}, "public"),
    ],
)
def test_parameters_are_refused_by_name(parameters, named):
    """As soon as a method is made."""
    _, _, public = problem("linear")
    with pytest.raises(InvalidParameterError, match=named):
        HybridEstimate.of(**{"public": public} | parameters)
