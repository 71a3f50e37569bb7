"""What every use case works on: settings, the ledger, and the rows beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from discreet import workflow
from discreet.database import Database
from discreet_service.settings import Settings
from discreet_service.simulation.outlooks import Outlooks
from discreet_service.simulation.run import ResourceLimits, Simulations
from discreet_service.store.revisions import open_database


@dataclass(frozen=True)
class Context:
    """An open service."""

    settings: Settings
    ledger: workflow.Ledger
    database: Database  # the service's own rows, in the ledger's database
    simulations: Simulations
    outlooks: Outlooks

    @contextmanager
    def reading(self) -> Iterator["Context"]:
        """Open one reading transaction for all that is read in the block, by this thread; nothing can be written."""
        with self.database.read() as connection:
            # Both are in one place, so that its rows and the ledger's are those of one moment.
            database, ledger = self.database.joined(connection), self.ledger.joined(connection)
            yield replace(self, database=database, ledger=ledger)


@contextmanager
def open_context(settings: Settings, *, pooled: bool = False) -> Iterator[Context]:
    """Open the database of a service until the end of the block, and refuse a restored copy."""
    with workflow.Ledger(settings.database, witness=settings.witness, pooled=pooled) as ledger:
        limits = ResourceLimits(settings.simulation_mb, settings.simulation_s)
        database = open_database(settings.database, pooled=pooled)
        outlooks = Outlooks(limits)
        try:
            yield Context(settings, ledger, database, Simulations(limits), outlooks)
        finally:
            outlooks.close()
            database.close()
