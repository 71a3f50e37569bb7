"""Columns whose decorrelated scores lie above a threshold: each beside all the others, at one price for all.

The columns' products and a first look at the target get cube noise. From these it is public, for any row, what the
other columns say of a column and of the target; the last pass adds up the products of what is left of both.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from discreet.accounting.events import ComposedEvent, CubeEvent, LaplaceEvent, SelectionEvent, event_record
from discreet.accounting.guarantee import exact, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.data.metadata import Metadata, NumericColumn, half_width
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_rows import BINS, DISTANCES, SaturatedRows
from discreet.kernels.rows.decorrelated_scores import Target
from discreet.kernels.sufficient_statistics.decorrelation import (
    CUTS,
    SAMPLING,
    Columns,
    Pilot,
    columns_of,
    corrected,
    decorrelation,
    fit_of,
    pilot,
    public_columns,
    shrunk_means,
)
from discreet.mechanisms.additive import check_scale, discrete_laplace
from discreet.mechanisms.cube import check_cube, cube_noise, cube_variance
from discreet.mechanisms.quantile import noisy_quantile, rank_sensitivity
from discreet.mechanisms.rng import Source
from discreet.methods.base.known_columns import KnownColumns
from discreet.methods.base.method import Method, Outcome, Preparation, Progress
from discreet.methods.base.part import Part
from discreet.methods.base.public_check import NAME, LookedAt, PublicLook, share_of_look
from discreet.methods.base.request_facts import not_protected, rows_progress
from discreet.methods.base.request_facts import public_columns as columns_record
from discreet.methods.screening.decorrelated_columns import entering_together, saturated_rows, stated_centers
from discreet.methods.screening.threshold_choice import AboveThreshold
from discreet.methods.screening.units import Units
from discreet.parameters.screening import DECORRELATION_SHARES, FEW_SHARES, PUBLIC_SHARES, DecorrelatedParameters
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Cells, Floats, Integers

CLAIM = "methods/screening/decorrelated_scores.privacy.md"

MOST_COLUMNS = 64
"""Of the numbers that a row becomes, a category one a level but the first: noise grows with the number of pairs."""

ENOUGH = 1000.0
"""Rows times epsilon, over half of what a unit moves: from here on columns are cut ever less, as noise matters less."""

SATURATIONS = (0.6, 1.0)
"""The part of each half range at which a column counts as at its end: with few rows, and with many."""

TYPICAL_ROWS = 1000
"""Guess of the number of rows where it is private, for the saturation."""

DEVIATIONS = 2.5
"""By how many standard deviations scores of no effect may be large: a column whose score varies more has it lowered."""

NARROW, AIMED = 2 * GRID // BINS, 0.6
"""A target that is spread over less than this, a bin of its median, lies on one side of its center. Then scores vary
more than is known, and this part of the stated chance of a false column is aimed at."""

MOST_SCORE = 2**61
"""In steps: beyond any threshold, and far from where 64 bits end."""

ENOUGH_FOR_PILOT = 0.6
"""Of the information, where the columns' moments are public: with less a pilot costs more than it tells."""

HALF = Fraction(1, 2)


