"""Two-stage selection: a lasso on each of many blocks of rows votes, and the most votes win after noise."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.accounting.events import event_record
from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.data.engine import Table
from discreet.data.engines.each import WORKERS
from discreet.data.metadata import Metadata
from discreet.data.score_design import ScoreDesign
from discreet.errors import InvalidParameterError
from discreet.kernels.rows.thread_limits import OneCore
from discreet.kernels.top_k.block_lasso import named_by_lasso
from discreet.mechanisms.rng import Source
from discreet.methods.base.candidates import columns_read, features_of, public_candidates
from discreet.methods.base.method import Outcome, Preparation, Progress
from discreet.methods.base.request_facts import not_protected
from discreet.methods.base.rows_in_memory import all_rows
from discreet.methods.screening.noise_test import (
    associations_tested,
    epsilon_beside,
    plan_noise_test,
    prepare_with_default_test,
)
from discreet.methods.screening.screener import Screening, target_coding
from discreet.methods.subset_selection.subset_regression import events_of
from discreet.parameters.screening import MAX_BLOCKS, VotesParameters
from discreet.release import StepRecord
from discreet.typing import Cells

Votes = npt.NDArray[np.int64]

CLAIM = "methods/screening/two_stage.privacy.md"


class TwoStageVotes(VotesParameters, Screening):
    """The k columns that the most blocks of rows vote for, each by its own lasso.

    References
    ----------
    Kifer, Smith, Thakurta 2012; Swope et al. 2024, section 4; privacy specification 4.4.
    """

    name: ClassVar[str] = "two-stage"

    def prepare(self, metadata: Metadata, target: str, candidates: Sequence[str] | None = None) -> "PreparedVotes":
        """Check the request and calibrate its noise, from public facts alone.

        Parameters
        ----------
        metadata : Metadata
            What is public about the table.
        target : str
            The response: numeric, or a category with two levels, a `level` or `codes`.
        candidates : sequence of str, optional
            Columns that may be selected, numeric; default all declared ones but the target.

        Returns
        -------
        PreparedVotes
            The cost, the noise, and a `run`.

        Raises
        ------
        InvalidParameterError
            When names or sizes do not fit, or the number of blocks cannot be known.
        MetadataError
            When a column lacks bounds, or a candidate is a category.
        """
        if metadata.layout is not None:
            raise InvalidParameterError(
                "two-stage must have a table of a column a feature, but this one has a value a row. Use sis."
            )
        n_rows = self.number_of_rows(metadata)
        if self.n_blocks is None and n_rows is None:
            raise InvalidParameterError(
                "two-stage must know its number of blocks, but the number of rows is private here. Give n_blocks, such "
                "as 50, or n0, a public guess of the number of rows."
            )
        features = features_of(metadata, target, candidates)
        self.check_size(len(features))
        design = ScoreDesign.plan(metadata, target, features, **target_coding(metadata, target, self.level, self.codes))
        n_blocks = self.n_blocks or min(max(round(math.sqrt(n_rows or 1)), 1), MAX_BLOCKS)

        def prepared(noise_test: bool) -> PreparedVotes:
            return PreparedVotes(self.model_copy(update={"noise_test": noise_test}), design, n_blocks)

        return prepare_with_default_test(self, prepared, design)


class PreparedVotes(Preparation):
    """A request of `TwoStageVotes` with its noise fixed.

    Parameters
    ----------
    method : TwoStageVotes
        The parameters.
    design : ScoreDesign
        The row map.
    n_blocks : int
        B.
    """

    columns: Sequence[str]

    def __init__(self, method: TwoStageVotes, design: ScoreDesign, n_blocks: int) -> None:
        self.method, self.design, self.n_blocks = method, design, n_blocks
        metadata = design.metadata
        self.columns, self.target, self.candidates = columns_read(design), design.target, design.features
        self.test = plan_noise_test(method, design, exact_epsilon(method.epsilon))
        rows, epsilon = metadata.rows_per_unit, epsilon_beside(self.test, exact_epsilon(method.epsilon))
        # Under either relation: a row that changes, comes or goes, does so in its own block alone.
        self.choice = method.top_k(len(design.features), epsilon, rows, 1, n_blocks)
        formula = f"{rows}, the most blocks that {'one row is' if rows == 1 else f'{rows} rows of one unit are'} in"
        self.noise = self.choice.noise_record(1, "votes", formula, CLAIM)
        self.event = self.choice.event
        if self.test is not None:
            self.event = events_of(self.choice.event, self.test.part().event)
            self.steps = (self._screening, self.test.part().record())
        self.delta = exact_delta(method.delta) if self.choice.is_concentrated else Fraction(0)
        self.parameters = self._parameters()
        self.public = public_candidates(metadata, design.target, design.features)
        self.not_protected = not_protected(metadata)

    @property
    def _screening(self) -> StepRecord:
        return StepRecord(name="screening", event=event_record(self.choice.event), noise=self.noise)

    def _parameters(self) -> dict[str, Any]:
        parameters = {**self.method.release_parameters(), **self.choice.parameters, "n_blocks": self.n_blocks}
        return parameters | ({} if self.design.codes is None else {"codes": dict(self.design.codes)})

    def run(self, table: Table, rng: Source, progress: Progress | None = None) -> Outcome:
        """Throw the rows into blocks, let each vote, choose the k most voted for after noise.

        Parameters
        ----------
        table : Table
            Whose metadata this was prepared for.
        rng : Source
            Where blocks and noise come from.
        progress : callable, optional
            Called as blocks are done, whose number is public.

        Returns
        -------
        Outcome
            The selected columns, in the order of the candidates.

        Notes
        -----
        Claim: ``two_stage.privacy.md``. Cost: one pass over the rows, which are held in memory at 2 bytes a cell, then
        a lasso a block, on all cores.
        """
        cells = all_rows(table, self.design)
        blocks = (rng.words(len(cells)) % np.uint64(self.n_blocks)).astype(np.int64)
        votes = self._votes(cells, blocks, progress)
        selected = tuple(self.design.features[place] for place in self.choice.draw(votes, rng))
        if self.test is None:
            return Outcome(selected, self.noise)
        return Outcome(selected, self.noise, (self._screening, associations_tested(self.test, table, selected, rng)))

    def _votes(self, cells: Cells, blocks: Votes, progress: Progress | None) -> Votes:
        """How many blocks name each column."""
        votes = np.zeros(len(self.design.features), dtype=np.int64)
        order = np.argsort(blocks, kind="stable")
        ends = np.searchsorted(blocks[order], np.arange(self.n_blocks + 1))

        def vote(block: int) -> Votes:
            return self._named(cells[order[ends[block] : ends[block + 1]]])

        # Equal blocks must give equal bits: one core each.
        with OneCore(), ThreadPoolExecutor(WORKERS) as pool:
            for named in pool.map(vote, range(self.n_blocks)):
                votes[named] += 1
                if progress is not None:
                    progress("Fitting blocks", 1, self.n_blocks)
        return votes

    def _named(self, cells: Cells) -> Votes:
        """The columns that a block votes for: none where it cannot tell."""
        try:
            return named_by_lasso(cells, self.method.n_features_to_select, self.method.alpha)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            return np.empty(0, dtype=np.int64)
