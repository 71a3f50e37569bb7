"""How much tests do that could always do more: what `make test` has time for, or with DISCREET_LONG=1 all there is."""

import itertools
import os
from collections.abc import Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")

LONG = os.environ.get("DISCREET_LONG") == "1"


def either(short: T, long: T) -> T:
    """Return the draws, examples or cases of the run that was asked for: `make test`, or `make test-long`."""
    return long if LONG else short


def pairwise(cases: Iterable[tuple[Hashable, ...]]) -> list[tuple[Hashable, ...]]:
    """Return all cases, or for `make test` few of them that hold each pair of values which some case holds."""
    rows = list(cases)
    held = [set(itertools.combinations(enumerate(row), 2)) for row in rows]
    left = set() if LONG else set().union(*held)
    chosen = list(range(len(rows))) if LONG else []
    while left:
        best = max(range(len(rows)), key=lambda at: len(held[at] & left))
        left -= held[best]
        chosen.append(best)
    return [rows[at] for at in sorted(chosen)]
