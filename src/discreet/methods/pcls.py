"""Penalized constrained least squares: the private choice of a regression model (Lei et al. 2018, Algorithm 1)."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationInfo, field_validator

from discreet.accounting.events import Event, SelectionEvent
from discreet.accounting.guarantee import exact, exact_delta, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn
from discreet.kernels.moments import GRID
from discreet.kernels.problem import SubsetProblem
from discreet.kernels.subsets import constrained_scores
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import NOISE_OF_MECHANISM, noisy_min
from discreet.mechanisms.subset_search import ENUMERATED, noisy_min_subset
from discreet.methods.base import Method, Outcome, Preparation, Progress
from discreet.methods.calibration import Calibration
from discreet.methods.model_space import MAX_MODELS, Masks, ModelSpace
from discreet.release import NoiseRecord, PublicColumn

Integers = npt.NDArray[np.int64]


class PenalizedLeastSquares(Method):
    """Which columns belong in a linear regression: the noisy minimum of constrained least squares plus a penalty.

    Parameters
    ----------
    epsilon : float
        In nats, in (0, 1000].
    delta : float
        Accepted for the sake of other methods: this one spends none.
    mechanism : {"permute_and_flip", "exponential", "laplace"}
        Law of the noise; the first is never worse than the second.
    l1_radius : float, optional
        R: bound on the sum of the absolute coefficients, in units of the target per half range of a column, the
        intercept included. Public. Default twice `y_bound`.
    model_penalty : float or "auto"
        phi: added for each selected column, in squared units of the target; a category counts as one. "auto" is
        log(2 d) times the scale of the noise, d the number of free columns: if none of them mattered, the exponential
        mechanism would select half a column on average.
    max_size : int, optional
        The most columns that may be selected besides the forced ones.
    forced : tuple of str
        Candidates in every model.
    groups : tuple of tuples of str
        Candidates that enter and leave together.
    models : tuple of tuples of str, optional
        The candidate models themselves, instead of all subsets.
    y_bound : float, optional
        r: the target is clipped to within this of its center, in its unit. Public. Default the furthest of its bounds.
    y_center : float, optional
        The target's zero, in its unit. Public. Default the middle of its bounds.
    fit_intercept : bool
        Whether every model has a constant, which shares the l1 bound.
    as_published : bool
        Run Algorithm 1 as printed, its errors included, for study: gives no guarantee.

    References
    ----------
    Lei, Charest, Slavkovic, Smith, Fienberg 2018, section 3 and Algorithm 1; privacy specification 1.
    """

    name: ClassVar[str] = "pcls"

    epsilon: float = 1.0
    delta: float = 0.0
    mechanism: Literal["permute_and_flip", "exponential", "laplace"] = "permute_and_flip"
    l1_radius: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    model_penalty: float | Literal["auto"] = Field(default="auto")
    max_size: int | None = Field(default=None, ge=0)
    forced: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    models: tuple[tuple[str, ...], ...] | None = Field(default=None, min_length=1, max_length=MAX_MODELS)
    y_bound: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    y_center: float | None = Field(default=None, allow_inf_nan=False)
    fit_intercept: bool = True
    as_published: bool = False

    @field_validator("epsilon")
    @classmethod
    def _epsilon_in_range(cls, value: float) -> float:
        exact_epsilon(value)
        return value

    @field_validator("delta")
    @classmethod
    def _delta_in_range(cls, value: float) -> float:
        exact_delta(value)
        return value

    @field_validator("model_penalty", mode="before")
    @classmethod
    def _penalty_in_range(cls, value: Any) -> Any:
        if value == "auto" or (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0):
            return value
        hint = " It needs a private residual variance, which cannot be bought yet." if value in ("aic", "bic") else ""
        found = str(value)[:40]
        raise ValueError(f"model_penalty must be a number of at least 0, or auto, but it is {found!r}.{hint}")

    @field_validator("models", "groups", mode="before")
    @classmethod
    def _lists_of_names(cls, value: Any, info: ValidationInfo) -> Any:
        nested = isinstance(value, (list, tuple)) and all(
            isinstance(one, (list, tuple)) and all(isinstance(name, str) for name in one) for one in value
        )
        if value is not None and not (nested and (value or info.field_name == "groups")):
            raise ValueError(f'{info.field_name} must be a list of lists of columns, such as [["a"], ["a", "b"]].')
        return value

    def prepare(
        self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None
    ) -> "PreparedLeastSquares":
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
        PreparedLeastSquares
            The cost, the noise, and a `run`.

        Raises
        ------
        InvalidParameterError
            When names, sizes or the number of models do not fit.
        MetadataError
            When a column lacks bounds or levels.
        """
        center = 0.0 if self.as_published and self.y_center is None else self.y_center
        design = Design.plan(metadata, target, candidates, center, self.y_bound)
        space = ModelSpace.plan(
            design.candidates, self.forced, self.groups, self.max_size, self.models, not self.as_published
        )
        radius = self.l1_radius if self.l1_radius is not None else 2.0 * design.bound
        ratio = exact(radius, "l1_radius") / exact(design.bound, "y_bound")
        noise = NOISE_OF_MECHANISM[self.mechanism]
        calibration = Calibration.of(
            design, ratio, len(space.units), exact_epsilon(self.epsilon), noise, self.model_penalty
        )
        return PreparedLeastSquares(self, design, space, radius, calibration)


