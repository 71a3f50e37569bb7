"""What tables are supposed to be like where nothing is stated: several kinds, none of them the kindest."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from typing_extensions import override

from discreet.data.metadata import Metadata, half_width
from discreet.parameters.public_moments import PublicMoments
from discreet.simulation.known_scenario import KnownScenario
from discreet.simulation.public_pattern import signal
from discreet.simulation.scenario import N_TRUE, R_SQUARED, SPREAD, Scenario
from discreet.typing import Floats

POWERS = (1.0, 3.0, 8.0)
"""Of a share in (0, 1), for a column of cells that are even, skewed, or nearly all at the lower bound."""

MEASURED, MEASURED_PLACE = 0.2, -0.4
"""Half the part of its bounds that a measurement fills, and the middle of that part, in half ranges."""

YES = 0.3
"""How many rows say yes."""


@dataclass(frozen=True)
class UnevenScenario(Scenario):
    """A scenario whose columns are narrow, skewed, and rarely above their lower bound, in turns."""

    @override
    def _spread(self, even: Floats) -> Floats:
        shares = (even + 1.0) / 2.0
        first = len(self.truth)  # so that other shapes matter where other numbers of columns do
        for j in range(even.shape[1]):
            shape = (j + first) % (len(POWERS) + 1)
            even[:, j] = even[:, j] / 2.0 if shape == len(POWERS) else 2.0 * shares[:, j] ** POWERS[shape] - 1.0
        return even


@dataclass(frozen=True)
class MixedScenario(Scenario):
    """A scenario of measurements that fill a part of what is possible, below the middle, and answers of yes or no."""

    @override
    def _spread(self, even: Floats) -> Floats:
        even[:, ::2] = MEASURED_PLACE + MEASURED * even[:, ::2]
        even[:, 1::2] = np.where(even[:, 1::2] > 1.0 - 2.0 * YES, 1.0, -1.0)
        return even


class World(NamedTuple):
    """A kind of table.

    Parameters
    ----------
    equal : bool
        Whether effects are equal; else they fall evenly from the first column to the last.
    correlation : float
        Of neighboring columns.
    kind : type of Scenario
        How columns fill their bounds.
    place : float
        Of the target's mean in half ranges from the middle of its bounds.
    r_squared : float
        What the columns explain.
    width : float
        Part that the target fills of its bounds, more or less.
    is_apart : bool
        Whether every other column matters, in place of the first ones.
    """

    equal: bool = True
    correlation: float = 0.0
    kind: type[Scenario] = Scenario
    place: float = 0.0
    r_squared: float = R_SQUARED
    width: float = 1.0
    is_apart: bool = False


WORLDS = (
    World(),
    World(equal=False, correlation=0.6),
    World(kind=UnevenScenario),
    World(equal=False, correlation=0.6, kind=UnevenScenario, place=-0.5),
)
KNOWN = (
    World(kind=KnownScenario),
    World(equal=False, kind=KnownScenario, is_apart=True),
    World(kind=KnownScenario, r_squared=0.1, width=0.5, is_apart=True),
    World(equal=False, kind=KnownScenario, place=-0.5),
)
"""Where public moments say how columns are."""
HARD = (
    World(correlation=0.6, r_squared=0.1),
    World(correlation=0.6, r_squared=0.25),
    World(equal=False, kind=MixedScenario, width=0.5),
    World(correlation=0.3, kind=MixedScenario, r_squared=0.1, width=0.5),
)
"""Weak effects, and bounds as code books have them: where the table is large, these alone tell selections apart."""


def numbers(n_candidates: int) -> tuple[int, ...]:
    """Return how many columns may matter: as many as a plan supposes, one fewer and one more; each is as likely.

    Examples
    --------
    >>> numbers(6), numbers(2)
    ((2, 3, 4), (1, 2))
    """
    usual = _usual(n_candidates)
    return tuple(k for k in (usual - 1, usual, usual + 1) if 1 <= k <= n_candidates)


def worlds(
    metadata: Metadata,
    target: str,
    names: Sequence[str],
    n_rows: int | None,
    n_true: int | None = None,
    public_moments: PublicMoments | None = None,
) -> list[Scenario]:
    """Return the scenarios: all kinds with all numbers of columns that matter, or the one that is stated.

    Where public moments are known, columns are like these.
    """
    listed = numbers(len(names)) if n_true is None else (n_true,)
    if public_moments is not None:
        facts = (metadata, target, names, n_rows, public_moments)
        return [_scenario(world, k, *facts) for k in listed for world in KNOWN]
    scenarios = [_scenario(world, k, metadata, target, names, n_rows) for k in listed for world in WORLDS]
    hard = _usual(len(names)) if n_true is None else n_true
    return [*scenarios, *(_scenario(world, hard, metadata, target, names, n_rows) for world in HARD)]


def _usual(n_candidates: int) -> int:
    return max(1, min(N_TRUE, n_candidates // 2))


def _scenario(
    world: World,
    n_true: int,
    metadata: Metadata,
    target: str,
    names: Sequence[str],
    n_rows: int | None,
    public_moments: PublicMoments | None = None,
) -> Scenario:
    sizes = np.ones(n_true) if world.equal else np.arange(n_true, 0.0, -1.0)
    middle, half = half_width(metadata.declared(target))  # type: ignore[arg-type]
    in_turn = [*names[::2], *names[1::2]] if world.is_apart else names
    effects = {name: float(size) * half / n_true for name, size in zip(in_turn, sizes, strict=False)}
    facts = {"r_squared": world.r_squared, "correlation": world.correlation, "n_rows": n_rows}
    stated = world.kind.of(metadata, target, names, effects=effects, **facts)  # type: ignore[arg-type]
    if public_moments is not None:
        stated = replace(cast("KnownScenario", stated), known=public_moments)
        stated = replace(stated, noise_sd=math.sqrt(stated.explained_variance * (1.0 / world.r_squared - 1.0)))
    # The bounds lie at three standard deviations, on the nearer side of the mean.
    width = SPREAD * half * (1.0 - abs(world.place)) * world.width
    factor = width / (stated.explained_variance + stated.noise_sd**2) ** 0.5
    effects = {name: factor * size for name, size in effects.items()}
    intercept = middle + world.place * half
    if world.kind is MixedScenario:  # columns are not in the middle, on average
        means = (MEASURED_PLACE, 2.0 * YES - 1.0)
        intercept -= sum(size * means[j % 2] for j, size in enumerate(effects.values()))
    if public_moments is not None:
        intercept -= float(signal(stated.sample, stated.candidates, effects, {}).mean())
    return replace(stated, effects=effects, noise_sd=factor * stated.noise_sd, intercept=intercept)
