"""Filters: a cap fixed beforehand that holds however what is spent under it was chosen.

Each next event, its epsilon included, may depend on all earlier releases; what a filter admits stays within the cap.
This is not true of a bound computed at a time that the releases decide: the running sum of pure epsilon bounds the loss
at any time and may be shown as such, the running rho may be shown as rho, but only the cap on rho converts to an
epsilon.

References
----------
Rogers, Roth, Ullman, Vadhan 2016 (sums of epsilon and of delta); Feldman and Zrnic 2021, Whitehouse, Ramdas, Rogers, Wu
2023 (sums of rho, approximate zCDP included); privacy specification 7.1.
"""

from abc import ABC, abstractmethod
from fractions import Fraction

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import Event
from discreet.accounting.guarantee import Number, exact, exact_delta
from discreet.accounting.neighbors import NeighboringRelation
from discreet.accounting.totals import totals_of
from discreet.accounting.zcdp import epsilon_of_rho, rho_of
from discreet.errors import BudgetExceededError, InvalidParameterError

ZERO = Fraction(0)
Cost = tuple[Fraction, Fraction]


class Filter(ABC):
    """Two caps and two sums. A filter differs from another in what an event costs.

    Parameters
    ----------
    name : str
        What the first cap counts.
    cap : float, int, str, Decimal or Fraction
        Positive.
    delta_cap : float, int, str, Decimal or Fraction
        In [0, 1).
    """

    def __init__(self, name: str, cap: Number, delta_cap: Number) -> None:
        self._name = name
        self.caps: Cost = (exact(cap, name), exact_delta(delta_cap))
        self.spent: Cost = (ZERO, ZERO)
        if self.caps[0] <= 0:
            raise InvalidParameterError(f"A cap must be positive, but {name}={cap}.")

    @abstractmethod
    def cost(self, event: Event) -> Cost:
        """Return what an event costs.

        Parameters
        ----------
        event : Event
            What is to be done to the data.

        Returns
        -------
        tuple of Fraction
            In the unit of the first cap, and delta.
        """

    def admits(self, event: Event) -> bool:
        """Tell whether an event fits below both caps.

        Parameters
        ----------
        event : Event
            What is to be done to the data.

        Returns
        -------
        bool
            False when it costs too much of either.
        """
        return self._fits(self.cost(event))

    def spend(self, event: Event) -> None:
        """Charge an event, before it is done.

        Parameters
        ----------
        event : Event
            What is to be done to the data.

        Raises
        ------
        BudgetExceededError
            When it does not fit; nothing is charged then.
        """
        cost = self.cost(event)
        if not self._fits(cost):
            left = [cap - spent for cap, spent in zip(self.caps, self.spent, strict=True)]
            raise BudgetExceededError(
                f"An event must fit below the cap, but it costs {self._name}={float(cost[0]):g} and "
                f"delta={float(cost[1]):g}, and {float(left[0]):g} and {float(left[1]):g} are left. Ask for less.",
                cost[0],
                left[0],
            )
        self.spent = (self.spent[0] + cost[0], self.spent[1] + cost[1])

    def _fits(self, cost: Cost) -> bool:
        return all(spent + part <= cap for spent, part, cap in zip(self.spent, cost, self.caps, strict=True))


class PureFilter(Filter):
    """Pure differential privacy: a cap on the sum of epsilon, which bounds the privacy loss at any time.

    Parameters
    ----------
    cap : float, int, str, Decimal or Fraction
        In nats, positive.

    Examples
    --------
    >>> from discreet.accounting.events import LaplaceEvent
    >>> budget = PureFilter(1)
    >>> budget.spend(LaplaceEvent(Fraction(3, 4)))
    >>> budget.admits(LaplaceEvent(Fraction(3, 4))), budget.spent[0]
    (False, Fraction(3, 4))
    """

    def __init__(self, cap: Number) -> None:
        super().__init__("epsilon", cap, 0)

    def cost(self, event: Event) -> Cost:
        """Return the sum of an event's epsilons.

        Parameters
        ----------
        event : Event
            What is to be done to the data.

        Returns
        -------
        tuple of Fraction
            Epsilon in nats, and 0.

        Raises
        ------
        InvalidParameterError
            When the event is not pure.
        """
        totals = totals_of(event)
        if totals.gaussian_rho or totals.failure:
            raise InvalidParameterError(
                "A pure cap takes events without delta, but this one has Gaussian noise or may fail. "
                "Use a filter with a cap on delta."
            )
        return totals.pure, ZERO


