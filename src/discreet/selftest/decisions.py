"""Decisions of a mechanism on random words that are given: how far apart two scores must be for the choice to turn.

With all uniform numbers given, a selection is a function of its scores. Where it turns shows the noise that its
decision function really uses, to as many digits as one bisects: no draw is needed to see a scale that is wrong by a
millionth.
"""

import math
from collections.abc import Callable

from discreet.mechanisms.rng import Source
from discreet.selftest.evidence import Evidence
from discreet.selftest.tape import Tape

LEVELS = (0.02, 0.2, 0.8, 0.98)
"""Uniform numbers of the second candidate; symmetric, for a noise may rise or fall with its uniform number."""
STEPS = 40
"""Of bisection: 1e-10 of the range."""
FORM = 1e-3
"""The noise must follow its law to this, relative, where it is not exact to `ROUNDING`: scores may be whole numbers."""

Decide = Callable[[float, Source], bool]
"""Whether the second of two candidates is chosen when it lies so far behind the first, with noise from a source."""


def by_decisions(
    decide: Decide,
    noise: str,
    scale: float,
    *,
    before: int = 0,
    is_ranked: bool = False,
    rounding: float = 0.0,
    **about: object,
) -> Evidence:
    """Measure the noise of a selection by where it turns.

    The empirical epsilon is the claimed one times the ratio of the scale to the least that was measured.
    """
    reach = 40.0 * scale
    gaps = [_turn(decide, [0.5] * (before + 1) + [level], 0.0 if is_ranked else -reach, reach) for level in LEVELS]
    expected = [quantile(level, noise) - quantile(0.5, noise) for level in LEVELS]
    pairs = zip(sorted(gaps), sorted(expected), strict=True)
    # On fixed random words the choice turns where the gap is scale * (quantile(level) - quantile(1/2)).
    ratios = [gap / (scale * size) for gap, size in pairs if size > 0.0 or not is_ranked]
    epsilon = float(about["epsilon"])  # type: ignore[arg-type]
    shown = epsilon / (min(ratios) + rounding) if min(ratios) + rounding > 0 else math.inf
    fault = "" if max(ratios) < 1.0 + FORM else "its noise does not follow its law"
    return Evidence(shown=shown, how="decisions", n_draws=0, fault=fault, **about)  # type: ignore[arg-type]


def _turn(decide: Decide, words: list[float], low: float, high: float) -> float:
    """Return the gap from which on the second candidate is not chosen any more."""
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if decide(middle, Tape(words)) else (low, middle)
    return (low + high) / 2.0


def quantile(chance: float, noise: str) -> float:
    """Return the quantile of a noise of scale one, by its definition."""
    if noise == "exponential":
        return -math.log(1.0 - chance)
    if noise == "gumbel":
        return -math.log(-math.log(chance))
    return math.log(2.0 * chance) if chance < 0.5 else -math.log(2.0 * (1.0 - chance))
