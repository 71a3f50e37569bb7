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

metadata = MetaData()

accounts = Table(
    "accounts",
    metadata,
    Column("dataset", String(100), primary_key=True),
    Column("unit", String(100)),
    Column("neighboring", String(40)),
    Column("epsilon_cap", BigInteger, nullable=False),
    Column("epsilon_spent", BigInteger, nullable=False),
    Column("delta_cap", BigInteger, nullable=False),
    Column("delta_spent", BigInteger, nullable=False),
    CheckConstraint("epsilon_cap >= 0", name="epsilon_cap_not_negative"),
    CheckConstraint("epsilon_spent >= 0", name="epsilon_spent_not_negative"),
    CheckConstraint("epsilon_spent <= epsilon_cap", name="epsilon_spent_within_cap"),
    CheckConstraint("delta_cap >= 0", name="delta_cap_not_negative"),
    CheckConstraint("delta_spent >= 0", name="delta_spent_not_negative"),
    CheckConstraint("delta_spent <= delta_cap", name="delta_spent_within_cap"),
)
"""What each data set may spend and has spent: the sum of its entries, kept for the one conditional update."""

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
    # One reservation is touched, released, lost or cancelled at most once each.
    UniqueConstraint("reservation", "kind", name="entries_once_each"),
    Index("entries_dataset", "dataset"),
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
    CheckConstraint("id = 1", name="head_is_one_row"),
)
"""The end of the chain: one row, locked by every writer, so that entries have one order."""
