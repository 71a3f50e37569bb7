"""The methods by their names on the command line."""

import difflib
import importlib
from collections.abc import Sequence
from typing import Any

from discreet.errors import InvalidParameterError
from discreet.methods.base.method import Method

_HOMES = {
    "pcls": ("discreet.methods.subset_selection.pcls", "PenalizedLeastSquares"),
    "pcpl": ("discreet.methods.subset_selection.pcpl", "ProfileLikelihood"),
    "moments": ("discreet.methods.moments.moments_selection", "NoisyMoments"),
    "sis": ("discreet.methods.screening.sis", "IndependenceScreening"),
    "two-stage": ("discreet.methods.screening.two_stage", "TwoStageVotes"),
    "decorrelated": ("discreet.methods.screening.decorrelated_scores", "DecorrelatedScreening"),
    "linear": ("discreet.methods.regression.linear", "LinearModel"),
    "logistic": ("discreet.methods.regression.logistic", "LogisticModel"),
    "poisson": ("discreet.methods.regression.poisson", "PoissonModel"),
    "hybrid": ("discreet.methods.public_records.hybrid", "HybridEstimate"),
    "public-subset": ("discreet.methods.public_records.public_subset", "PublicSubset"),
    "histogram": ("discreet.methods.public_records.histogram", "Histogram"),
    "run": ("discreet.methods.select_then_fit", "SelectThenFit"),
}
"""Imported on first use: a selection must not wait for what only a fit needs."""

SELECTIONS = ("pcls", "pcpl", "moments")
SCREENINGS = ("sis", "two-stage")
IN_PLANS = (*SELECTIONS, "decorrelated")
"""Selections of a plan of several steps."""
CHOOSING = (*IN_PLANS, *SCREENINGS)
"""Whatever chooses columns in one request."""
FAMILIES = ("linear", "logistic", "poisson")


def require_method(name: str, allowed: Sequence[str], parameter: str = "method") -> None:
    """Refuse the name of a method that is none of some, and say which was probably meant."""
    if name not in allowed:
        near = difflib.get_close_matches(name[:40], allowed, 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise InvalidParameterError(
            f"{parameter} must be one of {', '.join(allowed)}, but {parameter}={name[:40]!r}.{meant}"
        )


def method_of(name: str, **parameters: Any) -> Method:
    """Return a method by its name on the command line, its parameters checked."""
    require_method(name, tuple(_HOMES))
    module, kind = _HOMES[name]
    method: type[Method] = getattr(importlib.import_module(module), kind)
    return method.of(**{key: value for key, value in parameters.items() if value is not None})
