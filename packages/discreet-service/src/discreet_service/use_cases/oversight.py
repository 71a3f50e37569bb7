"""Use cases of operators and auditors."""

from dataclasses import asdict

from prometheus_client import generate_latest

from discreet.errors import DiscreetError, UnreachableError
from discreet_service.access.roles import Principal, Role
from discreet_service.context import Context
from discreet_service.logs import log
from discreet_service.metrics import REGISTRY, count_requests
from discreet_service.schemas import AuditEntryOut, VerificationOut
from discreet_service.store import audit, requests

ACCOUNT_ACTIONS = ("add user", "change user", "make key", "revoke key", "sign in", "sign-in failed", "sign out")
"""Actions on accounts: what an admin sees of the audit."""


def audit_entries(context: Context, who: Principal, before: int | None, limit: int) -> list[AuditEntryOut]:
    """Return the entries of the audit, the newest first; an admin sees those about accounts."""
    with context.database.read() as connection:
        return [
            AuditEntryOut(**asdict(entry))
            for entry in audit.page(connection, before, limit, ACCOUNT_ACTIONS if who.role is Role.ADMIN else None)
        ]


def verify(context: Context, who: Principal) -> VerificationOut:
    """Recompute the ledger and compare it, also with its witness."""
    context.ledger.check_witness()
    verification = context.ledger.verify()
    with context.database.write() as connection:
        audit.record(connection, who.name, "verify", verification.head)
    return VerificationOut(**{name: getattr(verification, name) for name in VerificationOut.model_fields})


def health(context: Context) -> dict[str, str]:
    """Look at the database and at the end of the ledger."""
    try:
        context.ledger.check_witness()
        with context.database.read() as connection:
            requests.states(connection)
    except DiscreetError as error:
        log("not ready", kind=type(error).__name__)
        raise UnreachableError("The service is not ready to answer.") from None
    return {"status": "ready"}


def head(context: Context) -> str:
    """Return the hash of the ledger's last entry, which a copy kept elsewhere can be compared with."""
    return context.ledger.head


def metrics(context: Context) -> bytes:
    """Return counts for a monitor in Prometheus' text format."""
    with context.database.read() as connection:
        count_requests(requests.states(connection))
    return generate_latest(REGISTRY)
