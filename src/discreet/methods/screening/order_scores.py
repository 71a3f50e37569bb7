"""Scores by the order of a column's cells alone: no bounds are needed, and none are used."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from discreet.data.batch_sizes import GROUP, SPLIT_CELLS
from discreet.data.engine import Table
from discreet.data.score_design import ScoreDesign
from discreet.kernels.top_k.kendall_sums import kendall_of_rows
from discreet.kernels.top_k.median_split import Ranks, split_sums
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Progress
from discreet.methods.base.rows_in_memory import all_rows
from discreet.typing import Cells, Integers

TYPICAL_ROWS = 2**16
"""Of a table whose number of rows is private and not guessed."""

MOVED = 2
"""By so many target's sizes one row moves a score: by its own, and by that of the row that crosses the median."""

KENDALL_MOVED = (Fraction(3, 2), Fraction(2))
"""By how much one row moves |S| / (n - 1), S Kendall's sum over pairs: where it is added or removed, and replaced."""

KENDALL_COMPARED = Fraction(5, 4)
"""The same for a row that is added where scores are only compared with each other: it moves them by -3/2 to 1, which is
5/4 around the same number for all."""


KENDALL_STEPS = 2**30
"""Whole steps in a row: an even number, so that one row moves a score by whole ones."""


def split_scores(
    table: Table, design: ScoreDesign, n_rows: int | None, rng: Source, progress: Progress | None = None
) -> Integers:
    """Return for each column the sum of the target over its upper half less that over its lower half.

    In units of 1 / 32767, not releasable; `rng` orders equal cells. Claim: ``sis.privacy.md``. Cost: that of
    `_groups`, and a partition of each column.
    """
    parts = [split_sums(cells, random_order(rng, len(cells))) for cells in _groups(table, design, n_rows, progress)]
    return np.concatenate(parts)


def kendall_scores(table: Table, design: ScoreDesign, n_rows: int | None, progress: Progress | None = None) -> Integers:
    """Return |S| / (n - 1) of each column, S Kendall's sum over all pairs of rows, in `KENDALL_STEPS` a row.

    Not releasable. Claim: ``sis.privacy.md``. Cost: that of `_groups`, and O(n log n) a column.
    """
    parts = []
    for cells in _groups(table, design, n_rows, progress):
        sums, n_others = np.abs(kendall_of_rows(cells)), max(len(cells) - 1, 1)
        # |S| / (n - 1) in steps, rounded down: what moves by whole steps still moves by no more.
        whole, rest = np.divmod(sums, n_others)
        parts.append(whole * KENDALL_STEPS + rest * KENDALL_STEPS // n_others)
    return np.concatenate(parts)


def _groups(table: Table, design: ScoreDesign, n_rows: int | None, progress: Progress | None) -> Iterator[Cells]:
    """Yield all rows' cells of some columns and the target, group by group of columns.

    With a `unit_id`, at most ``rows_per_unit`` rows of a unit count in a group, by that unit's identifier and cells
    alone. `n_rows` is public, or a guess: columns of one group share the order of equal cells, and a unit's rows that
    count are chosen by all cells of a group. So how wide groups are must not follow from the rows. Cost: for each group
    one pass and its cells in memory.
    """
    p = len(design.features)
    size = max(1, min(GROUP, SPLIT_CELLS // (n_rows or TYPICAL_ROWS)))
    for start in range(0, p, size):
        yield all_rows(table, design.group(start, start + size))
        if progress is not None:
            progress("Scoring columns", min(size, p - start), p)


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
