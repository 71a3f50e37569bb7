"""Who did what, and whether the ledger is whole."""

from typing import Annotated

from fastapi import APIRouter, Response

from discreet.errors import VerificationError
from discreet_service.access.roles import Role
from discreet_service.api.paging import Cursor, parse_cursor, split_page
from discreet_service.call_limits import reports
from discreet_service.pages.visit import Visit, signed_in
from discreet_service.problems import status_of
from discreet_service.use_cases import oversight

router = APIRouter()

_PAGE_SIZE = 50


@router.get("/audit")
def show_audit(
    visit: Annotated[Visit, signed_in(Role.AUDITOR, Role.CURATOR, Role.ADMIN)], cursor: Cursor = None
) -> Response:
    """Show who did what, the newest first."""
    entries = oversight.audit_entries(visit.context, visit.who, parse_cursor(cursor), _PAGE_SIZE + 1)
    items, following = split_page(entries, [entry.seq for entry in entries], _PAGE_SIZE)
    return visit.page("audit", audit_entries=items, following=following)


@router.post("/verification")
@reports
def verify_ledger(visit: Annotated[Visit, signed_in(Role.AUDITOR, Role.CURATOR)]) -> Response:
    """Recompute the ledger's chain, accounts and releases, and compare."""
    try:
        verification = oversight.verify(visit.context, visit.who)
    except VerificationError as error:
        return visit.page("verification", status_of(error)[0], verification=None, message=str(error))
    return visit.page("verification", verification=verification, message=None)
