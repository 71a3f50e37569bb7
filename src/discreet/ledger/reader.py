"""The side of a ledger that reads alone."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection

from discreet.accounting.guarantee import Guarantee
from discreet.database import say_awaited
from discreet.ledger import audit, ceilings, chain, queries, refusals, terms
from discreet.ledger.records import Account, Allotment, Entry, Verification
from discreet.ledger.store import Store
from discreet.ledger.witnesses import Witnesses
from discreet.notebook import card, table

HEAD = ("data set", "epsilon cap", "epsilon spent", "epsilon left", "delta left", "releases", "unit")


class Reader:
    """An open ledger, as far as it is read.

    Parameters
    ----------
    location : str, Path or None
        As `Ledger` takes it.
    pooled : bool
        As `Ledger` takes it.
    witness : str, Path or None
        As `Ledger` takes it.
    """

    def __init__(
        self, location: str | Path | None = None, *, pooled: bool = False, witness: str | Path | None = None
    ) -> None:
        self._store = Store(location, pooled=pooled)
        self._witnesses = Witnesses(self._store, witness)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.location}>"

    def _repr_html_(self) -> str:
        rows = [_shown_account(account) for account in self.accounts()]
        return card(
            f"Ledger {self.location}", table("What each data set may spend in its lifetime", HEAD, rows, range(1, 6))
        )

    def close(self) -> None:
        """Let go of the database; nothing is pending, as every method commits."""
        self._store.close()

    def joined(self, connection: Connection) -> Self:
        """Return this ledger as an open reading transaction on its database sees it: for reading alone."""
        ledger = copy(self)
        ledger._store = self._store.joined(connection)
        return ledger

    @property
    def location(self) -> str:
        """Where the ledger is, as it was given, without a password."""
        return self._store.shown

    @property
    def witness(self) -> Path | None:
        """The witness to which entries are written, if there is one."""
        return self._witnesses.path

    @property
    def head(self) -> str:
        """Hash of the last entry; 64 zeros while there is none."""
        with self._store.read() as connection:
            return chain.read_head(connection)[1]

    def stored(self, request: str) -> str | None:
        """Return the stored text of a request's newest release, or None; repeating a request is free."""
        with self._store.read() as connection:
            return queries.newest_release(connection, terms.check_request(request))

    @contextmanager
    def turn(self, request: str) -> Iterator[None]:
        """Let one process or thread at a time answer a request; whoever comes meanwhile waits, and is told so.

        The system holds the turn for the process, not an entry of the ledger: a process that dies makes nobody wait.
        """
        running = "The same request is running, and its release will be given again for free: waiting for it."
        with self._store.turn(terms.check_request(request), lambda: say_awaited(running)):
            yield

    def answered(self, request: str) -> int | None:
        """Return the reserve entry under which a request's newest release is recorded, or None."""
        with self._store.read() as connection:
            return queries.newest_answer(connection, terms.check_request(request))

    def state(self, entry: int) -> str:
        """Return a reservation's state: "reserved", "touched", "released", "lost" or "cancelled"."""
        with self._store.read() as connection:
            return chain.STATES[queries.find_reservation(connection, entry)[1]]

    def held(self, dataset: str, request: str) -> int | None:
        """Return the reserve entry that holds what may still be drawn of a ceiling; None where there is none."""
        with self._store.read() as connection:
            row = ceilings.standing(connection, terms.check_dataset(dataset), terms.check_request(request))
            return None if row is None else int(row["seq"])

    def last_entry(self, connection: Connection) -> int:
        """Return the place of the last entry, from 1; inside `within`, of the one that was just made."""
        return chain.read_head(connection)[0]

    def recorded(self, entry: int) -> str | None:
        """Return the stored text of the release that a reservation ended with, or None."""
        with self._store.read() as connection:
            return queries.release_of(connection, entry)

    def account(self, dataset: str) -> Account:
        """Return the account of one data set."""
        with self._store.read() as connection:
            return self._account(connection, terms.check_dataset(dataset))

    def accounts(self) -> list[Account]:
        """Return the accounts of all data sets, by name."""
        with self._store.read() as connection:
            return queries.all_accounts(connection)

    def allotments(self, dataset: str, projects: Collection[str] | None = None) -> list[Allotment]:
        """Return the allotments of a data set's cap, of some projects or of all, by the name of the project."""
        with self._store.read() as connection:
            return queries.find_allotments(connection, terms.check_dataset(dataset), projects)

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Return the entries in the order in which they were made."""
        with self._store.read() as connection:
            return queries.all_entries(connection, None if dataset is None else terms.check_dataset(dataset))

    def verify(self, heads: Iterable[str] = ()) -> Verification:
        """Recompute the chain, the accounts and the releases' digests, and compare."""
        with self._store.read() as connection:
            return audit.audit(connection, heads)

    def check_witness(self, witness: str | Path | None = None) -> None:
        """Check that the ledger still holds every entry that a witness saw."""
        self._witnesses.check(witness)

    def _account(self, connection: Connection, dataset: str, guarantee: Guarantee | None = None) -> Account:
        account = queries.find_account(connection, dataset)
        if account is None:
            refusals.check_alone(dataset, queries.alike(connection, dataset))
        return refusals.check_granted(self._store, account, dataset, guarantee)


def _shown_account(account: Account) -> tuple[str, ...]:
    figures = (account.epsilon_cap, account.epsilon_spent, account.epsilon_left, account.delta_left)
    return (
        account.dataset,
        *(f"{Decimal(f'{float(each):.6g}'):f}" for each in figures),
        str(account.n_releases),
        account.unit or "",
    )
