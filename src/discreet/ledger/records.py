"""What the ledger tells of itself, as values."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.accounting.neighbors import NeighboringRelation


@dataclass(frozen=True)
class Account:
    """What one data set may spend in its lifetime, and has spent.

    Parameters
    ----------
    dataset : str
        Its name in the ledger.
    unit : str or None
        Who is protected; None until a grant or the first reservation fixes it.
    neighboring : NeighboringRelation or None
        The relation of its guarantees; None until fixed.
    epsilon_cap, epsilon_spent : Fraction
        In nats.
    delta_cap, delta_spent : Fraction
        Probabilities.
    n_releases : int
        Number of releases recorded.
    """

    dataset: str
    unit: str | None
    neighboring: NeighboringRelation | None
    epsilon_cap: Fraction
    epsilon_spent: Fraction
    delta_cap: Fraction
    delta_spent: Fraction
    n_releases: int

    @property
    def epsilon_left(self) -> Fraction:
        """Epsilon that can still be spent, in nats."""
        return self.epsilon_cap - self.epsilon_spent

    @property
    def delta_left(self) -> Fraction:
        """Delta that can still be spent."""
        return self.delta_cap - self.delta_spent


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    Parameters
    ----------
    seq : int
        Its place, from 1, without gaps.
    time : str
        UTC in ISO 8601, to the second.
    kind : str
        "grant", "reserve", "touch", "release", "lost" or "cancel".
    dataset : str
        The data set it concerns.
    request : str or None
        Digest of the request; None for a grant.
    reservation : int or None
        The reserve entry that it moves on; None for a grant and for a reserve entry itself.
    unit : str or None
        Who is protected, where the entry says so.
    neighboring : NeighboringRelation or None
        The relation, where the entry says so.
    epsilon, delta : Decimal
        For a grant the new cap. Else what it adds to the sum spent: the cost when reserved, its negative when
        cancelled, 0 otherwise.
    facts : dict
        Public facts of the request.
    hash : str
        Digest of the line and of all before it.
    state : str or None
        Of a reserve entry, what it is now: "reserved", "touched", "released", "lost" or "cancelled". The
        first two are open.
    """

    seq: int
    time: str
    kind: str
    dataset: str
    request: str | None
    reservation: int | None
    unit: str | None
    neighboring: NeighboringRelation | None
    epsilon: Decimal
    delta: Decimal
    facts: dict[str, Any]
    hash: str
    state: str | None


@dataclass(frozen=True)
class Verification:
    """What a ledger that fits holds.

    Parameters
    ----------
    n_entries, n_accounts, n_releases : int
        Numbers of lines, data sets and releases.
    head : str
        Hash of the last entry.
    """

    n_entries: int
    n_accounts: int
    n_releases: int
    head: str
