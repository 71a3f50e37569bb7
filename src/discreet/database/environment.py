"""What the env.py of each migrations folder does."""

from alembic import context


def run() -> None:
    """Migrate over the connection that `discreet.database.Migrations` holds."""
    attributes = context.config.attributes
    context.configure(connection=attributes["connection"], version_table=attributes["version_table"])
    # No transaction of its own: the caller's decides whether all of it stands.
    context.run_migrations()
