"""Studies as tables and as one page: what a paper printed beside what can honestly be had."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from markupsafe import Markup

from discreet.report.escape import environment, to_markdown
from discreet.report.explorer import Explorer, script, script_policy
from discreet.report.study import Findings, Row
from discreet.report.words import number

NONE = "–"


@dataclass(frozen=True)
class Heading:
    """What stands above the studies of a page.

    Parameters
    ----------
    eyebrow : str
        After the product's name.
    title : str
        Of the page.
    lead : tuple of str
        Paragraphs.
    marked : bool
        Whether each way is marked as private or not.
    """

    eyebrow: str
    title: str
    lead: tuple[str, ...]
    marked: bool = True


REPRODUCED = Heading(
    "the papers reproduced",
    "Published figures, and what can honestly be had",
    (
        "Three papers, figure by figure. Each is shown as it was printed or published, with an honest account where "
        "there is one, and as Discreet does it with the same total epsilon. All tables here are public or "
        "simulated and all noise is seeded: nothing on this page is a release, and none of it carries a guarantee. "
        "The marks say whether the way to get a figure would carry one.",
        "Bands and bars show two standard errors of the simulation. What lies beyond an axis is drawn at its end.",
    ),
)


@dataclass(frozen=True)
class Line:
    """A line of a study's table.

    Parameters
    ----------
    settings : tuple of str
        Values of the settings, in the order of the table's head.
    figures : tuple of str
        A figure for each way, with its standard error; a dash where there is none.
    """

    settings: tuple[str, ...]
    figures: tuple[str, ...]


@dataclass(frozen=True)
class StudyTable:
    """Figures of a study by settings and ways.

    Parameters
    ----------
    settings : tuple of str
        What was varied.
    ways : tuple of str
        Ways that have figures.
    lines : tuple of Line
        In the order of the rows.
    """

    settings: tuple[str, ...]
    ways: tuple[str, ...]
    lines: tuple[Line, ...]


def tabulated(findings: Findings) -> StudyTable:
    """Return the table of a study.

    A figure of a way without some setting stands at all values of it.
    """
    rows = findings.rows
    settings = tuple(dict.fromkeys(name for row in rows for name in row.settings))
    ways = tuple(column.name for column in findings.study.columns if any(row.column == column.name for row in rows))
    rows_by_settings: dict[str, dict[tuple[Any, ...], Row]] = {}
    for row in rows:
        rows_by_settings.setdefault(row.column, {})[tuple(sorted(row.settings.items()))] = row
    lines = [
        Line(
            tuple(_as_text(at.get(name, NONE)) for name in settings),
            tuple(_figure(_at(rows_by_settings.get(way, {}), at)) for way in ways),
        )
        for at in _places(rows, settings)
    ]
    return StudyTable(settings, ways, tuple(lines))


def _places(rows: Sequence[Row], settings: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """The settings of the table's lines: those of which no other row has more, in the order of their values."""
    distinct = {tuple(sorted(row.settings.items())): row.settings for row in rows}
    sizes = sorted({len(values) for values in distinct}, reverse=True)
    distinct_settings: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    covered: set[tuple[Any, ...]] = set()
    for size in sizes:
        for key, values in distinct.items():
            if len(key) == size and key not in covered:
                distinct_settings[key] = values
        names = {tuple(values) for values in distinct.values() if len(values) < size}
        covered |= {
            tuple(sorted((name, values[name]) for name in less))
            for values in distinct_settings.values()
            for less in names
            if set(less) <= set(values)
        }
    order = {name: list(dict.fromkeys(row.settings.get(name, NONE) for row in rows)) for name in settings}
    return sorted(
        distinct_settings.values(), key=lambda values: [order[name].index(values.get(name, NONE)) for name in settings]
    )


def _at(rows_by_settings: Mapping[tuple[Any, ...], Row], settings: Mapping[str, Any]) -> Row | None:
    """The row of a way at some settings, or at the part of them that it has."""
    for names in dict.fromkeys(tuple(name for name, _ in key) for key in rows_by_settings):
        if set(names) <= set(settings):
            row = rows_by_settings.get(tuple((name, settings[name]) for name in names))
            if row is not None:
                return row
    return None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else number(float(value))


def _figure(row: Row | None) -> str:
    if row is None:
        return NONE
    if row.error is None or not row.error > 0:
        return number(row.value, 3)
    error = number(row.error, 1)
    decimals = len(error.partition(".")[2])
    return f"{number(row.value, 3)} ± {error}" if "e" in error else f"{row.value:.{decimals}f} ± {error}"


def study_csv(findings: Findings) -> str:
    """Return the figures of a study, a row each.

    CSV: the way, whether its total is a guarantee, the settings, the figure, its standard error, the repeats.
    """
    private = {column.name: column.is_private for column in findings.study.columns}
    settings = list(dict.fromkeys(name for row in findings.rows for name in row.settings))
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["way", "is_private", *settings, "value", "standard_error", "repeats"])
    for row in findings.rows:
        texts = [row.settings.get(name, "") for name in settings]
        error = "" if row.error is None else row.error
        writer.writerow([row.column, private[row.column], *texts, row.value, error, findings.repeats])
    return text.getvalue()


def study_markdown(findings: Findings) -> str:
    """Return a study as Markdown.

    A section with the ways, the table and what could not be had.
    """
    study, table = findings.study, tabulated(findings)
    lines = [f"## {_cell(study.title)}", "", f"{_cell(study.source)}. Repeats: {findings.repeats}.", ""]
    lines += [line for text in study.told for line in (_cell(text), "")]
    lines += [f"- **{_cell(way.name)}** ({private(way.is_private)}): {_cell(way.told)}" for way in study.columns]
    head = [*table.settings, *table.ways]
    lines += ["", _line(head), _line(["---"] * len(table.settings) + ["---:"] * len(table.ways), plain=True)]
    lines += [_line([*line.settings, *line.figures]) for line in table.lines]
    lines += [line for text in findings.doubts for line in ("", f"**{_cell(text)}**")]
    if study.missing or findings.absent:
        lines += ["", "What could not be had:", ""]
        lines += [f"- {_cell(text)}" for text in (*study.missing, *findings.absent)]
    return "\n".join(lines) + "\n"


def private(is_private: bool) -> str:
    """Say whether a way is private.

    In a word or two.
    """
    return "private" if is_private else "not private"


def _cell(text: str) -> str:
    return str(to_markdown(text))


def _line(cells: Sequence[str], plain: bool = False) -> str:
    return f"| {' | '.join(cell if plain else _cell(cell) for cell in cells)} |"


def study_page(
    all_findings: Sequence[Findings],
    pictures: Mapping[str, str],
    heading: Heading = REPRODUCED,
    tables: Mapping[str, StudyTable] | None = None,
    explorer: Explorer | None = None,
) -> str:
    """Return studies as one page that needs nothing else, with sliders above where there is an explorer.

    HTML.
    """
    drawn = {name: Markup(svg) for name, svg in pictures.items()}  # noqa: S704 - our drawing, whose texts are escaped
    shown = {findings.study.name: tabulated(findings) for findings in all_findings} | dict(tables or {})
    text = (
        environment("html")
        .get_template("studies.html.j2")
        .render(
            heading=heading,
            studies=all_findings,
            tables=shown,
            pictures=drawn,
            private=private,
            explorer=explorer,
            script=script,
            script_policy=script_policy,
        )
    )
    return text.rstrip() + "\n"
