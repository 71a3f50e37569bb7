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
    release: Annotated[Path, typer.Argument(help="A release that `discreet select --out` wrote.")],
    format_: Annotated[str | None, typer.Option("--format", help="html, pdf, markdown, text, json or csv.")] = None,
    audience: Annotated[
        str,
        typer.Option(
            help="board: for those who decide; analyst: with every detail; participant: one page in plain words."
        ),
    ] = "board",
    contact: Annotated[str | None, typer.Option(help="Whom to ask about it: printed in the report.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write here; the ending tells the format.")] = None,
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
