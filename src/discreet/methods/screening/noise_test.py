"""Whether selected columns go with the target more than chance gives: Kendall's sums against the law without effect."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TypeVar

import numpy as np
from scipy.special import ndtri

from discreet.accounting.events import LaplaceEvent
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engine import Table
from discreet.data.score_design import ScoreDesign
from discreet.errors import InvalidParameterError
from discreet.kernels.top_k.kendall_sums import joint_counts, kendall_of_rows, kendall_sum
from discreet.mechanisms.additive import check_scale, discrete_laplace
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Preparation
from discreet.methods.base.part import Part
from discreet.methods.base.rows_in_memory import all_rows
from discreet.methods.screening.standing_out import could_stand_out
from discreet.parameters.screening import IndependenceParameters, VotesParameters
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Floats, Integers

Prepared = TypeVar("Prepared", bound=Preparation)

CLAIM = "methods/screening/noise_test.privacy.md"

SHARES = (Fraction(1, 10), Fraction(3, 20), Fraction(1, 5), Fraction(1, 4), Fraction(3, 10))
"""Of epsilon: the least that tells a correlation of `WANTED` from chance; the first where none does."""

WANTED = 0.5
"""A column that explains a quarter of the target's variance."""

LEVEL, POWER = 0.05, 0.9

STEPS, STEPS_OF_COUNT = 1024, 256
"""Whole steps in one of what gets noise: in the association, and in the number of rows where it is private."""

MOST_BINS, MOST_COUNTS = 256, 2**21

DRAWN = 2000
"""Places at which the law without effect is evaluated."""


