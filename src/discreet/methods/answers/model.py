"""The model of a released fit, its terms scaled, and who answers for it: the noisy moments or the noisy score."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from discreet.errors import InvalidParameterError, VerificationError
from discreet.kernels.glm.families import Family, poisson
from discreet.methods.moments.fission import parts_of
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.regression.score_answers import ScoreAnswers, law_of
from discreet.parameters.shared import LINEAR_COEF_BOUND
from discreet.release import FitRecord, JointRecord, MomentsRecord, Release
from discreet.typing import Bools, Floats


class Model(Protocol):
    """A fitted model: combinations of its scaled coefficients, each with an interval, and joint regions.

    A row has a number for each coefficient, in their order; the constant is 1 at every row.
    """

    @property
    def fit(self) -> FitRecord:
        """The coefficients."""

    @property
    def scales(self) -> tuple[Floats, Floats]:
        """Middle and half width of each term."""

    @property
    def response(self) -> tuple[float, float]:
        """Range of the response."""

    @property
    def law(self) -> Family | None:
        """The response's law; None for a linear model."""

    @property
    def center(self) -> float:
        """What the linear predictor is in the middle of all columns, of a model without a constant."""

    def combinations(self, rows: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
        """Return estimates and ends, infinite where none can be told: at a row, of the linear predictor.

        Shapes: rows (k, p); returns (k,) each.
        """

    def joint(self, tested: Bools, columns: tuple[str, ...], confidence: float) -> JointRecord:
        """Return whether the coefficients of a mask can be zero together."""


def model_of(release: Release) -> Model:
    """Return the model of a release, or say why nothing can be asked of it."""
    fit = release.fit
    if fit is None or not fit.coefficients:
        raise InvalidParameterError("A fit is asked, but this release holds no coefficients. Give one of a fit.")
    if fit.family == "linear" and release.moments is not None and release.hybrid is None:
        moments = parts_of(checked(release.moments), inference_of(release))[1]
        return LinearModel(fit, moments, _coef_bound(release), _range_of_target(release))
    if fit.family in ("logistic", "poisson") and fit.score is not None:
        return ScoredModel(fit, ScoreAnswers(fit), _range_of_target(release)[1])
    if not fit.has_intervals or fit.family not in ("linear", "logistic", "poisson"):
        raise InvalidParameterError(
            "Answers need a linear, logistic or Poisson fit with intervals, and this one has none. Ask for such a fit."
        )
    raise InvalidParameterError(
        "This release holds the coefficients alone, without the noisy numbers that answers are made of: an earlier "
        "version of Discreet made it. Only a new fit, which spends budget, can answer."
    )


@contextmanager
def sensible() -> Iterator[None]:
    """Say in one line where the numbers of a release contradict each other."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (np.linalg.LinAlgError, ArithmeticError, ValueError) as error:
        if isinstance(error, (InvalidParameterError, VerificationError)):
            raise
        raise VerificationError(
            "The release's numbers must be those of a fit, but nothing can be computed from them: it was changed by "
            "hand. Ask for the release that the ledger recorded."
        ) from None


@dataclass(frozen=True)
class LinearModel:
    """A linear model by noisy moments."""

    fit: FitRecord
    moments: MomentsRecord
    coef_bound: float
    response: tuple[float, float]
    law: None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Columns of the model."""
        return tuple(dict.fromkeys(term.column for term in self.fit.coefficients if term.column is not None))

    @cached_property
    def _answers(self) -> MomentAnswers:
        return MomentAnswers(self.moments)

    @cached_property
    def _places(self) -> tuple[int, ...]:
        with sensible():
            places = tuple(self._answers.places_of(self.names))
        if tuple(self.moments.labels[j] for j in places) != tuple(term.name for term in self.fit.coefficients):
            raise VerificationError("The release's coefficients do not fit its moments: it was changed by hand.")
        return places

    @cached_property
    def scales(self) -> tuple[Floats, Floats]:
        """Middle and half width of each term."""
        pairs = [(self.moments.centers[j], self.moments.half_widths[j]) for j in self._places]
        return np.array([middle for middle, _ in pairs]), np.array([half for _, half in pairs])

    @property
    def center(self) -> float:
        """Center of the target, where no constant tells it."""
        return 0.0 if any(term.column is None for term in self.fit.coefficients) else self.moments.y_center

    def combinations(self, rows: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
        """Return estimates and ends in the target's unit."""
        constant = np.array([term.column is None for term in self.fit.coefficients], dtype=np.float64)
        offset = self.moments.y_center * (rows @ constant)
        with sensible():
            combination = self._answers.combinations(
                self.names, self.moments.y_bound * rows, offset, confidence, self.coef_bound
            )
        return combination.coef, combination.low, combination.high

    def joint(self, tested: Bools, columns: tuple[str, ...], confidence: float) -> JointRecord:
        """Return whether the coefficients of a mask can be zero together."""
        del tested
        with sensible():
            return self._answers.joint(self.names, columns, confidence, self.coef_bound)


@dataclass(frozen=True)
class ScoredModel:
    """A logistic or Poisson model by a noisy score."""

    fit: FitRecord
    answers: ScoreAnswers
    largest: float
    center: float = 0.0

    @property
    def scales(self) -> tuple[Floats, Floats]:
        """Middle and half width of each term."""
        return self.answers.scales

    @property
    def response(self) -> tuple[float, float]:
        """Range of the response."""
        return self.law.low, self.law.high

    @cached_property
    def law(self) -> Family:
        """The response's law; that of all counts, where the fit clipped them lower than declared."""
        if self.fit.count_bound is not None:
            return poisson(max(self.largest, self.fit.count_bound))
        return law_of(self.answers.score, self.fit.family)

    def combinations(self, rows: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
        """Return estimates and ends in units of the linear predictor, where an offset is zero."""
        with sensible():
            combination = self.answers.combinations(rows, confidence)
        estimate, low, high = (each - rows[:, 0] * self.answers.score.offset_middle for each in combination)
        return estimate, low, high

    def joint(self, tested: Bools, columns: tuple[str, ...], confidence: float) -> JointRecord:
        """Return whether the coefficients of a mask can be zero together."""
        with sensible():
            return self.answers.joint(tested, columns, confidence)


def _range_of_target(release: Release) -> tuple[float, float]:
    """The declared bounds of the target, without limit where there are none."""
    target = next((column for column in release.public if column.role == "target"), None)
    if target is None or target.lower is None or target.upper is None:
        return -math.inf, math.inf
    return target.lower, target.upper


def checked(moments: MomentsRecord) -> MomentsRecord:
    """Return moments whose parts are of one size and finite, or refuse them."""
    p, second = len(moments.labels), moments.whitened
    vectors = (moments.owners, moments.centers, moments.half_widths, moments.xty, moments.xty_variance)
    shaped = _is_of_size(p, vectors, (moments.gram, moments.gram_variance))
    if second is not None:
        squares = (second.matrix, second.gram, *((second.scores,) if second.scores is not None else ()))
        optional = [each for each in (second.left_out, second.left_out_errors) if each]
        shaped = shaped and _is_of_size(len(second.places), (second.start, second.xty, *optional), squares)
    if moments.fission is not None:
        shaped = shaped and _is_of_size(p, (moments.fission.xty,), (moments.fission.gram,))
    if shaped and moments.grid > 0 and all(map(math.isfinite, (*moments.centers, moments.y_center))):
        return moments
    raise VerificationError("The release's moments must be finite and of one size: it was changed by hand.")


def _is_of_size(p: int, vectors: Sequence[Sequence[Any]], squares: Sequence[Sequence[Sequence[Any]]]) -> bool:
    is_square = all(len(row) == p for square in squares for row in square)
    return is_square and all(len(each) == p for each in (*vectors, *squares))


def _coef_bound(release: Release) -> float:
    """The bound that the fit was made with; the default of versions that wrote none."""
    options = parameters(release)
    bound = options.get("coef_bound", LINEAR_COEF_BOUND)
    if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not 0.0 < bound <= 1e6:
        raise VerificationError("The release's coef_bound must be a positive number: it was changed by hand.")
    return float(bound)


def inference_of(release: Release) -> object:
    """Return how a release's intervals stay valid after its selection; None where it does not say."""
    return parameters(release).get("selective_inference")


def parameters(release: Release) -> dict[str, Any]:
    """Return the parameters of a release's fit, those of a step of a run among them."""
    options = release.request.get("parameters", {})
    options = options if isinstance(options, dict) else {}
    step = options.get("fit")
    return {**step, **options} if isinstance(step, dict) else options
