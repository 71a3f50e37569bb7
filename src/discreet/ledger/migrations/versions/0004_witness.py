"""The ledger records where its witness lies; the sums of a data set's entries are read from an index alone."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("head", sa.Column("witness", sa.Text))
    op.create_index("entries_sums", "entries", ["dataset", "kind", "project", "epsilon", "delta", "rho", "failure"])
    op.drop_index("entries_dataset", "entries")
