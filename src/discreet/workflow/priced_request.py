"""A request between its price and its answer: everything about it is public, and the release is worded here."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from discreet.accounting.events import event_record
from discreet.accounting.guarantee import Guarantee
from discreet.claims import of_function, resting_on
from discreet.data.metadata import Metadata
from discreet.errors import PolicyError
from discreet.ledger import Reservation
from discreet.methods.base.candidates import candidates_record
from discreet.methods.base.method import Method, Outcome, Preparation
from discreet.release import (
    UNSTATED,
    ClaimRecord,
    GuaranteeRecord,
    LedgerRecord,
    Provenance,
    Release,
    RowsOrigin,
    canonical_sha256,
)
from discreet.workflow.chance import chance_after
from discreet.workflow.dry_runs import DryRun


@dataclass(frozen=True)
class PricedRequest(DryRun):
    """A request whose privacy cost is known, of a named table: what can be charged and answered.

    Parameters
    ----------
    name : str
        Public name of the source, without its folder.
    locator : str or None
        Where the source is; None when asking again could find other rows.
    asked_at : str
        UTC, to the minute.
    rows_origin : str
        What says that the rows are those of the declared table.
    is_system : bool
        Whether the noise will come from the system's entropy.
    chosen : dict or None
        How the method was chosen, from public facts.

    Notes
    -----
    A service prices and charges a request where no private table can be read, and has another process answer it.
    """

    name: str
    locator: str | None
    asked_at: str
    rows_origin: RowsOrigin
    is_system: bool = True
    chosen: dict[str, Any] | None = None

    @property
    def digest(self) -> str:
        """Identity of the question: the same one of the same source under the same metadata."""
        return canonical_sha256(
            {
                "algorithm": f"{self.method.name}@1",
                "dataset": self.metadata.dataset,
                "metadata": self.metadata.sha256,
                "source": self.locator,
                "target": self.prepared.target,
                "candidates": candidates_record(self.prepared.candidates),
                "parameters": self.prepared.parameters,
            }
        )

    @property
    def guarantee(self) -> Guarantee | None:
        """What would be promised; None for a run for study, and for rows that may be anything."""
        return super().guarantee if self.is_system and self.rows_origin != UNSTATED else None

    @property
    def promised(self) -> Guarantee:
        """What is promised and charged."""
        record = self.guarantee
        if record is None:
            raise PolicyError("A charge must stand for a guarantee. Use a run that gives one.")
        return record

    def public_request(self) -> dict[str, Any]:
        """Return what the ledger and the release record of the request.

        Public facts.
        """
        record = {
            "method": self.method.name,
            "target": self.prepared.target,
            "candidates": candidates_record(self.prepared.candidates),
            "parameters": self.prepared.parameters,
        }
        return record if self.chosen is None else {**record, "chosen": self.chosen}

    def check_charge(self) -> None:
        """Refuse what no ledger may record."""
        self.promised  # noqa: B018 - raises for a run for study
        if not self.prepared.is_proved:
            raise PolicyError(
                "A ledger must hold proved costs alone, but a score or a contrast of your own is not checked. Leave "
                "out ledger, or leave out score_func; a contrast of your own costs nothing on public records that "
                "another release has weighted."
            )

    def release(self, outcome: Outcome, reservation: Reservation | None) -> Release:
        """Word the release.

        The only thing that leaves.
        """
        promised = self.guarantee
        return Release(
            private=promised is not None,
            method=self.method.name,
            selected=outcome.selected,
            guarantee=None if promised is None else self._guarantee_record(promised),
            event=None if promised is None else _event_record(self.prepared),
            request=self.public_request(),
            noise=outcome.noise,
            steps=outcome.steps,
            fit=outcome.fit,
            moments=outcome.moments,
            by_size=outcome.by_size,
            hybrid=outcome.hybrid,
            chance=chance_after(self, outcome),
            claims=() if promised is None else _claim_records(self.prepared, outcome, reservation),
            public=self.prepared.public,
            not_protected=self.prepared.not_protected,
            provenance=Provenance(
                discreet=_version(),
                python=platform.python_version(),
                dataset=self.metadata.dataset,
                description=self.metadata.description,
                metadata_sha256=self.metadata.sha256,
                request_sha256=self.digest,
                data=self.name,
                requested_at=self.asked_at,
                randomness="system entropy" if self.is_system else "seeded",
                rows_origin=self.rows_origin,
                ledger=None if reservation is None else _ledger_record(reservation),
            ),
        )

    def _guarantee_record(self, promised: Guarantee) -> GuaranteeRecord:
        return GuaranteeRecord(
            epsilon=float(promised.epsilon),
            delta=float(promised.delta),
            neighboring=promised.neighboring,
            unit=self.metadata.unit,
            rows_per_unit=self.metadata.rows_per_unit,
            n_units=self.metadata.n_units,
        )


def price(
    method: Method,
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None = None,
    *,
    name: str,
    locator: str | None,
    rows_origin: RowsOrigin,
    is_system: bool = True,
    chosen: dict[str, Any] | None = None,
) -> PricedRequest:
    """Check a request of a named table against the metadata and price it, without any data."""
    prepared = method.prepare(metadata, target, candidates)
    return PricedRequest(method, prepared, metadata, name, locator, _now(), rows_origin, is_system, chosen)


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


@cache
def _version() -> str:
    """Read from disk once."""
    return version("discreet")


def _claim_records(prepared: Preparation, outcome: Outcome, reservation: Reservation | None) -> tuple[ClaimRecord, ...]:
    """The proofs that a release rests on: of its noise, of the price, of the charge, and of what joins them."""
    paths = [outcome.noise.claim, *(step.noise.claim for step in outcome.steps), "accounting/compose.privacy.md"]
    if reservation is not None:
        paths.append("ledger/ledger.privacy.md")
    # These two rest on the claims of all methods; those that took part are in the list already.
    kind = type(prepared)
    joins = (f"{kind.__module__}.{kind.__qualname__}.run", "discreet.workflow.request.fulfil")
    claims = {*resting_on(paths), *(claim for function in joins for claim in of_function(function))}
    return tuple(
        ClaimRecord(claim=claim.path, status=claim.status, read_by=claim.readers)
        for claim in sorted(claims, key=lambda claim: claim.path)
    )
