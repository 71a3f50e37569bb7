"""One noisy score from several passes: those of earlier points are carried to the last one.

A pass at t takes S, the sum of residuals times columns, and W, the weighted products, both less a share k of their
linear part s eta + a, which the first pass holds: with b, G its sums and f(theta) = s theta + (a - middle) e_0,

    score at t:  S + k (b - G f(t)),        slope at t:  W + k s G.

From t to the last point T a score falls by the curve's m(T) - m(t), and by the mean of what both slopes are above the
curve's, times T - t: the trapezoidal rule on a small difference, which errs by the third power of the distance. What a
noisy slope is above the curve's counts as far as it can be told from noise (`shrunk`).
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from discreet.kernels.glm.curve import Curve
from discreet.kernels.glm.families import DISPERSED_SIZE, Family, Line
from discreet.kernels.glm.line import fitted_line, matched_center
from discreet.kernels.glm.sandwich import Dispersion
from discreet.kernels.glm.score import NoiseTerm, ScoreModel
from discreet.kernels.glm.shrinkage import positive, shrunk
from discreet.kernels.glm.turned_rows import Turn
from discreet.kernels.glm.undetermined import pooled_information
from discreet.kernels.sufficient_statistics.score_lengths import LengthLimit
from discreet.typing import Floats

BEND = 1.0 / 3.0
"""How wrong the curve is about a score's bend, beside how wrong it is about its slope."""

CURVATURE = 0.0675
"""Of counts, `ScoreModel.curvature`: 3 / 4 of the square of a relative error of .3 of how exp bends."""

TYPICAL_SQUARE, PRODUCT_SD, MEAN_SD = 0.35, 0.2, 0.4
"""Mean square of a column in half ranges; how much it, mean products of two columns, and means vary among columns."""

SQUARE_SD = 0.02
"""Of the mean square of a column of two values, where cells may be missing."""

RESPONSE_SD = 1.25
"""Prior standard deviation of a linear model's slope, in half ranges of the response."""


@dataclass(frozen=True)
class Sums:
    """Noisy sums of one pass in natural units, and the variances of their noise."""

    gradient: Floats
    gram: Floats
    variance: float
    variances: Floats

    def moved(self, by: Floats) -> "Sums":
        """Return the same with something added to the gradient."""
        return replace(self, gradient=self.gradient + by)


@dataclass(frozen=True)
class ScoreAt:
    """A pass's sums at a point, less a share of their linear part; and errors of what is added for cut scores."""

    theta: Floats
    sums: Sums
    linear_share: float
    cut_errors: Floats


@dataclass(frozen=True)
class Turned:
    """Coordinates of the later passes, and what rows count there, by what is likely.

    Parameters
    ----------
    turn : Turn
        The coordinates.
    longest_row : float
        Length of any row there at most.
    part : float
        What rows count on average, of what they count in the first pass.
    spread : float
        Of the columns' covariance: what is left of it where rows count so.
    share : float
        What makes of an information a score's variance.
    is_even : bool
        Scores have been seen to vary alike in all directions there.
    """

    turn: Turn
    longest_row: float
    part: float
    spread: float
    share: float
    is_even: bool = False


