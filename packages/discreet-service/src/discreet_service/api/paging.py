"""Pages of a list, the newest first; each continues below the last item of the one before."""

from typing import Annotated, TypeVar

from fastapi import Query

Cursor = Annotated[str | None, Query(pattern=r"^[1-9][0-9]{0,17}$", description="`next` of the page before")]
Limit = Annotated[int, Query(ge=1, le=200)]

T = TypeVar("T")


def parse_cursor(cursor: str | None) -> int | None:
    """Return the position that a cursor stands for; None for the first page."""
    return None if cursor is None else int(cursor)


def split_page(items: list[T], places: list[int], limit: int) -> tuple[list[T], str | None]:
    """Return the items of a page, and the cursor of the next one."""
    return (items, None) if len(items) <= limit else (items[:limit], str(places[limit - 1]))
