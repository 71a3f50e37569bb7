"""Forms of the service as hands move them: the sliders of a request, and the two forms of the metadata page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from discreet_service.app import create_app
from tests.acceptance.test_service_pages import PATIENCE_MS, Office, ask, metadata_text, open_to_analyst, person
from tests.serving import serving


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service whose analyst may ask of one data set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        office = Office(tmp_path_factory.mktemp("office"))
        with serving(create_app(office.settings)) as found:
            yield found


@pytest.fixture(scope="module")
def opened(browser: Browser, url: str) -> str:
    """Where the form of a request is."""
    open_to_analyst(browser, url, "live")
    return "/plan?dataset=live&target=visits"


def slider(page: Page, name: str) -> Locator:
    """The slider of a field, with the focus on it."""
    focused = page.locator(f"[data-slides={name}]")
    focused.focus()
    return focused


def test_the_slider_of_epsilon_moves_the_field_and_its_cost(browser: Browser, url: str, opened: str) -> None:
    """On a logarithmic scale, both ways; the cost is that of the field."""
    with person(browser, url, "analyst") as analyst:
        page = analyst.go(opened)
        field, cost = page.locator("#epsilon"), page.locator("#cost")
        slider(page, "epsilon").press("Home")
        expect(field).to_have_value("0.01")
        expect(cost).to_contain_text("This will spend epsilon 0.01 of")
        slider(page, "epsilon").press("End")
        expect(field).to_have_value("100")
        expect(cost).to_contain_text("It costs more than")
        field.fill("0.1")
        expect(slider(page, "epsilon")).to_have_value("-1")
        slider(page, "epsilon").press("ArrowRight")
        expect(field).to_have_value("0.11")  # 10 to the power of -.95, in two digits


def test_sliders_of_what_is_supposed_move_the_outlook(browser: Browser, url: str, opened: str) -> None:
    """Other rows and a larger part explained: what is expected is simulated anew with them."""
    with person(browser, url, "analyst") as analyst:
        page = analyst.go(opened)
        page.get_by_text("What the expected accuracy supposes").click()
        outlook = page.locator("#outlook")
        expect(outlook).to_contain_text("With 240 rows", timeout=PATIENCE_MS)
        expect(outlook).to_contain_text("50% of the target", timeout=PATIENCE_MS)
        slider(page, "r_squared").press("End")
        slider(page, "n_true").press("Home")
        slider(page, "n_rows").press("Home")
        slider(page, "n_rows").press("ArrowRight")
        for name, value in (("r_squared", "0.95"), ("n_true", "1"), ("n_rows", "130")):
            expect(page.locator(f"#{name}")).to_have_value(value)
        expect(outlook).to_contain_text("95% of the target", timeout=PATIENCE_MS)
        expect(outlook).to_contain_text("With 130 rows", timeout=PATIENCE_MS)


def test_cost_and_accuracy_fit_a_small_desk(browser: Browser, url: str, opened: str) -> None:
    """At 1280 by 800 the box needs no scrolling; what is opened in it stays open when the form changes."""
    with person(browser, url, "analyst", viewport={"width": 1280, "height": 800}) as analyst:
        page = analyst.go(opened)
        expect(page.locator("#outlook")).to_contain_text("Expected accuracy", timeout=PATIENCE_MS)
        box = page.locator(".sticky")
        heights = box.evaluate("box => [box.scrollHeight, box.clientHeight, innerHeight]")
        assert heights[0] <= heights[1] <= heights[2], heights
        page.locator("#epsilon").fill("50")  # the last of its curve is 200
        expect(page.locator(".outlook-curve")).to_contain_text("200", timeout=PATIENCE_MS)
        beyond = page.locator(".outlook-curve text").last.evaluate(
            "text => text.getBoundingClientRect().right - text.ownerSVGElement.getBoundingClientRect().right"
        )
        assert beyond <= 1, beyond
        expect(page.locator("#cost")).to_contain_text("Weak promise")
        heights = box.evaluate("box => [box.scrollHeight, box.clientHeight, innerHeight]")
        assert heights[0] <= heights[1] <= heights[2], heights
        expect(page.locator("#cost dl")).to_be_hidden()
        page.get_by_text("Noise", exact=True).first.click()
        expect(page.locator("#cost dl")).to_be_visible()
        page.locator("#epsilon").fill("0.25")
        expect(page.locator("#cost")).to_contain_text("This will spend epsilon 0.25 of")
        expect(page.locator("#cost dl")).to_be_visible()


def test_the_state_of_a_request_is_seen_on_a_phone(browser: Browser, url: str, opened: str) -> None:
    """In the list, without scrolling it; a data set's table has a column of meanings where one is declared."""
    with person(browser, url, "analyst", viewport={"width": 390, "height": 844}) as analyst:
        ask(analyst, "live", "0.25", "For the list.")
        page = analyst.go("/requests")
        place = page.locator("tbody .state").first.bounding_box()
        assert place is not None
        assert place["x"] + place["width"] <= 390
        page = analyst.go("/datasets/live")
        heads = page.get_by_role("region", name="Table of the columns").locator("thead th").all_inner_texts()
        assert heads == ["Column", "Type", "Range or levels", "Source of the bounds"]


