"""Pictures of a release that need no page around them, with the words that stand beside them."""

import html
import re
from dataclasses import dataclass

from markupsafe import escape

from discreet.release import Release
from discreet.report.drawing import PAPER
from discreet.report.report_page import drawn, page_for

_ALT = re.compile(r'aria-label="([^"]*)"')


@dataclass(frozen=True)
class Picture:
    """A picture of a release as a file of its own.

    Parameters
    ----------
    name : str
        Such as "coefficients".
    title : str
        Stands above it; what it shows, as plain text.
    note : str
        Stands below the title; how to read it, as plain text.
    alt : str
        What it shows, for those who do not see it, as plain text.
    svg : str
        A whole SVG document on white paper, without scripts, styles or references.
    """

    name: str
    title: str
    note: str
    alt: str
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def pictures_of(release: Release) -> dict[str, Picture]:
    """Return the pictures that the page of a release shows, each as a file of its own.

    Title, note and alt are not escaped: whoever puts them into a page must do it. Cost: hundredths of a
    second.
    """
    content = page_for(release, "board")
    svgs = drawn(content, release)
    return {
        picture.name: Picture(
            picture.name,
            picture.title,
            picture.note,
            alt_of(svgs[picture.name]),
            _on_paper(svgs[picture.name], picture.title),
        )
        for picture in content.pictures()
        if picture.name in svgs
    }


def _on_paper(svg: str, title: str) -> str:
    paper = f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="{PAPER}"/>'
    return svg.replace(">", f">{paper}", 1)


def alt_of(svg: str) -> str:
    """Return what a picture shows, for those who do not see it."""
    description = _ALT.search(svg)
    return "" if description is None else html.unescape(description[1])
