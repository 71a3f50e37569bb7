"""Noisy moments bought part by part, until columns are sure enough or a ceiling is reached.

Each part is a request of its own, charged before rows are opened; whether to go on is told from releases alone. The
parts are pooled, weighted by the precision of their noise. The same call goes on where an earlier one ended: a part
that the ledger has answered before costs nothing.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.ledger import Ledger
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Progress
from discreet.methods.base.private_bounds import sides_of
from discreet.methods.moments.column_scales import scaling_of
from discreet.methods.moments.further_moments import FurtherMoments
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.release import (
    Release,
)
from discreet.workflow.dry_runs import DryRun, candidates_asked
from discreet.workflow.paid_ceiling import Ceiling, question_of
from discreet.workflow.paid_certainty import certainty_of, factor_needed, moments_of
from discreet.workflow.paid_terms import Cost, Terms, shortened
from discreet.workflow.pooled_parts import pool
from discreet.workflow.request import answer


def pay_as_you_go(
    method: NoisyMoments,
    terms: Terms,
    table: Table,
    target: str,
    candidates: Sequence[str] | None = None,
    *,
    ledger: Ledger | None = None,
    earlier: Sequence[Release] = (),
    rng: Source | None = None,
    progress: Progress | None = None,
    kept: Callable[[Release], object] | None = None,
) -> Release:
    """Buy parts until the chance that is asked for or the ceiling is reached, and return them pooled.

    Parameters
    ----------
    method : NoisyMoments
        The question; its epsilon is that of no part.
    terms : Terms
        When to stop, and the ceiling.
    table : Table
        The private table.
    target : str
        The response.
    candidates : sequence of str, optional
        Columns that may be selected.
    ledger : Ledger, optional
        Where each part is charged before rows are opened.
    earlier : sequence of Release
        Parts that were bought before, of the same sums, as `parts_of` returns them: they are pooled, too, and count
        below the ceiling.
    rng : Source, optional
        A seeded source for tests.
    progress : callable, optional
        Told of work whose length is public.
    kept : callable, optional
        Told of what is bought so far, after each part.

    Returns
    -------
    Release
        The pooled moments, the likeliest model, and what was spent.

    Notes
    -----
    Claim: ``paid_parts.privacy.md``.
    """
    check_parts(method, table.metadata, target, candidates)
    names = candidates_asked(method, table, target, candidates)
    held = None if ledger is None else Ceiling(ledger, table.metadata, terms, question_of(table.locator, target, names))
    buyer = Buyer(method, terms, table.metadata, target, names, earlier)
    ask = partial(answer, ledger=ledger, rng=rng, progress=progress)
    try:
        while (part := buyer.next_part()) is not None:
            ceiling = None if held is None else partial(held.hold, buyer.costs)
            buyer.add(part, ask(part, table, target, names, ceiling=ceiling).release)
            if kept is not None:
                kept(buyer.pooled())
    finally:
        if held is not None:
            held.give_back()
    if not buyer.bought:
        raise InvalidParameterError("at_most must pay for one part at least, but it does not. Raise it.")
    return buyer.pooled()


class Buyer:
    """What is bought so far, what it cost, and what comes next: from public facts and from releases.

    Parameters
    ----------
    method : NoisyMoments
        The request without its price.
    terms : Terms
        When parts suffice, and the ceiling.
    metadata : Metadata
        What is public about the table.
    target : str
        The response.
    candidates : sequence of str, optional
        Columns that may be selected; default all but the target.
    earlier : sequence of Release
        Parts that were bought before.
    """

    def __init__(
        self,
        method: NoisyMoments,
        terms: Terms,
        metadata: Metadata,
        target: str,
        candidates: Sequence[str] | None,
        earlier: Sequence[Release] = (),
    ) -> None:
        self._method, self._terms, self._question = method, terms, (metadata, target, candidates)
        self.bought, self.costs = [*earlier], [Cost.of_release(part) for part in earlier[terms.n_before :]]
        self.known = [certainty_of(earlier[: at + 1], terms) for at in range(len(earlier))]
        before = (terms.precision_of(Cost.of_release(part)) for part in earlier[: terms.n_before])
        self._before = sum(before, Fraction(0))

    def next_part(self) -> NoisyMoments | None:
        """Return the request of the next part; None where parts are sure enough, or the ceiling is reached."""
        terms, bought = self._terms, self.bought
        if bought and terms.suffices(self.known[-1]):
            return None
        metadata = self._question[0]
        precision = self._before + sum((terms.precision_of(cost) for cost in self.costs), Fraction(0))
        rows = (metadata.n_rows or self._method.n0 or 0) // metadata.rows_per_unit or None
        amount = terms.next_amount(self.costs, rows, factor_needed(bought, terms) if bought else None, precision)
        if amount is None:
            return None
        part = _part(self._method, terms.budget(amount, self.costs), bought, metadata)
        return part if terms.holds([*self.costs, self._cost(part)]) else None

    def add(self, part: NoisyMoments, release: Release) -> None:
        """Keep a part that was bought, at the price of its request: that of its record is a hair more.

        Parameters
        ----------
        part : NoisyMoments
            The request.
        release : Release
            What it told.
        """
        self.costs.append(self._cost(part))
        self.bought.append(release)
        self.known.append(certainty_of(self.bought, self._terms))

    def pooled(self) -> Release:
        """Return what is bought, pooled."""
        return pool(self.bought, self._terms, self.known)

    def _cost(self, part: NoisyMoments) -> Cost:
        metadata, target, names = self._question
        prepared = part.prepare(metadata, target, names)
        promised = DryRun(part, prepared, metadata).guarantee
        if promised is None:
            raise InvalidParameterError("A part must have a guarantee. Leave as_published out.")
        return Cost.of(promised.epsilon, promised.delta, prepared.event)


def check_parts(method: NoisyMoments, metadata: Metadata, target: str, candidates: Sequence[str] | None) -> None:
    """Refuse what cannot be bought in parts, before anything is charged.

    Parameters
    ----------
    method : NoisyMoments
        The request.
    metadata : Metadata
        What is public about the table.
    target : str
        The response.
    candidates : sequence of str, optional
        Columns that may be selected; default all but the target.

    Raises
    ------
    InvalidParameterError
        Where bounds of columns are private, or moments of columns are declared.
    """
    design = method.sums(metadata, target, candidates).design
    if method.design_moments or method.public_moments is not None or sides_of(metadata, design.columns):
        raise InvalidParameterError(
            "Parts must be of the same sums, but bounds of columns are private, or moments of columns are declared. "
            "Declare the bounds, and leave design_moments and public_moments out."
        )


def _part(
    method: NoisyMoments, budget: tuple[float, float], bought: Sequence[Release], metadata: Metadata
) -> NoisyMoments:
    """Return the request of the next part; after the first, columns and target are encoded as in the first."""
    parameters = method.model_dump() | {"epsilon": shortened(Fraction(budget[0])), "delta": budget[1]}
    parameters |= {"selective_inference": "none", "fit": False}
    if not bought:
        return NoisyMoments(**parameters)
    first = moments_of(bought[0])
    parameters |= {"count_clipped": False, "level": (first.y_center, first.y_bound)}
    return FurtherMoments(**parameters, scaling=scaling_of(first, metadata))
