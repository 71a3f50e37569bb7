"""The documentation as a place: every page leads on, every picture is there, every term is linked."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
ENDS = {"index.md", "reference/commands.md"}
"""The landing page leads everywhere; commands are made of what other pages explain."""
LEADS_ON = re.compile(r"^(Next: .*\[|## (Next|Where to go next)$)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_a_page_names_the_next_step(page):
    """Whoever has read a page is told where to go on."""
    assert str(page.relative_to(DOCS)) in ENDS or LEADS_ON.search(page.read_text())


def test_the_gallery_shows_what_its_command_draws():
    """Each picture of the folder is on the page, has words for those who do not see it, and no script."""
    shown = re.findall(r"!\[([^]]+)\]\(gallery/([\w-]+\.svg)\)", (DOCS / "gallery.md").read_text())
    assert {name for _, name in shown} == {path.name for path in (DOCS / "gallery").iterdir()}
    for words, name in shown:
        text = (DOCS / "gallery" / name).read_text()
        assert len(words) > 20
        assert "aria-label=" in text
        assert "<script" not in text


def test_the_first_use_of_a_term_is_linked(monkeypatch):
    """Once a page, in prose alone; code and headings stay."""
    monkeypatch.syspath_prepend(str(DOCS))
    import glossary_links
    from docutils import nodes
    from docutils.core import publish_doctree

    tree = publish_doctree("Title of epsilon\n================\n\nWith epsilon, then ``epsilon`` and Epsilon again.\n")
    environment = SimpleNamespace(discreet_terms={"epsilon": "term-epsilon-delta", "delta": "term-epsilon-delta"})
    builder = SimpleNamespace(get_relative_uri=lambda page, to: f"{to}.html")
    glossary_links.link(SimpleNamespace(env=environment, builder=builder), tree, "page")
    (link,) = tree.findall(nodes.reference)
    assert (link.astext(), link["refuri"]) == ("epsilon", "glossary.html#term-epsilon-delta")
    assert tree.astext().endswith("With epsilon, then epsilon and Epsilon again.")


def test_a_page_is_described_by_its_first_sentences(monkeypatch):
    """Whole ones that fit, of the text and not of a table; what a page states itself stays; marks are escaped."""
    monkeypatch.syspath_prepend(str(DOCS))
    import page_descriptions
    from docutils.core import publish_doctree

    application = SimpleNamespace(config=SimpleNamespace(project="Discreet"))

    def described(text, **context):
        title = "Title\n=====\n\n"
        page_descriptions.describe(application, "page", "page.html", context, publish_doctree(title + text))
        return context["metatags"]

    long = "Word " * 60
    assert 'content="Title. One &quot;two&quot;. Three."' in described('One "two". Three.', title="<b>Title</b>")
    assert f'content="{"Word " * 34}Word..."' in described(f"{long}.")
    assert f'content="{"A" * 80}."' in described(f"{'A' * 80}. {'B' * 120}.\n\nMore.")
    assert described("Text.", metatags='<meta name="description" content="own">').count("description") == 1
    assert "Documentation of Discreet." in described("")
