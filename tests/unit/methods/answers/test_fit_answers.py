"""Answers from released fits: against other software, against simulation, and from files that lie."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from answer_tables import AGE, LEVELS, SITES, exact, fitted, released, rows, truth
from scipy.special import chdtri, expit
from scipy.stats import binom
from scipy.stats import f as f_law
from tests.effort import either

import discreet as dc
from discreet.errors import InvalidParameterError, VerificationError
from discreet.methods.answers.fit_answers import FitAnswers
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.regression.score_answers import with_answers
from discreet.release import Release

GLM = ("logistic", "poisson")
INVERSE = {"logistic": expit, "poisson": np.exp}
FAMILIES = {"logistic": sm.families.Binomial, "poisson": sm.families.Poisson}


def design(age, site):
    """A constant, age, and the levels but the first."""
    site = np.atleast_1d(site)
    ages = np.broadcast_to(np.asarray(age, dtype=float), len(site))
    return np.column_stack([np.ones(len(site)), ages, *(site == one for one in LEVELS[1:])])


@pytest.fixture(scope="module")
def noiseless():
    """A linear release whose moments have no noise, and its table."""
    frame = rows("linear", 800, 5)
    moments = exact(frame)
    release = released("linear").model_copy(
        update={"moments": moments, "fit": MomentAnswers(moments).fit(("age", "site"))}
    )
    return release, frame


def test_without_noise_the_joint_region_is_that_of_the_f_test(noiseless):
    """Distance over its degrees of freedom is F, and the limit is its quantile."""
    release, frame = noiseless
    whole = sm.OLS(frame["y"], design(frame["age"], frame["site"])).fit()
    parts = {"site": sm.OLS(frame["y"], design(frame["age"], frame["site"])[:, :2]).fit()}
    parts["age"] = sm.OLS(frame["y"], design(frame["age"], frame["site"])[:, [0, 2, 3, 4]]).fit()
    for name, part in parts.items():
        statistic, _, degrees = whole.compare_f_test(part)
        zero = FitAnswers(release).joint_region(name).zero
        assert zero.distance / zero.degrees_of_freedom == pytest.approx(statistic, rel=1e-4)
        assert zero.degrees_of_freedom == degrees
        assert zero.limit / degrees == pytest.approx(f_law.ppf(0.95, degrees, whole.df_resid), rel=1e-6)
        assert zero.zero_inside is bool(statistic <= zero.limit / degrees)
    both = FitAnswers(release).joint_region(["age", "site"]).zero
    assert both.distance / 4 == pytest.approx(whole.fvalue, rel=1e-4)
    assert release.fit.joint == (FitAnswers(release).joint_region("site").zero,)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_without_noise_intervals_of_predictions_are_the_textbooks(noiseless, level):
    """For the mean, at any level."""
    release, frame = noiseless
    whole = sm.OLS(frame["y"], design(frame["age"], frame["site"])).fit()
    for age, site in ((20, "a"), (47.5, "d"), (80, "c")):
        told = FitAnswers(release).predict({"age": age, "site": site}, level)
        expected = whole.get_prediction(design(age, site)).summary_frame(alpha=1 - level)
        assert told.mean.estimate == pytest.approx(expected["mean"][0], abs=1e-5)
        assert told.mean.ends == pytest.approx((expected["mean_ci_lower"][0], expected["mean_ci_upper"][0]), abs=1e-4)
        assert told.mean == told.linear_predictor


@pytest.mark.parametrize("family", GLM)
def test_with_hardly_any_noise_answers_are_those_of_maximum_likelihood(family):
    """Means with their intervals, the factor's statistic and changes of the mean."""
    frame = rows(family, 20_000, 3, {level: effect / 6 for level, effect in SITES.items()})
    answers = FitAnswers(fitted(family, frame, 1000.0).release_)
    other = sm.GLM(frame["y"], design(frame["age"], frame["site"]), family=FAMILIES[family]()).fit()
    for age, site in ((30, "a"), (50, "d"), (75, "b")):
        told = answers.predict({"age": age, "site": site})
        expected = other.get_prediction(design(age, site)).summary_frame()
        width = expected["mean_ci_upper"][0] - expected["mean_ci_lower"][0]
        assert told.mean.estimate == pytest.approx(expected["mean"][0], abs=0.1 * width)
        ends = expected["mean_ci_lower"][0], expected["mean_ci_upper"][0]
        assert told.mean.ends == pytest.approx(ends, abs=0.12 * width)
    wald = other.wald_test(np.eye(5)[2:], scalar=True).statistic
    assert answers.joint_region("site").zero.distance == pytest.approx(wald, rel=0.12)
    assert 3.0 < wald < 100.0
    changes = {(one.column, one.end): one for one in answers.marginal_effects({"age": 40, "site": "b"})}
    at = [design(40, "b"), design(41, "b"), design(40, "d")]
    start, older, elsewhere = (INVERSE[family](row @ other.params)[0] for row in at)
    for key, expected in ((("age", 41.0), older - start), (("site", "d"), elsewhere - start)):
        found = changes[key].change
        assert found.estimate == pytest.approx(expected, abs=0.05 * (found.high - found.low))
    assert all(one.change.low < one.change.estimate < one.change.high for one in changes.values())


