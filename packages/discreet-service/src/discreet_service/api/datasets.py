"""Data sets, their budgets and their histories."""

from typing import Annotated

from fastapi import APIRouter, Request

from discreet_service.access.guard import GuardedRoute, allow, context_of
from discreet_service.access.roles import READERS, Principal, Role
from discreet_service.api.paging import Cursor, Limit, parse_cursor, split_page
from discreet_service.fields import Name
from discreet_service.schemas import AllotmentIn, BudgetOut, CapIn, DatasetIn, DatasetOut, EntryPage
from discreet_service.use_cases import datasets, permissions

router = APIRouter(route_class=GuardedRoute, tags=["data sets"])

Reader = Annotated[Principal, allow(*READERS)]
Curator = Annotated[Principal, allow(Role.CURATOR)]


@router.get("/datasets")
def list_datasets(request: Request, who: Reader) -> list[DatasetOut]:
    """List the data sets that are open to you: the newest version of each."""
    return [datasets.dataset_out(dataset, who) for dataset in permissions.open_datasets(context_of(request), who)]


@router.post("/datasets", status_code=201)
def register_dataset(request: Request, who: Curator, body: DatasetIn) -> DatasetOut:
    """Register a data set; its table is not opened. It can be asked once it has a cap and an allotment."""
    return datasets.register(context_of(request), who, body)


@router.get("/datasets/{name}")
def read_dataset(request: Request, who: Reader, name: Name) -> DatasetOut:
    """Read the metadata of a data set."""
    return datasets.dataset_out(permissions.open_dataset(context_of(request), who, name), who)


@router.post("/datasets/{name}/versions", status_code=201)
def add_version(request: Request, who: Curator, name: Name, body: DatasetIn) -> DatasetOut:
    """Register a further version of a data set: earlier ones stay, the budget is the same."""
    permissions.open_dataset(context_of(request), who, name)
    return datasets.register(context_of(request), who, body, name)


@router.get("/datasets/{name}/budget")
def read_budget(request: Request, who: Reader, name: Name) -> BudgetOut:
    """Read what a data set may spend in its lifetime, and has spent."""
    return datasets.budget(context_of(request), who, name)


@router.put("/datasets/{name}/budget")
def grant_budget(request: Request, who: Curator, name: Name, body: CapIn) -> BudgetOut:
    """Set the cap of a data set, for its lifetime."""
    return datasets.grant(context_of(request), who, name, body)


@router.put("/datasets/{name}/allotments/{project}")
def allot_budget(request: Request, who: Curator, name: Name, project: Name, body: AllotmentIn) -> BudgetOut:
    """Give a project an allotment of a data set's cap, and with it the right to ask."""
    return datasets.allot(context_of(request), who, name, project, body)


@router.get("/datasets/{name}/history")
def read_history(request: Request, who: Reader, name: Name, cursor: Cursor = None, limit: Limit = 50) -> EntryPage:
    """Read the ledger's entries of a data set, the newest first."""
    entries = datasets.history(context_of(request), who, name, parse_cursor(cursor), limit + 1)
    items, following = split_page(entries, [entry.seq for entry in entries], limit)
    return EntryPage(items=items, next=following)
