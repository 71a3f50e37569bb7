"""How sure parts are together, and how much more precise they must be to be sure enough: from what was released alone.

Post-processing: functions of the parts' noisy moments, of the terms and of nothing else.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from discreet.errors import InvalidParameterError
from discreet.kernels.posterior.models import Evidence, Layout, posterior
from discreet.methods.answers.posterior import PRIORS, averaged, of_moments
from discreet.methods.moments.pooled_records import pooled
from discreet.release import MomentsRecord, Release
from discreet.workflow.paid_terms import INTERVAL_LEVEL, Terms

FACTORS, FEWER_FACTORS = (Fraction(3, 2), Fraction(2)), (Fraction(2), Fraction(4))
"""How many times as precise noise becomes by the next part: the smallest that is likely to do, else the largest. Fewer
and larger parts where their epsilons add up, as precision goes with the squares."""


class Certainty(NamedTuple):
    """How sure parts are together.

    Parameters
    ----------
    chance : float
        Of the likeliest model, or the least chance of a column's verdict.
    model : tuple of str
        The likeliest model.
    width : float or None
        Of the widest interval, or that of the named coefficient; None where it was not asked for.
    """

    chance: float
    model: tuple[str, ...]
    width: float | None = None


def moments_of(release: Release) -> MomentsRecord:
    """Return the noisy moments of a part."""
    if release.moments is None or release.moments.whitened is not None or release.pooled is not None:
        raise InvalidParameterError("A part must be a release of noisy moments in one pass. Give such ones.")
    return release.moments


def pooled_moments(parts: Sequence[Release]) -> MomentsRecord:
    """Return the moments of all parts, weighted by their precision."""
    return pooled([moments_of(part).model_copy(update={"fission": None}) for part in parts])


def load() -> None:
    """Load the compiled code, of which a slot's time is not to depend: the posterior of one column without rows."""
    nothing = Evidence(np.eye(1), np.zeros(1), np.ones(1), 0.0)
    posterior([nothing], Layout(np.zeros(1, dtype=np.bool_), np.ones((1, 1), dtype=np.bool_)), PRIORS["sparse"])


def certainty_of(parts: Sequence[Release], terms: Terms) -> Certainty:
    """Return how sure parts are together, from their releases alone."""
    return _certainty(pooled_moments(parts), terms)


def factor_needed(parts: Sequence[Release], terms: Terms) -> Fraction:
    """Return how many times as precise the noise should be made next.

    The released sums are taken as they are, and the variances of their noise divided by each factor: what the posterior
    would say if further draws left the sums where they stand.
    """
    moments = pooled_moments(parts)
    factors = FACTORS if terms.is_concentrated else FEWER_FACTORS
    likely = (factor for factor in factors if terms.suffices(_certainty(_sharper(moments, factor), terms)))
    return next(likely, factors[-1])


def _sharper(moments: MomentsRecord, factor: Fraction) -> MomentsRecord:
    times = 1.0 / float(factor)
    return moments.model_copy(
        update={
            "gram_variance": tuple(tuple(value * times for value in row) for row in moments.gram_variance),
            "xty_variance": tuple(value * times for value in moments.xty_variance),
            "yty_variance": moments.yty_variance * times,
            "n_rows_variance": moments.n_rows_variance * times,
        }
    )


def _certainty(moments: MomentsRecord, terms: Terms) -> Certainty:
    question = of_moments(moments)
    posterior = question.answer(PRIORS[terms.prior])
    model = tuple(unit for unit, is_in in zip(question.units, posterior.models[0], strict=True) if is_in)
    of_model = terms.of == "model"
    chance = (
        posterior.model_chances[0]
        if of_model
        else np.min(np.maximum(posterior.chances, 1.0 - posterior.chances), initial=1.0)
    )
    width = None
    if terms.of == "width":
        coefficients = averaged(question, posterior, INTERVAL_LEVEL)
        named = [each for each in coefficients if terms.coefficient in (None, each.name, each.column)]
        if not named:
            raise InvalidParameterError(
                "The coefficient whose width is to be reached must be of a candidate, but "
                f"coefficient={terms.coefficient!r}. Name one, or none for the widest."
            )
        width = max(each.high - each.low for each in named)
    return Certainty(min(max(float(chance), 0.0), 1.0), model, width)
