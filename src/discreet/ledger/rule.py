"""The budget rule, stated once: what a cap holds, in whole numbers and in the columns of the database alike.

A cap is fixed beforehand, and a cost is charged while it fits below what is left of the cap. Each next request, its
epsilon included, may depend on all earlier releases: what was charged in this way stays within the cap. This is not
true of a bound computed at a time that the releases decide: the running sum of epsilon bounds the loss at any time and
may be shown as such, the running rho may be shown as rho, but only the cap on rho converts to an epsilon.

References
----------
Rogers, Roth, Ullman, Vadhan 2016 (sums of epsilon and of delta); Feldman and Zrnic 2021, Whitehouse, Ramdas, Rogers, Wu
2023 (sums of rho, approximate zCDP included); privacy specification 7.1.
"""

from collections.abc import Mapping
from typing import Any

from discreet.ledger.records import Accounting

NO_COST = dict.fromkeys(("epsilon", "delta", "rho", "failure"), 0)


def held(accounting: Accounting) -> tuple[str, str]:
    """Return the two amounts that a cap holds; under zCDP epsilon and delta only inform."""
    return ("rho", "failure") if accounting is Accounting.ZCDP else ("epsilon", "delta")


def conditions(accounting: Accounting, sums: Any, cost: Mapping[str, Any]) -> dict[str, Any]:
    """Return a truth value, or a condition of SQL, for each sum that the cap holds: all are true of a cost that fits.

    Examples
    --------
    >>> sums = {"epsilon_cap": 10, "epsilon_spent": 9, "delta_cap": 0, "delta_spent": 0}
    >>> conditions(Accounting.BASIC, sums, {"epsilon": 1, "delta": 1})
    {'epsilon': True, 'delta': False}
    """
    return {name: sums[f"{name}_spent"] + (cost[name] or 0) <= sums[f"{name}_cap"] for name in held(accounting)}
