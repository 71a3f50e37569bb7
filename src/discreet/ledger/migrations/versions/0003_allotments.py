"""Projects may be allotted a part of a data set's cap: a table of such ceilings, and the project in each entry."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("entries", sa.Column("project", sa.String(100)))
    # Releases are counted for every account that is looked at.
    op.drop_index("entries_dataset", "entries")
    op.create_index("entries_dataset", "entries", ["dataset", "kind"])
    _create_allotments()
    op.execute(_guard(op.get_bind().dialect.name))


def _create_allotments() -> None:
    op.create_table(
        "allotments",
        sa.Column(
            "dataset",
            sa.String(100),
            sa.ForeignKey("accounts.dataset", name="allotments_dataset"),
            primary_key=True,
        ),
        sa.Column("project", sa.String(100), primary_key=True),
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
    """Return what keeps allotments from being deleted by mistake."""
    if dialect == "sqlite":
        return (
            "CREATE TRIGGER allotments_no_delete BEFORE DELETE ON allotments "
            "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        )
    return (
        "CREATE TRIGGER allotments_no_delete BEFORE DELETE ON allotments "
        "FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only()"
    )
