"""Give each page of the documentation a description, as search engines show it: its first sentences."""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

MOST = 180
"""Characters of a description: whole sentences of a page's first paragraph, or the words of the first that fit."""

FEW = 70
"""A shorter description names the page's title, too."""


def describe(app: Sphinx, _name: str, _template: str, context: dict[str, Any], tree: nodes.document | None) -> None:
    """Add the description of a page to its head, unless the page states its own."""
    metatags = str(context.get("metatags", ""))
    if 'name="description"' not in metatags:
        title = re.sub("<[^>]+>", "", str(context.get("title") or app.config.project))
        text = first_sentences(tree) or f"Documentation of {app.config.project}."
        text = text if len(text) >= FEW else f"{title}. {text}"
        context["metatags"] = f'{metatags}<meta name="description" content="{escape(text)}">\n'


def first_sentences(tree: nodes.document | None) -> str:
    """Return the start of a page's own text, in at most `MOST` characters; empty where it has none."""
    paragraphs = tree.findall(nodes.paragraph) if tree is not None else ()
    texts = (
        " ".join(each.astext().split())
        for each in paragraphs
        if isinstance(each.parent, nodes.section | nodes.document)
    )
    first, *others = re.split(r"(?<=[.!?]) (?=[A-Z])", next(filter(None, texts), ""))
    if len(first) > MOST:
        return first[: MOST - 3].rpartition(" ")[0].rstrip(",;:") + "..."
    for sentence in others:
        if len(first) + 1 + len(sentence) > MOST:
            break
        first += f" {sentence}"
    return re.sub("[:,]$", ".", first)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the step."""
    app.connect("html-page-context", describe)
    return {"version": "1", "parallel_read_safe": True}
