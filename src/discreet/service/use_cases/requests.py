"""Requests: made, changed and withdrawn by analysts."""

import json
from typing import Any

from sqlalchemy import Connection

from discreet import workflow
from discreet.errors import BudgetExceededError, ConflictError, ForbiddenError, NotFoundError, TooManyRequestsError
from discreet.release import canonical_sha256
from discreet.service.access.roles import Principal
from discreet.service.clock import now
from discreet.service.context import Context
from discreet.service.schemas import DecisionOut, RequestIn, RequestOut
from discreet.service.store import audit, decisions, requests, users
from discreet.service.store.requests import Request
from discreet.service.use_cases import permissions
from discreet.service.use_cases.priced_requests import inquire

CONTENT = ("dataset", "project", "method", "target", "candidates", "parameters", "purpose", "chosen")


def submit(context: Context, who: Principal, asked: RequestIn, idempotency: str) -> tuple[Request, bool]:
    """Make a request; the same key makes it once.

    As it stands, and whether it is new. What was answered before is released at once, for free.
    """
    body = canonical_sha256(asked.model_dump(mode="json"))
    known = _made_before(context, who, idempotency, body)
    if known is not None:
        return known, False
    values, inquiry = _checked(context, who, asked)
    row = values | {"id": workflow.token(10), "by": who.name, "body_sha256": body, "state": requests.WAITING}
    row |= answered(context, inquiry)
    if row["state"] == requests.WAITING:
        _check_affordable(context, asked.project, inquiry)
    try:
        with context.database.write() as connection:
            if requests.count_waiting(connection, who.name) >= MOST_WAITING:
                raise TooManyRequestsError(
                    f"At most {MOST_WAITING} requests of one account may wait for a decision, and so many do. Withdraw "
                    "some, or wait for the curator."
                )
            made = requests.add(connection, idempotency, **row)
            audit.note(connection, who.name, "request", made.id, sha256=made.sha256, dataset=made.dataset)
    except ConflictError:  # the same call came twice at once
        known = _made_before(context, who, idempotency, body)
        if known is None:
            raise
        return known, False
    return made, True


def revise(context: Context, who: Principal, id_: str, asked: RequestIn) -> Request:
    """Change the text of a request that waits; whoever approves must read it again.

    As it stands.
    """
    _own(context, who, id_)
    values, inquiry = _checked(context, who, asked)
    _check_affordable(context, asked.project, inquiry)
    with context.database.write() as connection:
        changed = requests.rewrite(connection, id_, **(values | {"content": json.dumps(values["content"])}))
        audit.note(connection, who.name, "revise", id_, sha256=changed.sha256)
    return changed


def withdraw(context: Context, who: Principal, id_: str) -> Request:
    """Take a request back; what was reserved for it is given back, as no row has been read.

    As it stands.
    """
    found = _own(context, who, id_)

    def take_back(connection: Connection) -> None:
        requests.step(connection, id_, found.state, requests.WITHDRAWN, ended=now())
        audit.note(connection, who.name, "withdraw", id_)

    if found.state == requests.APPROVED and found.entry is not None:
        context.ledger.reservation(found.entry).cancel(within=take_back)
    elif found.state == requests.WAITING:
        with context.database.write() as connection:
            take_back(connection)
    else:
        raise ConflictError(f"A request must wait or be approved to be withdrawn, but id={id_} is {found.state}.")
    return permissions.open_request(context, who, id_)


