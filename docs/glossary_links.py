"""Link the first use of each of the glossary's terms on a page to its definition.

The terms are the first column of the tables of `glossary.md`. Headings, code, links and the glossary itself stay as
they are, and so do words that every page uses in their everyday sense.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

GLOSSARY = "glossary"
EVERYDAY = frozenset(("model", "score", "request", "plan", "outcome", "claim", "threshold", "levels", "target", "slot"))
LEFT = (nodes.title, nodes.literal, nodes.literal_block, nodes.reference, nodes.caption, nodes.raw, nodes.math)


def anchor(term: str) -> str:
    """Return the anchor of a term in the glossary."""
    return "term-" + re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def terms_of(cell: str) -> list[str]:
    """Return the words that a cell of the glossary defines: `epsilon, delta` are two, brackets add a short form."""
    parts = re.split(r",\s*|\s*\(|\)", cell.removeprefix("to "))
    return [part for part in map(str.strip, parts) if part and part not in EVERYDAY]


def mark(app: Sphinx, tree: nodes.document) -> None:
    """Give each term of the glossary an anchor, and remember it."""
    if app.env.docname != GLOSSARY:
        return
    known: dict[str, str] = {}
    for row in tree.findall(nodes.row):
        cell = row.children[0]
        if isinstance(row.parent, nodes.tbody):
            name = anchor(cell.astext())
            cell["ids"].append(name)
            known |= dict.fromkeys(terms_of(cell.astext()), name)
    app.env.discreet_terms = known  # type: ignore[attr-defined]


def link(app: Sphinx, tree: nodes.document, docname: str) -> None:
    """Link the first use of each term in the text of a page."""
    known = dict(getattr(app.env, "discreet_terms", {}))
    if docname == GLOSSARY or not known:
        return
    for text in list(tree.findall(nodes.Text)):
        if not _is_prose(text) or not known:
            continue
        words = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        parts = _linked(app, docname, str(text), re.compile(rf"(?<![\w-])({words})(?![\w-])", re.IGNORECASE), known)
        if len(parts) > 1:
            text.parent.replace(text, parts)


def _is_prose(text: nodes.Text) -> bool:
    node: Any = text.parent
    is_prose = False
    while node is not None:
        if isinstance(node, LEFT) or "desc" in node.tagname:
            return False
        is_prose = is_prose or isinstance(node, nodes.paragraph)
        node = node.parent
    return is_prose


def _linked(app: Sphinx, docname: str, text: str, pattern: re.Pattern[str], known: dict[str, str]) -> list[nodes.Node]:
    """Return the parts of a text, terms that have not been met on the page as links."""
    parts: list[nodes.Node] = []
    done = 0
    for match in pattern.finditer(text):
        name = known.pop(match[1].lower(), None) or known.pop(match[1], None)
        if name is None:
            continue
        for other in [term for term, place in known.items() if place == name]:
            del known[other]
        target = app.builder.get_relative_uri(docname, GLOSSARY) + f"#{name}"
        parts += [nodes.Text(text[done : match.start()])] if match.start() > done else []
        parts.append(nodes.reference("", match[1], refuri=target, internal=True, classes=["glossary-term"]))
        done = match.end()
    return [*parts, nodes.Text(text[done:])] if parts else [nodes.Text(text)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register both steps."""
    app.connect("doctree-read", mark)
    app.connect("doctree-resolved", link)
    return {"version": "1", "parallel_read_safe": False, "env_version": 1}
