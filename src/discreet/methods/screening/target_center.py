"""The target's center where it is private: its mean with noise, with the number of rows where that is private too, or
its noisy median.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.events import LaplaceEvent
from discreet.data.engine import Table
from discreet.data.metadata import NumericColumn
from discreet.data.score_design import ScoreDesign
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.target_places import CENTERS, center_counts
from discreet.mechanisms.additive import check_scale, discrete_laplace
from discreet.mechanisms.quantile import noisy_quantile
from discreet.mechanisms.rng import Source
from discreet.methods.base.part import Part
from discreet.methods.base.rank_part import rank_part
from discreet.methods.subset_selection.target_scale import MEDIAN
from discreet.release import NoiseRecord

CLAIM = "methods/screening/sis.privacy.md"


def has_two_values(design: ScoreDesign) -> bool:
    """Tell whether the target is known to have two values, from public facts."""
    column = design.metadata.declared(design.target)
    if isinstance(column, NumericColumn):
        return column.type == "integer" and design.bound == 0.5
    return design.codes is None or len({number for _, number in design.codes}) == 2


@dataclass(frozen=True)
class Center:
    """The public plan of the private estimate of the target's mean.

    Parameters
    ----------
    design : ScoreDesign
        With the middle of the target's bounds or codes as its center, and half their width as its bound.
    epsilon : Fraction
        In nats.

    Notes
    -----
    Under replace_one the sum S of the target gets noise of sensitivity 2 c rows, c = `rows_per_unit`, and is divided by
    the public number of rows. Under add_or_remove_one each row counts (1 + y) / 2 to one sum and (1 - y) / 2 to the
    other: their l1 sensitivity is c, that of a count alone, their sum is the count and their difference S. So the count
    comes free, with half the noise variance that estimates of S and of the count at half of epsilon each would have.
    Where the number of units is public and that of rows is not, these two sums change by 2 c: a row that is replaced
    moves from the one to the other.
    """

    design: ScoreDesign
    epsilon: Fraction

    @property
    def _knows_count(self) -> bool:
        return self.design.metadata.n_rows is not None

    @property
    def sensitivity(self) -> int:
        """The l1 sensitivity of what gets noise, in whole steps: of S, or of the two sums of 1 + y and 1 - y."""
        metadata = self.design.metadata
        moved = 2 if metadata.n_units is not None else 1  # a replaced row may count to the other sum, 2 + 2
        return moved * 2 * GRID * metadata.rows_per_unit

    def part(self, name: str = "y_center") -> Part:
        """Return the part with its privacy cost: discrete Laplace noise."""
        rows = self.design.metadata.rows_per_unit
        check_scale(self.sensitivity / self.epsilon, "the target's mean")
        step = GRID if self._knows_count else 2 * GRID
        unit = (
            "sum of the scaled target" if self._knows_count else "rows that count as high, and rows that count as low"
        )
        box = NoiseRecord(
            mechanism="discrete_laplace",
            noise="laplace",
            sensitivity=self.sensitivity / step,
            scale=float(self.sensitivity / self.epsilon) / step,
            unit=unit,
            formula=f"2 x {rows}, rows of one unit" if self._knows_count else self._of_two_sums(rows),
            numerics="exact draw on whole steps",
            claim=CLAIM,
        )
        return Part(name, LaplaceEvent(self.epsilon), box)

    def _of_two_sums(self, rows: int) -> str:
        factor = "2 x " if self.design.metadata.n_units is not None else ""
        return f"{factor}{rows}, rows of one unit, both together"

    @property
    def variance(self) -> float:
        """Variance of the noise of the target's sum, in rows of the scaled target."""
        # Half the difference of two sums in steps of 2 GRID has the variance of one of them in steps of GRID, halved.
        scale = float(self.sensitivity / self.epsilon) / GRID
        return 2.0 * scale**2 if self._knows_count else scale**2

    def estimate(self, table: Table, rng: Source) -> tuple[float, float]:
        """Return the target's noisy mean on its scaled range, in [-1, 1], and the number of rows, 1 at least.

        The number has noise where it is private. Claim: ``sis.privacy.md``. Cost: one pass over the target.
        """
        total, count = table.target_sum(self.design)
        scale = self.sensitivity / self.epsilon
        if self._knows_count:
            noisy, rows = discrete_laplace([total], scale, rng)[0], GRID * (self.design.metadata.n_rows or 1)
        else:
            # Sums of S + y and of S - y: both are nonnegative and add up to 2 S a row, so a row more moves them by 2 S
            # in l1.
            high, low = discrete_laplace([GRID * count + total, GRID * count - total], scale, rng)
            noisy, rows = high - low, max(high + low, 1)
        mean = min(max(Fraction(noisy, rows), Fraction(-1)), Fraction(1))
        return float(mean), max(rows / (GRID if self._knows_count else 2 * GRID), 1.0)


@dataclass(frozen=True)
class Median:
    """The public plan of the private estimate of the target's median, which costs no more where its bounds are wide.

    Parameters
    ----------
    design : ScoreDesign
        With the middle of the target's bounds as its center, and half their width as its bound.
    epsilon : Fraction
        In nats.
    """

    design: ScoreDesign
    epsilon: Fraction

    def part(self) -> Part:
        """Return the part with its privacy cost: permute-and-flip among equally spaced points."""
        return rank_part("y_center", self.epsilon, MEDIAN, self.design.metadata, CENTERS)

    def estimate(self, table: Table, rng: Source) -> tuple[float, None]:
        """Return the target's noisy median on its scaled range, in [-1, 1], and no number of rows.

        Claim: ``sis.privacy.md``. Cost: one pass over the target.
        """
        metadata = self.design.metadata
        counts = table.target_counts(self.design, center_counts, CENTERS)
        place = noisy_quantile(counts, MEDIAN, metadata.neighboring, metadata.rows_per_unit, self.epsilon, rng)
        return 2.0 * place / (CENTERS - 1) - 1.0, None
