"""One request, straight down and back once: check, reserve, open, draw, record. The only place that joins them."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from discreet.data.engine import Table
from discreet.database import is_waiting
from discreet.errors import BudgetError, ComputationFailedError, ConflictError, PolicyError
from discreet.ledger import Account, Ledger, Reservation
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Method, Outcome, Preparation, Progress
from discreet.release import READ, Release
from discreet.workflow.delivery import AT_ONCE, Delivery, Step
from discreet.workflow.dry_runs import DryRun, candidates_asked
from discreet.workflow.priced_request import PricedRequest, price


@dataclass(frozen=True)
class Answer:
    """A release, and whether it came from the ledger's store, for free.

    Parameters
    ----------
    release : Release
        The release.
    stored : bool
        True when the same request had been answered before and nothing was charged.
    """

    release: Release
    stored: bool


Confirm = Callable[[DryRun, Account | None], None]
"""Called with the dry run and the account before anything is charged; raises to stop."""


def answer(
    method: Method,
    table: Table,
    target: str,
    candidates: Sequence[str] | None = None,
    *,
    ledger: Ledger | None = None,
    fresh: bool = False,
    rng: Source | None = None,
    progress: Progress | None = None,
    confirm: Confirm | None = None,
    chosen: dict[str, Any] | None = None,
    ceiling: Callable[[], str] | None = None,
) -> Answer:
    """Answer a request: from the store for free, or by reserving, computing and recording.

    Parameters
    ----------
    method : Method
        The parameters.
    table : Table
        The private table; its rows are not read before the budget is reserved.
    target : str
        The response.
    candidates : sequence of str, optional
        Columns that may be selected; default all declared ones but the target.
    ledger : Ledger, optional
        Where the charge is recorded. Without one the release says that it was not charged.
    fresh : bool
        Draw again, at full price, what the store could answer.
    rng : Source, optional
        A seeded source for tests: the release then carries no guarantee.
    progress : callable, optional
        Told of work whose length is public.
    confirm : callable, optional
        Called with the dry run and the account before anything is charged; may raise to stop.
    chosen : dict, optional
        How the method was chosen, from public facts; stands in the release.
    ceiling : callable, optional
        Called before a charge: the request of a reservation from which the cost is drawn.

    Returns
    -------
    Answer
        The release.

    Raises
    ------
    DiscreetError
        Before the data are opened, when something public does not fit; nothing is charged then.
    ComputationFailedError
        After, whatever the cause; the charge stands.

    Notes
    -----
    What is reserved is spent: a crash may cost budget, never grant it. Where the same request is running in another
    process or thread, this one waits for its release, and is charged only where there is none.

    References
    ----------
    Privacy specification 7.3 and 14 (answer).
    """
    source = rng or Source()
    is_system = type(source) is Source  # whoever overrides the words knows them
    priced = price(
        method,
        table.metadata,
        target,
        candidates_asked(method, table, target, candidates),
        name=table.name,
        locator=table.locator if table.rows_origin == READ else None,  # a copy of rows in memory is never the same
        rows_origin=table.rows_origin,
        is_system=is_system,
        chosen=chosen,
    )
    check_table(priced, table, charged=ledger is not None)
    if priced.guarantee is None:
        return _studied(priced, table, ledger, source, progress)
    if ledger is not None:
        return _charged(priced, table, ledger, fresh, source, progress, confirm, ceiling)
    if confirm is not None:
        confirm(priced, None)
    return Answer(priced.release(_computed(priced.prepared, table, source, progress), None), stored=False)


def check_table(priced: PricedRequest, table: Table, *, charged: bool) -> None:
    """Compare a table's header with a priced request, before anything is charged; no row is read.

    Parameters
    ----------
    priced : PricedRequest
        What is asked.
    table : Table
        The private table.
    charged : bool
        Whether a ledger is to be charged.

    Raises
    ------
    DataMismatchError
        When the table is not what was declared.
    """
    table.check(priced.prepared.columns)
    priced.prepared.check_table(table, charged)


def _charged(
    priced: PricedRequest,
    table: Table,
    ledger: Ledger,
    fresh: bool,
    source: Source,
    progress: Progress | None,
    confirm: Confirm | None,
    ceiling: Callable[[], str] | None,
) -> Answer:
    priced.check_charge()
    asks_anew = fresh or priced.locator is None
    stored = None if asks_anew else _stored(priced, ledger)
    if stored is not None:
        return stored
    if confirm is not None:
        confirm(priced, ledger.account(priced.metadata.dataset))
    if asks_anew:
        return Answer(_spend(priced, table, ledger, source, progress, ceiling), stored=False)
    with ledger.turn(priced.digest):
        # An equal request may have been answered since the first look.
        return _stored(priced, ledger) or Answer(_spend(priced, table, ledger, source, progress, ceiling), stored=False)


def _stored(priced: PricedRequest, ledger: Ledger) -> Answer | None:
    text = ledger.stored(priced.digest)
    return None if text is None else Answer(Release.from_json(text), stored=True)


def _spend(
    priced: PricedRequest,
    table: Table,
    ledger: Ledger,
    source: Source,
    progress: Progress | None,
    ceiling: Callable[[], str] | None,
) -> Release:
    reservation = None
    try:
        with _uninterrupted(waits=True):
            reservation = reserve(priced, ledger, ceiling=None if ceiling is None else ceiling())
        return fulfil(priced, table, reservation, source=source, progress=progress)
    except BaseException:
        with _uninterrupted(), suppress(BudgetError):  # a step later than this one cannot be cancelled
            if reservation is not None:
                reservation.cancel()
        raise


def reserve(
    priced: PricedRequest,
    ledger: Ledger,
    *,
    project: str | None = None,
    reference: str | None = None,
    ceiling: str | None = None,
    within: Step | None = None,
) -> Reservation:
    """Take the cost of a priced request from its data set's budget.

    Parameters
    ----------
    priced : PricedRequest
        What is asked.
    ledger : Ledger
        Charged before the data are opened.
    project : str, optional
        Whose allotment is charged too.
    reference : str, optional
        What a service calls the request; stands in the entry.
    ceiling : str, optional
        The request of a reservation from which the cost is drawn.
    within : callable, optional
        Changes further rows of the ledger's database in the same transaction.

    Returns
    -------
    Reservation
        On disk.

    Raises
    ------
    BudgetError
        When the ledger refuses.
    """
    priced.check_charge()
    facts = {**priced.public_request(), "discreet": version("discreet"), "rows_origin": priced.rows_origin}
    return ledger.reserve(
        request=priced.digest,
        dataset=priced.metadata.dataset,
        unit=priced.metadata.unit,
        neighboring=priced.metadata.neighboring,
        guarantee=priced.promised,
        facts=facts if reference is None else {**facts, "reference": reference},
        event=priced.prepared.event,
        project=project,
        ceiling=ceiling,
        within=within,
    )


def fulfil(
    priced: PricedRequest,
    table: Table,
    reservation: Reservation,
    *,
    source: Source | None = None,
    progress: Progress | None = None,
    delivery: Delivery = AT_ONCE,
) -> Release:
    """Open the rows for a reserved cost, draw, and record what came out.

    Parameters
    ----------
    priced : PricedRequest
        What is asked.
    table : Table
        The private table, whose header was checked.
    reservation : Reservation
        The cost; it must be RESERVED.
    source : Source, optional
        Where the noise comes from; default the system's entropy.
    progress : callable, optional
        Told of work whose length is public.
    delivery : Delivery
        When and with what else the outcome is recorded.

    Returns
    -------
    Release
        On disk.

    Raises
    ------
    BudgetError
        When the reservation is in another state; no row was read then.
    ConflictError
        When it costs more than what was reserved; no row was read then.
    ComputationFailedError
        Whatever went wrong with the rows open; the charge stands.

    Notes
    -----
    From touched to released or lost: from the first byte read on, the charge stands.
    """
    if not reservation.covers(priced.promised, priced.prepared.event):
        raise ConflictError(
            "A computation must cost no more than what was reserved for it, but this one does: the request or the "
            "version of Discreet changed after the charge. Make the request again."
        )
    try:
        with _uninterrupted(waits=True):
            reservation.touch(within=delivery.touched)
        try:
            outcome = _computed(priced.prepared, table, source or Source(), progress, delivery)
        finally:
            delivery.wait()
        with _uninterrupted():
            release = priced.release(outcome, reservation)
            reservation.release(release.to_json(), within=delivery.released)
    except BaseException:
        with _uninterrupted(), suppress(BudgetError):  # not touched, already released, or the ledger is gone
            reservation.lose(within=delivery.lost)
        raise
    return release


def _studied(
    priced: PricedRequest, table: Table, ledger: Ledger | None, source: Source, progress: Progress | None
) -> Answer:
    """A run that gives no guarantee: nothing is charged, and no data set with a cap is touched."""
    dataset = priced.metadata.dataset
    if ledger is not None and any(account.dataset.lower() == dataset.lower() for account in ledger.accounts()):
        raise PolicyError(
            f"Data set {dataset} has a cap in the ledger, so every run on it must give a guarantee, but this one is "
            "for study and gives none. Open the rows with open_table and drop as_published and random_state, or use "
            "other data."
        )
    return Answer(priced.release(_computed(priced.prepared, table, source, progress), None), stored=False)


def _computed(
    prepared: Preparation,
    table: Table,
    source: Source,
    progress: Progress | None,
    delivery: Delivery = AT_ONCE,
) -> Outcome:
    """Run the method; whatever goes wrong with the rows open, one constant text leaves."""
    try:
        with table.one_state():
            return prepared.run(table, source, progress)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of a compiled library is no Exception
        delivery.failed(error)
        raise ComputationFailedError from None


@contextmanager
def _uninterrupted(*, waits: bool = False) -> Iterator[None]:
    """Hold ctrl-C back until a short step is whole: a charge without its handle could not be given back.

    While such a step waits for a lock nothing is written yet: `waits` lets ctrl-C end it there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: list[int] = []

    def hold(number: int, _frame: object) -> None:
        if waits and is_waiting():
            raise KeyboardInterrupt
        seen.append(number)

    before = signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if seen:
        raise KeyboardInterrupt
