"""Public means and covariances of the columns, in the units of encoded rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.data.design import Design
from discreet.data.metadata import NumericColumn, half_width
from discreet.errors import InvalidParameterError, MetadataError
from discreet.parameters.public_moments import PublicMoments
from discreet.parameters.ranges import MAX_ROWS
from discreet.release import KnownRecord
from discreet.typing import Bools, Floats

TYPICAL_SKEWNESS = 1.5
"""Supposed where nothing is known: between a normal column, 0, and waiting times, 2."""

TAILS = 0.4
"""Times the mean square of the columns' skewness: what products of skewed columns vary by beside normal ones. Of a
square that is 3/4, on Pearson's line of kurtosis by skewness; of a product of two columns next to nothing.
"""


@dataclass(frozen=True)
class KnownColumns:
    """What is known of the columns of encoded rows: numbers in [-1, 1], of a category a 0 or 1 a level.

    Parameters
    ----------
    means : ndarray of float, shape (p,)
        Of the candidates' cells.
    covariance : ndarray of float, shape (p, p)
        Of the same.
    is_level : ndarray of bool, shape (p,)
        Which are levels of a category.
    skewness : ndarray of float, shape (p,)
        Of the same; `TYPICAL_SKEWNESS` where it is not known.
    n_records : int or None
        How many public records they rest on; None where they are known by design.
    sha256, source : str
        Which file they are of, and why it is public.
    """

    means: Floats
    covariance: Floats
    is_level: Bools
    skewness: Floats
    n_records: int | None
    sha256: str | None = None
    source: str = ""

    @classmethod
    def of(cls, stated: PublicMoments, design: Design) -> "KnownColumns":
        """Return what is stated of a design's candidates, or say what is missing or not possible."""
        public = design.metadata.public
        if stated.sha256 is not None and (public is None or public.sha256 != stated.sha256):
            raise MetadataError(
                "Moments of a public file need its digest in the metadata, but `public.sha256` is not theirs. Declare "
                "the file, or compute them from the one that is declared."
            )
        place_of = {label: place for place, label in enumerate(stated.labels)}
        labels, middles, halves, is_level = list[str](), list[float](), list[float](), list[bool]()
        for name in design.candidates:
            column = design.metadata.declared(name)
            if isinstance(column, NumericColumn):
                entries = [(name, *half_width(column), False)]
            else:
                entries = [(f"{name}={level}", 0.0, 1.0, True) for level in column.levels or ()]
            for label, middle, half, of_level in entries:
                labels, middles = [*labels, label], [*middles, middle]
                halves, is_level = [*halves, half], [*is_level, of_level]
        missing = [label for label in labels if label not in place_of]
        if missing:
            raise InvalidParameterError(
                f"public_moments must have every candidate, of a category each level, but {missing[0][:60]!r} is "
                "missing. Name fewer candidates, or add it."
            )
        at = [place_of[label] for label in labels]
        means = (np.array(stated.means)[at] - middles) / halves
        covariance = np.array(stated.covariance)[np.ix_(at, at)] / np.outer(halves, halves)
        # A level that no public record has may still be one that private rows have.
        least = np.where(is_level, 1.0 / (stated.n_records or MAX_ROWS), 0.0)
        np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), least))
        _check(labels, means, covariance)
        skewness = np.full(len(at), TYPICAL_SKEWNESS) if stated.skewness is None else np.array(stated.skewness)[at]
        return cls(means, covariance, np.array(is_level), skewness, stated.n_records, stated.sha256, stated.source)

    def record(self, means: Sequence[float]) -> KnownRecord:
        """Return what a release says of them, with the means of X's columns."""
        tails = 1.0 + TAILS * float(np.mean(self.skewness**2))
        return KnownRecord(
            n_records=self.n_records, sha256=self.sha256, source=self.source, means=tuple(means), tails=tails
        )


LEAST_EIGENVALUE = -1e-9
"""Of the correlation matrix, for rounding."""


def _check(labels: list[str], means: Floats, covariance: Floats) -> None:
    """Refuse what is not possible within the bounds."""
    # Of cells in [-1, 1] the mean square is at most 1; a sample's variance has n - 1 in it.
    impossible = (np.abs(means) > 1.0) | (covariance.diagonal() > 2.0 * (1.0 - means**2) + 1e-9)
    if impossible.any():
        raise InvalidParameterError(
            "public_moments must be possible within the columns' bounds, but those of "
            f"{labels[int(impossible.argmax())][:60]!r} are not. Give them in the column's own unit."
        )
    if (covariance.diagonal() <= 0.0).any():
        label = labels[int((covariance.diagonal() <= 0.0).argmax())]
        raise InvalidParameterError(
            f"public_moments must be of columns that vary, but {label[:60]!r} does not. Leave it out of the candidates."
        )
    sd = np.sqrt(covariance.diagonal())
    if len(sd) and np.linalg.eigvalsh(covariance / np.outer(sd, sd))[0] < LEAST_EIGENVALUE:
        raise InvalidParameterError(
            "public_moments must have the covariance matrix of a table, with no negative eigenvalue, but no table has "
            "theirs. Correct the matrix."
        )
