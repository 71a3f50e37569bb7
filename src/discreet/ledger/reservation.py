"""A reserved cost: taken from the budget before the data are opened."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from sqlalchemy import Connection

from discreet.accounting.events import Event
from discreet.accounting.guarantee import Guarantee
from discreet.ledger.costs import Amounts, cost_of
from discreet.ledger.records import Account

Within = Callable[[Connection], None]
"""The caller's own part of a transaction: stands together with the ledger's, or not at all."""


@dataclass(frozen=True)
class Reservation:
    """A cost that stands in the ledger, and the steps it can take from there.

    Parameters
    ----------
    entry : int
        Its place in the ledger.
    head : str
        Hash of the chain after it.
    account : Account
        The data set's account after it.
    rho : Fraction
        Under zCDP what it costs, else 0.
    _amounts : dict
        What was reserved, in grains.
    _move : callable
        The ledger's own: takes a step in one transaction.

    Notes
    -----
    RESERVED -> TOUCHED -> RELEASED or LOST; RESERVED -> CANCELLED. Any other step raises `BudgetError`.
    Each step is one transaction, which `within` may take part in, as in `Ledger.reserve`.
    """

    entry: int
    head: str
    account: Account
    rho: Fraction
    _amounts: Amounts = field(repr=False, compare=False)
    _move: Callable[[int, str, str | None, Within | None], None] = field(repr=False, compare=False)

    def covers(self, guarantee: Guarantee, event: Event | None) -> bool:
        """Tell whether a computation's privacy cost is no more than what was reserved."""
        cost = cost_of(self.account.accounting, guarantee, event)
        return all((cost[name] or 0) <= (self._amounts[name] or 0) for name in cost)

    def touch(self, *, within: Within | None = None) -> None:
        """Record that the data are about to be opened: from here on the charge stands."""
        self._move(self.entry, "touch", None, within)

    def release(self, text: str, *, within: Within | None = None) -> None:
        """Store the release and record it, both or neither. Show it to nobody before this returns."""
        self._move(self.entry, "release", text, within)

    def lose(self, *, within: Within | None = None) -> None:
        """Record that the computation ended without a release; the charge stands."""
        self._move(self.entry, "lost", None, within)

    def cancel(self, *, within: Within | None = None) -> None:
        """Give the cost back; only while no byte of the data can have been read."""
        self._move(self.entry, "cancel", None, within)

    def close(self, text: str, *, within: Within | None = None) -> None:
        """Give back what was not drawn from a ceiling, and store what its parts came to, both or neither."""
        self._move(self.entry, "close", text, within)
