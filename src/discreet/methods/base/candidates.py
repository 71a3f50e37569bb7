"""The candidates of a request, of which there may be millions: their names, and their record in a release."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, overload

from typing_extensions import override

from discreet.data.derived_columns import columns_read as sources_of
from discreet.data.engine import Table
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn
from discreet.data.metadata_problems import did_you_mean
from discreet.data.score_design import ScoreDesign
from discreet.errors import InvalidParameterError
from discreet.methods.base.method import Progress
from discreet.methods.base.private_bounds import SOURCE
from discreet.release import PublicColumn

MOST_LISTED = 1000
"""Up to so many names stand in a release; of more, their number and digest."""

CHUNK = 2**16


class Unnamed(Sequence[str]):
    """Candidates of which the metadata declare the number and a pattern, for a plan without the table.

    `own` are those that have names; `count` others are called by `pattern`.
    """

    def __init__(self, own: Sequence[str], pattern: str, count: int) -> None:
        self._own, self._pattern, self._numbers = own, pattern, range(count)

    @override
    def __len__(self) -> int:
        return len(self._own) + len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    @override
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        return self._own[at] if at < len(self._own) else self._named(self._numbers[at - len(self._own)])

    def _named(self, number: int) -> str:
        return self._pattern.replace("*", f"#{number}", 1).replace("*", "")


def features_of(metadata: Metadata, target: str, candidates: Sequence[str] | None) -> Sequence[str]:
    """Return the columns that may be selected, from the request and the metadata alone.

    The named ones, else all declared ones but the target; not copied.
    """
    if candidates is not None:
        return candidates
    features = metadata.features
    if features is None:
        return tuple(name for name in metadata.columns if name != target)
    numbers = tuple(name for name in metadata.columns if name != target and metadata.is_number(name))
    listed = features.listed()
    if listed is not None and (features.names is not None or metadata.layout is not None):
        return listed if metadata.layout is not None or not numbers else (*numbers, *listed)
    if features.count is not None:
        unnamed = Unnamed(numbers, features.match, features.count)
        if features.holds(unnamed[-1], is_long=False):
            return unnamed
    raise InvalidParameterError(
        "The number of the features must be public for a plan without the table. Declare features.count, or name the "
        "columns with --candidates."
    )


def check_units(candidates: Sequence[str], forced: Sequence[str], groups: Sequence[Sequence[str]]) -> None:
    """Refuse forced columns and groups that are not candidates, or that repeat."""
    grouped = [name for group in groups for name in group]
    listed = set(candidates) if forced or grouped else set()
    for field, names in (("forced", forced), ("groups", grouped)):
        unknown = [name for name in names if name not in listed]
        if unknown or len(set(names)) < len(names):
            problem = f"{unknown[0][:60]!r} is not one" if unknown else "a name repeats"
            meant = did_you_mean(unknown[0], candidates) if unknown else ""
            raise InvalidParameterError(
                f"{field} must name candidates, each once, but {problem}. {meant}Name only candidates."
            )
    if set(grouped) & set(forced):
        raise InvalidParameterError("A forced column cannot be in a group. Force the whole group, or drop it.")


def features_in(table: Table, target: str) -> Sequence[str]:
    """Return the numeric columns of a wide table that may be selected, where the request names none."""
    features, metadata = table.feature_names(target), table.metadata
    if all(metadata.is_number(name) for name in metadata.columns if name != target):
        return features
    return [name for name in features if metadata.is_number(name)]


def columns_read(design: ScoreDesign) -> Sequence[str]:
    """Return candidates and target as a table's header has them; of numbered features the first and the last."""
    features = design.features
    if design.metadata.layout is not None and len(features) > MOST_LISTED:
        return (features[0], features[-1], *sources_of(design.metadata.derived, (design.target,)))
    return design.columns


def columns_progress(progress: Progress | None, n_features: int) -> Callable[[int], None] | None:
    """Return the progress callback of an engine over columns, whose number is public."""
    return None if progress is None else lambda count: progress("Scoring columns", count, n_features)


