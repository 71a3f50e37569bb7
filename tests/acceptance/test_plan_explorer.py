"""The sliders of a plan's page: what they show is what was simulated, and nothing but the page's own script runs."""

import hashlib
import json
import re
from base64 import b64encode
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from discreet.report.explorer import EPSILON_MARK, explored, script, script_policy
from discreet.report.studies import Heading, study_page

HOSTILE = "</script><script>document.title='broken'</script>"


def line(rival: str, epsilon: float, right: float, *, n_rows: int = 100, scenario: str = "A") -> dict[str, object]:
    """One simulated figure."""
    return {
        "rival": rival,
        "epsilon": epsilon,
        "n_rows": n_rows,
        "scenario": scenario,
        "right": right,
        "overlap": right,
        "error": 0.01,
    }


def page_of(names: tuple[str, str] = ("first", "second")) -> str:
    """A page of two selections: one is better at epsilon .5, the other at 2, and with 400 rows."""
    low, high = names
    figures = [
        *(line(low, 0.5, 0.4), line(low, 2.0, 0.5), line(high, 0.5, 0.1), line(high, 2.0, 0.9)),
        *(line(low, epsilon, 0.2, n_rows=400) for epsilon in (0.5, 2.0)),
        *(line(high, epsilon, 1.0, n_rows=400) for epsilon in (0.5, 2.0)),
    ]
    commands = {name: f"discreet select --method {name} --epsilon {EPSILON_MARK}" for name in names}
    explorer = explored(figures, {"A": "as stated"}, commands)
    return study_page([], {}, Heading("a plan", "A plan", (), marked=False), None, explorer)


@pytest.fixture
def page(browser: Browser) -> Page:
    """A page that fails at any error of a script."""
    opened = browser.new_page()
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    return opened


def move(page: Page, name: str, place: int) -> None:
    """Move a slider, as a key does."""
    slider = page.locator(f"#explorer-{name}")
    slider.focus()
    slider.press("Home")
    for _ in range(place):
        slider.press("ArrowRight")


def test_sliders_show_the_best_selection_and_its_command(page: Page, tmp_path: Path) -> None:
    """At each place the selection with the largest overlap, its chance, and its command at that epsilon."""
    file = tmp_path / "plan.html"
    file.write_text(page_of())
    page.goto(file.as_uri())
    places = ((0, 0, "first", "about 40 of 100 simulated tables"), (1, 0, "second", "about 90 of 100 simulated tables"))
    for epsilon, rows, name, chance in (*places, (0, 1, "second", "all simulated tables")):
        move(page, "epsilon", epsilon)
        move(page, "rows", rows)
        expect(page.locator("#explorer-answer")).to_contain_text(
            f"Best here: {name}. It selects exactly the right columns"
        )
        expect(page.locator("#explorer-answer")).to_contain_text(f" in {chance} (two standard errors")
        expect(page.locator("#explorer-command")).to_have_text(
            f"discreet select \\ --method {name} \\ --epsilon {(0.5, 2)[epsilon]}"
        )
    assert page.locator("#explorer-curves polyline").count() == 2
    assert page.locator("#explorer-scenario").count() == 0  # what has one value has no slider


def test_a_tie_goes_to_what_does_better_elsewhere(page: Page, tmp_path: Path) -> None:
    """As in what the page recommends: alike at this epsilon, the other epsilons decide, whatever the order."""
    figures = [line(name, 2.0, 0.9) for name in ("first", "second")] + [
        line("first", 0.5, 0.1),
        line("second", 0.5, 0.3),
    ]
    commands = {name: f"discreet select --method {name} --epsilon {EPSILON_MARK}" for name in ("first", "second")}
    file = tmp_path / "plan.html"
    heading = Heading("a plan", "A plan", (), marked=False)
    file.write_text(study_page([], {}, heading, None, explored(figures, {"A": "as stated"}, commands)))
    page.goto(file.as_uri())
    move(page, "epsilon", 1)
    expect(page.locator("#explorer-answer")).to_contain_text("Best here: second.")


def test_a_near_tie_goes_to_what_does_better_on_unkind_tables(page: Page, tmp_path: Path) -> None:
    """As in what the page recommends; what is further behind is not asked, however well it does there."""
    names = ("first", "second", "third")
    figures = [line(name, 2.0, right) for name, right in zip(names, (0.9, 0.85, 0.84), strict=True)]
    figures += [line(name, 0.5, right) for name, right in zip(names, (0.3, 0.2, 0.1), strict=True)]
    commands = {name: f"discreet select --method {name} --epsilon {EPSILON_MARK}" for name in names}
    on_unkind = {"first": 0.2, "second": 0.6, "third": 0.9}
    file = tmp_path / "plan.html"
    heading = Heading("a plan", "A plan", (), marked=False)
    explorer = explored(figures, {"A": "as stated"}, commands, on_unkind, 0.05)
    file.write_text(study_page([], {}, heading, None, explorer))
    page.goto(file.as_uri())
    for place, name in ((1, "second"), (0, "first")):
        move(page, "epsilon", place)
        expect(page.locator("#explorer-answer")).to_contain_text(f"Best here: {name}.")


def test_letters_keep_their_size_on_a_phone(page: Page, tmp_path: Path) -> None:
    """The picture shrinks with the window, its labels do not, and none leaves it."""
    file = tmp_path / "plan.html"
    file.write_text(page_of())
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(file.as_uri())
    box = page.locator("#explorer-curves").bounding_box()
    labels = page.locator("#explorer-curves text").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().toJSON())"
    )
    assert labels
    assert min(label["height"] for label in labels) >= 11
    assert all(label["left"] >= box["x"] - 1 and label["bottom"] <= box["y"] + box["height"] + 1 for label in labels)


def test_no_name_runs(page: Page, tmp_path: Path) -> None:
    """A name that would end the data and begin a script is text."""
    file = tmp_path / "plan.html"
    file.write_text(page_of((HOSTILE, "second")))
    page.goto(file.as_uri())
    expect(page.locator("#explorer-command")).to_contain_text("--method")
    assert page.title() == "A plan"


def test_no_other_script_runs(page: Page, tmp_path: Path) -> None:
    """The page's policy names the one script by its digest; control: another in the page does not run."""
    text = page_of()
    digest = b64encode(hashlib.sha256(str(script()).encode()).digest()).decode()
    assert f"'sha256-{digest}'" in script_policy() in unescape(text)
    file = tmp_path / "plan.html"
    file.write_text(text.replace("</main>", "</main><script>document.title='broken'</script>"))
    page.goto(file.as_uri())
    assert page.title() == "A plan"


def test_the_command_writes_the_sliders(place) -> None:
    """All that was simulated is in the page, with a command for each selection that may be recommended."""
    out = place.folder / "plan.html"
    words = ("--metadata", place.metadata, "--target", "visits", "--out", out, "--tables", 2, "--epsilon", "0.5,1")
    done = place.run("plan", *words, "--candidates", "age,income", "--method", "pcls", "--alone")
    assert done.code == 0, done
    data = json.loads(re.search(r'id="explorer-data">(.*?)</script>', out.read_text())[1])
    assert data["epsilons"] == [0.5, 1.0]
    assert {each["rival"] for each in data["figures"]} >= set(data["commands"])
    assert all(command.startswith("discreet select ") for command in data["commands"].values())
