"""Public moments of the columns of a scenario, for a selection that is to use those of a public table."""

from dataclasses import replace

from discreet.data.public_moments import public_moments
from discreet.mechanisms.rng import Source
from discreet.parameters.public_moments import PublicMoments
from discreet.simulation.rivals import Rival
from discreet.simulation.scenario import MOST_DRAWN, Scenario

SEED = 2


def as_in(scenario: Scenario, rival: Rival) -> Rival:
    """Return a selection whose public table, if it has one, is as large and of other rows of the same scenario."""
    if rival.parameters.get("public_moments") is None:
        return rival
    stated = PublicMoments.model_validate(rival.parameters["public_moments"])
    n_records = min(stated.n_records or MOST_DRAWN, MOST_DRAWN)
    drawn = replace(scenario, n_rows=n_records).draw(Source.seeded(SEED))
    known = public_moments(drawn.frame, drawn.metadata, scenario.candidates)
    known = known.model_copy(update={"n_records": stated.n_records})
    return replace(rival, parameters={**rival.parameters, "public_moments": known})
