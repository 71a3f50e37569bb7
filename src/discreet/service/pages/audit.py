"""Who did what, and whether the ledger is whole."""

from typing import Annotated

from fastapi import APIRouter, Response

from discreet.errors import VerificationError
from discreet.service.access.roles import Role
from discreet.service.api.paging import Cursor, cut, place_of
from discreet.service.call_limits import reports
from discreet.service.pages.visit import Visit, seated
from discreet.service.problems import status_of
from discreet.service.use_cases import oversight

router = APIRouter()

_LISTED = 50


@router.get("/audit")
def show_audit(
    visit: Annotated[Visit, seated(Role.AUDITOR, Role.CURATOR, Role.ADMIN)], cursor: Cursor = None
) -> Response:
    """Show who did what, the newest first."""
    found = oversight.deeds(visit.context, visit.who, place_of(cursor), _LISTED + 1)
    items, following = cut(found, [one.seq for one in found], _LISTED)
    return visit.page("audit", deeds=items, following=following)


@router.post("/verification")
@reports
def verify_ledger(visit: Annotated[Visit, seated(Role.AUDITOR, Role.CURATOR)]) -> Response:
    """Recompute the ledger's chain, accounts and releases, and compare."""
    try:
        found = oversight.verify(visit.context, visit.who)
    except VerificationError as error:
        return visit.page("verification", status_of(error)[0], found=None, told=str(error))
    return visit.page("verification", found=found, told=None)
