"""A private quantile as a part of a request: a point of a public list, drawn by its distance in rank."""

from fractions import Fraction

from discreet.accounting.events import SelectionEvent
from discreet.data.metadata import Metadata
from discreet.mechanisms.quantile import rank_sensitivity
from discreet.mechanisms.selection import NOISE_OF_MECHANISM
from discreet.methods.base.part import Part
from discreet.release import NoiseRecord


def rank_part(
    name: str,
    epsilon: Fraction,
    quantile: Fraction,
    metadata: Metadata,
    n_points: int,
    mechanism: str = "permute_and_flip",
    words: str | None = None,
) -> Part:
    """Return the part with its privacy cost; `words` name the quantile in the noise box."""
    gamma = rank_sensitivity(quantile, metadata.neighboring, metadata.rows_per_unit)
    noise = NOISE_OF_MECHANISM[mechanism]
    box = NoiseRecord(
        mechanism=mechanism,
        noise=noise,
        n_candidates=n_points,
        sensitivity=float(gamma),
        scale=float(gamma / epsilon),
        unit="rows",
        formula=f"{float(gamma):g}: distance in rank of {words or f'quantile {float(quantile):g}'}",
        numerics="exact draw",
        claim="mechanisms/quantile.privacy.md",
    )
    return Part(name, SelectionEvent(epsilon, noise), box)
