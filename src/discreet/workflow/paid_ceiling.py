"""The ceiling of parts in the ledger: reserved before the first part, drawn by each, given back at the end."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from discreet.accounting.events import GaussianEvent
from discreet.accounting.guarantee import Guarantee
from discreet.data.metadata import Metadata
from discreet.errors import BudgetError, VerificationError
from discreet.ledger import Entry, Ledger, Reservation
from discreet.ledger.reservation import Within
from discreet.release import canonical_sha256
from discreet.workflow.paid_terms import Cost, Terms


class Ceiling:
    """What the ledger holds for the parts of one question.

    Parameters
    ----------
    ledger : Ledger
        Which holds it.
    metadata : Metadata
        Of the data set.
    terms : Terms
        What all parts together may cost.
    question : dict
        Public facts of the request, alike for all parts.
    request : str, optional
        Digest of the request; default that of these facts.
    """

    def __init__(
        self, ledger: Ledger, metadata: Metadata, terms: Terms, question: dict[str, Any], request: str | None = None
    ) -> None:
        self._ledger, self._metadata, self._terms = ledger, metadata, terms
        epsilon, delta = terms.room
        ceiling = {"epsilon": float(epsilon), "delta": float(delta)}
        self._facts = {**question, "ceiling": ceiling, "discreet": version("discreet")}
        self.request = request or canonical_sha256(
            {"dataset": metadata.dataset, "metadata": metadata.sha256, **self._facts}
        )
        self._is_own = False

    def hold(self, costs: Sequence[Cost]) -> str:
        """Return the request to draw from; first reserve what is left beside these costs, where nothing stands.

        What a process that died has left is given back first: a part that it drew in vain counts below the account's
        cap, and not below this ceiling.
        """
        if not self._is_own:
            self.give_back()
        if self._ledger.held(self._metadata.dataset, self.request) is None:
            self.reserve(costs)
        self._is_own = True
        return self.request

    def reserve(
        self,
        costs: Sequence[Cost] = (),
        *,
        project: str | None = None,
        reference: str | None = None,
        within: Within | None = None,
    ) -> Reservation:
        """Reserve what is left of the ceiling beside these costs."""
        terms, metadata = self._terms, self._metadata
        epsilon, delta = terms.room
        epsilon -= sum((cost.epsilon for cost in costs), Fraction(0))
        delta -= sum((cost.delta for cost in costs), Fraction(0))
        event = None
        if terms.is_concentrated:
            rho = terms.ceiling - sum((cost.rho for cost in costs), Fraction(0))
            epsilon, delta, event = *terms.room, GaussianEvent(rho, Fraction(0))
        return self._ledger.reserve(
            request=self.request,
            dataset=metadata.dataset,
            unit=metadata.unit,
            neighboring=metadata.neighboring,
            guarantee=Guarantee(epsilon, delta, metadata.neighboring),
            event=event,
            facts=self._facts if reference is None else {**self._facts, "reference": reference},
            project=project,
            within=within,
        )

    def give_back(self, within: Within | None = None) -> None:
        """Give back what was not drawn, if anything is held."""
        entry = self._ledger.held(self._metadata.dataset, self.request)
        if entry is not None:
            with suppress(BudgetError):  # another process was quicker
                self._ledger.reservation(entry).cancel(within=within)


def free_reserved(ledger: Ledger, entry: int) -> Entry:
    """Give back what is reserved and no row was opened for, where nobody computes it any more.

    That is what a ceiling still holds, or a part, or any other request, whose process died before it opened rows. What
    was touched, released or lost stays charged. A process that still runs can open no row after this: it is refused.
    """
    held = next((each for each in ledger.history() if each.seq == entry), None)
    if held is None or held.state != "reserved":
        raise BudgetError(
            f"Entry {entry} cannot be given back: only an entry that is reserved, and for which no row was opened, "
            "can. `discreet budget history` names those entries."
        )
    if "reference" in held.facts:
        raise BudgetError(
            f"An entry must be no service's to be freed, but entry {entry} is of its request "
            f"{str(held.facts['reference'])[:40]}. Wait until it ends, or withdraw it there."
        )
    ledger.reservation(entry).cancel()  # refused where it was drawn from or touched in between
    return held


def question_of(locator: str | None, target: str, candidates: Sequence[str] | None) -> dict[str, Any]:
    """Return public facts of a request that are alike for all of its parts."""
    names = None if candidates is None else sorted(candidates)
    return {"method": "moments", "target": target, "candidates": names, "source": locator}


ALIKE = 1e-5
"""Ceilings that differ by less have parts of the same six digits, which the ledger gives again."""


def check_drawn(ledger: Ledger, dataset: str, parts: Iterable[int], terms: Terms) -> None:
    """Refuse parts that were not drawn below the ceiling of these terms: what is promised is what was held."""
    history = {entry.seq: entry for entry in ledger.history(dataset)}
    room = dict(zip(("epsilon", "delta"), map(float, terms.room), strict=True))
    for seq in parts:
        rest = history.get(seq - 1)
        ceiling = rest.facts.get("ceiling", {}) if rest is not None and _is_draw(history, seq) else {}
        if not all(math.isclose(ceiling.get(name, -1.0), value, rel_tol=ALIKE) for name, value in room.items()):
            raise VerificationError(
                f"Parts must be drawn below the ceiling that their release states, but the one of entry {seq} is not. "
                "The file was changed: give the one that was written when the parts were bought."
            )


def _is_draw(history: Mapping[int, Entry], seq: int) -> bool:
    """Tell whether what a ceiling held was cancelled, and reserved again as the rest and this part, to the grain."""
    before, rest, part = (history.get(place) for place in (seq - 2, seq - 1, seq))
    if before is None or rest is None or part is None or before.request != rest.request:
        return False
    names = ("epsilon", "delta") if part.rho is None else ("rho", "failure")
    held, left, drawn = ([Fraction(getattr(each, name) or 0) for name in names] for each in (before, rest, part))
    is_whole = all(-whole == kept + taken for whole, kept, taken in zip(held, left, drawn, strict=True))
    return is_whole and (before.kind, rest.kind, part.kind) == ("cancel", "reserve", "reserve")
