"""A selection whose method nobody names: the plan's choice, from public facts alone."""

import importlib
from collections.abc import Sequence
from typing import Any

from discreet.data.metadata import Metadata
from discreet.methods.base import Method, Progress


def auto_method(
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    n_rows: int | None = None,
    progress: Progress | None = None,
) -> tuple[Method, dict[str, Any]]:
    """Return the method with its tuning, and how it was chosen.

    Parameters
    ----------
    metadata : Metadata
        What is public about the table.
    target : str
        Numeric, with bounds.
    candidates : sequence of str, optional
        Columns that may be selected.
    epsilon : float
        In nats.
    delta : float
        0 leaves out what needs one.
    n_rows : int, optional
        A public guess, where the number is private.
    progress : callable, optional
        Told of the simulated tables.

    Returns
    -------
    method : Method
        Its parameters are checked.
    chosen : dict
        For the release: the selection's name, what it was compared with, and the overlap to expect.
    """
    home = importlib.import_module("discreet.planning.choice")  # loads scipy, which no other command waits for
    found = home.best_selection(metadata, target, candidates, epsilon, delta, n_rows, progress)
    chosen = {
        "by": "plan",
        "selection": found.rival.name,
        "among": found.n_rivals,
        "expected_overlap": round(found.overlap, 3),
        "expected_right": round(found.right, 3),
    }
    method: Method = found.rival.at(epsilon)
    return method, chosen
