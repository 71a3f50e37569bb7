"""Estimates and intervals from the minimizer of a perturbed objective and a noisy information matrix there.

The minimizer t* of sum l_i + (ridge / 2) |theta|^2 + z'theta has the score U(t*) = ridge t* + z. With m the mean of the
sum of x mu(x'theta) and b the true coefficients, U(b) = U(t*) + m(t*) - m(b), so that

    u(theta) = ridge t - [m(theta) - m(t)] - R (theta - t)

is U(b) - z at the truth, of mean zero: its variance is that of the sample, the information J, and that of z, which is
known. The released t is t* plus noise e of known variance, which adds (H + ridge I) e. The released information is the
curve's slope at t plus R, its noise E adds E (theta - t). So the ridge biases no interval; `score` inverts the test.
The linear term z is a normal vector times the root of a Gamma(p / 2 + 1 / 2) number, whose tails
count (`score_fit.critical`).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.kernels.glm.curve import curve_through
from discreet.kernels.glm.families import Family, Groups, predictor_bounds, score_map
from discreet.kernels.glm.open_ways import OpenWays
from discreet.kernels.glm.pooled_score import CURVATURE, clipped_dispersion
from discreet.kernels.glm.problem import BOX
from discreet.kernels.glm.sandwich import Spread, Units, spread_pass
from discreet.kernels.glm.score import NoiseTerm, ScoreModel, minimize
from discreet.kernels.glm.score_fit import Fit, ScoreFit, symmetric
from discreet.kernels.glm.separation import NoisyNumbers, separating, values_of
from discreet.kernels.glm.shrinkage import positive
from discreet.kernels.glm.undetermined import undetermined
from discreet.typing import Floats

MISMATCH = 0.1
"""Relative error of how the curve bends away from its slope at the released point."""

PRIOR_SD = 5.0
"""Of a coefficient per half range, for the estimate alone: it keeps estimates near what was released where the noise
hides how far the ridge had pulled them."""

LEAST_INFORMATION = 4.0
"""Nothing is told unless the information on the constant is so many standard errors of its noise."""


@dataclass(frozen=True)
class Minimum:
    """A released minimizer and what is known of its noise, in the response's unit.

    Parameters
    ----------
    family : Family
        The response's law.
    theta : ndarray of float, shape (p,)
        The released minimizer, per half range.
    ridge : float
        Of the objective.
    linear_variance : float
        Of a coordinate of the linear term.
    output_variance : float
        Of the noise on a coordinate of theta.
    information : ndarray of float, shape (p, p)
        Noisy sum of weighted products of columns at theta.
    variances : ndarray of float, shape (p, p)
        Of its entries' noise; an entry and its mirror share one draw.
    n_rows : float
        Rows, declared or noisy.
    level : float
        Of the intervals.
    box : float
        Largest absolute coefficient per half range; an interval that reaches it has no end there.
    constant : tuple of float
        The first interval is that of this combination of the coefficients; default the constant's own.
    groups : tuple of tuple of int
        Columns that are dummies of one category, its reference level left out.
    """

    family: Family
    theta: Floats
    ridge: float
    linear_variance: float
    output_variance: float
    information: Floats
    variances: Floats
    n_rows: float
    level: float = 0.95
    box: float = BOX
    constant: tuple[float, ...] = ()
    groups: Groups = ()

    @property
    def is_known(self) -> bool:
        """Whether the information stands out from its noise at all."""
        return bool(self.information[0, 0] > LEAST_INFORMATION * self.variances[0, 0] ** 0.5)

    @property
    def _slope(self) -> Floats:
        return positive(self.information) + self.ridge * np.eye(len(self.theta))

    @property
    def noise(self) -> Floats:
        """Covariance of what linear term and output noise add to the score."""
        added: Floats = (
            self.linear_variance * np.eye(len(self.theta)) + self.output_variance * self._slope @ self._slope
        )
        return added


def minimizer_fit(minimum: Minimum, spread: Spread | None = None, sums: Floats | None = None) -> Fit:
    """Return estimates, intervals and the two covariances. Cost: as of `score.intervals`.

    With the noisy sums of a planned pass the sampling variance is what units show, and not less than the family's but
    where they clearly show that it is.
    """
    model, known = _model(minimum), None
    if spread is not None and sums is not None:
        # A score of c rows varies at most c times as much as c independent ones: Cauchy and Schwarz, row by row.
        most = math.inf if minimum.family.counts else float(spread.units.rows)
        model, known = spread.robust(model, sums, is_cautious=True, most=most)
    model = symmetric(model)
    rows = np.eye(len(minimum.theta))
    rows[0] = minimum.constant or rows[0]
    score = ScoreFit(model, _estimate(minimum, model), minimum.box, known, is_laplace=True, is_told=minimum.is_known)
    score = replace(score, ways=_open_ways(minimum))
    return score.fit(rows, minimum.level)


def planned_spread(minimum: Minimum, groups: Groups, mu: float, units: Units) -> Spread:
    """Plan the pass of units' squared scores at the estimate. `mu` is of Gaussian noise as large."""
    model = symmetric(_model(minimum))
    coef = _estimate(minimum, model)
    row_map = score_map(minimum.family, coef, predictor_bounds(coef, groups))
    return spread_pass(model, coef, row_map, mu, units, clipped_dispersion(model.curve, coef))


