"""The ledger's tables, as the newest migration leaves them. Budget is counted in whole grains."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.schema import SchemaItem

metadata = MetaData()


def _sums() -> list[SchemaItem]:
    """Return the columns of a cap and of what is spent of it, and what must hold between them."""
    return [
        Column("epsilon_cap", BigInteger, nullable=False),
        Column("epsilon_spent", BigInteger, nullable=False),
        Column("delta_cap", BigInteger, nullable=False),
        Column("delta_spent", BigInteger, nullable=False),
        Column("accounting", String(10), nullable=False),
        Column("rho_cap", BigInteger, nullable=False),
        Column("rho_spent", BigInteger, nullable=False),
        Column("failure_cap", BigInteger, nullable=False),
        Column("failure_spent", BigInteger, nullable=False),
        CheckConstraint("epsilon_cap >= 0", name="epsilon_cap_not_negative"),
        CheckConstraint("epsilon_spent >= 0", name="epsilon_spent_not_negative"),
        # Under zCDP epsilon and delta only inform: rho and failures are what the cap holds.
        CheckConstraint("accounting = 'zcdp' OR epsilon_spent <= epsilon_cap", name="epsilon_spent_within_cap"),
        CheckConstraint("delta_cap >= 0", name="delta_cap_not_negative"),
        CheckConstraint("delta_spent >= 0", name="delta_spent_not_negative"),
        CheckConstraint("accounting = 'zcdp' OR delta_spent <= delta_cap", name="delta_spent_within_cap"),
        CheckConstraint("accounting IN ('basic', 'zcdp')", name="accounting_is_known"),
        CheckConstraint("rho_spent >= 0", name="rho_spent_not_negative"),
        CheckConstraint("rho_spent <= rho_cap", name="rho_spent_within_cap"),
        CheckConstraint("failure_spent >= 0", name="failure_spent_not_negative"),
        CheckConstraint("failure_spent <= failure_cap", name="failure_spent_within_cap"),
    ]


accounts = Table(
    "accounts",
    metadata,
    Column("dataset", String(100), primary_key=True),
    Column("unit", String(100)),
    Column("neighboring", String(40)),
    *_sums(),
)
"""What each data set may spend and has spent: the sum of its entries, kept for the one conditional update."""

allotments = Table(
    "allotments",
    metadata,
    Column("dataset", String(100), ForeignKey("accounts.dataset", name="allotments_dataset"), primary_key=True),
    Column("project", String(100), primary_key=True),
    *_sums(),
)
"""What each project may spend of a data set's cap, and has spent."""

entries = Table(
    "entries",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("time", String(20), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("dataset", String(100), nullable=False),
    Column("request", String(64)),
    Column("reservation", Integer, ForeignKey("entries.seq", name="entries_reservation")),
    Column("unit", String(100)),
    Column("neighboring", String(40)),
    Column("epsilon", BigInteger, nullable=False),
    Column("delta", BigInteger, nullable=False),
    Column("facts", Text, nullable=False),
    Column("prev", String(64), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    # Only where an account is kept in zCDP; the hash of an entry without them is that of the first schema.
    Column("rho", BigInteger),
    Column("failure", BigInteger),
    # Only where an allotment is set or charged.
    Column("project", String(100)),
    # One reservation is touched, released, lost or cancelled at most once each.
    UniqueConstraint("reservation", "kind", name="entries_once_each"),
    # All that a data set's sums are made of.
    Index("entries_sums", "dataset", "kind", "project", "epsilon", "delta", "rho", "failure"),
)
"""What happened, in order; rows are only ever added."""

releases = Table(
    "releases",
    metadata,
    Column("entry", Integer, ForeignKey("entries.seq", name="releases_entry"), primary_key=True),
    Column("request", String(64), nullable=False),
    Column("text", Text, nullable=False),
    Index("releases_request", "request"),
)
"""The text of each release, under the entry that recorded it."""

head = Table(
    "head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seq", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("witness", Text),
    CheckConstraint("id = 1", name="head_is_one_row"),
)
"""The end of the chain: one row, locked by every writer, so that entries have one order; and where the witness is."""
