"""Worst-case odds of a request, for the analyst who asks and the curator who decides."""

import math
from dataclasses import dataclass

from discreet.accounting.guarantee import exact
from discreet.report.chances import worst_posterior
from discreet.report.words import at_most, number, one_in, percent_at_most, thousands
from discreet_service.schemas import BudgetOut

PRIORS = (0.01, 0.1, 0.5)
"""What an attacker may believe before the release."""

_PLAIN = math.log(1e6)
"""Above this epsilon the factor of the odds is not told in digits."""


@dataclass(frozen=True)
class OddsLine:
    """The worst beliefs after what costs one epsilon."""

    title: str
    epsilon: str
    factor: str  # of the odds: how large it can be, in words
    beliefs: tuple[str, ...]  # at most, for each of `PRIORS`


@dataclass(frozen=True)
class Odds:
    """What a guarantee means to an attacker's odds about one unit."""

    unit: str
    is_replaced: bool
    failure: str | None  # chance that the bound does not hold; None without a delta
    priors: tuple[str, ...]
    lines: tuple[OddsLine, ...]


def odds_of(
    epsilon: float, delta: float, unit: str, neighboring: str, budget: BudgetOut | None, *, is_charged: bool = False
) -> Odds:
    """Return the odds of one request, and of all that was spent and this where epsilons add up."""
    lines = [_line("this release", epsilon)]
    is_replaced = neighboring == "replace_one"
    if not is_replaced:  # taken out, then put back changed
        lines.append(_line("this release, about a changed record", 2.0 * epsilon))
    if budget is not None and budget.accounting == "basic" and not is_charged and budget.epsilon_spent > 0:
        lines.append(_line("all releases so far and this one", budget.epsilon_spent + epsilon))
    priors = tuple(f"{number(100 * prior)}%" for prior in PRIORS)
    return Odds(unit, is_replaced, one_in(delta) if delta else None, priors, tuple(lines))


def _line(title: str, epsilon: float) -> OddsLine:
    exact(epsilon, "epsilon")
    factor = "more than a million" if epsilon > _PLAIN else f"at most {thousands(at_most(math.exp(epsilon), 3))}"
    beliefs = tuple(percent_at_most(worst_posterior(epsilon, prior)) for prior in PRIORS)
    return OddsLine(title, at_most(epsilon), factor, beliefs)
