"""Metadata begun from a header and checked, in the browser: nothing is stored, and no table is opened."""

from typing import Annotated, Any

from fastapi import APIRouter, Response

from discreet import workflow
from discreet.errors import DiscreetError, InvalidParameterError
from discreet_service.access.roles import READERS
from discreet_service.call_limits import reports
from discreet_service.pages.visit import Visit, signed_in

router = APIRouter()

Reader = Annotated[Visit, signed_in(*READERS)]

MOST_CHARACTERS = 200_000
"""Of what is pasted: a check of more would take seconds."""


@router.get("/metadata")
def show_metadata(visit: Reader) -> Response:
    """Show the two forms: a header to begin with, metadata to check."""
    return visit.page("metadata", **_facts(visit))


@router.post("/metadata/new")
@reports
def begin_metadata(visit: Reader) -> Response:
    """Write metadata with blanks from a pasted header."""
    form = visit.form
    try:
        text = workflow.metadata_of_header(
            _pasted(form.get("header")),
            dataset=form.get("dataset") or "my-data",
            unit=form.get("unit") or "person",
            n_rows=_public_rows(form.get("n_rows")),
        )
    except DiscreetError as error:
        return visit.page_with_error(error, "metadata", **_facts(visit))
    return visit.page("metadata", **_facts(visit, text=text, is_new=True))


@router.post("/metadata/check")
@reports
def check_metadata(visit: Reader) -> Response:
    """List all that is missing or looks wrong in pasted metadata, each with its line."""
    text = visit.form.get("file") or visit.form.get("metadata")
    try:
        metadata, findings = workflow.check_metadata_text(_pasted(text))
    except DiscreetError as error:
        return visit.page_with_error(error, "metadata", **_facts(visit, text=text))
    facts = {"findings": list(findings), "columns": None if metadata is None else len(metadata.columns)}
    has_errors = any(finding.severity == "error" for finding in findings)
    return visit.page("metadata", 422 if has_errors else 200, **_facts(visit, text=text, **facts))


def _pasted(text: str) -> str:
    if not text:
        raise InvalidParameterError("There is nothing to read: the field is empty. Paste the text, or choose a file.")
    if len(text) > MOST_CHARACTERS:
        raise InvalidParameterError(
            f"This page reads at most {MOST_CHARACTERS:,} characters, but there are {len(text):,}. Use `discreet "
            "metadata check FILE` on your machine."
        )
    return text


def _public_rows(text: str) -> int | None:
    text = text.replace(",", "")
    if text and not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise InvalidParameterError(
            "The public number of rows must be a whole number, but it is not. Write digits, or leave the field "
            "empty if the number is private."
        )
    return int(text) if text else None


def _facts(visit: Visit, **facts: Any) -> dict[str, Any]:
    usual = {"text": visit.form.get("metadata"), "findings": None, "columns": None, "is_new": False, "form": visit.form}
    return usual | facts
