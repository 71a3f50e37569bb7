"""The outlook of a request: expected accuracy from public facts alone. Free, and bounded in time."""

from typing import Any

from discreet import workflow
from discreet.errors import InvalidParameterError
from discreet_service.access.roles import Principal
from discreet_service.call_limits import caller_is_gone
from discreet_service.context import Context
from discreet_service.schemas import OutlookIn, PlanIn
from discreet_service.store.requests import Request
from discreet_service.use_cases import permissions
from discreet_service.use_cases.priced_requests import computable

FACTORS = (0.25, 0.5, 2.0, 4.0)
"""Of the request's epsilon: where its accuracy is told beside its own."""
MOST_EPSILON = 1000.0


def outlook(context: Context, who: Principal, body: OutlookIn) -> workflow.Outlook:
    """Simulate how well a request can be expected to do. Cost: about a second in another process."""
    dataset = permissions.open_dataset(context, who, body.dataset)
    with computable():
        question = _question(dataset.metadata, body)
    return context.outlooks.outlook(who.name, question, caller_is_gone)


def outlook_of(context: Context, who: Principal, request: Request) -> workflow.Outlook:
    """Simulate a request that was made, on the metadata that it is about."""
    fields = {name: request.content[name] for name in PlanIn.model_fields}
    return outlook(context, who, OutlookIn.model_validate(fields))


def _question(metadata: dict[str, Any], body: OutlookIn) -> dict[str, Any]:
    epsilon = body.parameters.get("epsilon")
    if not isinstance(epsilon, int | float) or isinstance(epsilon, bool):
        raise InvalidParameterError("What is spent must be said, but parameters has no epsilon. Add it, such as 0.5.")
    if "public" in body.parameters:
        raise InvalidParameterError("The public table is that of the data set, but public is given. Leave it out.")
    supposed = {"r_squared": body.r_squared, "n_true": body.n_true}
    return {
        "metadata": metadata,
        "method": body.method,
        "parameters": dict(body.parameters),
        "target": body.target,
        "candidates": body.candidates,
        "epsilons": [factor * epsilon for factor in FACTORS if factor * epsilon <= MOST_EPSILON],
        "supposed": {name: value for name, value in supposed.items() if value is not None},
        "n_rows": body.n_rows,
    }
