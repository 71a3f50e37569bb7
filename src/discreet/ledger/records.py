"""What the ledger holds, as values."""

from dataclasses import dataclass, fields
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.zcdp import pure_of_rho


class Accounting(StrEnum):
    """What of a data set's releases adds up below its cap.

    Notes
    -----
    ``BASIC``: epsilon and delta. ``ZCDP``: rho, and the probability that a bound fails; the cap on rho is the one that
    converts to the cap on epsilon at the cap on delta.
    """

    BASIC = "basic"
    ZCDP = "zcdp"

    def __repr__(self) -> str:
        return repr(self.value)


class Sums:
    """The remaining budget of an account or an allotment; numbers are exact, and shown as decimals."""

    accounting: Accounting
    epsilon_cap: Fraction
    epsilon_spent: Fraction
    delta_cap: Fraction
    delta_spent: Fraction
    rho_cap: Fraction
    rho_spent: Fraction
    failure_cap: Fraction
    failure_spent: Fraction

    def __repr__(self) -> str:
        values = ((field.name, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]
        fields_shown = (
            f"{name}={f'{float(value):.12g}' if isinstance(value, Fraction) else repr(value)}" for name, value in values
        )
        return f"{type(self).__name__}({', '.join(fields_shown)})"

    @property
    def epsilon_left(self) -> Fraction:
        """Epsilon that can still be spent, in nats; under zCDP by a pure request of any kind, many take less."""
        if self.accounting is Accounting.ZCDP:
            return pure_of_rho(self.rho_left)
        return self.epsilon_cap - self.epsilon_spent

    @property
    def delta_left(self) -> Fraction:
        """Delta that can still be spent; under zCDP by bounds that may fail, as Gaussian noise spends none."""
        if self.accounting is Accounting.ZCDP:
            return self.failure_cap - self.failure_spent
        return self.delta_cap - self.delta_spent

    @property
    def rho_left(self) -> Fraction:
        """Rho that can still be spent."""
        return self.rho_cap - self.rho_spent

    @property
    def share_spent(self) -> Fraction:
        """Part of the cap that is spent, in [0, 1]: of rho under zCDP, else of epsilon."""
        spent, cap = (self.epsilon_spent, self.epsilon_cap)
        if self.accounting is Accounting.ZCDP:
            spent, cap = (self.rho_spent, self.rho_cap)
        return spent / cap if cap else Fraction(1)


@dataclass(frozen=True, repr=False)
class Account(Sums):
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
        In nats. Under zCDP what was spent is the sum while the sums of epsilon and delta are below their caps, and the
        cap from then on: both are bounds that hold at any time, which the running rho, converted, would not be.
    delta_cap, delta_spent : Fraction
        Probabilities, in the same way.
    n_releases : int
        Number of releases recorded.
    accounting : Accounting
        What adds up.
    rho_cap, rho_spent : Fraction
        Under zCDP, else 0.
    failure_cap, failure_spent : Fraction
        Under zCDP the part of delta for bounds that may fail, else 0.
    """

    dataset: str
    unit: str | None
    neighboring: NeighboringRelation | None
    epsilon_cap: Fraction
    epsilon_spent: Fraction
    delta_cap: Fraction
    delta_spent: Fraction
    n_releases: int
    accounting: Accounting = Accounting.BASIC
    rho_cap: Fraction = Fraction(0)
    rho_spent: Fraction = Fraction(0)
    failure_cap: Fraction = Fraction(0)
    failure_spent: Fraction = Fraction(0)


@dataclass(frozen=True, repr=False)
class Allotment(Sums):
    """What one project may spend of a data set's cap, and has spent: a ceiling inside the cap, not a share set aside.

    Parameters
    ----------
    dataset, project : str
        Their names in the ledger.
    epsilon_cap, epsilon_spent : Fraction
        In nats; as in `Account`.
    delta_cap, delta_spent : Fraction
        Probabilities.
    accounting : Accounting
        What adds up, the same as for the data set.
    rho_cap, rho_spent : Fraction
        Under zCDP, else 0.
    failure_cap, failure_spent : Fraction
        Under zCDP the part of delta for bounds that may fail, else 0.
    """

    dataset: str
    project: str
    epsilon_cap: Fraction
    epsilon_spent: Fraction
    delta_cap: Fraction
    delta_spent: Fraction
    accounting: Accounting
    rho_cap: Fraction
    rho_spent: Fraction
    failure_cap: Fraction
    failure_spent: Fraction


MEANINGS = {
    "grant": "cap set",
    "allot": "allotment set",
    "reserve": "budget reserved",
    "touch": "rows opened",
    "release": "released",
    "lost": "ended without a release",
    "cancel": "given back",
    "reconcile": "charged again",
}
"""What a kind of entry tells, in plain English."""

OUTCOMES = {
    "reserved": "no row opened yet",
    "touched": "rows opened, no release yet",
    "released": "released",
    "lost": "rows opened, no release",
    "cancelled": "given back",
}
"""What became of a reservation, in plain English."""


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
        "grant", "allot", "reserve", "touch", "release", "lost", "cancel" or "reconcile".
    dataset : str
        The data set it concerns.
    project : str or None
        Whose allotment it concerns too.
    request : str or None
        Digest of the request; None where there is none.
    reservation : int or None
        The reserve entry that it moves on; None for an entry of any other kind.
    unit : str or None
        Who is protected, where the entry says so.
    neighboring : NeighboringRelation or None
        The relation, where the entry says so.
    epsilon, delta : Decimal
        For a grant or an allotment the new cap. Else what it adds to the sum spent: the cost when reserved or
        reconciled, its negative when cancelled, 0 otherwise.
    rho, failure : Decimal or None
        The same under zCDP; None where nothing of the kind is added.
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
    project: str | None
    request: str | None
    reservation: int | None
    unit: str | None
    neighboring: NeighboringRelation | None
    epsilon: Decimal
    delta: Decimal
    rho: Decimal | None
    failure: Decimal | None
    facts: dict[str, Any]
    hash: str
    state: str | None

    @property
    def meaning(self) -> str:
        """What happened, in plain English."""
        return MEANINGS[self.kind]

    @property
    def outcome(self) -> str:
        """What became of a reservation, in plain English; empty for an entry of any other kind."""
        return "" if self.state is None else OUTCOMES[self.state]


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