class DecorrelatedScreening(DecorrelatedParameters, Method):
    """The columns that go with the target beside all the others, by decorrelated scores above a threshold.

    References
    ----------
    Ning and Liu 2017 (decorrelated scores); Frisch and Waugh 1933; Hardt and Talwar 2010 (cube noise).
    """

    name: ClassVar[str] = "decorrelated"

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> Preparation:
        """Check the request and calibrate its noise, from public facts alone.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response, numeric.
        candidates : sequence of str, optional
            Columns that may be selected; default all declared ones but the target.

        Returns
        -------
        Preparation
            The cost, the noise, and a `run`.

        Raises
        ------
        InvalidParameterError
            When names, numbers or shares do not fit.
        MetadataError
            When a column lacks bounds or levels.
        """
        if metadata.layout is not None:
            raise InvalidParameterError(
                "decorrelated must have a table of a column a feature, but this one has a value a row. Use sis."
            )
        center = self.y_center if isinstance(self.y_center, float) else None
        design = Design.plan(metadata, target, candidates, center)
        units = Units.of(design.candidates, self.forced, self.groups)
        width = saturated_rows(design, units)[0].width
        if width > MOST_COLUMNS:
            raise InvalidParameterError(
                f"decorrelated must have at most {MOST_COLUMNS} columns, a category one a level but the first, but "
                f"there are {width}: noise grows with their pairs. Name fewer candidates, or use sis."
            )
        if self.public_moments is not None and self.saturation is not None:
            raise InvalidParameterError(
                "saturation must not be given with public_moments, which are of columns as they are. Leave one out."
            )
        if self.public_moments is not None and not isinstance(self.x_center, str):
            raise InvalidParameterError(
                "x_center must not be given with public_moments, which have the columns' means. Leave one out."
            )
        middle, half = half_width(cast("NumericColumn", metadata.declared(target)))
        whole = replace(design, center=middle, bound=half)
        if self.public_moments is None:
            return PreparedScores(self, whole, units)
        used = PreparedScores(self, whole, units)
        share = share_of_look(used.information)
        if (self.shares or {}).get(NAME) is not None:
            share = exact((self.shares or {})[NAME], f"shares[{NAME!r}]")
        epsilon = exact_epsilon(self.epsilon)
        rest = epsilon - epsilon * share
        used, bought = (PreparedScores(self, whole, units, rest, is_public) for is_public in (True, False))
        look = PublicLook(whole, used.rows, used.public_columns, epsilon * share)
        _check_shares(self, (*used.budget, *bought.budget, NAME))
        return LookedAt(look, used, bought)


