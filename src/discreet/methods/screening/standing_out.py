"""Which correlation or votes a column needs to be one of the k best after noise, from public facts alone."""

import math
from collections.abc import Mapping
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.mechanisms.rng import Source
from discreet.release import NoiseRecord
from discreet.typing import Floats

SEED = 20_260
"""Public, so that the same release is told the same."""

SHARE = 0.9
"""In this share of the draws a column that stands out is chosen."""

MOST_CORRELATION = math.sqrt(0.5)
"""Where a column needs more to be chosen, so more than half of the target's variance, none can stand out."""

TARGET_VARIANCE, COLUMN_VARIANCE = 1.0 / 9.0, 1.0 / 3.0
"""Supposed, of half a range squared, as in `scenario.py`: a target within three of its sd, columns spread evenly."""

SATURATED_SD = 0.7
"""In the place of the target's, where it saturates near its center: a sign goes with a column by sqrt(2 / pi) of what a
normal target does, a cut around a noisy center by a little less."""

DRAWS, MOST_ENTRIES = 4000, 2_000_000


def could_stand_out(
    noise: NoiseRecord, parameters: Mapping[str, Any], n_candidates: int, n_rows: float | None
) -> bool | None:
    """Return whether one of a fixed number of columns could be chosen for its effect; None where rows are unknown."""
    if isinstance(parameters.get("n_blocks"), int):
        return votes_of_screening(noise, parameters, n_candidates) <= 1.0
    if n_rows is None or n_rows < 1:
        return None
    return correlation_of_screening(noise, parameters, n_candidates, n_rows) <= MOST_CORRELATION


def correlation_of_screening(
    noise: NoiseRecord, parameters: Mapping[str, Any], n_candidates: int, n_rows: float
) -> float:
    """Return the correlation with the target at which one of k columns is chosen in `SHARE` of draws; maybe above 1."""
    d, k = n_candidates, int(parameters["n_features_to_select"])
    lead = noise.scale * lead_needed(noise, d, k, parameters.get("gamma"))
    # The sign of a normal variable goes with another by sqrt(2 / pi) of what the variable does.
    # A target of two values has no bound among the parameters, or codes: half of the rows are supposed to have each.
    has_two = parameters.get("codes") or parameters.get("level") or "y_bound" not in parameters
    target_sd = 1.0 if has_two else SATURATED_SD if "y_saturation" in parameters else math.sqrt(TARGET_VARIANCE)
    # Of the others the k-th largest correlation by sampling alone, and how far its own may fall below its mean.
    by_sampling, below = NormalDist().inv_cdf(1.0 - k / (2.0 * d)), NormalDist().inv_cdf(SHARE)
    association = parameters.get("association")
    column_sd = math.sqrt(2.0 / math.pi if association == "median_split" else COLUMN_VARIANCE)
    # Of normal variables of correlation r, S / (n - 1) is n / pi asin(r) in the mean, S Kendall's sum.
    of_correlation = 1.0 / math.pi if association == "kendall" else target_sd * column_sd
    by_noise = lead / (math.sqrt(n_rows) * of_correlation)
    return (math.hypot(by_noise, by_sampling) + below) / math.sqrt(n_rows)


def votes_of_screening(noise: NoiseRecord, parameters: Mapping[str, Any], n_candidates: int) -> float:
    """Return which share of the blocks must name a column so that it is chosen in `SHARE` of draws; maybe above 1."""
    d, k = n_candidates, int(parameters["n_features_to_select"])
    lead = noise.scale * lead_needed(noise, d, k, parameters.get("gamma"))
    return lead / int(parameters["n_blocks"]) + k / d  # every block names k columns, by chance alone each equally often


def lead_needed(noise: NoiseRecord, d: int, k: int, gamma: float | None) -> float:
    """Return by how many noise scales k columns must lead d - k alike ones, for `SHARE` of them to be chosen."""
    return _lead(noise.mechanism, noise.noise, d, k, gamma)


@lru_cache(maxsize=256)
def _lead(mechanism: str, law: str, d: int, k: int, gamma: float | None) -> float:
    source, n_draws = Source.seeded(SEED), max(min(DRAWS, MOST_ENTRIES // k), 100)

    def logs(n_columns: int) -> Floats:  # of uniform numbers in (0, 1)
        words = source.words(n_draws * n_columns) >> np.uint64(11)
        return np.log((words.astype(np.float64) + 0.5) * 2.0**-53).reshape(n_draws, n_columns)

    if mechanism == "canonical_lipschitz":
        # gamma b - (1 - gamma) max(a, b) is larger by gamma x lead for the right set than for any other.
        # Of m noises P(max <= t) = F(t)^m, so that log F(max) = log(U) / m.
        rivals = quantile(law, logs(1) * math.exp(-_log_sets(d, k))) - quantile(law, logs(1))
        return float(np.quantile(rivals, SHARE)) / (gamma if gamma else 1.0)
    own = quantile(law, logs(k))
    # The largest noises of the d - k others, in order: log U_(i) = log U_(i + 1) + log(V) / i.
    order = np.arange(d - k, max(d - 2 * k, 0), -1)
    others = quantile(law, np.cumsum(logs(len(order)) / order, axis=1))
    low, high = 0.0, 800.0
    for _ in range(40):
        middle = (low + high) / 2.0
        both = np.concatenate([own + middle, others], axis=1)
        cut = -np.partition(-both, k - 1, axis=1)[:, k - 1 : k]
        low, high = (middle, high) if float((own + middle >= cut).mean()) < SHARE else (low, middle)
    return high


def _log_sets(d: int, k: int) -> float:
    return math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)


def quantile(law: str, log_f: Floats) -> Floats:
    """Return where a standard noise has log F = `log_f`; far out, where log F underflows, both laws are alike."""
    least = np.minimum(log_f, -1e-300)
    answer: Floats = -np.log(-least) if law == "gumbel" else -np.log(-np.expm1(least))
    return answer
