"""Give the headings of the menu their level, which a page's reader needs and Sphinx leaves out."""

from typing import Any

from sphinx.application import Sphinx

HEADING = 'role="heading"'


def level(_app: Sphinx, _name: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    """Add the level to each heading of a page's menu."""
    menu = str(context.get("furo_navigation_tree", ""))
    context["furo_navigation_tree"] = menu.replace(f"{HEADING}>", f'{HEADING} aria-level="2">')


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the step: after the theme has made the menu."""
    app.connect("html-page-context", level, priority=900)
    return {"version": "1", "parallel_read_safe": True}
