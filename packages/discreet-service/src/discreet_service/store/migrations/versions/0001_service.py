"""The first service: accounts, data sets, requests, decisions, the audit."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_APPEND_ONLY = ("datasets", "decisions", "audit")


def upgrade() -> None:
    _create_users()
    _create_sessions()
    _create_sign_ins()
    _create_keys()
    _create_projects()
    _create_members()
    _create_datasets()
    _create_requests()
    _create_decisions()
    _create_failures()
    _create_audit()
    for statement in _guards(op.get_bind().dialect.name):
        op.execute(statement)


def _create_users() -> None:
    op.create_table(
        "users",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("shown", sa.String(200), nullable=False),
        sa.Column("password", sa.String(200)),
        sa.Column("subject", sa.String(200)),
        sa.Column("disabled", sa.Boolean, nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.CheckConstraint("role IN ('analyst', 'curator', 'auditor', 'admin')", name="role_is_known"),
        sa.PrimaryKeyConstraint("name"),
        sa.UniqueConstraint("subject"),
    )


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("user", sa.String(100), nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.Column("expires", sa.String(24), nullable=False),
        sa.ForeignKeyConstraint(
            ["user"],
            ["users.name"],
        ),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("sessions_user", "sessions", ["user"], unique=False)


def _create_sign_ins() -> None:
    op.create_table(
        "sign_ins",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("whom", sa.String(64), nullable=False),
        sa.Column("time", sa.String(24), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("sign_ins_whom", "sign_ins", ["whom", "time"], unique=False)


def _create_keys() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.String(20), nullable=False),
        sa.Column("user", sa.String(100), nullable=False),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.Column("expires", sa.String(24), nullable=False),
        sa.Column("revoked", sa.String(24)),
        sa.ForeignKeyConstraint(
            ["user"],
            ["users.name"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("keys_user", "keys", ["user"], unique=False)


def _create_projects() -> None:
    op.create_table(
        "projects",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def _create_members() -> None:
    op.create_table(
        "members",
        sa.Column("project", sa.String(100), nullable=False),
        sa.Column("user", sa.String(100), nullable=False),
        sa.ForeignKeyConstraint(
            ["project"],
            ["projects.name"],
        ),
        sa.ForeignKeyConstraint(
            ["user"],
            ["users.name"],
        ),
        sa.PrimaryKeyConstraint("project", "user"),
    )


def _create_datasets() -> None:
    op.create_table(
        "datasets",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("version", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("metadata_sha256", sa.String(64), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("slot_s", sa.Integer, nullable=False),
        sa.Column("by", sa.String(100), nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.CheckConstraint("slot_s >= 1", name="slot_is_positive"),
        sa.CheckConstraint("version >= 1", name="version_is_positive"),
        sa.ForeignKeyConstraint(
            ["by"],
            ["users.name"],
        ),
        sa.PrimaryKeyConstraint("name", "version"),
    )


def _create_requests() -> None:
    op.create_table(
        "requests",
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("id", sa.String(20), nullable=False),
        sa.Column("by", sa.String(100), nullable=False),
        sa.Column("project", sa.String(100), nullable=False),
        sa.Column("dataset", sa.String(100), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("question", sa.String(64), nullable=False),
        sa.Column("epsilon", sa.Double, nullable=False),
        sa.Column("delta", sa.Double, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("code", sa.String(30)),
        sa.Column("entry", sa.Integer),
        sa.Column("is_free", sa.Boolean, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.Column("slot_end", sa.String(24)),
        sa.Column("ended", sa.String(24)),
        sa.Column("idempotency", sa.String(100), nullable=False),
        sa.Column("body_sha256", sa.String(64), nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'approved', 'running', 'released', 'failed', 'rejected', 'withdrawn')",
            name="state_is_known",
        ),
        sa.CheckConstraint(
            "state NOT IN ('approved', 'running', 'released') OR entry IS NOT NULL", name="charged_first"
        ),
        sa.ForeignKeyConstraint(
            ["by"],
            ["users.name"],
        ),
        sa.ForeignKeyConstraint(
            ["project"],
            ["projects.name"],
        ),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("by", "idempotency", name="requests_once_each"),
        sa.UniqueConstraint("id"),
    )
    op.create_index("requests_dataset", "requests", ["dataset", "seq"], unique=False)
    op.create_index(
        "requests_one_at_a_time",
        "requests",
        ["question"],
        unique=True,
        sqlite_where=sa.text("state IN ('approved', 'running')"),
        postgresql_where=sa.text("state IN ('approved', 'running')"),
    )
    op.create_index("requests_state", "requests", ["state", "seq"], unique=False)


def _create_decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("request", sa.String(20), nullable=False),
        sa.Column("decision", sa.String(10), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("by", sa.String(100), nullable=False),
        sa.Column("comment", sa.String(1000), nullable=False),
        sa.Column("time", sa.String(24), nullable=False),
        sa.Column("seal", sa.String(64), nullable=False),
        sa.CheckConstraint("decision IN ('approved', 'rejected')", name="decision_is_known"),
        sa.ForeignKeyConstraint(
            ["by"],
            ["users.name"],
        ),
        sa.ForeignKeyConstraint(
            ["request"],
            ["requests.id"],
        ),
        sa.PrimaryKeyConstraint("request"),
    )


def _create_failures() -> None:
    op.create_table(
        "failures",
        sa.Column("request", sa.String(20), nullable=False),
        sa.Column("detail", sa.String(4000), nullable=False),
        sa.ForeignKeyConstraint(
            ["request"],
            ["requests.id"],
        ),
        sa.PrimaryKeyConstraint("request"),
    )


def _create_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("time", sa.String(24), nullable=False),
        sa.Column("actor", sa.String(100), nullable=False),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("object", sa.String(200), nullable=False),
        sa.Column("detail", sa.String(2000), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )


def _guards(dialect: str) -> list[str]:
    """Return what keeps rows from being changed by mistake."""
    refused = [(name, deed) for name in _APPEND_ONLY for deed in ("UPDATE", "DELETE")]
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
    refused += [(name, "TRUNCATE") for name in _APPEND_ONLY]
    return [function] + [
        f"CREATE TRIGGER {name}_no_{deed.lower()} BEFORE {deed} ON {name} "
        f"FOR EACH {of[deed]} EXECUTE FUNCTION service_is_append_only()"
        for name, deed in refused
    ]
