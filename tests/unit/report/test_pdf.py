"""A report as PDF."""

import re

import pytest
from test_render import AUDIENCES, html_of

from discreet.errors import InvalidParameterError
from discreet.report import pdf
from discreet.report.words import visible

LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
OURS = {
    *("banner", "block", "chip", "chips", "code", "drawing", "emph", "entry", "explained", "facts", "formula"),
    *("glance", "heading", "image", "lead", "listing", "minded", "par", "part", "quiet", "strong", "super"),
    *("titled", "told", "unseen", "warned"),
}


def source_of(release, audience="board"):
    """Return the document that a release becomes, without what is the same for all."""
    return pdf.to_typst(html_of(release, audience)).partition("#show: report.with")[2]


@pytest.mark.parametrize("text", ['#read("/etc/passwd")', "\\", '"', "a\nb", "\x00", '] #eval("1") [', "\\u{41}"])
def test_a_literal_ends_where_it_should(text):
    """One pair of quotes, whatever is between them."""
    assert LITERAL.fullmatch(pdf.literal(text))


@pytest.mark.slow
@pytest.mark.parametrize("audience", AUDIENCES)
def test_texts_are_literals_and_calls_are_ours(release, audience):
    """Without its literals a document has only our functions; names, pictures and links are in the literals."""
    bare = LITERAL.sub("", source_of(release, audience))
    assert set(re.findall(r"#([a-z]+)", bare)) <= OURS
    assert not re.search(r"[<>$@`*_=/]|http", bare)
    assert bare.count("[") == bare.count("]")


def test_hostile_names_are_in_the_document(samples):
    """Spelled out, with places to break where they are long."""
    source = source_of(samples["hostile"], "analyst").replace("\u200b", "")
    for column in samples["hostile"].public:
        assert pdf.literal(visible(column.name).strip())[1:-1] in source


def test_what_is_not_private_says_so_first(samples):
    """The banner comes before all else."""
    source = source_of(samples["seeded"])
    assert source.index("#banner") < source.index("#heading")


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
    """The same every time, with every picture in it."""
    pytest.importorskip("typst")
    first = pdf.render_pdf(samples[name], "analyst")
    assert first.startswith(b"%PDF-")
    assert first == pdf.render_pdf(samples[name], "analyst")
