"""A private bound of a screening's target: the median of its distances from the center."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.data.engine import Table
from discreet.data.score_design import ScoreDesign
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.target_places import CLIPS, clip_counts
from discreet.mechanisms.quantile import noisy_quantile
from discreet.mechanisms.rng import Source
from discreet.methods.base.part import Part
from discreet.methods.base.rank_part import rank_part
from discreet.methods.subset_selection.target_scale import MEDIAN


@dataclass(frozen=True)
class Bound:
    """The public plan of the private estimate of how far the target lies from its center.

    Parameters
    ----------
    design : ScoreDesign
        With half the width of the target's bounds as its bound, around any center.
    epsilon : Fraction
        In nats.
    """

    design: ScoreDesign
    epsilon: Fraction

    def part(self) -> Part:
        """Return the part with its privacy cost: permute-and-flip among the points of a public list."""
        return rank_part("y_bound", self.epsilon, MEDIAN, self.design.metadata, len(CLIPS))

    def estimate(self, table: Table, rng: Source) -> float:
        """Return the bound in the target's unit, above 0 and at most the design's. Claim: ``sis.privacy.md``."""
        metadata = self.design.metadata
        counts = table.target_counts(self.design, clip_counts, len(CLIPS))
        law = (metadata.neighboring, metadata.rows_per_unit, self.epsilon, rng)
        return float(CLIPS[noisy_quantile(counts, MEDIAN, *law)]) / GRID * self.design.bound
