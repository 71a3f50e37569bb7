"""``discreet reproduce``: tables and figures of the papers, as published and as they can honestly be had."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import as_json, progress, result, say
from discreet.cli.options import Quiet
from discreet.errors import InvalidParameterError

if TYPE_CHECKING:
    from discreet.report.study import Findings, Study

app = typer.Typer(add_completion=False)

EXAMPLE = """\b
Example:
  discreet reproduce
  discreet reproduce lei-table-3 --data data
  discreet reproduce all --data data --out reproduced
"""


@app.command(epilog=EXAMPLE)
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Table or figure, paper (lei, swope or wang), or all. Default: list what there is.",
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the public tables (Parquet).")] = None,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for tables, pictures and the page. Parts that it already holds are not computed again."
        ),
    ] = Path("reproduced"),
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Number of draws or tables. Default: that of each study.")
    ] = None,
    processes: Annotated[
        int, typer.Option(min=1, max=64, help="Most processes at once. The figures do not depend on it.")
    ] = 2,
    json_: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Show published tables and figures beside what can honestly be had at the same epsilon. No ledger is charged."""
    # Pages of figures start slowly: help must not wait for them.
    from discreet.report.studies import study_markdown
    from discreet_papers import reproduction

    if not names:
        available = reproduction.studies()
        if json_:
            as_json("discreet/studies@1", studies=[_listed(study) for study in available])
        else:
            result("\n".join(_lines(available)))
        return
    if data is not None and not data.is_dir():
        raise InvalidParameterError(f"--data must be a folder with the public tables, but {data} is not.")
    try:
        with progress(quiet) as show_progress:
            findings = reproduction.reproduce(names, data, out, repeats, processes, show_progress)
    except KeyboardInterrupt:
        say(f"Parts that are done are kept in {out}: the same command goes on from there.")
        raise
    if json_:
        as_json("discreet/reproduction@1", out=str(out), studies=[_figures(study) for study in findings])
    elif len(findings) == 1:
        result(study_markdown(findings[0]))
    else:
        result("\n".join(_summary(study) for study in findings))
    page = "index.html" if len(findings) > 1 else f"{findings[0].study.name}.html"
    say(f"Tables, pictures and the page written: {out / page}", quiet)


def _lines(available: "list[Study]") -> list[str]:
    width = max(len(study.name) for study in available)
    return [
        *(f"{study.name:<{width}}  {study.source}: {study.title}" for study in available),
        "",
        "Also: lei, swope, wang, all. Those of public tables need --data FOLDER.",
    ]


def _listed(study: "Study") -> dict[str, object]:
    return {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "files": list(study.files),
        "repeats": study.repeats,
    }


def _figures(findings: "Findings") -> dict[str, object]:
    return {
        **_listed(findings.study),
        "repeats": findings.repeats,
        "ways": [{"name": way.name, "is_private": way.is_private, "told": way.told} for way in findings.study.columns],
        "figures": [
            {"way": row.column, **row.settings, "value": row.value, "standard_error": row.error}
            for row in findings.rows
        ],
        "missing": [*findings.study.missing, *findings.absent],
        "doubts": list(findings.doubts),
    }


def _summary(findings: "Findings") -> str:
    return f"{findings.study.name}: {findings.absent[0] if findings.absent else f'{len(findings.rows)} figures'}"
