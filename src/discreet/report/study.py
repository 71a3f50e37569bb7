"""A table or figure of a paper beside what can honestly be had: what the reports on it are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Column:
    """One way to get the figures of a study.

    Parameters
    ----------
    name : str
        What tables call it.
    is_private : bool
        Whether the total that stands beside its figures is a guarantee.
    told : str
        A sentence: what it does, and why it is private or not.
    """

    name: str
    is_private: bool
    told: str


@dataclass(frozen=True)
class Row:
    """One figure.

    Parameters
    ----------
    column : str
        Name of the way it was got.
    settings : dict of str to str, int or float
        What was varied; a setting that a way does not have, or that does not matter to it, is left out.
    value : float
        The figure; a mean over the repeats.
    error : float, optional
        Its standard error, where it is a mean.
    """

    column: str
    settings: Mapping[str, Any]
    value: float
    error: float | None = None


@dataclass(frozen=True)
class Picture:
    """What a picture shows of a study's rows.

    Parameters
    ----------
    name : str
        Part of a file's name.
    title : str
        Above it.
    kind : {"lines", "dots", "heat"}
        Curves over a numeric setting, dots beside the levels of a setting, or shades of two settings' levels, a panel
        for each way.
    x : str
        The setting of the horizontal axis; of dots, that of the rows, and the figure lies along the axis.
    x_title : str
        Its name with its unit.
    y_title : str
        Name of the figure with its unit.
    across, down : str, optional
        Settings whose values have panels of their own.
    y : str, optional
        Of heat: the setting of the rows.
    where : dict
        Rows with these settings alone; rows without the setting stay.
    log : bool
        Whether the horizontal axis is logarithmic.
    low, high : float, optional
        Ends of the figure's axis.
    columns : tuple of str
        Ways that are shown; default all. At most six.
    """

    name: str
    title: str
    kind: Literal["lines", "dots", "heat"]
    x: str
    x_title: str
    y_title: str
    across: str | None = None
    down: str | None = None
    y: str | None = None
    where: Mapping[str, Any] | None = None
    log: bool = False
    low: float | None = None
    high: float | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study:
    """A table or figure of a paper.

    Parameters
    ----------
    name : str
        On the command line, such as "lei-table-3".
    title : str
        Of its section.
    source : str
        The paper and its table or figure.
    told : tuple of str
        Paragraphs: the design, what is measured, what the figures show.
    columns : tuple of Column
        Ways, in the order of the tables.
    printed : tuple of Row
        The paper's own figures, of the first column.
    missing : tuple of str
        Sentences: what could not be had, and what stands in its place.
    pictures : tuple of Picture
        In their order.
    files : tuple of str
        Public tables that it reads, in the folder of the data.
    repeats : int
        Repeats that are drawn where nobody says, such that all studies take minutes.
    command : str
        To be pasted into a shell, after the paragraphs.
    """

    name: str
    title: str
    source: str
    told: tuple[str, ...]
    columns: tuple[Column, ...]
    printed: tuple[Row, ...]
    missing: tuple[str, ...]
    pictures: tuple[Picture, ...]
    files: tuple[str, ...]
    repeats: int
    command: str = ""


@dataclass(frozen=True)
class Findings:
    """A study and its figures.

    Parameters
    ----------
    study : Study
        What was done.
    rows : tuple of Row
        Those of the paper first.
    repeats : int
        That were drawn.
    absent : tuple of str
        Parts of it that could not be computed here, with the reason.
    doubts : tuple of str
        Sentences: why figures may not be what is told of them.
    """

    study: Study
    rows: tuple[Row, ...]
    repeats: int
    absent: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
