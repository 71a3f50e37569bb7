"""One request, straight down and back once: check, reserve, open, draw, record. The only place that joins them."""

import os
import platform
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from discreet.accounting.events import event_record
from discreet.accounting.guarantee import Guarantee
from discreet.data.engine import Table
from discreet.errors import BudgetError, ComputationFailedError, PolicyError
from discreet.ledger import Account, Ledger, Reservation
from discreet.mechanisms.rng import Source
from discreet.methods.base import Method, Outcome, Preparation, Progress
from discreet.methods.candidates import candidates_record
from discreet.release import GuaranteeRecord, LedgerRecord, Provenance, Release, canonical_sha256
from discreet.workflow.plan import Plan, asked, guarantee_for, plan_of

OWNER_LOG = "DISCREET_OWNER_LOG"
"""Names a file for the owner of the data: the cause of a failure may depend on the rows and is written nowhere else."""


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


Confirm = Callable[[Plan, Account | None], None]
"""Called with the plan and the account before anything is charged; raises to stop."""


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
        Called with the plan and the account before anything is charged; may raise to stop.
    chosen : dict, optional
        How the method was chosen, from public facts; stands in the release.

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
    What is reserved is spent: a crash may cost budget, never grant it.

    References
    ----------
    Privacy specification 7.3 and 14 (answer).
    """
    source = rng or Source()
    is_system = type(source) is Source  # whoever overrides the words knows them
    prepared = method.prepare(table.metadata, target, asked(method, table, target, candidates))
    table.check(prepared.columns)
    prepared.check_table(table, ledger is not None)
    facts = _Facts(method, prepared, table, is_system, _digest(method, prepared, table), _now(), chosen)
    if facts.guarantee is None:
        return _studied(facts, ledger, source, progress)
    if ledger is not None and not prepared.is_proved:
        raise PolicyError(
            "A ledger must hold proved costs alone, but a score or a contrast of your own is not checked. Leave out "
            "ledger, or leave out score_func; a contrast of your own costs nothing on public records that another "
            "release has weighted."
        )
    if ledger is not None:
        return _charged(facts, ledger, fresh, source, progress, confirm)
    if confirm is not None:
        confirm(facts.plan(), None)
    return Answer(facts.release(_computed(prepared, table, source, progress), None), stored=False)


def _charged(
    facts: "_Facts",
    ledger: Ledger,
    fresh: bool,
    source: Source,
    progress: Progress | None,
    confirm: Confirm | None,
) -> Answer:
    metadata = facts.table.metadata
    stored = None if fresh or facts.table.locator is None else ledger.stored(facts.digest)
    if stored is not None:
        return Answer(Release.from_json(stored), stored=True)
    if confirm is not None:
        confirm(facts.plan(), ledger.account(metadata.dataset))
    return Answer(_spend(facts, ledger, source, progress), stored=False)


def _spend(facts: "_Facts", ledger: Ledger, source: Source, progress: Progress | None) -> Release:
    """From reserved to released or lost: from the first byte read on, the charge stands."""
    metadata = facts.table.metadata
    reservation, touched = None, False
    try:
        with _uninterrupted():
            reservation = ledger.reserve(
                request=facts.digest,
                dataset=metadata.dataset,
                unit=metadata.unit,
                neighboring=metadata.neighboring,
                guarantee=facts.promised,
                facts=facts.public_request(),
                event=facts.prepared.event,
            )
        with _uninterrupted():
            reservation.touch()
            touched = True
        outcome = _computed(facts.prepared, facts.table, source, progress)
        with _uninterrupted():
            release = facts.release(outcome, reservation)
            reservation.release(release.to_json())
    except BaseException:
        _abandon(reservation, touched)
        raise
    return release


def _abandon(reservation: Reservation | None, touched: bool) -> None:
    """Give the cost back while no row can have been read; after that, record that it bought nothing."""
    if reservation is None:
        return
    with _uninterrupted(), suppress(BudgetError):  # already released, or the ledger is gone: either way it is charged
        if touched:
            reservation.lose()
        else:
            reservation.cancel()


def _studied(facts: "_Facts", ledger: Ledger | None, source: Source, progress: Progress | None) -> Answer:
    """A run that gives no guarantee: nothing is charged, and no data set with a cap is touched."""
    dataset = facts.table.metadata.dataset
    if ledger is not None and any(account.dataset == dataset for account in ledger.accounts()):
        raise PolicyError(
            f"Data set {dataset} has a cap in the ledger, so every run on it must give a guarantee, but this one is "
            "for study and gives none. Use other data, or drop as_published."
        )
    return Answer(facts.release(_computed(facts.prepared, facts.table, source, progress), None), stored=False)


def _computed(prepared: Preparation, table: Table, source: Source, progress: Progress | None) -> Outcome:
    """Run the method; whatever goes wrong with the rows open, one constant text leaves."""
    try:
        return prepared.run(table, source, progress)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of a compiled library is no Exception
        _log_for_owner(traceback.format_exc())
        raise ComputationFailedError from None


def _log_for_owner(cause: str) -> None:
    """Write where the owner asked for it; when that fails, the answer must stay the same constant."""
    log = os.environ.get(OWNER_LOG)
    if not log:
        return
    with suppress(OSError, ValueError):
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{datetime.now(UTC).isoformat()}\n{cause}\n")


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold ctrl-C back until a short step is whole: a charge without its handle could not be given back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: seen.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if seen:
        raise KeyboardInterrupt


@dataclass(frozen=True)
class _Facts:
    """A request in flight: all of it public."""

    method: Method
    prepared: Preparation
    table: Table
    is_system: bool
    digest: str
    asked: str
    chosen: dict[str, Any] | None = None

    @property
    def guarantee(self) -> Guarantee | None:
        return guarantee_for(self.prepared, self.table.metadata) if self.is_system else None

    @property
    def promised(self) -> Guarantee:
        if self.guarantee is None:
            raise PolicyError("A charge must stand for a guarantee. Use a run that gives one.")
        return self.guarantee

    def plan(self) -> Plan:
        return plan_of(self.method, self.prepared, self.table.metadata)

    def public_request(self) -> dict[str, Any]:
        found = {
            "method": self.method.name,
            "target": self.prepared.target,
            "candidates": candidates_record(self.prepared.candidates),
            "parameters": self.prepared.parameters,
        }
        return found if self.chosen is None else {**found, "chosen": self.chosen}

    def release(self, outcome: Outcome, reservation: Reservation | None) -> Release:
        metadata = self.table.metadata
        promised = self.guarantee
        return Release(
            private=promised is not None,
            method=self.method.name,
            selected=outcome.selected,
            guarantee=None
            if promised is None
            else GuaranteeRecord(
                epsilon=float(promised.epsilon),
                delta=float(promised.delta),
                neighboring=promised.neighboring,
                unit=metadata.unit,
                rows_per_unit=metadata.rows_per_unit,
            ),
            event=None if promised is None else _event_record(self.prepared),
            request=self.public_request(),
            noise=outcome.noise,
            steps=outcome.steps,
            fit=outcome.fit,
            moments=outcome.moments,
            by_size=outcome.by_size,
            hybrid=outcome.hybrid,
            public=self.prepared.public,
            not_protected=self.prepared.not_protected,
            provenance=Provenance(
                discreet=version("discreet"),
                python=platform.python_version(),
                dataset=metadata.dataset,
                metadata_sha256=metadata.sha256,
                request_sha256=self.digest,
                data=self.table.name,
                requested_at=self.asked,
                randomness="system entropy" if self.is_system else "seeded",
                ledger=None if reservation is None else _ledger_record(reservation),
            ),
        )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")


def _ledger_record(reservation: Reservation) -> LedgerRecord:
    account = reservation.account
    concentrated = account.accounting == "zcdp"
    return LedgerRecord(
        entry=reservation.entry,
        head=reservation.head,
        epsilon_spent=float(account.epsilon_spent),
        epsilon_cap=float(account.epsilon_cap),
        accounting="zcdp" if concentrated else "basic",
        rho=float(reservation.rho) if concentrated else None,
        rho_spent=float(account.rho_spent) if concentrated else None,
        rho_cap=float(account.rho_cap) if concentrated else None,
        delta_cap=float(account.delta_cap) if concentrated else None,
    )


def _event_record(prepared: Preparation) -> dict[str, Any]:
    if prepared.event is None:
        raise PolicyError("A release with a guarantee must have an event. Use a run that gives one.")
    return event_record(prepared.event)


def _digest(method: Method, prepared: Preparation, table: Table) -> str:
    """Identity of a request: the same question of the same source under the same metadata."""
    return canonical_sha256(
        {
            "algorithm": f"{method.name}@1",
            "dataset": table.metadata.dataset,
            "metadata": table.metadata.sha256,
            "source": table.locator,
            "target": prepared.target,
            "candidates": candidates_record(prepared.candidates),
            "parameters": prepared.parameters,
        }
    )
