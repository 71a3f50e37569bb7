"""How much tests do that could always do more: what `make test` has time for, or with DISCREET_LONG=1 all there is."""

import os
from typing import TypeVar

T = TypeVar("T")

LONG = os.environ.get("DISCREET_LONG") == "1"


def either(short: T, long: T) -> T:
    """Return the draws, examples or cases of the run that was asked for: `make test`, or `make test-long`."""
    return long if LONG else short
