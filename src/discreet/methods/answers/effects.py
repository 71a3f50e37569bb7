"""From linear predictors to means: ends of an interval through the link, and of a change of the mean."""

import math
from collections.abc import Callable

import numpy as np

from discreet.kernels.glm.families import Family
from discreet.typing import Floats

FAR = 2000.0
"""A linear predictor of no end: every mean has reached its own end long before."""

ANGLES, POINTS = 8, 256
"""A region is felt from so many sides, and drawn with so many points."""

NEARLY_ALL = 0.999
"""A change of so much of the response's range rules out nothing."""

Ends = tuple[float | None, float | None]

Intervals = Callable[[Floats], tuple[Floats, Floats]]
"""Both ends of combinations of coefficients. Shapes: (k, p); returns (k,) each."""


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

    None where the response's range is all that can be told. The box holds both only where each side has half of what
    may go wrong, and is then too wide: `change_ends_together` is closer.
    """
    starts = tuple(float(np.clip(end, -FAR, FAR)) for end in predictor)
    steps = tuple(float(np.clip(end, -2.0 * FAR, 2.0 * FAR)) for end in step)
    # The change rises with the step; by the predictor it rises and falls, or falls and rises, once.
    least = min(change(law, start, steps[0]) for start in (*starts, _turn(law, starts, steps[0])))
    most = max(change(law, start, steps[1]) for start in (*starts, _turn(law, starts, steps[1])))
    return _ends_within_reach(law, least, most)


def change_ends_together(law: Family, region: Floats) -> Ends:
    """Return the least and the largest change of the mean over a region of linear predictors and steps.

    The change rises with the step, so both lie on the edge. Shapes: region (k, 2), points of its edge.
    """
    starts = np.clip(region[:, 0], -FAR, FAR)
    ends = np.clip(starts + region[:, 1], -FAR, FAR)
    with np.errstate(all="ignore"):
        means = np.clip(law.mean(np.concatenate([starts, ends])), law.low, law.high)
    changes = means[len(starts) :] - means[: len(starts)]
    return _ends_within_reach(law, float(changes.min()), float(changes.max()))


def edge(pair: Floats, low: Floats, high: Floats, ends_of: Intervals) -> Floats | None:
    """Return the edge of the region of two combinations whose every direction is within its own interval.

    The values of a function over it are the profile interval of the function, at the level of one number and not of
    two. None where a direction has no end. Shapes: pair (2, p), low, high (2,), their ends; returns (POINTS, 2).
    """
    if not _has_ends(low, high):
        return None
    # Of two numbers of like spread sum and difference are uncorrelated: in their units the region is nearly round.
    with np.errstate(over="ignore"):
        spread = high - low
    if not np.isfinite(spread).all():
        return None
    turned = np.array([[1.0, 1.0], [1.0, -1.0]]) / spread
    low, high = ends_of(turned @ pair)
    if not _has_ends(low, high):
        return None
    with np.errstate(over="ignore"):
        half = (high - low) / 2.0
    if not np.isfinite(half).all():
        return None
    to_round = turned / half[:, None]
    turns = np.arange(ANGLES // 2) * (2.0 * np.pi / ANGLES)
    low, high = ends_of(np.column_stack([np.cos(turns), np.sin(turns)]) @ to_round @ pair)
    support = np.concatenate([high, -low])
    if not np.isfinite(support).all():
        return None
    # How far the region reaches at angle t is h(t): its edge there is h(t) u(t) + h'(t) u'(t).
    waves = np.fft.rfft(support) * (POINTS / ANGLES)
    waves[-1] *= 0.5  # the highest wave stands for two, and its phase is not known
    reach = np.fft.irfft(waves, POINTS)
    waves[-1] = 0.0
    slope = np.fft.irfft(1j * np.arange(len(waves)) * waves, POINTS)
    angle = np.arange(POINTS) * (2.0 * np.pi / POINTS)
    out, along = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    result: Floats = np.linalg.solve(to_round, reach * out + slope * along).T
    return result


def _has_ends(low: Floats, high: Floats) -> bool:
    return bool(np.isfinite([low, high]).all() and (high > low).all())


def _ends_within_reach(law: Family, least: float, most: float) -> Ends:
    width = NEARLY_ALL * (law.high - law.low)
    return least if least > -width else None, most if most < width else None


def _turn(law: Family, starts: tuple[float, ...], step: float) -> float:
    """Return the predictor of the largest change either way, as far as it is within reach."""
    turn = -step / 2.0 if law.name == "logistic" else math.log(law.high) - max(step, 0.0)
    return min(max(turn, starts[0]), starts[1])
