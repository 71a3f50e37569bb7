"""The same moments, drawn several times, as one record."""

from collections.abc import Sequence
from typing import Any

from discreet.release import MomentsRecord


def pooled(records: Sequence[MomentsRecord]) -> MomentsRecord:
    """Return the means of the same moments, drawn several times, weighted by the precision of each draw's noise.

    Gaussian noise is then as small as that of one draw at the cost of all; that of draws for pure epsilon is larger, as
    its precision goes with the square of epsilon.
    """
    first = records[0]
    precisions = [1.0 / max(record.xty_variance[0], 1e-300) for record in records]
    weights = [precision / sum(precisions) for precision in precisions]

    def mean(values: Sequence[Any]) -> Any:
        """Of whole numbers or tuples of them."""
        if isinstance(values[0], tuple):
            return tuple(mean(entries) for entries in zip(*values, strict=True))
        total = sum(weight * value for weight, value in zip(weights, values, strict=True))
        return round(total) if isinstance(values[0], int) else total

    def spread(values: Sequence[Any]) -> Any:
        """Of independent noise: the squares of the weights count."""
        if isinstance(values[0], tuple):
            return tuple(spread(entries) for entries in zip(*values, strict=True))
        return sum(weight**2 * value for weight, value in zip(weights, values, strict=True))

    changed = {name: mean([getattr(record, name) for record in records]) for name in ("gram", "xty", "yty", "n_rows")}
    variances = ("gram_variance", "xty_variance", "yty_variance", "n_rows_variance")
    changed |= {name: spread([getattr(record, name) for record in records]) for name in variances}
    return first.model_copy(update=changed)
