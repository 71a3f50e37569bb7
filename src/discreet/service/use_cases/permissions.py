"""What of the service somebody may see."""

from sqlalchemy import Connection

from discreet.service.access.roles import Principal, Role
from discreet.service.context import Context
from discreet.service.store import datasets, requests, users
from discreet.service.store.datasets import Dataset
from discreet.service.store.requests import Request


def projects_of(connection: Connection, who: Principal) -> list[str] | None:
    """Return the projects whose requests, releases and allotments somebody sees.

    Names; None for all there are.
    """
    return None if who.sees_all else users.projects_of(connection, who.name)


def open_datasets(context: Context, who: Principal) -> list[Dataset]:
    """Return the data sets that somebody sees: analysts those that a project of theirs is allotted a part of.

    The newest version of each, by name.
    """
    with context.database.read() as connection:
        found, own = datasets.newest(connection), projects_of(connection, who)
    if own is None:
        return found
    return [dataset for dataset in found if who.role is Role.ANALYST and allotted(context, dataset.name, own)]


def open_dataset(context: Context, who: Principal, name: str) -> Dataset:
    """Return the newest version of a data set that somebody sees.

    Its newest version.
    """
    with context.database.read() as connection:
        own = projects_of(connection, who)
        found = datasets.find(connection, name)
    if own is not None and not allotted(context, name, own):
        raise datasets.unknown(name)
    return found


def open_request(context: Context, who: Principal, id_: str) -> Request:
    """Return a request that somebody sees: an analyst those of their projects.

    As it stands.
    """
    with context.database.read() as connection:
        found, own = requests.find(connection, id_), projects_of(connection, who)
    if own is None or found.project in own:
        return found
    raise requests.unknown(id_)


def allotted(context: Context, dataset: str, projects: list[str]) -> bool:
    """Tell whether one of some projects may ask a data set.

    True when one is allotted a part of its cap.
    """
    return any(one.project in projects for one in context.ledger.allotments(dataset))