@pytest.mark.parametrize("family", GLM)
def test_a_combination_that_is_a_coefficient_has_its_interval(family):
    """The score in the release is that of the fit, within what the search for an end leaves open."""
    release = Release.from_json(released(family).to_json())
    assert release == released(family)
    region = FitAnswers(release).joint_region("age")
    term = next(one for one in release.fit.coefficients if one.name == "age")
    width = term.high - term.low
    assert region.intervals["age"].ends == pytest.approx((term.low, term.high), abs=0.02 * width)
    assert region.intervals["age"].estimate == pytest.approx(term.estimate, rel=1e-9)


# ---- how often they hold

SAMPLE_SIZE, P_THRESHOLD = either(24, 100), 0.004
"""Tables; of a false alarm, for each of the answers."""


def tables(family, count, epsilon, n=2000):
    """Releases of as many tables where the category has no effect."""
    alike = dict.fromkeys(LEVELS, 0.0)
    return (fitted(family, rows(family, n, 100 + seed, alike), epsilon, seed).release_ for seed in range(count))


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("family", "epsilon", "count"),
    [("linear", 1.0, SAMPLE_SIZE), ("logistic", 1.0, SAMPLE_SIZE), ("poisson", 2.0, SAMPLE_SIZE)],
)
def test_answers_hold_as_often_as_they_say(family, epsilon, count):
    """As often as 95% makes likely: more misses than that have a chance of `P_THRESHOLD`."""
    eta, mean = float(truth(65.0, "b", dict.fromkeys(LEVELS, 0.0))[0]), INVERSE.get(family, float)
    ruled_out, beside, off = 0, 0, 0
    for place, release in enumerate(tables(family, count, epsilon)):
        ruled_out += release.fit.joint[0].zero_inside is False
        if place % 2 == 0:
            answers = FitAnswers(release)
            low, high = answers.predict({"age": 65.0, "site": "b"}).mean.ends
            beside += not low <= mean(eta) <= high
        if place % 2 == 0 and family in GLM:
            low, high = answers.marginal_effects({"age": 65.0})[0].change.ends
            off += not low <= mean(eta + AGE) - mean(eta) <= high
    assert ruled_out <= binom.isf(P_THRESHOLD, count, 0.05)
    assert max(beside, off) <= binom.isf(P_THRESHOLD, count // 2, 0.05)


def without_noise(fit):
    """What a fit would tell that denies its noise."""
    nothing = {name: tuple((0.0,) * len(row) for row in getattr(fit.score, name)) for name in ("noise", "slope_noise")}
    return with_answers(fit, fit.score.model_copy(update=nothing)).joint[0]


@pytest.mark.statistics
def test_answers_that_deny_the_noise_are_found_out():
    """The control: so few tables do tell a region that is too small."""
    ruled_out = sum(without_noise(release.fit).zero_inside is False for release in tables("logistic", 24, 0.4))
    assert ruled_out > binom.isf(P_THRESHOLD, 24, 0.05) + 3


# ---- what cannot be told


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_where_noise_hides_everything_nothing_is_told(family):
    """Open ends stay open on the scale of the response; zero is not ruled out."""
    release = fitted(family, rows(family, 300, 2), 0.02).release_
    answers = FitAnswers(release)
    told = answers.predict({"age": 21, "site": "d"})
    assert told.mean.is_uninformative
    assert told.mean.ends == (-math.inf, math.inf)
    region = answers.joint_region("site")
    assert region.zero.zero_inside is not False
    assert any(interval.is_uninformative for interval in region.intervals.values())
    if family in GLM:
        assert any(one.change.is_uninformative for one in answers.marginal_effects())


def test_an_open_coefficient_leaves_open_what_it_is_part_of():
    """And nothing else: a level without rows is one of which nothing is known."""
    frame = rows("logistic", 3000, 4)
    frame = frame[frame["site"] != "d"].reset_index(drop=True)
    release = fitted("logistic", frame, 8.0).release_
    term = next(one for one in release.fit.coefficients if one.name == "site=d")
    answers = FitAnswers(release)
    empty, full = (answers.predict({"age": 50, "site": site}).linear_predictor for site in "da")
    assert term.low is None
    assert empty.low is None
    assert None not in (full.low, full.high)


# ---- what is asked wrongly


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"age": 50}, "site has none"),
        ({"age": 50, "site": "z"}, "one of its levels"),
        ({"age": 81, "site": "a"}, "within its bounds 20 to 80"),
        ({"age": math.nan, "site": "a"}, "within its bounds"),
        ({"age": None, "site": "a"}, "within its bounds"),
        ({"age": "many", "site": "a"}, "within its bounds"),
        ({"age": 10**400, "site": "a"}, "within its bounds"),
        ({"age": 50, "site": "a", "shoe": 3}, "'shoe' is not one"),
    ],
)
@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_values_that_are_not_declared_are_refused_by_name(family, values, words):
    """In one line."""
    with pytest.raises(InvalidParameterError, match=words):
        FitAnswers(released(family)).predict(values)


