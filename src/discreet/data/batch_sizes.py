"""How much of a table is read at once: rows of a batch, columns of a pass, units that are held."""

BATCH_ROWS = 2**16
BATCH_CELLS = 2**22
"""The most cells of a batch, where columns are many."""
MANY_COLUMNS = 200
"""More than this are read other than a few are: what is slow for each column is done for all at once."""
COMPILE_FROM = 2**24
"""Cells of a table from which loading compiled code pays."""
GROUP = 1024
"""Columns that are scored in one pass over a table's rows."""
WIDE_GROUP = 2**15
"""The same where a pass reads all columns, whichever are asked for."""
CUT_GROUP = 128
"""The same where rows must be kept until all those of a unit are known."""
SPLIT_CELLS = 2**24
"""Cells that are held at once where columns are split at their medians."""
UNIT_BYTES = 2**28
"""Of encoded rows that are kept at once until those of a unit are known."""
HELD_BYTES = 2**28
"""Of encoded rows that are kept for the next pass of a request."""
BYTES_A_KEY = 24
"""Of an identifier and the place of its row, about."""


def rows_a_batch(most: int, n_columns: int) -> int:
    """Return the rows of a batch: at least 1, and fewer where columns are many."""
    return max(1, min(most, BATCH_CELLS // max(n_columns, 1)))
