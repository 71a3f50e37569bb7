"""From linear predictors to means: ends of an interval through the link, and of a change of the mean."""

import math

import numpy as np

from discreet.kernels.glm.families import Family

FAR = 2000.0
"""A linear predictor of no end: every mean has reached its own end long before."""

Ends = tuple[float | None, float | None]


def mean(law: Family | None, predictor: float) -> float:
    """Return the mean at a linear predictor."""
    if law is None:
        return predictor
    with np.errstate(all="ignore"):
        value = float(law.mean(np.array([np.clip(predictor, -FAR, FAR)]))[0])
    return min(max(value, law.low), law.high)


def mean_ends(law: Family | None, low: float, high: float, response: tuple[float, float]) -> Ends:
    """Return the ends of the mean: none where the end of the response's range is all that can be told.

    An interval beside the range contradicts it, and tells nothing.
    """
    least, most = mean(law, low), mean(law, high)
    if most < response[0] or least > response[1]:
        return None, None
    return least if least > response[0] else None, most if most < response[1] else None


def change(law: Family, predictor: float, step: float) -> float:
    """Return how much the mean changes from a linear predictor by a step."""
    return mean(law, predictor + step) - mean(law, predictor)


def change_ends(law: Family, predictor: tuple[float, float], step: tuple[float, float]) -> Ends:
    """Return the least and the largest change of the mean over a box of linear predictors and steps.

    None where the response's range is all that can be told.
    """
    starts = tuple(float(np.clip(end, -FAR, FAR)) for end in predictor)
    steps = tuple(float(np.clip(end, -2.0 * FAR, 2.0 * FAR)) for end in step)
    # The change rises with the step; by the predictor it rises and falls, or falls and rises, once.
    least = min(change(law, start, steps[0]) for start in (*starts, _turn(law, starts, steps[0])))
    most = max(change(law, start, steps[1]) for start in (*starts, _turn(law, starts, steps[1])))
    width = law.high - law.low
    return least if least > -width else None, most if most < width else None


def _turn(law: Family, starts: tuple[float, ...], step: float) -> float:
    """Return the predictor of the largest change either way, as far as it is within reach."""
    turn = -step / 2.0 if law.name == "logistic" else math.log(law.high) - max(step, 0.0)
    return min(max(turn, starts[0]), starts[1])
