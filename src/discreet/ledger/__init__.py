"""The durable record of what each data set has spent, and its lifetime cap."""

from discreet.ledger.ledger import Ledger
from discreet.ledger.records import MEANINGS, OUTCOMES, Account, Accounting, Allotment, Entry, Verification
from discreet.ledger.reservation import Reservation

__all__ = [
    "MEANINGS",
    "OUTCOMES",
    "Account",
    "Accounting",
    "Allotment",
    "Entry",
    "Ledger",
    "Reservation",
    "Verification",
]
