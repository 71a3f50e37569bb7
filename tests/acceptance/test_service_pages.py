"""The pages as people use them: a real server, a real browser, with scripts and without, by mouse and by keyboard."""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect

from discreet_service.access.roles import Role
from discreet_service.app import create_app
from discreet_service.context import open_context
from discreet_service.schemas import UserIn
from discreet_service.settings import Settings, read_settings
from discreet_service.setup import set_up
from discreet_service.use_cases import people as accounts
from discreet_service.worker.loop import work
from tests.acceptance.accessibility import NARROW, check_accessible, check_basics, check_letters
from tests.acceptance.conftest import METADATA
from tests.acceptance.conftest import people as rows
from tests.effort import either
from tests.serving import serving

SHOTS = os.environ.get("DISCREET_SCREENSHOTS")
"""A folder for pictures of every page, for people to look at."""

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 375, "height": 740}
WINDOWS = {"desktop": (DESKTOP, "light"), "phone": (PHONE, "light"), "dark": (DESKTOP, "dark")}
PASSWORD = "four quiet words here"  # noqa: S105 - of accounts that live as long as this test
SLOT_S = 15
"""Seconds; a computation takes two or three, most of them to start."""
TABLES = ("clinic-true", "clinic-false", "twice", "live", "keys-only", "shown")
"""Data sets, each of a table of its own: one table has one budget."""
HOSTILE = "<script>alert(1)</script>"
ON_ERROR = '"><img src=x onerror=alert(2)>'
DRAWN = "<svg onload=alert(3)>"
PATIENCE_MS = 60_000
ADDRESSES = "all => all.map(one => one.getAttribute('href'))"
"""Where links lead, to be asked of all of them at once."""


class Office:
    """A service with one person of each role, and a folder of private tables."""

    def __init__(self, folder: Path) -> None:
        made = set_up(folder, slot_s=SLOT_S, is_demo=True)
        self.settings: Settings = read_settings(made.file).model_copy(update={"rate_per_minute": 100_000})
        for name in TABLES:
            pyarrow.parquet.write_table(rows(), folder / "private" / f"{name}.parquet")
        strange = rows().rename_columns([HOSTILE, ON_ERROR, DRAWN, "visits"])
        pyarrow.parquet.write_table(strange, folder / "private" / "strange.parquet")
        with open_context(self.settings) as context:
            for role in Role:
                if role is not Role.ADMIN:
                    accounts.add_account(context, "test", UserIn(name=role.value, role=role, password=PASSWORD))
            accounts.add_account(context, "test", UserIn(name="boss", role=Role.ADMIN, password=PASSWORD))

    def work(self) -> None:
        """Answer what is approved, as a worker does."""
        with open_context(self.settings) as context:
            work(context, once=True)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """One service for all tests: each leaves it with more in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield Office(tmp_path_factory.mktemp("office"))


@pytest.fixture(scope="module")
def url(office: Office) -> Iterator[str]:
    """Where it is served."""
    with serving(create_app(office.settings)) as found:
        yield found


class Person:
    """Somebody with a browser; whatever the browser complains of is kept."""

    def __init__(self, browser: Browser, url: str, name: str, **options: Any) -> None:
        self.context: BrowserContext = browser.new_context(**({"viewport": DESKTOP} | options))
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.url, self.name = url, name
        self.complaints: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dialog)

    def _console(self, message: Any) -> None:
        # A form that is refused has the status of a refusal, which the browser notes as an error of its own; and a page
        # that is left ends its calls.
        usual = ("the server responded with a status of 4", "htmx:afterRequest", "htmx:sendError", "htmx:sendAbort")
        if message.type in ("error", "warning") and not any(words in message.text for words in usual):
            self.complaints.append(message.text)

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, path: str) -> Page:
        """Open a page, when the one that is left is gone: a request's page loads itself anew when there is news."""
        for _ in range(5):
            with suppress(Error):
                self.page.goto("about:blank")
                answer = self.page.goto(self.url + path)
                assert answer is not None
                assert answer.status < 500, path
                return self.page
        raise AssertionError(f"{path} could not be opened")

    def sign_in(self) -> "Person":
        """Sign in with name and password."""
        self.go("/sign-in")
        self.page.get_by_label("Name").fill(self.name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("button", name="Sign out")).to_be_visible()
        return self

    def press(self, name: str) -> None:
        """Press a button or follow a link of this name."""
        found = self.page.get_by_role("button", name=name, exact=True)
        (found if found.count() else self.page.get_by_role("link", name=name, exact=True)).first.click()

    def says(self, text: str) -> None:
        """Check that the page says something."""
        expect(self.page.get_by_text(text).first).to_be_visible(timeout=PATIENCE_MS)

    def fill(self, **fields: str) -> None:
        """Fill in fields by their names."""
        for name, value in fields.items():
            self.page.locator(f"[name={name}]:not([type=hidden])").fill(value)

    def leave(self) -> None:
        """Close the browser, which must have had nothing to complain of."""
        self.context.close()
        assert self.complaints == []