def test_what_a_fit_cannot_answer_is_refused():
    """With what to do instead."""
    answers = FitAnswers(released("linear"))
    with pytest.raises(InvalidParameterError, match="its coefficients"):
        answers.marginal_effects()
    for columns in (["shoe"], [], "shoe"):
        with pytest.raises(InvalidParameterError, match="columns of the model"):
            answers.joint_region(columns)
    for level in (0.0, 1.0, -1.0, math.nan, "much", True):
        with pytest.raises(InvalidParameterError, match="confidence"):
            answers.predict({"age": 50, "site": "a"}, level)


def test_rows_of_less_weight_are_predicted_like_others():
    """Rows longer than row_norm weigh less, and the line is the same."""
    frame = rows("linear", 4000, 1)
    answers = FitAnswers(fitted("linear", frame, 100.0, row_norm=1.2).release_)
    for age, site in ((50, "a"), (80, "d")):
        low, high = answers.predict({"age": age, "site": site}).mean.ends
        assert low < truth(age, site) < high
        assert high - low < 1.0


# ---- older and hostile files


def changed(release, change):
    """A release's file with its value changed by hand."""
    value = json.loads(release.to_json())
    change(value)
    return json.dumps(value)


def test_an_older_release_is_read_and_says_what_to_do():
    """It has the same text as before, and answers nothing."""
    text = changed(released("logistic"), lambda value: [value["fit"].pop(name) for name in ("score", "joint")])
    older = Release.from_json(text)
    assert json.loads(older.to_json()) == json.loads(text)
    with pytest.raises(InvalidParameterError, match=r"earlier version .* Only a new fit"):
        FitAnswers(older).predict({"age": 50, "site": "a"})


def test_a_fit_without_intervals_says_what_to_do():
    """Pure privacy of a logistic fit."""
    model = fitted("logistic", rows("logistic", 400, 1), 1.0)
    pure = dc.LogisticRegression(epsilon=1.0, delta=0, random_state=0, metadata=model.metadata)
    frame = rows("logistic", 400, 1)
    release = pure.fit(frame[["age", "site"]], frame["y"]).release_
    if release.fit.score is None:
        with pytest.raises(InvalidParameterError, match="with a delta"):
            FitAnswers(release).predict({"age": 50, "site": "a"})


def score(**fields):
    """A change of the score."""
    return lambda value: value["fit"]["score"].update(fields)


HOSTILE_SCORES = {
    "short": score(coef=[0.0]),
    "ragged": score(spread=[[1.0]] * 5),
    "nan": score(mismatch=math.nan),
    "infinite": score(n_rows=math.inf),
    "huge": score(constant=[1e300] * 5),
    "large": score(constant=[1e99] * 5),
    "large noise": score(noise=[[1e99] * (5 - j) for j in range(5)]),
    "singular": score(
        **{name: [[0.0] * (5 - j) for j in range(5)] for name in ("sampling", "noise", "spread", "rest")}
    ),
    "negative": score(sampling=[[-1e9] * (5 - j) for j in range(5)]),
    "no range": score(response_high=0.0),
    "no width": score(half_widths=[0.0] * 5),
    "tiny width": score(half_widths=[1e-300] * 5),
    "far": score(coef=[1e99] * 5),
    "text": score(point="here"),
    "bound": score(coef_bound=0.0),
    "an offset without its column": score(fixed=[1.0]),
    "another law": score(law="cauchy"),
    "the law without a delta": score(law="spherical_laplace", is_smooth=True),
    "nothing told": score(is_told=False),
    "ragged reliability": lambda value: value["fit"]["score"]["reliability"].update(sizes=[1.0]),
    "negative reliability": lambda value: value["fit"]["score"]["reliability"].update(
        errors=[[-1e9] * (5 - j) for j in range(5)], total=[[0.0] * (5 - j) for j in range(5)]
    ),
    "offset": lambda value: value["fit"].update(exposure="months"),
    "formula": lambda value: value["public"][0].update(derived="age +"),
    "formula of a level": lambda value: value["public"][0].update(derived="site + 1"),
    "other terms": lambda value: value["fit"]["coefficients"].pop(),
    "no levels": lambda value: [column.update(levels=None) for column in value["public"]],
    "no public": lambda value: value.update(public=[]),
}


