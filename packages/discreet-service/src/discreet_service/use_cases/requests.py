"""Requests: made, changed and withdrawn by analysts."""

import json
from typing import Any

from sqlalchemy import Connection

from discreet import workflow
from discreet.digits import plain
from discreet.errors import BudgetExceededError, ConflictError, ForbiddenError, NotFoundError, TooManyRequestsError
from discreet.release import canonical_sha256
from discreet_service.access.roles import Principal
from discreet_service.clock import now
from discreet_service.context import Context
from discreet_service.schemas import DecisionOut, RequestIn, RequestOut
from discreet_service.store import audit, decisions, requests, users
from discreet_service.store.requests import Request
from discreet_service.use_cases import permissions
from discreet_service.use_cases.priced_requests import price

CONTENT = ("dataset", "project", "method", "target", "candidates", "parameters", "purpose", "chosen")


def submit(context: Context, who: Principal, body: RequestIn, idempotency: str) -> tuple[Request, bool]:
    """Make a request, once for each key, and return it and whether it is new.

    A question that was answered before is released at once, for free.
    """
    body_sha256 = canonical_sha256(body.model_dump(mode="json"))
    earlier = _earlier_request(context, who, idempotency, body_sha256)
    if earlier is not None:
        return earlier, False
    values, priced = _check_request(context, who, body)
    row = values | {"id": workflow.token(10), "by": who.name, "body_sha256": body_sha256, "state": requests.WAITING}
    row |= stored_answer(context, priced)
    if row["state"] == requests.WAITING:
        _check_affordable(context, body.project, priced)
    try:
        with context.database.write() as connection:
            if requests.count_waiting(connection, who.name) >= MOST_WAITING:
                raise TooManyRequestsError(
                    f"At most {MOST_WAITING} requests of one account may wait for a decision, and so many do. Withdraw "
                    "some, or wait for the curator."
                )
            request = requests.add(connection, idempotency, **row)
            audit.record(connection, who.name, "request", request.id, sha256=request.sha256, dataset=request.dataset)
    except ConflictError:  # the same call came twice at once
        earlier = _earlier_request(context, who, idempotency, body_sha256)
        if earlier is None:
            raise
        return earlier, False
    return request, True


def revise(context: Context, who: Principal, id_: str, body: RequestIn) -> Request:
    """Change the text of a request that waits; whoever approves must read it again."""
    _own_request(context, who, id_)
    values, priced = _check_request(context, who, body)
    _check_affordable(context, body.project, priced)
    with context.database.write() as connection:
        changed = requests.rewrite(connection, id_, **(values | {"content": json.dumps(values["content"])}))
        audit.record(connection, who.name, "revise", id_, sha256=changed.sha256)
    return changed


def withdraw(context: Context, who: Principal, id_: str) -> Request:
    """Take a request back, and cancel its reservation, as no row has been read."""
    request = _own_request(context, who, id_)

    def mark_withdrawn(connection: Connection) -> None:
        requests.step(connection, id_, request.state, requests.WITHDRAWN, ended=now())
        audit.record(connection, who.name, "withdraw", id_)

    if request.state == requests.APPROVED and request.entry is not None:
        context.ledger.reservation(charge_of(context, request)).cancel(within=mark_withdrawn)
    elif request.state == requests.WAITING:
        with context.database.write() as connection:
            mark_withdrawn(connection)
    else:
        raise ConflictError(f"A request must wait or be approved to be withdrawn, but id={id_} is {request.state}.")
    return permissions.open_request(context, who, id_)


def charge_of(context: Context, request: Request) -> int:
    """Return the entry that a request's cost stands under: of parts what is still held, once one was drawn."""
    entry = int(str(request.entry))
    if context.ledger.state(entry) != "cancelled":
        return entry
    return context.ledger.held(request.dataset, request.question) or entry


