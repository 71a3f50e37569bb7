"""The sampling variance of a score by what units do, not by what the family says: the middle of a sandwich.

At the estimate each unit has a score, the sum over its rows of residual times x. Their squares added up,
S = sum s s', estimate the sampling variance of the whole score whatever the rows of a unit have in common and however
much the response varies; the family's own variance J stands for rows that are independent and vary as it says. One pass
releases S with noise. Scores are taken in units of the whole score's covariance V, in which noise of a standard
deviation d on S is a relative error d of the variance of any coefficient. They are cut in length, as one unit must not
do more than another: z = V^-1/2 s, sum z z' with |z|^2 <= T, and, much less noisy, sum min(|z|^2, T_s).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtrit

from discreet.kernels.glm.families import RowMap
from discreet.kernels.glm.score import ScoreModel
from discreet.kernels.glm.unit_scores import UnitScores, unit_scores
from discreet.kernels.moments.moments import GRID
from discreet.typing import Floats

SPREAD, EARLY_SPREAD = 0.06, 0.03
"""Shares of mu^2 of this pass, and of one before that tells in which coordinates scores of counts vary alike."""

OF_LENGTHS = 1.0 / 3.0
"""Share of that for the sum of squared lengths; the rest is for the products."""

TYPICAL_LENGTHS, LONG_LENGTHS = ((8.0, 64.0), (20.0, 100.0)), ((8.0, 2000.0), (20.0, 4000.0))
"""Squared lengths are cut between these multiples of what the family expects: of products, and of lengths; and where
some scores are far longer than others."""

RELATIVE = 0.15, 0.08
"""Relative error of a variance by noise that a wider cut may bring: on products, and on lengths."""

MOST_RATIO = 4096
"""Of the two cuts."""

LEAST_DEVIATION, MOST_DEVIATION = 0.15, 3.0
"""How far S is supposed to be from a multiple of J, relative to it; more, up to the second, shows in the sums."""

LEAST_VARIANCE = 0.25
"""S is no smaller than this part of J in any direction, and no smaller than J on average."""

CLEARLY = 2.0
"""Standard errors, for a variance below J where one is cautious."""

MOST_DISPERSION = 2.0
"""Times the dispersion that clipped counts are supposed to have at most."""

UPPER = 0.975
"""Quantile at which intervals are compared."""

LEAST_PART = 1e-9
"""Of a score's covariance that is sampling at least: noise may leave nothing of J."""


@dataclass(frozen=True)
class SpreadRequest:
    """Sums to be released with independent Gaussian noise, as those of a pass for the score.

    Parameters
    ----------
    row_map : UnitScores
        Its `sums` are the integers.
    mu : float
        What the release costs, as Gaussian differential privacy, of one row: of a unit so many times as it may own.
    sd_gradient, sd_diagonal, sd_above : float
        Standard deviations, in the integers' units: on the last column, on the diagonal, and above it.
    """

    row_map: UnitScores
    mu: float
    sd_gradient: float
    sd_diagonal: float
    sd_above: float


@dataclass(frozen=True)
class Units:
    """What is public, or known from earlier passes, about units.

    Parameters
    ----------
    count : float
        About how many there are; rather too few.
    rows : int
        The most rows of one.
    row_norm : float
        The most that a row's norm can be.
    replace : bool
        Neighbors differ by a unit's content, else by its presence.
    """

    count: float
    rows: int
    row_norm: float
    replace: bool


@dataclass(frozen=True)
class Dispersion:
    """What clipped counts that are more spread than Poisson ones do to a score.

    Parameters
    ----------
    moved : ndarray of float, shape (p,)
        How far off its mean is then.
    excess : ndarray of float, shape (p, p)
        What is added to its variance.
    """

    moved: Floats
    excess: Floats


