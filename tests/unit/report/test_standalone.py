"""Pictures of a release as files of their own."""

import dataclasses
import html
import re
from xml.etree import ElementTree

import pytest
from report_hybrids import make_hybrid, points
from report_releases import make
from test_rendering import drawn_once, html_of

from discreet import report
from discreet.release import HybridRecord, TwinRecord

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "g", "path", "line", "text", "tspan", "rect", "defs", "clipPath"}


def pictures_of(release):
    """The pictures of a release."""
    with drawn_once():
        return report.pictures_of(release)


def parsed(picture):
    """Return the root of a picture's document."""
    return ElementTree.fromstring(picture.svg)  # noqa: S314 - our own drawing


@pytest.fixture(scope="module")
def found(release):
    """The pictures of each sample in turn: they take a while."""
    return pictures_of(release)


def test_they_are_those_of_the_page(release, found):
    """All that the page shows, in its order."""
    shown = re.findall(r'<svg role="img" aria-label="([^"]*)"', html_of(release))
    assert [html.unescape(label) for label in shown] == [picture.alt for picture in found.values()]
    assert [picture.name for picture in found.values()] == list(found)


def test_each_is_a_document_that_runs_and_loads_nothing(found):
    """No script, style, event, link or address; a title, white paper and a size."""
    for picture in found.values():
        root = parsed(picture)
        assert root.tag == f"{SVG}svg"
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= ELEMENTS
        assert not re.search(r"<[!?]", picture.svg)
        for element in root.iter():
            for name, value in element.attrib.items():
                assert not re.search(r"^on|href|^style$", name)
                assert name == "aria-label" or not re.search(r"url\((?!#)|[a-z]+:", value)
        assert root[0].text == picture.title
        assert root[1].attrib == {"width": "100%", "height": "100%", "fill": "#ffffff"}
        assert float(root.get("width")) > 200


def test_words_are_plain_text(found):
    """One line each, and never empty; the alternative is what the document says of itself."""
    for picture in found.values():
        assert picture.alt == parsed(picture).get("aria-label")
        for words in (picture.title, picture.note, picture.alt):
            assert words
            assert words == " ".join(words.split())
            assert words.isprintable()


def test_titles_are_those_of_the_page(samples):
    """Word by word, and so are the notes; neither is escaped."""
    for name in ("run", "choice", "moments"):
        page = html.unescape(html_of(samples[name]))
        for picture in pictures_of(samples[name]).values():
            assert f"<figcaption><b>{picture.title}</b>{picture.note}</figcaption>" in page


def test_marks_in_names_are_text(samples):
    """The unit's name is in a note as it was, and in the document as text alone."""
    odds = pictures_of(samples["hostile"])["odds"]
    assert "about one <b>row</b> that" in odds.note
    assert "<b>" not in odds.svg


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["\ufffe", "\uffff", "\x00", "\x1b", "\ufdd0", "\U0001f600"])
def test_what_xml_cannot_hold_does_not_break_a_picture(mark):
    """Such a character is written out, whatever text of the release it stands in."""
    odd = TwinRecord(name=f"t{mark}t", error=0.1, low=0.0, high=0.2)
    release = make_hybrid(target=f"t{mark}t", hybrid=HybridRecord(points=points(), twins=(odd,)))
    for picture in (*pictures_of(release).values(), *pictures_of(make(target=f"t{mark}t")).values()):
        parsed(picture)


def test_a_picture_cannot_be_changed(samples):
    """It is a value."""
    picture = pictures_of(samples["linear"])["coefficients"]
    assert picture == report.pictures_of(samples["linear"])["coefficients"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        picture.svg = ""
