"""How sure columns and models are, from a released fit or from noisy moments, without the rows and for free."""

from dataclasses import dataclass

import numpy as np

from discreet.errors import InvalidParameterError
from discreet.kernels.posterior.models import Evidence, Layout, Posterior, Prior, posterior
from discreet.kernels.posterior.noisy_sums import NoisySums, Turn, beside_constant
from discreet.kernels.sufficient_statistics.cleaning import cleaned
from discreet.kernels.sufficient_statistics.clip import stretched
from discreet.methods.answers.model import checked, sensible
from discreet.methods.moments.moment_answers import MomentAnswers
from discreet.methods.moments.whitened_sums import whitened_moments
from discreet.methods.regression.score_answers import full
from discreet.release import (
    AveragedCoefficient,
    ColumnChance,
    FitRecord,
    ModelChance,
    MomentsRecord,
    PosteriorRecord,
    PriorPosterior,
    Release,
    ScoreRecord,
)

PRIORS = {"broad": Prior((0.125, 0.25, 0.5, 1.0, 2.0), False), "sparse": Prior((0.5, 1.0, 2.0), True)}
"""Effects of any strength, of any number of columns; few and strong ones."""

N_MODELS = 10
"""Models that are listed."""


@dataclass(frozen=True)
class Question:
    """What a posterior is asked of: columns in order, those that are coefficients, and what gives the posterior.

    Parameters
    ----------
    units : tuple of str
        Names of what may matter.
    layout : Layout
        Their columns.
    terms : tuple of tuple
        Of each column but the constant: place, name, owner, level, factor to its own unit.
    asked : NoisySums or Evidence
        What tells.
    moments : MomentsRecord, optional
        Where they tell it: a clipped target moves the far ends of intervals out.
    """

    units: tuple[str, ...]
    layout: Layout
    terms: tuple[tuple[int, str, str, str | None, float], ...]
    evidence: NoisySums | Evidence
    moments: MomentsRecord | None = None

    def answer(self, prior: Prior) -> Posterior:
        """Return the posterior under a prior."""
        if isinstance(self.evidence, NoisySums):
            return self.evidence.posterior(prior, N_MODELS)
        return posterior([self.evidence], self.layout, prior, N_MODELS)


def posterior_of(release: Release, confidence: float = 0.95) -> PosteriorRecord:
    """Return how likely each column and each model is under two priors, and averaged coefficients with intervals.

    Post-processing: a function of the release alone, and with its guarantee.
    """
    if not 0.0 < confidence < 1.0:
        raise InvalidParameterError(f"confidence must lie in (0, 1), but confidence={confidence}.")
    family, question = _question(release)
    if not question.units:
        raise InvalidParameterError("A posterior is of columns, but this release has none. Give one that has.")
    with sensible():
        priors = tuple(_record(name, question, confidence) for name in PRIORS)
    return PosteriorRecord.model_validate({"family": family, "confidence": confidence, "priors": priors})


def _question(release: Release) -> tuple[str, Question]:
    fit = release.fit
    if release.moments is not None and release.hybrid is None:
        with sensible():
            return "linear", of_moments(checked(release.moments))
    if fit is not None and fit.score is not None and fit.family in ("logistic", "poisson"):
        if not fit.score.is_told:
            raise InvalidParameterError(
                "The noise makes this fit uninformative, also about columns. Ask again with more epsilon."
            )
        with sensible():
            return fit.family, of_score(fit, fit.score)
    raise InvalidParameterError(
        "A posterior needs noisy moments, or a logistic or Poisson fit with intervals, but this release has neither. "
        "Make one with `discreet select --method moments` or `discreet fit`."
    )


