"""A report as PDF."""

import re
from dataclasses import asdict
from importlib.resources import files

import pytest
from pdf_text import text_of
from report_releases import make
from test_rendering import AUDIENCES, Page, drawn_once, html_of

from discreet.errors import InvalidParameterError
from discreet.report import pdf
from discreet.report.report_page import page_for
from discreet.report.words import visible

NAMES = ('#eval("1")', "*", "$", "\\", "@", "#{panic()}", '`#read("x")`', "$#x$", "<label>", "= a", "https://x.y/z")
"""Each would be something else if Typst read it as markup."""


def squeezed(text):
    """Return a text without white space, each character as the PDF can show it."""
    return "".join(pdf._in_fonts(visible(text)).split())


def pdf_text(release, audience="board"):
    """Return what a PDF says, without white space."""
    with drawn_once():
        return squeezed(text_of(pdf.render_pdf(release, audience)))


def texts_in(value):
    """Yield the texts of a page in the order in which they are told; not the names of sections and styles."""
    if isinstance(value, dict) and "cells" in value:
        yield from (value["cells"][0], value["tag"], *value["cells"][1:])
    elif isinstance(value, dict):
        silent = {"kind", "style", "name", "instead"}
        yield from (text for name, item in value.items() if name not in silent for text in texts_in(item))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in texts_in(item))
    elif isinstance(value, str):
        yield value


def test_the_template_reads_nothing_but_its_data():
    """No value is evaluated, no file or package read: what Typst runs is the same for all releases."""
    template = files("discreet.report").joinpath("templates", "page.typ").read_text(encoding="utf-8")
    code = re.sub(r"//.*", "", template)
    assert not re.search(r"\beval\b|\bread\b|#import|#include|\bplugin\b|\blink\b|mode:", code)
    assert re.findall(r"sys\.inputs\.\w+", code) == ["sys.inputs.page"]


@pytest.mark.parametrize("audience", [*AUDIENCES, "participant"])
def test_hostile_names_are_printed_literally(audience):
    """What Typst would run, mark or link stands on paper as it was declared; so does a long one, in one piece."""
    pytest.importorskip("typst")
    names = (*NAMES, "äöü" * 60, "x" * 300)
    text = pdf_text(make(names=names, selected=names[:3], target='#eval("2")'), audience)
    for name in (*names[:3], '#eval("2")') if audience == "participant" else (*names, '#eval("2")'):
        assert squeezed(name) in text


def test_what_no_font_has_is_written_out(samples):
    """Typst's own fonts lack some scripts; such names can be told apart all the same."""
    pytest.importorskip("typst")
    text = pdf_text(samples["hostile"], "analyst")
    assert "\\u5217" * 60 in text
    for column in samples["hostile"].public:
        assert squeezed(column.name) in text


@pytest.mark.parametrize(
    ("name", "audience"),
    [
        *(("with ledger", audience) for audience in (*AUDIENCES, "participant")),
        *((name, "analyst") for name in ("run", "not private", "hostile", "histogram", "choice", "no intervals")),
    ],
)
def test_pdf_and_html_say_the_same(samples, name, audience):
    """Every text of the page, in its order, in both; control: the text of another release is not found."""
    pytest.importorskip("typst")
    page = page_for(samples[name], audience)
    with drawn_once():
        html = squeezed(Page(html_of(samples[name], audience)).text)
    both = {"pdf": pdf_text(samples[name], audience), "html": html}
    sections = [asdict(section) for section in page.sections]
    moving = [block for each in sections for block in each["blocks"] if block["kind"] == "picture"]
    for each in sections:  # a tall picture of a PDF moves to where a page has room
        each["blocks"] = [block for block in each["blocks"] if block["kind"] != "picture"]
    told = [squeezed(text) for text in texts_in(sections) if text]
    assert len(told) > 10
    for form, text in both.items():
        place = 0
        for part in told:
            place = text.find(part, place)
            assert place >= 0, (form, part)
            place += len(part)
        assert all(squeezed(words) in text for block in moving for words in (block["title"], block["note"]))
        assert squeezed(page.heading) in text
        assert squeezed(page_for(samples["linear"], "board").heading) not in text


def test_what_is_not_private_says_so_first(samples):
    """The banner comes before all else."""
    pytest.importorskip("typst")
    assert pdf_text(samples["seeded"]).startswith("Notprivate:thisreleasemustnotleave")


def test_a_missing_package_is_told(samples, monkeypatch):
    """With what to install, and what to do without it."""

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(pdf, "import_module", missing)
    pdf._typst.cache_clear()
    with pytest.raises(InvalidParameterError, match=r"pip install .*or write HTML"):
        pdf.render_pdf(samples["with ledger"])
    pdf._typst.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["with ledger", "hostile", "run", "hostile fit", "not private", "moments of many", "no intervals"]
)
def test_a_pdf_is_made(samples, name):
    """The same every time, tagged, with every picture in it."""
    pytest.importorskip("typst")
    first = pdf.render_pdf(samples[name], "analyst")
    assert first.startswith(b"%PDF-")
    assert b"/StructTreeRoot" in first
    assert first == pdf.render_pdf(samples[name], "analyst")