def moments(**fields):
    """A change of the moments."""
    return lambda value: value["moments"].update(fields)


def whitened(**fields):
    """A change of the second pass."""
    return lambda value: value["moments"]["whitened"].update(fields)


HOSTILE_MOMENTS = {
    "second pass, short": whitened(start=[0.0]),
    "second pass, ragged": whitened(gram=[[1]]),
    "second pass, singular": whitened(matrix=[[0.0] * 5] * 5),
    "second pass, of other columns": whitened(places=[0, 1, 99]),
    "second pass, no scores": whitened(scores=[[0] * 5] * 5),
    "second pass, negative scores": whitened(scores=[[-(2**60)] * 5] * 5),
    "second pass, huge": whitened(start=[1e300] * 5),
    "short": moments(gram=[[1]]),
    "ragged": moments(gram=[[1] * 6] * 5 + [[1]]),
    "empty": moments(labels=[]),
    "singular": moments(gram=[[0] * 6] * 6),
    "negative": moments(gram=[[-(2**70) if i == j else 0 for i in range(6)] for j in range(6)]),
    "huge": moments(gram_variance=[[1e300] * 6] * 6),
    "nan": moments(centers=[math.nan] * 6),
    "no grid": moments(grid=0),
    "other labels": moments(labels=["u", "v", "w", "x", "y", "z"]),
    "no owners": moments(owners=[None] * 6),
    "no bound": lambda value: value["request"]["parameters"].update(coef_bound="wide"),
    "no parameters": lambda value: value["request"].update(parameters=3),
}


def finite(numbers):
    """Whether intervals are in order and made of numbers."""
    return all(
        math.isfinite(one.estimate) and not any(map(math.isnan, one.ends)) and one.ends[0] <= one.ends[1]
        for one in numbers
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "change"),
    [*(("logistic", one) for one in HOSTILE_SCORES.values()), *(("poisson", one) for one in HOSTILE_SCORES.values())]
    + [("linear", one) for one in HOSTILE_MOMENTS.values()],
    ids=[*(f"{family}, {name}" for family in GLM for name in HOSTILE_SCORES), *HOSTILE_MOMENTS],
)
def test_a_release_that_was_changed_ends_in_numbers_or_one_line(family, change):
    """Never in another error, and never in what is no number."""
    text, lines = changed(released(family), change), []
    for ask in (
        lambda answers: [answers.predict({"age": 33, "site": "b"}).mean],
        lambda answers: answers.joint_region("site").intervals.values(),
        lambda answers: [one.change for one in answers.marginal_effects()],
    ):
        try:
            assert finite(ask(FitAnswers(Release.from_json(text))))
        except (InvalidParameterError, VerificationError) as error:
            lines.append(str(error))
    assert not any("\n" in line for line in lines)


# ---- faces


def test_fitted_estimators_answer():
    """Rows as in `predict`; an end that cannot be told is infinite."""
    frame = rows("logistic", 3000, 1)
    model = fitted("logistic", frame, 8.0)
    ask = pd.DataFrame({"age": [30.0, 60.0], "site": ["a", "b"]})
    told = model.predict_interval(ask, 0.9)
    answers = FitAnswers(model.release_)
    assert told.shape == (2, 3)
    assert told[:, 0] == pytest.approx(model.predict_proba(ask)[:, 1])
    assert told[1, 1:] == pytest.approx(answers.predict({"age": 60, "site": "b"}, 0.9).mean.ends)
    assert model.joint_region("site") == answers.joint_region("site")
    assert model.marginal_effects({"age": 30}) == answers.marginal_effects({"age": 30})
    with pytest.raises(InvalidParameterError, match="within its bounds"):
        model.predict_interval(pd.DataFrame({"age": [300.0], "site": ["a"]}))
    assert not hasattr(dc.LinearRegression(), "marginal_effects")


def test_intervals_of_a_factor_hold_together():
    """Each is wider than its own; at a low level Scheffe's are shorter than Bonferroni's."""
    answers = FitAnswers(released("logistic"))
    for term in answers.release.fit.coefficients:
        if term.column == "site":
            low, high = answers.joint_region("site").intervals[term.name].ends
            assert low < term.low < term.high < high
    wide = answers.joint_region("site", 0.1)
    assert chdtri(3, 0.9) < wide.zero.limit < 1.05 * chdtri(3, 0.9)  # the variance is estimated, by many units
    assert finite(wide.intervals.values())
    assert set(SITES) == set(LEVELS)
