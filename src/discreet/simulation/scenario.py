"""What a private table is supposed to be like, and tables drawn from that: never read from the rows."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtr

from discreet.data.arrow_arrays import number_array
from discreet.data.columns import Features
from discreet.data.design import Design
from discreet.data.metadata import Metadata, half_width
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.simulation.drawn_columns import as_of_more, cells_of, derive, placed
from discreet.simulation.draws import by_columns, chained_normals, normals, uniforms
from discreet.simulation.public_pattern import PublicPattern, public_effects, signal
from discreet.simulation.simulated_table import SimulatedTable
from discreet.simulation.stated import MOST_HALVES, check_effects, check_noise, check_numbers, left_sd, names_and_rows
from discreet.typing import Floats

N_TRUE = 3
R_SQUARED = 0.5
SPREAD = 1.0 / 3.0
"""Standard deviation of the target over half the width of its bounds, by default: bounds at three of them."""

SAMPLE = 20_000
"""Rows from which a scenario computes what its columns explain: exact enough for a plan."""

SAMPLE_CELLS, LEAST_SAMPLE = 2**23, 200
"""Of wide tables fewer rows do: what few columns explain needs no more."""

FEW = 60
"""Candidates whose moments are added up at once; of more, those that are asked for alone."""

MOST_DRAWN = 5_000
"""Rows that a drawn table has; of a larger one each row counts several times."""


@dataclass(frozen=True)
class Scenario:
    """Supposed effects of columns on a target, and the noise around them.

    Parameters
    ----------
    metadata : Metadata
        Bounds, levels, relation; the number of rows where it is public.
    target : str
        Numeric, with bounds.
    candidates : tuple of str
        Columns that may matter, with bounds or levels.
    effects : dict of str to float
        Change of the target, in its unit, from the middle of a column to its upper bound; of a category, from its first
        level to its last. Columns that are not named have none.
    noise_sd : float
        Standard deviation of what the columns do not explain, in the target's unit; positive.
    n_rows : int
        Of a drawn table.
    correlation : float
        Of each column with the one before it, in (-1, 1), before they are spread evenly over their bounds.
    times : float
        What the effects were multiplied by since they were stated.
    pattern : PublicPattern, optional
        A public table whose records the rows are drawn from, in place of columns that are spread evenly.
    level_effects : dict of str to tuple of float
        Of categories whose levels do not rise evenly: change of the target from the first level to each. Their entry in
        `effects` is then the largest change between two levels.
    intercept : float, optional
        The target where all columns are in the middle and all categories at their first level; default the middle of
        its bounds.

    Notes
    -----
    Columns are spread evenly over their bounds or levels, or drawn with replacement from a public table; the noise is
    normal, and the target is cut at its bounds.
    """

    metadata: Metadata
    target: str
    candidates: tuple[str, ...]
    effects: Mapping[str, float]
    noise_sd: float
    n_rows: int
    correlation: float = 0.0
    times: float = 1.0
    pattern: PublicPattern | None = None
    level_effects: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    intercept: float | None = None

    @classmethod
    def of(
        cls,
        metadata: Metadata,
        target: str,
        candidates: Sequence[str] | None = None,
        *,
        effects: Mapping[str, float] | None = None,
        n_true: int | None = None,
        r_squared: float = R_SQUARED,
        noise_sd: float | None = None,
        n_rows: int | None = None,
        correlation: float = 0.0,
    ) -> "Scenario":
        """Return a scenario, with defaults for what is not stated.

        Parameters
        ----------
        metadata : Metadata
            Bounds and levels.
        target : str
            Numeric.
        candidates : sequence of str, optional
            Default all listed columns but the target.
        effects : dict of str to float, optional
            Default the same for the first `n_true` candidates, so large that they explain `r_squared` of a target whose
            standard deviation is a third of half its range.
        n_true : int, optional
            Columns that matter; default 3, but of fewer than six candidates half.
        r_squared : float
            Part of the target's variance that they explain, in (0, 1).
        noise_sd : float, optional
            Default what is left by `r_squared`; where no column has an effect, a third of half the target's range.
        n_rows : int, optional
            Default that of the metadata.
        correlation : float
            In (-1, 1).

        Returns
        -------
        Scenario
            All fields known.

        Raises
        ------
        InvalidParameterError
            When a number is out of range, a name unknown, or the number of rows is not given.
        """
        names, rows = names_and_rows(metadata, target, candidates, n_rows, effects)
        half = half_width(metadata.declared(target))[1]  # type: ignore[arg-type]
        check_numbers(r_squared, correlation, noise_sd)
        check_effects(effects, names, half)
        if n_true is None:
            n_true = max(1, min(N_TRUE, len(names) // 2))
        if effects is None and not 1 <= n_true <= len(names):
            raise InvalidParameterError(f"n_true must be 1 .. {len(names)}, the candidates, but n_true={n_true}.")
        column_effects = dict(effects) if effects is not None else dict.fromkeys(names[:n_true], 1.0)
        explained = cls(metadata, target, names, column_effects, 1.0, rows, correlation).explained_variance
        if effects is None:
            variance = r_squared * (SPREAD * half) ** 2
            column_effects = dict.fromkeys(column_effects, math.sqrt(variance / max(explained, 1e-300)))
            explained = variance
        sd = left_sd(explained, r_squared, SPREAD * half) if noise_sd is None else noise_sd
        check_noise(sd, half)
        return cls(metadata, target, names, column_effects, sd, rows, correlation)

    @classmethod
    def like(
        cls,
        metadata: Metadata,
        target: str,
        public_table: Any,
        candidates: Sequence[str] | None = None,
        *,
        effects: Mapping[str, float] | None = None,
        r_squared: float | None = None,
        noise_sd: float | None = None,
        n_rows: int | None = None,
    ) -> "Scenario":
        """Return a scenario whose rows are drawn from a public table, with the effects that are found there.

        Parameters
        ----------
        metadata : Metadata
            Of the private table: both have the same columns.
        target : str
            Numeric.
        public_table : path, frame or PublicRecords
            Of other people than the private one, who let theirs be used openly. It is read without any privacy, and
            its effects are shown: never give the private table.
        candidates : sequence of str, optional
            Default all listed columns but the target.
        effects : dict of str to float, optional
            Default the least squares coefficients of the columns that BIC selects in the public table.
        r_squared : float, optional
            Part of the target's variance that the effects explain, in (0, 1), in place of the table's residual.
        noise_sd : float, optional
            Default the residual standard deviation of the public table, around the effects.
        n_rows : int, optional
            Of a drawn table; default that of the metadata.

        Returns
        -------
        Scenario
            Its columns are as correlated as those of the public table.

        Raises
        ------
        DataMismatchError
            When the public table lacks a column, or fewer than 30 of its records are complete.
        InvalidParameterError
            When a number is out of range, a name unknown, or the number of rows is not given.
        MetadataError
            When the metadata declare another file public.

        Notes
        -----
        Cells are cut at the declared bounds, and levels known by their names. This is for scripts that spend nothing:
        the metadata need not declare the table, so only you know that it is public. A plan or a release takes none but
        the one that they declare.
        """
        names, rows = names_and_rows(metadata, target, candidates, n_rows, effects)
        half = half_width(metadata.declared(target))[1]  # type: ignore[arg-type]
        check_numbers(R_SQUARED if r_squared is None else r_squared, 0.0, noise_sd)
        check_effects(effects, names, half)
        pattern = PublicPattern.of(metadata, target, names, public_table)
        if effects is None:
            column_effects, levels, intercept, sd = public_effects(pattern, metadata, names)
        else:
            column_effects, levels = dict(effects), {}
            residuals = pattern.target - signal(pattern.scores, names, column_effects, levels)
            intercept, sd = pattern.mean(residuals), math.sqrt(pattern.variance(residuals))
        scenario = cls(metadata, target, names, column_effects, sd, rows, 0.0, 1.0, pattern, levels, intercept)
        if r_squared is not None:
            sd = left_sd(scenario.explained_variance, r_squared, sd)
        sd = sd if noise_sd is None else noise_sd
        if not sd > 0.0:
            raise InvalidParameterError("The effects must leave something unexplained, but they leave nothing.")
        check_noise(sd, half)
        return replace(scenario, noise_sd=sd)

    def multiplied(self, times: float) -> "Scenario":
        """Return the scenario with larger or smaller effects; the noise and the target's mean stay.

        Parameters
        ----------
        times : float
            What all effects are multiplied by; positive, at most 1e9.

        Returns
        -------
        Scenario
            Itself where that is 1.

        Raises
        ------
        InvalidParameterError
            When it is out of range, or makes an effect too large for any target.
        """
        if not 0.0 < times <= MOST_HALVES:
            raise InvalidParameterError(
                f"Effects must be multiplied by positive numbers up to {MOST_HALVES:g}, but times={times:g}. Give one "
                "such as 0.5."
            )
        if times == 1.0:
            return self
        effects = {name: times * size for name, size in self.effects.items()}
        check_effects(effects, self.candidates, half_width(self.metadata.declared(self.target))[1])  # type: ignore[arg-type]
        intercept = self.intercept
        if self.pattern is not None and intercept is not None:
            own = signal(self.pattern.scores, self.candidates, self.effects, self.level_effects)
            intercept += (1.0 - times) * self.pattern.mean(own)
        return replace(
            self,
            effects=effects,
            level_effects={name: tuple(times * size for size in own) for name, own in self.level_effects.items()},
            intercept=intercept,
            times=times * self.times,
        )

    @cached_property
    def truth(self) -> frozenset[str]:
        """The columns that matter."""
        return frozenset(name for name, size in self.effects.items() if size != 0.0)

    @cached_property
    def r_squared(self) -> float:
        """Part of the target's variance that the columns explain, before the target is cut at its bounds."""
        return self.explained_variance / (self.explained_variance + self.noise_sd**2)

    @cached_property
    def explained_variance(self) -> float:
        """Variance of what the columns add to the target, in its squared unit."""
        if self.pattern is not None:
            return self.pattern.variance(signal(self.pattern.scores, self.candidates, self.effects, self.level_effects))
        return float(signal(self.sample, self.candidates, self.effects, self.level_effects).var())

    @property
    def sample(self) -> Floats:
        """Columns of many rows, from -1 to 1 or for a category from 0 to 1: drawn at each call, the same every time."""
        return self._scores(Source.seeded(1), max(min(SAMPLE, SAMPLE_CELLS // len(self.candidates)), LEAST_SAMPLE))

    @property
    def repeats(self) -> int:
        """How often a drawn row counts."""
        return -(-self.n_rows // MOST_DRAWN)

    @property
    def drawn_rows(self) -> int:
        """How many rows are drawn."""
        return self.n_rows // self.repeats

    @cached_property
    def draw_metadata(self) -> Metadata:
        """Those of a drawn table: units are not distinguished, the number of rows is the scenario's.

        A drawn table holds derived columns, each computed from its sources in the same row.
        """
        facts: dict[str, Any] = {"unit_id": None}
        if self.metadata.n_rows is not None:
            facts["n_rows"] = self.drawn_rows * self.repeats
        features = self.metadata.features
        if features is not None and self.metadata.layout is not None:  # a drawn table has a column for each
            own = tuple(name for name in self.candidates if name not in self.metadata.columns)
            facts |= {"layout": None, "features": Features(**features.model_dump() | {"names": own, "count": None})}
        return self.metadata.with_derived_stored().model_copy(update=facts)

    def draw(self, rng: Source) -> SimulatedTable:
        """Return a table.

        Parameters
        ----------
        rng : Source
            Seeded: nothing here is private.

        Returns
        -------
        SimulatedTable
            With `n_rows` rows, or nearly where they are many; under replace_one its metadata say so.

        Notes
        -----
        Of many rows some are drawn, and each counts several times: see `as_of_more`.
        """
        scores = self._scores(rng, self.drawn_rows)
        noise = self._noise(rng, self.drawn_rows)
        if self.repeats > 1:
            noise = as_of_more(noise, scores, self.repeats)
        middle, half = half_width(self.metadata.declared(self.target))  # type: ignore[arg-type]
        start = middle if self.intercept is None else self.intercept
        total = start + signal(scores, self.candidates, self.effects, self.level_effects) + noise
        columns = {name: cells_of(scores[:, j], self.metadata.declared(name)) for j, name in enumerate(self.candidates)}
        if getattr(self.metadata.declared(self.target), "type", "") == "integer" and self.repeats == 1:
            total = np.rint(total)
        columns[self.target] = number_array(np.clip(total, middle - half, middle + half))
        return SimulatedTable(pa.table(columns), self.draw_metadata, self.repeats)

    def explained(self, table: SimulatedTable, selected: Sequence[str]) -> float:
        """Return what a model explains of what all the right columns do, on a drawn table, without any noise.

        Parameters
        ----------
        table : SimulatedTable
            Drawn.
        selected : sequence of str
            Columns of the model.

        Returns
        -------
        float
            Ratio of two adjusted R^2, cut to [0, 1].
        """
        best: float = table.cached(("worth of all", self.truth), lambda: self._adjusted(table, self.truth))
        return 1.0 if best <= 0.0 else min(max(self._adjusted(table, selected) / best, 0.0), 1.0)

    def _adjusted(self, table: SimulatedTable, names: Collection[str]) -> float:
        """Adjusted R^2 of least squares, from the exact moments."""
        if not names:
            return 0.0
        few = len(self.candidates) <= FEW
        design = self._design if few else Design.plan(self.draw_metadata, self.target, tuple(sorted(names)))
        return table.adjusted_r_squared(design, names, self.n_rows)

    @cached_property
    def _design(self) -> Design:
        return Design.plan(self.draw_metadata, self.target, self.candidates)

    def _noise(self, rng: Source, n_rows: int) -> Floats:
        """Return what the columns do not explain."""
        return np.asarray(self.noise_sd * normals(rng, n_rows, 1)[:, 0])

    def _scores(self, rng: Source, n_rows: int) -> Floats:
        """Columns from -1 to 1, categories by the place of their level: of public records, or spread evenly.

        An integer column has the scores of its integers alone, so that the target follows the cells.
        """
        if self.pattern is not None:
            return self.pattern.draw(uniforms(rng, n_rows))
        shape = n_rows, len(self.candidates)
        even = ndtr(chained_normals(rng, *shape, self.correlation)) if self.correlation else uniforms(rng, *shape)
        scores = placed(self._spread(2.0 * by_columns(even) - 1.0), self.candidates, self.metadata)
        derive(scores, self.candidates, self.metadata, rng)
        return np.asarray(scores, dtype=np.float64)

    def _spread(self, even: Floats) -> Floats:
        """Return columns over their bounds, from columns that are spread evenly from -1 to 1."""
        return even
