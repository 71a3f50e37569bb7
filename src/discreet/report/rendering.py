"""A release to text, Markdown, HTML, JSON or CSV, for those who decide and those who go on working with it."""

from typing import Literal, get_args

from markupsafe import Markup

from discreet.release import Release
from discreet.report.escape import environment
from discreet.report.facts import Audience, check_choice, gather
from discreet.report.report_page import drawn, page_for
from discreet.report.tidy import tidy_csv

Format = Literal["text", "markdown", "html", "json", "csv"]

FORMATS: tuple[str, ...] = get_args(Format)
"""Names of the formats that `render` knows."""

N_LISTED = 7
"""Columns that a text names for a board."""


def render(release: Release, format: Format, audience: Audience = "board", contact: str | None = None) -> str:
    """Return a report on a release.

    Parameters
    ----------
    release : Release
        The release; nothing else is read.
    format : {"text", "markdown", "html", "json", "csv"}
        Text for a terminal of 80 columns, Markdown, one self-contained page, the release itself, or its answer as
        a table.
    audience : {"board", "analyst", "participant"}
        The analyst's report lists every column, digest and event in full; that for somebody who is in the table is one
        page in plain words. JSON and CSV are the same for all.
    contact : str, optional
        Whom to ask about the release, such as a name and an address.

    Returns
    -------
    str
        The report, ending in a newline. The same release gives the same text.

    Raises
    ------
    InvalidParameterError
        When the format or the audience has no such name, or the release's epsilon is out of range.

    Notes
    -----
    Everything that the release says is escaped for the format. A release that is not private, states no
    guarantee or was drawn from seeded noise is reported below a banner that says so, without a guarantee.
    """
    check_choice("format", format, FORMATS)
    check_choice("audience", audience, get_args(Audience))
    if format == "json":
        return release.to_json()
    if format == "csv":
        return tidy_csv(release)
    if format == "text":
        facts = gather(release, audience, None if audience == "analyst" else N_LISTED, contact)
        name = "participant.txt.j2" if audience == "participant" else "report.txt.j2"
        text = environment(format).get_template(name).render(facts=facts)
    else:
        content = page_for(release, audience, contact)
        pictures = drawn(content, release) if format == "html" else {}
        drawings = {name: Markup(svg) for name, svg in pictures.items()}  # noqa: S704 - our drawing
        name = {"html": "page.html.j2", "markdown": "page.md.j2"}[format]
        text = environment(format).get_template(name).render(page=content, pictures=drawings)
    return text.rstrip() + "\n"
