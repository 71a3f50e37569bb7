"""What titles and lists call a request's target."""

from collections.abc import Iterable

from discreet.errors import NotFoundError
from discreet.report.words import titled
from discreet_service.pages.visit import Visit
from discreet_service.store.requests import Request
from discreet_service.use_cases import permissions


def titled_target(visit: Visit, dataset: str, target: str) -> str:
    """Return what a title calls the target of a request: by its description, where that is declared and open."""
    try:
        columns = permissions.open_dataset(visit.context, visit.who, dataset).metadata.get("columns", {})
    except NotFoundError:  # no longer open to its analyst
        return titled(target, None)
    return titled(target, columns.get(target, {}).get("description"))


def titled_targets(visit: Visit, rows: Iterable[Request]) -> dict[str, str]:
    """Return what a list calls the target of each request, by the request's id."""
    ids = {row.id: (row.dataset, row.content["target"]) for row in rows}
    titles = {pair: titled_target(visit, *pair) for pair in set(ids.values())}
    return {id_: titles[pair] for id_, pair in ids.items()}
