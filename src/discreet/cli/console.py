"""What people see: words and progress on standard error, results on standard output."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import typer

from discreet.digits import plain
from discreet.errors import InvalidParameterError

Told = Callable[[str, int, int | None], None]


def say(text: str, quiet: bool = False) -> None:
    """Print words for people."""
    if not quiet:
        typer.echo(text, err=True)


def result(text: str) -> None:
    """Print a result."""
    typer.echo(text.rstrip("\n"))


def as_json(schema: str, **fields: Any) -> None:
    """Print a result as versioned JSON."""
    result(json.dumps({"schema": schema, **fields}, indent=2, ensure_ascii=False))


def spare(out: Path, *read: str | Path | None) -> None:
    """Refuse to write over a file that the command reads or charges."""
    if out.is_file() and any(path is not None and os.path.isfile(path) and out.samefile(path) for path in read):
        raise InvalidParameterError(f"The output would replace {out}, which the command reads. Choose another path.")


def differ(*paths: Path | None) -> None:
    """Refuse to write two outputs to one file."""
    resolved = [path.resolve() for path in paths if path is not None]
    if len(set(resolved)) < len(resolved):
        raise InvalidParameterError(
            "Each output must have a file of its own, but two have the same. Choose another path."
        )


def given_options(context: typer.Context) -> Iterator[tuple[str, Any, str]]:
    """Tell what was asked for on the command line itself, defaults left aside.

    Name of the parameter, its value, and the option as it was written.
    """
    for option in context.command.params:
        name, value = str(option.name), context.params.get(str(option.name))
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            yield name, value, option.secondary_opts[0] if value is False else option.opts[0]


def number(value: Any) -> str:
    """Return a number as people write it.

    At most nine significant digits, and without an exponent unless that would be long, as reports write it.

    Examples
    --------
    >>> number(1.0), number(0.1), number(123456), number(1e-6), number(1e-30)
    ('1', '0.1', '123456', '0.000001', '1e-30')
    """
    return plain(float(value), 9)


def counted(value: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "column"), counted(7129, "feature")
    ('1 column', '7,129 features')
    """
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


@contextmanager
def progress(quiet: bool) -> Iterator[Told | None]:
    """Show bars for work whose length is public, on a terminal alone.

    Told what is being done, how much more is done, and how much there is.
    """
    with live_progress(quiet) as (advance, _):
        yield advance


@contextmanager
def live_progress(quiet: bool) -> Iterator[tuple[Told | None, Callable[[str], None]]]:
    """Show bars, on a terminal alone, and above them a text that may change until the work is done."""
    if not quiet and os.environ.get("DISCREET_PROGRESS") == "lines":
        yield _progress_lines(), lambda _: None
        return
    if quiet or not sys.stderr.isatty():
        yield None, lambda _: None
        return
    # Bars load slowly, and what has none must not wait for them.
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
    from rich.text import Text

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    bars = Progress(*columns, console=console, auto_refresh=False)
    live, tasks = Live(bars, console=console, transient=True), dict[str, TaskID]()

    def advance(work: str, count: int, total: int | None) -> None:
        with suppress(OSError):  # a closed terminal must not end what was paid for
            live.start()  # not before: a live display wipes out a question
            if work not in tasks:
                tasks[work] = bars.add_task(work, total=total)
            bars.advance(tasks[work], count)

    def show(text: str) -> None:
        with suppress(OSError):
            live.update(Group(Text(text, no_wrap=True), Text(""), bars), refresh=True)

    try:
        yield advance, show
    finally:
        with suppress(OSError):
            live.stop()


def _progress_lines() -> Told:
    """Tell progress in lines of JSON, at most a hundred for each work, for a program that draws bars of its own."""
    done, shown = dict[str, int](), dict[str, int]()

    def advance(work: str, count: int, total: int | None) -> None:
        done[work] = done.get(work, 0) + count
        part = 100 * done[work] // max(total, 1) if total is not None else 0
        if shown.get(work) != part:
            shown[work] = part
            line = {"schema": "discreet/progress@1", "work": work, "done": done[work], "total": total}
            with suppress(OSError):  # a closed pipe must not end what was paid for
                typer.echo(json.dumps(line), err=True)

    return advance


def confirmed() -> None:
    """Ask whether to go on."""
    typer.echo("Go on? [y/N]: ", nl=False, err=True)  # typer.confirm writes to standard output too
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise typer.Abort


def interactive() -> bool:
    """Tell whether somebody could answer a question.

    Both ends are a terminal.
    """
    return sys.stdin.isatty() and sys.stderr.isatty()
