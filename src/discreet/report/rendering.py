"""A release to text, Markdown, HTML, JSON or CSV, for those who decide and those who go on working with it."""

from collections.abc import Callable
from functools import cache
from typing import Literal, get_args

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from discreet.errors import InvalidParameterError
from discreet.release import Release
from discreet.report.escape import field, fill, flow, line, lines, to_html, to_markdown, to_text
from discreet.report.facts import Audience, Facts, gather
from discreet.report.tidy import tidy_csv
from discreet.report.words import listed

Format = Literal["text", "markdown", "html", "json", "csv"]

FORMATS: tuple[str, ...] = get_args(Format)
"""Names of the formats that `render` knows."""

_ESCAPERS: dict[str, Callable[[object], Markup]] = {"text": to_text, "markdown": to_markdown, "html": to_html}
_TEMPLATES = {"text": "report.txt.j2", "markdown": "report.md.j2", "html": "report.html.j2"}
_FOR_PARTICIPANTS = {"text": "participant.txt.j2", "markdown": "participant.md.j2", "html": "participant.html.j2"}
_N_LISTED = {"text": 7, "markdown": 100, "html": 100}


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
    _check("format", format, FORMATS)
    _check("audience", audience, get_args(Audience))
    if format == "json":
        return release.to_json()
    if format == "csv":
        return tidy_csv(release)
    facts = gather(release, audience, None if audience == "analyst" else _N_LISTED[format], contact)
    is_short = audience == "participant"
    pictures = _pictures(facts) if format == "html" and not is_short else {}
    name = (_FOR_PARTICIPANTS if is_short else _TEMPLATES)[format]
    text = environment(format).get_template(name).render(facts=facts, pictures=pictures)
    return text.rstrip() + "\n"


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidParameterError(
            f"{name} must be one of {', '.join(allowed)}, but {name}={str(value)[:40]!r}. Choose one of them."
        )


@cache
def environment(format: str) -> Environment:
    """Return the templates of a format.

    Parameters
    ----------
    format : str
        One of `FORMATS` but JSON and CSV.

    Returns
    -------
    jinja2.Environment
        Whatever is told is escaped for the format.
    """
    escaper = _ESCAPERS[format]
    environment = Environment(
        loader=PackageLoader("discreet", "report/templates"),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else escaper(value),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"flow": flow, "fill": fill, "lines": lines, "listed": listed, "plain": to_text}
    environment.globals |= {"field": field, "line": line}
    return environment


def _pictures(facts: Facts) -> dict[str, Markup]:
    from discreet.report import pictures  # Altair and its renderer start slowly: text must not wait for them

    drawn = pictures.draw(facts.release)
    return {name: Markup(svg) for name, svg in drawn.items()}  # noqa: S704 - our drawing; Vega escapes its texts
