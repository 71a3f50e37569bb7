"""Scores of columns that are split at their own medians: no bounds are needed, and none are used."""

import numpy as np

from discreet.data.batch_sizes import GROUP, SPLIT_CELLS
from discreet.data.engine import Table
from discreet.data.score_design import ScoreDesign
from discreet.kernels.top_k.median_split import Ranks, split_sums
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Progress
from discreet.methods.base.rows_in_memory import all_rows
from discreet.typing import Integers

TYPICAL_ROWS = 2**16
"""Of a table whose number of rows is private and not guessed."""

MOVED = 2
"""By so many target's sizes one row moves a score: by its own, and by that of the row that crosses the median."""


def split_scores(
    table: Table, design: ScoreDesign, n_rows: int | None, rng: Source, progress: Progress | None = None
) -> Integers:
    """Return for each column the sum of the target over its upper half less that over its lower half.

    In units of 1 / 32767, not releasable; `rng` orders equal cells. Claim: ``sis.privacy.md``. With a `unit_id`, at
    most ``rows_per_unit`` rows of a unit count in a group of columns, by that unit's identifier and cells alone. Cost:
    for each such group one pass and its cells in memory, and a partition of each column.

    `n_rows` is public, or a guess: columns of one group share the order of equal cells, and a unit's rows that count
    are chosen by all cells of a group. So how wide groups are must not follow from the rows.
    """
    p = len(design.features)
    size = max(1, min(GROUP, SPLIT_CELLS // (n_rows or TYPICAL_ROWS)))
    scores = np.zeros(p, dtype=np.int64)
    for start in range(0, p, size):
        cells = all_rows(table, design.group(start, start + size))
        scores[start : start + size] = split_sums(cells, random_order(rng, len(cells)))
        if progress is not None:
            progress("Scoring columns", min(size, p - start), p)
    return scores


def random_order(rng: Source, n_rows: int) -> Ranks:
    """Return each number of 0 .. n_rows - 1 once, in an order that is as likely as any other."""
    while True:
        # As many words whatever the cells are: the order is independent of the rows, and the claim averages over it.
        words = rng.words(n_rows)
        order = np.argsort(words)
        # Two equal words would be told apart by the rows' places: all are drawn again, whatever the rows are.
        if not (np.diff(words[order]) == 0).any():
            ranks = np.empty(n_rows, dtype=np.uint64)
            ranks[order] = np.arange(n_rows, dtype=np.uint64)
            return ranks
