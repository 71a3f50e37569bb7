"""Decisions: a curator approves or rejects the exact text of a request. The ledger is charged with the approval."""

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from discreet import workflow
from discreet.errors import ConflictError, ForbiddenError
from discreet.service.access.digests import sealed
from discreet.service.access.roles import Principal, Role
from discreet.service.clock import now
from discreet.service.context import Context
from discreet.service.store import audit, datasets, decisions, requests, users
from discreet.service.store.decisions import Decision
from discreet.service.store.requests import Request
from discreet.service.use_cases import permissions
from discreet.service.use_cases.priced_requests import inquire
from discreet.service.use_cases.requests import answered, content_sha256


def approve(context: Context, who: Principal, id_: str, sha256: str, comment: str = "") -> Request:
    """Approve the exact text of a request: its cost is reserved and the request queued, both or neither.

    Approved; or released, when the same question was answered meanwhile.
    """
    found = _to_decide(context, who, id_, sha256)
    with context.database.read() as connection:
        _check_current(connection, found)
        dataset = datasets.find(connection, found.dataset, found.version)
    inquiry = inquire(context, dataset, found.content)
    if inquiry.digest != found.question:  # another version of Discreet reads the same text in another way
        raise ConflictError(f"A request must mean what it meant, but id={id_} does not any more. Have it made anew.")
    free = answered(context, inquiry)

    def queue(connection: Connection) -> None:
        _check_current(connection, found)
        after = free or {"state": requests.APPROVED, "entry": context.ledger.last_entry(connection)}
        values = {name: value for name, value in after.items() if name != "state"}
        if not free and requests.is_answered(connection, found.question):
            raise ConflictError(
                f"The same question must not be paid for twice, but what id={id_} asks was answered meanwhile. "
                "Approve it again: it is free now."
            )
        try:
            requests.step(connection, id_, requests.WAITING, after["state"], as_read=sha256, **values)
        except IntegrityError:
            raise ConflictError(
                f"The same question must not be answered twice at once, but another request asks what id={id_} asks. "
                "When that one is released, approving this one is free."
            ) from None
        decisions.add(connection, id_, _decision(context, who, found, "approved", comment, values["entry"]))
        audit.note(connection, who.name, "approve", id_, sha256=sha256, entry=values["entry"])

    if free:
        with context.database.write() as connection:
            queue(connection)
    else:
        workflow.reserve(inquiry, context.ledger, project=found.project, reference=id_, within=queue)
    return permissions.open_request(context, who, id_)


def reject(context: Context, who: Principal, id_: str, sha256: str, comment: str = "") -> Request:
    """Reject a request; nothing is charged.

    As it stands.
    """
    found = _to_decide(context, who, id_, sha256)
    with context.database.write() as connection:
        requests.step(connection, id_, requests.WAITING, requests.REJECTED, as_read=sha256, ended=now())
        decisions.add(connection, id_, _decision(context, who, found, "rejected", comment))
        audit.note(connection, who.name, "reject", id_, sha256=sha256)
    return permissions.open_request(context, who, id_)


def seal_of(context: Context, found: Request, decision: str, by: str, entry: int | None) -> str:
    """Return what only this service can put under a decision.

    64 hexadecimal digits.
    """
    text = (found.id, found.by, found.project, found.dataset, found.sha256, found.question)
    return sealed(context.settings.secret, "decision", *text, decision, by, str(entry))


def _to_decide(context: Context, who: Principal, id_: str, sha256: str) -> Request:
    found = permissions.open_request(context, who, id_)
    if found.by == who.name:
        raise ForbiddenError("A request must be decided by somebody else than who made it. Ask another curator.")
    if found.state != requests.WAITING:
        raise ConflictError(f"A request must wait to be decided, but id={id_} is {found.state}.")
    if sha256 != found.sha256 or content_sha256(found.content, found.version) != found.sha256:
        raise ConflictError(f"A decision must name the text as it stands, but id={id_} was changed. Read it again.")
    return found


def _check_current(connection: Connection, found: Request) -> None:
    """Refuse to approve what rests on things that have changed since it was asked."""
    newest, asker = datasets.find(connection, found.dataset).version, users.find(connection, found.by)
    if newest != found.version:
        raise ConflictError(
            f"A request must be about the newest version of its data set, but id={found.id} is about version "
            f"{found.version} and there is version {newest}. Have it revised."
        )
    member = found.project in users.projects_of(connection, found.by)
    if asker.disabled or asker.role is not Role.ANALYST or not member:
        raise ConflictError(
            f"Who asks must still be an analyst of the project, but {found.by} of id={found.id} is not. Reject it."
        )


def _decision(
    context: Context, who: Principal, found: Request, decision: str, comment: str, entry: int | None = None
) -> Decision:
    seal = seal_of(context, found, decision, who.name, entry)
    return Decision(decision, found.sha256, who.name, comment, now(), seal)
