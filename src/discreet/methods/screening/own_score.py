"""The k columns with the largest scores by a function of the user's own, whose sensitivity the user declares."""

import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.rng import Source
from discreet.methods.base.candidates import columns_read, features_of, public_candidates
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.request_facts import not_protected
from discreet.methods.base.rows_in_memory import all_rows
from discreet.methods.screening.screener import Screening, target_coding
from discreet.parameters.screening import OwnScoreParameters

CLAIM = "methods/screening/own_score.privacy.md"

DECLARED = "declared by the user, not checked"

STEPS = 2**20
"""Whole steps in one declared sensitivity: scores are rounded to them, which the noise covers."""

LARGEST = 2.0**52
"""In whole steps; larger scores count as this, so that a float tells every step from the next."""

Score = Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64]], npt.ArrayLike]


class OwnScore(OwnScoreParameters, Screening):
    """The k columns with the largest scores by a function of the user's own.

    Notes
    -----
    The other parameters are those of ``sis.py``.
    """

    name: ClassVar[str] = "own-score"

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> "PreparedOwnScore":
        """Check the request and calibrate its noise to the declared sensitivity.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response.
        candidates : sequence of str, optional
            Columns that may be selected, numeric; default all declared ones but the target.

        Returns
        -------
        PreparedOwnScore
            The cost, the noise, and a `run`.
        """
        features = features_of(metadata, target, candidates)
        self.check_size(len(features))
        coding = target_coding(metadata, target, self.level, self.codes)
        return PreparedOwnScore(self, ScoreDesign.plan(metadata, target, features, **coding))


class PreparedOwnScore(Preparation):
    """A request of `OwnScore` with its noise fixed.

    Parameters
    ----------
    method : OwnScore
        The parameters.
    design : ScoreDesign
        The row map.
    """

    is_proved: ClassVar[bool] = False
    columns: Sequence[str]

    def __init__(self, method: OwnScore, design: ScoreDesign) -> None:
        self.method, self.design = method, design
        self.columns, self.target, self.candidates = columns_read(design), design.target, design.features
        expected = method.expected_score
        largest = None if expected is None else expected / method.sensitivity
        scaled = method.model_copy(update={"expected_score": largest})
        self.choice = scaled.top_k(len(design.features), exact_epsilon(method.epsilon), STEPS + 2, STEPS, None)
        record = self.choice.noise_record(STEPS, "declared sensitivities", f"1, {DECLARED}", CLAIM)
        self.noise = record.model_copy(update={"numerics": "exact draw; scores are rounded to whole steps"})
        self.event = self.choice.event
        self.delta = exact_delta(method.delta) if self.choice.is_concentrated else Fraction(0)
        self.parameters: dict[str, Any] = {
            **method.release_parameters(),
            **self.choice.parameters,
            "score_func": getattr(method.score_func, "__name__", type(method.score_func).__name__)[:100],
        }
        self.public = public_candidates(design.metadata, design.target, design.features)
        self.not_protected = (
            f"anything, should the score's sensitivity be larger than {method.sensitivity:g}: it was {DECLARED}",
            *not_protected(design.metadata),
        )

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Score the columns by the user's function, choose the k best after noise.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where the noise comes from.
        progress : callable, optional
            Not called: how long the function takes may depend on the rows.

        Returns
        -------
        Outcome
            The selected columns, in the order of the candidates.

        Notes
        -----
        Claim: ``own_score.privacy.md``. Cost: one pass over the rows, which are held in memory at 10 bytes a cell, and
        the function.
        """
        del progress
        cells = all_rows(table, self.design).astype(np.float64) / GRID
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # a warning would tell of the rows
            scores = np.asarray(self.method.score_func(cells[:, :-1], cells[:, -1]), dtype=np.float64).ravel()
            scores = scores / self.method.sensitivity
        if scores.size != len(self.design.features):
            raise ArithmeticError("the score must return one number a column")
        steps = _steps(scores)
        chosen = self.choice.draw(steps, rng)
        return Outcome(tuple(self.design.features[place] for place in chosen), self.noise)


def _steps(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Round to whole steps; what is not a number counts as the least."""
    ordered = np.where(np.isnan(scores), -np.inf, scores)
    with np.errstate(over="ignore"):
        steps: npt.NDArray[np.int64] = np.rint(np.clip(ordered * STEPS, -LARGEST, LARGEST)).astype(np.int64)
    return steps