class PreparedScores(Preparation):
    """A request of `DecorrelatedScreening` with its noise fixed.

    Parameters
    ----------
    method : DecorrelatedScreening
        The parameters.
    design : Design
        The row map, the target around the middle of its bounds.
    units : Units
        Which candidates enter together.
    epsilon : Fraction, optional
        Of the parts; default that of the request.
    is_public : bool
        Whether public moments are used, where there are such.
    """

    columns: Sequence[str]

    def __init__(
        self,
        method: DecorrelatedScreening,
        design: Design,
        units: Units,
        epsilon: Fraction | None = None,
        is_public: bool = True,
    ) -> None:
        self.method, self.design, self.units, self.metadata = method, design, units, design.metadata
        self.columns, self.target, self.candidates = design.columns, design.target, design.candidates
        stated_moments = method.public_moments if is_public else None
        self.known = None if stated_moments is None else KnownColumns.of(stated_moments, design)
        rows, self.entering = saturated_rows(design, units, self._saturation, has_products=self.known is None)
        self.rows = replace(rows, centers=stated_centers(method.x_center, design, rows))
        self.width = self.rows.width
        self.budget = _budget(method, self._default_shares, epsilon)
        self.choice = AboveThreshold(
            self.entering,
            self.budget["screening"],
            self._moved * GRID**2,
            GRID**2,
            self._rows_per_unit,
            method.max_false,
            max_size=method.max_size,
        )
        self.parts = self._parts()
        n_rows = self.metadata.n_rows
        self.noise = self._choice_noise(None if n_rows is None else float(n_rows * self._rows_per_unit))
        self.event = ComposedEvent((*(part.event for part in self.parts.values()), self.choice.event))
        self.steps = (*(part.record() for part in self.parts.values()), self._screening(self.noise))
        stated = method.model_dump(mode="json", exclude_none=True)
        saturation = {} if self.known is not None else {"saturation": self._saturation}
        self.parameters: dict[str, Any] = {**self.choice.parameters, **stated, **saturation}
        self.public = tuple(columns_record(self.metadata, design))
        self.not_protected = not_protected(self.metadata)

    @property
    def _rows_per_unit(self) -> int:
        return self.metadata.rows_per_unit

    @property
    def _moved(self) -> int:
        """The most that one unit changes a sum of products in [-1, 1] by, in rows."""
        return (2 if self.metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1) * self._rows_per_unit

    @property
    def _saturation(self) -> float:
        """As stated, or the nearer to 1 the more rows there publicly are beside the noise."""
        if self.method.saturation is not None:
            return self.method.saturation
        if self.known is not None:
            return 1.0
        return _between(SATURATIONS, self.information**0.4)

    @property
    def _has_centers(self) -> bool:
        return self.known is None and not bool(self.rows.is_two_valued.all())

    @property
    def _n_means(self) -> int:
        """Sums that centers are bought by: of columns that are not of two values, and where it is private the count."""
        return self._buys_count + int((~self.rows.is_two_valued).sum())

    @property
    def _n_guess(self) -> int:
        return self.metadata.n_rows or self.method.n0 or TYPICAL_ROWS

    @property
    def _default_shares(self) -> dict[str, float]:
        """Shares of the parts before the choice, of those that there are."""
        shares = DECORRELATION_SHARES
        if self.known is not None:
            shares = PUBLIC_SHARES if self.information >= ENOUGH_FOR_PILOT else FEW_SHARES
        absent = set() if self.method.y_center == "private" else {"y_median"}
        absent |= set() if self.method.x_center == "private" and self._has_centers else {"x_center"}
        absent |= {"gram"} if self.known is not None and not self._buys_count else set()
        return {name: share for name, share in shares.items() if name not in absent}

    @property
    def information(self) -> float:
        """Public guess of thousands of rows that are replaced one by one, times epsilon."""
        return self._information(self._n_guess)

    def _information(self, n_rows: float) -> float:
        return n_rows * self.method.epsilon * 2.0 / self._moved / ENOUGH

    @property
    def _buys_count(self) -> bool:
        return self.metadata.n_rows is None

    @property
    def _n_products(self) -> int:
        return self._buys_count + (self.width + len(self.rows.pairs[0]) if self.known is None else 0)

    def _scale(self, name: str) -> Fraction:
        """Scale of the noise of a vector of sums, in rows."""
        return self._moved / self.budget[name]

    def _parts(self) -> dict[str, Part]:
        """The parts before the choice, in their order."""
        makers = {
            "x_center": lambda: self._cube_part("x_center", self._n_means, GRID),
            "y_median": lambda: self._rank_part("y_median", BINS),
            "y_scale": lambda: self._rank_part("y_scale", len(DISTANCES)),
            "gram": lambda: self._cube_part("gram", self._n_products),
            "pilot": lambda: self._cube_part("pilot", self.width + 1),
            "y_shift": self._shift_part,
        }
        return {name: make() for name, make in makers.items() if name in self.budget}

    def _rank_part(self, name: str, n_points: int) -> Part:
        epsilon, gamma = self.budget[name], rank_sensitivity(HALF, self.metadata.neighboring, self._rows_per_unit)
        box = NoiseRecord(
            mechanism="permute_and_flip",
            noise="exponential",
            n_candidates=n_points,
            sensitivity=float(gamma),
            scale=float(gamma / epsilon),
            unit="rows",
            formula=f"{float(gamma):g}: distance in rank of the median",
            numerics="exact draw",
            claim="mechanisms/quantile.privacy.md",
        )
        return Part(name, SelectionEvent(epsilon, "exponential"), box)

    def _cube_part(self, name: str, n_numbers: int, steps_a_row: int = GRID**2) -> Part:
        scale = self._scale(name)
        check_cube(n_numbers, scale * steps_a_row, f"the {n_numbers} sums of {name}")
        box = NoiseRecord(
            mechanism="cube",
            noise="cube",
            sensitivity=float(self._moved),
            scale=float(scale),
            unit="products of saturated columns" if steps_a_row == GRID**2 else "cells in half ranges",
            formula=f"{self._moved}, the most that one {self.metadata.unit} changes any of {n_numbers} sums by",
            numerics="exact draw on whole steps",
            claim="mechanisms/cube.privacy.md",
        )
        return Part(name, CubeEvent(self.budget[name]), box)

    def _shift_part(self) -> Part:
        scale = self._scale("y_shift")
        check_scale(scale * GRID, "the mean of the residuals")
        box = NoiseRecord(
            mechanism="discrete_laplace",
            noise="laplace",
            sensitivity=float(self._moved),
            scale=float(scale),
            unit="cut residuals",
            formula=f"{self._moved}, the most that one {self.metadata.unit} changes their sum by",
            numerics="exact draw on whole steps",
            claim=CLAIM,
        )
        return Part("y_shift", LaplaceEvent(self.budget["y_shift"]), box)

    def _choice_noise(self, variance: float | None, choice: AboveThreshold | None = None) -> NoiseRecord:
        """The noise box, with the threshold for the variance of a score of no effect, in rows."""
        formula = f"{self._moved}, the most that one {self.metadata.unit} changes a score by"
        record = self.choice.noise_record(GRID**2, "decorrelated scores, in rows", formula, CLAIM)
        if variance is None:
            return record
        # Up to the next of a few values: then the threshold, which is computed from drawn tables, is so once.
        rounded = math.exp2(math.ceil(8.0 * math.log2(max(variance, 1.0))) / 8.0)
        return record.model_copy(update={"threshold": (choice or self.choice).threshold_at(rounded) / GRID**2})

    def _screening(self, noise: NoiseRecord) -> StepRecord:
        return StepRecord(name="screening", event=event_record(self.choice.event), noise=noise)

    # ---- the run

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Estimate median and scale of the target, products and a pilot; score the rows by these; choose.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Called as rows of the last pass are read, where their number is public.

        Returns
        -------
        Outcome
            The selected columns, in the order of the candidates.

        Notes
        -----
        Claim: ``decorrelated_scores.privacy.md``. Cost: five passes over the rows, four where the center is public.
        """
        steps = list[StepRecord]()
        rows = self._centered(table, rng, steps)
        center = self._center(table, rng, steps)
        distance = self._distance(table, rng, steps, center) if "y_scale" in self.parts else 2
        target = Target(center, max(distance // 2, 1))
        n_rows, columns, first = self._first_look(table, rng, steps, rows, target)
        residuals = partial(rows.residuals, target=target, fit=fit_of(columns, first, distance))
        first = self._residual_mean(table, rng, steps, residuals, first, n_rows)
        cut = _between(CUTS, self._information(n_rows) ** 0.8)
        plan = decorrelation(columns, first, entering_together(self.entering), distance, cut)
        start = np.zeros(self.width, dtype=np.int64)
        progress_of_rows = rows_progress(progress, table)
        sums = table.map_reduce(
            self.design, partial(rows.scores, target=target, scoring=plan.scoring), start, progress_of_rows
        )
        # A noisy number of rows may be larger than it looks.
        more = 2.0 * math.sqrt(cube_variance(self._n_products, self._scale("gram"))) if self._buys_count else 0.0
        variances = (n_rows + more) * self._rows_per_unit * plan.row_variances + n_rows**2 * plan.variances
        chance = self.method.max_false * (AIMED if distance <= NARROW else 1.0)
        noise = self._choice_noise(float(variances.mean()), replace(self.choice, max_false=chance))
        # What was released before may be added to any score: it moves none of them between neighbors.
        # All is cut, so that no sum wraps around: that would tell neighbors apart.
        shifted = np.abs(np.clip(sums, -MOST_SCORE, MOST_SCORE) + _steps(plan.shifts * n_rows))
        own = shifted - _steps(DEVIATIONS * (np.sqrt(variances) - math.sqrt(variances.mean())))
        threshold = round((noise.threshold or 0.0) * GRID**2)
        chosen = self.choice.draw(self.entering.scores(np.maximum(own, 0)), threshold, rng)
        names = tuple(self.candidates[place] for place in self.units.columns(chosen))
        return Outcome(names, noise, (*steps, self._screening(noise)))

    def _centered(self, table: Table, rng: Source, steps: list[StepRecord]) -> SaturatedRows:
        """Return the rows with the centers of their columns: public ones, or noisy means."""
        if "x_center" not in self.parts:
            return self.rows
        start, scale = np.zeros(self._n_means, dtype=np.int64), self._scale("x_center")
        sums = table.map_reduce(self.design, partial(self.rows.plain_sums, with_count=self._buys_count), start)
        noisy = np.array(cube_noise(sums.tolist(), scale * GRID, rng), dtype=np.float64) / GRID
        steps.append(self.parts["x_center"].record())
        spread = math.sqrt(cube_variance(len(noisy), scale))
        n_rows = max(float(noisy[0]), spread) if self._buys_count else float(self.metadata.n_rows or 1)
        means = shrunk_means(noisy[self._buys_count :] / n_rows, (spread / n_rows) ** 2)
        centers = np.zeros(self.width, dtype=np.int64)
        centers[~self.rows.is_two_valued] = np.rint(means * GRID)
        return replace(self.rows, centers=tuple(centers.tolist()))

    def _center(self, table: Table, rng: Source, steps: list[StepRecord]) -> int:
        """Return the target's center in steps of its grid: its noisy median, or a public point."""
        middle, half = self.design.center, self.design.bound
        if self.method.y_center != "private":
            public = middle if self.method.y_center == "middle" else float(self.method.y_center)
            return round(min(max((public - middle) / half, -1.0), 1.0) * GRID)
        counts = table.map_reduce(self._target_alone, self.rows.bins, np.zeros(BINS, dtype=np.int64))
        place = noisy_quantile(counts, HALF, *self._law("y_median", rng))
        center = round((2 * place + 1 - BINS) * (2 * GRID + 1) / (2 * BINS))
        steps.append(self.parts["y_median"].record(middle + center / GRID * half))
        return center

    def _distance(self, table: Table, rng: Source, steps: list[StepRecord], center: int) -> int:
        """Return the noisy median distance of the target from its center, in steps of its grid."""
        start = np.zeros(len(DISTANCES), dtype=np.int64)
        counts = table.map_reduce(self._target_alone, partial(self.rows.distances, center=center), start)
        distance = int(DISTANCES[noisy_quantile(counts, HALF, *self._law("y_scale", rng))])
        steps.append(self.parts["y_scale"].record(distance / GRID * self.design.bound))
        return distance

    @property
    def _target_alone(self) -> Design:
        return replace(self.design, candidates=())

    def _law(self, name: str, rng: Source) -> tuple[NeighboringRelation, int, Fraction, Source]:
        return self.metadata.neighboring, self._rows_per_unit, self.budget[name], rng

    def _first_look(
        self, table: Table, rng: Source, steps: list[StepRecord], rows: SaturatedRows, target: Target
    ) -> tuple[float, Columns, Pilot]:
        """Return the number of rows, the columns' moments and the pilot's coefficients, all from noisy sums."""
        first, _ = self.rows.pairs
        start = np.zeros(1 + self.width + len(first) + self.width + 1, dtype=np.int64)
        if not self.parts.keys() & {"gram", "pilot"}:
            return float(self.metadata.n_rows or 1), self.public_columns, Pilot.none(self.width)
        sums = table.map_reduce(self.design, partial(rows.first_sums, target=target), start)
        n_rows, columns = self._columns(sums, rng, steps)
        if "pilot" not in self.parts:
            return n_rows, columns, Pilot.none(self.width)
        signs = cube_noise(sums[-self.width - 1 :].tolist(), self._scale("pilot") * GRID**2, rng)
        steps.append(self.parts["pilot"].record())
        averages = np.array(signs, dtype=np.float64) / GRID**2 / n_rows
        noise = cube_variance(self.width + 1, self._scale("pilot")) / n_rows**2
        return n_rows, columns, pilot(columns, averages, n_rows, noise)

    def _columns(self, sums: Integers, rng: Source, steps: list[StepRecord]) -> tuple[float, Columns]:
        """Return the number of rows and the columns' moments, as far as they are not public from noisy sums."""
        if "gram" not in self.parts:
            return float(self.metadata.n_rows or 1), self.public_columns
        first, second = self.rows.pairs
        at = 0 if self._buys_count else 1
        noisy = cube_noise(sums[at : at + self._n_products].tolist(), self._scale("gram") * GRID**2, rng)
        steps.append(self.parts["gram"].record())
        spread = math.sqrt(cube_variance(self._n_products, self._scale("gram")))
        n_rows = max(noisy[0] / GRID**2, spread) if self._buys_count else float(self.metadata.n_rows or 1)
        if self.known is not None:
            return n_rows, self.public_columns
        averages = np.array(noisy[len(noisy) - self.width - len(first) :], dtype=np.float64) / GRID**2 / n_rows
        moments = np.eye(self.width)
        moments[first, second] = moments[second, first] = averages[self.width :]
        variance = (spread / n_rows) ** 2
        return n_rows, columns_of(averages[: self.width], moments, variance, self.rows.is_two_valued)

    @property
    def public_columns(self) -> Columns:
        """The columns' moments where they are public; levels of a category are 1 or -1 here."""
        known = cast("KnownColumns", self.known)
        used = self.rows.is_read
        scale = np.where(known.is_level, 2.0, 1.0)[used]
        means = known.means[used] * scale - known.is_level[used]
        covariance = known.covariance[np.ix_(used, used)] * np.outer(scale, scale)
        n_records = math.inf if known.n_records is None else float(known.n_records)
        return public_columns(means, covariance, known.skewness[used], n_records, self.rows.is_two_valued)

    def _residual_mean(
        self,
        table: Table,
        rng: Source,
        steps: list[StepRecord],
        residuals: Callable[[Cells], Integers],
        first: Pilot,
        n_rows: float,
    ) -> Pilot:
        """Return the pilot with what the mean of its residuals tells."""
        total = table.map_reduce(self.design, residuals, np.zeros(1, dtype=np.int64))
        scale = self._scale("y_shift")
        noisy = discrete_laplace([int(total[0])], scale * GRID, rng)[0] / GRID
        steps.append(self.parts["y_shift"].record(noisy / n_rows))
        return corrected(first, noisy / n_rows, SAMPLING / n_rows + 2.0 * (float(scale) / n_rows) ** 2)


