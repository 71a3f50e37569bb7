"""What those need who keep the service running and honest."""

from dataclasses import asdict

from prometheus_client import generate_latest

from discreet.errors import DiscreetError, UnreachableError
from discreet.service.access.roles import Principal, Role
from discreet.service.context import Context
from discreet.service.logs import log
from discreet.service.metrics import REGISTRY, count_requests
from discreet.service.schemas import DeedOut, VerificationOut
from discreet.service.store import audit, requests

OF_ADMINS = ("add user", "change user", "make key", "revoke key", "sign in", "sign-in failed", "sign out")
"""Deeds that concern accounts: what an admin sees of the audit."""


def deeds(context: Context, who: Principal, before: int | None, limit: int) -> list[DeedOut]:
    """Return the lines of the audit, the newest first; an admin sees those about accounts.

    Who did what.
    """
    with context.database.read() as connection:
        return [
            DeedOut(**asdict(one))
            for one in audit.page(connection, before, limit, OF_ADMINS if who.role is Role.ADMIN else None)
        ]


def verify(context: Context, who: Principal) -> VerificationOut:
    """Recompute the ledger and compare it, also with its witness.

    What was checked.
    """
    context.ledger.check_witness()
    found = context.ledger.verify()
    with context.database.write() as connection:
        audit.note(connection, who.name, "verify", found.head)
    return VerificationOut(**{name: getattr(found, name) for name in VerificationOut.model_fields})


def health(context: Context) -> dict[str, str]:
    """Look at the database and at the end of the ledger.

    Constant.
    """
    try:
        context.ledger.check_witness()
        with context.database.read() as connection:
            requests.states(connection)
    except DiscreetError as error:
        log("not ready", kind=type(error).__name__)
        raise UnreachableError("The service is not ready to answer.") from None
    return {"status": "ready"}


def head(context: Context) -> str:
    """Return the hash of the ledger's last entry, which a copy kept elsewhere can be compared with.

    64 hexadecimal digits.
    """
    return context.ledger.head


def metrics(context: Context) -> bytes:
    """Return counts for a monitor.

    In Prometheus' text format.
    """
    with context.database.read() as connection:
        count_requests(requests.states(connection))
    return generate_latest(REGISTRY)
