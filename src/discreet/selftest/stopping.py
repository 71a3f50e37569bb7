"""Parts below a ceiling, bought by one who stops and chooses what comes next by the privacy loss so far.

Laws of whole transcripts, by the product's own filter: a part is Gaussian noise of the rho that it is charged, of which
intervals of a quarter of a standard deviation are told, or for pure epsilon one bit that loses all of its epsilon.
What is shown is a lower bound: more may be told by more parts, or by the numbers themselves.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from discreet.accounting.events import EllipsoidEvent, Event, GaussianEvent
from discreet.selftest.evidence import Evidence, loss_at_delta
from discreet.typing import Bools, Floats, Integers
from discreet.workflow.paid_terms import Cost, Terms

DELTA = 1e-6
MOST = {True: 3, False: 5}
"""Parts after which everybody stops: three of noise, whose transcripts are many, five of bits."""

EDGES = np.concatenate([[-np.inf], np.arange(-6.0, 8.25, 0.25), [np.inf]])
"""Of the intervals that are told, in standard deviations of the noise."""

FACTORS = (Fraction(3, 2), Fraction(4), None)
"""How many times as precise the noise becomes by the next part; None: all that is left."""


class Adversary(NamedTuple):
    """Who looks at the privacy loss so far: whether to stop, and which of the factors comes next."""

    stops: Callable[[Floats], Bools]
    chooses: Callable[[Floats], Integers]


def _last(loss: Floats) -> Integers:
    return np.full(loss.shape, len(FACTORS) - 1)


def _by_loss(loss: Floats) -> Integers:
    return np.abs(10.0 * loss).astype(np.int64) % len(FACTORS)


ADVERSARIES = {
    "never stops, and takes all that is left": Adversary(lambda loss: loss > np.inf, _last),
    "stops when lucky": Adversary(lambda loss: loss > 0.5, _by_loss),
    "stops when unlucky": Adversary(lambda loss: loss < 0.0, _by_loss),
}


class Transcripts(NamedTuple):
    """Chances of transcripts on both tables, as logarithms; what their parts cost, and with what they were charged."""

    on_table: Floats
    on_neighbor: Floats
    costs: tuple[Cost, ...]


def _stopping(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """Parts below a ceiling, under rules of stopping and of what comes next that look at the privacy loss."""
    del effort
    return [
        _of_adversary(name, adversary, Terms(0.9, epsilon, DELTA if is_concentrated else 0.0, is_concentrated))
        for is_concentrated in (True, False)
        for name, adversary in ADVERSARIES.items()
    ]


def _of_adversary(name: str, adversary: Adversary, terms: Terms) -> Evidence:
    ended, going = list[Transcripts](), [Transcripts(np.zeros(1), np.zeros(1), ())]
    for _ in range(MOST[terms.is_concentrated]):
        going = [each for before in going for each in _gone_on(before, adversary, terms, ended)]
    ended += going
    on_table, on_neighbor = (
        np.concatenate([getattr(each, side) for each in ended]) for side in ("on_table", "on_neighbor")
    )
    shown = (
        loss_at_delta(np.exp(on_table), np.exp(on_neighbor), terms.delta)
        if terms.delta
        else float(np.abs(on_table - on_neighbor).max())
    )
    accounting = f"rho adds up, at delta {DELTA:g}" if terms.is_concentrated else "epsilon adds up"
    return Evidence(
        subject="parts below a ceiling",
        case=f"an adversary {name}; {accounting}",
        claim="workflow/paid_parts.privacy.md",
        neighboring="-",
        epsilon=terms.at_most,
        delta=terms.delta,
        shown=shown,
        how="law",
        n_draws=0,
        fault="" if abs(np.exp(on_table).sum() - 1.0) < 1e-6 else "transcripts do not add up",
    )


def _gone_on(before: Transcripts, adversary: Adversary, terms: Terms, ended: list[Transcripts]) -> list[Transcripts]:
    """Return what goes on, by the factor that the loss chooses; what stops is added to what has ended."""
    loss = before.on_table - before.on_neighbor
    is_over = adversary.stops(loss) if before.costs else np.zeros(1, dtype=np.bool_)
    choice = adversary.chooses(loss)
    further = list[Transcripts]()
    for at, factor in enumerate(FACTORS):
        chosen = ~is_over & (choice == at)
        part = _part(terms, before.costs, factor) if chosen.any() else None
        if part is None:
            is_over = is_over | chosen
            continue
        cost, law = part
        on_table, on_neighbor = (
            (side[chosen][:, None] + each).ravel()
            for side, each in zip((before.on_table, before.on_neighbor), law, strict=True)
        )
        further.append(Transcripts(on_table, on_neighbor, (*before.costs, cost)))
    ended.append(Transcripts(before.on_table[is_over], before.on_neighbor[is_over], before.costs))
    return further


def _part(terms: Terms, costs: tuple[Cost, ...], factor: Fraction | None) -> tuple[Cost, tuple[Floats, Floats]] | None:
    """Return the next part's charge and its laws on both tables; None where the filter ends."""
    amount = terms.next_amount(costs, None, factor)
    if amount is None:
        return None
    event: Event = GaussianEvent(amount, Fraction(0)) if terms.is_concentrated else EllipsoidEvent(amount)
    cost = Cost.of(Fraction(0) if terms.is_concentrated else amount, Fraction(0), event)
    if not terms.holds([*costs, cost]):
        return None
    if not terms.is_concentrated:
        law = np.log(expit(float(amount) * np.array([1.0, -1.0])))
        return cost, (law, law[::-1])
    move = (2.0 * float(amount)) ** 0.5  # rho = move^2 / 2
    return cost, (_intervals(0.0), _intervals(move))


def _intervals(mean: float) -> Floats:
    """Logarithms of the chances of the intervals, from the nearer tail each: nothing is lost beside 1."""
    low, high = EDGES[:-1] - mean, EDGES[1:] - mean
    chances = np.where(low > 0.0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return np.asarray(np.log(chances), dtype=np.float64)


CHECKS = (_stopping,)
