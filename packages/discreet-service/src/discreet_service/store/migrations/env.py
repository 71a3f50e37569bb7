"""Run by Alembic."""

from discreet.database.environment import run

# Alembic gives the module this name; other tools may import it without a migration under way.
if __name__ == "env_py":
    run()
