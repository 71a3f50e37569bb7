"""Where a data set's account stood after a release, in the currency that the account adds up."""

from dataclasses import dataclass
from typing import Literal

from discreet.release import LedgerRecord
from discreet.report.words import at_least, number, thousands


@dataclass(frozen=True)
class Standing:
    """What was spent of a lifetime cap; `worth` is what a cap on rho stands for, in words, else None."""

    currency: Literal["epsilon", "rho"]
    spent: float
    cap: float
    worth: str | None

    @property
    def left(self) -> float:
        """What can still be spent."""
        return max(0.0, self.cap - self.spent)


def standing(ledger: LedgerRecord) -> Standing:
    """Return where an account stood.

    In rho for an account under zCDP. Of its epsilon only the cap's is told: the one of a running rho is no bound.
    """
    if ledger.accounting == "basic" or ledger.rho_spent is None or ledger.rho_cap is None:
        return Standing("epsilon", ledger.epsilon_spent, ledger.epsilon_cap, None)
    at = "" if ledger.delta_cap is None else f" at delta {number(ledger.delta_cap)}"
    return Standing("rho", ledger.rho_spent, ledger.rho_cap, f"epsilon {thousands(at_least(ledger.epsilon_cap))}{at}")
