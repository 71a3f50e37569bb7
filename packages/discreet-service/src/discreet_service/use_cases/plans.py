"""Plans: what a request would cost and can be expected to achieve. Free: nothing private is opened."""

import json
from typing import Any

from discreet import workflow
from discreet_service.access.roles import Principal
from discreet_service.call_limits import caller_is_gone
from discreet_service.context import Context
from discreet_service.schemas import ExpectIn, PlanIn
from discreet_service.simulation.child import question_of
from discreet_service.simulation.run import check_cells
from discreet_service.use_cases import permissions
from discreet_service.use_cases.priced_requests import computable, price


def plan(context: Context, who: Principal, body: PlanIn) -> dict[str, Any]:
    """Return the cost and the noise of a request."""
    dataset = permissions.open_dataset(context, who, body.dataset)
    priced = price(context, dataset, body.model_dump(mode="json"))
    with computable():
        record = priced.record()
        json.dumps(record, allow_nan=False)
    return record


def expect_record(context: Context, who: Principal, body: ExpectIn) -> dict[str, Any]:
    """Return how well selections can be expected to do, as JSON."""
    question, expectation = expect(context, who, body)
    return expectation.record(question)


def expect(context: Context, who: Principal, body: ExpectIn) -> tuple[workflow.Question, workflow.Expectation]:
    """Simulate from public facts how well selections do on a table like the one declared.

    Cost: seconds in another process, unless the question was answered before.
    """
    dataset = permissions.open_dataset(context, who, body.dataset)
    fields = question_in(dataset.metadata, body)
    question = question_of(fields)
    features = question.metadata.features
    n_features = 0 if features is None else features.count or len(features.names or ())
    columns = n_features + len(question.metadata.columns) if body.candidates is None else len(body.candidates) + 1
    check_cells(body.n_rows or question.metadata.n_rows or 0, columns)
    return question, context.simulations.expect(who.name, fields, caller_is_gone)


def question_in(metadata: dict[str, Any], body: ExpectIn) -> dict[str, Any]:
    """Return the fields of a `workflow.Question`, for JSON."""
    parameters = dict(body.parameters)
    epsilon, delta = parameters.pop("epsilon", None), parameters.pop("delta", None)
    at = float(epsilon) if isinstance(epsilon, int | float) else None
    epsilons = set(workflow.EPSILONS if body.epsilons is None else body.epsilons)
    supposed = {"r_squared": body.r_squared, "n_true": body.n_true, "correlation": body.correlation}
    return {
        "metadata": metadata,
        "target": body.target,
        "candidates": body.candidates,
        "delta": float(delta) if isinstance(delta, int | float) and delta else body.delta,
        "n_rows": [] if body.n_rows is None else [body.n_rows],
        "supposed": {name: value for name, value in supposed.items() if value is not None},
        "epsilons": sorted(epsilons | ({at} if at is not None else set())),
        "at": at,
        "methods": [] if body.method is None else [body.method],
        "parameters": parameters,
        "n_tables": body.n_tables,
    }