@dataclass(frozen=True)
class Spread:
    """The pass as it is planned from earlier ones.

    Parameters
    ----------
    map : UnitScores
        What is added up.
    mu : float
        Its cost, as Gaussian differential privacy of one unit.
    root : ndarray of float, shape (p, p)
        V^1/2, symmetric.
    sampling : ndarray of float, shape (p, p)
        J in units of V.
    cut : float
        T, in units of V.
    units : Units
        Whose scores.
    dispersion : Dispersion, optional
        Where the mean rests on how spread counts are.
    """

    map: UnitScores
    mu: float
    root: Floats
    sampling: Floats
    cut: float
    units: Units
    dispersion: Dispersion | None = None

    @property
    def sds(self) -> tuple[float, float]:
        """Noise on the lengths and on the products' diagonal, in the integers' units; less by sqrt(2) beside it."""
        return spread_sds(self.mu, self.units.replace)

    def request(self) -> SpreadRequest:
        """Return what is to be released."""
        of_lengths, of_products = self.sds
        return SpreadRequest(self.map, self.mu / self.units.rows, of_lengths, of_products, of_products / 2.0**0.5)

    def robust(
        self, model: ScoreModel, sums: Floats, is_cautious: bool = False, most: float = math.inf
    ) -> tuple[ScoreModel, "Reliability | None"]:
        """Return the score with the sampling variance that units show, and how well that is known.

        Where cautious it is not below J in any direction but by as much as stands out of its noise. It is known to be
        at most `most` times J; that, as known, is returned where it gives the shorter intervals.
        """
        unit = self.cut / GRID**2
        of_lengths, of_products = (sd * unit for sd in self.sds)
        ratio, trace = self.map.ratio, float(np.trace(self.sampling))
        factor, of_factor = float(sums[0, -1]) * unit * ratio / trace, of_lengths * ratio / trace
        unknown = self._of_dispersion(factor + of_factor)
        factor = min(max(factor, 1.0), most)
        spread, errors, basis = _shrunk(sums[:, :-1] * unit, of_products, factor, self.sampling, is_cautious)
        new = np.eye(len(spread)) - self.sampling + spread
        sampling = self.root @ spread @ self.root + unknown
        sizes = np.einsum("ij,ik,kj->j", basis, self.sampling, basis)
        total, turned = self.root @ new @ self.root + unknown, self.root @ basis
        errors = (errors + errors.T) / 2.0
        known = Reliability((total + total.T) / 2.0, turned, sizes, errors, of_factor, self.units.count)
        if self._is_longer(known, most):
            return replace(model, sampling=most * (self.root @ self.sampling @ self.root)), None
        return replace(model, sampling=(sampling + sampling.T) / 2.0), known

    def _is_longer(self, known: "Reliability", most: float) -> bool:
        """Whether intervals by what units show are longer than by so many times J, in the mean over directions."""
        if math.isinf(most):
            return False
        directions = np.linalg.inv(self.root)
        seen = np.einsum("ij,ik,kj->j", directions, known.total, directions)
        student = np.array([stdtrit(known.degrees(each), UPPER) for each in directions.T])
        bounded = 1.0 + (most - 1.0) * np.diagonal(self.sampling)
        return bool(np.sum(student * np.sqrt(seen)) > np.sum(ndtri(UPPER) * np.sqrt(bounded)))

    def _of_dispersion(self, factor: float) -> Floats:
        """The score's variance by not knowing how spread counts are, where its variance is so many times the family's.

        As if at random: what moves the mean grows with the dispersion, and so does the variance.
        """
        if self.dispersion is None:
            return np.zeros_like(self.root)
        excess = float(np.trace(np.linalg.solve(self.root @ self.root, self.dispersion.excess)))
        part = (factor - 1.0) * float(np.trace(self.sampling)) / max(excess, 1e-300)
        moved = min(max(part, 0.0), MOST_DISPERSION) * self.dispersion.moved
        return np.outer(moved, moved)


@dataclass(frozen=True)
class Reliability:
    """How well the variance of a combination of a score's coordinates is known.

    Parameters
    ----------
    total : ndarray of float, shape (p, p)
        The score's covariance.
    basis : ndarray of float, shape (p, p)
        Columns in which errors are told.
    sizes : ndarray of float, shape (p,)
        Of J in that basis, where it is diagonal.
    errors : ndarray of float, shape (p, p)
        Variances of the entries' errors in that basis.
    factor_sd : float
        Error of the multiple of J.
    n_units : float
        How many there are.
    """

    total: Floats
    basis: Floats
    sizes: Floats
    errors: Floats
    factor_sd: float
    n_units: float

    def degrees(self, direction: Floats) -> float:
        """Return Student's degrees of freedom of direction'u, u the score, matched to its variance's relative error."""
        turned = direction / max(float(np.abs(direction).max()), 1e-300)
        seen = self.basis.T @ turned
        scale = max(float(np.abs(seen).max()), 1e-300)  # only ratios count
        squares, turned = (seen / scale) ** 2, turned / scale
        entries = 2.0 * float(squares @ self.errors @ squares) - float(squares**2 @ np.diag(self.errors))
        of_factor = self.factor_sd * float(squares @ self.sizes)
        error = (entries + of_factor**2) / max(float(turned @ self.total @ turned), 1e-300) ** 2
        return max(2.0 / (error + 2.0 / max(self.n_units, 1.0)), 1.0)


