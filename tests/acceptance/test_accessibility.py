"""Reports, a plan's page and what notebooks show: no finding of axe-core's, nothing wider than the window.

At phone and desk width, light and dark.
"""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.acceptance.accessibility import NARROW, check_accessible, check_basics, check_letters
from tests.acceptance.test_notebooks import NOTEBOOKS, cells, run

WIDTHS = ({"width": 1280, "height": 900}, {"width": 375, "height": 740}, NARROW)


def check_file(browser: Browser, file: Path, *, scrolls: bool = False) -> None:
    """Check a page of a file at each width; a notebook scrolls what is wider than it."""
    page = browser.new_page()
    page.goto(file.as_uri())
    for size in WIDTHS:
        page.set_viewport_size(size)  # type: ignore[arg-type]
        if not scrolls:
            check_basics(page, file.name)
        if not scrolls and size != NARROW:
            check_letters(page, file.name)
        check_accessible(page, file.name)
    page.close()


def test_small_letters_and_cut_words_are_seen(browser: Browser) -> None:
    """Control: a picture that shrinks, and a cell too narrow for its word."""
    page = browser.new_page()
    shrunk = "<svg viewBox='0 0 900 20' style='width:300px'><text y=15 font-size=13>small</text></svg>"
    narrow = "<p style='width:2em;overflow-wrap:anywhere'>integer</p>"
    for body, what in ((shrunk, "small"), (narrow, "integer")):
        page.set_content(f"<html lang=en><title>t</title><main>{body}</main></html>")
        with pytest.raises(AssertionError, match=what):
            check_letters(page, "a page")
    page.set_content("<html lang=en><title>t</title><main><p>integer</p></main></html>")
    check_letters(page, "a page")
    page.close()


@pytest.mark.parametrize("audience", ["board", "analyst", "participant"])
def test_reports(browser: Browser, place: Any, audience: str) -> None:
    """Of a selection and of a fit, for each reader."""
    assert place.select("--out", "select.json").code == 0
    words = (
        "--data",
        place.data,
        "--metadata",
        place.metadata,
        "--ledger",
        place.ledger,
        "--target",
        "visits",
        "--yes",
    )
    assert place.run("fit", *words, "--columns", "age,site", "--epsilon", 2, "--out", "fit.json").code == 0
    moments = ("--method", "moments", "--delta", "1e-6", "--epsilon", 1, "--out", "moments.json")
    assert (
        place.run("budget", "grant", "clinic", "--epsilon", 10, "--delta", "1e-5", "--ledger", place.ledger).code == 0
    )
    assert place.run("select", *words, *moments).code == 0
    for name in ("select", "fit", "moments"):
        done = place.run("report", f"{name}.json", "--audience", audience, "--out", f"{name}.html")
        assert done.code == 0, done
        check_file(browser, place.folder / f"{name}.html")


def test_the_page_of_a_plan(browser: Browser, place: Any) -> None:
    """With its sliders."""
    words = ("--metadata", place.metadata, "--target", "visits", "--tables", 2, "--epsilon", "0.5,1")
    done = place.run("plan", *words, "--candidates", "age,income", "--method", "pcls", "--alone", "--out", "plan.html")
    assert done.code == 0, done
    check_file(browser, place.folder / "plan.html")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_notebooks_show(browser: Browser, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All views of a notebook in one page, as a notebook puts them one below the other."""
    monkeypatch.chdir(tmp_path)
    names, views = {"__name__": "__main__"}, []
    for code in cells(path):
        value = run(code, names)
        view = getattr(value, "_repr_html_", None) or getattr(value, "_repr_svg_", None)
        if view is not None and type(value).__module__.startswith("discreet"):
            views.append(f"<section>{view()}</section>")
    file = tmp_path / "views.html"
    head = "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>views</title></head>"
    file.write_text(f"{head}<body><main><h1>Views</h1>{''.join(views)}</main></body></html>")
    check_file(browser, file, scrolls=True)
