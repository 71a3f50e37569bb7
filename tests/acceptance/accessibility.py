"""axe-core's verdict on a page, light and dark, and what every page must have."""

from functools import cache
from typing import TYPE_CHECKING, Any

from axe_playwright_python.sync_playwright import Axe

from tests.effort import either

if TYPE_CHECKING:
    from playwright.sync_api import Page


@cache
def _script() -> str:
    return str(Axe().axe_script)


def violations(page: "Page", options: dict[str, Any]) -> list[dict[str, Any]]:
    """What axe-core finds on a page, which keeps the script for a second look."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_script())
    found: list[dict[str, Any]] = page.evaluate(
        "options => axe.run(document, options).then(result => result.violations)", options
    )
    return found


NARROW = {"width": 320, "height": 568}
"""The narrowest window that a page must fit: WCAG 2.2, 1.4.10."""

TARGETS = {"rules": {"target-size": {"enabled": True}}, "resultTypes": ["violations"]}
"""What can be pressed has 24 pixels, or as much room around it: WCAG 2.2, 2.5.8, which axe-core leaves out."""

COLORS = {"runOnly": ["color-contrast", "link-in-text-block"], "resultTypes": ["violations"]}
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


SMALL_LETTERS = """() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const words = walker.currentNode.textContent.trim(), parent = walker.currentNode.parentElement;
    const box = parent.getBoundingClientRect(), picture = parent.closest("svg");
    if (!words || box.width < 2 || box.height < 2 || parent.closest("script, style, noscript")) continue;
    const drawn = picture?.viewBox.baseVal?.width, scale = drawn ? picture.getBoundingClientRect().width / drawn : 1;
    const size = scale * parseFloat(getComputedStyle(parent).fontSize);
    if (size < LEAST) found.push([words.slice(0, 40), size]);
  }
  return found;
}"""
"""Texts smaller than some pixels, in pictures too, which shrink on a phone."""

BROKEN_WORDS = r"""() => {
  const found = [], range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const unseen = element => element && (getComputedStyle(element).clipPath !== "none" || unseen(element.parentElement));
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.parentElement.closest("svg, code, pre, script, style") || unseen(text.parentElement)) continue;
    for (const word of text.textContent.matchAll(/\p{L}+|\p{N}[\p{N}.,]*/gu)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) found.push(word[0]);
    }
  }
  return found;
}"""
"""Words and numbers that a line's end cuts in two."""


def check_letters(page: "Page", name: str, least: float = 12.0) -> None:
    """Fail where a letter is smaller than `least` pixels, or where a word or a number is cut in two."""
    small = page.evaluate(SMALL_LETTERS.replace("LEAST", f"{least - 0.05}"))
    assert not small, (name, page.viewport_size, small[:5])
    broken = page.evaluate(BROKEN_WORDS)
    assert not broken, (name, page.viewport_size, broken[:10])


def check_accessible(page: "Page", name: str) -> None:
    """Fail with axe-core's findings on a page, at its present width, light and dark."""
    findings = {}
    for scheme, options in (("dark", either(COLORS, TARGETS)), ("light", TARGETS)):
        # Without motion: a colour on its way to another is neither.
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        for violation in violations(page, options):
            nodes = [(node["html"][:150], node.get("failureSummary", "")[:300]) for node in violation["nodes"][:4]]
            findings[scheme, violation["id"]] = nodes
    assert not findings, (name, page.viewport_size, findings)
