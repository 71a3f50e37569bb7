"""Penalized constrained profile likelihood: a private choice of a regression model (Lei et al. 2018, Algorithm 2)."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from discreet.accounting.events import Event, FailureEvent, SelectionEvent, event_record
from discreet.accounting.guarantee import exact, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.digits import plain
from discreet.errors import InvalidParameterError
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.methods.base.method import Outcome, Progress
from discreet.methods.base.request_facts import models_progress, rows_progress
from discreet.methods.subset_selection.calibration import Sensitivity
from discreet.methods.subset_selection.likelihood_scores import LikelihoodChoice, LikelihoodScores, LikelihoodSplit
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.subset_regression import (
    PreparedSelection,
    SubsetSelection,
    events_of,
    largest_target,
)
from discreet.methods.subset_selection.sum_of_squares import noisy_squares, squares_part
from discreet.methods.subset_selection.tuning import estimate_privately
from discreet.methods.subset_selection.tuning_plan import LEAST_VARIANCE, Tuning
from discreet.parameters.subset_selection import SQUARES, LikelihoodParameters
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Floats

UNIT = "-2 log-likelihood"
FINE = 2**40
"""Steps of the published algorithm's standard Laplace variable."""

LARGEST_DELTA = 1e-6


class ProfileLikelihood(LikelihoodParameters, SubsetSelection):
    """Which columns belong in a linear regression: the noisy minimum of n log RSS plus a penalty.

    References
    ----------
    Lei, Charest, Slavkovic, Smith, Fienberg 2018, section 3 and Algorithm 2; privacy specification 2.
    """

    name: ClassVar[str] = "pcpl"

    @model_validator(mode="after")
    def _floor_needs_no_guess(self) -> Self:
        if self.variance_floor is None:
            return self
        if self.rss_guess is not None or self.as_published or SQUARES in (self.shares or {}):
            raise ValueError(
                f"variance_floor must come without rss_guess, as_published and a share of {SQUARES}: it estimates no "
                "sum of squares."
            )
        if self.delta:
            raise ValueError(
                f"variance_floor must come without delta, but delta={plain(self.delta)}: it needs no bound that may "
                "fail."
            )
        return self

    def prepare(
        self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None
    ) -> "PreparedProfileLikelihood":
        """Check the request and split its epsilon, from public facts alone.

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
        PreparedProfileLikelihood
            The cost, the noise at most, and a `run`.

        Raises
        ------
        InvalidParameterError
            When names, sizes, delta or the number of models do not fit.
        MetadataError
            When a column lacks bounds or levels.
        """
        n_rows = self.number_of_rows(metadata)
        if n_rows is None:
            raise InvalidParameterError(
                "pcpl must know a public number near that of the rows, but it is private here. Give n0, such as 1000; "
                "or use pcls, which needs none."
            )
        setting = self.setting(metadata, target, candidates, one_by_one=True)
        tuning = self.tuning(metadata, setting)
        return PreparedProfileLikelihood(self, setting, tuning, self._split(setting, tuning, n_rows))

    def _split(self, setting: Setting, tuning: Tuning, n_rows: int) -> LikelihoodSplit:
        """Epsilon of the sum of squares and of the choice, and delta (privacy specification 2.4 and 11)."""
        if self.variance_floor is not None:
            return LikelihoodSplit(Fraction(0), tuning.remaining, Fraction(0), n_rows)
        if self.as_published:
            epsilon = exact_epsilon(self.epsilon)
            return LikelihoodSplit(epsilon, epsilon, self._delta(n_rows), n_rows)
        delta, epsilon = self._delta(n_rows), tuning.remaining
        squares_share = (self.shares or {}).get(SQUARES)
        if squares_share is not None:
            first = exact_epsilon(self.epsilon) * exact(squares_share, f"shares[{SQUARES!r}]")
            if first >= epsilon:
                raise InvalidParameterError(
                    f"shares must leave something for the selection, but with {SQUARES} {squares_share:g} nothing is "
                    "left. Lower it."
                )
        elif self.rss_guess is not None:
            size = float(Sensitivity.of(setting.design, setting.ratio).size) * setting.design.bound**2
            spread = size * math.log(1.0 / (2.0 * float(delta))) / self.rss_guess
            share = min(max(math.sqrt(spread / float(epsilon)), 0.02), 0.5)
            first = epsilon * Fraction(round(share * 10_000), 10_000)
        else:
            first = epsilon / 5
        return LikelihoodSplit(first, epsilon - first, delta, n_rows)

    def _delta(self, n_rows: int) -> Fraction:
        if self.delta == 0.0:
            return exact(f"{min(n_rows**-1.5, LARGEST_DELTA) * 0.9995:.3e}", "delta")
        delta, most = exact(self.delta, "delta"), min(1.0 / n_rows, 0.1)
        if delta > exact(most, "delta"):
            raise InvalidParameterError(
                f"delta must be at most 1 / n = {most:.3g}, or the release could show whole rows, but "
                f"delta={plain(self.delta)}. Common choices are 0.000001 and less."
            )
        return delta


