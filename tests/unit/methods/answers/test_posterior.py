"""How sure columns are, from releases: of moments in one pass and in two, of scored fits, and what has no answer."""

import numpy as np
import pytest
import statsmodels.api as sm
from answer_tables import exact, fitted, released, rows

from discreet.errors import InvalidParameterError
from discreet.release import Release
from discreet.workflow.derive import with_posterior

FAMILIES = ("linear", "logistic", "poisson")


def chances(record, prior="broad"):
    """By column."""
    told = next(entry for entry in record.priors if entry.prior == prior)
    return {entry.column: entry.chance for entry in told.columns}


@pytest.mark.parametrize("family", FAMILIES)
def test_columns_that_matter_are_sure_and_others_are_not(family):
    """Age and the sites have effects; a site that is no different has none."""
    record = released(family).posterior()
    assert record.family == family
    assert {entry.prior for entry in record.priors} == {"broad", "sparse"}
    assert chances(record)["age"] > 0.99
    flat = fitted(family, rows(family, 4000, 3, dict.fromkeys("abcd", 0.0)), 4.0).release_.posterior()
    assert chances(flat)["age"] > 0.99
    assert chances(flat)["site"] < 0.5
    assert chances(flat, "sparse")["site"] < chances(flat)["site"]


@pytest.mark.parametrize("family", FAMILIES)
def test_averaged_coefficients_are_those_of_the_fit_where_columns_are_sure(family):
    """In the columns' own units, within the fit's intervals."""
    release = released(family)
    averaged = {entry.name: entry for entry in release.posterior().priors[0].coefficients}
    term = next(term for term in release.fit.coefficients if term.column == "age")
    assert term.low < averaged["age"].estimate < term.high
    assert averaged["age"].low < averaged["age"].estimate < averaged["age"].high
    wide = {entry.name: entry for entry in release.posterior(0.99).priors[0].coefficients}
    assert wide["age"].low < averaged["age"].low
    assert wide["age"].high > averaged["age"].high


def test_two_passes_tell_more_than_the_first():
    """The second pass of a linear fit has less noise: what does not matter is less likely."""
    release = released("linear", 1.0)
    assert release.moments.whitened is not None
    first = release.model_copy(update={"moments": release.moments.model_copy(update={"whitened": None})})
    widths = [each.posterior().priors[0].coefficients[0] for each in (release, first)]
    assert widths[0].high - widths[0].low < widths[1].high - widths[1].low


def test_without_noise_the_interval_is_that_of_the_rows():
    """Of a column that is sure: the estimate and twice its standard error, but for the prior."""
    frame = rows("linear", 800, 5)
    release = released("linear").model_copy(update={"moments": exact(frame)})
    entry = next(term for term in release.posterior().priors[0].coefficients if term.name == "age")
    X = np.column_stack([np.ones(len(frame)), frame["age"], *(frame["site"] == level for level in "bcd")])
    whole = sm.OLS(frame["y"].to_numpy(), X).fit()
    assert entry.estimate == pytest.approx(whole.params[1], rel=0.02)
    assert entry.high - entry.low == pytest.approx(2 * 1.96 * whole.bse[1], rel=0.1)


def test_the_posterior_of_a_release_goes_with_it_and_comes_back():
    """In its file, with the guarantee of the first."""
    release = with_posterior(released("logistic"))
    again = Release.from_json(release.to_json())
    assert again.model_posterior == release.model_posterior == released("logistic").posterior()
    assert again.guarantee == released("logistic").guarantee


def test_what_holds_no_noisy_numbers_has_no_posterior():
    """A selection names columns alone."""
    bare = released("linear").model_copy(update={"moments": None, "fit": None})
    with pytest.raises(InvalidParameterError, match="noisy moments"):
        bare.posterior()
    with pytest.raises(InvalidParameterError, match="confidence"):
        released("linear").posterior(1.0)
