"""Parts of the same sums as one release, and what the ledger recorded of them."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreet.accounting.guarantee import exact_delta
from discreet.accounting.zcdp import epsilon_of_rho
from discreet.claims import of_function
from discreet.digits import plain
from discreet.errors import InvalidParameterError, VerificationError
from discreet.ledger import Ledger
from discreet.release import (
    ClaimRecord,
    MomentsRecord,
    PartRecord,
    PooledRecord,
    Release,
    StepRecord,
    canonical_sha256,
)
from discreet.workflow.derive import digest
from discreet.workflow.paid_ceiling import check_drawn
from discreet.workflow.paid_certainty import Certainty, certainty_of, moments_of, pooled_moments
from discreet.workflow.paid_terms import Cost, Terms, epsilon_for, read_before


def pool(parts: Sequence[Release], terms: Terms, known: Sequence[Certainty] = ()) -> Release:
    """Return parts of the same sums as one release: post-processing of all of them.

    What is known of the first so many parts together is not computed again. Its guarantee is that of the ceiling, which
    holds whenever the parts stop. Claim: ``paid_parts.privacy.md``.
    """
    records = [moments_of(part) for part in parts]
    sources = [digest(part) for part in parts]
    entries = [part.provenance.ledger.entry for part in parts if part.provenance.ledger is not None]
    is_drawn_once = len(set(entries)) < len(entries) or len(set(sources)) < len(sources)
    if is_drawn_once or len({_sums_of(record) for record in records}) > 1 or len(set(map(_facts_of, parts))) > 1:
        raise InvalidParameterError("Parts must be of the same sums, each another draw, but these are not.")
    reached = [*known, *(certainty_of(parts[: at + 1], terms) for at in range(len(known), len(parts)))]
    moments, first, last, costs = pooled_moments(parts), parts[0], parts[-1], [*map(Cost.of_release, parts)]
    _check_costs(parts, costs, terms)
    options = {**first.request.get("parameters", {}), "epsilon": terms.at_most}
    stop: dict[str, Any] = {"until": terms.until, "of": terms.of, "prior": terms.prior, "at_most": terms.at_most}
    stop |= {} if terms.width is None else {"width": terms.width, "coefficient": terms.coefficient}
    request = {**first.request, "parameters": options, "pay_as_you_go": stop}
    origin = last.provenance.model_copy(
        update={
            "derived_from": canonical_sha256(sources),
            "request_sha256": canonical_sha256({"of": sources, "request": request}),
        }
    )
    spent = PooledRecord(
        **stop,
        before=(float(terms.before[0]), float(terms.before[1])) if terms.n_before else None,
        accounting="zcdp" if terms.is_concentrated else "basic",
        reached=terms.suffices(reached[-1]),
        epsilon_spent=epsilon_spent(costs[terms.n_before :], terms),
        rho_spent=float(sum((cost.rho for cost in costs), Fraction(0))),
        fixed_epsilon=_fixed(costs, terms),
        parts=tuple(
            PartRecord(
                entry=part.provenance.ledger.entry if part.provenance.ledger is not None else None,
                sha256=source,
                epsilon=float(cost.epsilon),
                delta=float(cost.delta),
                rho=float(cost.rho),
                certainty=known_so_far.chance,
                width=known_so_far.width,
            )
            for part, source, cost, known_so_far in zip(parts, sources, costs, reached, strict=True)
        ),
    )
    guarantee = first.guarantee
    if guarantee is None:
        raise InvalidParameterError("Parts must have a guarantee. Use the system's entropy, and a table's rows.")
    scale = moments.xty_variance[0] ** 0.5 / moments.grid**2
    return last.model_copy(
        update={
            "moments": moments,
            "selected": reached[-1].model,
            "by_size": (),
            "fit": None,
            "chance": None,
            "pooled": spent,
            "request": request,
            "noise": first.noise.model_copy(update={"scale": scale}),
            "steps": tuple(step for part in parts for step in _steps(part)),
            "event": {"type": "ComposedEvent", "events": [part.event for part in parts]},
            "guarantee": guarantee.model_copy(update={"epsilon": terms.at_most, "delta": terms.delta}),
            "claims": _claims(parts),
            "provenance": origin,
        }
    )


def _check_costs(parts: Sequence[Release], costs: Sequence[Cost], terms: Terms) -> None:
    """Refuse parts that cost more than the ceiling: the guarantee of all of them is that of the ceiling."""
    guarantee = parts[0].guarantee
    stated = None if guarantee is None else (Fraction(guarantee.epsilon), Fraction(guarantee.delta))
    if not terms.holds(costs[terms.n_before :]) or (terms.n_before and stated != terms.before):
        raise InvalidParameterError(
            f"Parts must cost at most epsilon {plain(terms.at_most)} and delta {plain(terms.delta)} together, but "
            "these cost "
            "more. Raise at_most, or delta."
        )


def _facts_of(part: Release) -> tuple[Any, ...]:
    """What must be equal in parts beside their sums: whose rows they are, and what is promised to whom."""
    origin, promise = part.provenance, part.guarantee
    to_whom = () if promise is None else (promise.neighboring, promise.unit, promise.rows_per_unit, promise.n_units)
    return (origin.dataset, origin.metadata_sha256, origin.data, origin.rows_origin, origin.randomness, part.private,
            part.request.get("target"), *to_whom)  # fmt: skip


def _sums_of(record: MomentsRecord) -> tuple[Any, ...]:
    """What must be equal in sums that are pooled."""
    return (record.labels, record.owners, record.centers, record.half_widths, record.y_center, record.y_bound,
            record.grid, record.constant, record.offset, record.weights, record.rows_per_unit)  # fmt: skip


def _steps(part: Release) -> tuple[StepRecord, ...]:
    alone = (StepRecord(name="moments", event=part.event or {}, noise=part.noise),)
    return part.steps or alone


def _claims(parts: Sequence[Release]) -> tuple[ClaimRecord, ...]:
    own = of_function("discreet.workflow.paid_parts.pay_as_you_go")
    records = {claim.claim: claim for part in parts for claim in part.claims}
    records |= {claim.path: ClaimRecord(claim=claim.path, status=claim.status, read_by=claim.readers) for claim in own}
    return tuple(records[name] for name in sorted(records))


def epsilon_spent(own: Sequence[Cost], terms: Terms) -> float:
    """Return the epsilon of all parts together, in nats: at the ceiling's delta where rho adds up."""
    if not terms.is_concentrated or not own:
        return float(terms.before[0] + sum((cost.epsilon for cost in own), Fraction(0)))
    delta = terms.room[1] - sum((cost.failure for cost in own), Fraction(0))
    return float(terms.before[0] + epsilon_of_rho(sum((cost.rho for cost in own), Fraction(0)), delta))


