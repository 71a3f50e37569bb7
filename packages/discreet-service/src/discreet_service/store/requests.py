"""Requests, and the conditional update of each step."""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from discreet.errors import ConflictError, NotFoundError
from discreet_service.clock import now
from discreet_service.store.schema import failures, requests

WAITING, APPROVED, RUNNING = "waiting", "approved", "running"
RELEASED, FAILED, REJECTED, WITHDRAWN = "released", "failed", "rejected", "withdrawn"
STATES = (WAITING, APPROVED, RUNNING, RELEASED, FAILED, REJECTED, WITHDRAWN)


@dataclass(frozen=True)
class Request:
    """A request."""

    seq: int  # its place in the queue
    id: str
    by: str  # who asks
    project: str
    dataset: str
    version: int  # of the data set's metadata
    content: dict[str, Any]  # the exact text
    sha256: str  # of the content and version: what an approval names
    question: str  # digest under which the ledger stores the answer
    epsilon: float  # what it costs at most, as shown; the ledger has it exactly
    delta: float
    state: str
    code: str | None  # why it failed: one of a closed list
    entry: int | None  # of the ledger: the charge, or the release that answers it
    is_free: bool  # answered from the store
    attempts: int  # how often a worker took it up
    created: str
    slot_end: str | None  # when its outcome is recorded
    ended: str | None
    body_sha256: str  # of the call that made it


_ALL = select(*(column for column in requests.columns if column.name != "idempotency"))
_FOUND = _ALL.where(requests.c.id == bindparam("id"))


def add(connection: Connection, idempotency: str, **values: Any) -> Request:
    """Add a request; `content` is a dict."""
    row = values | {"content": json.dumps(values["content"], sort_keys=True), "idempotency": idempotency}
    defaults = {"code": None, "entry": None, "is_free": False, "attempts": 0, "created": now(), "ended": None}
    try:
        connection.execute(insert(requests).values(**(defaults | row)))
    except IntegrityError:
        raise ConflictError("A request must be made once, but its idempotency key was used. Read that one.") from None
    return find(connection, values["id"])


def find(connection: Connection, id_: str) -> Request:
    """Return a request."""
    row = connection.execute(_FOUND, {"id": id_}).mappings().one_or_none()
    if row is None:
        raise not_found(id_)
    return _request(row)


def not_found(id_: str) -> NotFoundError:
    """Return the error of a request that is not there, or not shown."""
    return NotFoundError(f"There is no request id={id_[:20]!r} that you may see. Choose one from the list of requests.")


def find_by_key(connection: Connection, by: str, idempotency: str) -> Request | None:
    """Return the request that somebody made before with the same idempotency key."""
    query = _ALL.where(requests.c.by == by, requests.c.idempotency == idempotency)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _request(row)


def page(
    connection: Connection,
    *,
    projects: list[str] | None = None,
    dataset: str | None = None,
    state: str | None = None,
    before: int | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> list[Request]:
    """Return requests, the newest first; `projects` keeps to what somebody may see."""
    query = _ALL.order_by(requests.c.seq if oldest_first else requests.c.seq.desc()).limit(limit)
    if projects is not None:
        query = query.where(requests.c.project.in_(projects))
    for column, value in ((requests.c.dataset, dataset), (requests.c.state, state)):
        if value is not None:
            query = query.where(column == value)
    if before is not None:
        query = query.where(requests.c.seq < before)
    return [_request(row) for row in connection.execute(query).mappings()]


def step(
    connection: Connection,
    id_: str,
    before: str,
    after: str,
    *,
    as_read: str | None = None,
    in_slot: str | None = None,
    **values: Any,
) -> None:
    """Move a request from one state to the next, if it still is in the first."""
    is_unchanged = (requests.c.id == id_) & (requests.c.state == before)
    if as_read is not None:
        is_unchanged &= requests.c.sha256 == as_read
    if in_slot is not None:
        is_unchanged &= requests.c.slot_end == in_slot
    # Compare and set: of two writers that read the same state, the second changes no row.
    result = connection.execute(update(requests).where(is_unchanged).values(state=after, **values))
    if result.rowcount != 1:
        raise ConflictError(
            f"A request must be {before} and unchanged to become {after}, but id={id_} is not any more. Read it again."
        )


def rewrite(connection: Connection, id_: str, **values: Any) -> Request:
    """Change a request that waits; an approval of its earlier text will not fit."""
    step(connection, id_, WAITING, WAITING, **values)
    return find(connection, id_)


def is_answered(connection: Connection, question: str) -> bool:
    """Tell whether a request that asks the same was released."""
    query = select(requests.c.seq).where(requests.c.question == question, requests.c.state == RELEASED).limit(1)
    return connection.execute(query).one_or_none() is not None


def fail(connection: Connection, request: Request, code: str, detail: str, ended: str) -> None:
    """End a request that runs, in the slot in which it was taken up, without a release."""
    step(connection, request.id, RUNNING, FAILED, in_slot=request.slot_end, code=code, ended=ended)
    if detail:
        connection.execute(insert(failures).values(request=request.id, detail=detail[:4000]))


def detail_of(connection: Connection, id_: str) -> str | None:
    """Return what a curator may know of a failure."""
    return connection.execute(select(failures.c.detail).where(failures.c.request == id_)).scalar()


def _request(row: RowMapping) -> Request:
    return Request(**{**row, "content": _parse(row["content"])})


def _parse(content: str) -> dict[str, Any]:
    """Read a text; a damaged one is empty, which no digest fits, so that it stops neither the queue nor a list."""
    try:
        value = json.loads(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def states(connection: Connection) -> dict[str, int]:
    """Return how many requests there are in each state."""
    counts = dict.fromkeys(STATES, 0)
    for row in connection.execute(select(requests.c.state, func.count().label("n")).group_by(requests.c.state)):
        counts[row.state] = row.n
    return counts


def count_waiting(connection: Connection, by: str) -> int:
    """Return how many requests of an account wait for a decision."""
    query = select(func.count()).select_from(requests).where(requests.c.by == by, requests.c.state == WAITING)
    return int(connection.execute(query).scalar_one())