@dataclass(frozen=True)
class NoiseTest:
    """The public plan of the test.

    Parameters
    ----------
    design : ScoreDesign
        Around the middle of the target's bounds, with half their width as its bound.
    epsilon : Fraction
        In nats.

    Notes
    -----
    The association of a column is |S| / (n - 1), S Kendall's sum over all pairs of rows; the test takes the largest of
    the selected columns. Where the number of rows is private, it is released beside, at a quarter of the weight.
    """

    design: ScoreDesign
    epsilon: Fraction

    @property
    def knows_count(self) -> bool:
        """Whether the number of rows is public."""
        return self.design.metadata.n_rows is not None

    @property
    def sensitivity(self) -> int:
        """The l1 sensitivity of what gets noise, in whole steps; see the claim."""
        metadata = self.design.metadata
        rows = metadata.rows_per_unit
        # A unit of b rows in the place of one of a <= b <= c moves |S| / (n - 1) by (a + 3 b) / 2 at most: 2 c, or 3 c
        # / 2 for a = 0. In steps, a private number of rows adds 256 (b - a), which leaves the first as it is.
        if metadata.neighboring is NeighboringRelation.REPLACE_ONE:
            return 2 * STEPS * rows  # enough for the number of rows, too
        return 3 * STEPS * rows // 2 + (0 if self.knows_count else STEPS_OF_COUNT * rows)

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, in whole steps."""
        return self.sensitivity / self.epsilon

    def part(self) -> Part:
        """Return the part with its privacy cost: discrete Laplace noise."""
        rows = self.design.metadata.rows_per_unit
        check_scale(self.scale, "the noise test")
        change = "one row changes" if rows == 1 else f"{rows} rows of one unit change"
        box = NoiseRecord(
            mechanism="discrete_laplace",
            noise="laplace",
            sensitivity=self.sensitivity / STEPS,
            scale=float(self.scale) / STEPS,
            unit="rows by which pairs agree or disagree in order",
            formula=f"{self.sensitivity / STEPS:g}, the most that {change} the largest association"
            + ("" if self.knows_count else " and a quarter of the number of rows"),
            numerics="exact draw on whole steps",
            claim=CLAIM,
        )
        return Part("noise_test", LaplaceEvent(self.epsilon), box)

    def sums(self, table: Table, selected: Sequence[str]) -> tuple[int, Integers]:
        """Return the number of rows, and Kendall's sum of each selected column and the target.

        Parameters
        ----------
        table : Table
            The private table.
        selected : sequence of str
            Columns that an earlier step released.

        Returns
        -------
        int, ndarray of int64 of shape (k,)
            Private. Of bins of both; of the cells as they are where columns count by their order. Cost: one pass over
            these columns.
        """
        if self.design.by_order:
            cells = all_rows(table, replace(self.design, features=tuple(selected)))
            return len(cells), kendall_of_rows(cells)
        n_bins = min(MOST_BINS, 2 ** int(math.log2(MOST_COUNTS / len(selected)) / 2))
        start = np.zeros((len(selected), n_bins, n_bins), dtype=np.int64)
        design = replace(self.design, features=tuple(selected))
        counts = table.map_reduce(design, partial(joint_counts, n_bins=n_bins), start)
        return int(counts[0].sum()), np.array([kendall_sum(column) for column in counts], dtype=np.int64)

    def chance(self, noisy: list[int]) -> float:
        """Return how often a table without any effect gives as much, from what is released.

        Parameters
        ----------
        noisy : list of int
            The largest association, and the number of rows where that is private, in whole steps.

        Returns
        -------
        float
            In [0, 1], six decimals.
        """
        if self.knows_count:
            n_rows = float(self.design.metadata.n_rows or 1)
        else:  # two standard deviations more: a noisy number of rows may be larger than it looks
            n_rows = max(noisy[1] + 2.0 * math.sqrt(2.0) * float(self.scale), 0.0) / STEPS_OF_COUNT
        law = (self._deviation(n_rows), float(self.scale) / STEPS, len(self.design.features))
        return round(chance_without_effect(noisy[0] / STEPS, *law), 6)

    def _deviation(self, n_rows: float) -> float:
        """Standard deviation of S / (n - 1) without an effect."""
        return math.sqrt(kendall_variance(n_rows, self.design.metadata.rows_per_unit))

    def correlation_needed(self, n_rows: float) -> float:
        """Return the correlation of normal variables that the test tells from chance in 9 of 10 draws; maybe above 1.

        Parameters
        ----------
        n_rows : float
            Public, guessed or with noise.

        Returns
        -------
        float
            In any case more than 0.
        """
        law = (self._deviation(n_rows), float(self.scale) / STEPS)
        tau = 2.0 * _distinct_association(*law, len(self.design.features)) / max(n_rows, 1.0)
        return math.sin(math.pi / 2.0 * tau) if tau <= 1.0 else tau


def kendall_variance(n_rows: float, rows_per_unit: int) -> float:
    """Return the variance of S / (n - 1) without an effect, S Kendall's sum over pairs of rows.

    Parameters
    ----------
    n_rows : float
        Public, guessed or with noise.
    rows_per_unit : int
        c; as many rows of a unit may be alike.

    Returns
    -------
    float
        At most, as ties make it smaller.
    """
    n = max(n_rows, 2.0)
    # Var S = n (n - 1) (2 n + 5) / 18 without ties; with ties it is less.
    return n * (2.0 * n + 5.0) / (18.0 * (n - 1.0)) * rows_per_unit


def associations_tested(test: NoiseTest, table: Table, selected: Sequence[str], rng: Source) -> StepRecord:
    """Return the step, whose value is how often a table without any effect gives as much.

    Parameters
    ----------
    test : NoiseTest
        The public plan.
    table : Table
        The private table.
    selected : sequence of str
        What was released before.
    rng : Source
        Where the noise comes from.

    Returns
    -------
    StepRecord
        With a chance in [0, 1].

    Notes
    -----
    Claim: ``noise_test.privacy.md``. Cost: one pass over the selected columns; 8 bytes a pair of bins.
    """
    n_rows, sums = test.sums(table, selected)
    largest = int(np.abs(sums).max())
    exact = [largest * STEPS // max(n_rows - 1, 1)]
    exact += [] if test.knows_count else [STEPS_OF_COUNT * n_rows]
    noisy = discrete_laplace(exact, test.scale, rng)
    return test.part().record(test.chance(noisy))


def plan_noise_test(
    method: IndependenceParameters | VotesParameters, design: ScoreDesign, epsilon: Fraction
) -> NoiseTest | None:
    """Return the test of a request, with the share of epsilon that tells enough from chance, from public facts.

    Parameters
    ----------
    method : IndependenceParameters or VotesParameters
        Says whether there is a test.
    design : ScoreDesign
        The row map.
    epsilon : Fraction
        Of the whole request, in nats.

    Returns
    -------
    NoiseTest or None
        None where none is asked for.

    Raises
    ------
    InvalidParameterError
        Where the table has a value a row, or columns are split.
    """
    metadata = design.metadata
    if not method.noise_test:
        return None
    if not _is_possible(method, design):
        raise InvalidParameterError(
            "noise_test must have a table of a column a feature, and columns that are not split. Drop it."
        )
    tests = [NoiseTest(design, epsilon * share) for share in SHARES]
    n_rows = metadata.n_rows if metadata.n_rows is not None else method.n0
    if n_rows is None:
        return tests[0]
    return next((test for test in tests if test.correlation_needed(n_rows) <= WANTED), tests[0])


def prepare_with_default_test(
    method: IndependenceParameters | VotesParameters, prepare: Callable[[bool], Prepared], design: ScoreDesign
) -> Prepared:
    """Prepare a request with or without the test, as it asks; by default with it where it can tell something.

    That is where a column could stand out of a choice without the test, and where epsilon suffices for both.

    Parameters
    ----------
    method : IndependenceParameters or VotesParameters
        Says whether there is a test.
    prepare : callable
        Prepares the request with the test (True) or without it (False).
    design : ScoreDesign
        The row map.

    Returns
    -------
    Preparation
        By public facts alone.
    """
    if method.noise_test is not None:
        return prepare(method.noise_test)
    without = prepare(False)
    if method.n_features_to_select == "auto" or not _is_possible(method, design):
        return without
    n_rows = design.metadata.n_rows if design.metadata.n_rows is not None else method.n0
    if could_stand_out(without.noise, without.parameters, len(design.features), n_rows) is False:
        return without
    with suppress(InvalidParameterError):  # the parts that were asked for, or the scale of its noise, leave no room
        return prepare(True)
    return without


def _is_possible(method: IndependenceParameters | VotesParameters, design: ScoreDesign) -> bool:
    return design.metadata.layout is None and getattr(method, "association", None) != "median_split"


def epsilon_beside(test: NoiseTest | None, epsilon: Fraction) -> Fraction:
    """Return what a test leaves of an epsilon.

    Parameters
    ----------
    test : NoiseTest or None
        Of the request.
    epsilon : Fraction
        Of what is not yet spoken for, in nats.

    Returns
    -------
    Fraction
        More than 0.

    Raises
    ------
    InvalidParameterError
        Where nothing is left.
    """
    remaining = epsilon if test is None else epsilon - test.epsilon
    if remaining <= 0:
        raise InvalidParameterError(
            "shares must leave something for the choice of the columns beside the noise test. Lower one, or set "
            "noise_test to false."
        )
    return remaining


def chance_without_effect(value: float, deviation: float, scale: float, n_columns: int) -> float:
    """Return how often the largest of `n_columns` associations without an effect, with noise, is at least a value.

    The associations are supposed to be normal, the noise Laplace; however the columns go together, the largest exceeds
    m in at most n P(|Z| > m / deviation) of tables.

    Parameters
    ----------
    value : float
        The largest association, with its noise.
    deviation, scale : float
        Of an association without an effect; of the Laplace noise. In the unit of `value`, more than 0.
    n_columns : int
        At least 1.

    Returns
    -------
    float
        In [0, 1].
    """
    # P(largest of m >= x) <= 2 m Phi(-x / deviation) = tail: at each tail what Laplace noise must add to the largest.
    tails = (np.arange(DRAWN) + 0.5) / DRAWN
    lead = value + deviation * ndtri(tails / (2.0 * n_columns))
    return float(_laplace_tail(lead / scale).mean())


def _laplace_tail(lead: Floats) -> Floats:
    """P(L >= lead) of a standard Laplace variable."""
    half = 0.5 * np.exp(-np.abs(lead))
    tail: Floats = np.where(lead > 0.0, half, 1.0 - half)
    return tail


@lru_cache(maxsize=256)
def _distinct_association(deviation: float, scale: float, n_columns: int) -> float:
    """The mean association that is told from chance in `POWER` of draws."""
    low, high = 0.0, deviation * 60.0 + scale * 60.0
    for _ in range(50):
        middle = (low + high) / 2.0
        is_chance = chance_without_effect(middle, deviation, scale, n_columns) > LEVEL
        low, high = (middle, high) if is_chance else (low, middle)
    below = -deviation * ndtri((np.arange(DRAWN) + 0.5) / DRAWN)
    critical, least, most = high, high - 60.0 * (deviation + scale), high + 60.0 * (deviation + scale)
    for _ in range(50):
        middle = (least + most) / 2.0
        is_enough = float(_laplace_tail((critical - middle - below) / scale).mean()) >= POWER
        least, most = (least, middle) if is_enough else (middle, most)
    return most
