"""The ledger: what each data set may spend, what it has spent, and on what."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection

from discreet.accounting.events import Event
from discreet.accounting.guarantee import Guarantee, Number
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import InvalidParameterError
from discreet.ledger import audit, books, chain, costs, postings, refusals, terms
from discreet.ledger.grains import RHO_GRAIN
from discreet.ledger.records import Account, Accounting, Entry, Verification
from discreet.ledger.reservation import Reservation
from discreet.ledger.store import Store


class Ledger:
    """The durable record of what each data set has spent, and its lifetime cap.

    Parameters
    ----------
    location : str, Path or None
        A file, or an SQLAlchemy URL of SQLite or PostgreSQL; created when it does not exist. None is the
        place that the environment variable DISCREET_LEDGER names, else ``discreet.sqlite`` in the user's data
        folder.

    Raises
    ------
    BudgetError
        When no ledger can be opened there: nothing is computed without one.

    Notes
    -----
    Every method is one transaction, on disk before it returns. Threads may share a ledger, and any number of
    processes may open the same one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/ledger.sqlite") as ledger:
    ...     ledger.grant("toy", 1).epsilon_left
    Fraction(1, 1)
    """

    def __init__(self, location: str | Path | None = None) -> None:
        self._store = Store(location)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database; nothing is pending, as every method commits."""
        self._store.close()

    @property
    def location(self) -> str:
        """Where the ledger is, as it was given, without a password."""
        return self._store.shown

    @property
    def head(self) -> str:
        """Hash of the last entry; 64 zeros while there is none."""
        with self._store.read() as connection:
            return chain.read_head(connection)[1]

    def grant(
        self,
        dataset: str,
        epsilon: Number,
        delta: Number = 0,
        *,
        unit: str | None = None,
        neighboring: NeighboringRelation | str | None = None,
        accounting: Accounting | str | None = None,
    ) -> Account:
        """Set a data set's lifetime cap, or change it; each change is an entry of its own.

        Parameters
        ----------
        dataset : str
            Its key in the ledger: all versions and samples of the same people share it.
        epsilon : float, int, str, Decimal or Fraction
            The new cap in nats, rounded down to whole grains of 1e-9.
        delta : float, int, str, Decimal or Fraction
            The new cap on delta, in [0, 1), rounded down to whole grains of 1e-18.
        unit : str or None
            Who is protected; fixed from then on. None leaves it to the first reservation.
        neighboring : NeighboringRelation, str or None
            The relation of all guarantees; fixed from then on. None leaves it to the first reservation.
        accounting : Accounting, str or None
            "basic" adds up epsilon and delta. "zcdp" adds up rho below the one that converts to this epsilon at nine
            tenths of this delta, and keeps a tenth for bounds that may fail. Fixed once something is spent. None keeps
            what the account has, at first "basic".

        Returns
        -------
        Account
            The account with the new cap.

        Raises
        ------
        InvalidParameterError
            When a value is outside its range, or the cap is below what is spent.
        BudgetError
            When the unit, the relation or the accounting is another than the account's, or the ledger cannot be
            reached.
        """
        kind = None if accounting is None else terms.check_accounting(accounting)
        relation = None if neighboring is None else terms.check_neighboring(neighboring)
        wanted = {
            "dataset": terms.check_dataset(dataset),
            "unit": None if unit is None else terms.check_unit(unit),
            "neighboring": None if relation is None else relation.value,
        }
        with self._store.write() as connection:
            chain.lock(connection)
            before = books.find_account(connection, dataset)
            kind = kind or (before.accounting if before else Accounting.BASIC)
            amounts = costs.cap_of(kind, epsilon, delta)
            if postings.set_cap(connection, wanted, relation, kind, amounts):
                chain.append(connection, kind="grant", **amounts, **wanted)
            return self._account(connection, dataset)

    def reserve(
        self,
        *,
        request: str,
        dataset: str,
        unit: str,
        neighboring: NeighboringRelation,
        guarantee: Guarantee,
        facts: dict[str, Any],
        event: Event | None = None,
    ) -> Reservation:
        """Take a cost from a data set's budget, before its data are opened.

        Parameters
        ----------
        request : str
            SHA-256 of the request, 64 hexadecimal digits.
        dataset : str
            The data set.
        unit : str
            Who is protected.
        neighboring : NeighboringRelation
            The relation, the same as the guarantee's.
        guarantee : Guarantee
            The most that the computation can cost; rounded up to whole grains.
        facts : dict
            Public facts of the request, nothing that the rows decide.
        event : Event or None
            What the computation does to the data, whose guarantee this is: it tells the rho that an account under zcdp
            is charged. None has a pure guarantee charged as the worst mechanism of its epsilon.

        Returns
        -------
        Reservation
            The cost, on disk and charged.

        Raises
        ------
        BudgetExceededError
            When it costs more than what is left.
        BudgetError
            When the data set has no cap, its unit or relation is another, or the ledger cannot be reached.
        InvalidParameterError
            When a parameter is malformed, or an account under zcdp needs an event.
        """
        relation = terms.check_neighboring(neighboring)
        if relation is not guarantee.neighboring:
            raise InvalidParameterError(
                f"A guarantee must be under the relation of its request, neighboring={relation.value}, but "
                f"it is under {guarantee.neighboring.value}. Compute it under the relation in the metadata."
            )
        values: dict[str, Any] = {
            "dataset": terms.check_dataset(dataset),
            "request": terms.check_request(request),
            "unit": terms.check_unit(unit),
            "neighboring": relation.value,
            "facts": terms.check_facts(facts),
        }
        with self._store.write() as connection:
            chain.lock(connection)
            account = books.find_account(connection, dataset)
            if account is None:
                raise refusals.no_cap(self._store, dataset, guarantee)
            refusals.check_terms(account, unit, relation)
            cost = costs.cost_of(account.accounting, guarantee, event)
            values |= cost
            if not postings.charge(connection, account.accounting, values):
                raise refusals.exceeded(self._store, account, guarantee, cost)
            entry, head = chain.append(connection, kind="reserve", **values)
            return Reservation(
                entry, head, self._account(connection, dataset), (cost["rho"] or 0) * RHO_GRAIN, self._move
            )

    def stored(self, request: str) -> str | None:
        """Return the newest release of a request; asking again is free.

        Parameters
        ----------
        request : str
            SHA-256 of the request.

        Returns
        -------
        str or None
            The text that was stored; None when there is none.

        Raises
        ------
        VerificationError
            When the text is not the one that was recorded.
        """
        with self._store.read() as connection:
            return books.newest_release(connection, terms.check_request(request))

    def recorded(self, entry: int) -> str | None:
        """Return the release that a reservation ended with.

        Parameters
        ----------
        entry : int
            Place of the reserve entry, as the release shows it.

        Returns
        -------
        str or None
            The text that was stored; None when there is none.

        Raises
        ------
        VerificationError
            When the text is not the one that was recorded.
        """
        with self._store.read() as connection:
            return books.release_of(connection, entry)

    def recover(self, older_than_s: float | None) -> list[int]:
        """Mark computations that will never end as lost; their charge stands.

        Parameters
        ----------
        older_than_s : float or None
            Only those whose data were opened at least so long ago, in seconds. None takes all of them: for
            when nobody else is computing. A computation that still runs would end without its release.

        Returns
        -------
        list of int
            The reserve entries that are now lost.

        Raises
        ------
        InvalidParameterError
            When the age is negative or no number.
        """
        if older_than_s is not None and not older_than_s >= 0:
            raise InvalidParameterError(
                f"older_than_s must be 0 or more, but older_than_s={older_than_s}. Give seconds, or None for all."
            )
        with self._store.write() as connection:
            chain.lock(connection)
            lost = postings.touched_before(connection, older_than_s)
            for entry in lost:
                postings.step(connection, entry, "lost", None)
            return lost

    def account(self, dataset: str) -> Account:
        """Return the account of one data set.

        Parameters
        ----------
        dataset : str
            The data set.

        Returns
        -------
        Account
            As it stands.

        Raises
        ------
        BudgetError
            When it has no lifetime cap; the text gives the command that sets one.
        """
        with self._store.read() as connection:
            return self._account(connection, terms.check_dataset(dataset))

    def accounts(self) -> list[Account]:
        """Return the accounts of all data sets.

        Returns
        -------
        list of Account
            By name.
        """
        with self._store.read() as connection:
            return books.all_accounts(connection)

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Return the entries in the order in which they were made.

        Parameters
        ----------
        dataset : str or None
            Only this data set's.

        Returns
        -------
        list of Entry
            From the first to the last.
        """
        with self._store.read() as connection:
            return books.all_entries(connection, None if dataset is None else terms.check_dataset(dataset))

    def verify(self, heads: Iterable[str] = ()) -> Verification:
        """Recompute the chain, the accounts and the releases' digests, and compare.

        Parameters
        ----------
        heads : iterable of str
            Heads that releases show: one that is not in the chain tells of a restored backup.

        Returns
        -------
        Verification
            What was checked.

        Raises
        ------
        VerificationError
            At the first entry that does not fit.
        """
        with self._store.write() as connection:
            return audit.audit(connection, heads)

    def _account(self, connection: Connection, dataset: str) -> Account:
        account = books.find_account(connection, dataset)
        if account is None:
            raise refusals.no_cap(self._store, dataset)
        return account

    def _move(self, entry: int, kind: str, text: str | None) -> None:
        with self._store.write() as connection:
            chain.lock(connection)
            postings.step(connection, entry, kind, text)
