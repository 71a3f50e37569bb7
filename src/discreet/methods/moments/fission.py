"""Noisy moments in two independent parts, one to select columns by and one to estimate them from (data fission)."""

import math

import numpy as np

from discreet.kernels.sufficient_statistics.cleaning import cleaned
from discreet.kernels.sufficient_statistics.regression import noisy_model
from discreet.mechanisms.additive import discrete_gaussian
from discreet.mechanisms.rng import Source
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.noisy_sums import noisy_gram
from discreet.parameters.shared import LINEAR_COEF_BOUND
from discreet.release import ClippedRecord, FissionRecord, MomentsRecord
from discreet.typing import Floats

FISSION = "fission"
"""As `selective_inference` calls it."""

SHARE = 0.5
"""Of what the moments tell, for the selection; the rest is for estimates."""

STEPS = 2**40
"""In a standard deviation of the noise that divides the moments."""


def with_parts(record: MomentsRecord, rng: Source, share: float = SHARE) -> MomentsRecord:
    """Return the moments with the part that columns are selected by, drawn once and kept.

    Parameters
    ----------
    record : MomentsRecord
        Released moments T, of one pass.
    rng : Source
        Where the dividing noise comes from.
    share : float
        a, in (0, 1): of the selecting part.

    Returns
    -------
    MomentsRecord
        The same, with `fission`.

    Notes
    -----
    T is about N(theta, V), V the variance of sampling and of the privacy noise together. The selecting part is
    A = a T + R, R ~ N(0, a (1 - a) V) independent of T; the estimating part is B = (1 - a) T - R. They add up to T,
    Cov(A, B) = a (1 - a) V - Var R = 0, and A, B look like the noisy moments of a n and (1 - a) n rows with a and
    1 - a times the noise's variance. Of V the noise's part is public. The part of sampling is that of the score
    X'y - X'X b, which is sigma^2 X'X where errors are of equal variance and rows of one length; sigma^2, X'X and what
    the lengths of unit rows change come from T itself. y'y moves with X'y as the residuals' squares do not depend on
    it. Post-processing of T: claim ``fission.privacy.md``.

    References
    ----------
    Leiner, Duan, Wasserman and Ramdas 2023; Rasines and Young 2023.
    """
    unit, spread = float(record.grid) ** 2, math.sqrt(share * (1.0 - share))
    scales = np.array([1.0 if owner is not None else record.constant for owner in record.owners])
    coef, covariance = _sampling(record)
    values, vectors = np.linalg.eigh(covariance)
    p = len(scales)
    moved = vectors @ (np.sqrt(np.maximum(values, 0.0)) * _normals(p, rng))  # in scaled units, the constant being 1
    xty = moved * scales * unit + np.sqrt(np.array(record.xty_variance)) * _normals(p, rng)
    yty = 2.0 * float(coef @ moved) * unit + math.sqrt(record.yty_variance) * float(_normals(1, rng)[0])
    rows = math.sqrt(record.n_rows_variance) * float(_normals(1, rng)[0])
    upper = np.triu_indices(p)
    gram = np.zeros((p, p))
    gram[upper] = np.sqrt(np.array(record.gram_variance)[upper]) * _normals(len(upper[0]), rng)
    if record.owners[:1] == (None,) and _is_count(record):
        gram[0, 0] = rows * unit * record.constant**2  # one number, told twice
    gram = np.triu(gram) + np.triu(gram, 1).T
    part = FissionRecord(
        share=share,
        gram=tuple(
            tuple(round(share * value + spread * noise) for value, noise in zip(*pair, strict=True))
            for pair in zip(record.gram, gram.tolist(), strict=True)
        ),
        xty=tuple(round(share * value + spread * noise) for value, noise in zip(record.xty, xty.tolist(), strict=True)),
        yty=round(share * record.yty + spread * yty),
        n_rows=max(share * record.n_rows + spread * rows, share),
    )
    return record.model_copy(update={"fission": part})


def parts_of(record: MomentsRecord, inference: object) -> tuple[MomentsRecord, MomentsRecord]:
    """Return the moments to select by and those to estimate from.

    Parameters
    ----------
    record : MomentsRecord
        As they stand in a release.
    inference : object
        The `selective_inference` of the request.

    Returns
    -------
    tuple of MomentsRecord
        Both parts for ``fission``, where the release has them; else twice the moments.
    """
    if inference != FISSION or record.fission is None:
        return record, record
    return _selecting(record, record.fission), _estimating(record, record.fission)


def _selecting(record: MomentsRecord, part: FissionRecord) -> MomentsRecord:
    return _part(record, part.share, part.gram, part.xty, part.yty, part.n_rows)


def _estimating(record: MomentsRecord, part: FissionRecord) -> MomentsRecord:
    """What the selecting part leaves."""
    gram = tuple(
        tuple(whole - taken for whole, taken in zip(*rows, strict=True))
        for rows in zip(record.gram, part.gram, strict=True)
    )
    xty = tuple(whole - taken for whole, taken in zip(record.xty, part.xty, strict=True))
    n_rows = max(record.n_rows - part.n_rows, 1.0 - part.share)
    return _part(record, 1.0 - part.share, gram, xty, record.yty - part.yty, n_rows)


def _part(
    record: MomentsRecord,
    share: float,
    gram: tuple[tuple[int, ...], ...],
    xty: tuple[int, ...],
    yty: int,
    n_rows: float,
) -> MomentsRecord:
    """Moments of a share of the rows, as they look: all variances, too, are that share."""
    clipped, weights = record.clipped, record.sum_of_weights
    return record.model_copy(
        update={
            "fission": None,
            "gram": gram,
            "xty": xty,
            "yty": yty,
            "n_rows": n_rows,
            "n_rows_variance": share * record.n_rows_variance,
            "sum_of_weights": None if weights is None else share * weights,
            "clipped": None if clipped is None else _share_of(clipped, share),
            "gram_variance": tuple(tuple(share * entry for entry in row) for row in record.gram_variance),
            "xty_variance": tuple(share * entry for entry in record.xty_variance),
            "yty_variance": share * record.yty_variance,
        }
    )


def _share_of(clipped: ClippedRecord, share: float) -> ClippedRecord:
    return clipped.model_copy(update={"low": share * clipped.low, "high": share * clipped.high})


def _is_count(record: MomentsRecord) -> bool:
    """Whether the constant's own square is the number of rows, and not a sum with noise of its own."""
    unit = float(record.grid) ** 2
    return abs(record.gram[0][0] - record.n_rows * unit * record.constant**2) <= 1.0


def _sampling(record: MomentsRecord) -> tuple[Floats, Floats]:
    """Coefficients on all columns, and the variance of X'y by the choice of rows, both from the moments.

    In scaled units, the constant being 1. Shapes: (p,), (p, p).
    """
    answers = MomentAnswers(record)
    moments, places = noisy_gram(record), list(answers.places)
    model = noisy_model(moments, places, LINEAR_COEF_BOUND, constant=answers.constant, dummies=answers.dummies)
    coef = np.zeros(len(record.owners))
    coef[places] = model.shrunken.coef
    gram = cleaned(moments, answers.constant, answers.dummies).gram
    gram = (gram + gram.T) / 2.0
    likely = answers.likely_rows
    return coef, model.sigma2 * (gram if likely is None else likely.sampling(gram, list(range(len(gram)))))


def _normals(count: int, rng: Source) -> Floats:
    """Standard normal numbers, on a fine grid."""
    steps: Floats = np.array(discrete_gaussian([0] * count, STEPS, rng), dtype=np.float64) / STEPS
    return steps
