"""axe-core's verdict on a page, light and dark."""

from functools import cache
from typing import TYPE_CHECKING

from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import Page


@cache
def _axe() -> Axe:
    return Axe()


def check_accessible(page: "Page", name: str) -> None:
    """Fail with axe-core's findings on a page, at its present width, light and dark."""
    findings = {}
    for scheme in ("dark", "light"):
        # Without motion: a colour on its way to another is neither.
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        for violation in _axe().run(page).response["violations"]:
            nodes = [(node["html"][:150], node.get("failureSummary", "")[:300]) for node in violation["nodes"][:4]]
            findings[scheme, violation["id"]] = nodes
    assert not findings, (name, page.viewport_size, findings)
