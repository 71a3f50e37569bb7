"""A release in words, in every format."""

import re
from contextlib import contextmanager
from html.parser import HTMLParser

import pytest
from jinja2 import Environment
from markdown_it import MarkdownIt

from discreet.errors import InvalidParameterError
from discreet.release import Release
from discreet.report import FORMATS, pictures, render
from discreet.report.escape import WIDTH
from discreet.report.widths import cells
from discreet.report.words import visible

WORDS = ("text", "markdown", "html")
AUDIENCES = ("board", "analyst")
ATTRIBUTES = {
    "html": {"lang"},
    "wbr": set(),
    "meta": {"charset", "http-equiv", "content", "name"},
    "aside": {"class", "aria-label"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "ul": {"class", "aria-label"},
    "section": {"aria-labelledby"},
    "h2": {"id"},
    "th": {"scope", "class"},
    "svg": {"role", "aria-label", "xmlns", "xmlns:xlink", "version", "width", "height", "viewbox"},
    "p": {"class", "aria-hidden"},
    "td": {"class", "data-label"},
    **{tag: {"class"} for tag in ("dl", "li", "table", "tr", "span", "figure")},
}
VALUES = {
    "tabindex": {"0"},
    "aria-hidden": {"true"},
    "role": {"region", "img"},
    "scope": {"row", "col"},
    "http-equiv": {"Content-Security-Policy"},
    "name": {"viewport", "color-scheme", "description"},
}
"""What these attributes may say: nothing of a release."""
DRAWING = {"g", "path", "line", "text", "rect", "tspan", "defs", "clippath"}
DRAWN = {
    *(
        "d",
        "transform",
        "x",
        "y",
        "x1",
        "y1",
        "x2",
        "y2",
        "width",
        "height",
        "fill",
        "stroke",
        "opacity",
        "id",
        "clip-path",
    ),
    *("text-anchor", "pointer-events", "display", "dx", "dy"),
}
DRAWN_STARTS = ("font-", "stroke-")


PAGES, PICTURES = {}, {}
"""Pages by release and audience, and each release with its pictures, which take a while; they live as long as this."""


@contextmanager
def drawn_once():
    """Have the pictures of a release drawn once: the same ones stand on the pages of a board and of an analyst."""
    draw = pictures.draw

    def quickly(release):
        if id(release) not in PICTURES:
            PICTURES[id(release)] = release, draw(release)
        return dict(PICTURES[id(release)][1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "draw", quickly)
        yield


def html_of(release, audience="board"):
    """Return a release's page."""
    key = (id(release), audience)
    if key not in PAGES:
        with drawn_once():
            PAGES[key] = render(release, "html", audience)
    return PAGES[key]


class Page(HTMLParser):
    """Collects a page's elements, attributes and text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.void = [], "", {"meta", "wbr"}
        self.open = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Note an element without content."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        """Check that elements close in order."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Note text outside of the style."""
        if self.open and self.open[-1] != "style":
            self.text += data


def plain(text):
    """Return a text on one line."""
    return " ".join(text.split())


def said(release, format, audience="board"):
    """Return what a reader of a format sees, on one line."""
    report = html_of(release, audience) if format == "html" else render(release, format, audience)
    if format == "html":
        return plain(Page(report).text)
    if format == "markdown":
        html = MarkdownIt("commonmark").enable("table").render(report)
        return plain(Page(f"<main>{html}</main>").text)
    return plain(report)


@pytest.mark.slow
@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("format", FORMATS)
def test_every_release_renders_in_every_format(release, format, audience):
    """Whatever a release holds, there is a report, and it ends in one newline."""
    report = html_of(release, audience) if format == "html" else render(release, format, audience)
    assert report.endswith("\n")
    assert not report.endswith("\n\n")


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_release_gives_the_same_report(samples, format):
    """Byte for byte: nothing of the time, the machine or chance is in it."""
    assert render(samples["hostile"], format) == render(samples["hostile"], format)


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("format", WORDS)
def test_a_private_release_says_all_it_must(samples, format, audience):
    """Answer, question, promise, odds, noise box, bounds, silence, ledger and origin, in order."""
    text = said(samples["with ledger"], format, audience)
    parts = [
        "2 of 5 candidate columns were selected for mdvis: lncoins and site",
        "taken together, best describe mdvis?",
        "penalized constrained least squares",
        "rand-hie",
        "limits what anybody can learn from the table about one",
        "No result is more than 2.72 times as likely",
        "that differ only in the row of one person",
        "2.68%",
        "73.2%",
        "permute-and-flip, exponential noise, over 32 models",
        "2 x [(r + R)^2 - max(r - R, 0)^2]",
        "code book",
        "that this request was made, and when",
        "No scores, p-values or coefficients",
        "another draw could select other columns",
        "have spent epsilon 1.5 of the 3 allowed for its lifetime; 1.5 is left",
        "discreet 0.1.0, Python 3.11.7",
    ]
    place = 0
    for part in parts:
        place = text.find(part, place)
        assert place >= 0, part


@pytest.mark.parametrize("format", WORDS)
def test_the_noise_box_is_whole(samples, format):
    """Range sensitivity, inflation, scale, numerics and the claim's file are named."""
    text = said(samples["with ledger"], format)
    for part in ("240.06", "0.06", "/ epsilon", "exact draw", "methods/subset_selection/pcls.privacy.md"):
        assert part in text
    assert "range sensitivity" in text.casefold()
    assert "/ epsilon" not in said(samples["other scale"], format)


@pytest.mark.parametrize("format", WORDS)
def test_the_analyst_reads_more(samples, format):
    """The analyst's report has every digest, the event, and what may be done next."""
    text = said(samples["with ledger"], format, "analyst")
    for part in (
        "ab" * 32,
        "cd" * 32,
        "ef" * 32,
        "SelectionEvent",
        "model_penalty",
        "neither private nor valid",
    ):
        assert part in text
    assert "neither private nor valid" not in said(samples["with ledger"], format, "board")


@pytest.mark.parametrize("format", WORDS)
@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("none selected", ["No column was selected for mdvis, out of 5 candidate columns"]),
        ("one candidate", ["1 of 1 candidate column was selected for mdvis: age"]),
        ("fifty candidates", ["12 of 50 candidate columns were selected for mdvis", "x0"]),
        ("without ledger", ["not charged to a ledger", "were not counted"]),
        (
            "add or remove",
            ["without them, nor the other way round", "of which one lacks the row of one person", "88.1%"],
        ),
        (
            "five rows",
            ["the rows, at most 5, of one person", "up to 5 rows, and the promise covers them all"],
        ),
        ("rows", ["The promise protects one row, not one person", "With three, epsilon is 3", "95.3%"]),
        ("no id", ["of each row this was not enforced"]),
        ("with delta", ["0.00000225", "0.3 of the 1 allowed", "1.11 times"]),
        (
            "ledger in rho",
            [
                "have spent rho 0.25 of the 0.375 allowed",
                "0.125 is left",
                "cap corresponds to epsilon 3 at delta 0.000001",
            ],
        ),
        ("forced", ["1 of 1 candidate column was selected", "By request, age was in every model"]),
        ("weak", ["This promise is weak", ">99.9%"]),
    ],
)
def test_each_kind_of_release_says_what_is_special(samples, name, parts, format):
    """The answer, the unit, the relation and the ledger decide the words."""
    text = said(samples[name], format)
    for part in parts:
        assert part in text


