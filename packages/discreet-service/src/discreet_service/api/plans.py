"""Plans: free, from public facts alone."""

from typing import Annotated, Any

from fastapi import APIRouter, Request

from discreet_service.access.guard import GuardedRoute, allow, context_of
from discreet_service.access.roles import READERS, Principal
from discreet_service.call_limits import simulations
from discreet_service.schemas import ExpectIn, PlanIn
from discreet_service.use_cases import plans

router = APIRouter(route_class=GuardedRoute, tags=["plans"])

Reader = Annotated[Principal, allow(*READERS)]


@router.post("/plans")
def plan_request(request: Request, who: Reader, body: PlanIn) -> dict[str, Any]:
    """Price a request: what it would cost, and its noise (schema discreet/plan@1)."""
    return plans.plan(context_of(request), who, body)


@router.post("/expectations")
@simulations
def expect_accuracy(request: Request, who: Reader, body: ExpectIn) -> dict[str, Any]:
    """Simulate how well selections can be expected to do (schema discreet/expectation@1). Takes seconds."""
    return plans.expect_record(context_of(request), who, body)