class PreparedProfileLikelihood(PreparedSelection):
    """A request of `ProfileLikelihood`.

    Parameters
    ----------
    method : ProfileLikelihood
        The parameters.
    setting : Setting
        The widest that can come out.
    tuning : Tuning
        The private estimates before the choice.
    split : LikelihoodSplit
        What is left, and of what.
    """

    def __init__(self, method: ProfileLikelihood, setting: Setting, tuning: Tuning, split: LikelihoodSplit) -> None:
        super().__init__(method, setting, tuning)
        self.method, self.split = method, split
        # The most that the range can be where it is used at all.
        self.noise = self._noise(replace(self.scores(setting).widest(), uniform=False))
        if method.variance_floor is None and method.max_false is None:  # the chance follows from the sum of squares
            self.noise = self.noise.model_copy(update={"max_false": None})
        selection = SelectionEvent(split.selection, method.noise_law)
        parts = list(tuning.parts)
        failure: list[Event] = []
        if method.variance_floor is None and not method.as_published:
            parts.append(squares_part(SQUARES, setting, split.squares, "the least of all models"))
            failure.append(FailureEvent(split.delta))
        self.event: Event | None = (
            None if method.as_published else events_of(*(part.event for part in parts), selection, *failure)
        )
        self.steps = (*(part.record() for part in parts), self.selection_record(self.noise)) if parts else ()
        if method.as_published:
            self.steps = ()
        named = isinstance(method.model_penalty, str)
        self.parameters = {
            **self._common_parameters(method.model_penalty),
            "n_rows": split.n_rows,
            "delta": float(split.delta),
            "epsilon_squares": float(split.squares),
            "epsilon_selection": float(split.selection),
            **({} if named else {"model_penalty": float(method.model_penalty)}),
        }

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Draw the private estimates and the least sum of squares, then the noisy minimum of the models' scores.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Called as rows are read, where their number is public, and as models are scored.

        Returns
        -------
        Outcome
            The selected columns, and the sum of squares as a step.

        Notes
        -----
        Claim: ``pcpl.privacy.md``. Cost: one pass over the rows, and those of ``tuning.py``; then every model's score.
        """
        tuned = estimate_privately(self.tuning, table, rng, rows_progress(progress, table))
        setting, masks = tuned.setting, self.space.masks()
        profile = self.scores(setting)
        report_models = models_progress(progress, len(masks))
        sums = setting.scores(tuned.moments, masks, float(profile.sensitivity.tolerance), report_models)
        counted = setting.counted(masks)
        if self.method.as_published:
            return self._run_as_published(table, sums, counted, masks, rng)
        steps = list(tuned.steps)
        if self.method.variance_floor is None:
            published = noisy_squares(float(sums.min()), profile.sensitivity, self.split.squares, rng)
            steps += self._squares_records(setting, published)
            choice, scores = profile.scored(published, sums, counted)
        else:
            choice, scores = profile.floored(sums, counted)
        law = (choice.gamma + choice.inflation, self.split.selection, rng, self.method.noise_law)
        chosen = int(masks[noisy_min(scores, *law)])
        noise = self._noise(choice)
        return Outcome(self.space.names(chosen), noise, (*steps, self.selection_record(noise)) if steps else ())

    def _run_as_published(
        self, table: Table, sums: Floats, counted: Floats, masks: npt.NDArray[np.uint64], rng: Source
    ) -> Outcome:
        """With r the largest |y| of the table, as in the paper."""
        design, n_rows, epsilon = self.setting.design, self.split.n_rows, float(self.split.selection)
        size = (largest_target(table, design) + self.setting.radius / design.bound) ** 2
        penalty = float(self.scores(self.setting).penalty(Fraction(1)))
        z = discrete_laplace([0], FINE, rng)[0] / FINE
        scale = min(_published_scale(float(sums.min()), size, z, epsilon, float(self.split.delta), n_rows), 1e200)
        chosen = noisy_min(_published_scores(sums, penalty * counted, n_rows), scale, 1, rng, "laplace")
        noise = self._published_box(scale)
        return Outcome(self.space.names(int(masks[chosen])), noise)

    # ---- what is public about the request

    def expected_noise(self, variance: float) -> NoiseRecord:
        """Return the noise where the least sum of squares is that of a supposed residual variance.

        Parameters
        ----------
        variance : float
            In squared target bounds.

        Returns
        -------
        NoiseRecord
            Of a uniform choice, where the sum would be too small to choose by.
        """
        if self.method.as_published or self.method.variance_floor is not None:
            return self.noise
        profile = self.scores(self.setting)
        bound = profile.bound(Fraction(self.split.n_rows) * Fraction(variance))
        return self._noise(profile.widest() if bound <= profile.threshold else profile.choice(bound))

    def scores(self, setting: Setting) -> LikelihoodScores:
        """Return the ranges of the log-likelihood, from public facts and earlier releases.

        Parameters
        ----------
        setting : Setting
            The widest that can come out, or what did.

        Returns
        -------
        LikelihoodScores
            Ranges, penalty and scores of the choice.
        """
        return LikelihoodScores(self.method, setting, self.tuning.metadata.neighboring, self.split)

    def selection_record(self, noise: NoiseRecord) -> StepRecord:
        """Return the choice of the model as a step.

        Parameters
        ----------
        noise : NoiseRecord
            Its noise box.

        Returns
        -------
        StepRecord
            The last step.
        """
        event = SelectionEvent(self.split.selection, self.method.noise_law)
        return StepRecord(name="selection", event=event_record(event), noise=noise)

    def _squares_records(self, setting: Setting, published: Fraction) -> list[StepRecord]:
        """The sum of squares, and the residual variance that follows from it for free (specification 2.2, step 5)."""
        unit = setting.design.bound**2
        part = squares_part(SQUARES, setting, self.split.squares, "the least of all models")
        variance = float(min(max(published / self.split.n_rows, LEAST_VARIANCE), Fraction(1)))
        free = part.noise.model_copy(
            update={
                **{key: getattr(part.noise, key) / self.split.n_rows for key in ("sensitivity", "inflation", "scale")},
                "formula": f"{SQUARES} / n, at no further cost",
            }
        )
        nothing: dict[str, Any] = {"type": "ComposedEvent", "events": []}
        return [
            part.record(float(published) * unit),
            StepRecord(name="sigma2", event=nothing, noise=free, value=variance * unit),
        ]

    def _noise(self, choice: LikelihoodChoice) -> NoiseRecord:
        if self.method.as_published:
            return self._published_box(1.0 / float(self.split.selection))
        replace_one = self.tuning.metadata.neighboring is NeighboringRelation.REPLACE_ONE
        if self.method.variance_floor is not None:
            formula = ("2 " if replace_one else "") + "n log(1 + (r + R)^2 / (n s0^2))"
        elif choice.uniform:
            formula = "none: where RSS may be near (r + R)^2 the choice is uniform"
        else:
            formula = "n log((1 + x) / (1 - x))" if replace_one else "-n0 log(1 - x)"
            formula += ", x = (r + R)^2 / a bound of RSS"
        gamma, inflation = float(choice.gamma), float(choice.inflation)
        chance = None
        if self.method.model_penalty == "auto" and not choice.uniform:
            scale = (choice.gamma + choice.inflation) / self.split.selection
            chance = self.scores(self.setting).false_chance(scale)
        return NoiseRecord(
            mechanism=self.method.mechanism,
            noise=self.method.noise_law,
            n_candidates=self.space.n_models,
            sensitivity=gamma,
            inflation=inflation,
            scale=(gamma + inflation) / float(self.split.selection),
            unit=UNIT,
            formula=formula,
            numerics="exact draw; score errors counted in the inflation",
            claim="methods/subset_selection/pcpl.privacy.md",
            penalty=float(choice.penalty),
            max_false=chance,
        )

    def _published_box(self, scale: float) -> NoiseRecord:
        return NoiseRecord(
            mechanism="laplace",
            noise="laplace",
            n_candidates=self.space.n_models,
            sensitivity=scale * float(self.split.selection),
            inflation=0.0,
            scale=scale,
            unit=UNIT,
            formula="2 |G(D)|",
            numerics="as published",
            claim="none",
        )


def _published_scale(least: float, size: float, noise: float, epsilon: float, delta: float, n_rows: int) -> float:
    """2 |G(D)| / epsilon as printed: where G is negative, a symmetric noise loses its sign.

    Source: Lei et al. 2018, Algorithm 2; privacy specification 2.3.
    """
    denominator = least - size + size / epsilon * (noise - math.log(1.0 / (2.0 * delta)))
    return 2.0 * n_rows * size / max(abs(denominator), 1e-300) / epsilon


def _published_scores(sums: Floats, penalties: Floats, n_rows: int) -> Floats:
    """l* + phi |M| of every model as printed: the sign of the likelihood is wrong, so the worst fit is the best."""
    scores: Floats = -0.5 * n_rows * np.log(np.maximum(sums, 1e-300) / n_rows) + penalties
    return scores
