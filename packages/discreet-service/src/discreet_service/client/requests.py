"""A request as a service shows it, and what its outcome means."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from discreet.errors import (
    ComputationFailedError,
    ConflictError,
    DataMismatchError,
    DiscreetError,
    PolicyError,
    ServiceError,
    WaitingError,
)

NO_PURPOSE = "The request has no purpose. Write in a sentence what the answer is for; the curator reads it."
"""What API, form and client say alike."""
OPEN = frozenset({"waiting", "approved", "running"})
"""States from which a release may still come."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # a newer service may say more


class RemoteDecision(_Record):
    """What a curator decided on a request.

    Parameters
    ----------
    decision : {"approved", "rejected"}
        What it was.
    sha256 : str
        Of the text that was decided on.
    by : str
        Who.
    comment : str
        Why.
    time : str
        When, UTC.
    """

    decision: str
    sha256: str
    by: str
    comment: str = ""
    time: str


class RemoteRequest(_Record):
    """A request as a service shows it.

    Parameters
    ----------
    id : str
        What it is called.
    by, project, dataset : str
        Who asks, for what, of which data set.
    version : int
        Of the data set's metadata.
    content : dict
        The exact text that an approval names.
    sha256 : str
        Its digest.
    state : str
        waiting, approved, running, released, failed, rejected or withdrawn.
    code : str or None
        Why it failed: one of a closed list.
    epsilon : float
        What it costs at most, in nats.
    delta : float
        Likewise.
    is_free : bool
        Answered from the store: nothing was charged.
    entry : int or None
        Of the ledger.
    created : str
        When, UTC.
    slot_end : str or None
        When the outcome is recorded, whatever it is.
    ended : str or None
        When it ended.
    decision : RemoteDecision or None
        What was decided on it.
    """

    id: str
    by: str
    project: str
    dataset: str
    version: int
    content: dict[str, Any]
    sha256: str
    state: str
    code: str | None = None
    epsilon: float
    delta: float = 0.0
    is_free: bool = False
    entry: int | None = None
    created: str
    slot_end: str | None = None
    ended: str | None = None
    decision: RemoteDecision | None = None

    @property
    def is_open(self) -> bool:
        """Whether a release may still come."""
        return self.state in OPEN


class NoResultError(ComputationFailedError):
    """A service's computation ended without a release after the rows were opened."""

    MESSAGE = (
        "The computation ended without a result after the data were opened. What was charged stays charged. "
        "A curator of the data set can see where it failed."
    )


_FAILURES: dict[str | None, tuple[type[DiscreetError], str]] = {
    "data_mismatch": (
        DataMismatchError,
        "The table must have the shape that its metadata declare, but it does not. This attempt charged nothing; ask a "
        "curator.",
    ),
    "changed_after_approval": (
        ConflictError,
        "A request must be what was approved, but it changed. This attempt charged nothing; make it again.",
    ),
    "not_its_own_table": (
        ConflictError,
        "A table must belong to one data set, but another one has rows of it, or its path leads over a link. This "
        "attempt charged nothing; ask a curator.",
    ),
    "not_started": (
        ServiceError,
        "The computation must begin in its slot, but it could not. This attempt charged nothing; ask again, or who "
        "runs the service.",
    ),
}


def error_of_outcome(request: RemoteRequest) -> DiscreetError:
    """Return why a request has no release; WaitingError while one may still come."""
    if request.is_open:
        return WaitingError(f"A request must be released to be read, but id={request.id} is {request.state}.")
    if request.state == "failed" and request.code == "no_result":
        return NoResultError()
    if request.state == "failed":
        kind, text = _FAILURES.get(request.code, (ServiceError, f"The request failed: {request.code}."))
        return kind(text)
    decision = request.decision
    if request.state == "rejected" and decision is not None:
        why = f": {decision.comment}" if decision.comment else ""
        return PolicyError(f"A request must be approved, but {decision.by} rejected id={request.id}{why}")
    return ConflictError(f"A request must not be {request.state} to be answered, but id={request.id} is.")


Form = Literal["json", "html", "pdf", "csv", "markdown", "text"]
"""Forms of a report."""
Audience = Literal["board", "analyst", "participant"]