@dataclass
class Pool:
    """All passes so far.

    Parameters
    ----------
    family : Family
        The response's law.
    first : Sums
        Of the response less its middle times columns, and of products of columns.
    scores : list of ScoreAt
        The later passes.
    offset : float, optional
        The coefficient of the first pass's last column, which the later passes do not have: half the range of an
        offset.
    cap : float
        Squared norm from which on a row counts less.
    turned : Turned, optional
        The later passes' sums are of rows in these coordinates, without a linear share.
    limit : LengthLimit, optional
        Where later passes cut scores.
    first_family : Family, optional
        The response's law in the first pass, where that is another.
    two_valued : tuple of int
        Columns whose squares are 1.
    """

    family: Family
    first: Sums
    scores: list[ScoreAt] = field(default_factory=list)
    offset: float | None = None
    cap: float = math.inf
    turned: Turned | None = None
    limit: LengthLimit | None = None
    first_family: Family | None = None
    two_valued: tuple[int, ...] = ()

    def add(self, theta: Floats, sums: Sums, linear_share: float) -> None:
        """Take a pass in; what is cut off of long scores is added."""
        left_out, errors = np.zeros((2, len(theta))) if self.limit is None else (self.limit.left_out, self.limit.errors)
        self.scores.append(ScoreAt(theta, sums.moved(left_out), linear_share, errors))

    def uncapped(self, n_rows: float | None) -> "Pool":
        """Return the pool of passes in which all rows count alike: what the first one tells is scaled to them."""
        first = self.first
        # Where the number of rows is known, so is what they count on average: the mean response stays what it is.
        share = self._typical_share if n_rows is None else self._n_rows / n_rows
        gram, variances = first.gram / share, first.variances / share**2
        if n_rows is not None:
            gram[0, 0], variances[0, 0] = n_rows, 0.0
        scaled = Sums(first.gradient / share, gram, first.variance / share**2, variances)
        return Pool(self.family, scaled, offset=self.offset, two_valued=self.two_valued)

    def in_coordinates(self, turned: Turned) -> "Pool":
        """Return the pool whose later passes are of rows in these coordinates."""
        return replace(self, scores=[], turned=turned)

    def with_cut(self, limit: LengthLimit) -> "Pool":
        """Return the pool whose later passes cut scores elsewhere, what is cut off added to those before."""
        if self.turned is None:
            raise ValueError("scores of turned rows alone are cut")
        turned = replace(self.turned, turn=replace(self.turned.turn, cut=limit.longest))
        before, errors = limit.left_out_before, limit.errors_before
        scores = [replace(at, sums=at.sums.moved(before), cut_errors=errors) for at in self.scores]
        return replace(self, scores=scores, turned=turned, limit=limit)

    @property
    def spread_noise(self) -> float:
        """Standard deviation of the noise on a covariance of two columns."""
        return math.sqrt(float(self.first.variances[0, -1])) / self._n_rows

    def model(self) -> ScoreModel:
        """Return the score around the last point."""
        return self._carried() if self.scores else self._linear()

    @property
    def first_of_columns(self) -> Sums:
        """The first pass's sums of the columns that have coefficients."""
        first, p = self.first, self._n_free
        return replace(first, gradient=first.gradient[:p], gram=first.gram[:p, :p], variances=first.variances[:p, :p])

    def information(self) -> tuple[Floats, Floats, Floats]:
        """Return weighted products of rows in all passes, the variances of their noise, and the rows' coordinates."""
        first, slope = self.first_of_columns, self.line.slope
        turn: Floats = np.eye(self._n_free) if self.turned is None else self.turned.turn.natural
        grams = [slope * turn @ first.gram @ turn.T]
        variances = [slope**2 * turn**2 @ first.variances @ (turn**2).T]
        for at in self.scores:
            share = at.linear_share * slope
            grams.append(at.sums.gram + share * first.gram)
            variances.append(at.sums.variances + share**2 * first.variances)
        return *pooled_information(grams, variances), turn

    def linear_variance(self, theta: Floats) -> float:
        """Return the mean variance of the noise in the linear part b - G f(theta)."""
        first = self._less_offset(self.line.slope)
        noise = NoiseTerm(first.variances, self.line.slope, self._constant).covariance(theta)
        return first.variance + float(np.trace(noise)) / len(theta)

    @cached_property
    def curve(self) -> Curve:
        """What the first pass says of the columns."""
        n, center = self._n_rows, self.center
        spread = self._gram / n - np.outer(center, center)
        spread[0, :] = spread[:, 0] = 0.0
        spread = positive(spread)
        if self.turned is not None:
            n, spread = n * self.turned.part, spread * self.turned.spread
        return Curve(self.family, n, center, spread, np.array([] if self.offset is None else [self.offset]))

    @cached_property
    def line(self) -> Line:
        """The line for the mean that the first pass suggests."""
        family, n, p = self.first_family or self.family, self._n_rows, len(self.center)
        gram, scale = self._gram, np.full(p, RESPONSE_SD * family.half)
        scale[0] = family.half / 2.0
        # Least squares weighted by what is known: the response's variance and the noise of both sums.
        noise = NoiseTerm(self.first.variances, 1.0, np.zeros(p)).covariance(scale) + self.first.variance * np.eye(p)
        covariance = family.half**2 / 2.0 * gram + noise
        weight = gram @ np.linalg.inv(covariance + 1e-9 * np.trace(covariance) * np.eye(p))
        beta = np.linalg.solve(weight @ gram + np.diag(scale**-2.0), weight @ self.first.gradient)
        spread = float(beta[1:] @ (gram / n - np.outer(self.center, self.center))[1:, 1:] @ beta[1:])
        return fitted_line(family, self._inside(family.middle + float(self.center @ beta)), max(spread, 0.0) ** 0.5)

    @cached_property
    def _typical_share(self) -> float:
        """What rows count, on average over what they count: it makes of an information a score's variance."""
        p = self._n_free
        return min(self.cap / max(float(np.trace(self._gram[:p, :p])) / self._n_rows, 1.0), 1.0)

    @property
    def n_rows(self) -> float:
        """About how many rows there are."""
        return self._n_rows / self._typical_share

    @cached_property
    def _n_rows(self) -> float:
        """Rows, by what they count."""
        return float(max(self.first.gram[0, 0], self.first.variances[0, 0] ** 0.5, 1.0))

    @cached_property
    def center(self) -> Floats:
        """Means of the columns."""
        return np.append(1.0, np.clip(self._gram[0, 1:] / self._n_rows, -1.0, 1.0))

    @cached_property
    def _gram(self) -> Floats:
        """X'X, its entries drawn to what columns typically have by as much as the noise asks: for the curve alone."""
        n, p = self._n_rows, len(self.first.gram)
        typical, sd = np.diag(np.full(p, n * TYPICAL_SQUARE)), np.full((p, p), n * PRODUCT_SD)
        typical[0, 0], sd[0, :], sd[:, 0] = n, n * MEAN_SD, n * MEAN_SD
        two_valued = list(self.two_valued)
        typical[two_valued, two_valued], sd[two_valued, two_valued] = n, n * SQUARE_SD
        share = sd**2 / (sd**2 + self.first.variances)
        return positive(typical + share * (self.first.gram - typical))

    def curve_noise(self, slope: Floats) -> Floats:
        """Variances of the curve's slope by the first pass's noise, as far as that is not shrunk away."""
        p, typical = self._n_free, self._n_rows * PRODUCT_SD
        variances = self.first.variances[:p, :p]
        weight = float(slope[0, 0]) / self._n_rows
        noise: Floats = weight**2 * variances / (1.0 + variances / typical**2)
        return noise

    @cached_property
    def _constant(self) -> Floats:
        """f(0)."""
        constant = np.zeros(self._n_free)
        constant[0] = self.line.constant - (self.first_family or self.family).middle
        return constant

    @property
    def _n_free(self) -> int:
        """Number of coefficients that are estimated."""
        return len(self.first.gradient) - (self.offset is not None)

    def _less_offset(self, slope: float) -> Sums:
        """The first pass's sums of the columns that have coefficients, the response less `slope` times the offset."""
        first, p = self.first, self._n_free
        if self.offset is None:
            return first
        moved = slope * self.offset
        gradient = first.gradient[:p] - moved * first.gram[:p, p]
        variance = first.variance + moved**2 * float(first.variances[0, p])
        return Sums(gradient, first.gram[:p, :p], variance, first.variances[:p, :p])

    def _inside(self, mean: float) -> float:
        """A mean that the link can take."""
        family = self.first_family or self.family
        margin = 0.04 * family.half
        return float(np.clip(mean, family.low + margin, family.high - margin))

    def _linear(self) -> ScoreModel:
        """The score of the first pass: the sums of y x, less what the curve expects."""
        family, p = self.family, self._n_free
        point = np.zeros(p)
        mean = self._inside(family.middle + float(self.first.gradient[0]) / self._n_rows)
        point[0] = self._level(mean)
        first = replace(self._less_offset(float(family.weight(point[:1])[0])), gradient=self.first.gradient[:p])
        sums, slopes = self.curve.sums(point[None])
        information = positive(slopes[0])
        of_mean = np.zeros(p)
        of_mean[0] = float(sums[0, 0]) / self._n_rows - family.middle
        noise = NoiseTerm(first.variances, float(family.weight(point[:1])[0]), of_mean)
        constant = first.gradient - of_mean[0] * first.gram[0]
        rest, sampling = np.zeros((p, p)), self._typical_share * information + self._of_dispersion(point)
        on_all = first.variance * np.eye(p)
        return ScoreModel(constant, point, rest, self.curve, information, sampling, on_all, noise)

    def dispersion(self, theta: Floats) -> Dispersion | None:
        """What clipped counts do to the score that are as spread as is supposed; None where no mean rests on that."""
        return clipped_dispersion(self.curve, theta)

    def _of_dispersion(self, theta: Floats) -> Floats:
        """The score's variance by not knowing how spread clipped counts are: as if at random, alike for all rows."""
        dispersion = self.dispersion(theta)
        if dispersion is None:
            return np.zeros((len(theta), len(theta)))
        return np.outer(dispersion.moved, dispersion.moved)

    def _level(self, mean: float) -> float:
        """The constant's coefficient, alone in the model, at which the mean response is `mean`."""
        if self.offset is None:
            return float(self.family.link(np.array([mean]))[0])
        sd = abs(self.offset) * float(self.curve.spread[-1, -1]) ** 0.5
        return matched_center(self.family, mean, sd) - self.offset * float(self.center[-1])

    def _carried(self) -> ScoreModel:
        last, line = self.scores[-1], self.line
        first = self._less_offset(line.slope)
        turn: Floats = np.eye(self._n_free) if self.turned is None else self.turned.turn.natural
        back = np.linalg.inv(turn).astype(np.float64)
        means, slopes = self.curve.sums(np.array([at.theta for at in self.scores]))
        means, slopes = means @ turn.T, turn @ slopes @ turn.T
        noises = [at.sums.variances + (at.linear_share * line.slope) ** 2 * first.variances for at in self.scores]
        above = [
            at.sums.gram + at.linear_share * line.slope * first.gram - expected
            for at, expected in zip(self.scores, slopes, strict=True)
        ]
        curve_noise = turn**2 @ self.curve_noise(slopes[-1]) @ (turn**2).T
        is_apart, is_even = self.turned is not None, self.turned is not None and self.turned.is_even
        rests, errors, basis, mismatch = shrunk(above, noises, slopes[-1], curve_noise, is_apart, is_even)
        information = positive(slopes[-1] + rests[-1])
        ways = [back.T @ (last.theta - at.theta) for at in self.scores]
        weights = _weights(self.scores, errors, ways, information)
        score, variance, noise = np.zeros_like(last.theta), 0.0, np.zeros_like(information)
        of_first, on_first, on_last = 0.0, np.zeros_like(score), np.zeros_like(score)
        for i, (weight, at, way) in enumerate(zip(weights, self.scores, ways, strict=True)):
            f = line.slope * at.theta + self._constant
            local = at.sums.gradient + at.linear_share * (first.gradient - first.gram @ f)
            score += weight * (local - (means[-1] - means[i]) - 0.5 * (rests[i] + rests[-1]) @ way)
            variance += weight**2 * at.sums.variance
            of_first += weight * at.linear_share
            on_first += weight * at.linear_share * f
            on_last += 0.5 * weight * way
            if at is not last:
                noise += NoiseTerm(errors[i], 0.0, 0.5 * weight * way, basis).covariance(score)
        noise += NoiseTerm(first.variances, 0.0, on_first).covariance(score)
        noise += (variance + of_first**2 * first.variance) * np.eye(len(score))
        cut_errors = weights @ np.array([at.cut_errors for at in self.scores])  # of one look: they go together
        noise += np.diag(cut_errors**2)
        information = back @ information @ back.T
        share = self._typical_share if self.turned is None else self.turned.share
        return ScoreModel(
            constant=back @ score,
            point=last.theta,
            rest=back @ rests[-1] @ back.T,
            curve=self.curve,
            information=information,
            sampling=share * information + self._of_dispersion(last.theta),
            noise=back @ noise @ back.T,
            rest_error=NoiseTerm(errors[-1], 1.0, turn.T @ on_last, back @ basis),
            mismatch=BEND * mismatch,
            curvature=CURVATURE if self.family.counts else 0.0,
        )


