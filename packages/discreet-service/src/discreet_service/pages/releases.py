"""A release as a page: what was found, what is promised, what it cost, in pictures and as files."""

from functools import lru_cache
from typing import Annotated, Any, cast

from fastapi import APIRouter, Response

from discreet import report
from discreet.errors import NotFoundError
from discreet.release import Release
from discreet.report.escape import environment, flow
from discreet.report.facts import gather
from discreet_service.access.roles import READERS
from discreet_service.call_limits import reports
from discreet_service.pages.visit import Visit, signed_in
from discreet_service.use_cases import permissions, releases, requests

router = APIRouter()

Reader = Annotated[Visit, signed_in(*READERS)]

FILES: tuple[tuple[str, releases.Form, str], ...] = (
    ("html", "html", "Report (HTML)"),
    ("pdf", "pdf", "Report (PDF)"),
    ("csv", "csv", "Results (CSV)"),
    ("json", "json", "Release (JSON)"),
    ("md", "markdown", "Report (Markdown)"),
)
"""Suffix, form and name of each file that can be downloaded."""

_SENTENCES = ("answer", "question", "promise", "person", "delta", "noise")


@router.get("/requests/{id}/release")
@reports
def show_release(visit: Reader, id: str) -> Response:
    """Show the release of a request."""
    release = releases.release_of(visit.context, visit.who, id)
    request = requests.request_out(visit.context, permissions.open_request(visit.context, visit.who, id))
    return visit.page("release", request=request, files=FILES, **_facts(release))


@router.get("/requests/{id}/release.{ending}")
@reports
def download_release(visit: Reader, id: str, ending: str, audience: str = "board") -> Response:
    """Read the release of a request as a file."""
    form = next((form for suffix, form, _ in FILES if suffix == ending), None)
    if form is None or audience not in ("board", "analyst", "participant"):
        raise NotFoundError(f"A release must be asked for as one of {', '.join(suffix for suffix, _, _ in FILES)}.")
    return releases.response(visit.context, visit.who, id, form, cast(Any, audience))


@router.get("/requests/{id}/pictures/{name}.svg")
@reports
def show_picture(visit: Reader, id: str, name: str) -> Response:
    """Read a picture of a release."""
    picture = _pictures(releases.release_of(visit.context, visit.who, id).to_json()).get(name)
    if picture is None:
        raise NotFoundError("A picture of a release must be one that its page shows, but this one is not.")
    return Response(picture.svg, media_type="image/svg+xml")


def _facts(release: Release) -> dict[str, Any]:
    facts = gather(release, "analyst", None)
    sentences = environment("text").get_template("sentences.j2").make_module({"facts": facts})
    texts = {name: str(flow(getattr(sentences, name)())) for name in _SENTENCES} if facts.promise else {}
    return {
        "release": release,
        "facts": facts,
        "say": {"answer": str(flow(sentences.answer()))} | texts,  # type: ignore[attr-defined]
        "pictures": _pictures(release.to_json()),
        "columns": list(release.selected),
    }


@lru_cache(maxsize=32)
def _pictures(text: str) -> dict[str, report.Picture]:
    """Draw the pictures of a release once for all that its page shows."""
    return report.pictures_of(Release.from_json(text))