def list_visible(
    context: Context,
    who: Principal,
    *,
    dataset: str | None = None,
    state: str | None = None,
    before: int | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> list[Request]:
    """Return the requests that somebody sees, the newest first."""
    with context.database.read() as connection:
        own = permissions.projects_of(connection, who)
        return requests.page(
            connection,
            projects=own,
            dataset=dataset,
            state=state,
            before=before,
            limit=limit,
            oldest_first=oldest_first,
        )


MOST_WAITING = 100
"""The most requests of one account that may wait at once: somebody has to read them."""

_SHORT = ("method", "target")


def request_out(context: Context, request: Request) -> RequestOut:
    """Return a request for the API, with the decision on it."""
    return requests_out(context, [request])[0]


def requests_out(context: Context, listed: list[Request], *, short: bool = False) -> list[RequestOut]:
    """Return requests for the API, with the decisions on them; short ones say little of what is asked."""
    with context.database.read() as connection:
        decided = decisions.find_all(connection, [request.id for request in listed])
    return [_request_out(request, decided.get(request.id), short) for request in listed]


def _request_out(request: Request, decision: decisions.Decision | None, short: bool) -> RequestOut:
    values = {name: getattr(request, name) for name in RequestOut.model_fields if name != "decision"}
    if short:
        values["content"] = {name: request.content[name] for name in _SHORT}
    fields = None if decision is None else {name: getattr(decision, name) for name in DecisionOut.model_fields}
    return RequestOut(**values, decision=None if fields is None else DecisionOut(**fields))


def detail(context: Context, id_: str) -> str:
    """Return where a computation failed, for its curator alone: kinds of errors and places, no text of an error."""
    with context.database.read() as connection:
        text = requests.detail_of(connection, id_)
    if text is None:
        raise NotFoundError(f"A failure must have been kept, but id={id_[:20]!r} has none.")
    return text


def content_sha256(content: dict[str, Any], version: int) -> str:
    """Return the digest that an approval names."""
    return canonical_sha256({"content": content, "version": version})


def stored_answer(context: Context, priced: workflow.PricedRequest) -> dict[str, Any]:
    """Return the columns of a request whose release the ledger stores; empty where it stores none."""
    entry = context.ledger.answered(priced.digest)
    if entry is None:
        return {}
    return {"state": requests.RELEASED, "entry": entry, "is_free": True, "ended": now()}


def _check_request(context: Context, who: Principal, body: RequestIn) -> tuple[dict[str, Any], workflow.PricedRequest]:
    """Return the columns of a request, if it is well formed and open to who makes it."""
    dataset = permissions.open_dataset(context, who, body.dataset)
    with context.database.read() as connection:
        own = users.projects_of(connection, who.name)
    if body.project not in own:
        raise NotFoundError(
            f"You are not a member of project {body.project!r}. Name one of your projects, or ask a curator to add you."
        )
    if not permissions.is_allotted(context, dataset.name, [body.project]):
        raise ForbiddenError(f"Project {body.project} has no allotment of {dataset.name}. Ask a curator for one.")
    content = {name: value for name, value in body.model_dump(mode="json").items() if name in CONTENT}
    priced = price(context, dataset, content)
    values = {
        "project": body.project,
        "dataset": dataset.name,
        "version": dataset.version,
        "content": content,
        "sha256": content_sha256(content, dataset.version),
        "question": priced.digest,
        "epsilon": float(priced.promised.epsilon),
        "delta": float(priced.promised.delta),
    }
    return values, priced


def _earlier_request(context: Context, who: Principal, idempotency: str, body_sha256: str) -> Request | None:
    with context.database.read() as connection:
        earlier = requests.find_by_key(connection, who.name, idempotency)
    if earlier is not None and earlier.body_sha256 != body_sha256:
        raise ConflictError("An idempotency key must belong to one request, but this one was used for another.")
    return earlier


def _check_affordable(context: Context, project: str, priced: workflow.PricedRequest) -> None:
    """Tell early what an approval would be refused for; the ledger decides then."""
    name, cost = priced.metadata.dataset, priced.promised.epsilon
    allotted = [allotment.epsilon_left for allotment in context.ledger.allotments(name, [project])]
    remaining = min([context.ledger.account(name).epsilon_left, *allotted])
    if cost > remaining and context.ledger.account(name).accounting == "basic":
        raise BudgetExceededError(
            f"The request costs epsilon {plain(float(cost), 9)}, and only {plain(float(remaining), 9)} is left for "
            f"project {project} on {name}. "
            "Ask for less, or ask a curator for a larger allotment.",
            cost,
            remaining,
        )


def _own_request(context: Context, who: Principal, id_: str) -> Request:
    request = permissions.open_request(context, who, id_)
    if request.by != who.name:
        raise ForbiddenError(f"Only its author can change a request, but id={id_} is another's.")
    return request
