"""The same moments again, where rows are encoded as they were in an earlier release: their noise can be pooled."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from discreet.data.metadata import Metadata
from discreet.kernels.rows.unit_rows import Scaling
from discreet.methods.base.noise_budget import NoiseBudget
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.methods.moments.noisy_sums import NoisySums


class FurtherMoments(NoisyMoments):
    """Noisy moments whose columns' scales and center and bound of the target come from a release, and cost nothing.

    References
    ----------
    Privacy specification 6.1.
    """

    level: Annotated[
        tuple[float, float], Field(description="Center and bound of the target, as an earlier release holds them.")
    ]

    scaling: Annotated[
        tuple[tuple[int, ...], tuple[int, ...]] | None, Field(description="Of the columns, in an earlier release.")
    ] = None

    def shares_of_target(self, metadata: Metadata, target: str) -> dict[str, Fraction]:
        """Return the share of epsilon of each private estimate of the target: there is none."""
        del metadata, target
        return {}

    def sums(self, metadata: Metadata, target: str, columns: Sequence[str] | None) -> NoisySums:
        """Return the sums to be estimated: those of the earlier release."""
        sums = super().sums(metadata, target, columns)
        center, bound = self.level
        scaling = None if self.scaling is None else Scaling(*self.scaling)
        return replace(sums, design=replace(sums.design, center=center, bound=bound, scaling=scaling))

    def column_scales(self, sums: NoisySums, metadata: Metadata, budget: NoiseBudget) -> None:
        """Return what is bought of the columns: nothing, as they are scaled as they were."""
        del sums, metadata, budget
