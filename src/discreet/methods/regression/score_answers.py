"""The noisy score of a logistic or Poisson regression in a release, and what follows from it for free."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import ValidationError

from discreet.errors import VerificationError
from discreet.kernels.glm.curve import Curve
from discreet.kernels.glm.families import LOGISTIC, Family, clipped_poisson, poisson
from discreet.kernels.glm.open_ways import OpenWays
from discreet.kernels.glm.sandwich import Reliability
from discreet.kernels.glm.score import NoiseTerm, ScoreModel
from discreet.kernels.glm.score_fit import Fit, ScoreFit
from discreet.release import FitRecord, JointRecord, ReliabilityRecord, ScoreRecord, SeparationRecord, Symmetric
from discreet.typing import Bools, Floats


def score_record(fit: Fit, middles: Floats, halves: Floats, offset_middle: float = 0.0) -> ScoreRecord | None:
    """Return the score of a fit for a release; None when there is none that numbers of a release can hold."""
    score = fit.score
    model, p = score.model, len(fit.coef)
    curve, error = model.curve, model.rest_error or NoiseTerm(np.zeros((p, p)), 1.0, np.zeros(p))
    try:
        return ScoreRecord(
            coef_bound=score.box,
            middles=_list(middles),
            half_widths=_list(halves),
            offset_middle=offset_middle,
            response_low=curve.family.low,
            response_high=curve.family.high,
            is_smooth=curve.family.is_smooth,
            coef=_list(score.coef),
            told=() if score.told is None else _list(score.told),
            constant=_list(model.constant),
            point=_list(model.point),
            n_rows=curve.n_rows,
            center=_list(curve.center),
            spread=_triangle(curve.spread),
            fixed=_list(curve.fixed),
            rest=_triangle(model.rest),
            information=_triangle(model.information),
            sampling=_triangle(model.sampling),
            noise=_triangle(model.noise),
            slope_noise=_triangle(error.variance),
            slope_basis=_rows(np.eye(p) if error.basis is None else error.basis),
            slope_factor=error.slope,
            slope_offset=_list(error.offset),
            mismatch=model.mismatch,
            curvature=model.curvature,
            law="spherical_laplace" if score.is_laplace else "gaussian",
            is_told=score.is_told,
            separation=SeparationRecord(
                separating=_rows(score.ways.separating), undetermined=_rows(score.ways.undetermined)
            ),
            reliability=None if score.known is None else _reliability(score.known),
        )
    except ValidationError:  # a number too large for a release
        return None


def _reliability(reliability: Reliability) -> ReliabilityRecord:
    return ReliabilityRecord(
        total=_triangle(reliability.total),
        basis=_rows(reliability.basis),
        sizes=_list(reliability.sizes),
        errors=_triangle(reliability.errors),
        factor_sd=reliability.factor_sd,
        n_units=reliability.n_units,
    )


def score_fit(record: ScoreRecord, family: str) -> ScoreFit:
    """Return a released score for the kernels."""
    curve = Curve(
        law_of(record, family), record.n_rows, np.array(record.center), full(record.spread), np.array(record.fixed)
    )
    error = NoiseTerm(
        full(record.slope_noise), record.slope_factor, np.array(record.slope_offset), np.array(record.slope_basis)
    )
    model = ScoreModel(
        constant=np.array(record.constant),
        point=np.array(record.point),
        rest=full(record.rest),
        curve=curve,
        information=full(record.information),
        sampling=full(record.sampling),
        noise=full(record.noise),
        rest_error=error,
        mismatch=record.mismatch,
        curvature=record.curvature,
    )
    reliability = record.reliability
    return ScoreFit(
        model,
        np.array(record.coef),
        record.coef_bound,
        None if reliability is None else _reliability_of(reliability),
        record.law == "spherical_laplace",
        record.is_told,
        np.array(record.told) if record.told else None,
        OpenWays(np.array(record.separation.separating), np.array(record.separation.undetermined)),
    )


def _reliability_of(reliability: ReliabilityRecord) -> Reliability:
    total, errors = full(reliability.total), full(reliability.errors)
    return Reliability(
        total,
        np.array(reliability.basis),
        np.array(reliability.sizes),
        errors,
        reliability.factor_sd,
        reliability.n_units,
    )


def law_of(record: ScoreRecord, family: str) -> Family:
    """Return the response's law."""
    if family == "logistic":
        return LOGISTIC
    return clipped_poisson(record.response_high) if record.is_smooth else poisson(record.response_high)


