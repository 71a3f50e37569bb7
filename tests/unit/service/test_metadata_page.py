"""Metadata in the browser: begun from a header, checked with all faults and their lines; and the API as a page."""

import json
import re

import pytest
import yaml
from tests.office import METADATA, open_office
from tests.unit.service.test_pages_content import Browser

FAULTY = """schema: discreet/metadata@1
dataset: survey
unit: person
neighbouring: add_or_remove_one
columns:
  age: {type: intger, lower: 0, upper: 110, source: by definition}
  income: {type: real, lower: 100, upper: 0, source: questionnaire}
"""


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    with open_office(tmp_path_factory.mktemp("metadata")) as opened:
        yield opened


@pytest.fixture(scope="module")
def cora(office):
    return Browser(office, "cora")


def rows(page):
    """Line, kind, place and words of each finding."""
    cells = re.findall(r"<tr>(<td.*?)</tr>", page, re.DOTALL)
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in cells]


def test_all_faults_are_told_with_their_lines(cora):
    """One pass names every fault, where it stands, and what was meant."""
    page = cora.send("/metadata/check", cora.get("/metadata"), 422, metadata=FAULTY)
    told = rows(page)
    assert {"4", "6", "7"} <= {line for line, *_ in told}
    assert {kind for _, kind, *_ in told} == {"error"}
    assert "neighboring" in next(words for line, *_, words in told if line == "4")
    assert "integer" in next(words for line, *_, words in told if line == "6")
    assert "intger" in page  # what was typed stays


def test_a_registration_tells_all_faults(office, cora):
    """As the check does: on the page with their lines, by the API with their places."""
    page = cora.send(
        "/register", cora.get("/register"), 422, metadata=FAULTY, data_root="tables", data_path="t.parquet"
    )
    checked = cora.send("/metadata/check", cora.get("/metadata"), 422, metadata=FAULTY)
    assert rows(page) == rows(checked)
    assert f"The metadata have {len(rows(page))} errors" in page
    source = {"data": {"root": "tables", "path": "t.parquet"}}
    called = office.call("cora", "POST", "/datasets", json={"metadata": yaml.safe_load(FAULTY), "source": source})
    assert called.status_code == 422
    assert {fault["place"] for fault in called.json()["errors"]} == {place for _, _, place, _ in rows(page)}


def test_right_metadata_are_told_so(cora):
    """Control; warnings do not keep them from being used."""
    page = cora.send("/metadata/check", cora.get("/metadata"), metadata=json.dumps(METADATA))
    assert "The metadata can be used: 4 columns" in page


@pytest.mark.parametrize("header", ["age,income,site", "age;income;site", "age INTEGER\nincome DOUBLE\nsite VARCHAR"])
def test_a_header_becomes_metadata_that_can_be_filled_in(cora, header):
    """What the page writes, the page can read: only blanks are left."""
    page = cora.send("/metadata/new", cora.get("/metadata"), header=header, dataset="survey")
    text = re.search(r'<textarea id="metadata".*?>(.*?)</textarea>', page, re.DOTALL)[1]
    for name in ("age", "income", "site"):
        assert name in text
    checked = cora.send("/metadata/check", page, 422, metadata=text.replace("&#34;", '"').replace("&#39;", "'"))
    assert "must be corrected" in checked


@pytest.mark.parametrize(
    "header",
    ["34,1200.5,north", "age,income\n34,1200.5\n35,1300", "Ann,34,ann@example.org", "", "age,age"],
)
def test_a_row_is_refused(cora, header):
    """A pasted row is a person's: it is not written into metadata."""
    page = cora.send("/metadata/new", cora.get("/metadata"), 422, header=header)
    assert re.search(r'<textarea id="metadata"[^>]*>([^<]*)</textarea>', page)[1].strip() == ""


def test_no_file_is_opened_for_a_text(cora, tmp_path):
    """A text that names a file is checked as it stands."""
    names = tmp_path / "names.txt"
    names.write_text("secret_name\n")
    value = METADATA | {"features": {"type": "real", "lower": 0, "upper": 1, "names_file": str(names)}}
    page = cora.client.post(
        "/metadata/check",
        data={
            "form_token": re.search(r'name="form_token" value="(\w+)"', cora.get("/metadata"))[1],
            "metadata": json.dumps(value),
        },
    ).text
    assert "secret_name" not in page


def test_a_long_text_is_refused(cora):
    """A free call costs little."""
    page = cora.send("/metadata/check", cora.get("/metadata"), 422, metadata="x" * 200_001)
    assert "at most 200,000 characters" in page


def test_the_page_of_the_api_has_every_call_and_body(cora):
    """Nothing of the description is left out, and every link leads somewhere."""
    page, description = cora.get("/api"), cora.client.app.openapi()
    for path, methods in description["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in page
    for name in description["components"]["schemas"]:
        assert f'id="schema-{name}"' in page
    targets = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= targets
    assert not re.search(r"<script(?! src=\"/static/)", page)


def test_calls_are_named_by_what_they_do(cora):
    """Each name is the start of its call's description, a sentence in plain words; none stands for two calls."""
    calls = [call for methods in cora.client.app.openapi()["paths"].values() for call in methods.values()]
    names = [call["summary"] for call in calls]
    assert len(set(names)) == len(names) > 20
    assert all(call["description"].startswith(name) for call, name in zip(calls, names, strict=True))
    assert {"Read who you are to the service", "Price a request"} <= set(names)
    assert all(name[0].isupper() and name[-1].isalnum() and " " in name for name in names)