def listed(
    context: Context,
    who: Principal,
    *,
    dataset: str | None = None,
    state: str | None = None,
    before: int | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> list[Request]:
    """Return the requests that somebody sees, the newest first.

    As they stand.
    """
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
"""Requests of one account that may wait at once: somebody has to read them."""

_SHORT = ("method", "target")


def shown(context: Context, found: Request, *, short: bool = False) -> RequestOut:
    """Return a request as it is shown.

    With the decision on it.
    """
    with context.database.read() as connection:
        decision = decisions.find(connection, found.id)
    values = {name: getattr(found, name) for name in RequestOut.model_fields if name != "decision"}
    if short:
        values["content"] = {name: found.content[name] for name in _SHORT}
    said = None if decision is None else {name: getattr(decision, name) for name in DecisionOut.model_fields}
    return RequestOut(**values, decision=None if said is None else DecisionOut(**said))


def detail(context: Context, id_: str) -> str:
    """Return where a computation failed, for its curator alone.

    Kinds of errors and places in the code; no text of an error, which could hold a cell.
    """
    with context.database.read() as connection:
        found = requests.detail_of(connection, id_)
    if found is None:
        raise NotFoundError(f"A failure must have been kept, but id={id_[:20]!r} has none.")
    return found


def content_sha256(content: dict[str, Any], version: int) -> str:
    """Return the digest that an approval names.

    64 hexadecimal digits.
    """
    return canonical_sha256({"content": content, "version": version})


def answered(context: Context, inquiry: workflow.PricedRequest) -> dict[str, Any]:
    """Return the columns of a request that the ledger's store answers.

    Empty when the store has no answer.
    """
    stored = context.ledger.stored(inquiry.digest)
    if stored is None:
        return {}
    entry = json.loads(stored)["provenance"]["ledger"]["entry"]
    return {"state": requests.RELEASED, "entry": entry, "is_free": True, "ended": now()}


def _checked(context: Context, who: Principal, asked: RequestIn) -> tuple[dict[str, Any], workflow.PricedRequest]:
    """Columns of a request that is well formed and open to who makes it."""
    dataset = permissions.open_dataset(context, who, asked.dataset)
    with context.database.read() as connection:
        own = users.projects_of(connection, who.name)
    if asked.project not in own:
        raise NotFoundError(f"A project must be one of yours, but project={asked.project!r} is not.")
    if not permissions.allotted(context, dataset.name, [asked.project]):
        raise ForbiddenError(
            f"A project must be allotted a part of a data set to ask it, but {asked.project} has none of "
            f"{dataset.name}. Ask its curator."
        )
    content = {name: value for name, value in asked.model_dump(mode="json").items() if name in CONTENT}
    inquiry = inquire(context, dataset, content)
    values = {
        "project": asked.project,
        "dataset": dataset.name,
        "version": dataset.version,
        "content": content,
        "sha256": content_sha256(content, dataset.version),
        "question": inquiry.digest,
        "epsilon": float(inquiry.promised.epsilon),
        "delta": float(inquiry.promised.delta),
    }
    return values, inquiry


def _made_before(context: Context, who: Principal, idempotency: str, body: str) -> Request | None:
    with context.database.read() as connection:
        known = requests.of_key(connection, who.name, idempotency)
    if known is not None and known.body_sha256 != body:
        raise ConflictError("An idempotency key must stand for one request, but this one was used for another.")
    return known


def _check_affordable(context: Context, project: str, inquiry: workflow.PricedRequest) -> None:
    """Tell early what an approval would be refused for; the ledger decides then."""
    name, cost = inquiry.metadata.dataset, inquiry.promised.epsilon
    allotted = [one.epsilon_left for one in context.ledger.allotments(name) if one.project == project]
    left = min([context.ledger.account(name).epsilon_left, *allotted])
    if cost > left and context.ledger.account(name).accounting == "basic":
        raise BudgetExceededError(
            f"A request must cost no more than what is left, but epsilon={float(cost):.9g} and {float(left):.9g} is "
            f"left for project {project} on {name}. Ask for less, or ask a curator for a larger allotment.",
            cost,
            left,
        )


def _own(context: Context, who: Principal, id_: str) -> Request:
    found = permissions.open_request(context, who, id_)
    if found.by != who.name:
        raise ForbiddenError(f"A request can be changed by who made it alone, but id={id_} is another's.")
    return found
