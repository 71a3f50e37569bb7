"""The lint finds each thing once, says what to do, and is silent on good metadata."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from metadata_strategies import metadatas

from discreet.data.lint import findings_together, lint, printable
from discreet.data.metadata import Metadata

AGE = {"type": "integer", "lower": 0, "upper": 110, "source": "by definition"}
SITE = {"type": "category", "levels": ["dayton", "seattle"], "source": "study design"}


def a_study(columns: dict[str, Any] | None = None, **settings: Any) -> Metadata:
    value = {"dataset": "rand-hie", "unit": "person", "neighboring": "add_or_remove_one"}
    return Metadata.from_value(value | {"columns": columns or {"age": AGE, "site": SITE}} | settings)


FLAWS = {
    "no bounds": ({"age": {"type": "integer"}}, {}, "error", "columns.age", "public bounds"),
    "one bound": ({"age": {"type": "real", "lower": 0}}, {}, "error", "columns.age", "public bounds"),
    "no levels": ({"site": {"type": "category"}}, {}, "error", "columns.site", "public levels"),
    "no source": ({"age": AGE | {"source": None}}, {}, "warning", "columns.age", "have no source"),
    "blank source": ({"age": AGE | {"source": " "}}, {}, "warning", "columns.age", "have no source"),
    "source to come": (
        {"site": SITE | {"source": "TODO"}},
        {},
        "warning",
        "columns.site",
        "have no source",
    ),
    "unchecked": (
        {"age": AGE | {"source": "imported from CSVW-EO; not checked"}},
        {},
        "warning",
        "columns.age",
        "Check them",
    ),
    "wide": ({"pay": AGE | {"upper": 2e6}}, {}, "warning", "columns.pay", "tighten them"),
    "half": ({"age": AGE | {"lower": 0.5}}, {}, "warning", "columns.age", "lower=0.5"),
    "half missing": ({"age": AGE | {"missing": 0.5}}, {}, "warning", "columns.age", "missing=0.5"),
    "many levels": (
        {"zip": SITE | {"levels": [str(code) for code in range(51)]}},
        {},
        "warning",
        "columns.zip",
        "Group them",
    ),
    "formula": ({"=1+1": AGE}, {}, "warning", "columns.=1+1", "spreadsheets"),
    "wide formula": ({" ＠sum": AGE}, {}, "warning", "columns. ＠sum", "spreadsheets"),
    "no width": ({"a\u200bb": AGE}, {}, "warning", "columns.a\\u200bb", "control or invisible"),
    "turned text": ({"a\u202eb": AGE}, {}, "warning", "columns.a\\u202eb", "control or invisible"),
    "case": ({"Age": AGE, "age": AGE}, {}, "warning", "columns", "upper and lower case"),
    "rows": (None, {"unit": "Rows"}, "warning", "unit", "protected less"),
    "generic": (None, {"dataset": "data"}, "warning", "dataset", "name of its own"),
    "version": (None, {"dataset": "rand-hie-v2"}, "warning", "dataset", "Name the people"),
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_each_flaw_is_found_once(flaw: str) -> None:
    """Each flaw gives exactly one finding, with its severity, its place and what to do."""
    columns, settings, severity, place, words = FLAWS[flaw]
    (finding,) = lint(a_study(columns, **settings))
    assert (finding.severity, finding.place) == (severity, place)
    assert words in finding.message
    assert str(finding) == f"{severity}: {place}: {finding.message}"


def test_good_metadata_have_no_findings() -> None:
    """Declared columns with honest sources, one person a row, and a name of its own are all well."""
    assert lint(a_study()) == []
    assert lint(a_study(unit_id="pid", rows_per_unit=1)) == []
    assert lint(a_study({"pay": {"type": "real", "bounds": "private", "source": "private quantile"}})) == []


FROM_ROWS = """
max of the data; observed range; from the data; sample max; the minimum in the sample; df.max();
Empirical quantiles; computed from rows; data range; df.describe(); 99th percentile
"""
FROM_PAPER = """
code book, page 12; from the data dictionary; study design; law of 2004; questionnaire, scale 0 to 10;
range of the instrument; maximum of the scale; data protocol
"""


@pytest.mark.parametrize("source", [source.strip() for source in FROM_ROWS.split(";")])
def test_sources_that_point_to_the_rows_are_found(source: str) -> None:
    """A source that speaks of the rows says that the bound is not private."""
    (finding,) = lint(a_study({"age": AGE | {"source": source}}))
    assert "must not come from the rows" in finding.message


@pytest.mark.parametrize("source", [source.strip() for source in FROM_PAPER.split(";")])
def test_public_sources_are_left_alone(source: str) -> None:
    """A source that names a public paper is not suspected."""
    assert lint(a_study({"age": AGE | {"source": source}})) == []


@pytest.mark.slow
@given(metadatas())
def test_findings_are_printable_lines_in_a_fixed_order(metadata: Metadata) -> None:
    """Whatever the names and sources, a finding prints as one safe line, and twice the same."""
    findings = lint(metadata)
    assert all(str(finding).isprintable() for finding in findings)
    assert findings == lint(Metadata.from_text(metadata.to_yaml()))


def test_printable_text_is_short_and_on_one_line() -> None:
    """Terminal codes are escaped and long text is cut."""
    assert printable("\x1b[31mé") == "\\x1b[31mé"
    assert printable("a" * 81) == "a" * 80 + "..."


@given(metadatas())
def test_no_finding_is_lost_when_they_are_told_together(metadata: Metadata) -> None:
    """Each place stands in the texts, with its line."""
    findings = [replace(finding, line=number) for number, finding in enumerate(lint(metadata), start=1)]
    told = " ".join(" ".join(findings_together(findings)).split())
    for finding in findings:
        name = " ".join(finding.place.removeprefix("columns.").split())
        assert f"{name} (line {finding.line})" in told or f"line {finding.line}: {finding.place}" in told


def test_what_is_said_of_several_columns_is_said_once() -> None:
    """One text for each fault, however many columns have it; a fault of one column stays a line."""
    metadata = a_study({"age": {"type": "integer"}, "income": {"type": "real"}, "site": {"type": "category"}})
    bounds, levels = findings_together(lint(metadata))
    assert bounds.startswith("error: Each of these 2 columns must have public bounds.")
    assert bounds.endswith("\n  age, income")
    assert levels.startswith("error: columns.site: Column 'site' must have public levels.")
