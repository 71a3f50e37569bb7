"""A request of parts as a whole: priced and charged at its ceiling, before any part is bought."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.ledger import Ledger
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.methods.registry import method_of
from discreet.release import READ, canonical_sha256
from discreet.workflow.paid_ceiling import Ceiling, question_of
from discreet.workflow.paid_certainty import load
from discreet.workflow.paid_parts import Buyer, check_parts
from discreet.workflow.paid_terms import Terms, terms_for
from discreet.workflow.priced_request import PricedRequest, price

STOPS = ("until", "until_width", "until_of", "until_prior", "until_coefficient", "at_most")
"""Parameters of a request that say when parts stop, in the place of epsilon."""


@dataclass(frozen=True)
class PartsRequest(PricedRequest):
    """A request of parts, at the price of all of them together.

    Parameters
    ----------
    terms : Terms
        When parts stop, and the ceiling.
    stops : dict
        As they were asked for.
    """

    terms: Terms = field(kw_only=True)
    stops: Mapping[str, Any] = field(kw_only=True)

    @property
    def digest(self) -> str:
        """Identity of the question, its stops among it."""
        return canonical_sha256({"question": super().digest, "pay_as_you_go": dict(self.stops)})

    def public_request(self) -> dict[str, Any]:
        """Return what the ledger and the release record of the request."""
        return {**super().public_request(), "pay_as_you_go": dict(self.stops)}

    def ceiling(self, ledger: Ledger) -> Ceiling:
        """Return what the ledger holds, or will hold, for the parts."""
        facts = question_of(self.locator, self.prepared.target, self.prepared.candidates)
        return Ceiling(ledger, self.metadata, self.terms, facts, self.digest)

    def buyer(self) -> Buyer:
        """Return who tells the next part, with nothing bought."""
        if not isinstance(self.method, NoisyMoments):
            raise InvalidParameterError("Parts are bought of moments. Name this method.")
        return Buyer(self.method, self.terms, self.metadata, self.prepared.target, self.prepared.candidates)

    def load(self) -> None:
        """Load what telling how sure parts are needs, before a slot begins."""
        load()

    def part(self, method: NoisyMoments) -> PricedRequest:
        """Return the priced request of a part."""
        request_facts = method, self.metadata, self.prepared.target, self.prepared.candidates
        return price(*request_facts, name=self.name, locator=self.locator, rows_origin=READ)


def is_in_parts(parameters: Mapping[str, Any]) -> bool:
    """Tell whether the parameters of a request ask for parts below a ceiling."""
    return not parameters.keys().isdisjoint(STOPS)


def price_parts(
    parameters: Mapping[str, Any],
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None,
    ledger: Ledger,
    *,
    name: str,
    locator: str | None,
) -> PartsRequest:
    """Check a request of parts and price its ceiling, without any data."""
    stops = {each: parameters[each] for each in STOPS if parameters.get(each) is not None}
    others = {each: value for each, value in parameters.items() if each not in STOPS}
    at_most = stops.get("at_most")
    if not isinstance(at_most, int | float) or isinstance(at_most, bool) or others.get("epsilon") is not None:
        raise InvalidParameterError(
            "Parts are bought below a ceiling: give until or until_width, and at_most, and leave out epsilon."
        )
    method = method_of("moments", **others, epsilon=at_most)
    if not isinstance(method, NoisyMoments):
        raise InvalidParameterError("Parts are bought of moments. Name this method.")
    check_parts(method, metadata, target, candidates)
    choices = {"of": stops.get("until_of", "columns"), "prior": stops.get("until_prior", "sparse")}
    choices |= {"width": stops.get("until_width"), "coefficient": stops.get("until_coefficient")}
    terms = terms_for(method, metadata.dataset, ledger, stops.get("until"), at_most, **choices)
    whole = price(method, metadata, target, candidates, name=name, locator=locator, rows_origin=READ)
    request_facts = (
        whole.method,
        whole.prepared,
        whole.metadata,
        whole.name,
        whole.locator,
        whole.asked_at,
        whole.rows_origin,
    )
    return PartsRequest(*request_facts, terms=terms, stops=stops)
