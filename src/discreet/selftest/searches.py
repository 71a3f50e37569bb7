"""The search among all subsets: decisions of the list, and draws of the lazy search against exact laws."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from discreet.kernels.search import separable_blocks
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import constrained_scores
from discreet.mechanisms import subset_race
from discreet.mechanisms.rng import Source
from discreet.mechanisms.subset_search import noisy_min_subset
from discreet.selftest import laws
from discreet.selftest.decisions import by_decisions
from discreet.selftest.evidence import Evidence, misfit_of_counts, misfit_of_hits

COLUMNS = 60
"""Of the search whose columns do not overlap."""
SEARCHES = 500
"""Of it: 30,000 columns in or out, of which noise that is a tenth short moves 2 in 100."""
DIVIDED = 600
"""Searches whose zones matter: one that forgets them finds the empty model in 5 of 10 and not in 7."""
LEAD = 1.6
"""By how many scales a column is better in or out: there its chance moves most with the scale."""


def _subset_search(_: str, epsilon: float, effort: int) -> list[Evidence]:
    """`noisy_min_subset`, by its list and by its race."""
    evidence = [_listed(epsilon), disjoint_columns(epsilon, effort)]
    return [*evidence, divided(effort)] if epsilon == 1.0 else evidence


def _problem(gram: Any, xty: Any, yty: float, radius: float) -> SubsetProblem:
    d = len(xty)
    return SubsetProblem(gram, xty, yty, radius, np.eye(d, dtype=bool), np.zeros(d, dtype=bool), 1e-9)


def _listed(epsilon: float) -> Evidence:
    """One column, whose penalty is moved: the empty model is the first of the list."""
    gain = 100.0 / epsilon
    problem = _problem(np.eye(1) * gain, np.full(1, gain), 2.0 * gain, 10.0)

    def decide(gap: float, source: Source) -> bool:
        return noisy_min_subset(problem, np.full(1, gain + gap), 1, 1, epsilon, source, enumerate_models=True) == 1

    return by_decisions(
        decide, "exponential", 1.0 / epsilon, rounding=1e-6, **_about("listed models, the scale of the noise", epsilon)
    )


def disjoint_columns(epsilon: float, effort: int) -> Evidence:
    """Search columns that do not overlap: under Gumbel noise each is in or out by itself, by a logistic law."""
    n, scale = SEARCHES * effort, 1.0 / epsilon
    is_better = np.arange(COLUMNS) % 2 == 1
    penalty = 2.0 * scale
    gains = penalty + np.where(is_better, LEAD, -LEAD) * scale
    problem = _problem(np.eye(COLUMNS), np.sqrt(gains), float(gains.sum()), 10.0 * float(np.sqrt(gains).sum()))
    hits = 0
    for _ in range(n):
        chosen = noisy_min_subset(problem, np.full(COLUMNS, penalty), COLUMNS, 1, epsilon, Source(), "gumbel")
        hits += sum((chosen >> place & 1) == better for place, better in enumerate(is_better.tolist()))
    chance = 1.0 / (1.0 + math.exp(-LEAD))  # the difference of two Gumbel numbers is logistic
    misfit = misfit_of_hits(hits, n * COLUMNS, chance)
    facts = _about(f"2^{COLUMNS} models, searched lazily: columns that do not overlap", epsilon)
    return Evidence(shown=epsilon, how="draws", n_draws=n * COLUMNS, misfit=misfit, **facts)


def divided(effort: int) -> Evidence:
    """Search for at most one of ten columns that overlap, and divide at each step."""
    n = DIVIDED * effort
    place = np.arange(10)
    gram, effects = 0.9 ** np.abs(place[:, None] - place), np.cos(1.7 * place)
    explained = float(effects @ gram @ effects)
    scale = 12.0 / explained
    xty = gram @ effects * scale
    problem = _problem(gram * scale, xty, 1.05 * 12.0, 1.5 * float(np.abs(effects).sum()))
    models = np.append(np.uint64(0), np.uint64(1) << place.astype(np.uint64))
    law = laws.least_law(constrained_scores(problem, models)[0], 1.0, "exponential")
    with _dividing():
        drawn = [noisy_min_subset(problem, np.zeros(10), 1, 1, 1.0, Source(), enumerate_models=False) for _ in range(n)]
    counts = [drawn.count(int(model)) for model in models]
    misfit = min(1.0, 2.0 * min(misfit_of_counts(counts, law), misfit_of_hits(counts[0], n, float(law[0]))))
    facts = _about("at most one of 10 columns, searched lazily: regions that are divided at each step", 1.0)
    return Evidence(shown=1.0, how="draws", n_draws=n, misfit=misfit, **facts)


@contextmanager
def _dividing() -> Iterator[None]:
    """Make bounds poor and use each once, so that zones are left behind often: this changes times, and no law."""
    before = subset_race.TIGHT, subset_race.POINTS, separable_blocks.WIDTH
    subset_race.TIGHT, subset_race.POINTS, separable_blocks.WIDTH = 0.0, 1, 3
    try:
        yield
    finally:
        subset_race.TIGHT, subset_race.POINTS, separable_blocks.WIDTH = before


def _about(case: str, epsilon: float) -> dict[str, Any]:
    return {
        "subject": "mechanisms.subset_search.noisy_min_subset",
        "case": case,
        "claim": "mechanisms/subset_search.privacy.md",
        "neighboring": "-",
        "epsilon": epsilon,
        "delta": 0.0,
    }


OF_CALLERS = (_subset_search,)
"""To which the relation is their caller's."""
