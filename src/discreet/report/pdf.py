"""A report as PDF: the page, element by element, set by Typst. Every text of the page becomes a string literal."""

import re
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from importlib.resources import files
from typing import Any

from discreet.errors import InvalidParameterError
from discreet.release import Release
from discreet.report.facts import Audience
from discreet.report.rendering import render

_CALLS = {
    "h1": "#heading(level: 1)",
    "h2": "#heading(level: 2)",
    "p": "#par",
    "strong": "#strong",
    "b": "#strong",
    "var": "#emph",
    "sup": "#super",
    "code": "#code",
    "span": "#quiet",
    "li": "#entry",
    "ul": "#block",
    "aside": "#banner",
    "header": "#block",
    "section": "#part",
    "dt": "#quiet",
    "dd": "#told",
    "figure": "#drawing",
    "figcaption": "#explained",
    "caption": "#titled",
    "main": "#block",
}
"""Element to the function that sets it; an element with a class may have its own."""

_CLASSES = {
    ("p", "formula"): "#formula",
    ("p", "given"): "#formula",
    ("p", "minded"): "#minded",
    ("p", "eyebrow"): "#quiet",
    ("ul", "candidates"): "#chips",
    ("span", "unseen"): "#unseen",
    ("figure", "wide"): "#drawing",
}
_LONG = re.compile(r"\S{25,}")
_SKIPPED = frozenset({"style", "title", "head", "meta", "html", "body", "thead", "tbody"})


def render_pdf(release: Release, audience: Audience = "board", contact: str | None = None) -> bytes:
    """Return a report on a release as PDF.

    A tagged PDF of A4 pages, without a time or an author in it.

    It says what the page in HTML says. Names are string literals of Typst, which it does not interpret.
    """
    source = to_typst(render(release, "html", audience, contact))
    document: bytes = _typst().compile(source.encode(), format="pdf")
    return document


def to_typst(html: str) -> str:
    """Return a page of `render` as a Typst document.

    Source whose every text and picture is a string literal.
    """
    page = _Page()
    page.feed(html)
    page.close()
    style = files("discreet.report").joinpath("templates", "style.typ").read_text(encoding="utf-8")
    return f"{style}\n#show: report.with(title: {literal(page.title)})\n{''.join(page.parts)}\n"