def spread_sds(mu: float, replace: bool) -> tuple[float, float]:
    """Return the noise on lengths and on the products' diagonal, in units of the pass's integers."""
    # A unit adds at most GRID^2 to the lengths and z z', |z| <= GRID, to the products, of Frobenius norm GRID^2; two
    # that are exchanged differ by at most GRID^2 and sqrt(2) GRID^2. Beside the diagonal an entry counts twice.
    size = GRID**2 * (1.0 + 1e-9)
    products = size * (2.0**0.5 if replace else 1.0)
    return size / (mu * OF_LENGTHS**0.5), products / (mu * (1.0 - OF_LENGTHS) ** 0.5)


def spread_pass(
    model: ScoreModel,
    coef: Floats,
    row_map: RowMap,
    mu: float,
    units: Units,
    dispersion: Dispersion | None = None,
    lengths: tuple[tuple[float, float], ...] = TYPICAL_LENGTHS,
) -> Spread:
    """Plan the pass at the estimate, from earlier ones and from public facts. `mu` is of one unit."""
    p, model = len(coef), replace(model, sampling=model.information)
    whole = model.settled(coef).sampling
    values, vectors = np.linalg.eigh(whole)
    values = np.maximum(values, 1e-12 * max(float(values[-1]), 1e-300))
    root, inverse = (vectors * values**0.5) @ vectors.T, (vectors * values**-0.5) @ vectors.T
    sampling = inverse @ model.sampling @ inverse + LEAST_PART * np.eye(p)
    typical = float(np.trace(sampling)) / units.count
    largest = float(values[0] ** -0.5) * units.rows * row_map.residual_unit * units.row_norm  # of any unit
    shares = (1.0 - OF_LENGTHS, OF_LENGTHS)
    tolerated = (RELATIVE[0] / 2.0**0.5, RELATIVE[1] * p)
    cuts = [
        min(max(least * typical, min(most * typical, each * mu * share**0.5)), min(largest, 1e150) ** 2)
        for (least, most), each, share in zip(lengths, tolerated, shares, strict=True)
    ]
    ratio = int(min(max(math.ceil(cuts[1] / cuts[0]), 1), MOST_RATIO))
    squares = unit_scores(row_map, inverse, cuts[0], ratio, units.rows)
    return Spread(squares, mu, root, sampling, cuts[0], units, dispersion)


def _shrunk(
    noisy: Floats, sd: float, factor: float, sampling: Floats, is_cautious: bool
) -> tuple[Floats, Floats, Floats]:
    """Shrink noisy products, brought to the trace that the lengths tell, toward that multiple of J.

    Returns S, the variances of its entries' errors in a basis, and the basis.
    """
    values, basis = np.linalg.eigh(sampling)
    values = np.maximum(values, 1e-9 * max(float(values[-1]), 1e-12))
    p, trace = len(values), float(values.sum())
    size = factor * np.sqrt(np.outer(values, values))
    turned = basis.T @ ((noisy + noisy.T) / 2.0) @ basis
    level = float(np.trace(turned))
    if not level > 3.0 * p**0.5 * sd:  # nothing can be seen
        return factor * sampling, (LEAST_DEVIATION * size) ** 2, basis
    lift = factor * trace / level
    deviation = lift * turned - factor * np.diag(values)
    noise = (lift * sd) ** 2 * (0.5 + 0.5 * np.eye(p))
    trust = 1.0 / (noise / size**2 + LEAST_DEVIATION**2) ** 2
    excess = float(np.sum(trust * (deviation**2 - noise) / size**2) / np.sum(trust))
    prior = (min(max(excess, LEAST_DEVIATION**2), MOST_DEVIATION**2)) * size**2
    share = prior / (prior + noise)
    relative, vectors = np.linalg.eigh((factor * np.diag(values) + share * deviation) / (size / factor))
    least = LEAST_VARIANCE
    if is_cautious:
        squares, errors = vectors**2, share * noise / (size / factor) ** 2
        # Var v'E v, E symmetric, its entries on and above the diagonal independent.
        error = 2.0 * np.einsum("ik,ij,jk->k", squares, errors, squares) - np.diag(errors) @ squares**2
        least = np.maximum(least, np.minimum(1.0, relative + CLEARLY * np.sqrt(error)))
    raised = (vectors * np.maximum(relative, least)) @ vectors.T * (size / factor)
    return basis @ raised @ basis.T, share * noise, basis
