"""Whether center and scale of a target are estimated with noise, and for which share of epsilon: by public facts."""

from collections.abc import Mapping
from fractions import Fraction

from discreet.accounting.guarantee import exact_epsilon
from discreet.data.metadata import Metadata, NumericColumn, half_width
from discreet.mechanisms.quantile import rank_sensitivity

TYPICAL_ROWS = 3_000
"""Guess of the number of rows where it is private and nobody says."""

MEDIAN = Fraction(1, 2)

RANGES = {"y_center": 20, "y_bound": 10}
"""Of rank: how many of them all rows should be, by what is estimated. The median is sought among points most of which
lie beyond all rows, so it needs more."""

LEAST_SHARE = Fraction(3, 100)

MOST_SHARE = Fraction(1, 5)
"""Where even this is too little, few rows are there and a selection finds nothing: by default nothing is estimated."""


def has_two_values(metadata: Metadata, target: str) -> bool:
    """Tell whether the target is a whole number of two values, whose center and scale are known."""
    column = metadata.column(target)
    if not isinstance(column, NumericColumn) or not column.is_declared:
        return False
    return column.type == "integer" and half_width(column)[1] == 0.5


def rank_share(name: str, metadata: Metadata, n_rows: int | None, epsilon: float) -> Fraction:
    """Return the share of epsilon at which the noise of a rank is a small part of the rows, rounded to 1 / 1000."""
    rows = (n_rows or TYPICAL_ROWS) * exact_epsilon(epsilon)
    ranges = RANGES[name] * rank_sensitivity(MEDIAN, metadata.neighboring, metadata.rows_per_unit)
    return max(Fraction(-(-1000 * ranges // rows), 1000), LEAST_SHARE)


def target_shares(
    asked: Mapping[str, object], metadata: Metadata, target: str, n_rows: int | None, epsilon: float
) -> dict[str, Fraction]:
    """Return the share of epsilon of each estimate of the target, by name: of what is "private" as asked, and of what
    is None where the rows suffice; whatever else is asked is public.
    """
    shares = {name: rank_share(name, metadata, n_rows, epsilon) for name in asked}
    suffices = rank_share("y_center", metadata, n_rows, epsilon) <= MOST_SHARE
    by_default = suffices and not has_two_values(metadata, target)
    estimated = [name for name, value in asked.items() if value == "private" or (value is None and by_default)]
    return {name: min(shares[name], MOST_SHARE * RANGES[name] / RANGES["y_center"]) for name in estimated}
