"""What a curator should know about metadata before any budget is spent on it: from metadata alone."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from textwrap import fill
from typing import Literal

from discreet.data.columns import Features, how_to_declare
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn
from discreet.digits import plain

WIDE = 1e6
"""Width of bounds, in the column's unit, above which the lint asks whether they can be tightened."""
MANY_LEVELS = 50
"""Number of levels above which the lint asks whether they can be grouped."""
MOST_NAMES = 20
"""Findings on the names of features that are shown."""

_NOT_PEOPLE = frozenset(["row", "record", "observation", "entry", "line", "event", "visit", "transaction"])
_GENERIC_DATASET = frozenset(
    ["data", "dataset", "table", "df", "test", "imported", "my-data", "mydata", "untitled", "example"]
)
# Patterns as text, compiled on first use: a dry run imports them and needs none.
_VERSION = r"(v\d+|version\d*|final|copy|sample|subset|train|holdout|backup|tmp)"
_NO_SOURCE = frozenset(("", "?", "-", "tbd", "todo", "fixme", "unknown", "n/a", "none", "source"))
_DATA = r"(?:the )?(?:data(?:set|frame)?|rows?|sample|records|observations|observed|table|column|file)"
_PUBLIC_PAPER = r"(?! ?-?(?:dictionary|book|sheet|protocol|documentation|model|catalog|provider|owner|steward))"
_FROM_ROWS = (
    rf"(?i)\bobserved\b|\bempirical|\binferred\b|\b(?:from|in|of|over|on) {_DATA}\b{_PUBLIC_PAPER}"
    r"|\b(?:sample|data|actual|column) (?:min|max|range|quantile)|\b(?:min|max)\("
    r"|\bdescribe\(\)|\bpercentile"
)
_OF_ONE = r"""^Column ('[^']*'|"[^"]*") """


@dataclass(frozen=True)
class Finding:
    """One thing to mend or to know.

    Parameters
    ----------
    severity : "error" or "warning"
        An error keeps a column from being used; a warning asks for a look.
    place : str
        Where in the metadata, such as ``columns.age``; printable.
    message : str
        What must hold, what was found, what to do; one printable line.
    line : int, optional
        Of the file.
    """

    severity: Literal["error", "warning"]
    place: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f"line {self.line}: "
        return f"{self.severity}: {line}{self.place}: {self.message}"


def lint(metadata: Metadata) -> list[Finding]:
    """List what is missing from metadata, or looks wrong in it.

    The table's findings, then each column's in the order of the metadata; empty when all is well.

    Examples
    --------
    >>> metadata = Metadata.model_validate({
    ...     "dataset": "toy", "unit": "person", "neighboring": "add_or_remove_one",
    ...     "columns": {"age": {"type": "integer", "lower": 0, "upper": 110, "source": "max of the data"}}})
    >>> [(finding.severity, finding.place) for finding in lint(metadata)]
    [('warning', 'columns.age')]
    """
    findings = [*_table(metadata)]
    declared = metadata.to_dict()["columns"] if metadata.derived else {}
    for name, column in metadata.columns.items():
        place = column_place(name)
        findings += _name(place, name)
        follows = name in metadata.derived and not {"lower", "upper"} & declared[name].keys()
        findings += _column(place, f"Column {name[:80]!r}", column, follows)
    if metadata.features is not None:
        findings += _column("features", "Features", metadata.features)
        names = metadata.features.names or ()
        findings += islice((finding for name in names for finding in _name(_feature_place(name), name)), MOST_NAMES)
    return findings


def findings_together(findings: Iterable[Finding]) -> list[str]:
    """Return findings as texts to print; what is said of several columns is said once, with their names below.

    In the order of the findings; of a group, of its first.

    Examples
    --------
    >>> text = "Column {!r} must have public bounds."
    >>> age, income = (Finding("error", f"columns.{name}", text.format(name), 9) for name in ("age", "income"))
    >>> for text in findings_together([age, income]):
    ...     print(text)
    error: Each of these 2 columns must have public bounds.
      age (line 9), income (line 9)
    """
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        whose = "" if finding.place.startswith("columns.") else finding.place
        groups.setdefault((finding.severity, whose, re.sub(_OF_ONE, "", finding.message)), []).append(finding)
    return [_as_one(group) for group in groups.values()]


def _as_one(group: Sequence[Finding]) -> str:
    first = group[0]
    if len(group) == 1 or not first.place.startswith("columns."):
        return "\n".join(map(str, group))
    message = re.sub(_OF_ONE, f"Each of these {len(group)} columns ", first.message)
    places = (finding.place.removeprefix("columns.") for finding in group)
    lines = ("" if finding.line is None else f" (line {finding.line})" for finding in group)
    names = ", ".join(map("".join, zip(places, lines, strict=True)))
    return f"{first.severity}: {message}\n" + fill(names, 100, initial_indent="  ", subsequent_indent="  ")


def printable(text: str) -> str:
    r"""Return text as one line that is safe to print, cut at 80 characters.

    The text, with whatever does not print as an escape.

    Examples
    --------
    >>> printable("a\nb")
    'a\\nb'
    """
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[:80])
    return shown + ("..." if len(text) > 80 else "")