@contextmanager
def person(browser: Browser, url: str, name: str, **options: Any) -> Iterator[Person]:
    """Somebody signed in, for a while."""
    found = Person(browser, url, name, **options).sign_in()
    yield found
    found.leave()


def metadata_text(dataset: str, **changes: Any) -> str:
    """Metadata as a curator pastes them."""
    return json.dumps({**METADATA, "dataset": dataset, **changes})


def open_to_analyst(browser: Browser, url: str, dataset: str, **options: Any) -> None:
    """A curator registers a data set, gives it a cap, and a project an allotment; all through the pages."""
    text = options.pop("metadata", metadata_text(dataset))
    with person(browser, url, "curator", **options) as curator:
        curator.go("/register")
        curator.fill(metadata=text, data_path=f"{dataset}.parquet")
        curator.press("Register")
        curator.says("The data set is registered.")
        curator.press("Set a cap")
        curator.fill(epsilon="3", delta="1e-5")
        curator.press("Continue")
        curator.says("The cap is not refilled by time.")
        curator.press("Set the cap")
        curator.says("The cap is set.")
        curator.go("/projects")
        if not curator.page.get_by_role("heading", name="demo", exact=True).count():
            curator.fill(project="demo")
            curator.page.get_by_label("analyst").last.check()
            curator.press("Create the project")
            curator.says("The members are saved.")
        curator.go(f"/datasets/{dataset}")
        curator.page.get_by_label("Project", exact=True).select_option("demo")
        curator.fill(epsilon="2", delta="1e-6")
        curator.press("Set the allotment")
        curator.says("The allotment is set.")


def ask(analyst: Person, dataset: str, epsilon: str, purpose: str, method: str = "pcls") -> str:
    """Plan and make a request; return where its page is."""
    analyst.go(f"/plan?dataset={dataset}&target=visits")
    analyst.page.locator(f"[name=method][value={method}]").check()
    analyst.fill(epsilon=epsilon, purpose=purpose)
    analyst.press("Show cost")
    analyst.says(f"This will spend epsilon {epsilon} of the")
    analyst.press("Ask for this")
    analyst.says("It waits for a curator's decision.")
    return analyst.page.url.removeprefix(analyst.url).partition("?")[0]


def approve(curator: Person, path: str) -> None:
    """Read a request and approve it."""
    curator.go(path)
    curator.fill(comment="Fits the plan of the study.")
    curator.press("Approve")
    curator.says("The request is approved, and its cost is charged.")


@pytest.mark.parametrize("scripts", [True, False])
def test_from_table_to_release(browser: Browser, url: str, office: Office, scripts: bool) -> None:
    """Registered, granted, planned, asked, approved, answered and read: all of it through pages, scripts on or off."""
    dataset, options = f"clinic-{scripts}".lower(), {"java_script_enabled": scripts}
    open_to_analyst(browser, url, dataset, **options)
    with person(browser, url, "analyst", **options) as analyst:
        path = ask(analyst, dataset, "0.5", "A test of the whole way.")
        with person(browser, url, "curator", **options) as curator:
            curator.go("/inbox")
            curator.says("A test of the whole way.")
            curator.says(f"This would spend epsilon 0.5 of the 3 left of {dataset} (project demo: 2 of 2)")
            approve(curator, path)
        analyst.says("It is approved and charged, and waits for its turn.")
        office.work()
        analyst.says("It was answered.")  # the open page has found that out by itself
        analyst.press("Read the release")
        analyst.says("What is promised")
        analyst.says("3 candidate columns")
        pictures = analyst.page.locator("figure img")
        assert pictures.count() >= 3
        if scripts:
            analyst.page.wait_for_load_state("load")
            assert pictures.evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 0)")
        for name, ending in (("Results (CSV)", ".csv"), ("For participants (PDF)", "-participant.pdf")):
            with analyst.page.expect_download() as kept:
                analyst.press(name)
            assert kept.value.suggested_filename.endswith(ending)
        analyst.go(f"/datasets/{dataset}")
        analyst.says("2.5 left")
        analyst.says("reserve")


