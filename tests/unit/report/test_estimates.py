"""Coefficients and models by size in short texts."""

import math

import pytest
from report_fits import coefficient, derived, make_fit, make_moments, make_run, moments, regression

from discreet.release import ClippedRecord
from discreet.release.moments import WhitenedRecord
from discreet.report import clip_words, estimates, request_facts


def line(release, name):
    """Return the line of a coefficient."""
    return next(one for one in estimates.fit(release).coefficients if one.name == name)


def test_a_coefficient_is_told_with_its_parts(samples):
    """The estimate, its interval, what either kind of noise alone would make, and privacy's share of the variance."""
    one = line(samples["linear"], "site: fitchburg")
    assert (one.estimate, one.interval, one.share) == ("0.34", "0.09 to 0.59", "75%")
    assert float(one.by_sampling) ** 2 + float(one.by_privacy) ** 2 == pytest.approx(0.248**2, rel=0.05)


def test_the_reference_level_is_the_one_left_out(samples):
    """Levels are compared with the only one that has no coefficient."""
    assert estimates.fit(samples["linear"]).references == (("site", "dayton"),)


@pytest.mark.parametrize(("family", "word"), [("logistic", "Odds ratio"), ("poisson", "Rate ratio")])
def test_ratios_are_the_estimates_exponentials(family, word):
    """With the ends of the interval, and none for the intercept."""
    release = make_fit(family)
    assert estimates.fit(release).ratio == word
    one = line(release, "lncoins")
    assert (one.ratio, one.ratio_interval) == ("0.922", "0.892 to 0.953")
    assert line(release, estimates.CONSTANT).ratio == ""


@pytest.mark.parametrize(
    ("estimate", "ends", "interval", "ratios"),
    [
        (3.1, (1.25, None), "above 1.2", "above 3.5"),
        (-2.2, (None, -0.75), "below -0.8", "below 0.47"),
        (0.4, (None, None), "uninformative", "uninformative"),
        (30.0, (20.0, None), "above 20", "over a million"),
        (0.0, (-20.0, None), "above -20", "from under 0.000001"),
        (-30.0, (None, -20.0), "below -20", "under 0.000001"),
        (0.0, (None, 20.0), "below 20", "up to over a million"),
    ],
)
def test_an_open_end_is_told_in_words(estimate, ends, interval, ratios):
    """Above or below the end that there is; and so is the ratio."""
    one = line(make_fit("logistic", coefficient("idp", estimate, ends=ends)), "idp")
    assert (one.interval, one.ratio_interval) == (interval, ratios)


def test_a_linear_regression_has_no_ratios(samples):
    """Its coefficients are differences."""
    assert estimates.fit(samples["linear"]).ratio is None
    assert line(samples["linear"], "age").ratio == ""


def test_ratios_beyond_reading_are_words():
    """No number of three hundred digits."""
    one = line(make_fit("poisson", coefficient("idp", 400.0, 100.0, 900.0)), "idp")
    assert one.ratio == "over a million"
    assert "over a million" in one.ratio_interval


def test_a_spread_that_is_no_float_sets_no_digits():
    """The product of a ratio and its spread can be beyond all floats, or none."""
    assert [estimates._decimals(spread) for spread in (math.inf, math.nan, 0.01)] == [0, 0, 3]


@pytest.mark.parametrize(
    ("family", "given", "empty"),
    [
        ("linear", {"estimate": 0.1, "privacy": 99.0, "ends": (None, None)}, True),
        ("linear", {"estimate": 1.0, "privacy": 100.0}, False),
        ("logistic", {"estimate": 0.1, "ends": (None, None)}, True),
        ("logistic", {"estimate": 0.1, "ends": (-4.0, 3.0)}, False),
        ("logistic", {"estimate": 0.1, "ends": (-4.0, None)}, False),
        ("poisson", {"estimate": 1.0, "privacy": 1.0, "ends": (-math.inf, math.inf)}, True),
    ],
)
def test_an_interval_without_ends_says_nothing(family, given, empty):
    """One with an end, or two, says something."""
    release = make_fit(family, coefficient("idp", **given), names=("lncoins", "site", "age", "idp"))
    assert line(release, "idp").is_empty is empty
    assert estimates.fit(release).n_empty == empty


@pytest.mark.parametrize(
    ("name", "estimate", "ratio"),
    [("age", "0.0131", "1.0132"), ("site: franklin", "-0.050", "0.9512"), ("noise", "-8.041", "0.0003219")],
)
def test_without_intervals_the_declared_range_sets_the_digits(samples, name, estimate, ratio):
    """Nothing is said of intervals, and none counts as empty."""
    fitted = estimates.fit(samples["no intervals"])
    assert (fitted.has_intervals, fitted.n_empty) == (False, 0)
    assert not samples["no intervals"].intervals_tell_nothing
    one = line(samples["no intervals"], name)
    assert (one.estimate, one.ratio) == (estimate, ratio)
    assert not any((one.interval, one.ratio_interval, one.by_sampling, one.by_privacy, one.share, one.is_empty))