class PreparedLeastSquares(Preparation):
    """A request of `PenalizedLeastSquares` with its noise fixed.

    Parameters
    ----------
    method : PenalizedLeastSquares
        The parameters.
    design : Design
        The row map.
    space : ModelSpace
        The candidate models.
    radius : float
        R, in units of the target.
    calibration : Calibration
        The noise.
    """

    def __init__(
        self,
        method: PenalizedLeastSquares,
        design: Design,
        space: ModelSpace,
        radius: float,
        calibration: Calibration,
    ) -> None:
        self.method, self.design, self.space = method, design, space
        self.radius, self.calibration = radius, calibration
        self.columns, self.target, self.candidates = design.columns, design.target, design.candidates
        self.event: Event | None = (
            None if method.as_published else SelectionEvent(calibration.epsilon, calibration.noise)
        )
        self.parameters = self._parameters()
        self.noise = self._noise(float(calibration.gamma), float(calibration.inflation))
        self.public = tuple(self._public())
        self.not_protected = _not_protected(design.metadata)

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Add up the moments, draw the noisy minimum of the models' scores.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Told of the rows where their number is public, and of the models.

        Returns
        -------
        Outcome
            The selected columns.

        Notes
        -----
        Claim: ``pcls.privacy.md``. Cost: one pass over the rows; then every model's score up to 2^20 models, a lazy
        search beyond, whose time depends on the rows.
        """
        if self.method.as_published:
            return self._run_as_published(table, rng)
        moments = table.moments(self.design, _rows_progress(progress, table))
        law = (
            self.calibration.gamma + self.calibration.inflation,
            self.calibration.epsilon,
            rng,
            self.calibration.noise,
        )
        if self.space.listed is not None:
            masks = self.space.masks()
            chosen = int(masks[noisy_min(self.scores(moments, masks, progress), *law)])
        else:
            if progress is not None and self.space.n_models > ENUMERATED:
                progress("Searching models", 0, None)  # its length depends on the rows
            told = _models_progress(progress, self.space.n_models)
            chosen = noisy_min_subset(self._problem(moments), self._penalties(), self.space.max_size, *law, told)
        return Outcome(self.space.names(chosen), self.noise)

    def scores(self, moments: Integers, masks: Masks, progress: Progress | None = None) -> npt.NDArray[np.float64]:
        """Return penalized scores in squared target bounds. Not releasable.

        Parameters
        ----------
        moments : ndarray of int64, shape (n_columns, n_columns)
            Exact, in grid units.
        masks : ndarray of uint64, shape (n_models,)
            The models.
        progress : callable, optional
            Told of the models.

        Returns
        -------
        ndarray of float, shape (n_models,)
            Each within the calibration's tolerance and rounding above its true value.

        References
        ----------
        Lei et al. 2018, Algorithm 1, lines 2 and 3; privacy specification 1.1.
        """
        problem = self._problem(moments)
        found, gaps = constrained_scores(problem, masks, _models_progress(progress, len(masks)))
        if not (gaps <= problem.tolerance).all():
            raise ArithmeticError("a score has no certificate")
        bits = (masks[:, None] >> np.arange(len(self.space.units), dtype=np.uint64)) & np.uint64(1)
        scores: npt.NDArray[np.float64] = found + bits @ self._penalties()
        return scores

    def _problem(self, moments: Integers) -> SubsetProblem:
        """The models' least squares in units of the target's bound."""
        first = 0 if self.method.fit_intercept and not self.method.as_published else 1
        matrix = moments.astype(np.float64) / float(GRID) ** 2
        column_of = dict(zip(self.candidates, self.design.units(), strict=True))
        none = np.zeros(matrix.shape[0] - 1, dtype=np.bool_)
        units = np.array([np.any([column_of[n] for n in unit], axis=0) for unit in self.space.units] or [none])
        always = np.any([none, *(column_of[n] for n in self.space.forced)], axis=0)
        always[0] = True
        return SubsetProblem(
            matrix[first:-1, first:-1],
            matrix[first:-1, -1],
            float(matrix[-1, -1]),
            self.radius / self.design.bound,
            units[: len(self.space.units), first:],
            always[first:],
            float(self.calibration.tolerance),
        )

    def _penalties(self) -> npt.NDArray[np.float64]:
        """What each unit adds to a score: phi for each of its columns."""
        return float(self.calibration.penalty) * np.array([len(unit) for unit in self.space.units], dtype=np.float64)

    def _run_as_published(self, table: Table, rng: Source) -> Outcome:
        """Algorithm 1 to the letter: y's bound is the largest y observed, which is what makes it not private."""
        moments = table.moments(self.design)
        masks = self.space.masks()
        scores = self.scores(moments, masks)
        # [L] 5.1 and 5.2 set r to the largest Y of the table, which must bound |Y|; in units of the declared bound.
        counts = table.map_reduce(self.design, _target_counts, np.zeros(GRID + 1, dtype=np.int64))
        largest = int(np.flatnonzero(counts).max(initial=0)) / GRID
        gamma = 2.0 * (largest + self.radius / self.design.bound) ** 2
        chosen = noisy_min(scores, gamma, self.calibration.epsilon, rng, "laplace")
        return Outcome(self.space.names(int(masks[chosen])), self._noise(gamma, 0.0))

    # ---- what is public about the request

    def _parameters(self) -> dict[str, Any]:
        stated = self.method.model_dump(mode="json", exclude_none=True)
        return {
            **stated,
            "l1_radius": self.radius,
            "model_penalty": float(self.calibration.penalty) * self.design.bound**2,
            "y_bound": self.design.bound,
            "y_center": self.design.center,
            "fit_intercept": self.method.fit_intercept and not self.method.as_published,
            "n_candidates": self.space.n_models,
        }

    def _noise(self, gamma: float, inflation: float) -> NoiseRecord:
        unit = self.design.bound**2
        relation = self.design.metadata.neighboring
        factor = 2 if relation is NeighboringRelation.REPLACE_ONE else 1
        rows = self.design.metadata.rows_per_unit
        formula = " x ".join([*([str(factor)] if factor > 1 else []), *([f"{rows} rows"] if rows > 1 else [])])
        spread = "(r + R)^2 - max(r - R, 0)^2"
        published = self.method.as_published
        return NoiseRecord(
            mechanism="laplace" if published else self.method.mechanism,
            noise="laplace" if published else self.calibration.noise,
            n_candidates=self.space.n_models,
            sensitivity=gamma * unit,
            inflation=inflation * unit,
            scale=(gamma + inflation) * unit / float(self.calibration.epsilon),
            formula="2 (r + R)^2, r the largest |y| observed"
            if published
            else (f"{formula} x [{spread}]" if formula else spread),
            numerics="as published" if published else f"{self._draw()}; score errors counted in the inflation",
            claim="none" if published else "methods/pcls.privacy.md",
        )

    def _draw(self) -> str:
        """How the law is drawn from: decided by public facts."""
        lazy = not self.space.must_be_listed and self.space.n_models > ENUMERATED
        return "exact draw, by a lazy search whose time depends on the rows" if lazy else "exact draw"

    def _public(self) -> Iterator[PublicColumn]:
        metadata = self.design.metadata
        for name in self.design.columns:
            column = metadata.declared(name)
            yield PublicColumn(
                name=name,
                role="target" if name == self.design.target else "candidate",
                type=column.type,
                lower=column.lower if isinstance(column, NumericColumn) else None,
                upper=column.upper if isinstance(column, NumericColumn) else None,
                levels=column.levels if isinstance(column, CategoryColumn) else None,
                source=column.source or "not stated",
            )
        if metadata.unit_id is not None:
            source = f"at most {metadata.rows_per_unit} rows of one {metadata.unit} are used"
            yield PublicColumn(name=metadata.unit_id, role="unit_id", type="identifier", source=source)


