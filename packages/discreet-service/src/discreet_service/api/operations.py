"""Routes for operators and auditors: audit, verification, health, metrics."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from discreet_service.access.guard import GuardedRoute, allow, context_of, unguarded
from discreet_service.access.roles import Principal, Role
from discreet_service.api.paging import Cursor, Limit, parse_cursor, split_page
from discreet_service.call_limits import reports
from discreet_service.schemas import AuditPage, VerificationOut
from discreet_service.use_cases import oversight

router = APIRouter(route_class=GuardedRoute, tags=["operations"])

Overseer = Annotated[Principal, allow(Role.AUDITOR, Role.CURATOR)]


@router.get("/audit")
def read_audit(
    request: Request,
    who: Annotated[Principal, allow(Role.AUDITOR, Role.CURATOR, Role.ADMIN)],
    cursor: Cursor = None,
    limit: Limit = 50,
) -> AuditPage:
    """Read who did what, the newest first."""
    entries = oversight.audit_entries(context_of(request), who, parse_cursor(cursor), limit + 1)
    items, following = split_page(entries, [entry.seq for entry in entries], limit)
    return AuditPage(items=items, next=following)


@router.post("/verification")
@reports
def verify_ledger(request: Request, who: Overseer) -> VerificationOut:
    """Recompute the ledger's chain, accounts and releases, and compare."""
    return oversight.verify(context_of(request), who)


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def read_metrics(request: Request, who: Annotated[Principal, allow(Role.ADMIN, Role.AUDITOR)]) -> Response:
    """Read counts for a monitor, in Prometheus' format: of calls and of requests by state, none of rows."""
    del who
    return Response(oversight.metrics(context_of(request)), media_type=CONTENT_TYPE_LATEST)


@router.get("/health")
@unguarded
def read_health(request: Request) -> dict[str, str]:
    """Tell whether the service can answer: its database is there and its ledger is the newest."""
    return oversight.health(context_of(request))
