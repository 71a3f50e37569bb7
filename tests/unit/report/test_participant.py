"""The page for somebody who is in the table."""

import pytest

from discreet.report import render
from discreet.report.pdf import compiled, page_data

WORDS = ("text", "markdown", "html")


def plain(text):
    """A report on one line, without the escapes of Markdown."""
    return " ".join(text.replace("\\", "").split())


@pytest.mark.parametrize("format", WORDS)
def test_it_says_what_a_participant_asks(samples, format):
    """What was asked, the promise as a factor, beliefs at worst, what is not promised, what is used up, whom to ask."""
    text = plain(render(samples["with ledger"], format, "participant"))
    place = 0
    for part in (
        "Results about the people in rand-hie",
        "best describe mdvis?",
        "lncoins and site",
        "Suppose your data had been replaced by other data",
        "no result is more than 2.72 times as likely",
        "2.68%",
        "73.2%",
        "Those who hold the table can read it.",
        "epsilon 1.5 of the 3 allowed for its lifetime",
        "Whoever holds the table rand-hie.",
    ):
        assert part in text[place:], part
        place = text.index(part, place)


@pytest.mark.parametrize("format", WORDS)
def test_it_needs_no_word_of_ours(samples, format):
    """Neither candidates nor metadata: the columns are named, or counted."""
    text = plain(render(samples["with ledger"], format, "participant"))
    assert "of the candidates" not in text
    assert "metadata" not in text
    assert "of the table" in text[: text.index("best describe mdvis?")]


@pytest.mark.parametrize("format", WORDS)
@pytest.mark.parametrize("audience", ["board", "analyst", "participant"])
def test_contact_is_named_and_escaped(samples, format, audience):
    """Whom to ask stands in every report, and is text in every format."""
    report = render(samples["with ledger"], format, audience, "<b>Ada</b>, room 12")
    assert "room 12. To identify this release" in plain(report)
    assert ("<b>Ada</b>" in report) == (format == "text")


@pytest.mark.parametrize("format", WORDS)
def test_what_is_not_private_promises_nothing(samples, format):
    """A warning, and neither a factor nor a table of beliefs."""
    text = plain(render(samples["not private"], format, "participant"))
    assert "must not leave" in text.casefold()
    assert "times as likely" not in text
    assert "Random noise was added" not in text


@pytest.mark.slow
def test_every_release_fits_on_a_sheet_of_paper(release):
    """Set as PDF, at most both sides, however many columns there are and however long their names."""
    pages = compiled(page_data(release, "participant"), format="png", ppi=20)
    assert isinstance(pages, bytes) or len(pages) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("format", WORDS)
def test_every_release_renders(release, format):
    """Whatever a release holds, the report ends in one newline, and a terminal shows its lines whole."""
    report = render(release, format, "participant")
    assert report.endswith("\n")
    assert not report.endswith("\n\n")
    if format == "text":
        assert max(map(len, report.splitlines())) <= 80
