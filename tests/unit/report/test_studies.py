"""Studies as tables, Markdown, CSV and one page."""

import csv
import re
from html.parser import HTMLParser
from io import StringIO

import pytest

from discreet.report.studies import NONE, Heading, study_csv, study_markdown, study_page, tabulated
from discreet.report.study import Column, Findings, Picture, Row, Study
from discreet.report.study_pictures import draw

COLUMNS = (
    Column("as printed", False, "The paper's."),
    Column("ours", True, "With <b>bounds</b> | public."),
    Column("unused", True, "No figures."),
)


def found(*rows: Row, columns=COLUMNS, **facts) -> Findings:
    study = Study(
        **(
            {
                "name": "a-table-1",
                "title": "A title",
                "source": "A paper, table 1",
                "told": ("What it is.",),
                "columns": columns,
                "printed": (),
                "missing": (),
                "pictures": (),
                "files": (),
                "repeats": 5,
            }
            | facts
        )
    )
    return Findings(study, rows, 5)


GRID = [Row("as printed", {"epsilon": e, "R": R}, e + R / 100) for e in (1, 5) for R in (4, 6)]


def test_a_way_without_a_setting_stands_at_all_of_its_values():
    """Ours has no R: its figure at an epsilon stands beside both."""
    table = tabulated(found(*GRID, Row("ours", {"epsilon": 1}, 0.5, 0.01), Row("ours", {"epsilon": 5}, 0.75)))
    assert (table.settings, table.ways) == (("epsilon", "R"), ("as printed", "ours"))
    assert [(one.settings, one.figures[1]) for one in table.lines] == [
        (("1", "4"), "0.50 ± 0.01"),
        (("1", "6"), "0.50 ± 0.01"),
        (("5", "4"), "0.75"),
        (("5", "6"), "0.75"),
    ]


def test_no_figure_is_lost():
    """A row whose settings nobody else has gets a line of its own, dashes elsewhere."""
    table = tabulated(found(*GRID, Row("ours", {"epsilon": 9}, 0.5), Row("ours", {}, 0.25)))
    assert len(table.lines) == 5
    last = table.lines[-1]
    assert last.settings == ("9", NONE)
    assert last.figures == (NONE, "0.5")
    shown = [one.figures for one in table.lines]
    assert [cells[0] for cells in shown].count(NONE) == 1
    assert [cells[1] for cells in shown] == ["0.25"] * 4 + ["0.5"]


def test_lines_keep_the_order_of_values():
    """Values stand in the order in which they were first met, not as text."""
    rows = [Row("ours", {"epsilon": e, "who": who}, 1.0) for who in ("b", "a") for e in (0.1, 10, 5)]
    lines = [one.settings for one in tabulated(found(*rows)).lines]
    assert lines == [("0.1", "b"), ("0.1", "a"), ("10", "b"), ("10", "a"), ("5", "b"), ("5", "a")]


def test_csv_holds_every_figure_in_full():
    """Values are not rounded; what a row does not have is empty."""
    text = study_csv(found(*GRID, Row("ours", {"epsilon": 1}, 1 / 3, 0.125)))
    read = list(csv.DictReader(StringIO(text)))
    assert len(read) == 5
    assert read[-1] == {
        "way": "ours",
        "is_private": "True",
        "epsilon": "1",
        "R": "",
        "value": repr(1 / 3),
        "standard_error": "0.125",
        "repeats": "5",
    }
    assert read[0]["is_private"] == "False"


def test_markdown_escapes_and_says_what_is_missing():
    """Marks in texts are no marks, and what could not be had stands at the end."""
    text = study_markdown(found(*GRID, missing=("The other data.",)))
    assert "\\| public" in text
    assert "<b>" not in text
    assert text.endswith("What could not be had:\n\n- The other data.\n")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert table[0] == "| epsilon | R | as printed |"
    assert len(table) == 2 + len(GRID)
    assert "**as printed** (not private)" in text


class Checked(HTMLParser):
    """Tags that open and close in turn, and the ids."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page(*findings: Findings, **more) -> Checked:
    pictures = {
        f"{one.study.name}-{picture.name}": draw(picture, one.rows, [c.name for c in one.study.columns])
        for one in findings
        for picture in one.study.pictures
    }
    parsed = Checked()
    html = study_page(findings, pictures, **more)
    parsed.feed(html)
    assert parsed.open == []
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert not re.search(r"https?://(?!www\.w3\.org)", html)
    return parsed


def test_page_holds_pictures_and_a_table_under_each():
    """One section a study, its picture drawn in it, and the figures as text."""
    picture = Picture("curve", "A curve", "lines", "R", "R (units)", "Figure")
    rows = (*GRID, Row("ours", {"epsilon": 1}, 0.5))
    parsed = page(found(*rows, pictures=(picture,)), found(*rows, name="b", pictures=(picture,)))
    assert parsed.text.count("A curve") == 2
    assert "The figures as a table (4 lines, 5 repeats)" in parsed.text
    assert "1.04" in parsed.text


def test_a_page_of_other_studies_has_its_own_heading():
    """What is planned is not called private or not."""
    parsed = page(found(*GRID), heading=Heading("plan", "What to expect", ("From public facts.",), marked=False))
    assert "What to expect" in parsed.text
    assert "not private" not in parsed.text


@pytest.mark.parametrize("kind", ["lines", "dots", "heat"])
def test_pictures_show_each_way_with_its_words(kind):
    """A picture has its axes' words and its ways; beyond six ways nothing could be told apart."""
    rows = [
        Row(way, {"epsilon": e, "data": data}, 0.1 * e, 0.05)
        for way in ("as printed", "ours")
        for e in (1, 2, 5)
        for data in ("a", "b")
    ]
    at = {"lines": ("epsilon", None, "data"), "dots": ("data", None, "epsilon"), "heat": ("epsilon", "data", None)}[
        kind
    ]
    picture = Picture("one", "Title", kind, at[0], "The x", "The figure", y=at[1], down=at[2], low=-1.0, high=1.0)
    svg = draw(picture, rows, [one.name for one in COLUMNS])
    texts = " ".join(re.findall(r">([^<>]+)</text>", svg))
    assert "unused" not in texts
    assert ("The figure" if kind != "heat" else "The x") in texts
    if kind != "heat":
        assert all(way in texts for way in ("as printed", "ours"))
    assert 'aria-label="Title. Means over what is shown: as printed: 0.27; ours: 0.27."' in svg


def test_what_lies_beyond_an_axis_is_drawn_at_its_end():
    """A figure of -9 on an axis from 0 to 1 leaves the panel as it is."""
    picture = Picture("one", "Title", "lines", "epsilon", "x", "y", low=0.0, high=1.0)
    inside, beyond = (
        draw(picture, [Row("ours", {"epsilon": e}, value, 0.5) for e in (1, 2)], ["ours"]) for value in (0.0, -9.0)
    )
    curve = r"<path[^>]*stroke-width=.2\.2.[^>]*>"
    assert re.findall(curve, inside)
    assert re.findall(curve, inside) == re.findall(curve, beyond)