def _model(minimum: Minimum) -> ScoreModel:
    information, theta = positive(minimum.information), minimum.theta
    curve = curve_through(minimum.family, information, theta, max(minimum.n_rows, 1.0))
    return ScoreModel(
        constant=minimum.ridge * theta,
        point=theta,
        rest=minimum.information - curve.sums(theta[None])[1][0],
        curve=curve,
        information=information,
        sampling=information,
        noise=minimum.noise,
        rest_error=NoiseTerm(minimum.variances, 1.0, np.zeros(len(theta))),
        mismatch=MISMATCH,
        curvature=CURVATURE if minimum.family.counts else 0.0,
    )


def _open_ways(minimum: Minimum) -> OpenWays:
    """Return the directions along which nothing tells that coefficients end."""
    # Of a value a there are, with U the score and W the information, sum (1 - mu) a'x - a'U low responses, which is at
    # least a'W e_0 / max mu - a'U, as w = mu (1 - mu); and a'W e_0 / max (1 - mu) + a'U high ones. Counts there add up
    # to sum mu a'x + a'U, and w is at most mu; rows without weight are found as undetermined.
    family, information, variances = minimum.family, minimum.information, minimum.variances
    values, numeric = values_of(information, variances, minimum.groups)
    weight, of_weight = values @ information[:, 0], values**2 @ variances[:, 0]
    score, of_score = minimum.ridge * values @ minimum.theta, np.einsum("ki,ij,kj->k", values, minimum.noise, values)
    least, most, rows, of_rows = 0.0, 1.0, np.maximum(weight, 1.0), 0.0 * of_weight
    if not family.counts:
        least, most = family.mean(np.array(predictor_bounds(minimum.theta, minimum.groups)))
        rows, of_rows = weight, of_weight
    numbers = NoisyNumbers(
        rows=rows,
        low=weight / most - score,
        high=weight / (1.0 - least) + score,
        sd_rows=of_rows**0.5,
        sd_low=(of_weight / most**2 + of_score) ** 0.5,
        sd_high=(of_weight / (1.0 - least) ** 2 + of_score) ** 0.5,
    )
    return OpenWays(separating(values, numeric, numbers, family.counts), undetermined(information, variances))


def _estimate(minimum: Minimum, model: ScoreModel) -> Floats:
    """Return where the score is zero, as far as that can be told: the curve alone, whose slope is never negative.

    Nor less than the noise of the information in any direction: else what the ridge pulled is taken back many times.
    """
    values, vectors = np.linalg.eigh(minimum.information)
    noise = (len(values) * float(minimum.variances.mean())) ** 0.5
    raised = (vectors * np.maximum(values, noise)) @ vectors.T
    upward = replace(model, rest=raised - model.curve.sums(minimum.theta[None])[1][0])
    precision = np.full(len(minimum.theta), PRIOR_SD**-2.0)
    mode: Floats = minimize(upward.settled(minimum.theta), minimum.theta[None], precision, minimum.box)[0][0]
    return mode
