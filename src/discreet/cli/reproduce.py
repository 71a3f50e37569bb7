"""``discreet reproduce``: tables and figures of the papers, as published and as they can honestly be had."""

from pathlib import Path
from typing import Annotated

import typer

from discreet import workflow
from discreet.cli.console import as_json, progress, result, say
from discreet.cli.options import Quiet
from discreet.errors import InvalidParameterError
from discreet.report.studies import study_markdown
from discreet.report.study import Findings, Study

EXAMPLE = """\b
Example:
  discreet reproduce
  discreet reproduce lei-table-3 --data data
  discreet reproduce all --data data --out reproduced
"""


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="A table or figure, a paper (lei, swope, wang), or all. Default: list."
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the public tables (Parquet).")] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for tables, pictures and the page; parts that are in it are not done again.")
    ] = Path("reproduced"),
    repeats: Annotated[int | None, typer.Option(min=1, help="Draws or tables. Default: each study's own.")] = None,
    processes: Annotated[int, typer.Option(min=1, max=64, help="At most; the figures are the same.")] = 2,
    json_: Annotated[bool, typer.Option("--json", help="The figures as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Show published tables and figures beside what can honestly be had at the same epsilon. No ledger is charged."""
    if not names:
        known = workflow.studies()
        if json_:
            as_json("discreet/studies@1", studies=[_listed(one) for one in known])
        else:
            result("\n".join(_lines(known)))
        return
    if data is not None and not data.is_dir():
        raise InvalidParameterError(f"--data must be a folder with the public tables, but {data} is none.")
    try:
        with progress(quiet) as told:
            found = workflow.reproduce(names, data, out, repeats, processes, told)
    except KeyboardInterrupt:
        say(f"Parts that are done are kept in {out}: the same command goes on from there.")
        raise
    if json_:
        as_json("discreet/reproduction@1", out=str(out), studies=[_figures(one) for one in found])
    elif len(found) == 1:
        result(study_markdown(found[0]))
    else:
        result("\n".join(_summary(one) for one in found))
    page = "index.html" if len(found) > 1 else f"{found[0].study.name}.html"
    say(f"Tables, pictures and the page written: {out / page}", quiet)


def _lines(known: list[Study]) -> list[str]:
    width = max(len(one.name) for one in known)
    return [
        *(f"{one.name:<{width}}  {one.source}: {one.title}" for one in known),
        "",
        "Also: lei, swope, wang, all. Those of public tables need --data FOLDER.",
    ]


def _listed(study: Study) -> dict[str, object]:
    return {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "files": list(study.files),
        "repeats": study.repeats,
    }


def _figures(one: Findings) -> dict[str, object]:
    return {
        **_listed(one.study),
        "repeats": one.repeats,
        "ways": [{"name": way.name, "is_private": way.is_private, "told": way.told} for way in one.study.columns],
        "figures": [
            {"way": row.column, **row.settings, "value": row.value, "standard_error": row.error} for row in one.rows
        ],
        "missing": [*one.study.missing, *one.absent],
        "doubts": list(one.doubts),
    }


def _summary(one: Findings) -> str:
    return f"{one.study.name}: {one.absent[0] if one.absent else f'{len(one.rows)} figures'}"
