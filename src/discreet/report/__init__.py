"""A release in words and pictures; knows no method and no data."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.report.pdf import render_pdf as render_pdf
    from discreet.report.rendering import FORMATS as FORMATS
    from discreet.report.rendering import render as render
    from discreet.report.request_facts import is_by_fission as is_by_fission
    from discreet.report.request_facts import is_by_half as is_by_half
    from discreet.report.request_facts import is_of_selection as is_of_selection
    from discreet.report.request_facts import n_candidates as n_candidates
    from discreet.report.standalone import Picture as Picture
    from discreet.report.standalone import pictures_of as pictures_of
    from discreet.report.table import coefficient_table as coefficient_table

# Imported on first use: who writes a number in words must not wait for a template.
_HOMES = {
    "FORMATS": "discreet.report.rendering",
    "Picture": "discreet.report.standalone",
    "coefficient_table": "discreet.report.table",
    "is_by_fission": "discreet.report.request_facts",
    "is_by_half": "discreet.report.request_facts",
    "is_of_selection": "discreet.report.request_facts",
    "n_candidates": "discreet.report.request_facts",
    "pictures_of": "discreet.report.standalone",
    "render": "discreet.report.rendering",
    "render_pdf": "discreet.report.pdf",
}

__all__ = [
    "FORMATS",
    "Picture",
    "coefficient_table",
    "is_by_fission",
    "is_by_half",
    "is_of_selection",
    "n_candidates",
    "pictures_of",
    "render",
    "render_pdf",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.report' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