def _list(values: Floats) -> Any:
    return tuple(values.tolist())


def _rows(matrix: Floats) -> Any:
    return tuple(map(tuple, matrix.tolist()))


def _triangle(matrix: Floats) -> Symmetric:
    return tuple(tuple(matrix[j, j:].tolist()) for j in range(len(matrix)))


def full(rows: Symmetric) -> Floats:
    """Return the symmetric matrix of a record's rows."""
    p = len(rows)
    upper = np.zeros((p, p))
    for j, row in enumerate(rows):
        upper[j, j:] = row
    whole: Floats = upper + np.triu(upper, 1).T
    return whole


@dataclass(frozen=True)
class ScoreAnswers:
    """Answers from a released score; whatever is asked, nothing is spent.

    Parameters
    ----------
    record : FitRecord
        With a score.
    """

    record: FitRecord

    @cached_property
    def score(self) -> ScoreRecord:
        """The score, which has as many coefficients as the fit."""
        score = self.record.score
        if score is None or len(score.coef) != len(self.record.coefficients):
            raise VerificationError("The release's score does not fit its coefficients: it was changed by hand.")
        return score

    @cached_property
    def scales(self) -> tuple[Floats, Floats]:
        """Middle and half width of each term."""
        return np.array(self.score.middles), np.array(self.score.half_widths)

    @cached_property
    def _fit(self) -> ScoreFit:
        return score_fit(self.score, self.record.family)

    def combinations(self, rows: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
        """Return estimates and intervals of combinations of the coefficients per half range.

        Shapes: rows (k, p); returns (k,), (k,), (k,).
        """
        with np.errstate(all="ignore"):
            low, high = self._fit.intervals(rows, confidence)
        low, high = np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)
        return np.clip(rows @ self._fit.estimate, low, high), low, high

    def joint(self, places: Bools, columns: tuple[str, ...], confidence: float) -> JointRecord:
        """Return whether the coefficients at some places can be zero together."""
        limit, residual = math.nan, None
        try:
            with np.errstate(all="ignore"):
                distance, limit, residual = self._fit.joint(places, confidence)
        except (np.linalg.LinAlgError, ArithmeticError):  # nothing can be told, and what was paid for is not lost
            distance = math.nan
        told = math.isfinite(distance) and math.isfinite(limit) and self._fit.is_told
        return JointRecord(
            columns=columns,
            terms=tuple(self.record.coefficients[j].name for j in np.flatnonzero(places)),
            confidence=confidence,
            distance=distance if told else None,
            limit=limit if math.isfinite(limit) else None,
            degrees_of_freedom=int(places.sum()),
            residual_degrees_of_freedom=residual,
            zero_inside=distance <= limit if told else None,
        )


def with_answers(record: FitRecord, score: ScoreRecord | None) -> FitRecord:
    """Return a fit with its score, and with what the score tells of each category as a whole."""
    if score is None:
        return record
    scored = record.model_copy(update={"score": score})
    columns = [term.column for term in record.coefficients]
    names = dict.fromkeys(name for name in columns if name is not None and columns.count(name) > 1)
    answers = ScoreAnswers(scored)
    joint = [answers.joint(np.array([name == own for own in columns]), (name,), record.confidence) for name in names]
    return scored.model_copy(update={"joint": tuple(joint)})