def literal(text: str) -> str:
    r"""Return a text as a string literal of Typst.

    In quotes, with marks and line ends escaped.

    Examples
    --------
    >>> print(literal('#read("x") \\ '))
    "#read(\"x\") \\ "
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(mark if mark >= " " else f"\\u{{{ord(mark):x}}}" for mark in escaped) + '"'


@cache
def _typst() -> Any:
    try:
        return import_module("typst")
    except ImportError:
        raise InvalidParameterError(
            'PDF needs the package typst, but it is not installed. Run `pip install "discreet[pdf]"`, or write HTML.'
        ) from None


class _Page(HTMLParser):
    """Turns elements into calls, tables into cells, pictures into images."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.title = ""
        self._open: list[str] = []
        self._table: _Table | None = None
        self._picture: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a call, a cell or a picture."""
        attributes = {name: value or "" for name, value in attrs}
        if tag == "svg" or self._picture is not None:
            self._draw(self.get_starttag_text() or "", attributes if tag == "svg" else None)
            return
        self._open.append(tag)
        name = attributes.get("class", "")
        if tag == "table":
            self._table = _Table(is_facts=name == "facts")
        elif tag == "tr" and self._table:
            self._table.start_row(name)
        elif tag in ("th", "td") and self._table:
            self._table.start_cell(name, len(self.parts))
        elif tag == "li" and "#chips[" in self.parts and self._in_chips():
            self.parts.append("#chip(true)[" if name == "chosen" else "#chip(false)[")
        elif tag == "dl" or (tag == "div" and self._open[-2] == "dl"):
            self.parts.append("#glance(" if tag == "dl" else "[")
        elif tag == "b" and self._open[-2] == "figcaption":
            self.parts.append("#lead[")
        elif tag == "strong" and "aside" in self._open:
            self.parts.append("#warned[")
        elif tag not in _SKIPPED:
            self.parts.append(_CLASSES.get((tag, name), _CALLS.get(tag, "#block")) + "[")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        """Keep the empty elements of a picture."""
        if self._picture is not None:
            self._picture.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        """Close what was opened."""
        if self._picture is not None:
            self._picture.append(f"</{tag}>")
            if tag == "svg":
                self._drawn()
            return
        self._open.pop()
        if tag == "table" and self._table:
            self.parts.append(self._table.source())
            self._table = None
        elif tag in ("th", "td") and self._table:
            self._table.end_cell(self.parts)
        elif tag == "dl":
            self.parts.append(")\n")
        elif tag not in _SKIPPED and tag != "tr":
            self.parts.append("]," if tag == "div" and self._open[-1] == "dl" else "]")

    def handle_data(self, data: str) -> None:
        """Put text between the calls, never as source."""
        if self._picture is not None:
            self._picture.append(data.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
        elif self._open and self._open[-1] == "title":
            self.title += data
        elif self._open and self._open[-1] not in (*_SKIPPED, "table", "tr", "dl", "main", "section"):
            text = re.sub(r"\s+", " ", data)
            if text.strip() or self._open[-1] in ("p", "th", "td", "li"):
                self.parts.append(f"#{literal(_LONG.sub(_breakable, text))};")

    def _in_chips(self) -> bool:
        """Whether the list that was opened last holds the candidates."""
        lists = [part for part in self.parts if part in ("#chips[", "#block[")]
        return bool(lists) and lists[-1] == "#chips["

    def _draw(self, start: str, attributes: dict[str, str] | None) -> None:
        if attributes is not None:
            self._alt = attributes.get("aria-label", "")
            self._picture = []
        if self._picture is not None:
            self._picture.append(start)

    def _drawn(self) -> None:
        svg = "".join(self._picture or [])
        self._picture = None
        width = re.search(r'width="([0-9.]+)"', svg)
        points = min(float(width[1]) * 0.62 if width else 300.0, 450.0)
        self.parts.append(f"#image(bytes({literal(svg)}), width: {points:.1f}pt, alt: {literal(self._alt)})\n")


class _Table:
    """Cells as they come, with what decides the columns' widths."""

    def __init__(self, is_facts: bool) -> None:
        self.is_facts = is_facts
        self.rows: list[list[str]] = []
        self._kinds: list[str] = []
        self._marked = ""
        self._start = 0

    def start_row(self, name: str) -> None:
        """Begin a row."""
        self.rows.append([])
        self._marked = name

    def start_cell(self, name: str, start: int) -> None:
        """Begin a cell, whose content comes after `start`."""
        if len(self.rows) == 1:
            self._kinds.append(name)
        self._start = start

    def end_cell(self, parts: list[str]) -> None:
        """Take the cell's content out of the page."""
        content = "".join(parts[self._start :])
        del parts[self._start :]
        self.rows[-1].append(f"[#strong[{content}]]" if self._marked == "chosen" else f"[{content}]")

    def source(self) -> str:
        """Return the table as a call."""
        if self.is_facts:
            cells = [cell for row in self.rows for cell in row]
            return f"#facts({', '.join(cells)})\n"
        ends = (0, len(self._kinds) - 1)
        widths = ["auto" if kind else "1.4fr" if at in ends else "1fr" for at, kind in enumerate(self._kinds)]
        aligned = ["right" if kind == "figure" else "left" for kind in self._kinds]
        head, *rest = self.rows
        cells = [cell for row in rest for cell in row]
        return "#listing({})\n".format(", ".join(f"({', '.join(row)},)" for row in (widths, aligned, head, cells)))


def _breakable(word: re.Match[str]) -> str:
    """A word that no line may hold, with places where it can be broken."""
    return "\u200b".join(word[0])
