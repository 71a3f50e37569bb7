"""axe-core's verdict on a page, light and dark, and what every page must have."""

from functools import cache
from typing import TYPE_CHECKING

from axe_playwright_python.sync_playwright import Axe

from tests.effort import either

if TYPE_CHECKING:
    from playwright.sync_api import Page


@cache
def _axe() -> Axe:
    return Axe()


NARROW = {"width": 320, "height": 568}
"""The narrowest window that a page must fit: WCAG 2.2, 1.4.10."""

TARGETS = {"rules": {"target-size": {"enabled": True}}}
"""What can be pressed has 24 pixels, or as much room around it: WCAG 2.2, 2.5.8, which axe-core leaves out."""

COLORS = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""Rules that look at colors: all that a dark page can break and a light one keeps."""


def check_basics(page: "Page", name: str) -> None:
    """Fail unless a page has a title, a language, a description and one first heading, and fits the window it is in."""
    head = page.evaluate("""() => {
      const named = name => document.querySelector(`meta[name=${name}]`)?.content ?? "";
      return {title: document.title, language: document.documentElement.lang, description: named("description"),
        viewport: named("viewport"), headings: document.querySelectorAll("h1").length,
        width: document.documentElement.scrollWidth, window: window.innerWidth};
    }""")
    assert len(head["title"]) > 3, (name, head)
    assert head["language"] == "en", (name, head)
    assert len(head["description"]) > 20, (name, head)
    assert "width=device-width" in head["viewport"], (name, head)
    assert "user-scalable" not in head["viewport"], (name, head)
    assert "maximum-scale" not in head["viewport"], (name, head)
    assert head["headings"] == 1, (name, head)
    assert head["width"] <= head["window"], f"{name} is {head['width']} pixels wide in a window of {head['window']}"


def check_accessible(page: "Page", name: str) -> None:
    """Fail with axe-core's findings on a page, at its present width, light and dark."""
    findings = {}
    for scheme, options in (("dark", either(COLORS, TARGETS)), ("light", TARGETS)):
        # Without motion: a colour on its way to another is neither.
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        for violation in _axe().run(page, options=options).response["violations"]:
            nodes = [(node["html"][:150], node.get("failureSummary", "")[:300]) for node in violation["nodes"][:4]]
            findings[scheme, violation["id"]] = nodes
    assert not findings, (name, page.viewport_size, findings)
