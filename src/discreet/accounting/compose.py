"""From events to their guarantee; an event without an analysis here is refused."""

from fractions import Fraction

from discreet.accounting.events import Event, ParallelEvent
from discreet.accounting.gaussian import steps_of_gaussian
from discreet.accounting.guarantee import Guarantee, exact_delta
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.totals import Totals, totals_of
from discreet.accounting.zcdp import STEP, steps_of_rho
from discreet.digits import plain
from discreet.errors import InvalidParameterError, UnsupportedEventError


def guarantee_of(event: Event, neighboring: NeighboringRelation, delta: Fraction = Fraction(0)) -> Guarantee:
    """Return the privacy guarantee of an event whose parts may be chosen adaptively.

    Parameters
    ----------
    event : Event
        What was, or will be, done to the data; its sensitivities hold under `neighboring`.
    neighboring : NeighboringRelation
        The relation that all parts share.
    delta : Fraction
        The delta at which to state epsilon. 0 adds up pure epsilons and failure probabilities; Gaussian noise needs
        more.

    Returns
    -------
    Guarantee
        The least epsilon of three compositions: the sum of pure epsilons; this sum beside the analytic Gaussian
        condition; zero-concentrated accounting of all parts, or of all but the pure ones that cost less added up. The
        first is exact, the others are rounded up to multiples of 1e-9. Its delta is `delta`; with 0, the sum of the
        failure probabilities.

    Raises
    ------
    UnsupportedEventError
        When the event, or a part of it, is of a kind that has no analysis here.
    InvalidParameterError
        When delta is too small for the parts, or epsilon comes out above 1000.

    Notes
    -----
    The least of the three is valid: it is one of them, and which one depends on the totals alone, not on the data.
    Of events on disjoint groups of units each has its own guarantee at `delta`, and the weakest is that of all.

    References
    ----------
    Privacy specification 7.1; the proof of the second way is in ``accounting/gaussian.py``.

    Examples
    --------
    >>> from discreet.accounting.events import ComposedEvent, SelectionEvent
    >>> event = ComposedEvent((SelectionEvent(Fraction(1, 10), "gumbel"),) * 50)
    >>> guarantee_of(event, NeighboringRelation.REPLACE_ONE).epsilon
    Fraction(5, 1)
    >>> float(guarantee_of(event, NeighboringRelation.REPLACE_ONE, Fraction(1, 10**6)).epsilon)
    1.65997905
    """
    if type(event) is ParallelEvent:
        return _of_groups([guarantee_of(group, neighboring, delta) for group in event.events])
    totals, target_delta = totals_of(event), exact_delta(delta)
    if not totals.rho:
        raise UnsupportedEventError("An event must have at least one part with noise. A failure alone has no epsilon.")
    if not target_delta and not totals.gaussian_rho:
        return Guarantee(totals.pure, totals.failure, neighboring)
    remaining_delta = target_delta - totals.failure
    if remaining_delta < 0 or (totals.gaussian_rho and not remaining_delta):
        raise _delta_needed(totals, target_delta)
    return Guarantee(_least_epsilon(totals, remaining_delta), target_delta, neighboring)


def _of_groups(guarantees: list[Guarantee]) -> Guarantee:
    """A unit is in one group alone: the largest epsilon, and the largest delta."""
    if not guarantees:
        raise UnsupportedEventError("An event must have at least one part. No group of units has no cost to state.")
    epsilon, delta = (max(getattr(each, name) for each in guarantees) for name in ("epsilon", "delta"))
    return Guarantee(epsilon, delta, guarantees[0].neighboring)


def _least_epsilon(totals: Totals, delta: Fraction) -> Fraction:
    if totals.gaussian_rho:
        # A pure part's loss is at most its epsilon, and the lattice costs l: delta(epsilon) <= d(epsilon - shift; mu).
        shift = totals.pure + totals.lattice
        first = STEP * steps_of_gaussian(totals.gaussian_rho, delta, shift)
    else:
        first = totals.pure
    return min([first, *(STEP * steps_of_rho(rho, delta, epsilon) for epsilon, rho in totals.splits() if rho)])


def _delta_needed(totals: Totals, delta: Fraction) -> InvalidParameterError:
    if totals.gaussian_rho:
        why = "Gaussian noise needs delta above 0"
        why += f" and above what other parts may fail with, {plain(float(totals.failure))}" if totals.failure else ""
        enough = max(1e-6, 2.0 * float(totals.failure))
        return InvalidParameterError(f"{why}, but delta={plain(float(delta))}. Give a delta such as {plain(enough)}.")
    return InvalidParameterError(
        f"delta must cover what the parts may fail with, {plain(float(totals.failure))}, but "
        f"delta={plain(float(delta))}. "
        "Give a delta of at least that, or 0 to have that sum stated."
    )