def column_place(name: str) -> str:
    """Return the place of a column for a finding, such as ``columns.age``."""
    return f"columns.{printable(name)}"


def _feature_place(name: str) -> str:
    return f"features.{printable(name)}"


def _warning(place: str, message: str) -> Finding:
    return Finding("warning", place, message)


def _table(metadata: Metadata) -> Iterator[Finding]:
    name_parts = re.split(r"[._-]", metadata.dataset.lower())
    if metadata.dataset.lower() in _GENERIC_DATASET:
        yield Finding(
            "warning",
            "dataset",
            f"The dataset is called {metadata.dataset!r}, as other tables may be, and the ledger knows the people by "
            "this name. Choose a name of its own.",
        )
    elif any(re.fullmatch(_VERSION, part) for part in name_parts):
        yield Finding(
            "warning",
            "dataset",
            f"The dataset's name {metadata.dataset!r} looks like one of several versions. All versions and samples of "
            "the same people must share one name, or their costs do not add up. Name the people, not the file.",
        )
    if metadata.unit.strip().casefold().removesuffix("s") in _NOT_PEOPLE:
        yield Finding(
            "warning",
            "unit",
            f"The unit is {printable(metadata.unit)!r}, not a person: a person with several of them is protected less. "
            "If each person has one, write `unit: person`; if not, give `unit_id` and `rows_per_unit`.",
        )
    folded = Counter(name.casefold() for name in metadata.columns)
    if any(count > 1 for count in folded.values()):
        alike = [printable(name) for name in metadata.columns if folded[name.casefold()] > 1]
        yield Finding(
            "warning",
            "columns",
            f"These names differ only in upper and lower case: {', '.join(alike[:10])}. Some engines do not tell them "
            "apart. Rename all but one of them.",
        )


def _name(place: str, name: str) -> Iterator[Finding]:
    if any(unicodedata.category(char).startswith(("C", "Zl", "Zp")) for char in name):
        yield _warning(
            place,
            "The name holds control or invisible characters, which can mislead readers of a report. Rename the column.",
        )
    if unicodedata.normalize("NFKC", name).lstrip()[:1] in ("=", "+", "-", "@"):
        yield _warning(
            place,
            "The name begins with = + - or @, and spreadsheets run such cells as formulas. Rename the column.",
        )


def _column(
    place: str, subject: str, column: NumericColumn | CategoryColumn, follows: bool = False
) -> Iterator[Finding]:
    if isinstance(column, Features) and not column.is_declared:
        yield _warning(
            place,
            "Features without bounds can only be screened by their order (--method sis --association kendall). Declare "
            "lower and upper, the same for all, for anything else.",
        )
    elif not column.is_declared and not (isinstance(column, NumericColumn) and column.bounds == "private"):
        yield Finding("error", place, f"{subject} must have public {how_to_declare(column)}")
    if not follows:
        yield from _source(place, column)
    yield from _levels(place, column) if isinstance(column, CategoryColumn) else _bounds(place, column)


def _source(place: str, column: NumericColumn | CategoryColumn) -> Iterator[Finding]:
    if not column.is_declared:
        return
    source = column.source or ""
    if source.strip().casefold() in _NO_SOURCE:
        yield _warning(
            place,
            'The bounds or levels have no source. Say where they come from, such as `source: "code book, page 12"`.',
        )
    elif "not checked" in source.casefold():
        yield _warning(
            place,
            f"The source is {printable(source)!r}, so the bounds or levels may have been read from the rows. Check "
            "them against a code book, then say so in `source`.",
        )
    elif re.search(_FROM_ROWS, source):
        yield _warning(
            place,
            f"The source {printable(source)!r} refers to the rows, and bounds or levels must not come from the rows: "
            "they would reveal people in them. Take them from a code book or from subject knowledge.",
        )


def _bounds(place: str, column: NumericColumn) -> Iterator[Finding]:
    if column.lower is not None and column.upper is not None and column.upper - column.lower > WIDE:
        yield _warning(
            place,
            f"The bounds {plain(column.lower, 6)} and {plain(column.upper, 6)} are far apart, and noise grows with "
            "their width. If you can, tighten them; values beyond are clipped to them.",
        )
    if column.type == "integer":
        fields = {"lower": column.lower, "upper": column.upper, "missing": column.missing}
        broken = [f"{key}={value:g}" for key, value in fields.items() if value is not None and not value.is_integer()]
        if broken:
            yield _warning(
                place,
                f"{', '.join(broken)} is not a whole number, and the column is an integer. Round outwards, or declare "
                "`type: real`.",
            )


def _levels(place: str, column: CategoryColumn) -> Iterator[Finding]:
    if column.levels is not None and len(column.levels) > MANY_LEVELS:
        yield _warning(
            place,
            f"The category has {len(column.levels)} levels. Each is a column of its own in the model, and each adds "
            "noise. Group them, such as postcodes by region.",
        )
