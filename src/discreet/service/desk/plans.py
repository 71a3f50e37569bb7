"""Plans: what a request would cost and can be expected to achieve. Free: nothing private is opened."""

import threading
from typing import Any

from discreet import workflow
from discreet.errors import TooManyRequestsError
from discreet.service.access.roles import Principal
from discreet.service.context import Context
from discreet.service.desk import sight
from discreet.service.desk.inquiries import inquire
from discreet.service.schemas import ExpectIn, PlanIn

_SIMULATIONS = threading.BoundedSemaphore(1)
"""One at a time: they take a core for seconds, and others wait for a budget meanwhile."""

_PATIENCE_S = 20.0


def plan(context: Context, who: Principal, asked: PlanIn) -> dict[str, Any]:
    """Return the cost and the noise of a request.

    Parameters
    ----------
    context : Context
        The service.
    who : Principal
        Who asks.
    asked : PlanIn
        The request.

    Returns
    -------
    dict
        Of the schema ``discreet/plan@1``.
    """
    dataset = sight.open_dataset(context, who, asked.dataset)
    return inquire(context, dataset, asked.model_dump(mode="json")).plan().record()


def expected(context: Context, who: Principal, asked: ExpectIn) -> dict[str, Any]:
    """Return how well selections can be expected to do, as JSON.

    Parameters
    ----------
    context : Context
        The service.
    who : Principal
        Who asks.
    asked : ExpectIn
        What is supposed.

    Returns
    -------
    dict
        Of the schema ``discreet/expectation@1``.
    """
    question, found = expect(context, who, asked)
    return found.record(question)


def expect(context: Context, who: Principal, asked: ExpectIn) -> tuple[workflow.Question, workflow.Expectation]:
    """Return how well selections can be expected to do on a table like the one declared.

    Parameters
    ----------
    context : Context
        The service.
    who : Principal
        Who asks.
    asked : ExpectIn
        What is supposed.

    Returns
    -------
    tuple of Question and Expectation
        By simulation from public facts; the same question is answered from the cache.

    Raises
    ------
    TooManyRequestsError
        When another simulation takes long.

    Notes
    -----
    Cost: seconds, one simulation at a time.
    """
    dataset = sight.open_dataset(context, who, asked.dataset)
    supposed = {"r_squared": asked.r_squared, "n_true": asked.n_true, "correlation": asked.correlation}
    question = workflow.Question(
        metadata=workflow.Metadata.from_value(dataset.metadata),
        target=asked.target,
        candidates=None if asked.candidates is None else tuple(asked.candidates),
        delta=asked.delta,
        n_rows=() if asked.n_rows is None else (asked.n_rows,),
        supposed={name: value for name, value in supposed.items() if value is not None},
        epsilons=workflow.EPSILONS if asked.epsilons is None else tuple(asked.epsilons),
    )
    if not _SIMULATIONS.acquire(timeout=_PATIENCE_S):
        raise TooManyRequestsError("One simulation runs at a time, and another one is under way. Ask again later.")
    try:
        return question, workflow.expect(question)
    finally:
        _SIMULATIONS.release()
