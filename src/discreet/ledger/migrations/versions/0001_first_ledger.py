"""The first ledger: accounts, entries, releases and the head of the chain."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_accounts()
    _create_entries()
    _create_releases()
    _create_head()
    for statement in _guards(op.get_bind().dialect.name):
        op.execute(statement)


def _create_accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("dataset", sa.String(100), primary_key=True),
        sa.Column("unit", sa.String(100)),
        sa.Column("neighboring", sa.String(40)),
        sa.Column("epsilon_cap", sa.BigInteger, nullable=False),
        sa.Column("epsilon_spent", sa.BigInteger, nullable=False),
        sa.Column("delta_cap", sa.BigInteger, nullable=False),
        sa.Column("delta_spent", sa.BigInteger, nullable=False),
        sa.CheckConstraint("epsilon_cap >= 0", name="epsilon_cap_not_negative"),
        sa.CheckConstraint("epsilon_spent >= 0", name="epsilon_spent_not_negative"),
        sa.CheckConstraint("epsilon_spent <= epsilon_cap", name="epsilon_spent_within_cap"),
        sa.CheckConstraint("delta_cap >= 0", name="delta_cap_not_negative"),
        sa.CheckConstraint("delta_spent >= 0", name="delta_spent_not_negative"),
        sa.CheckConstraint("delta_spent <= delta_cap", name="delta_spent_within_cap"),
    )


def _create_entries() -> None:
    op.create_table(
        "entries",
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("time", sa.String(20), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("dataset", sa.String(100), nullable=False),
        sa.Column("request", sa.String(64)),
        sa.Column("reservation", sa.Integer, sa.ForeignKey("entries.seq", name="entries_reservation")),
        sa.Column("unit", sa.String(100)),
        sa.Column("neighboring", sa.String(40)),
        sa.Column("epsilon", sa.BigInteger, nullable=False),
        sa.Column("delta", sa.BigInteger, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("prev", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.UniqueConstraint("reservation", "kind", name="entries_once_each"),
    )
    op.create_index("entries_dataset", "entries", ["dataset"])


def _create_releases() -> None:
    op.create_table(
        "releases",
        sa.Column("entry", sa.Integer, sa.ForeignKey("entries.seq", name="releases_entry"), primary_key=True),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_index("releases_request", "releases", ["request"])


def _create_head() -> None:
    head = op.create_table(
        "head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.CheckConstraint("id = 1", name="head_is_one_row"),
    )
    op.bulk_insert(head, [{"id": 1, "seq": 0, "hash": "0" * 64}])


def _guards(dialect: str) -> list[str]:
    """Return the triggers that keep rows from being changed by mistake; the chain shows who drops one."""
    refused = [(name, deed) for name in ("entries", "releases") for deed in ("UPDATE", "DELETE")]
    refused += [("accounts", "DELETE"), ("head", "DELETE")]
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER {name}_no_{deed.lower()} BEFORE {deed} ON {name} "
            f"BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            for name, deed in refused
        ]
    function = (
        "CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RAISE EXCEPTION ''the ledger is append-only''; END'"
    )
    return [function] + [
        f"CREATE TRIGGER {name}_no_{deed.lower()} BEFORE {deed} ON {name} "
        "FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only()"
        for name, deed in refused
    ]
