"""``discreet report``: a release in words and pictures."""

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import report as reports
from discreet import workflow
from discreet.cli.console import result, say, spare
from discreet.errors import InvalidParameterError
from discreet.files import writable, write_whole

FORMATS = {".html": "html", ".htm": "html", ".md": "markdown", ".txt": "text", ".json": "json"}
FORMATS |= {".csv": "csv", ".pdf": "pdf"}


def report(
    release: Annotated[Path, typer.Argument(help="Release file, as `discreet select --out` writes it.")],
    format_: Annotated[
        str | None, typer.Option("--format", help="Format of the report: html, pdf, markdown, text, json or csv.")
    ] = None,
    audience: Annotated[
        str,
        typer.Option(
            help="Reader of the report: board (those who decide), analyst (every detail) or participant "
            "(one page in plain words)."
        ),
    ] = "board",
    contact: Annotated[str | None, typer.Option(help="Whom to ask about the study. The report prints it.")] = None,
    out: Annotated[Path | None, typer.Option(help="File for the report. Its ending tells the format.")] = None,
) -> None:
    """Explain a release to an ethics board, an analyst or a participant.

    \b
    Example:
      discreet report release.json --out report.html
      discreet report release.json --audience participant \\
        --contact "the data office, room 12" --out leaflet.pdf
    """
    chosen: Any = format_ or (FORMATS.get(out.suffix.lower()) if out is not None else "text")
    if chosen is None:
        raise InvalidParameterError(f"The report needs a format: end --out in {', '.join(FORMATS)}, or give --format.")
    if out is not None:
        writable(out)
        spare(out, release)
    read = workflow.Release.read(release)
    if chosen == "pdf":
        if out is None:
            raise InvalidParameterError("A PDF needs a file: give --out FILE.pdf.")
        write_whole(out, reports.render_pdf(read, audience, contact))  # type: ignore[arg-type]
    else:
        text = reports.render(read, chosen, audience, contact)  # type: ignore[arg-type]
        if out is None:
            result(text)
            return
        write_whole(out, text)
    say(f"Report written to {out}.")
