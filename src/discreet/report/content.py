"""A page as plain data: sections of paragraphs, lists, tables and pictures, which HTML, Markdown and PDF are made from.

Every text here is text: each format escapes it, or takes it as data.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup

from discreet.report.escape import environment, flow
from discreet.report.facts import Facts


@dataclass(frozen=True)
class Paragraph:
    """A text; one that is minded stands out, a warning more so."""

    text: str
    style: Literal["", "minded", "warning"] = ""
    kind: str = field(default="paragraph", init=False)


@dataclass(frozen=True)
class Items:
    """A list of texts."""

    texts: tuple[str, ...]
    kind: str = field(default="items", init=False)


@dataclass(frozen=True)
class Names:
    """Names side by side, each with whether it was selected."""

    label: str
    names: tuple[tuple[str, bool], ...]
    kind: str = field(default="names", init=False)


@dataclass(frozen=True)
class Formula:
    """The definition of differential privacy with the values of a promise."""

    epsilon: str
    delta: str
    is_pure: bool
    kind: str = field(default="formula", init=False)


@dataclass(frozen=True)
class Column:
    """A column of a table: its head, and how its cells are set."""

    title: str
    style: Literal["", "code", "figure", "size"] = ""


@dataclass(frozen=True)
class Row:
    """A line of a table; `tag` stands beside its first cell."""

    cells: tuple[str, ...]
    style: Literal["", "chosen", "empty"] = ""
    tag: str = ""


@dataclass(frozen=True)
class Table:
    """A table whose first column names its lines."""

    caption: str
    head: tuple[Column, ...]
    rows: tuple[Row, ...]
    kind: str = field(default="table", init=False)


@dataclass(frozen=True)
class Entry:
    """A label and what stands for it."""

    label: str
    value: str
    is_code: bool = False


@dataclass(frozen=True)
class Entries:
    """Labels and values, one below the other."""

    caption: str
    entries: tuple[Entry, ...]
    kind: str = field(default="entries", init=False)


@dataclass(frozen=True)
class Picture:
    """A place for a picture, by its name; `instead` is told where there are no pictures."""

    name: str
    title: str
    note: str
    is_wide: bool = False
    instead: tuple[Paragraph | Table, ...] = ()
    kind: str = field(default="picture", init=False)


Block = Paragraph | Items | Names | Formula | Table | Entries | Picture


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading; `name` is unique on the page."""

    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Page:
    """All that a reader is told; `banner` is a title and a text, `glance` labels with short values."""

    title: str
    description: str
    banner: tuple[str, str] | None
    eyebrow: str
    heading: str
    lead: tuple[str, ...]
    glance: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]

    def pictures(self) -> Iterable[Picture]:
        """Yield the places for pictures, in order."""
        return (block for section in self.sections for block in section.blocks if isinstance(block, Picture))


class Sentences:
    """The sentences of a template about a release, each on one line: its macros as methods."""

    def __init__(self, template: str, facts: Facts) -> None:
        self._macros = environment("text").get_template(template).make_module({"facts": facts})

    def __getattr__(self, name: str) -> Callable[..., str]:
        """Return a macro as a function."""
        macro = getattr(self._macros, name)
        return lambda *values: str(flow(macro(*values)))

    def each(self, name: str) -> Iterable[str]:
        """Return the texts that a macro calls its caller with."""
        texts: list[str] = []

        def take(text: Markup) -> str:
            texts.append(str(flow(text)))
            return ""

        getattr(self._macros, name)(caller=take)
        return texts


def paragraphs(*texts: str, style: Literal["", "minded", "warning"] = "") -> Iterable[Paragraph]:
    """Yield a paragraph for each text that says something."""
    return (Paragraph(text, style) for text in texts if text)


def table(caption: str, head: tuple[Column, ...], rows: Iterable[Iterable[str]]) -> Table:
    """Return a table without marked rows."""
    return Table(caption, head, tuple(Row(tuple(row)) for row in rows))


def figures(*titles: str) -> tuple[Column, ...]:
    """Return columns of numbers."""
    return tuple(Column(title, "figure") for title in titles)
