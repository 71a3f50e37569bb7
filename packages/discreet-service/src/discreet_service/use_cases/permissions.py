"""What a principal may see."""

from sqlalchemy import Connection

from discreet import workflow
from discreet_service.access.roles import Principal, Role
from discreet_service.context import Context
from discreet_service.store import datasets, requests, users
from discreet_service.store.datasets import Dataset
from discreet_service.store.requests import Request


def projects_of(connection: Connection, who: Principal) -> list[str] | None:
    """Return the projects whose requests, releases and allotments somebody sees; None for all."""
    return None if who.sees_all else users.projects_of(connection, who.name)


def open_datasets(context: Context, who: Principal) -> list[Dataset]:
    """Return the newest version of each data set that somebody sees: analysts those allotted to their projects."""
    with context.database.read() as connection:
        newest, own = datasets.newest(connection), projects_of(connection, who)
    if own is None:
        return newest
    return [dataset for dataset in newest if who.role is Role.ANALYST and is_allotted(context, dataset.name, own)]


def open_dataset(context: Context, who: Principal, name: str) -> Dataset:
    """Return the newest version of a data set that somebody sees."""
    with context.database.read() as connection:
        own = projects_of(connection, who)
        dataset = datasets.find(connection, name)
    if own is not None and not is_allotted(context, name, own):
        raise datasets.not_found(name)
    return dataset


def open_allotments(context: Context, who: Principal, name: str) -> list[workflow.Allotment]:
    """Return the allotments that somebody sees of a data set that they see."""
    with context.database.read() as connection:
        own = projects_of(connection, who)
        datasets.check_registered(connection, name)
    seen = context.ledger.allotments(name, own)
    if own is not None and not seen:
        raise datasets.not_found(name)
    return seen


def open_request(context: Context, who: Principal, id_: str) -> Request:
    """Return a request that somebody sees: an analyst those of their projects."""
    with context.database.read() as connection:
        request, own = requests.find(connection, id_), projects_of(connection, who)
    if own is None or request.project in own:
        return request
    raise requests.not_found(id_)


def is_allotted(context: Context, dataset: str, projects: list[str]) -> bool:
    """Tell whether one of some projects has an allotment of a data set's cap, and so may ask it."""
    return bool(context.ledger.allotments(dataset, projects))
