"""The ways to estimate that the studies of Wang et al. 2018 compare, and one draw of each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.rng import Source
from discreet.report.study import Column, Row
from discreet_papers.experiment import Work
from discreet_papers.figures import mean_row
from discreet_papers.wang_curves import Algorithm, Parts
from discreet_papers.wang_pairs import Pair, private_methods

EXACT = Column(
    "counts without noise",
    False,
    "Algorithm 1 on exact counts, the points in the order of exact counts: the paper's black curve. It has no privacy "
    "and no epsilon.",
)
BY_SIZE = Column(
    "as published, by size",
    False,
    "Algorithm 2 as printed at the epsilon it claims: the paper's red curve, without the noise on the curve itself.",
)
CLAIMED = Column(
    "as published, as claimed",
    False,
    "What Algorithm 2 as printed releases at the epsilon it claims. All criteria are charged as one; each is given "
    "noise for a sensitivity of 1, but one row can change it by √n / 4 (25 at 10,000 rows); and a row counts at every "
    "point as near as its nearest.",
)
HONEST = Column(
    "published, honest epsilon",
    False,
    "The same with all parts scaled down until they add up to the total, every criterion charged. Still not private: "
    "the criterion's sensitivity is still taken as 1. Discreet has no variant with the right one: without a penalty, "
    "the fit to the private rows from which the criterion is measured has no useful bound.",
)
ONE_SIZE = Column(
    "published, size fixed beforehand",
    True,
    "Noisy counts beside all points order them (0.8 of epsilon), noisy counts beside the first ones weight these "
    "(0.2), ties counted once. Each size alone is private at epsilon. The lowest point of the curve is not: nobody "
    "knows it without looking.",
)
PUBLIC = Column(
    "public records alone", True, "The fit to the public table. It uses no private row, so it costs nothing."
)
NOTHING = Column("no effect", True, "All coefficients zero, whatever the rows are: every chance is one half.")
HISTOGRAM = Column(
    "histogram",
    True,
    "PerturbedHistogram at the total epsilon, private rows alone. The paper gives it half the total, and does not "
    "say how many cells.",
)
HYBRID = Column(
    "Discreet, hybrid",
    True,
    "HybridEstimator at the total epsilon: noisy counts beside public points that were chosen from the public table "
    "alone; with many columns, noisy sums by which the public records are weighted.",
)
SUBSET = Column(
    "Discreet, public subset",
    True,
    "PublicSubset at the total epsilon: 0.85 of it for one noisy measure, which serves all candidates, and 0.15 for "
    "one choice among them by a bounded loss on the private rows.",
)

METHODS = {HISTOGRAM.name: "histogram", HYBRID.name: "hybrid", SUBSET.name: "public subset"}

AS_PUBLISHED = "as published"
"""Part that computes two columns."""

FREE = "without private rows"
"""Part that computes two columns."""

PARTS = (EXACT.name, AS_PUBLISHED, HONEST.name, ONE_SIZE.name, FREE, HISTOGRAM.name, HYBRID.name, SUBSET.name)

WITHOUT_NOISE = (EXACT.name, FREE)
"""Parts that need one draw of a pair that there is one of."""


@dataclass(frozen=True)
class Protocol:
    """How a pair is looked at.

    Parameters
    ----------
    epsilons : tuple of int
        In total, in nats.
    sizes : sequence of int
        Numbers of released points.
    parts : Parts
        Of the published algorithm.
    """

    epsilons: tuple[int, ...]
    sizes: Sequence[int]
    parts: Parts


def drawn(work: Work, number: int, pair: Pair, protocol: Protocol) -> Iterator[Row]:
    """Compute the errors t of one draw of a part."""
    if work.part == FREE:
        yield Row(PUBLIC.name, {}, pair.error(pair.fit(pair.public)).t)
        yield Row(NOTHING.name, {}, pair.error(0.0 * pair.best).t)
    elif work.part in METHODS:
        method = private_methods(pair)[METHODS[work.part]]
        for epsilon in protocol.epsilons:
            outcome = (
                method(epsilon).prepare(pair.metadata, pair.target).run(pair.table, _source(work, number, epsilon))
            )
            if outcome.fit is not None:
                estimates = [each.estimate for each in outcome.fit.coefficients]
                yield Row(work.part, {"epsilon": epsilon}, pair.error(estimates).t)
    else:
        yield from _published(work, number, Algorithm(pair, protocol.sizes, protocol.parts), protocol.epsilons)


def _published(work: Work, number: int, algorithm: Algorithm, epsilons: tuple[int, ...]) -> Iterator[Row]:
    if work.part == EXACT.name:
        curve = algorithm.without_noise()
        for size, error in zip(curve.sizes, curve.errors, strict=True):
            yield Row(EXACT.name, {"points": size}, error.t)
        return
    for epsilon in epsilons:
        rng = _source(work, number, epsilon)
        if work.part == ONE_SIZE.name:
            curve, column = algorithm.one_size(epsilon, rng), ONE_SIZE.name
        elif work.part == HONEST.name:
            curve, chosen = algorithm.honest(epsilon, rng)
            yield Row(HONEST.name, {"epsilon": epsilon}, curve.errors[chosen].t)
            continue
        else:
            curve, chosen = algorithm.as_claimed(epsilon, rng)
            column = BY_SIZE.name
            yield Row(CLAIMED.name, {"epsilon": epsilon}, curve.errors[chosen].t)
        for size, error in zip(curve.sizes, curve.errors, strict=True):
            yield Row(column, {"epsilon": epsilon, "points": size}, error.t)


def _source(work: Work, number: int, epsilon: int) -> Source:
    return Source.seeded(work.seed + 1000 * number + epsilon)


def averaged(rows: Iterable[Row]) -> list[Row]:
    """Return the means of rows of the same column and settings, with standard errors of at least two draws."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.column, *row.settings.items()), []).append(row)
    return [_mean(group) for group in groups.values()]


def _mean(rows: list[Row]) -> Row:
    return mean_row(rows[0].column, rows[0].settings, np.array([row.value for row in rows]))
