"""An answer that is a single coefficient has the interval that the fit prints, whatever the fit was."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from answer_tables import ESTIMATORS
from scipy.special import expit

import discreet as dc
from discreet.data.engines.frame import FrameTable
from discreet.errors import InvalidParameterError
from discreet.methods.answers.fit_answers import FitAnswers
from discreet.release import Release

COLUMNS = {
    "dose": {"type": "real", "lower": -3, "upper": 1, "source": "design"},
    "site": {"type": "category", "levels": ["a", "b", "c"], "reference": "c", "source": "design"},
    "months": {"type": "real", "lower": 0.5, "upper": 4, "source": "design"},
    "product": {"derived": "dose * is(site, 'a')"},
}
TARGETS = {
    "linear": {"type": "real", "lower": -8, "upper": 8, "source": "design"},
    "logistic": {"type": "integer", "lower": 0, "upper": 1, "source": "design"},
    "poisson": {"type": "integer", "lower": 0, "upper": 15, "source": "design"},
}


ENDS = {"linear": (-8.0, 8.0), "logistic": (0.0, 1.0), "poisson": (0.0, 15.0)}


def table(family, n, role=None):
    """Rows; the reference level is rare, so that another one is the most frequent."""
    rng = np.random.default_rng(7)  # noqa: TID251 - simulated data, not noise
    dose, site = rng.uniform(-3, 1, n), rng.choice(["a", "b", "c"], n, p=[0.3, 0.55, 0.15])
    months, person = rng.uniform(0.5, 4, n), np.arange(n) // 3
    eta = 0.2 + 0.3 * dose + 0.5 * (site == "b") - 0.2 * dose * (site == "a")
    eta = eta + {"offset": months, "exposure": np.log(months)}.get(role, 0.0)
    draw = {
        "linear": lambda: np.clip(eta + rng.normal(size=n), -8, 8),
        "logistic": lambda: (rng.random(n) < expit(eta)).astype(int),
        "poisson": lambda: np.minimum(rng.poisson(np.exp(eta)), 15),
    }
    return pd.DataFrame({"dose": dose, "site": site, "months": months, "person": person, "y": draw[family]()})


def fit(family, n=2000, person=False, **options):
    """Fit it; the number of rows is public where each is a unit."""
    role = next((role for role in ("offset", "exposure", "weights") if role in options), None)
    frame = table(family, n, role)
    unit = {"unit_id": "person", "rows_per_unit": 3} if person else {"n_rows": n}
    value = {
        "dataset": "toy",
        "unit": "person",
        "neighboring": "add_or_remove_one" if person else "replace_one",
        **unit,
    }
    metadata = dc.Metadata.from_value(value | {"columns": {**COLUMNS, "y": TARGETS[family]}})
    model = ESTIMATORS[family](**({"epsilon": 4.0, "delta": 1e-6, "random_state": 3} | options))
    return model.fit(FrameTable(frame, metadata), target="y", candidates=["dose", "site", "product"]), frame


@cache
def fitted(family, options):
    """A model and its table, made once."""
    return fit(family, **dict(options))


def released(family, options):
    """A release, as it is read from its file."""
    return Release.from_json(fitted(family, options)[0].release_.to_json())


CASES = [
    ("linear", {}),
    ("linear", {"person": True}),
    ("linear", {"epsilon": 0.3, "n": 400}),
    ("linear", {"robust": False}),
    ("linear", {"delta": 0.0}),
    ("linear", {"row_norm": 1.5}),
    ("linear", {"fit_intercept": False}),
    ("linear", {"offset": "months"}),
    ("linear", {"weights": "months"}),
    ("linear", {"y_bound": "private"}),
    ("linear", {"y_bound": 2.0, "count_clipped": True}),
    ("logistic", {}),
    ("logistic", {"person": True}),
    ("logistic", {"robust": False}),
    ("logistic", {"delta": 0.0}),
    ("logistic", {"offset": "months"}),
    ("logistic", {"weights": "months"}),
    ("logistic", {"epsilon": 0.2}),
    ("poisson", {}),
    ("poisson", {"robust": False}),
    ("poisson", {"delta": 0.0}),
    ("poisson", {"exposure": "months"}),
    ("poisson", {"offset": "months", "confidence": 0.8}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "options"), CASES, ids=[f"{family} {options}" for family, options in CASES])
def test_one_coefficient_has_the_interval_that_is_printed(family, options):
    """A joint region of one coefficient is its interval, the linear predictor of zeros that of the intercept."""
    release = released(family, tuple(options.items()))
    answers = FitAnswers(release)
    role = release.fit.offset or release.fit.exposure
    zeros = {"dose": 0.0, "site": "c"} | ({role: float(release.fit.offset is None)} if role else {})
    for term in release.fit.coefficients:
        if term.column is None:
            told = answers.predict(zeros).linear_predictor
        else:
            region = answers.joint_region(term.name)
            told = region.intervals[term.name]
            inside = term.interval[0] <= 0.0 <= term.interval[1]
            assert region.zero.zero_inside is (None if region.zero.distance is None else inside)
        assert told.estimate == pytest.approx(term.estimate, rel=1e-9, abs=1e-12)
        assert told.ends == pytest.approx(term.interval, rel=1e-9, abs=1e-12)


WITH_CONSTANT = [case for case in CASES if "fit_intercept" not in case[1]]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "options"), WITH_CONSTANT, ids=map(str, WITH_CONSTANT))
def test_predictions_are_those_of_the_model(family, options):
    """Of rows with offsets and with columns that derived ones are made of."""
    model, frame = fitted(family, tuple(options.items()))
    rows = frame.iloc[:5].assign(product=frame["dose"] * (frame["site"] == "a"))
    expected = model.predict_proba(rows)[:, 1] if family == "logistic" else model.predict(rows)
    told = model.predict_interval(rows)
    expected = np.clip(np.clip(expected, *ENDS[family]), told[:, 1], told[:, 2])  # a shrunken one, into its interval
    np.testing.assert_allclose(told[:, 0], expected, rtol=1e-6, atol=1e-9)
    assert ((told[:, 1] <= told[:, 0]) & (told[:, 0] <= told[:, 2])).all()


def test_a_model_without_a_constant_goes_through_the_middle_of_its_columns():
    """Where the target is at its center, and every row of the model is zero."""
    answers = FitAnswers(released("linear", (("fit_intercept", False),)))
    terms = {term.name: term.estimate for term in answers.release.fit.coefficients}
    told = answers.predict({"dose": -1.0, "site": "b"}).mean  # the product's middle is -1, and here it is 0
    assert told.estimate == pytest.approx(terms["site=b"] + terms["product"])


# ---- offsets


def test_an_exposure_is_1_unless_it_is_told():
    """The mean goes with it, and the answer says where it is."""
    answers = FitAnswers(released("poisson", (("exposure", "months"),)))
    at = {"dose": 0.5, "site": "b"}
    once, twice = answers.predict(at), answers.predict(at | {"months": 2.0})
    assert (once.values["months"], twice.values["months"]) == (1.0, 2.0)
    assert twice.mean.estimate == pytest.approx(2.0 * once.mean.estimate)
    assert twice.mean.ends == pytest.approx(tuple(2.0 * end for end in once.mean.ends))
    for wrong in (0.0, -1.0, np.nan, np.inf, "long"):
        with pytest.raises(InvalidParameterError, match="months must be a positive number"):
            answers.predict(at | {"months": wrong})


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_an_offset_is_0_unless_it_is_told(family):
    """It moves the linear predictor by as much."""
    answers = FitAnswers(released(family, (("offset", "months"),)))
    at = {"dose": 0.5, "site": "b"}
    none, some = answers.predict(at).linear_predictor, answers.predict(at | {"months": -0.7}).linear_predictor
    assert answers.predict(at).values["months"] == 0.0
    assert some.ends == pytest.approx(tuple(end - 0.7 for end in none.ends))


# ---- derived columns


def test_a_derived_column_follows_from_those_that_it_is_made_of():
    """Its value is computed; one that does not follow is refused, and effects move it too."""
    answers = FitAnswers(released("linear", ()))
    assert answers.columns == ("dose", "site")
    at = {"dose": -2.0, "site": "a"}
    assert answers.predict(at).mean == answers.predict(at | {"product": -2.0}).mean
    with pytest.raises(InvalidParameterError, match="computed from dose, site and would be -2"):
        answers.predict(at | {"product": 1.0})
    with pytest.raises(InvalidParameterError, match="'product' is not one"):
        answers.marginal_effects({"product": 1.0})
    terms = {term.name: term.estimate for term in answers.release.fit.coefficients}
    effects = {(one.column, one.end): one.change for one in answers.marginal_effects({"dose": 0.0, "site": "a"})}
    assert effects["dose", 1.0].estimate == pytest.approx(terms["dose"] + terms["product"])
    assert effects["site", "c"].estimate == pytest.approx(-terms["site=a"])


def test_an_older_release_asks_for_the_derived_column_itself():
    """It does not say what it is made of."""
    release = released("linear", ())
    public = tuple(column.model_copy(update={"derived": None}) for column in release.public if column.role != "source")
    answers = FitAnswers(release.model_copy(update={"public": public}))
    assert answers.columns == ("dose", "site", "product")
    at = {"dose": -2.0, "site": "a"}
    assert answers.predict(at | {"product": -2.0}).mean == FitAnswers(release).predict(at).mean


# ---- what is open


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_a_level_without_rows_leaves_others_as_they_are(family):
    """Its own predictions lack an end; those of other levels, and of the middle of a column, are as sharp as before.

    Both ends are missing as a rule. Noise alone rules out far values on one side in one release of five, which any one
    value meets in one of twenty at most.
    """
    frame = table(family, 3000).query("site != 'a'").reset_index(drop=True)
    columns = {name: COLUMNS[name] for name in ("dose", "site")} | {"y": TARGETS[family]}
    metadata = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": len(frame), "columns": columns}
    )
    model = ESTIMATORS[family](epsilon=8.0, delta=1e-6, random_state=1)
    release = model.fit(FrameTable(frame, metadata), target="y", candidates=["dose", "site"]).release_
    answers = FitAnswers(release)
    empty = next(term for term in release.fit.coefficients if term.name == "site=a")
    assert np.isinf(empty.interval).any()
    assert empty.interval[0] < -8.0 or empty.interval[1] > 8.0  # a whole half range of the target away
    own = answers.predict({"dose": -1.0, "site": "a"}).linear_predictor
    assert (own.low is None, own.high is None) == (empty.low is None, empty.high is None)
    for site in "bc":
        told = answers.predict({"dose": -1.0, "site": site}).linear_predictor
        assert told.high - told.low < 2.0


def test_a_reference_without_rows_hides_no_prediction_of_another_level():
    """A linear model is computed against a frequent level, whatever others are compared with."""
    frame = table("linear", 3000).query("site != 'c'").reset_index(drop=True)
    columns = {name: COLUMNS[name] for name in ("dose", "site")} | {"y": TARGETS["linear"]}
    metadata = dc.Metadata.from_value(
        {"dataset": "toy", "unit": "person", "neighboring": "replace_one", "n_rows": len(frame), "columns": columns}
    )
    model = dc.LinearRegression(epsilon=8.0, delta=1e-6, random_state=1)
    release = model.fit(FrameTable(frame, metadata), target="y", candidates=["dose", "site"]).release_
    told = FitAnswers(release).predict({"dose": -1.0, "site": "b"}).linear_predictor
    assert all(term.uninformative for term in release.fit.coefficients if term.column == "site")
    assert told.high - told.low < 1.0
