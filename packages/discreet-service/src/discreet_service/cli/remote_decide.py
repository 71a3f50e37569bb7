"""What curators do at a service: decide on requests, register data sets, give budgets."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import as_json, confirmed, interactive, number, result, say
from discreet.cli.forms import Form, Format, as_csv, form_of
from discreet.cli.options import names
from discreet_service.cli.remote_look import in_words, show_budget
from discreet_service.cli.remote_send import DatasetName, Id, Json, Yes, service

if TYPE_CHECKING:
    from discreet_service.client import RemoteRequest

Comment = Annotated[str, typer.Option(help="Reason, for the person who asked.")]
Place = "ROOT/PATH, where ROOT is a folder that the service file names."


def approve(id_: Id, comment: Comment = "", yes: Yes = False, json_: Json = False) -> None:
    """Approve the exact text of a request: its cost is reserved, and it is queued.

    \b
    Example:
      discreet remote approve jedgs42ckgossynx --comment "as discussed"
    """
    with service() as remote:
        read = remote.request(id_)
        _look(read, "This will spend its cost and cannot be undone.", yes)
        _decided(remote.approve(id_, comment, sha256=read.sha256), json_)


def reject(id_: Id, comment: Comment = "", yes: Yes = False, json_: Json = False) -> None:
    """Reject a request; nothing is charged.

    \b
    Example:
      discreet remote reject jedgs42ckgossynx --comment "ask for less"
    """
    with service() as remote:
        read = remote.request(id_)
        _look(read, "This rejects it.", yes)
        _decided(remote.reject(id_, comment, sha256=read.sha256), json_)


def withdraw(id_: Id, json_: Json = False) -> None:
    """Take back a request of yours that does not run yet; nothing stays charged.

    \b
    Example:
      discreet remote withdraw jedgs42ckgossynx
    """
    with service() as remote:
        _decided(remote.withdraw(id_), json_)


def register(
    metadata: Annotated[
        Path, typer.Option(help="Metadata file, which states what is public about the table (YAML or JSON).")
    ],
    data: Annotated[str, typer.Option(help=f"Place of the table at the service: {Place}")],
    table: Annotated[str | None, typer.Option(help="Name of the table in a database file.")] = None,
    targets: Annotated[
        str | None,
        typer.Option(
            help="For a table with one value in each row: the file with one row for each person, which "
            "holds the target."
        ),
    ] = None,
    public: Annotated[str | None, typer.Option(help="Place of the public table that the metadata declare.")] = None,
    slot: Annotated[
        int | None, typer.Option(help="Length of a request's slot, in seconds. Default: that of the service.")
    ] = None,
    version_of: Annotated[
        str | None, typer.Option(help="Data set of which this is a further version. Both share its budget.")
    ] = None,
    json_: Json = False,
) -> None:
    """Register a data set; no table is opened.

    \b
    Example:
      discreet remote register --metadata rand_hie.yaml \\
        --data tables/rand_hie.parquet
    """
    with service() as remote:
        registered = remote.register(
            metadata, data, table=table, targets=targets, public=public, slot_s=slot, version_of=version_of
        )
    if json_:
        as_json("discreet/dataset@1", **registered)
        return
    result(f"{registered['name']} is registered as version {registered['version']}.")
    if registered["version"] == 1:
        say(f"It can be asked once it has a cap: discreet remote grant {registered['name']} --epsilon E")


def grant(
    dataset: DatasetName,
    epsilon: Annotated[float, typer.Option(help="Most epsilon that may be spent in the data set's lifetime.")],
    delta: Annotated[
        float | None,
        typer.Option(
            help="Most delta that may be spent in the data set's lifetime. Default: unchanged; 0 for a new cap."
        ),
    ] = None,
    accounting: Annotated[
        str | None, typer.Option(help="How costs add up: basic (epsilon and delta) or zcdp (rho). Default: unchanged.")
    ] = None,
    yes: Yes = False,
    json_: Json = False,
) -> None:
    """Set what a data set may spend in its lifetime.

    \b
    Example:
      discreet remote grant rand-hie --epsilon 4 --delta 1e-5
    """
    with service() as remote:
        _look_before(remote.account(dataset), f"cap of {dataset}", yes)
        show_budget(remote.grant(dataset, epsilon, delta, accounting), json_)


def allot(
    dataset: DatasetName,
    project: Annotated[str, typer.Argument(help="Name of the project.")],
    epsilon: Annotated[float, typer.Option(help="Most epsilon that the project may spend.")],
    delta: Annotated[
        float | None,
        typer.Option(help="Most delta that the project may spend. Default: unchanged; 0 for a new allotment."),
    ] = None,
    yes: Yes = False,
    json_: Json = False,
) -> None:
    """Give a project an allotment of a data set's cap, and with it the right to ask.

    \b
    Example:
      discreet remote allot rand-hie visits-study --epsilon 2 --delta 1e-6
    """
    with service() as remote:
        _look_before(remote.allotment(dataset, project), f"allotment of {project}", yes)
        show_budget(remote.allot(dataset, project, epsilon, delta), json_)


def members(
    project: Annotated[str | None, typer.Argument(help="Name of the project. Default: list all projects.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="All members from now on: NAME,NAME. A project that does not exist is made."),
    ] = None,
    json_: Json = False,
    format_: Format = None,
) -> None:
    """Show who belongs to projects, or say who does from now on.

    \b
    Example:
      discreet remote members visits-study --set ada,bo
    """
    form = form_of(format_, json_)
    with service() as remote:
        if project is not None and set_:
            remote.members(project, names(set_) or ())
        members_by_project = remote.projects()
    shown = {name: people for name, people in members_by_project.items() if project in (None, name)}
    if form is Form.CSV:
        as_csv([{"project": name, "member": member} for name, people in shown.items() for member in people])
        return
    if form is Form.JSON:
        as_json("discreet/projects@1", projects=shown)
        return
    for name, people in shown.items():
        result(f"{name:<24} {', '.join(people)}")


def _look_before(before: dict[str, Any] | None, called: str, yes: bool) -> None:
    """Show the cap that a new one replaces, and ask."""
    if before is not None and not yes and interactive():
        amounts = f"epsilon {number(before['epsilon_cap'])} and delta {number(before['delta_cap'])}"
        say(f"The {called} is {amounts}. A new one is a decision about the same people.")
        confirmed()


def _look(request: "RemoteRequest", warning: str, yes: bool) -> None:
    """Show what is decided on, and ask."""
    if yes or not interactive():
        return
    say(in_words(request))
    say(warning)
    confirmed()


def _decided(request: "RemoteRequest", json_: bool) -> None:
    if json_:
        as_json("discreet/request@1", **request.model_dump(mode="json"))
    else:
        result(f"Request {request.id} is {request.state}.")


COMMANDS: tuple[Callable[..., None], ...] = (approve, reject, withdraw, register, grant, allot, members)
