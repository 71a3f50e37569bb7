"""``discreet doctor``: what is installed, what works, what is missing; and the compiled code made ready."""

import importlib
from typing import Annotated

import typer

from discreet.cli.console import as_json, progress, result
from discreet.cli.forms import Form, Format, as_csv, form_of
from discreet.cli.options import Quiet

EXAMPLE = """\b
Example:
  discreet doctor
  discreet doctor --json
"""


def doctor(
    json_: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    format_: Format = None,
    quiet: Quiet = False,
) -> None:
    """Tell what is installed and works, and compile what the first request would wait for.

    No data are read and no ledger is charged. Run it once after installing: the first time takes about half a minute.
    """
    form = form_of(format_, json_)
    installation = importlib.import_module("discreet.workflow.installation")
    versions, parts, seconds = installation.versions(), installation.parts(), {}
    with progress(quiet) as show_progress:
        for name, taken_s in installation.warm():
            seconds[name] = round(taken_s, 2)
            if show_progress is not None:
                show_progress("Compiled code", len(seconds), installation.N_TASKS)
    shown = [{"name": each.name, "purpose": each.purpose, "is_installed": each.is_installed} for each in parts]
    if form is Form.CSV:
        as_csv(shown)
        return
    if form is Form.JSON:
        as_json("discreet/doctor@1", versions=versions, parts=shown, compiled_s=seconds)
        return
    result("Installed: " + ", ".join(f"{name} {number}" for name, number in versions.items()))
    for each in parts:
        result(
            f"  {'yes' if each.is_installed else 'no ':<4} {each.purpose}" + (f": {each.remedy}" if each.remedy else "")
        )
    result("Compiled and ready:")
    for name, taken_s in seconds.items():
        result(f"  {taken_s:6.1f} s  {name}")
