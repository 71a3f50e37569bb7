"""Accounts may be kept in zero-concentrated differential privacy: rho beside epsilon and delta."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_KEPT = "dataset, unit, neighboring, epsilon_cap, epsilon_spent, delta_cap, delta_spent"


def upgrade() -> None:
    op.add_column("entries", sa.Column("rho", sa.BigInteger))
    op.add_column("entries", sa.Column("failure", sa.BigInteger))
    # SQLite cannot change the constraints of a table, so that of the accounts is made anew.
    _create_accounts()
    op.execute(f"INSERT INTO accounts_2 SELECT {_KEPT}, 'basic', 0, 0, 0, 0 FROM accounts")
    op.drop_table("accounts")
    op.rename_table("accounts_2", "accounts")
    op.execute(_guard(op.get_bind().dialect.name))


def _create_accounts() -> None:
    op.create_table(
        "accounts_2",
        sa.Column("dataset", sa.String(100), primary_key=True),
        sa.Column("unit", sa.String(100)),
        sa.Column("neighboring", sa.String(40)),
        sa.Column("epsilon_cap", sa.BigInteger, nullable=False),
        sa.Column("epsilon_spent", sa.BigInteger, nullable=False),
        sa.Column("delta_cap", sa.BigInteger, nullable=False),
        sa.Column("delta_spent", sa.BigInteger, nullable=False),
        sa.Column("accounting", sa.String(10), nullable=False),
        sa.Column("rho_cap", sa.BigInteger, nullable=False),
        sa.Column("rho_spent", sa.BigInteger, nullable=False),
        sa.Column("failure_cap", sa.BigInteger, nullable=False),
        sa.Column("failure_spent", sa.BigInteger, nullable=False),
        sa.CheckConstraint("epsilon_cap >= 0", name="epsilon_cap_not_negative"),
        sa.CheckConstraint("epsilon_spent >= 0", name="epsilon_spent_not_negative"),
        sa.CheckConstraint("accounting = 'zcdp' OR epsilon_spent <= epsilon_cap", name="epsilon_spent_within_cap"),
        sa.CheckConstraint("delta_cap >= 0", name="delta_cap_not_negative"),
        sa.CheckConstraint("delta_spent >= 0", name="delta_spent_not_negative"),
        sa.CheckConstraint("accounting = 'zcdp' OR delta_spent <= delta_cap", name="delta_spent_within_cap"),
        sa.CheckConstraint("accounting IN ('basic', 'zcdp')", name="accounting_is_known"),
        sa.CheckConstraint("rho_spent >= 0", name="rho_spent_not_negative"),
        sa.CheckConstraint("rho_spent <= rho_cap", name="rho_spent_within_cap"),
        sa.CheckConstraint("failure_spent >= 0", name="failure_spent_not_negative"),
        sa.CheckConstraint("failure_spent <= failure_cap", name="failure_spent_within_cap"),
    )


def _guard(dialect: str) -> str:
    """Return what keeps accounts from being deleted; the table took the first one with it."""
    if dialect == "sqlite":
        return (
            "CREATE TRIGGER accounts_no_delete BEFORE DELETE ON accounts "
            "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        )
    return (
        "CREATE TRIGGER accounts_no_delete BEFORE DELETE ON accounts "
        "FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only()"
    )