@pytest.mark.parametrize("format", WORDS)
def test_an_account_in_rho_is_not_told_in_epsilon(samples, format):
    """The sum of epsilons is not what was spent, and no belief is told for it; that for the whole cap is."""
    text = said(samples["ledger in rho"], format, "analyst")
    assert "4.5" not in text
    assert "after all so far" not in text
    assert "after the whole cap" in text


@pytest.mark.parametrize("format", WORDS)
def test_a_protected_person_is_not_warned_about(samples, format):
    """With people as units and a column that tells them apart there is no caveat."""
    text = said(samples["with ledger"], format)
    assert "not one person" not in text
    assert "not enforced" not in text


@pytest.mark.parametrize("format", WORDS)
@pytest.mark.parametrize("name", ["not private", "seeded"])
def test_what_is_not_private_says_so_first(samples, name, format):
    """The banner comes before all else, and neither guarantee nor odds are told."""
    text = said(samples[name], format)
    assert text.casefold().index("not private") < text.index("2 of 5 candidate")
    assert "must not leave" in text.casefold()
    for part in ("anybody's beliefs", "P[M(D)", "73.2%", "Worst case", "ε = 1"):
        assert part not in text


def test_the_banner_tells_why(samples):
    """A seed and a run for study are different reasons."""
    assert "drawn from a seed" in said(samples["seeded"], "text")
    assert "run for study" in said(samples["not private"], "text")


@pytest.mark.parametrize("format", WORDS)
def test_a_private_release_has_no_banner(samples, format):
    """Nothing cries wolf."""
    assert "not private" not in said(samples["with ledger"], format).casefold()