def test_intervals_that_say_nothing_are_still_intervals(samples):
    """One interval without ends, or all of them where a variance is known."""
    assert estimates.fit(samples["logistic says nothing"]).has_intervals
    assert not samples["logistic says nothing"].intervals_tell_nothing  # other slopes have ends
    alone = coefficient("idp", 0.2, 0.01, 99.0, ends=(None, None))
    nothing = {"fit": regression(alone, family="logistic", has_usual=False)}
    assert samples["logistic says nothing"].model_copy(update=nothing).intervals_tell_nothing
    assert regression(alone, has_usual=False).has_intervals


def test_a_share_without_variance_is_unknown():
    """Nothing is divided by nothing."""
    release = make_fit("linear", coefficient("idp", 1.0, 0.0, 0.0))
    assert line(release, "idp").share == "unknown"


def test_a_coefficient_crosses_the_range_of_its_column(samples, build):
    """A number its declared range, a level of a category one."""
    public = {column.name: column for column in build().public}
    assert estimates.crossing(coefficient("age", 1.0), public["age"]) == 4.7
    assert estimates.crossing(coefficient("site", 1.0, level="franklin"), public["site"]) == 1.0
    assert estimates.crossing(coefficient("age", 1.0), None) == 1.0


def test_a_picture_holds_what_stands_out():
    """Beyond a page's rows, the coefficients closest to zero are left out, and the rest keep their order."""
    many = tuple(coefficient(f"x{place}", float(place)) for place in range(60))
    shown = estimates.drawn(regression(*many, has_usual=False))
    assert [one.name for one in shown] == [f"x{place}" for place in range(20, 60)]
    assert estimates.fit(make_fit("linear", *many)).n_undrawn == 24


def test_a_fit_of_what_moments_selected_comes_after_a_selection(samples):
    """In one release or computed from it; not when the columns are others."""
    assert request_facts.is_of_selection(make_run())
    assert not request_facts.is_of_selection(samples["run by half"])
    assert request_facts.is_by_half(samples["run by half"])
    assert not request_facts.is_of_selection(samples["run in parts"])
    assert request_facts.is_by_fission(samples["run in parts"])
    undivided = samples["run in parts"].moments.model_copy(update={"fission": None})
    assert request_facts.is_of_selection(samples["run in parts"].model_copy(update={"moments": undivided}))
    assert not request_facts.is_of_selection(samples["linear"])
    fitted = derived(make_moments(selected=("lncoins", "age", "site")), fit=regression(), method="linear")
    assert request_facts.is_of_selection(fitted)
    assert not request_facts.is_of_selection(samples["derived fit"])


@pytest.mark.parametrize(("scores", "is_told"), [(None, True), (((1.0,),), False)])
def test_linear_intervals_say_where_they_suppose_equal_variances(scores, is_told):
    """In one pass, and in two unless the second told a variance by units; never of another family."""
    release = make_moments()
    moments = release.moments.model_copy(update={"whitened": WhitenedRecord.model_construct(scores=scores)})
    two_passes = release.model_copy(update={"fit": regression(), "moments": moments})
    assert estimates.fit(release.model_copy(update={"fit": regression()})).has_equal_variances
    assert estimates.fit(two_passes).has_equal_variances is is_told
    assert not estimates.fit(make_fit("logistic")).has_equal_variances


@pytest.mark.parametrize(
    ("names", "changes", "is_told"),
    [
        (("lncoins", "age", "site", "idp"), {"constant": 0.5}, True),
        (("lncoins", "age", "site"), {"constant": 0.5}, False),
        (("lncoins", "age", "site", "idp"), {}, False),
        (("lncoins", "age", "site", "idp"), {"constant": 0.5, "sum_of_weights": 90.0}, False),
    ],
)
def test_a_part_of_the_columns_of_unit_rows_is_about_weighted_rows(names, changes, is_told):
    """Not a model of all of them, nor of plain rows, nor of those of which only long ones are shortened."""
    record = moments(names).model_copy(update=changes)
    release = make_moments().model_copy(update={"fit": regression(), "moments": record})
    assert estimates.fit(release).is_weighted_part is is_told


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(0.0, 0.0, "but no row (with a chance of 95%) has such a count."), (2.5, 7.2, "between 2 and 8 rows (with a")],
)
def test_counts_beyond_their_bound_are_told(low, high, told):
    """How many rows there are, and that there is none."""
    record = ClippedRecord(low=low, high=high, counted=True, stretch=0.0)
    assert told in clip_words.clipped(record, count_bound=20)


@pytest.mark.parametrize(
    ("high", "count_bound", "told"),
    [
        (980.3, None, "The target was clipped in at most 981 rows: slopes may be smaller"),
        (0.0, None, None),
        (980.3, 20, "Counts above 20 were clipped in at most 981 rows: if counts vary more than Poisson ones"),
    ],
)
def test_a_clipped_target_is_told_beside_the_numbers(high, count_bound, told):
    """Wherever slopes suffer, and what becomes of the intervals."""
    clip = ClippedRecord(low=0.0, high=high, counted=False, stretch=0.05)
    record = make_fit().fit.model_copy(update={"clipped": clip, "count_bound": count_bound})
    sentence = clip_words.clipped_in_brief(record)
    assert sentence is None if told is None else sentence.startswith(told)