def test_same_form_twice(browser: Browser, url: str) -> None:
    """Sent again, by going back, the same form leads to the request that it made."""
    open_to_analyst(browser, url, "twice")
    with person(browser, url, "analyst") as analyst:
        path = ask(analyst, "twice", "0.25", "once")
        analyst.go(f"{path}/revision")
        analyst.fill(epsilon="0.75")
        analyst.press("Change the request")
        analyst.says("The request is changed.")
        analyst.says("epsilon 0.75")
        analyst.press("Withdraw it")
        analyst.says("The request is withdrawn.")


def test_cost_follows_the_form(browser: Browser, url: str) -> None:
    """With scripts, the cost and what it leaves change while one types; what cannot be afforded is said."""
    open_to_analyst(browser, url, "live")
    with person(browser, url, "analyst") as analyst:
        analyst.go("/plan?dataset=live&target=visits")
        analyst.fill(epsilon="1.5")
        cost = analyst.page.locator("#cost")
        expect(cost).to_contain_text("This will spend epsilon 1.5 of the 3 left of live")
        expect(cost).to_contain_text("left after 0.5")
        analyst.fill(epsilon="2.5")
        expect(cost).to_contain_text("It costs more than the 2 that is left for project demo")
        analyst.fill(epsilon="much")
        expect(cost).to_contain_text("epsilon must be a number, but epsilon='much'")
        analyst.fill(epsilon="1")
        analyst.press("None")
        expect(cost).not_to_contain_text("must be a number")
        analyst.press("All")
        expect(cost).to_contain_text("Chosen among8")
        expect(analyst.page.locator("#outlook")).to_contain_text(
            "It selects exactly the right columns", timeout=PATIENCE_MS
        )
        expect(analyst.page.locator("#outlook")).to_contain_text("at most 2.72 times")
        analyst.press("Compare methods")
        expect(analyst.page.locator("#accuracy img")).to_be_visible(timeout=PATIENCE_MS)
        assert analyst.page.locator("#accuracy img").evaluate("img => img.decode().then(() => img.naturalWidth)") > 100


def test_keyboard_alone(browser: Browser, url: str) -> None:
    """From signing in to a request without a mouse: focus is seen, in order, and every control is named."""
    open_to_analyst(browser, url, "keys-only")
    analyst = Person(browser, url, "analyst")
    page = analyst.go("/sign-in?next=/plan?dataset=keys-only%26target=visits")
    page.keyboard.type("analyst")  # the first field has the focus
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    analyst.says("Plan a request")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    reach(page, "[name=method]:checked")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    reach(page, "[name=epsilon]")
    page.keyboard.press("Control+a")
    page.keyboard.type("0.125")
    expect(page.locator("#cost")).to_contain_text("This will spend epsilon 0.125")
    reach(page, "[name=purpose]")
    page.keyboard.type("by keyboard")
    reach(page, "button.main")
    page.keyboard.press("Enter")
    analyst.says("It waits for a curator's decision.")
    analyst.says("by keyboard")
    analyst.leave()


