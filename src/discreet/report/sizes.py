"""Best models by size in short texts; nothing is escaped here."""

from dataclasses import dataclass

from discreet.release import Release, SizeRecord
from discreet.report import request_facts
from discreet.report.estimates import MOST_DRAWN
from discreet.report.words import number, thousands


@dataclass(frozen=True)
class Size:
    """The best model of one size; `change` tells how it differs from the model before it."""

    size: str
    columns: tuple[str, ...]
    change: str
    criterion: str
    r_squared: str
    interval: str
    is_chosen: bool


def sizes(release: Release) -> tuple[Size, ...]:
    """Return the best models by size in short texts.

    Smallest first.
    """
    records = sorted(release.by_size, key=lambda record: record.size)
    return tuple(
        Size(
            size=str(record.size),
            columns=record.columns,
            change=change(records[at - 1] if at else None, record),
            criterion=thousands(number(record.criterion, 5)),
            r_squared=f"{record.r_squared:.3f}",
            interval=f"{record.r_squared_low:.3f} to {record.r_squared_high:.3f}",
            is_chosen=is_chosen(record, release),
        )
        for at, record in enumerate(records)
    )


def drawn_sizes(release: Release) -> list[SizeRecord]:
    """Return the models by size that a picture shows.

    The smallest ones, and the selected one.
    """
    records = sorted(release.by_size, key=lambda record: record.size)
    rest = [record for record in records[MOST_DRAWN:] if is_chosen(record, release)]
    return records[:MOST_DRAWN] + rest


def is_chosen(record: SizeRecord, release: Release) -> bool:
    """Tell whether the model of a size is the selected one.

    Columns that stand in every model are left aside.
    """
    forced = set(request_facts.forced(release))
    return set(record.columns) - forced == set(release.selected) - forced


def is_choice_proven(release: Release) -> bool:
    """Tell whether no model of any size has a smaller criterion than the selected one.

    Sizes whose search was not finished count by what no model of them can be below.
    """
    smallest = min((record.criterion for record in release.by_size), default=0.0)
    return all(record.least_criterion is None or record.least_criterion >= smallest for record in release.by_size)


def choice_gap(release: Release) -> float:
    """Return how much smaller than the selected model's another criterion could be; 0 where it is proven."""
    smallest = min((record.criterion for record in release.by_size), default=0.0)
    least = [record.least_criterion for record in release.by_size if record.least_criterion is not None]
    return max(smallest - min(least, default=smallest), 0.0)


def change(before: SizeRecord | None, record: SizeRecord) -> str:
    """Return how the best model of a size differs from that of the size before.

    Such as ``+ age \u2212 idp``; the model itself when it is the first.
    """
    if before is None:
        return ", ".join(record.columns) or "no column"
    added = [f"+ {name}" for name in record.columns if name not in before.columns]
    removed = [f"\u2212 {name}" for name in before.columns if name not in record.columns]
    return " ".join([*added, *removed]) or "the same columns"
