"""Cards: how a notebook shows our objects, as a title, facts, tables and pictures. Every text is escaped here."""

from collections.abc import Collection, Iterable, Sequence

from markupsafe import Markup, escape

MOST_ROWS = 60
"""Of a longer table the first so many are shown."""

# Colors come from the page: a notebook may be light or dark.
# Cells name the class twice, to outweigh Jupyter's own style, which sets all of them to the right.
_STYLE = Markup(
    "<style>"
    ".discreet-card{font:inherit;max-width:62em;line-height:1.45}"
    ".discreet-card .title{font-weight:600;font-size:1.1em;margin:0 0 .3em}"
    ".discreet-card p{margin:.3em 0}"
    ".discreet-card table{border-collapse:collapse;margin:.5em 0}"
    ".discreet-card caption{text-align:left;font-style:italic;padding:.2em 0}"
    ".discreet-card.discreet-card th,.discreet-card.discreet-card td{"
    "padding:.2em .8em .2em 0;text-align:left;vertical-align:top;"
    "border:0;border-bottom:1px solid rgba(128,128,128,.4);background:none}"
    ".discreet-card.discreet-card th.number,.discreet-card.discreet-card td.number{"
    "text-align:right;font-variant-numeric:tabular-nums}"
    ".discreet-card svg{max-width:100%;height:auto}"
    "@media(max-width:40em){"
    ".discreet-card.discreet-card th,.discreet-card.discreet-card td{padding-right:.4em;white-space:normal}"
    ".discreet-card td:not(.number){overflow-wrap:break-word}"
    ".discreet-card td:last-child:not(.number){overflow-wrap:anywhere}}"
    "</style>"
)


def card(title: str, *parts: Markup) -> str:
    """Return an HTML element of a title and its parts."""
    inside = Markup("").join(parts)
    return str(
        Markup('<div class="discreet-card">{}<p class="title">{}</p>{}</div>').format(_STYLE, shown(title), inside)
    )


def paragraph(text: str) -> Markup:
    """Return a paragraph."""
    return Markup("<p>{}</p>").format(shown(text))


def facts(caption: str, pairs: Iterable[tuple[str, str]]) -> Markup:
    """Return a table of two columns: what, and its value."""
    rows = [
        Markup('<tr><th scope="row">{}</th><td>{}</td></tr>').format(shown(name), shown(value)) for name, value in pairs
    ]
    return Markup("<table><caption>{}</caption>{}</table>").format(shown(caption), Markup("").join(rows))


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Collection[int] = ()) -> Markup:
    """Return a table with a head; `numeric` columns are aligned to the right."""
    marks = [Markup(' class="number"') if place in numeric else Markup("") for place in range(len(head))]
    names = [
        Markup('<th scope="col"{}>{}</th>').format(mark, shown(name)) if name else Markup("<td></td>")
        for name, mark in zip(head, marks, strict=True)
    ]
    lines = [
        [Markup("<td{}>{}</td>").format(mark, shown(cell)) for cell, mark in zip(row, marks, strict=True)]
        for row in rows[:MOST_ROWS]
    ]
    body = Markup("").join(Markup("<tr>{}</tr>").format(Markup("").join(line)) for line in lines)
    more = paragraph(f"and {len(rows) - MOST_ROWS:,} more") if len(rows) > MOST_ROWS else Markup("")
    return Markup("<table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}").format(
        shown(caption), Markup("").join(names), body, more
    )


def shown(text: str) -> Markup:
    """Return a text escaped, on one line."""
    return escape(in_a_line(text))


def in_a_line(text: str) -> str:
    """Return a text whose marks that cannot be printed are written out."""
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)


class Drawing(str):
    """An SVG element that shows itself in a notebook, as wide as the page allows; elsewhere its text."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        head, _, marks = self.partition(">")  # its words are dark: on a dark page it needs a white ground
        return f'{head} style="max-width:100%;height:auto"><rect width="100%" height="100%" fill="#ffffff"/>{marks}'
