"""Data sets: registered by curators, version by version; caps and allotments."""

from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import Connection

from discreet import workflow
from discreet.errors import ConflictError, InvalidParameterError, MetadataError
from discreet_service.access.roles import Principal, Role
from discreet_service.context import Context
from discreet_service.schemas import (
    AllotmentIn,
    AllotmentOut,
    BudgetOut,
    CapIn,
    DatasetIn,
    DatasetOut,
    EntryOut,
    Source,
)
from discreet_service.store import audit, datasets, users
from discreet_service.store.datasets import Dataset
from discreet_service.store.names import fold_name, lock_table
from discreet_service.store.schema import datasets as dataset_rows
from discreet_service.use_cases import permissions
from discreet_service.use_cases.identity import Identity, tables_at
from discreet_service.use_cases.priced_requests import check_private, private_source, resolve_path


def dataset_out(dataset: Dataset, who: Principal) -> DatasetOut:
    """Return a data set for the API; where its table lies is for curators."""
    values = {name: value for name, value in vars(dataset).items() if name != "source"}
    source = Source.model_validate(dataset.source) if who.role is Role.CURATOR else None
    return DatasetOut(source=source, **values)


def register(context: Context, who: Principal, body: DatasetIn, name: str | None = None) -> DatasetOut:
    """Register a data set, or a further version of it; no private table is opened."""
    metadata = workflow.Metadata.from_value(body.metadata)
    if name is not None and metadata.dataset != name:
        raise MetadataError(
            f"The metadata must be those of the data set, but they name {metadata.dataset!r}, not {name!r}. "
            "Register it as a data set of its own."
        )
    source = body.source.model_dump(mode="json")
    _check_source(context, metadata, source)
    source = {kind: _plain(context, place) for kind, place in source.items()}
    slot_s = body.slot_s or context.settings.slot_s
    with context.database.read() as connection:  # files may be slow to look at: not while others wait to write
        registered = {dataset.locator: _tables_of(context, dataset) for dataset in datasets.tables_taken(connection)}
    with context.database.write() as connection:
        lock_table(connection, dataset_rows)
        _check_name(connection, metadata.dataset)
        _check_tables(context, connection, metadata.dataset, source, registered)
        added = datasets.add(
            connection, metadata.dataset, metadata.to_dict(), metadata.sha256, source, slot_s, who.name
        )
        facts = {"version": added.version, "metadata_sha256": added.metadata_sha256}
        audit.record(connection, who.name, "register", added.name, **facts)
    return dataset_out(added, who)


def _check_source(context: Context, metadata: workflow.Metadata, source: dict[str, Any]) -> None:
    for name in ("data", "targets"):
        if source[name] is not None:
            check_private(context.settings.private, source[name])
    public = source["public"]
    if public is not None:
        records = workflow.open_public(resolve_path(context.settings.public, public), metadata, public["table"])
        records.check_types()
    elif metadata.public is not None:
        raise InvalidParameterError(
            "A public table that the metadata declare must be registered with the data set, but source.public is "
            "empty. Name its folder and path."
        )


def _plain(context: Context, place: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a place in one spelling, so that the same question has the same digest in a further version."""
    if place is None or isinstance(context.settings.private.get(place["root"]), str):
        return place
    return {**place, "path": str(PurePosixPath(place["path"]))}


def _tables_of(context: Context, dataset: Dataset) -> list[Identity]:
    return tables_at(context.settings.private, dataset.source)


def _check_name(connection: Connection, name: str) -> None:
    names = {dataset.name for dataset in datasets.newest(connection)}
    similar = [other for other in sorted(names) if fold_name(other) == fold_name(name)]
    if similar and name not in similar:
        raise ConflictError(
            f"The names of data sets must differ by more than case, but {name!r} is like {similar[0]!r}. Choose "
            "another, or register a further version of that one."
        )


def _check_tables(
    context: Context, connection: Connection, name: str, source: dict[str, Any], registered: dict[str, list[Identity]]
) -> None:
    """Refuse a second data set for one table, however it is spelled: each has a lifetime budget of its own."""
    own = tables_at(context.settings.private, source)
    for other in datasets.tables_taken(connection):
        other_tables = registered.get(other.locator) or _tables_of(context, other)
        if other.name != name and any(table.shares(other_table) for table in own for other_table in other_tables):
            raise ConflictError(
                f"One table must have one budget, so one name, but this one, or a part of it, is registered as "
                f"{other.name!r}. Register a further version of that one."
            )
    for kind in ("data", "targets"):
        if source[kind] is not None:
            private_source(context.settings.private, source[kind])


def grant(context: Context, who: Principal, name: str, cap: CapIn) -> BudgetOut:
    """Set a data set's cap, for its lifetime."""
    dataset = permissions.open_dataset(context, who, name)
    metadata = workflow.Metadata.from_value(dataset.metadata)
    context.ledger.grant(
        name,
        cap.epsilon,
        cap.delta,
        unit=metadata.unit,
        neighboring=metadata.neighboring,
        accounting=cap.accounting,
    )
    with context.database.write() as connection:
        audit.record(connection, who.name, "grant", name, epsilon=cap.epsilon, delta=cap.delta)
    return budget(context, who, name)


def allot(context: Context, who: Principal, name: str, project: str, part: AllotmentIn) -> BudgetOut:
    """Give a project an allotment of a data set's cap, and with it the right to ask."""
    permissions.open_dataset(context, who, name)
    with context.database.read() as connection:
        users.members_of(connection, project)
    context.ledger.allot(name, project, part.epsilon, part.delta)
    with context.database.write() as connection:
        audit.record(connection, who.name, "allot", name, project=project, epsilon=part.epsilon, delta=part.delta)
    return budget(context, who, name)


def budget(context: Context, who: Principal, name: str) -> BudgetOut:
    """Return what a data set may spend and has spent; analysts see the allotments of their projects alone."""
    allotments = permissions.open_allotments(context, who, name)
    account = context.ledger.account(name)
    values = {field: getattr(account, field) for field in BudgetOut.model_fields if field != "allotments"}
    values |= {field: float(value) for field, value in values.items() if field.startswith(("epsilon", "delta", "rho"))}
    return BudgetOut(**values, allotments=[_allotment(allotment) for allotment in allotments])


def _allotment(allotment: Any) -> AllotmentOut:
    amounts = {name: float(getattr(allotment, name)) for name in AllotmentOut.model_fields if name != "project"}
    return AllotmentOut(project=allotment.project, **amounts)


def history(context: Context, who: Principal, name: str, before: int | None = None, limit: int = 50) -> list[EntryOut]:
    """Return the ledger's entries of a data set, the newest first; `facts` are for those who see all.

    Whatever depends on rows was recorded at the end of a slot, so that times tell nothing.
    """
    permissions.open_dataset(context, who, name)
    entries = [entry for entry in reversed(context.ledger.history(name)) if before is None or entry.seq < before]
    return [_entry(entry, who) for entry in entries[:limit]]


def _entry(entry: workflow.Entry, who: Principal) -> EntryOut:
    return EntryOut(
        **{name: getattr(entry, name) for name in ("seq", "time", "kind", "dataset", "reservation", "state", "hash")},
        project=entry.project if who.sees_all else None,
        epsilon=float(entry.epsilon),
        delta=float(entry.delta),
        rho=None if entry.rho is None else float(entry.rho),
        facts=entry.facts if who.sees_all else None,
    )
