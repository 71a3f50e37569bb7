"""Opens the service's tables, at the revision that this version knows."""

from pathlib import Path

from discreet.database import Database, Migrations
from discreet.errors import DiscreetError, UnreachableError
from discreet_service.store.schema import metadata

MIGRATIONS = Migrations(
    folder=Path(__file__).with_name("migrations"),
    version_table="service_version",
    head="0002",
    lock=0x64697364,
    tables=("service_version", *metadata.tables),
)
"""The service's tables."""


def open_database(location: str, *, pooled: bool = False) -> Database:
    """Open the service's tables at the newest revision, beside the ledger's."""
    return Database(location, MIGRATIONS, unreachable=_unreachable, pooled=pooled)


def _unreachable(shown: str, reason: str) -> DiscreetError:
    return UnreachableError(
        f"The service's database {shown[:300]} cannot be opened: {reason}. "
        "Nothing is answered without it; give another place in the service file."
    )
