"""A selection whose method nobody names: the plan's choice, from public facts alone."""

import importlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.errors import DiscreetError, InvalidParameterError
from discreet.methods.base.method import Method, Progress
from discreet.parameters.public_moments import PublicMoments
from discreet.simulation.stated import named
from discreet.workflow.chance import chance_before, false_column_words
from discreet.workflow.dry_runs import dry_run

if TYPE_CHECKING:
    from discreet.simulation.choice import Choice

MOST_KNOWN = 256
_KNOWN: "dict[str, Choice]" = {}


def auto_method(
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    n_rows: int | None = None,
    progress: Progress | None = None,
    *,
    supposed: Mapping[str, Any] | None = None,
    private: Table | None = None,
    charged: bool = True,
    public_moments: PublicMoments | None = None,
) -> tuple[Method, dict[str, Any]]:
    """Return the method with its tuning, and how it was chosen.

    Returns (1) its parameters are checked; (2) for the release: the selection's name, what it was compared with, the
    overlap to expect, why it was chosen, and what was supposed.
    """
    exact_epsilon(epsilon)
    exact_delta(delta)
    if metadata.n_rows is None and n_rows is None:
        raise InvalidParameterError(
            "A plan must know a public number near that of the rows, but it is private here. Give n0 (--n0), such as "
            "1000."
        )
    stated = named(supposed)
    if stated.get("like") is not None:
        stated["like"] = _public(stated["like"], metadata, private, charged)
    question = (target, None if candidates is None else tuple(candidates), epsilon, delta, n_rows)
    choice = _choice(metadata, question, stated, progress, public_moments)
    method: Method = choice.rival.at(epsilon)
    chosen = {
        "by": "plan",
        "selection": choice.rival.name,
        "among": choice.n_rivals,
        "expected_overlap": round(choice.overlap, 3),
        "expected_right": round(choice.right, 3),
        "reason": choice.reason + _false_columns(method, metadata, target, candidates),
        **({"supposed": choice.supposed} if choice.supposed else {}),
    }
    return method, chosen


def _false_columns(method: Method, metadata: Metadata, target: str, candidates: Sequence[str] | None) -> str:
    """How often the chosen selection names a column where none matters, in words; of moments a release tells it."""
    with suppress(DiscreetError):
        if method.name != "moments":
            chance = chance_before(dry_run(method, metadata, target, candidates))
            words = false_column_words(None if chance is None else chance.chance_by_noise)
            return f"; {words}" if words else ""
    return ""


def _choice(
    metadata: Metadata,
    question: tuple[Any, ...],
    stated: dict[str, Any],
    progress: Progress | None,
    known: PublicMoments | None,
) -> "Choice":
    """The plan's choice; once for the same public facts, as long as the process lives."""
    home = importlib.import_module("discreet.simulation.choice")  # loads scipy, which no other command waits for
    records = stated.get("like")
    if records is not None and records.file_sha256 is None:  # whether a frame is the same nobody can tell
        choice: Choice = home.best_selection(metadata, *question, progress, stated, known)
        return choice
    named = {**stated, "like": records.file_sha256} if records is not None else stated
    key = repr((metadata.sha256, question, named, known))
    if key not in _KNOWN:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = home.best_selection(metadata, *question, progress, stated, known)
    return _KNOWN[key]


def _public(like: Any, metadata: Metadata, private: Table | None, charged: bool) -> PublicRecords:
    """The public table; nothing may be chosen by what was seen in the private one."""
    records = like if isinstance(like, PublicRecords) else PublicRecords(like, metadata)
    if private is not None:
        records.check_beside(private, charged)
    return records