def _target_counts(cells: npt.NDArray[np.int16]) -> Integers:
    """How often each absolute value of the target occurs."""
    return np.bincount(np.abs(cells[:, -1].astype(np.int64)), minlength=GRID + 1)


def _rows_progress(progress: Progress | None, table: Table) -> Any:
    """Rows are counted only where their number is public, and all of them are sure to be read."""
    if progress is None or table.metadata.n_rows is None or table.row_count() is None:
        return None
    return lambda count: progress("Reading rows", count, table.metadata.n_rows)


def _models_progress(progress: Progress | None, n_models: int) -> Callable[[int], None] | None:
    return None if progress is None else lambda count: progress("Scoring models", count, n_models)


def _not_protected(metadata: Metadata) -> tuple[str, ...]:
    facts = [
        "the metadata: bounds, levels and their sources",
        "the request: target, candidates, parameters",
        "that the computation took place, and how long it took",
        "facts about groups of people that one unit more or less does not change",
    ]
    if metadata.neighboring is NeighboringRelation.REPLACE_ONE:
        facts.insert(1, "the number of rows")
    if metadata.unit.lower() not in ("person", "individual", "patient", "participant"):
        facts.append(
            f"a person with several rows as a person: the unit is one {metadata.unit}, so c rows of one person are "
            "protected with c times epsilon"
        )
    return tuple(facts)
