"""Releases: the only thing that leaves, in every form that a report has."""

from typing import Literal

from fastapi import Response

from discreet import report
from discreet.errors import ConflictError
from discreet.release import Release
from discreet.report.facts import Audience
from discreet.report.rendering import Format
from discreet_service.access.roles import Principal
from discreet_service.context import Context
from discreet_service.store import requests
from discreet_service.use_cases import permissions


def release_of(context: Context, who: Principal, id_: str) -> Release:
    """Return the release of a request as the ledger recorded it."""
    request = permissions.open_request(context, who, id_)
    text = None
    if request.state == requests.RELEASED and request.entry is not None:
        text = context.ledger.recorded(request.entry)
    if text is None:
        raise ConflictError(f"A request must be released to be read, but id={id_} is {request.state}. Ask again later.")
    return Release.from_json(text)


Form = Format | Literal["pdf"]

MEDIA: dict[Form, str] = {
    "json": "application/json",
    "html": "text/html; charset=utf-8",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "text": "text/plain; charset=utf-8",
}
"""Forms of a release."""

_SUFFIXES: dict[Form, str] = {"markdown": "md", "text": "txt"}
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
"""A report is a page by itself, with its own style and no script; no other page can frame it or be reached from it."""


def response(context: Context, who: Principal, id_: str, form: Form, audience: Audience = "board") -> Response:
    """Return a release in some form: shown by the browser (HTML, text, JSON) or downloaded."""
    release = release_of(context, who, id_)
    content = report.render_pdf(release, audience) if form == "pdf" else report.render(release, form, audience)
    shown = "inline" if form in ("html", "text", "json") else "attachment"
    reader = "" if audience == "board" else f"-{audience}"
    name = f"release-{id_}{reader}.{_SUFFIXES.get(form, form)}"
    headers = {"Content-Disposition": f'{shown}; filename="{name}"', "Content-Security-Policy": _REPORT_POLICY}
    return Response(content, media_type=MEDIA[form], headers=headers)
