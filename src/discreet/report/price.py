"""What an event costs, read from its record."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet.report.words import at_most


@dataclass(frozen=True)
class Price:
    """A price in its three currencies, each added up over the parts.

    Parameters
    ----------
    epsilon : float
        Of the parts without Gaussian noise, in nats.
    rho : float
        Zero-concentrated, of the parts with Gaussian noise.
    delta : float
        Of the bounds that may fail.
    """

    epsilon: float = 0.0
    rho: float = 0.0
    delta: float = 0.0

    def __str__(self) -> str:
        amounts = [("epsilon", self.epsilon), ("rho", self.rho), ("delta", self.delta)]
        return ", ".join(f"{name} {at_most(value, 4)}" for name, value in amounts if value > 0) or "nothing"


def price(event: dict[str, Any] | None) -> Price:
    """Return what an event costs.

    The sums over its parts, the largest of each over groups of units or alternatives; zero for what cannot be read.
    """
    if not isinstance(event, dict):
        return Price()
    amounts = ("epsilon", "rho", "delta")
    if not isinstance(event.get("events"), list | tuple):
        return Price(*(_amount(event.get(name)) for name in amounts))
    parts = [price(part) for part in event["events"]] or [Price()]
    together = max if event.get("type") in ("ParallelEvent", "AlternativeEvent") else sum
    return Price(*(together(getattr(part, name) for part in parts) for name in amounts))


def parts_of(event: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the parts of an event that have noise."""
    return [part for part in _leaves(event) if part.get("type") != "FailureEvent"]


def groups_of(event: dict[str, Any] | None) -> list[int]:
    """Return how many parts with noise are on each of several disjoint groups of units; none where there are none."""
    is_of_groups = isinstance(event, dict) and event.get("type") == "ParallelEvent"
    parts = event.get("events") if is_of_groups and event is not None else None
    return [len(parts_of(group)) for group in parts] if isinstance(parts, list | tuple) else []


def _leaves(event: Any) -> Iterator[dict[str, Any]]:
    if isinstance(event, dict) and isinstance(event.get("events"), list | tuple):
        of_one = event.get("type") == "AlternativeEvent"
        for part in event["events"][:1] if of_one else event["events"]:
            yield from _leaves(part)
    elif isinstance(event, dict):
        yield event


def _amount(value: Any) -> float:
    try:
        amount = float(value)
    except (TypeError, ValueError):
        return 0.0
    return amount if amount > 0 and math.isfinite(amount) else 0.0