def test_without_scripts_there_are_no_sliders(browser: Browser, url: str, opened: str) -> None:
    """A slider that moves nothing is not shown; the fields are."""
    with person(browser, url, "analyst", java_script_enabled=False) as analyst:
        page = analyst.go(opened)
        page.get_by_text("What the expected accuracy supposes").click()
        expect(page.locator("#epsilon")).to_be_visible()
        expect(page.locator("#n_rows")).to_be_visible()
        expect(page.locator("input[type=range]")).to_have_count(4)
        for found in page.locator("input[type=range]").all():
            expect(found).to_be_hidden()


@pytest.mark.parametrize("scripts", [True, False])
def test_metadata_from_a_header_to_what_can_be_used(browser: Browser, url: str, scripts: bool) -> None:
    """A header becomes metadata with blanks, whose faults are listed with their lines; without faults it is said."""
    with person(browser, url, "curator", java_script_enabled=scripts) as curator:
        page = curator.go("/metadata")
        text = page.locator("#metadata")
        curator.fill(header="age,income,site", dataset="my-data", unit="visitor", n_rows="many")
        curator.press("Write the metadata")
        curator.says("The public number of rows must be a whole number")
        curator.fill(n_rows="1,106")
        curator.press("Write the metadata")
        curator.says("These are the metadata of your header, with blanks.")
        written = text.input_value()
        for part in ("dataset: my-data", "unit: visitor", "neighboring: replace_one", "n_rows: 1106", "age:", "site:"):
            assert part in written
        curator.press("Check the metadata")
        curator.says("must be corrected.")
        lines = text.input_value().split("\n")
        faults = page.locator("#result tbody tr", has=page.locator(".failed"))
        places = [(row.locator("td").first.inner_text(), row.locator("th code").inner_text()) for row in faults.all()]
        assert [place for _, place in places] == ["columns.age", "columns.income", "columns.site"]
        for number, place in places:
            assert place.removeprefix("columns.") in lines[int(number) - 1]
        curator.fill(metadata=metadata_text("my-study"))
        curator.press("Check the metadata")
        curator.says("The metadata can be used: 4 columns")


def test_a_file_takes_the_place_of_the_text(browser: Browser, url: str, tmp_path: Path) -> None:
    """The file is checked, and nothing of an empty form."""
    with person(browser, url, "curator") as curator:
        page = curator.go("/metadata")
        curator.press("Check the metadata")
        curator.says("There is nothing to read: the field is empty.")
        curator.fill(metadata="no: metadata")
        file = tmp_path / "metadata.json"
        file.write_text(metadata_text("my-study"))
        page.locator("#file").set_input_files(file)
        curator.press("Check the metadata")
        curator.says("The metadata can be used: 4 columns")