@pytest.mark.slow
@pytest.mark.parametrize("audience", AUDIENCES)
def test_text_fits_a_terminal_and_holds_no_control_character(release, audience):
    """At most 80 columns, and nothing that a terminal would obey."""
    report = render(release, "text", audience)
    assert all(cells(row) <= WIDTH for row in report.split("\n"))
    assert visible(report.replace("\n", "")) == report.replace("\n", "")


def test_the_board_reads_one_screen_of_text(samples):
    """The text for a board stays below fifty lines."""
    assert render(samples["with ledger"], "text").count("\n") <= 48


@pytest.mark.slow
@pytest.mark.parametrize("audience", AUDIENCES)
def test_html_has_only_our_elements_and_attributes(release, audience):
    """No script, link, event or form; every attribute is one that the template or the picture sets, to its words."""
    page = Page(html_of(release, audience))
    assert page.open == []
    for tag, attributes in page.elements:
        assert tag not in {"script", "img", "a", "iframe", "object", "embed", "form", "link", "base", "input"}
        if tag in DRAWING:
            assert all(name in DRAWN or name.startswith(DRAWN_STARTS) for name in attributes), attributes
        else:
            assert set(attributes) <= ATTRIBUTES.get(tag, set()), (tag, attributes)
        assert all(value in VALUES.get(name, {value}) for name, value in attributes.items()), (tag, attributes)


def test_hostile_names_are_text_in_html(samples):
    """Every name is on the page as text, spelled out."""
    page = Page(html_of(samples["hostile"], "analyst"))
    for column in samples["hostile"].public:
        assert visible(column.name) in page.text


def test_hostile_names_make_nothing_in_markdown(samples):
    """Rendered with HTML allowed, the report has only our elements, and tables keep their columns."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(render(samples["hostile"], "markdown", "analyst"))
    inner = [child.type for token in tokens for child in token.children or []]
    assert not {"html_inline", "link_open", "image", "code_inline"} & set(inner)
    assert "html_block" not in {token.type for token in tokens}
    declared = next(place for place, token in enumerate(tokens) if token.content == "What was declared public")
    names = [
        tokens[place + 2].children
        for place, token in enumerate(tokens)
        if place > declared and token.type == "tr_open" and tokens[place + 1].type == "td_open"
    ]
    shown = ["".join(child.content for child in children).removesuffix(" (the target)") for children in names]
    assert [visible(column.name).strip() for column in samples["hostile"].public] == shown[
        : len(samples["hostile"].public)
    ]


def test_the_page_is_self_contained(release):
    """Nothing is fetched: no address but the namespaces of SVG, no source, no import."""
    html = html_of(release)
    page = Page(html)
    own = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    for _, attributes in page.elements:
        assert not {"src", "href", "xlink:href", "style", "srcset"} & set(attributes)
        told = {name: value for name, value in attributes.items() if name != "aria-label"}
        assert all(value in own for value in told.values() if value and "://" in value)
    style = html[html.index("<style>") : html.index("</style>")]
    assert not re.search(r"url\(|@import|@font-face|://", style)


def test_the_page_forbids_what_it_does_not_need(samples):
    """The policy stands in the head before anything else that could load."""
    page = Page(html_of(samples["with ledger"]))
    policy = next(given["content"] for tag, given in page.elements if given.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_the_page_can_be_read_aloud(samples):
    """Headings in order, captions on tables, scopes on header cells, a label on every picture."""
    page = Page(html_of(samples["with ledger"]))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == 1
    assert tags.count("caption") == tags.count("table") > 4
    assert tags.count("figcaption") == tags.count("figure") == tags.count("svg") == 3
    assert all("scope" in given for tag, given in page.elements if tag == "th")
    assert all(given["role"] == "img" and given["aria-label"] for tag, given in page.elements if tag == "svg")


def test_json_is_the_release_itself(release):
    """Read back, it is the same release."""
    assert Release.from_json(render(release, "json")) == release


@pytest.mark.parametrize(("format", "audience"), [("pdf", "board"), ("text", "public")])
def test_unknown_names_are_refused(samples, format, audience):
    """The message names what is allowed."""
    with pytest.raises(InvalidParameterError, match="must be one of"):
        render(samples["with ledger"], format, audience)


def test_templates_are_compiled_once_and_hold_nothing_of_a_release(samples, monkeypatch):
    """A second report of the same kind compiles no template; another release between them leaves no trace."""
    before = render(samples["with ledger"], "markdown", "analyst")
    compiled, compile_template = [], Environment.compile
    monkeypatch.setattr(
        Environment, "compile", lambda *own, **more: compiled.append(1) or compile_template(*own, **more)
    )
    assert render(samples["not private"], "markdown", "analyst") != before
    compiled.clear()
    assert render(samples["with ledger"], "markdown", "analyst") == before
    assert compiled == []
