"""Budgets as pages show them: what is left for whom, and pictures of it in plain numbers for a template."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from discreet.errors import BudgetError, NotFoundError
from discreet_service.pages.visit import Visit
from discreet_service.schemas import AllotmentOut, BudgetOut, EntryOut
from discreet_service.use_cases import datasets

MOST_DRAWN = 5000
"""A picture shows at most so many entries of the ledger, the newest."""

_CAPS = ("grant", "allot")


@dataclass(frozen=True)
class RemainingBudget:
    """What a request may spend: of the data set, and of the allotment of its project."""

    budget: BudgetOut
    allotment: AllotmentOut | None

    @property
    def left(self) -> float:
        """Epsilon that the request may still cost, in nats."""
        amounts = [self.budget.epsilon_left] + ([] if self.allotment is None else [self.allotment.epsilon_left])
        return min(amounts)

    def covers(self, epsilon: float) -> bool:
        """Tell whether a cost is within what is left; True under zCDP, where the ledger alone can tell."""
        # Both are doubles of exact fractions: equality may miss by a rounding, and the ledger decides exactly.
        return self.budget.accounting != "basic" or epsilon <= self.left * (1 + 1e-12)


def budget_of(visit: Visit, dataset: str) -> BudgetOut | None:
    """Return a data set's account; None when it has no cap yet, or is not open to them any more."""
    try:
        return datasets.budget(visit.context, visit.who, dataset)
    except (BudgetError, NotFoundError):
        return None


def remaining_budget(visit: Visit, dataset: str, project: str) -> RemainingBudget | None:
    """Return what a request of a project may spend; None when the data set has no cap yet."""
    budget = budget_of(visit, dataset)
    if budget is None:
        return None
    return RemainingBudget(
        budget, next((allotment for allotment in budget.allotments if allotment.project == project), None)
    )


@dataclass(frozen=True)
class Timeline:
    """What was spent over time, as a picture 1000 wide and 100 high."""

    spent: str  # points of the line
    filled: str  # points of the area below it
    currency: str  # "epsilon" or "rho"
    total: float  # where the line ends
    cap: float  # the picture's top
    first: str  # time of the left end
    last: str  # time of the right end


def timeline(budget: BudgetOut, entries: Sequence[EntryOut], until: str) -> Timeline | None:
    """Return a picture of what was spent of a cap over time; None when nothing was ever spent."""
    is_rho = budget.accounting != "basic"
    spent, cap = (budget.rho_spent, budget.rho_cap) if is_rho else (budget.epsilon_spent, budget.epsilon_cap)
    steps = [
        (entry.time, (entry.rho or 0.0) if is_rho else entry.epsilon) for entry in entries if entry.kind not in _CAPS
    ]
    if not any(amount for _, amount in steps) or cap <= 0:
        return None
    first, last = entries[-1].time, max(until, entries[0].time)
    total = spent - sum(amount for _, amount in steps)  # before the oldest entry that is looked at
    points = [(0.0, total)]
    for time, amount in reversed(steps):
        if amount:
            points += [(_share(first, time, last), total), (_share(first, time, last), total + amount)]
            total += amount
    points.append((1.0, total))
    drawn = " ".join(f"{1000 * x:.1f},{100 - 98 * min(1.0, y / cap):.2f}" for x, y in points)
    return Timeline(drawn, f"0,100 {drawn} 1000,100", "rho" if is_rho else "epsilon", total, cap, first, last)


def _share(first: str, time: str, last: str) -> float:
    start, at, end = (datetime.fromisoformat(moment).timestamp() for moment in (first, time, last))
    return (at - start) / (end - start) if end > start else 1.0
