"""Run by Alembic: migrates over the connection that `discreet.ledger.migrate` holds."""

from alembic import context

from discreet.ledger.migrate import VERSION_TABLE
from discreet.ledger.schema import metadata


def run() -> None:
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        version_table=VERSION_TABLE,
    )
    # No transaction of its own: the caller's decides whether all of it stands.
    context.run_migrations()


# Alembic gives the module this name; other tools may import it without a migration under way.
if __name__ == "env_py":
    run()
