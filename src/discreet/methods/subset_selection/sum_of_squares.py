"""A residual sum of squares that is published: on a grid, with discrete Laplace noise."""

import math
from fractions import Fraction

from discreet.accounting.events import LaplaceEvent
from discreet.mechanisms.additive import check_scale, discrete_laplace
from discreet.mechanisms.rng import Source
from discreet.methods.base.part import Part
from discreet.methods.subset_selection.calibration import Sensitivity
from discreet.methods.subset_selection.setting import Setting
from discreet.release import NoiseRecord

STEPS = 2**20
"""A published sum of squares is a multiple of its sensitivity over this."""


def squares_step(sensitivity: Sensitivity) -> Fraction:
    """Return the grid of a published sum of squares.

    Parameters
    ----------
    sensitivity : Sensitivity
        Of the scores.

    Returns
    -------
    Fraction
        In squared target bounds.
    """
    return sensitivity.size / STEPS


def squares_scale(sensitivity: Sensitivity, epsilon: Fraction) -> Fraction:
    """Return the scale of a published sum of squares' noise, in steps of its grid.

    Parameters
    ----------
    sensitivity : Sensitivity
        Of the scores.
    epsilon : Fraction
        In nats.

    Returns
    -------
    Fraction
        (Delta + tau + eta + one step) / epsilon, in steps (privacy specification 14).
    """
    step = squares_step(sensitivity)
    # Neighbors' computed sums are at most size + error apart, and rounding both down adds less than a step.
    return (sensitivity.size + sensitivity.error + step) / (epsilon * step)


def noisy_squares(value: float, sensitivity: Sensitivity, epsilon: Fraction, rng: Source) -> Fraction:
    """Return a constrained residual sum of squares with noise, on its grid.

    Parameters
    ----------
    value : float
        As computed, in squared target bounds.
    sensitivity : Sensitivity
        Of the scores.
    epsilon : Fraction
        In nats.
    rng : Source
        Where the noise comes from.

    Returns
    -------
    Fraction
        In squared target bounds; may be negative.

    Notes
    -----
    Claim: ``sum_of_squares.privacy.md``.
    """
    step = squares_step(sensitivity)
    steps = math.floor(Fraction(value) / step)
    return discrete_laplace([steps], squares_scale(sensitivity, epsilon), rng)[0] * step


def squares_part(name: str, setting: Setting, epsilon: Fraction, description: str) -> Part:
    """Return the private estimate of a residual sum of squares.

    Parameters
    ----------
    name : str
        Of the part.
    setting : Setting
        Whose bounds set the noise.
    epsilon : Fraction
        Its privacy cost.
    description : str
        The sum, in words.

    Returns
    -------
    Part
        Privacy cost and noise.

    Raises
    ------
    InvalidParameterError
        When epsilon is so small that the noise does not fit in 64 bits.
    """
    sensitivity, unit = Sensitivity.of(setting.design, setting.ratio), setting.design.bound**2
    step = squares_step(sensitivity)
    check_scale(squares_scale(sensitivity, epsilon), "a sum of squares")
    rows = setting.design.metadata.rows_per_unit
    box = NoiseRecord(
        mechanism="discrete_laplace",
        noise="laplace",
        sensitivity=float(sensitivity.size) * unit,
        inflation=float(sensitivity.error + step) * unit,
        scale=float(squares_scale(sensitivity, epsilon) * step) * unit,
        formula=(f"{rows} rows x " if rows > 1 else "") + f"(r + R)^2; {description}",
        numerics="exact draw on a grid; score errors counted in the inflation",
        claim="methods/subset_selection/sum_of_squares.privacy.md",
    )
    return Part(name, LaplaceEvent(epsilon), box)
