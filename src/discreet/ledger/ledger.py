"""The ledger: what each data set may spend, what it has spent, and on what."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from discreet.accounting.events import Event
from discreet.accounting.guarantee import Guarantee, Number
from discreet.accounting.neighbors import NeighboringRelation
from discreet.database import waiting
from discreet.errors import InvalidParameterError
from discreet.ledger import ceilings, chain, costs, postings, queries, refusals, sums, terms
from discreet.ledger.charges import charge_of, charges_of
from discreet.ledger.grains import RHO_GRAIN
from discreet.ledger.reader import Reader
from discreet.ledger.reconcile import reconcile
from discreet.ledger.records import Account, Accounting, Allotment, Entry
from discreet.ledger.reservation import Reservation, Within
from discreet.ledger.witness import Witness
from discreet.release import Release


class Ledger(Reader):
    """The durable record of what each data set has spent, and its lifetime cap.

    Parameters
    ----------
    location : str, Path or None
        A file, or an SQLAlchemy URL of SQLite or PostgreSQL; created when it does not exist. None is the
        place that the environment variable DISCREET_LEDGER names, else ``discreet.sqlite`` in the user's data
        folder.
    pooled : bool
        Keep connections open between transactions, for a process that serves for long and never forks.
    witness : str, Path or None
        A file outside the database's backups, to which every entry is written before the method that made it returns;
        created with a new ledger, which records where it lies. It tells an older copy of the ledger from the newest.
        None is the one that the environment variable DISCREET_WITNESS names, else the one that the ledger records,
        else the one that this user's state folder remembers.
    new_witness : bool
        Tell a witness that is empty or not there all that the ledger holds, and record it. Without this, such a witness
        is refused for a ledger that has entries: its disk may be missing, and an older copy would pass for the newest.
    is_restored : bool
        Open a ledger that is older than its witness, to reconcile it: until then it takes caps, and no charge.

    Raises
    ------
    BudgetError
        When no ledger can be opened there, or the witness cannot be written or has seen nothing of the ledger, or
        another one that is remembered is out of reach: nothing is computed without them.
    VerificationError
        When a witness that is known saw entries that the ledger does not hold: a backup was put back.

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

    def __init__(
        self,
        location: str | Path | None = None,
        *,
        pooled: bool = False,
        witness: str | Path | None = None,
        new_witness: bool = False,
        is_restored: bool = False,
    ) -> None:
        super().__init__(location, pooled=pooled, witness=witness)
        try:
            self._witnesses.open(is_new=new_witness, is_restored=is_restored)
        except BaseException:
            self.close()
            raise

    def grant(
        self,
        dataset: str,
        epsilon: Number,
        delta: Number | None = None,
        *,
        unit: str | None = None,
        neighboring: NeighboringRelation | str | None = None,
        accounting: Accounting | str | None = None,
        within: Within | None = None,
    ) -> Account:
        """Set a data set's lifetime cap, or change it; each change is an entry of its own.

        Parameters
        ----------
        dataset : str
            Its key in the ledger: all versions and samples of the same people share it.
        epsilon : float, int, str, Decimal or Fraction
            The new cap in nats, rounded down to whole grains of 1e-9.
        delta : float, int, str, Decimal, Fraction or None
            The new cap on delta, in [0, 1), rounded down to whole grains of 1e-18. None keeps the present one; a first
            cap has 0, and then no request that needs a delta can be paid.
        unit : str or None
            Who is protected; fixed from then on. None leaves it to the first reservation.
        neighboring : NeighboringRelation, str or None
            The relation of all guarantees; fixed from then on. None leaves it to the first reservation.
        accounting : Accounting, str or None
            "basic" adds up epsilon and delta. "zcdp" adds up rho below the one that converts to this epsilon at nine
            tenths of this delta, and keeps a tenth for bounds that may fail. Fixed once something is spent. None keeps
            what the account has, at first "basic".
        within : callable or None
            The caller's own part of the transaction, as in `reserve`.

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
        account_terms = {
            "dataset": terms.check_dataset(dataset),
            "unit": None if unit is None else terms.check_unit(unit),
            "neighboring": None if relation is None else relation.value,
        }
        with self._writing(within, spends=False) as connection:
            before = queries.find_account(connection, dataset)
            kind = kind or (before.accounting if before else Accounting.BASIC)
            amounts = costs.cap_of(kind, epsilon, terms.delta_cap(delta, before))
            if postings.set_cap(connection, account_terms, relation, kind, amounts):
                chain.append(connection, kind="grant", **amounts, **account_terms)
            return self._account(connection, dataset)

    def allot(
        self, dataset: str, project: str, epsilon: Number, delta: Number | None = None, *, within: Within | None = None
    ) -> Allotment:
        """Set what a project may spend of a data set's cap, or change it; each change is an entry of its own.

        Parameters
        ----------
        dataset : str
            The data set; it has a cap.
        project : str
            The project.
        epsilon : float, int, str, Decimal or Fraction
            The ceiling in nats, at most the cap; rounded down to whole grains.
        delta : float, int, str, Decimal, Fraction or None
            The ceiling on delta, in [0, 1), at most the cap; rounded down to whole grains. None as in `grant`.
        within : callable or None
            The caller's own part of the transaction, as in `reserve`.

        Returns
        -------
        Allotment
            The project's sums under the new ceiling.

        Raises
        ------
        InvalidParameterError
            When a value is outside its range, above the cap, or below what the project spent.
        BudgetError
            When the data set has no cap, or the ledger cannot be reached.

        Notes
        -----
        A ceiling, not a share set aside: the sum over projects may be above the cap, which holds in any case. Under
        zcdp it converts as the cap does.
        """
        terms.check_dataset(dataset)
        terms.check_project(project)
        with self._writing(within, spends=False) as connection:
            account = self._account(connection, dataset)
            before = queries.find_allotment(connection, dataset, project)
            amounts = costs.cap_of(account.accounting, epsilon, terms.delta_cap(delta, before))
            if postings.set_allotment(connection, account, project, amounts):
                chain.append(connection, kind="allot", dataset=dataset, project=project, **amounts)
            return refusals.check_allotted(
                self._store, account, queries.find_allotment(connection, dataset, project), project
            )

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
        project: str | None = None,
        ceiling: str | None = None,
        within: Within | None = None,
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
        project : str or None
            Who asks: its allotment is charged together with the account.
        ceiling : str or None
            The request of a reservation that stands: the cost is drawn from what that one holds, which stands for the
            rest. `Reader.held` finds it; cancelling it gives back what was not drawn.
        within : callable or None
            Called with the connection once the entry is written, in the same transaction: what it writes stands
            together with the charge, and whatever it raises undoes both. It may open no transaction of its own.

        Returns
        -------
        Reservation
            The cost, on disk and charged.

        Raises
        ------
        BudgetExceededError
            When it costs more than what is left of the cap, of the project's allotment, or of the ceiling.
        BudgetError
            When the data set has no cap or the project no allotment, the unit or relation is another, or the ledger
            cannot be reached.
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
            "project": None if project is None else terms.check_project(project),
            "request": terms.check_request(request),
            "unit": terms.check_unit(unit),
            "neighboring": relation.value,
            "facts": terms.check_facts(facts),
        }
        with self._writing(within) as connection:
            account = self._account(connection, dataset, guarantee)
            refusals.check_terms(account, unit, relation)
            values |= costs.cost_of(account.accounting, guarantee, event)
            if ceiling is not None:
                ceilings.draw(self._store, connection, account, terms.check_request(ceiling), values)
            postings.charge(self._store, connection, account, values)
            chain.append(connection, kind="reserve", **values)
            return self._reservation(connection, chain.read_head(connection)[0])

    def reservation(self, entry: int) -> Reservation:
        """Return a handle on a cost that was reserved before, by any process.

        Parameters
        ----------
        entry : int
            Place of the reserve entry.

        Returns
        -------
        Reservation
            With the account as it stands now; `state` tells which steps it can still take.

        Raises
        ------
        BudgetError
            When the ledger has no such reserve entry.
        """
        with self._store.read() as connection:
            return self._reservation(connection, entry)

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
        with self._writing() as connection:
            lost = postings.touched_before(connection, older_than_s)
            for entry in lost:
                postings.step(connection, entry, "lost", None)
            return lost

    def reconcile(self, witness: str | Path | None = None, *, releases: Iterable[Release] = ()) -> list[Entry]:
        """Charge again what was charged after the copy that was put back: restoring a backup restores no budget.

        Parameters
        ----------
        witness : str, Path or None
            The file that saw the entries.
        releases : iterable of Release
            Releases that were charged, for when there is no witness.

        Returns
        -------
        list of Entry
            Those made: one for each charge, and one without request or cost for each data set of which something else
            was lost. None when nothing was, so that it may be called twice.

        Raises
        ------
        BudgetError
            When the caps do not hold what was lost; the text gives the command that makes room. Nothing is charged
            then.
        VerificationError
            When the witness is damaged.
        InvalidParameterError
            When it cannot be read, or a release was charged to no ledger.

        Notes
        -----
        A charge that was given back is left out; one whose data were opened is charged even where the restored copy
        gives it back, and can no longer be given back where it stands. Caps and allotments that were set since are
        named, not set: that is the owner's.

        References
        ----------
        Privacy specification 7.3.5.
        """
        lines = [] if witness is None else Witness(witness).lines()
        charges = [*map(charge_of, releases), *charges_of(lines)]
        with self._writing(spends=False) as connection:
            last, _ = chain.read_head(connection)
            reconcile(self._store, connection, charges, lines)
            new_entries = queries.all_entries(connection, None)[last:]
            return [entry for entry in new_entries if entry.kind == "reconcile"]

    def _reservation(self, connection: Connection, entry: int) -> Reservation:
        row, _ = queries.find_reservation(connection, entry)
        account = self._account(connection, row["dataset"])
        amounts = {name: row[name] for name in ("epsilon", "delta", "rho", "failure")}
        return Reservation(entry, row["hash"], account, (row["rho"] or 0) * RHO_GRAIN, amounts, self._move)

    def _move(self, entry: int, kind: str, text: str | None, within: Within | None) -> None:
        with self._writing(within) as connection:
            if kind == "close":
                ceilings.close(connection, entry, str(text))
            else:
                postings.step(connection, entry, kind, text)

    @contextmanager
    def _writing(self, within: Within | None = None, *, spends: bool = True) -> Iterator[Connection]:
        """Hold the end of the chain; the caller's own part is the last of the transaction, the witness follows it."""
        self._witnesses.check_writable()
        with self._store.write() as connection:
            # The chain's end is locked first by every writer, so that no two wait for each other.
            with waiting(self._store.awaited):
                last, digest = chain.lock(connection)
            if spends:
                sums.check_end(connection, last, digest)
                self._witnesses.check_newest(connection, last)
            yield connection
            if within is not None:
                within(connection)
            lines = self._witnesses.new_lines(connection, last)
        # After the commit: a witness that knew an entry which was undone would refuse a sound ledger.
        self._witnesses.tell(lines)
