"""The first service: accounts, data sets, requests, decisions, the audit."""

from alembic import op

from discreet.service.store.schema import APPEND_ONLY, metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    metadata.create_all(op.get_bind())
    for statement in _guards(op.get_bind().dialect.name):
        op.execute(statement)


def downgrade() -> None:
    raise NotImplementedError("The audit is append-only; restore a copy instead.")


def _guards(dialect: str) -> list[str]:
    """Return what keeps rows from being changed by mistake."""
    refused = [(name, deed) for name in APPEND_ONLY for deed in ("UPDATE", "DELETE")]
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER {name}_no_{deed.lower()} BEFORE {deed} ON {name} "
            f"BEGIN SELECT RAISE(ABORT, 'these rows are append-only'); END"
            for name, deed in refused
        ]
    function = (
        "CREATE FUNCTION service_is_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RAISE EXCEPTION ''these rows are append-only''; END'"
    )
    of = {"UPDATE": "ROW", "DELETE": "ROW", "TRUNCATE": "STATEMENT"}
    refused += [(name, "TRUNCATE") for name in APPEND_ONLY]
    return [function] + [
        f"CREATE TRIGGER {name}_no_{deed.lower()} BEFORE {deed} ON {name} "
        f"FOR EACH {of[deed]} EXECUTE FUNCTION service_is_append_only()"
        for name, deed in refused
    ]
