"""What a release says must stay text in every format: the one place that decides how.

Functions for the templates return `Markup`, which these pass through; everything else they escape.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from discreet.report.widths import cells
from discreet.report.words import listed, visible

if TYPE_CHECKING:
    from jinja2 import Environment

WIDTH = 80
"""Columns of a terminal that the text format keeps to."""

_MARKDOWN_MARKS = re.compile(r"([\\`*_\[\]~$^|])")
_MARKDOWN_STARTS = re.compile(r"^(\d*)([-+=#.)])")
_FORMULA = re.compile(r"(?:^|(?<=[;\t\r\n]))(?=[^\S\t\r\n]*[=+\-@＝＋－＠])|^(?=[\t\r\n])")
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_MARKDOWN_LINKS = re.compile(r"(?=://|@)|(?<=www)(?=\.)", re.IGNORECASE)


def to_text(value: object) -> Markup:
    """Return a value for a terminal, without a control character.

    One line.
    """
    return Markup(visible(value))  # noqa: S704 - a terminal knows no markup


def to_html(value: object) -> Markup:
    """Return a value as text of an HTML page.

    Escaped, fit for elements and quoted attributes.
    """
    return escape(visible(value))


def to_markdown(value: object) -> Markup:
    r"""Return a value as text of a Markdown paragraph, list item or table cell.

    Neither a mark, a link, a cell's end nor HTML.

    Examples
    --------
    >>> print(to_markdown("a|b <i>"))
    a\|b &lt;i&gt;
    """
    text = _MARKDOWN_MARKS.sub(r"\\\1", visible(value).strip())
    text = _MARKDOWN_STARTS.sub(r"\1\\\2", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(_MARKDOWN_LINKS.sub(r"\\", text))  # noqa: S704 - every mark is escaped above


def to_cell(text: str) -> str:
    """Return a text as the cell of a table that a spreadsheet opens but does not run.

    Examples
    --------
    >>> to_cell("=1+1"), to_cell("a;@b"), to_cell("-1.5"), to_cell("low-income")
    ("'=1+1", "a;'@b", '-1.5', 'low-income')
    """
    if _NUMBER.fullmatch(text):
        return text
    return _UNWRITABLE.sub(lambda mark: mark[0].encode("unicode_escape").decode(), _FORMULA.sub("'", text))


def flow(value: Markup) -> Markup:
    """Return an escaped text on one line.

    The same, each run of white space one space.
    """
    return Markup(" ".join(value.split()))  # noqa: S704 - it was escaped before


def fill(value: Markup, first: str = "  ", rest: str = "  ") -> Markup:
    """Return an escaped text in lines that a terminal shows whole.

    Lines of at most 80 columns; a word that is too long is broken.
    """
    lines, line = [], first
    for word in value.split():
        for piece in _pieces(word, WIDTH - max(len(first), len(rest))):
            joined = line + piece if line in (first, rest) else f"{line} {piece}"
            if cells(joined) > WIDTH:
                lines.append(line)
                joined = rest + piece
            line = joined
    return Markup("\n".join([*lines, line.rstrip()]))  # noqa: S704 - it was escaped before


def field(label: str, value: object) -> Markup:
    """Return a labeled line for a terminal, its value aligned and wrapped.

    Lines of at most 80 columns.
    """
    text = value if isinstance(value, Markup) else to_text(value)
    return fill(text, f"{label:<12} ", " " * 13)


def line(label: object, *cells: str) -> Markup:
    """Return a row of a small table for a terminal: a label and short cells at the right.

    One line of at most 80 columns.
    """
    text = "".join(f"{cell:>8}" for cell in cells)
    return Markup(f"{'':13}{to_text(label):<32}{text}")  # noqa: S704 - cells are numbers of ours


def lines(value: str) -> Markup:
    """Return a table that was made for a terminal as it is.

    The same lines.
    """
    return Markup("\n".join(visible(row) for row in value.split("\n")))  # noqa: S704 - a terminal knows no markup


@cache
def parted(text: object) -> Markup:
    """Return a text for a page whose long names may go on in the next line after an underscore."""
    return Markup(str(to_html(text)).replace("_", "_<wbr>"))  # noqa: S704 - escaped before


@cache
def environment(format: str) -> "Environment":
    """Return the templates of a format, in which whatever is told is escaped for it; each is compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # what renders nothing must not wait for it

    escapers: dict[str, Callable[[object], Markup]] = {"text": to_text, "markdown": to_markdown, "html": to_html}
    escaper = escapers[format]
    environment = Environment(
        loader=PackageLoader("discreet", "report/templates"),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else escaper(value),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "flow": flow,
        "fill": fill,
        "lines": lines,
        "listed": listed,
        "plain": to_text,
        "parted": parted,
    }
    environment.globals |= {"field": field, "line": line}
    return environment


def _pieces(word: str, room: int) -> list[str]:
    pieces, piece = [], ""
    for mark in word:
        if cells(piece + mark) > room:
            pieces.append(piece)
            piece = ""
        piece += mark
    return [*pieces, piece]