def clipped_dispersion(curve: Curve, theta: Floats) -> Dispersion | None:
    """Return what clipped counts do to the score that are as spread as is supposed; None where there are none."""
    family, mean = curve.family, curve.family.dispersed_mean
    if mean is None:
        return None
    dispersed = replace(curve, family=replace(family, mean=mean))
    moved = curve.sums(theta[None])[0][0] - dispersed.sums(theta[None])[0][0]

    def excess(eta: Floats) -> Floats:
        variance: Floats = family.mean(eta) ** 2 / DISPERSED_SIZE
        return variance

    spread = replace(curve, family=replace(family, weight=excess)).sums(theta[None])[1][0]
    return Dispersion(moved, positive(spread))


def _weights(scores: list[ScoreAt], errors: list[Floats], ways: list[Floats], information: Floats) -> Floats:
    """Weights of the passes, which add up to 1: less for more noise and for a longer way."""
    unit = max(float(np.trace(information)) / len(information), 1e-12)
    weights = []
    for at, error, way in zip(scores, errors, ways, strict=True):
        far = (max(float(way @ information @ way), 0.0) / unit) ** 0.5
        noise = at.sums.variance + 0.25 * float(error.mean() * (way @ way)) + float((at.cut_errors**2).mean())
        weights.append(1.0 / (noise + (far**3 / 12.0 * unit) ** 2 + 1e-12))
    shares: Floats = np.array(weights) / np.sum(weights)
    return shares
