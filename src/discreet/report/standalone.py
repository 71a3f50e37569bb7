"""Pictures of a release that need no page around them, with the words that stand beside them."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import escape

from discreet.release import Release
from discreet.report.escape import flow
from discreet.report.facts import Facts, gather
from discreet.report.rendering import environment

_WORDS = {
    "coefficients": ("estimates.j2", "fit_picture_title", "fit_picture_note"),
    "weights": ("hybrid.j2", "weights_title", "weights_note"),
    "twins": ("hybrid.j2", "twins_title", "twins_note"),
    "sizes": ("estimates.j2", "sizes_title", "sizes_caution"),
    "odds": ("sentences.j2", "odds_title", "odds_note"),
    "steps": ("estimates.j2", "steps_title", "steps_note"),
    "swap": ("sentences.j2", "swaps_title", "swaps_note"),
    "budget": ("sentences.j2", "budget_title", "budget_note"),
}
"""Picture to the template that holds its title and its note; in the order of the page."""

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


def pictures_of(release: Release) -> dict[str, Picture]:
    """Return the pictures that the page of a release shows, each as a file of its own.

    Title, note and alt are not escaped: whoever puts them into a page must do it. Cost: about a second for the first
    call of a process, then tenths of a second.
    """
    return {picture.name: picture for picture in _drawn(release, gather(release, "board", 0))}


def _drawn(release: Release, facts: Facts) -> Iterator[Picture]:
    from discreet.report import drawing, pictures  # Altair and its renderer start slowly: text must not wait for them

    drawn = pictures.draw(release)
    for name, (template, *macros) in _WORDS.items():
        if name in drawn:
            words = environment("text").get_template(template).make_module({"facts": facts})
            title, note = (str(flow(getattr(words, macro)())) for macro in macros)
            paper = f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="{drawing.PAPER}"/>'
            yield Picture(name, title, note, _alt(drawn[name]), drawn[name].replace(">", f">{paper}", 1))


def _alt(svg: str) -> str:
    description = _ALT.search(svg)
    return "" if description is None else html.unescape(description[1])