def _fixed(costs: Sequence[Cost], terms: Terms) -> float:
    """The epsilon of one release with as little noise."""
    if terms.delta > 0:
        return epsilon_for(sum((cost.rho for cost in costs), Fraction(0)), exact_delta(terms.delta))
    return math.sqrt(sum((cost.epsilon**2 for cost in costs), Fraction(0)))


def parts_of(release: Release, ledger: Ledger | None) -> tuple[Release, ...]:
    """Return the parts of a pooled release as the ledger recorded them; of any other release of moments, itself."""
    if release.pooled is None:
        _require_recorded(release, ledger)
        return (release,)
    texts = [
        None if ledger is None or part.entry is None else ledger.recorded(part.entry) for part in release.pooled.parts
    ]
    parts = [Release.from_json(text) for text in texts if text is not None]
    if [digest(part) for part in parts] != [part.sha256 for part in release.pooled.parts]:
        raise VerificationError("The parts of a pooled release must be as the ledger recorded them, but these are not.")
    terms = terms_of(release)
    if ledger is not None:
        own = [part.entry for part in release.pooled.parts[terms.n_before :] if part.entry is not None]
        check_drawn(ledger, release.provenance.dataset, own, terms)
    return tuple(parts)


def terms_of(release: Release) -> Terms:
    """Return the terms that a pooled release, or one that was computed from it, states.

    As its file says: `parts_of` compares their ceiling with the ledger.
    """
    record, guarantee = release.pooled, release.guarantee
    if record is None or guarantee is None:
        raise VerificationError("A pooled release must say what it was pooled from.")
    concentrated = record.accounting == "zcdp"
    facts = record.until, record.at_most, guarantee.delta, concentrated, record.of, record.prior
    return Terms(*facts, before=read_before(record), width=record.width, coefficient=record.coefficient)


def _require_recorded(release: Release, ledger: Ledger | None) -> None:
    """Refuse a release that the ledger did not record as it is: what it says of its cost would be believed."""
    if ledger is None:
        return
    entry = None if release.provenance.ledger is None else release.provenance.ledger.entry
    text = None if entry is None else ledger.recorded(entry)
    if text is None or digest(Release.from_json(text)) != digest(release):
        raise VerificationError(
            "A release that parts are added to must be as this ledger recorded it, but it is not. Give the file that "
            "was written when it was charged."
        )


def pooled_again(release: Release, ledger: Ledger) -> Release:
    """Return the pooled release that another is, or was computed from, made anew from the ledger's own parts."""
    return pool(parts_of(release, ledger), terms_of(release))
