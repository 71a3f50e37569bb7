"""Whether center and scale of a target are estimated with noise, and for which share of epsilon: by public facts."""

from collections.abc import Mapping
from fractions import Fraction

from discreet.accounting.guarantee import exact_epsilon
from discreet.data.metadata import Metadata, NumericColumn, half_width
from discreet.mechanisms.quantile import rank_sensitivity

TYPICAL_ROWS = 3_000
"""Guess of the number of rows where it is private and nobody says."""

MEDIAN = Fraction(1, 2)

RANGES = {"y_center": 40, "y_bound": 10}
"""Of rank: how many of them all rows should be, by what is estimated. The median is sought among points most of which
lie beyond all rows, and what it errs by widens the bound: it needs more."""

LEAST_SHARE = Fraction(3, 100)

MOST_SHARES = {"y_center": Fraction(1, 5), "y_bound": Fraction(1, 10)}

SUFFICE = 20
"""Ranges of rank in all rows, at the largest share: with fewer a selection finds nothing, and by default nothing is
estimated."""


def has_two_values(metadata: Metadata, target: str) -> bool:
    """Tell whether the target is a whole number of two values, whose center and scale are known."""
    column = metadata.column(target)
    if not isinstance(column, NumericColumn) or not column.is_declared:
        return False
    return column.type == "integer" and half_width(column)[1] == 0.5


def _ranges(metadata: Metadata, n_rows: int | None, epsilon: float) -> Fraction:
    """How many ranges of rank all rows are, at all of epsilon."""
    rows = (n_rows or TYPICAL_ROWS) * exact_epsilon(epsilon)
    return rows / rank_sensitivity(MEDIAN, metadata.neighboring, metadata.rows_per_unit)


def target_shares(
    asked: Mapping[str, object], metadata: Metadata, target: str, n_rows: int | None, epsilon: float
) -> dict[str, Fraction]:
    """Return the share of epsilon of each estimate of the target, by name: of what is "private" as asked, and of what
    is None where the rows suffice; whatever else is asked is public.
    """
    ranges = _ranges(metadata, n_rows, epsilon)
    by_default = ranges * MOST_SHARES["y_center"] >= SUFFICE and not has_two_values(metadata, target)
    estimated = [name for name, value in asked.items() if value == "private" or (value is None and by_default)]
    shares = {name: Fraction(-(-1000 * RANGES[name] // ranges), 1000) for name in estimated}
    return {name: min(max(share, LEAST_SHARE), MOST_SHARES[name]) for name, share in shares.items()}