def candidates_record(names: Sequence[str]) -> Any:
    """Return the names of a request's candidates, or their ``count`` and the ``sha256`` of their list as compact JSON.

    Examples
    --------
    >>> candidates_record(("a", "b"))
    ['a', 'b']
    >>> sorted(candidates_record([str(i) for i in range(2000)]))
    ['count', 'sha256']
    """
    if isinstance(names, Unnamed):
        return {"count": len(names)}
    if len(names) <= MOST_LISTED:
        return list(names)
    digest = hashlib.sha256(b"[")
    for first, part in _chunks(names):
        digest.update(b"" if first else b",")
        digest.update(json.dumps(part, separators=(",", ":"), ensure_ascii=False)[1:-1].encode())
    digest.update(b"]")
    return {"count": len(names), "sha256": digest.hexdigest()}


def _chunks(names: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
    remaining, first = iter(names), True
    while part := list(islice(remaining, CHUNK)):
        yield first, part
        first = False


def public_candidates(
    metadata: Metadata, target: str, names: Sequence[str], others: Mapping[str, str] | None = None
) -> tuple[PublicColumn, ...]:
    """Return what is declared of the candidates, the target, others by role, and the unit's column; many candidates are
    grouped.
    """
    entries = [_public(metadata, name, name, "candidate") for name in names] if len(names) <= MOST_LISTED else []
    if not entries:
        entries = list(_families(metadata, names))
    entries.append(_public(metadata, target, target, "target"))
    entries += [_public(metadata, name, name, role) for role, name in (others or {}).items()]
    used = (*names, target, *(others or {}).values()) if len(names) <= MOST_LISTED else ()
    entries += [_public(metadata, name, name, "source") for name in _sources(metadata, used, entries)]
    if metadata.unit_id is not None:
        source = f"at most {metadata.rows_per_unit} rows of one {metadata.unit} are used"
        entries.append(PublicColumn(name=metadata.unit_id, role="unit_id", type="identifier", source=source))
    return tuple(entries)


def _sources(metadata: Metadata, names: Sequence[str], entries: Sequence[PublicColumn]) -> list[str]:
    """Columns that derived ones are made of, and that have no entry of their own."""
    listed = {entry.name for entry in entries}
    return [name for name in sources_of(metadata.derived, names) if name not in listed] if metadata.derived else []


def _families(metadata: Metadata, names: Sequence[str]) -> Iterator[PublicColumn]:
    """One entry for all listed columns with the same bounds and source, and one for the features."""
    counts: dict[PublicColumn, int] = {}
    listed = _own_candidates(names, metadata.columns)
    for name in metadata.columns:
        if name in listed:
            entry = _public(metadata, name, "", "candidate").model_copy(update={"description": None})
            counts[entry] = counts.get(entry, 0) + 1
    for entry, count in sorted(counts.items(), key=lambda pair: -pair[1])[:MOST_LISTED]:
        yield entry.model_copy(update={"name": f"{count:,} columns"})
    if metadata.features is not None and len(names) > len(listed):
        yield _public_of(metadata.features, f"{len(names) - len(listed):,} features", "candidate")


def _own_candidates(names: Sequence[str], columns: Collection[str]) -> set[str]:
    """Listed columns that are candidates; many candidates are looked through once."""
    if len(columns) < 10:
        return {name for name in columns if name in names}
    return set(columns).intersection(names)


def _public(metadata: Metadata, name: str, shown: str, role: Any) -> PublicColumn:
    column = metadata.column(name)
    if column is None:
        return PublicColumn(name=shown, role=role, type="undeclared", source="not stated")
    entry = _public_of(column, shown, role)
    return entry.model_copy(update={"source": SOURCE}) if metadata.buys_bounds(name) else entry


def _public_of(column: NumericColumn | CategoryColumn, shown: str, role: Any) -> PublicColumn:
    return PublicColumn(
        name=shown,
        role=role,
        type=column.type,
        lower=column.lower if isinstance(column, NumericColumn) else None,
        upper=column.upper if isinstance(column, NumericColumn) else None,
        levels=column.levels if isinstance(column, CategoryColumn) else None,
        source=_source(column),
        description=column.description,
        derived=getattr(column, "derived", None),
    )


def _source(column: NumericColumn | CategoryColumn) -> str:
    derived = getattr(column, "derived", None)
    if derived is None:
        return column.source or "not stated"
    return f"derived: {derived}" + (f"; {column.source}" if column.source else "")
