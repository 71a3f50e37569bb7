"""Files that every page needs: the style, the scripts, the icon. All public, kept by browsers under their digest."""

import hashlib
from importlib.resources import files

from fastapi import APIRouter, Response

from discreet.errors import NotFoundError
from discreet_service.access.guard import unguarded

router = APIRouter()

_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FILES = {
    name: files("discreet_service.pages").joinpath("static", name).read_bytes()
    for name in ("style.css", "htmx.min.js", "page.js", "icon.svg")
}
_DIGESTS = {name: hashlib.sha256(content).hexdigest()[:16] for name, content in _FILES.items()}


def asset(name: str) -> str:
    """Return the path of a file, which changes with the file's content."""
    return f"/static/{_DIGESTS[name]}/{name}"


@router.get("/static/{digest}/{name}")
@unguarded
def read_asset(digest: str, name: str) -> Response:
    """Read a file."""
    if digest != _DIGESTS.get(name):
        raise NotFoundError("A file of the pages must exist, but there is none of this name and content.")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(_FILES[name], media_type=_KINDS[name.rpartition(".")[2]], headers=headers)
