"""Tables that are less kind than the stated one: the same effects, but columns and noise as real ones often are."""

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from typing_extensions import override

from discreet.data.metadata import half_width
from discreet.mechanisms.rng import Source
from discreet.simulation.draws import normals
from discreet.simulation.scenario import Scenario
from discreet.typing import Floats


class Unkindness(NamedTuple):
    """In what a table is less kind than the stated one.

    Parameters
    ----------
    name : str
        What tables call it.
    width : float
        Part of its half range that each column fills.
    place : float
        The middle of that part, in half ranges from the middle of the bounds.
    power : float
        Of a column's place in (0, 1): above 1 most cells are near the lower bound, and later levels are rare.
    correlation : float
        Of neighboring columns, where the stated one is smaller.
    is_skewed : bool
        Whether the target lies near its lower bound, and its noise is exponential.
    degrees : float
        Of freedom of the noise, Student's t at the stated standard deviation; infinite: normal.
    """

    name: str
    width: float = 1.0
    place: float = 0.0
    power: float = 1.0
    correlation: float = 0.0
    is_skewed: bool = False
    degrees: float = math.inf


UNKIND = (
    Unkindness("narrow columns", width=0.2, place=-0.6),
    Unkindness("a skewed target", is_skewed=True),
    Unkindness("rare categories", power=10.0),
    Unkindness("heavy tails", degrees=2.5),
    Unkindness("correlated columns", correlation=0.7),
    Unkindness("some of each", width=0.6, power=2.0, correlation=0.4, is_skewed=True),
)
"""Each leaves the stated effects and the standard deviation of the noise as they are."""

OF_A_PATTERN = ("a skewed target", "heavy tails")
"""Those of a scenario whose columns are drawn from public records: their spread is known."""

SKEWED_PLACE = -0.6
"""Of a skewed target's middle, in half ranges from the middle of its bounds."""


@dataclass(frozen=True)
class UnkindScenario(Scenario):
    """A scenario whose columns or noise are less kind than stated."""

    unkindness: Unkindness = UNKIND[0]

    @override
    def _spread(self, even: Floats) -> Floats:
        shares = ((even + 1.0) / 2.0) ** self.unkindness.power
        return np.asarray(self.unkindness.place + self.unkindness.width * (2.0 * shares - 1.0))

    @override
    def _noise(self, rng: Source, n_rows: int) -> Floats:
        unkind = self.unkindness
        if unkind.is_skewed:
            own, other = normals(rng, n_rows, 2).T
            return np.asarray(self.noise_sd * ((own**2 + other**2) / 2.0 - 1.0))
        noise = super()._noise(rng, n_rows)
        if math.isinf(unkind.degrees):
            return noise
        # Student's t, as a normal over the root of a gamma: Wilson and Hilferty's cube of a normal.
        cube = (
            1.0 - 2.0 / (9.0 * unkind.degrees) + normals(rng, n_rows, 1)[:, 0] * math.sqrt(2.0 / 9.0 / unkind.degrees)
        )
        spread = np.sqrt(np.maximum(cube, 0.05) ** 3)
        tails = noise / spread
        return np.asarray(tails * (self.noise_sd / max(float(tails.std()), 1e-300)))


def unkind_scenarios(stated: Scenario) -> list[UnkindScenario]:
    """Return the unkind tables beside a stated one."""
    family = [unkind for unkind in UNKIND if stated.pattern is None or unkind.name in OF_A_PATTERN]
    return [_unkind(stated, unkind) for unkind in family]


def _unkind(stated: Scenario, unkind: Unkindness) -> UnkindScenario:
    facts = {each.name: getattr(stated, each.name) for each in fields(Scenario)}
    if unkind.is_skewed:
        middle, half = half_width(stated.metadata.declared(stated.target))  # type: ignore[arg-type]
        start = middle if stated.intercept is None else stated.intercept
        facts["intercept"] = min(start, middle + SKEWED_PLACE * half)
    if unkind.place != 0.0 and stated.pattern is None:  # the target's mean stays where it was
        middle, _ = half_width(stated.metadata.declared(stated.target))  # type: ignore[arg-type]
        start = middle if stated.intercept is None else stated.intercept
        numeric = [size for name, size in stated.effects.items() if stated.metadata.is_number(name)]
        facts["intercept"] = start - unkind.place * sum(numeric)
    if unkind.correlation > abs(stated.correlation) and stated.pattern is None:
        facts["correlation"] = unkind.correlation
    return UnkindScenario(**facts, unkindness=unkind)
