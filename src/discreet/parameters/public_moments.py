"""What is known of the columns from elsewhere: means and covariances of a public table, or stated ones."""

import math
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.parameters.ranges import MAX_ROWS

ROUNDING, MOST_SKEWNESS = 1e-9, 1e6
"""By which share of its two variances a covariance may be off its mirror, or beyond them."""


class PublicMoments(BaseModel):
    """Means and covariances of columns, known from elsewhere: not from the private rows.

    Parameters
    ----------
    labels : tuple of str
        Columns, and column=level for each level of a category, which counts as 1 in its rows and 0 elsewhere.
    means : tuple of float
        Of each, in its own unit, cut at its bounds.
    covariance : tuple of tuple of float
        Of each with each.
    skewness : tuple of float, optional
        Third central moment of each over the cube of its standard deviation; none where it is not known.
    n_records : int, optional
        How many public records they were computed from; none where they are known by design.
    source : str
        Why they are public.
    sha256 : str, optional
        Digest of the public file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    labels: tuple[str, ...] = Field(min_length=1)
    means: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    skewness: tuple[Annotated[float, Field(ge=-MOST_SKEWNESS, le=MOST_SKEWNESS)], ...] | None = None
    n_records: Annotated[int, Field(ge=2, le=MAX_ROWS)] | None = None
    source: str = Field(default="", max_length=1000)
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        """Refuse numbers that no table has."""
        p = len(self.labels)
        lengths = {len(numbers) for numbers in (self.means, self.skewness or self.means, *self.covariance)}
        if len(set(self.labels)) < p or len(self.covariance) != p or lengths != {p}:
            raise ValueError(
                "public_moments must have a mean and a row of covariances for each label, each label once, but they do "
                "not fit."
            )
        sizes = [math.sqrt(max(row[place], 0.0)) for place, row in enumerate(self.covariance)]
        pairs = [(i, j, sizes[i] * sizes[j]) for i in range(p) for j in range(p)]
        entries = self.covariance
        if any(
            abs(entries[i][j] - entries[j][i]) > ROUNDING * scale or abs(entries[i][j]) > scale * (1.0 + ROUNDING)
            for i, j, scale in pairs
        ):
            raise ValueError(
                "public_moments must have a symmetric covariance, none larger than its two variances allow, but theirs "
                "is not."
            )
        return self


PublicMomentsOption = Annotated[
    PublicMoments | None,
    Field(
        description="Means and covariances of the columns that are known from elsewhere. They come from public records "
        "or from the design. They cost nothing, so all of epsilon is spent on the target. The selection is right only "
        "if the private rows have about the same means and covariances; this is assumed, and the release says so. By "
        "default there are none, and a part of epsilon is spent on them."
    ),
]