def reach(page: Page, selector: str) -> None:
    """Go on by the tab key until the focus is there, and is seen."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    pytest.fail(f"the tab key never reached {selector}")


def test_stored_texts_stay_texts(browser: Browser, url: str, office: Office) -> None:
    """Scripts, handlers and drawings in whatever people may write run nowhere, and show as what was written."""
    names = (HOSTILE, ON_ERROR, DRAWN)
    old = METADATA["columns"]
    told = {name: f"{HOSTILE}{ON_ERROR}{DRAWN} in {name}" for name in ("source", "description")}
    columns = {name: {**old[kind], **told} for name, kind in zip(names, ("age", "income", "site"), strict=True)}
    columns["visits"] = {**old["visits"], **told}
    columns[DRAWN]["levels"] = ["north", "south", "west"]
    text = metadata_text("strange", unit=f"person{HOSTILE}", description=f"{HOSTILE} {ON_ERROR}", columns=columns)
    open_to_analyst(browser, url, "strange", metadata=text)
    with person(browser, url, "boss") as boss:
        boss.go("/users")
        boss.fill(name="hostile", shown=f"{HOSTILE}{ON_ERROR}", subject=f"{DRAWN}{time.time_ns()}")
        boss.press("Create the account")
        boss.says(f"{HOSTILE}{ON_ERROR}")
    with person(browser, url, "analyst") as analyst, person(browser, url, "curator") as curator:
        analyst.go("/keys")
        analyst.fill(label=f"{HOSTILE}{ON_ERROR}")
        analyst.press("Create a key")
        analyst.says(f"{HOSTILE}{ON_ERROR}")
        refused = ask(analyst, "strange", "0.5", f"{HOSTILE} {ON_ERROR} {DRAWN}")
        curator.go(refused)
        curator.says(f"{HOSTILE} {ON_ERROR} {DRAWN}")
        curator.fill(comment=f"{HOSTILE} {ON_ERROR} {DRAWN}")
        curator.press("Reject")
        curator.says("The request is rejected.")
        answered = ask(analyst, "strange", "0.5", f"{HOSTILE} {ON_ERROR} {DRAWN}")
        approve(curator, answered)
        office.work()
        places = ["/datasets/strange", refused, answered, f"{answered}/release", f"{answered}/release.html", "/keys"]
        places += ["/plan?dataset=strange&target=visits", f"/plan?dataset={HOSTILE}&epsilon={ON_ERROR}", "/projects"]
        places += [f"/requests?state={HOSTILE}", f"/datasets/{HOSTILE}", f"/sign-in?next={ON_ERROR}"]
        for place in places:
            page = analyst.go(place)
            assert page.locator("script:not([src])").count() == 0, place
            assert page.locator("[onerror], [onload]").count() == 0, place
        analyst.go(f"{answered}/release")
        analyst.says(HOSTILE)
        for place in ("/audit", "/inbox", "/datasets/strange/version"):
            assert curator.go(place).locator("script:not([src]), [onerror], [onload]").count() == 0, place


def test_signing_in_and_out(browser: Browser, url: str) -> None:
    """A wrong password is said, the page one wanted is reached after, and signing out ends the session."""
    visitor = Person(browser, url, "curator")
    page = visitor.go("/datasets")
    assert page.url == f"{url}/sign-in?next=%2Fdatasets"
    visitor.fill(name="curator", password="not this one at all")  # noqa: S106 - that is the point
    visitor.press("Sign in")
    visitor.says("The name or the password is wrong.")
    visitor.fill(password=PASSWORD)
    visitor.press("Sign in")
    visitor.says("Data sets")
    assert page.url == f"{url}/datasets"
    [cookie] = [one for one in visitor.context.cookies() if one["name"] == "discreet"]
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    visitor.press("Sign out")
    visitor.context.add_cookies([{"name": "discreet", "value": cookie["value"], "url": url}])
    assert visitor.go("/datasets").url == f"{url}/sign-in?next=%2Fdatasets"
    visitor.leave()


def test_the_checker_sees(browser: Browser) -> None:
    """Control: a field without a name, grey on grey, targets too small and a page too wide are found."""
    page = browser.new_page()
    page.set_content(
        "<html lang=en><title>t</title><main><h1>t</h1><input><p style='color:#aaa'>pale</p></main></html>"
    )
    with pytest.raises(AssertionError, match=r"label.*color-contrast|color-contrast.*label"):
        check_accessible(page, "a page with faults")
    dark = "<style>@media (prefers-color-scheme: dark) { body { background: #000 } p { color: #222 } }</style>"
    page.set_content(f"<html lang=en><title>t</title>{dark}<main><h1>t</h1><p>gone in the dark</p></main></html>")
    with pytest.raises(AssertionError, match=r"'dark', 'color-contrast'"):
        check_accessible(page, "a page that is pale in the dark")
    small = "<button style='width:9px;height:9px;padding:0;border:0' aria-label=b></button>"
    page.set_content(f"<html lang=en><title>t</title><main><h1>t</h1>{small * 3}</main></html>")
    with pytest.raises(AssertionError, match="target-size"):
        check_accessible(page, "a page with small targets")
    head = "<meta name=viewport content='width=device-width'><meta name=description content='What is on this page.'>"
    for body, is_faulty in (("", False), ("<div style='width:3000px'>wide</div>", True), ("<h1>two</h1>", True)):
        page.set_content(f"<html lang=en>{head}<title>A page</title><main><h1>t</h1>{body}</main></html>")
        with pytest.raises(AssertionError, match="a page") if is_faulty else nullcontext():
            check_basics(page, "a page")
    page.close()


PAGES = {
    "analyst": [
        "/",
        "/datasets",
        "/datasets/*",
        "/plan",
        "/plan?dataset=*",
        "/plan?dataset=*&target=visits",
        "/requests",
        "/projects",
        "/keys",
        "/account",
        "/api",
        "/metadata",
    ],
    "curator": [
        "/",
        "/inbox",
        "/metadata",
        "/register",
        "/datasets/*/version",
        "/datasets/*/cap",
        "/projects",
        "/audit",
    ],
    "auditor": ["/", "/datasets/*", "/audit", "/requests"],
    "boss": ["/", "/users", "/audit", "/keys", "/datasets"],
}
"""Every page of each role; a star stands for a data set."""


def pages_of(someone: Person) -> list[str]:
    """Every page of somebody, with each request and release among them."""
    places = [place.replace("*", "shown") for place in PAGES[someone.name]]
    if someone.name == "boss":
        return places
    someone.go("/requests")
    asked = someone.page.locator("tbody tr", has_text=re.compile(either("shown|strange", ".")))
    links = asked.locator("th a").evaluate_all(ADDRESSES)
    released = asked.filter(has=someone.page.locator(".released")).locator("th a").evaluate_all(ADDRESSES)
    return places + links + [f"{one}/release" for one in released]


def test_every_page_at_every_width(browser: Browser, url: str, office: Office) -> None:
    """No page is wider than its window; each has one first heading, and a name for all that can be filled in."""
    open_to_analyst(browser, url, "shown")
    with person(browser, url, "analyst") as analyst:
        for method in ("pcls", "linear"):
            path = ask(analyst, "shown", "0.5", "For the pictures of the pages.", method)
            with person(browser, url, "curator") as curator:
                approve(curator, path)
        office.work()
        ask(analyst, "shown", "0.25", "This one waits.")
    for name in PAGES:
        with person(browser, url, name) as someone:
            for place in pages_of(someone):
                page = someone.go(place)
                expect(page.locator("progress, .htmx-request")).to_have_count(0, timeout=PATIENCE_MS)
                for size in (DESKTOP, PHONE, NARROW):
                    page.set_viewport_size(size)
                    check_page(page, place)
                    if size is not NARROW:
                        check_letters(page, place)
                    if size in either((PHONE,), (DESKTOP, PHONE)):
                        check_accessible(page, place)
                keep_shots(page, f"{name}-{place.strip('/').replace('/', '-').replace('?', '-') or 'home'}")


def check_page(page: Page, place: str) -> None:
    """What holds for every page."""
    check_basics(page, place)
    unnamed = page.locator("input:not([type=hidden]), select, textarea, button").evaluate_all(
        "all => all.filter(one => !one.labels?.length && !one.ariaLabel && !one.textContent.trim())"
        ".map(one => one.outerHTML)"
    )
    assert unnamed == [], place
    assert page.locator("[style]").count() == 0, place


def keep_shots(page: Page, name: str) -> None:
    """Keep pictures of a page, where somebody wants to look at it; they leave a style behind, so they come last."""
    for kind, (size, scheme) in WINDOWS.items() if SHOTS else ():
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.screenshot(path=str(Path(SHOTS) / f"{kind}-{name}.png"), full_page=True)
