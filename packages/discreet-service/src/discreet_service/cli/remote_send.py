"""What every remote command that asks does alike: price, ask, send, wait, hand over the release."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from discreet.cli.console import as_json, confirmed, interactive, number, result, say
from discreet.cli.dry_run_text import WEAK, cost, show_dry_run
from discreet.cli.forms import form_of
from discreet.cli.options import How
from discreet.cli.request_options import Asked
from discreet.cli.spend import deliver
from discreet.digits import plain
from discreet.errors import InvalidParameterError, ServiceError, WaitingError
from discreet.files import writable
from discreet.report.chances import is_weak

if TYPE_CHECKING:
    from discreet_service.client import Remote, RemoteRequest

WAITING = 7
"""Exit code: there is no outcome yet."""

DatasetName = Annotated[str, typer.Argument(metavar="DATASET", help="Name of the data set at the service.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Identifier of the request.")]


@dataclass(frozen=True)
class Sending:
    """The options that every remote command that asks has."""

    project: str | None
    purpose: str
    no_wait: bool
    how: How


def sending(
    project: Annotated[
        str | None, typer.Option(help="Project that pays. Default: your project, if you have one alone.")
    ] = None,
    purpose: Annotated[
        str, typer.Option(help="Purpose of the request, in a sentence for the curator. It is required to ask.")
    ] = "",
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not wait: end with code 7 if there is no outcome yet.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="File for the release (JSON).")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the cost and the noise alone: nothing is asked.")
    ] = False,
    json_: Annotated[
        bool, typer.Option("--json", help="Print the release, the dry run or the request as JSON.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before sending.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the result alone, without words and progress.")
    ] = False,
) -> Sending:
    """How a request is sent."""
    if out is not None:
        writable(out)
    return Sending(
        project, purpose, no_wait, How(None, None, None, out, False, dry_run, form_of(None, json_), yes, quiet)
    )


@contextmanager
def service() -> Iterator["Remote"]:
    """Open the service that one is logged in to; httpx2 is loaded now."""
    with importlib.import_module("discreet_service.client.remote").Remote() as remote:
        yield remote


def send(remote: "Remote", dataset: str, options: Asked, sent: Sending, chosen: dict[str, Any] | None = None) -> None:
    """Show what a request would cost, or make it and wait for its release."""
    question: dict[str, Any] = {
        **options.parameters,
        "target": options.target,
        "method": options.method,
        "candidates": options.candidates,
    }
    if sent.how.dry_run:
        show_dry_run(remote.plan(dataset, **question), sent.how.json)
        return
    if not sent.purpose.strip():
        remote.plan(dataset, **question)  # what is wrong with the question itself is told first
        requests = importlib.import_module("discreet_service.client.requests")
        raise InvalidParameterError(f'{requests.NO_PURPOSE} Add --purpose "what the answer is for".')
    if interactive() and not sent.how.yes:
        _ask(remote, dataset, remote.plan(dataset, **question), sent.project)
    try:
        request = remote.ask(dataset, project=sent.project, purpose=sent.purpose, chosen=chosen, **question)
    except KeyboardInterrupt:
        say("Interrupted while sending. `discreet remote requests` shows whether it arrived. Nothing is charged.")
        raise typer.Exit(WAITING) from None
    if request.is_free:
        say(
            "The same question had been answered before: this is that release, and nothing was charged.", sent.how.quiet
        )
    else:
        say(
            f"Request {request.id} was sent. It costs epsilon {number(request.epsilon)} of {dataset} once a curator "
            "approves it.",
            sent.how.quiet,
        )
    hand_over(remote, request, sent.how, wait=not sent.no_wait)


def hand_over(remote: "Remote", request: "RemoteRequest", how: How, *, wait: bool) -> None:
    """Wait for a request's outcome, and print and write its release; without one, say how to go on."""
    try:
        with _looking(how.quiet) as show_progress:
            release = remote.wait(request.id, None if wait else 0.0, progress=show_progress)
    except (KeyboardInterrupt, WaitingError):
        _go_on(remote, request.id, how)
        raise typer.Exit(WAITING) from None
    except ServiceError as error:
        raise ServiceError(f"{error} The request stands: discreet remote release {request.id}") from None
    deliver(release, how)


def _ask(remote: "Remote", dataset: str, record: dict[str, Any], project: str | None) -> None:
    budget = remote.budget(dataset)
    parts = [allotment for allotment in budget["allotments"] if project is None or allotment["project"] == project]
    part = parts[0] if len(parts) == 1 else None
    left = f"the {number(budget['epsilon_left'])} left for {dataset}"
    if budget["accounting"] != "basic":
        left = f"what is left of rho {plain(budget['rho_cap'], 3)} for {dataset}"
    elif part is not None:
        left = f"the {number(part['epsilon_left'])} left to project {part['project']} for {dataset}"
    say(f"Once a curator approves it, this will spend {cost(record)}, of {left}, and cannot be undone.")
    if record["cost"] is not None and is_weak(record["cost"]["epsilon"]):
        say(f"Warning: {WEAK}")
    confirmed()


def _go_on(remote: "Remote", id_: str, how: How) -> None:
    """Nothing is lost: the request stands at the service."""
    request = remote.request(id_)
    out = f" --out {how.out}" if how.out is not None else ""
    if how.json:
        as_json("discreet/request@1", **request.model_dump(mode="json"))
    else:
        result(id_)
    say(f"{state_in_words(request)} Nothing is lost; go on with: discreet remote release {id_}{out}", how.quiet)


def state_in_words(request: "RemoteRequest") -> str:
    """Return what a request waits for, or how it ended."""
    clock = (request.slot_end or "")[11:19]
    return {
        "waiting": "It waits for a curator's decision.",
        "approved": "It is approved and waits for its turn.",
        "running": f"It runs: its outcome is recorded at {clock} UTC, whatever it is.",
        "released": "It is released.",
        "failed": f"It failed: {request.code}.",
        "rejected": "It was rejected.",
        "withdrawn": "It was withdrawn.",
    }.get(request.state, f"It is {request.state}.")


@contextmanager
def _looking(quiet: bool) -> Iterator[Callable[["RemoteRequest"], None] | None]:
    """Show what a request waits for, on a terminal alone."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with Console(stderr=True).status("Asked.") as status:
        yield lambda request: status.update(f"{state_in_words(request)} Ctrl-C leaves it to the service.")
