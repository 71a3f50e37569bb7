"""Tables of a scenario that may be looked at more than once."""

from discreet.mechanisms.rng import Source
from discreet.simulation.scenario import Scenario
from discreet.simulation.simulated_table import SimulatedTable

KEPT_CELLS = 2**22
"""Of the drawn tables that are kept for another look."""


class DrawnTables:
    """Tables of a scenario by their seeds, small ones kept for another look.

    Parameters
    ----------
    scenario : Scenario
        What they are drawn from.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._cached: dict[int, SimulatedTable] = {}
        self._room = KEPT_CELLS // (scenario.n_rows * (len(scenario.candidates) + 1))

    def table(self, seed: int) -> SimulatedTable:
        """Return the table of a seed, the same rows each time."""
        if seed in self._cached:
            return self._cached[seed]
        table = self.scenario.draw(Source.seeded(seed))
        if len(self._cached) < self._room:
            self._cached[seed] = table
        return table
