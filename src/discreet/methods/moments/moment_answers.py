"""What follows from noisy moments: the best models, and coefficients of any model, without the rows and for free."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from statistics import NormalDist

import numpy as np

from discreet.errors import InvalidParameterError
from discreet.kernels.rows.unit_rows import shortest_length
from discreet.kernels.sufficient_statistics.cleaning import CleanGram, cleaned
from discreet.kernels.sufficient_statistics.clip import stretched
from discreet.kernels.sufficient_statistics.gram import NoisyGram
from discreet.kernels.sufficient_statistics.regression import Coefficients, NoisyModel, noisy_model, own_units, pilot
from discreet.kernels.sufficient_statistics.regression_joint import joint_zero
from discreet.kernels.sufficient_statistics.selection import (
    MOST_WORK,
    Penalty,
    WeightedMoments,
    best_models,
    default_max_false,
    lasso_path,
    r_squared,
    unit_penalties,
    weighted,
)
from discreet.kernels.sufficient_statistics.unit_sampling import LikelyUnitRows, UnitColumns, likely_unit_rows
from discreet.methods.moments.noisy_sums import noisy_gram
from discreet.methods.moments.whitened_sums import whitened_answers
from discreet.methods.subset_selection.model_space import ModelSpace
from discreet.parameters.shared import LINEAR_COEF_BOUND
from discreet.release import CoefficientRecord, FitRecord, JointRecord, MomentsRecord, SizeRecord
from discreet.typing import Bools, Floats


class MomentAnswers:
    """Answers from released moments; whatever is asked, nothing is spent.

    Parameters
    ----------
    record : MomentsRecord
        As it stands in a release.
    most_work : float
        Multiplications after which a search for the best models ends.

    Notes
    -----
    Post-processing: the guarantee is that of the release.
    """

    def __init__(self, record: MomentsRecord, most_work: float = MOST_WORK) -> None:
        self.record, self.most_work = record, most_work
        self._kept: tuple[tuple[tuple[str, ...], float], NoisyModel] | None = None

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """Names of the columns that models may have."""
        return tuple(dict.fromkeys(owner for owner in self.record.owners if owner is not None))

    @cached_property
    def constant(self) -> int | None:
        """Place of the constant, if it is a column."""
        return 0 if self.record.owners[:1] == (None,) else None

    @cached_property
    def dummies(self) -> Bools:
        """Columns of each category."""
        counts = Counter(self.record.owners)
        names = [name for name in self.candidates if counts[name] > 1]
        wide = [[owner == name for owner in self.record.owners] for name in names]
        return np.array(wide, dtype=np.bool_).reshape(-1, len(self.record.owners))

    def _owned(self, names: Sequence[str | None]) -> Bools:
        return np.array([owner in names for owner in self._owners], dtype=np.bool_)

    @cached_property
    def _moments(self) -> NoisyGram:
        return noisy_gram(self.record)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Columns that models are made of: all but the most frequent level of each category."""
        return tuple(self._model(self.candidates, self._most_frequent))

    def pilot(self) -> tuple[NoisyGram, CleanGram, Floats]:
        """Return the moments of the model of all candidates, as they are and cleaned, and its coefficients."""
        return pilot(self._moments, self.places, self.constant, self.dummies)

    @cached_property
    def _owners(self) -> tuple[str | None, ...]:
        return tuple(self.record.owners[j] for j in self.places)

    @cached_property
    def _model_moments(self) -> NoisyGram:
        moments, at = self._moments, np.array(self.places, dtype=np.intp)
        return moments._replace(
            gram=moments.gram[np.ix_(at, at)],
            xty=moments.xty[at],
            gram_variance=moments.gram_variance[np.ix_(at, at)],
            xty_variance=moments.xty_variance[at],
            known=None if moments.known is None else moments.known.part(at),
        )

    @cached_property
    def _whole(self) -> CleanGram:
        """Cleaned with all levels, which share information."""
        return cleaned(self._moments, self.constant, self.dummies)

    @cached_property
    def likely_rows(self) -> LikelyUnitRows | None:
        """Rows that these may be the moments of, where rows were divided by their length; else None."""
        if not self.record.ends:
            return None
        low, high = np.array(self.record.ends).T
        shortest = shortest_length(len(self.candidates))
        unit = UnitColumns(low, high, self.dummies, self.record.constant, shortest)
        return likely_unit_rows(self._whole.gram, unit)

    @cached_property
    def _clean(self) -> CleanGram:
        """The same without the references."""
        cut = np.ix_(self.places, self.places)
        return self._whole._replace(gram=self._whole.gram[cut], error=self._whole.error[cut])

    @cached_property
    def _weighted(self) -> WeightedMoments:
        return weighted(self._model_moments, self._clean)

    @property
    def max_false(self) -> float:
        """How often a column enters by default when none of them matters, at most."""
        return default_max_false(float(self._moments.xty_variance.max(initial=0.0)), self._moments.n_rows)

    def penalties(self, penalty: Penalty, units: Bools, max_false: float | None = None) -> Floats:
        """Return what each unit must gain to enter, in units of chi-squared; "auto" keeps to the chance of a false one.

        Shapes: units (d, p); returns (d,).
        """
        return unit_penalties(penalty, units, self._clean.n_rows, max_false or self.max_false)

    def select(
        self,
        model_penalty: Penalty = "auto",
        max_size: int | None = None,
        forced: Sequence[str] = (),
        groups: Sequence[Sequence[str]] = (),
        max_false: float | None = None,
    ) -> tuple[tuple[str, ...], tuple[SizeRecord, ...]]:
        """Return the columns of the best model, and the best model of each size.

        R^2 is corrected for the noise. A `least_criterion` is given where the search of that size did not finish.
        """
        space = ModelSpace.plan(self.candidates, tuple(forced), tuple(tuple(group) for group in groups), max_size, None)
        units = np.array([self._owned(unit) for unit in space.units], dtype=np.bool_).reshape(-1, len(self._owners))
        always = self._owned((*space.forced, None))
        penalties = self.penalties(model_penalty, units, max_false)
        best = best_models(self._weighted, units, always, penalties, space.max_size, self.most_work)
        models = [self._owned(space.names(mask)) | always for mask in best.masks]
        values, errors = r_squared(self._model_moments, self._clean, self._weighted, models, always)
        z = NormalDist().inv_cdf(0.975)
        by_size = tuple(
            SizeRecord(
                size=mask.bit_count(),
                columns=space.names(mask),
                criterion=float(criterion),
                r_squared=float(value),
                r_squared_low=float(max(value - z * error, 0.0)),
                r_squared_high=float(min(value + z * error, 1.0)),
                least_criterion=float(least) if math.isfinite(least) else None,
            )
            for mask, criterion, least, value, error in zip(
                best.masks, best.criteria, best.least, values, errors, strict=True
            )
        )
        return space.names(best.mask), by_size

    def fit(
        self, columns: Sequence[str] | None = None, confidence: float = 0.95, coef_bound: float = LINEAR_COEF_BOUND
    ) -> FitRecord:
        """Return a model's coefficients in the columns' own units; the intervals cover sampling and privacy noise.

        Scaled coefficients are thought to be within `coef_bound`; an interval that reaches it has no end there.
        """
        names = tuple(columns) if columns is not None else self.candidates
        unknown = [name for name in names if name not in self.candidates]
        if unknown or len(set(names)) < len(names):
            raise InvalidParameterError(
                "A model must have columns of the moments, each once, but "
                f"{repr(unknown[0][:60]) + ' is none' if unknown else 'one repeats'}. Choose among "
                f"{', '.join(self.candidates)[:200]}."
            )
        if not 0.0 < confidence < 1.0:
            raise InvalidParameterError(f"confidence must lie in (0, 1), but confidence={confidence}.")
        record = self.record
        listed_places = self.places_of(names)
        if not listed_places:
            return FitRecord(family="linear", confidence=confidence, coefficients=(), **self._adjustment)
        constant = 0 if self.constant is not None else None
        rows, offset = own_units(
            np.array([record.half_widths[j] for j in listed_places]),
            np.array([record.centers[j] for j in listed_places]),
            record.y_bound,
            record.y_center,
            constant,
        )
        estimates = self.combinations(names, rows, offset, confidence, coef_bound)
        reference_of = {record.owners[j]: self._level(j) for j in self._references if constant is not None}
        sampling, privacy = np.diagonal(estimates.covariance_sampling), np.diagonal(estimates.covariance_privacy)
        listed = tuple(
            CoefficientRecord(
                name=record.labels[j],
                column=record.owners[j],
                level=self._level(j),
                reference=reference_of.get(record.owners[j]),
                estimate=float(estimates.coef[k]),
                low=float(estimates.low[k]),
                high=float(estimates.high[k]),
                sampling_variance=max(float(sampling[k]), 0.0),
                privacy_variance=max(float(privacy[k]), 0.0),
            )
            for k, j in enumerate(listed_places)
        )
        return FitRecord(
            family="linear",
            confidence=confidence,
            coefficients=listed,
            residual_sd=float((estimates.sigma2 * self._squared_length) ** 0.5 * self._residual_unit(names)),
            r_squared=self._r_squared(names) if record.sum_of_weights is None else None,
            clipped=record.clipped,
            joint=tuple(
                self.joint(names, (name,), confidence, coef_bound)
                for name in names
                if constant is not None and sum(record.owners[j] == name for j in listed_places) > 1
            ),
            **self._adjustment,
        )

    def places_of(self, names: Sequence[str]) -> list[int]:
        """Return the places of a model's coefficients among the moments' columns, in their order."""
        return self._model(names, self._references)

    def combinations(
        self, names: Sequence[str], rows: Floats, offset: Floats, confidence: float, coef_bound: float
    ) -> Coefficients:
        """Return linear combinations of a model's coefficients with intervals: those of a fit and of every prediction.

        Of the coefficients at `places_of`, per half range of the columns; the offset is added.
        Shapes: rows (k, p), offset (k,).
        """
        combination = self._told(names, coef_bound).combinations(rows @ self._compared(names), offset, confidence)
        if (clipped := self.record.clipped) is None:
            return combination
        low, high = stretched(combination.low, combination.high, offset, clipped.stretch)
        return combination._replace(low=low, high=high)

    def joint(self, names: Sequence[str], tested: Sequence[str], confidence: float, coef_bound: float) -> JointRecord:
        """Return whether all coefficients of some of a model's columns or levels can be zero together."""
        places = self.places_of(names)
        mask = [self.record.owners[j] in tested or self.record.labels[j] in tested for j in places]
        zero = joint_zero(self._told(names, coef_bound), self._compared(names)[mask], confidence)
        return JointRecord(
            columns=tuple(tested),
            terms=tuple(self.record.labels[j] for j, is_tested in zip(places, mask, strict=True) if is_tested),
            confidence=confidence,
            distance=None if zero.is_inside is None else max(zero.distance, 0.0),
            limit=zero.limit,
            degrees_of_freedom=zero.degrees,
            residual_degrees_of_freedom=zero.residual,
            zero_inside=zero.is_inside,
        )

    def _told(self, names: Sequence[str], coef_bound: float) -> NoisyModel:
        """What is known of the columns against the most frequent levels: of a second pass, where it was of just these.

        The last one is kept.
        """
        key = (tuple(names), coef_bound)
        if self._kept is None or self._kept[0] != key:
            at, whitened = self._model(names, self._most_frequent), self.record.whitened
            if whitened is not None and tuple(at) == whitened.places:
                model = whitened_answers(self.record, whitened, coef_bound)
            else:
                model = noisy_model(
                    self._moments,
                    at,
                    coef_bound,
                    constant=self.constant,
                    dummies=self.dummies,
                    rows_per_unit=self.record.rows_per_unit,
                    level=self._level_of_target,
                    likely=self.likely_rows,
                )
            self._kept = key, model
        return self._kept[1]

    @property
    def _level_of_target(self) -> tuple[float, float] | None:
        """What the scaled target is about, and the error of that."""
        level = self.record.level
        return None if level is None else (level.median / self.record.grid, level.error)

    @property
    def _adjustment(self) -> dict[str, str | None]:
        return {"offset": self.record.offset, "weights": self.record.weights}

    def noisy_sums(self) -> tuple[NoisyGram, CleanGram, tuple[str | None, ...], tuple[int, ...]]:
        """Return the moments of the model of all candidates, as they are and cleaned, each column's owner and place."""
        return self._model_moments, self._clean, self._owners, self.places

    def gains(self, names: Sequence[str]) -> dict[str, tuple[float, int]]:
        """Return by column of a model what it adds to the fit, in units of chi-squared, and its degrees of freedom.

        Noise of sampling and of privacy is in that unit.
        """
        whole, places = self._misfit(names), {name: self._owned((name,)).sum() for name in names}
        others = {name: self._misfit([other for other in names if other != name]) for name in names}
        return {name: (max(others[name] - whole, 0.0), int(places[name])) for name in names}

    def information(self) -> Floats:
        """Return of each column of the model of all candidates, beside the constant alone, its gain for an effect of 1.

        In units of chi-squared; columns are scaled.
        """
        gram, at = self._weighted.gram, np.flatnonzero(self._owned((None,)))
        beside = gram[:, at] @ np.linalg.pinv(gram[np.ix_(at, at)], hermitian=True) @ gram[at]
        left: Floats = np.diagonal(gram - beside) / self._weighted.residual_variance
        return left[~self._owned((None,))]

    def _misfit(self, names: Sequence[str]) -> float:
        """What a model leaves, in units of chi-squared, up to a constant."""
        moments, at = self._weighted, np.flatnonzero(self._owned((*names, None)))
        inverse = np.linalg.pinv(moments.gram[np.ix_(at, at)], hermitian=True)
        return -float(moments.xty[at] @ inverse @ moments.xty[at]) / moments.residual_variance

    def lasso_path(self) -> tuple[Floats, Floats]:
        """Return the penalties of the lasso's path, decreasing, shape (n_knots,), and its coefficients, shape (n_knots,
        p).

        Of the scaled columns `labels`, in units of y's bound per half range.
        """
        return lasso_path(self._weighted, self._owned((None,)))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns that models are made of."""
        return tuple(self.record.labels[j] for j in self.places)

    def _model(self, names: Sequence[str], references: frozenset[int]) -> list[int]:
        """Places of a model's columns: with a constant, one level of each category is left out."""
        left_out = references if self.constant is not None else frozenset[int]()
        places, inside = enumerate(self.record.owners), frozenset((None, *names))
        return [j for j, owner in places if owner in inside and j not in left_out]

    def _compared(self, names: Sequence[str]) -> Floats:
        """A model's coefficients as combinations of those against the most frequent levels.

        The others of a model against a rare level are as sharp as without it.
        """
        listed, at = self.places_of(names), self._model(names, self._most_frequent)
        change: Floats = (np.array(listed)[:, None] == np.array(at)[None, :]).astype(np.float64)
        for reference in self._references.intersection(at if self.constant is not None else ()):
            is_level = np.array([self.record.owners[j] == self.record.owners[reference] for j in listed])
            change[is_level, at.index(reference)] -= 1.0  # b_j - b_r; of the level left out of `at`, -b_r
            change[0, at.index(reference)] = 1.0  # the intercept is where the category is at r
        return change

    @cached_property
    def _references(self) -> frozenset[int]:
        """Levels that others are compared with: as declared, in older releases the most frequent of each category."""
        return frozenset(self.record.references) or self._most_frequent

    @cached_property
    def _most_frequent(self) -> frozenset[int]:
        """The level of each category that the noisy counts hold most frequent: a selection is sharpest without it."""
        counts = np.where(self.dummies, np.diagonal(self._moments.gram), -np.inf)
        return frozenset(int(j) for j in counts.argmax(axis=1)) if len(counts) else frozenset()

    @property
    def _squared_length(self) -> float:
        """By which unit rows were divided, in the mean; 1 for others, whose rows count by weight."""
        if self.record.constant == 1.0 or self.record.sum_of_weights is not None:
            return 1.0
        return float(self._clean.n_rows / max(self._clean.gram[0, 0], 1e-3 * self._clean.n_rows))

    def _residual_unit(self, names: Sequence[str]) -> float:
        """What a residual of 1 is in the target's unit."""
        at, whitened = self._model(names, self._most_frequent), self.record.whitened
        return self.record.y_bound * (whitened.cut if whitened is not None and tuple(at) == whitened.places else 1.0)

    def _is_dummy(self, j: int) -> bool:
        return bool(self.dummies[:, j].any())

    def _level(self, j: int) -> str | None:
        return self.record.labels[j].removeprefix(f"{self.record.owners[j]}=") if self._is_dummy(j) else None

    def _r_squared(self, names: Sequence[str]) -> float:
        model = self._owned((*names, None))
        return float(r_squared(self._model_moments, self._clean, self._weighted, [model], self._owned((None,)))[0][0])
