"""A report as PDF, set by Typst from the same page as the HTML, which the template takes as data."""

import json
import re
from dataclasses import asdict
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from discreet.errors import InvalidParameterError
from discreet.release import Release
from discreet.report.facts import Audience
from discreet.report.report_page import drawn, page_for
from discreet.report.standalone import alt_of
from discreet.report.words import visible

_NOT_IN_FONTS = re.compile(
    "[^\n -\u04ff\u0530-\u05ff\u0621-\u063a\u0640-\u0655\u0900-\u097f\u1e00-\u2151\u2190-\u23ff\u2500-\u25ff✓]"
)
"""Characters that Typst's own fonts have: of Latin, Greek, Cyrillic, Hebrew, Arabic and Devanagari, and signs."""


def render_pdf(release: Release, audience: Audience = "board", contact: str | None = None) -> bytes:
    r"""Return a report on a release as PDF.

    A tagged PDF of A4 pages, without a time or an author in it.

    It says what the page in HTML says. Names are data of the template, which Typst does not interpret; it has its fonts
    with it, and a character that these lack is written out, such as ``\u5217``.
    """
    document: bytes = compiled(page_data(release, audience, contact), format="pdf")
    return document


def page_data(release: Release, audience: Audience = "board", contact: str | None = None) -> str:
    """Return what the template is given: the page and its pictures as JSON."""
    content = page_for(release, audience, contact)
    pictures = {name: {"svg": _in_fonts(svg), "alt": alt_of(svg)} for name, svg in drawn(content, release).items()}
    return json.dumps({"page": _shown(asdict(content)), "pictures": pictures}, ensure_ascii=False)


def _shown(value: Any) -> Any:
    """The same structure, each text as it can be shown."""
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    return _in_fonts(visible(value)) if isinstance(value, str) else value


def _in_fonts(text: str) -> str:
    return _NOT_IN_FONTS.sub(lambda mark: mark[0].encode("unicode_escape").decode(), text)


def compiled(data: str, **options: Any) -> Any:
    """Return the template with these data, as Typst sets it with the fonts that it brings."""
    template = files("discreet.report").joinpath("templates", "page.typ").read_bytes()
    return _typst().compile(template, sys_inputs={"page": data}, ignore_system_fonts=True, **options)


@cache
def _typst() -> Any:
    try:
        return import_module("typst")
    except ImportError:
        raise InvalidParameterError(
            'PDF needs the package typst, but it is not installed. Run `pip install "discreet[pdf]"`, or write HTML.'
        ) from None
