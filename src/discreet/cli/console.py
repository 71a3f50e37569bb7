"""What people see: words and progress on standard error, results on standard output."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

Told = Callable[[str, int, int | None], None]


def say(text: str, quiet: bool = False) -> None:
    """Print words for people.

    Parameters
    ----------
    text : str
        One or more lines.
    quiet : bool
        Say nothing.
    """
    if not quiet:
        typer.echo(text, err=True)


def result(text: str) -> None:
    """Print a result.

    Parameters
    ----------
    text : str
        Without its final newline.
    """
    typer.echo(text.rstrip("\n"))


def as_json(schema: str, **fields: Any) -> None:
    """Print a result as versioned JSON.

    Parameters
    ----------
    schema : str
        Such as "discreet/plan@1".
    **fields : Any
        What JSON can hold.
    """
    result(json.dumps({"schema": schema, **fields}, indent=2, ensure_ascii=False))


def number(value: Any) -> str:
    """Return a number as people write it.

    Parameters
    ----------
    value : float or Fraction
        Any finite number.

    Returns
    -------
    str
        At most nine significant digits.

    Examples
    --------
    >>> number(1.0), number(0.1), number(123456)
    ('1', '0.1', '123456')
    """
    return f"{float(value):.9g}"


@contextmanager
def progress(quiet: bool) -> Iterator[Told | None]:
    """Show bars for work whose length is public, on a terminal alone.

    Parameters
    ----------
    quiet : bool
        Show nothing.

    Yields
    ------
    callable or None
        Told what is being done, how much more is done, and how much there is.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def told(what: str, count: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.advance(tasks[what], count)

        yield told
