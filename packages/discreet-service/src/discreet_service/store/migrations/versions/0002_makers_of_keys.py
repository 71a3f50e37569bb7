"""Which key made a key: it ends with its maker."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("keys") as table:
        table.add_column(sa.Column("maker", sa.String(20)))
        table.create_foreign_key("keys_maker_fkey", "keys", ["maker"], ["id"])
    op.create_index("keys_maker", "keys", ["maker"], unique=False)
