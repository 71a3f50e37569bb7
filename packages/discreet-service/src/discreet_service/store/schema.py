"""The service's tables, beside the ledger's in one database, as the newest migration leaves them."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

NAME = String(100)
TIME = String(24)
"""UTC in ISO 8601 to the millisecond: the order of the texts is that of the times."""
DIGEST = String(64)

users = Table(
    "users",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("role", String(10), nullable=False),
    Column("shown", String(200), nullable=False),
    Column("password", String(200)),
    Column("subject", String(200), unique=True),
    Column("disabled", Boolean, nullable=False),
    Column("created", TIME, nullable=False),
    CheckConstraint("role IN ('analyst', 'curator', 'auditor', 'admin')", name="role_is_known"),
)
"""People. `password` is an argon2 hash; `subject` is what a single sign-on calls them."""

sessions = Table(
    "sessions",
    metadata,
    Column("digest", DIGEST, primary_key=True),
    Column("user", NAME, ForeignKey("users.name"), nullable=False),
    Column("created", TIME, nullable=False),
    Column("expires", TIME, nullable=False),
    Index("sessions_user", "user"),
)
"""Signed-in browsers, by the digest of their token."""

sign_ins = Table(
    "sign_ins",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("whom", DIGEST, nullable=False),
    Column("time", TIME, nullable=False),
    Index("sign_ins_whom", "whom", "time"),
)
"""Sign-ins that failed, by the digest of the account or the address: what slows guessing down."""

keys = Table(
    "keys",
    metadata,
    Column("id", String(20), primary_key=True),
    Column("user", NAME, ForeignKey("users.name"), nullable=False),
    Column("label", String(100), nullable=False),
    Column("digest", DIGEST, nullable=False),
    Column("created", TIME, nullable=False),
    Column("expires", TIME, nullable=False),
    Column("revoked", TIME),
    Column("maker", String(20), ForeignKey("keys.id")),
    Index("keys_user", "user"),
    Index("keys_maker", "maker"),
)
"""Keys of programs, by the digest of their secret."""

projects = Table(
    "projects",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("created", TIME, nullable=False),
)
"""What analysts work on; the ledger holds what each is allotted."""

members = Table(
    "members",
    metadata,
    Column("project", NAME, ForeignKey("projects.name"), primary_key=True),
    Column("user", NAME, ForeignKey("users.name"), primary_key=True),
)
"""Who works on what."""

datasets = Table(
    "datasets",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("metadata", Text, nullable=False),
    Column("metadata_sha256", DIGEST, nullable=False),
    Column("source", Text, nullable=False),
    Column("slot_s", Integer, nullable=False),
    Column("by", NAME, ForeignKey("users.name"), nullable=False),
    Column("created", TIME, nullable=False),
    CheckConstraint("version >= 1", name="version_is_positive"),
    CheckConstraint("slot_s >= 1", name="slot_is_positive"),
)
"""Private tables as they are declared. A version is never changed; all versions share one account in the ledger."""

requests = Table(
    "requests",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("id", String(20), nullable=False, unique=True),
    Column("by", NAME, ForeignKey("users.name"), nullable=False),
    Column("project", NAME, ForeignKey("projects.name"), nullable=False),
    Column("dataset", NAME, nullable=False),
    Column("version", Integer, nullable=False),
    Column("content", Text, nullable=False),
    Column("sha256", DIGEST, nullable=False),
    Column("question", DIGEST, nullable=False),
    Column("epsilon", Double, nullable=False),
    Column("delta", Double, nullable=False),
    Column("state", String(10), nullable=False),
    Column("code", String(30)),
    Column("entry", Integer),
    Column("is_free", Boolean, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created", TIME, nullable=False),
    Column("slot_end", TIME),
    Column("ended", TIME),
    Column("idempotency", String(100), nullable=False),
    Column("body_sha256", DIGEST, nullable=False),
    UniqueConstraint("by", "idempotency", name="requests_once_each"),
    CheckConstraint(
        "state IN ('waiting', 'approved', 'running', 'released', 'failed', 'rejected', 'withdrawn')",
        name="state_is_known",
    ),
    CheckConstraint("state NOT IN ('approved', 'running', 'released') OR entry IS NOT NULL", name="charged_first"),
    Index("requests_state", "state", "seq"),
    Index("requests_dataset", "dataset", "seq"),
    # Two that ask the same at once would both be charged: the second waits for the first one's answer.
    Index(
        "requests_one_at_a_time",
        "question",
        unique=True,
        sqlite_where=text("state IN ('approved', 'running')"),
        postgresql_where=text("state IN ('approved', 'running')"),
    ),
)
"""Requests, which are the worker's queue as well."""

decisions = Table(
    "decisions",
    metadata,
    Column("request", String(20), ForeignKey("requests.id"), primary_key=True),
    Column("decision", String(10), nullable=False),
    Column("sha256", DIGEST, nullable=False),
    Column("by", NAME, ForeignKey("users.name"), nullable=False),
    Column("comment", String(1000), nullable=False),
    Column("time", TIME, nullable=False),
    Column("seal", DIGEST, nullable=False),
    CheckConstraint("decision IN ('approved', 'rejected')", name="decision_is_known"),
)
"""What curators decided on which exact text; the seal needs a secret that is not in the database."""

failures = Table(
    "failures",
    metadata,
    Column("request", String(20), ForeignKey("requests.id"), primary_key=True),
    Column("detail", String(4000), nullable=False),
)
"""Where computations failed, without any text of the error: for the curator alone."""

audit = Table(
    "audit",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("time", TIME, nullable=False),
    Column("actor", NAME, nullable=False),
    Column("action", String(40), nullable=False),
    Column("object", String(200), nullable=False),
    Column("detail", String(2000), nullable=False),
)
"""Who did what. Append-only."""

APPEND_ONLY = ("datasets", "decisions", "audit")
"""Tables whose rows no statement may change or delete."""