def _steps(rows: Floats) -> Integers:
    """Return scores in whole steps, from rows."""
    steps: Integers = np.rint(np.clip(rows * GRID**2, -MOST_SCORE, MOST_SCORE)).astype(np.int64)
    return steps


def _between(ends: tuple[float, float], factor: float) -> float:
    """Return the first end times a factor, within both."""
    low, high = ends
    return min(max(low * factor, low), high)


def _check_shares(method: DecorrelatedScreening, names: Sequence[str]) -> None:
    """Refuse a share of a part that there is not."""
    unknown = [name for name in method.shares or {} if name not in names]
    if unknown:
        why = {
            "y_median": "y_center is public",
            "x_center": "x_center is public",
            NAME: "there are no public_moments",
        }.get(unknown[0], "there is no such part")
        raise InvalidParameterError(f"shares must not have {unknown[0]} where {why}. Leave it out.")


def _budget(method: DecorrelatedScreening, defaults: dict[str, float], whole: Fraction | None) -> dict[str, Fraction]:
    """Return the epsilon of each part; they add up to that of the request, or what is left of it, exactly."""
    epsilon = exact_epsilon(method.epsilon) if whole is None else whole
    stated = method.shares or {}
    if method.public_moments is None:
        _check_shares(method, tuple(defaults))
    shares = {name: exact(stated.get(name, share), f"shares[{name!r}]") for name, share in defaults.items()}
    budget = {name: epsilon * share for name, share in shares.items()}
    rest = epsilon - sum(budget.values(), Fraction(0))
    if rest <= 0:
        raise InvalidParameterError(
            f"shares must leave something for the choice of the columns, but those of {', '.join(shares)} add up to 1 "
            "or more. Lower one."
        )
    return budget | {"screening": rest}
