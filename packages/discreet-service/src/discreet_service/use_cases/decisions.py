"""Decisions: a curator approves or rejects the exact text of a request. The ledger is charged with the approval."""

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from discreet import workflow
from discreet.errors import ConflictError, ForbiddenError
from discreet_service.access.digests import keyed_digest
from discreet_service.access.roles import Principal, Role
from discreet_service.clock import now
from discreet_service.context import Context
from discreet_service.store import audit, datasets, decisions, requests, users
from discreet_service.store.decisions import Decision
from discreet_service.store.requests import Request
from discreet_service.use_cases import permissions
from discreet_service.use_cases.priced_requests import price
from discreet_service.use_cases.requests import content_sha256, stored_answer


def approve(context: Context, who: Principal, id_: str, sha256: str, comment: str = "") -> Request:
    """Approve the exact text of a request: its cost is reserved and the request queued, both or neither.

    Where the same question was answered meanwhile, it is released for free.
    """
    request = _request_to_decide(context, who, id_, sha256)
    with context.database.read() as connection:
        _check_current(connection, request)
        dataset = datasets.find(connection, request.dataset, request.version)
    priced = price(context, dataset, request.content)
    if priced.digest != request.question:  # another version of Discreet reads the same text in another way
        raise ConflictError(
            f"A request must mean what it meant when it was made, but id={id_} does not. Have it made again."
        )
    answer = stored_answer(context, priced)

    def queue(connection: Connection) -> None:
        # Runs in the transaction that charges the ledger, so that neither happens without the other.
        _check_current(connection, request)
        columns = answer or {"state": requests.APPROVED, "entry": context.ledger.last_entry(connection)}
        values = {name: value for name, value in columns.items() if name != "state"}
        if not answer and requests.is_answered(connection, request.question):
            raise ConflictError(
                f"The same question must not be charged twice, but what id={id_} asks was answered meanwhile. "
                "Approve it again: it is free now."
            )
        try:
            requests.step(connection, id_, requests.WAITING, columns["state"], as_read=sha256, **values)
        except IntegrityError:
            raise ConflictError(
                f"The same question must not be answered twice at once, but another request asks what id={id_} asks. "
                "When that one is released, approving this one is free."
            ) from None
        decisions.add(connection, id_, _decision(context, who, request, "approved", comment, values["entry"]))
        audit.record(connection, who.name, "approve", id_, sha256=sha256, entry=values["entry"])

    if answer:
        with context.database.write() as connection:
            queue(connection)
    elif isinstance(priced, workflow.PartsRequest):
        priced.ceiling(context.ledger).reserve(project=request.project, reference=id_, within=queue)
    else:
        workflow.reserve(priced, context.ledger, project=request.project, reference=id_, within=queue)
    return permissions.open_request(context, who, id_)


def reject(context: Context, who: Principal, id_: str, sha256: str, comment: str = "") -> Request:
    """Reject a request; nothing is charged."""
    request = _request_to_decide(context, who, id_, sha256)
    with context.database.write() as connection:
        requests.step(connection, id_, requests.WAITING, requests.REJECTED, as_read=sha256, ended=now())
        decisions.add(connection, id_, _decision(context, who, request, "rejected", comment))
        audit.record(connection, who.name, "reject", id_, sha256=sha256)
    return permissions.open_request(context, who, id_)


def seal_of(context: Context, request: Request, decision: str, by: str, entry: int | None) -> str:
    """Return the seal of a decision, which only a holder of the pepper can make."""
    text = (request.id, request.by, request.project, request.dataset, request.sha256, request.question)
    return keyed_digest(context.settings.secret, "decision", *text, decision, by, str(entry))


def _request_to_decide(context: Context, who: Principal, id_: str, sha256: str) -> Request:
    request = permissions.open_request(context, who, id_)
    if request.by == who.name:
        raise ForbiddenError("A request must be decided by somebody else than who made it. Ask another curator.")
    if request.state != requests.WAITING:
        raise ConflictError(f"A request must wait to be decided, but id={id_} is {request.state}.")
    if sha256 != request.sha256 or content_sha256(request.content, request.version) != request.sha256:
        raise ConflictError(f"A decision must name the text as it stands, but id={id_} was changed. Read it again.")
    return request


def _check_current(connection: Connection, request: Request) -> None:
    """Refuse a request whose data set, project or analyst has changed since it was made."""
    newest, analyst = datasets.find(connection, request.dataset).version, users.find(connection, request.by)
    if newest != request.version:
        raise ConflictError(
            f"A request must be about the newest version of its data set, but id={request.id} is about version "
            f"{request.version} and there is version {newest}. Have it revised."
        )
    is_member = request.project in users.projects_of(connection, request.by)
    if analyst.disabled or analyst.role is not Role.ANALYST or not is_member:
        raise ConflictError(
            f"Who asks must still be an analyst of the project, but {request.by} of id={request.id} is not. Reject it."
        )


def _decision(
    context: Context, who: Principal, request: Request, decision: str, comment: str, entry: int | None = None
) -> Decision:
    seal = seal_of(context, request, decision, who.name, entry)
    return Decision(decision, request.sha256, who.name, comment, now(), seal)
