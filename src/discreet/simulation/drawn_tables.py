"""Tables of a scenario that may be looked at more than once."""

from discreet.mechanisms.rng import Source
from discreet.simulation.scenario import Scenario
from discreet.simulation.simulated_table import SimulatedTable

KEPT_CELLS = 2**21
"""Of the drawn tables that are kept for another look."""


class DrawnTables:
    """Tables of a scenario by their seeds, small ones kept for another look.

    Parameters
    ----------
    scenario : Scenario
        What they are drawn from.
    cells : int
        Of the tables that are kept; fewer than by default: without the sums that they remember.
    """

    def __init__(self, scenario: Scenario, cells: int = KEPT_CELLS) -> None:
        self.scenario, self._has_sums = scenario, cells >= KEPT_CELLS
        self._cached: dict[int, SimulatedTable] = {}
        self._room = cells // (scenario.drawn_rows * (len(scenario.candidates) + 1))

    def table(self, seed: int) -> SimulatedTable:
        """Return the table of a seed, the same rows each time."""
        if seed not in self._cached:
            table = self.scenario.draw(Source.seeded(seed))
            if len(self._cached) >= self._room:
                return table
            self._cached[seed] = table
        return self._cached[seed] if self._has_sums else self._cached[seed].fresh()
