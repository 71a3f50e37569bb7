"""A reserved cost: taken from the budget before the data are opened."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.ledger.records import Account


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
    _move : callable
        The ledger's own: takes a step in one transaction.

    Notes
    -----
    RESERVED -> TOUCHED -> RELEASED or LOST; RESERVED -> CANCELLED. Any other step raises `BudgetError`.
    """

    entry: int
    head: str
    account: Account
    rho: Fraction
    _move: Callable[[int, str, str | None], None] = field(repr=False, compare=False)

    def touch(self) -> None:
        """Record that the data are about to be opened: from here on the charge stands.

        Raises
        ------
        BudgetError
            When it is not RESERVED, or the ledger cannot be reached.
        """
        self._move(self.entry, "touch", None)

    def release(self, text: str) -> None:
        """Store the release and record it, both or neither. Show it to nobody before this returns.

        Parameters
        ----------
        text : str
            The release as JSON.

        Raises
        ------
        BudgetError
            When it is not TOUCHED, or the ledger cannot be reached.
        """
        self._move(self.entry, "release", text)

    def lose(self) -> None:
        """Record that the computation ended without a release; the charge stands.

        Raises
        ------
        BudgetError
            When it is not TOUCHED, or the ledger cannot be reached.
        """
        self._move(self.entry, "lost", None)

    def cancel(self) -> None:
        """Give the cost back; only while no byte of the data can have been read.

        Raises
        ------
        BudgetError
            When it is not RESERVED, or the ledger cannot be reached.
        """
        self._move(self.entry, "cancel", None)
