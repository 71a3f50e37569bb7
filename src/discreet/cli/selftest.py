"""``discreet selftest``: the privacy checks, on this machine and version."""

import importlib
from typing import Annotated, Any

import typer

from discreet.cli.console import as_json, progress, result, say
from discreet.cli.forms import Form, Format, as_csv, form_of
from discreet.cli.options import Quiet
from discreet.errors import InvalidParameterError, VerificationError

EXAMPLE = """\b
Example:
  discreet selftest
  discreet selftest --long --processes 8
  discreet selftest --only top_k --json
"""


def selftest(
    long: Annotated[bool, typer.Option("--long", help="Draw ten times as often.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Name of a check, which runs with its controls. May be repeated."),
    ] = None,
    processes: Annotated[int, typer.Option(min=1, max=64, help="Most processes at once.")] = 2,
    json_: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    format_: Format = None,
    quiet: Quiet = False,
) -> None:
    """Attack the guarantee: every mechanism and method on its worst pairs, and the product broken on purpose.

    No data are read and no ledger is charged. Exit code 8 when anything is not as claimed.
    """
    form = form_of(format_, json_)
    suite = _part("suite")
    unknown = sorted(set(only or ()) - set(suite.NAMES))
    if unknown:
        raise InvalidParameterError(
            f"--only must be one of {', '.join(suite.NAMES)}, but it is {unknown[0][:40]!r}. Name one of them."
        )
    work = suite.tasks(only or (), suite.LONG if long else 1)
    with progress(quiet) as show_progress:
        bar = None if show_progress is None else lambda count: show_progress("Checks", count, len(work))
        evidence = list(suite.run(work, processes, bar))
    words = _part("report")
    if form is Form.CSV:
        as_csv(words.values(evidence))
    elif form is Form.JSON:
        as_json("discreet/selftest@1", **suite.machine(), findings=words.values(evidence))
    else:
        result(words.report(evidence, suite.machine()))
    if not all(check.is_as_expected for check in evidence):
        say("")
        raise VerificationError(
            "Every check must come out as claimed and every control be flagged, but some did not: see the lines above. "
            "Do not use this installation on private data; report it as SECURITY.md says."
        )


def _part(name: str) -> Any:
    """The library of distributions takes a second to load, which other commands do not wait for."""
    return importlib.import_module(f"discreet.selftest.{name}")