class ApproximateFilter(Filter):
    """Approximate differential privacy: caps on the sums of epsilon and of delta.

    Parameters
    ----------
    epsilon : float, int, str, Decimal or Fraction
        Cap on epsilon, in nats, positive.
    delta : float, int, str, Decimal or Fraction
        Cap on delta, in [0, 1).
    delta_each : float, int, str, Decimal or Fraction
        The delta to state the epsilon of each event at; 0 takes events without Gaussian noise alone.

    Examples
    --------
    >>> from discreet.accounting.events import GaussianEvent
    >>> budget = ApproximateFilter(2, 1e-5, 1e-6)
    >>> budget.spend(GaussianEvent(Fraction(1, 50), Fraction(0)))
    >>> budget.spent[1]
    Fraction(1, 1000000)
    """

    def __init__(self, epsilon: Number, delta: Number, delta_each: Number = 0) -> None:
        super().__init__("epsilon", epsilon, delta)
        self.delta_each = exact_delta(delta_each)

    def cost(self, event: Event) -> Cost:
        """Return an event's guarantee at `delta_each`.

        Parameters
        ----------
        event : Event
            What is to be done to the data.

        Returns
        -------
        tuple of Fraction
            Epsilon in nats, and delta.
        """
        # Epsilon does not depend on the relation: the event's own numbers hold under it.
        found = guarantee_of(event, NeighboringRelation.REPLACE_ONE, self.delta_each)
        return found.epsilon, found.delta


class ZCDPFilter(Filter):
    """Zero-concentrated differential privacy: a cap on the sum of rho, and one on what may fail.

    Parameters
    ----------
    rho_cap : float, int, str, Decimal or Fraction
        Cap on rho, positive.
    failure_cap : float, int, str, Decimal or Fraction
        Cap on the sum of failure probabilities, in [0, 1).

    Examples
    --------
    >>> from discreet.accounting.events import SelectionEvent
    >>> budget = ZCDPFilter("0.0625")
    >>> for _ in range(50):
    ...     budget.spend(SelectionEvent(Fraction(1, 10), "gumbel"))
    >>> budget.admits(SelectionEvent(Fraction(1, 10), "gumbel")), float(budget.epsilon_at(1e-6))
    (False, 1.65997905)
    """

    def __init__(self, rho_cap: Number, failure_cap: Number = 0) -> None:
        super().__init__("rho", rho_cap, failure_cap)

    def cost(self, event: Event) -> Cost:
        """Return an event's zero-concentrated cost.

        Parameters
        ----------
        event : Event
            What is to be done to the data.

        Returns
        -------
        tuple of Fraction
            Rho, and the probability of failure.
        """
        return rho_of(event)

    def epsilon_at(self, delta: Number) -> Fraction:
        """Return the epsilon of all that is ever admitted: that of the cap, whatever is spent of it.

        Parameters
        ----------
        delta : float, int, str, Decimal or Fraction
            Above the cap on failures, below 1.

        Returns
        -------
        Fraction
            In nats, rounded up.

        Raises
        ------
        InvalidParameterError
            When delta leaves nothing beside failures.
        """
        left = exact_delta(delta) - self.caps[1]
        if left <= 0:
            raise InvalidParameterError(
                f"delta must be above the cap on failures, {float(self.caps[1]):g}, but delta={delta}."
            )
        return epsilon_of_rho(self.caps[0], left)
