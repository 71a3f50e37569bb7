"""Whether noisy moments are compatible with several linear combinations of coefficients having given values."""

from typing import NamedTuple

import numpy as np

from discreet.kernels.sufficient_statistics.regression import NoisyModel
from discreet.kernels.sufficient_statistics.regression_score import ITERATIONS, TOLERANCE, Score, descend
from discreet.typing import Floats


class Joint(NamedTuple):
    """A test of several combinations at once.

    Parameters
    ----------
    distance : float
        Least Q with the combinations at their values.
    least : float
        Least Q of all.
    limit : float
        What Q is below at the truth, as often as the level says.
    degrees, residual : float
        Of freedom.
    """

    distance: float
    least: float
    limit: float
    degrees: int
    residual: float

    @property
    def is_inside(self) -> bool | None:
        """Whether the values lie in the joint region; None where everything is rejected."""
        if self.distance <= self.limit:
            return True
        return False if self.least <= self.limit and np.isfinite(self.distance) else None


def joint_zero(model: NoisyModel, rows: Floats, level: float) -> Joint:
    """Test that some combinations of a model's coefficients are zero together.

    Of several degrees of freedom of the error's variance the least count. Shapes: rows (k, p), of full rank.
    """
    residual = float(model.degrees(rows).min())
    try:
        return joint_test(model.score, rows @ model.matrix.T, -rows @ model.start, residual, level)
    except (np.linalg.LinAlgError, ArithmeticError):  # nothing can be told, and what was paid for is not lost
        return Joint(np.inf, np.inf, _limit(len(rows), residual, level), len(rows), residual)


def joint_test(score: Score, combinations: Floats, values: Floats, residual: float, level: float) -> Joint:
    """Test A b = t, A of full rank.

    At the truth Q minimized over the other coefficients is at most chi-squared; of the error's variance, which is
    estimated, F makes account. Without noise it is the F test.
    Shapes: combinations (k, p), values (k,).
    """
    k, p = combinations.shape
    nothing = np.zeros((0, p))
    start = np.linalg.pinv(score.gram, rcond=1e-10, hermitian=True) @ score.xty
    starts = np.clip(np.vstack([start, np.zeros(p)]), -score.limits, score.limits)
    best = min((_least(score, nothing, np.zeros(0), start) for start in starts), key=lambda found: found[0])
    held = [_least(score, combinations, values, start) for start in (best[1], *starts)]
    return Joint(min(value for value, _ in held), best[0], _limit(k, residual, level), k, residual)


def _limit(k: int, residual: float, level: float) -> float:
    """Return k times the quantile of F."""
    from scipy.special import fdtri  # slow to load

    return k * float(fdtri(k, residual, level))


def _least(score: Score, combinations: Floats, values: Floats, start: Floats) -> tuple[float, Floats]:
    """Return Q minimized over b with A b = t, and where."""
    coef, least = start[None], np.inf
    for _ in range(4 * ITERATIONS):
        before, variance, weight = score.at(coef)
        full, inverse = score.step(coef, variance, weight)
        # Least squares under constraints: the step less its part along C^-1 A' (A C^-1 A')^-1.
        along = inverse[0] @ combinations.T
        pull = along @ np.linalg.pinv(combinations @ along, rcond=1e-13, hermitian=True)
        gap = values - combinations @ coef[0]
        if np.isinf(least):  # onto A b = t first, that Q may be compared from then on
            coef = coef + (pull @ gap)[None]
            least = float(score.at(coef)[0][0])
            continue
        step = full - (pull @ (combinations @ full[0]))[None]
        longest = max(float((np.abs(step) / score.limits).max()), 1.0)
        coef, after = descend(score, coef, before, step / longest)
        least = float(after[0])
        if not before[0] - least > TOLERANCE * (1.0 + least):
            break
    return least, coef[0]
