"""Which two tables a guarantee calls neighbors."""

from enum import StrEnum


class NeighboringRelation(StrEnum):
    """The relation between two tables that a guarantee must make hard to tell apart.

    Notes
    -----
    ``REPLACE_ONE``: same number of rows, one unit's rows replaced by as many; the number of rows is public. Where the
    metadata give the number of units instead, same number of units, one's rows replaced by 1 to ``rows_per_unit``; the
    number of rows is private.
    ``ADD_OR_REMOVE_ONE``: one unit's rows more or less; the number of rows is private.
    """

    REPLACE_ONE = "replace_one"
    ADD_OR_REMOVE_ONE = "add_or_remove_one"

    def __repr__(self) -> str:
        return repr(self.value)