def of_moments(record: MomentsRecord) -> Question:
    """Return the question of all candidates of noisy moments.

    From a second pass where there is one: it has less noise, and the same rows.
    """
    moments, clean, owners, places = MomentAnswers(record).noisy_sums()
    layout, units = _layout(owners)
    terms = tuple(
        (at, record.labels[j], owner, _level(record.labels[j], owner), record.y_bound / record.half_widths[j])
        for at, (j, owner) in enumerate(zip(places, owners, strict=True))
        if owner is not None
    )
    second, turn = record.whitened, None
    if second is not None and tuple(second.places) == places:
        moments, matrix, start = whitened_moments(record, second)
        clean, turn = cleaned(moments), Turn(matrix, start)
    sums = NoisySums(moments, clean, layout, record.rows_per_unit, turn, _is_clipped(record))
    return Question(units, layout, terms, sums, record)


def _is_clipped(record: MomentsRecord) -> bool:
    """Tell whether the target's clip bends slopes: a private bound that is placed to, or rows that were counted."""
    clipped = record.clipped
    return clipped is not None and clipped.stretch > 0.0 and (clipped.low > 0.0 or not clipped.counted)


def of_score(fit: FitRecord, score: ScoreRecord) -> Question:
    """Return the question of the columns of a logistic or Poisson fit, by the normal approximation at its estimate.

    The estimate has the variance I^-1 (J + N) I^-1: I the information of the rows, J the variance of the score by
    sampling, N that of its noise. Source: Ibrahim and Laud 1991; Held, Sabanes Bove and Gravestock 2015.
    """
    owners = tuple(term.column for term in fit.coefficients)
    layout, units = _layout(owners)
    information, whole = full(score.information), full(score.sampling) + full(score.noise)
    pulled = information @ np.linalg.pinv(whole, rcond=1e-13, hermitian=True)
    precision = pulled @ information
    terms = tuple(
        (at, term.name, term.column, term.level, 1.0 / score.half_widths[at])
        for at, term in enumerate(fit.coefficients)
        if term.column is not None
    )
    unit = beside_constant(information, layout) / score.n_rows
    return Question(units, layout, terms, Evidence(precision, precision @ np.array(score.coef), unit, 0.0))


def _layout(owners: tuple[str | None, ...]) -> tuple[Layout, tuple[str, ...]]:
    units = tuple(dict.fromkeys(owner for owner in owners if owner is not None))
    owned = np.array([[owner == unit for owner in owners] for unit in units], dtype=np.bool_)
    always = np.array([owner is None for owner in owners], dtype=np.bool_)
    return Layout(always, owned.reshape(len(units), len(owners))), units


def _level(label: str, owner: str) -> str | None:
    return label[len(owner) + 1 :] if label != owner else None


def averaged(question: Question, posterior: Posterior, confidence: float) -> tuple[AveragedCoefficient, ...]:
    """Return the averaged coefficients with intervals, in their own units."""
    coefficients, clipped = [], None if question.moments is None else question.moments.clipped
    for at, label, column, level, factor in question.terms:
        direction = np.zeros(len(question.layout.always))
        direction[at] = factor
        low, high = posterior.interval(direction, confidence)
        if clipped is not None:
            ends = stretched(np.array([low]), np.array([high]), np.zeros(1), clipped.stretch)
            low, high = (float(end[0]) for end in ends)
        estimate = float(posterior.coef[at] * factor)
        coefficients.append(
            AveragedCoefficient(name=label, column=column, level=level, estimate=estimate, low=low, high=high)
        )
    return tuple(coefficients)


def _record(name: str, question: Question, confidence: float) -> PriorPosterior:
    prior = PRIORS[name]
    posterior = question.answer(prior)
    return PriorPosterior.model_validate(
        {
            "prior": name,
            "scales": prior.scales,
            "share": (1.0, float(len(question.units)) if prior.is_sparse else 1.0),
            "columns": tuple(
                ColumnChance(column=unit, chance=float(chance))
                for unit, chance in zip(question.units, posterior.chances, strict=True)
            ),
            "models": tuple(
                ModelChance(
                    columns=tuple(unit for unit, is_in in zip(question.units, model, strict=True) if is_in),
                    chance=min(float(chance), 1.0),
                )
                for model, chance in zip(posterior.models, posterior.model_chances, strict=True)
            ),
            "coefficients": averaged(question, posterior, confidence),
            "sampling_error": posterior.error,
        }
    )
