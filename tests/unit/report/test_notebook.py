"""A release in a Python session: its line, its summary, its card, its numbers by name."""

import html as web
import math
from html.parser import HTMLParser

import pandas as pd
import polars as pl
import pytest
from report_fits import coefficient, make_fit

from discreet.errors import InvalidParameterError
from discreet.report import notebook
from discreet.report.widths import cells
from discreet.report.words import visible


class Elements(HTMLParser):
    """The elements of a page, in their order, with those left open."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Remember an element; a drawing closes its own."""
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Remember an element that closes itself."""
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        """Close the last one that is open: nothing else may end."""
        assert self.open.pop() == tag


def test_a_release_is_shown_within_its_room(release):
    """However long or hostile names are: one line, lines of 80 columns, one element without scripts or handlers."""
    assert visible(repr(release)) == repr(release)
    text = release.summary()
    assert all(cells(row) <= notebook.WIDTH for row in text.split("\n"))
    assert visible(text.replace("\n", "")) == text.replace("\n", "")
    page = Elements(release._repr_html_())
    assert not page.open
    assert not {"script", "iframe", "img", "a", "link", "object"} & {tag for tag, _ in page.found}
    assert not [name for _, attributes in page.found for name in attributes if name.startswith("on")]


def test_a_hostile_name_stays_text():
    """An element or an attribute in a column's name is escaped in the card."""
    name = "<img src=x onerror=alert(1)>"
    card = make_fit("linear", coefficient(name, 1.0))._repr_html_()
    assert name not in card
    assert web.escape(name) in card


def test_numbers_by_name_are_those_of_the_release(samples):
    """Estimates, errors and intervals; where an end cannot be told, it is infinite and there is no standard error."""
    for kind in ("linear", "logistic", "poisson", "open ends", "fit says nothing"):
        release = samples[kind]
        terms = {term.name: term for term in release.fit.coefficients}
        assert release.params == {name: term.estimate for name, term in terms.items()}
        for name, (low, high) in release.conf_int().items():
            assert (low == -math.inf) == (terms[name].low is None)
            assert (high == math.inf) == (terms[name].high is None)
            assert math.isnan(release.bse[name]) == (terms[name].low is None or terms[name].high is None)
            if not math.isnan(release.bse[name]):
                assert release.bse[name] * 2 * 1.959963984540054 == pytest.approx(high - low)


def test_frames_of_each_library_hold_the_same(samples):
    """A row a term; the first library that is installed is taken."""
    release = samples["linear"]
    frame = release.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(release.to_frame("polars"), pl.DataFrame)
    assert frame.set_index("term")["estimate"].to_dict() == release.params
    assert release.to_frame("pyarrow").to_pylist() == frame.to_dict("records") == release.to_frame("polars").to_dicts()


def test_what_is_no_fit_has_no_coefficients(samples):
    """A selection refuses, with what to do; so does a library that nobody knows."""
    with pytest.raises(InvalidParameterError, match="has no coefficients"):
        _ = samples["with ledger"].params
    with pytest.raises(InvalidParameterError, match="backend must be one of pandas, polars, pyarrow"):
        samples["linear"].to_frame("excel")


def test_noise_is_called_noise(samples):
    """The card says whatever the report says of chance, and a release without a guarantee says so first."""
    for release in samples.values():
        card, text = release._repr_html_(), release.summary()
        assert ("NOT PRIVATE" in card) == ("NOT PRIVATE" in text) == (not release.private)
        if release.intervals_tell_nothing:
            assert "The intervals are uninformative" in card
            assert "The intervals are uninformative" in text


def test_observations_are_those_that_the_release_holds(samples):
    """A public number as it is, a noisy one as such, and none where the release holds none or only a sum of weights."""
    release = samples["moments"]
    public = release.moments.model_copy(update={"n_rows": 20190.0, "n_rows_variance": 0.0, "weights": None})

    def shown(**changes):
        return release.model_copy(update={"moments": public.model_copy(update=changes)}).summary()

    assert "Observations: 20,190\n" in shown() or "Observations: 20,190 " in shown()
    assert "Observations: about 20,187" in shown(n_rows=20187.4, n_rows_variance=9.0)
    assert "Observations" not in shown(weights="w")
    assert "Observations" not in release.model_copy(update={"moments": None}).summary()
