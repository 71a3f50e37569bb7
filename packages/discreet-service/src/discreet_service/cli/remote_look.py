"""What everybody looks at in a service: data sets, budgets, requests, releases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from discreet.cli.console import as_json, counted, number, result, say
from discreet.cli.forms import Form, Format, as_csv, form_of, is_for_programs
from discreet.cli.options import How, Quiet
from discreet.cli.report import FORMATS
from discreet.errors import InvalidParameterError
from discreet.files import writable, write_whole
from discreet_service.cli.remote_send import DatasetName, Id, Json, hand_over, service, state_in_words

if TYPE_CHECKING:
    from discreet_service.client import RemoteRequest


def datasets(json_: Json = False, format_: Format = None) -> None:
    """List the data sets that are open to you.

    \b
    Example:
      discreet remote datasets
    """
    with service() as remote:
        declared = remote.datasets()
    if is_for_programs("discreet/datasets@1", "datasets", declared, format_, json_):
        return
    if not declared:
        say("No data set is open to you. Ask a curator for an allotment to a project of yours.")
    for record in declared:
        columns = len(record["metadata"].get("columns") or ())
        unit = record["metadata"].get("unit", "")
        result(
            f"{record['name']:<24} version {record['version']}, {columns} columns, per {unit}, "
            f"slots of {record['slot_s']} s"
        )


def metadata(
    dataset: DatasetName,
    out: Annotated[Path | None, typer.Option(help="File to write. Default: standard output.")] = None,
) -> None:
    """Show what is public about a data set, as YAML: enough to plan on this machine.

    \b
    Example:
      discreet remote metadata rand-hie --out rand_hie.yaml
    """
    with service() as remote:
        answer = remote.metadata(dataset)
    if out is None:
        result(answer.to_yaml())
        return
    write_whole(out, answer.to_yaml())
    say(f"Metadata written to {out}. Plan with it: discreet plan --metadata {out}")


def budget(dataset: DatasetName, json_: Json = False, format_: Format = None) -> None:
    """Show what a data set may spend in its lifetime, and has spent.

    \b
    Example:
      discreet remote budget rand-hie
    """
    form = form_of(format_, json_)
    with service() as remote:
        account = remote.budget(dataset)
    if form is Form.CSV:
        as_csv([{"project": None, **part} for part in (account, *account.pop("allotments"))])
    else:
        show_budget(account, form is Form.JSON)


def show_budget(account: dict[str, Any], json_: bool) -> None:
    """Print a budget and its allotments."""
    if json_:
        as_json("discreet/budget@1", **account)
        return
    is_basic = account["accounting"] == "basic"
    sums = (
        (account["epsilon_spent"], account["epsilon_cap"]) if is_basic else (account["rho_spent"], account["rho_cap"])
    )
    bar = _bar(account["dataset"], *sums, "epsilon " if is_basic else "rho ")
    result(f"{bar}, {counted(account['n_releases'], 'release')}")
    for allotment in account["allotments"]:
        result(_bar(f"  {allotment['project']}", allotment["epsilon_spent"], allotment["epsilon_cap"], "epsilon "))


def requests(
    dataset: Annotated[str | None, typer.Option(help="Name of one data set. Default: all of them.")] = None,
    state: Annotated[
        str | None,
        typer.Option(
            help="State of the requests: waiting, approved, running, released, failed, rejected or "
            "withdrawn. Default: all of them."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(help="Most entries to list.", min=1)] = 50,
    json_: Json = False,
    format_: Format = None,
) -> None:
    """List the requests that are open to you, the newest first.

    \b
    Example:
      discreet remote requests --state waiting
    """
    with service() as remote:
        page = remote.requests(dataset=dataset, state=state, limit=limit)
    records = [request.model_dump(mode="json") for request in page]
    if is_for_programs("discreet/requests@1", "requests", records, format_, json_):
        return
    for request in page:
        subject = f"{request.content.get('method', '')} {request.content.get('target', '')}"
        cost = "free" if request.is_free else f"epsilon {number(request.epsilon)}"
        result(
            f"{request.id}  {request.created[:19]}  {request.state:<9} {request.by:<12} {request.dataset:<16} "
            f"{subject:<20} {cost}"
        )


def show(id_: Id, json_: Json = False) -> None:
    """Show a request: its exact text, its cost, where it stands.

    \b
    Example:
      discreet remote show jedgs42ckgossynx
    """
    with service() as remote:
        answer = remote.request(id_)
    if json_:
        as_json("discreet/request@1", **answer.model_dump(mode="json"))
    else:
        result(in_words(answer))


def in_words(request: "RemoteRequest") -> str:
    """Return a request for people: the exact text, and what an approval of it would spend."""
    delta = f", delta {number(request.delta)}" if request.delta else ""
    lines = [
        f"Request {request.id} by {request.by} for project {request.project}",
        f"  data set  {request.dataset}, version {request.version}",
        f"  cost      epsilon {number(request.epsilon)}{delta}"
        + (" (free: answered before)" if request.is_free else ""),
        f"  digest    {request.sha256}",
        f"  state     {request.state}. {state_in_words(request)}",
    ]
    if request.decision is not None:
        said = request.decision
        lines.append(f"  decision  {said.decision} by {said.by}" + (f": {said.comment}" if said.comment else ""))
    text = yaml.safe_dump(request.content, sort_keys=False, allow_unicode=False, width=100)
    return "\n".join([*lines, "  text:", *(f"    {line}" for line in text.splitlines())])


def release(
    id_: Id,
    out: Annotated[Path | None, typer.Option(help="File for the release (JSON).")] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not wait: end with code 7 if there is no outcome yet.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the release as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Wait for the release of a request, and show it.

    \b
    Example:
      discreet remote release jedgs42ckgossynx --out release.json
    """
    if out is not None:
        writable(out)
    how = How(None, None, None, out, False, False, form_of(None, json_), False, quiet)
    with service() as remote:
        hand_over(remote, remote.request(id_), how, wait=not no_wait)


def report(
    id_: Id,
    format_: Annotated[
        str | None, typer.Option("--format", help="Format of the report: html, pdf, markdown, text, json or csv.")
    ] = None,
    audience: Annotated[
        str,
        typer.Option(
            help="Reader of the report: board (those who decide), analyst (every detail) or participant "
            "(one page in plain words)."
        ),
    ] = "board",
    out: Annotated[Path | None, typer.Option(help="File for the report. Its ending tells the format.")] = None,
) -> None:
    """Explain the release of a request to an ethics board, an analyst or a participant.

    \b
    Example:
      discreet remote report jedgs42ckgossynx --out report.html
    """
    chosen: Any = format_ or (FORMATS.get(out.suffix.lower()) if out is not None else "text")
    if chosen is None:
        raise InvalidParameterError(f"The report needs a format: end --out in {', '.join(FORMATS)}.")
    if chosen == "pdf" and out is None:
        raise InvalidParameterError("A PDF needs a file: give --out FILE.pdf.")
    if out is not None:
        writable(out)
    with service() as remote:
        content = remote.report(id_, chosen, audience)  # type: ignore[arg-type]
    if out is None:
        result(str(content))
        return
    write_whole(out, content)
    say(f"Report written to {out}.")


def _bar(name: str, spent: float, cap: float, currency: str) -> str:
    filled = round(30 * spent / cap) if cap else 0
    bar = "#" * filled + "." * (30 - filled)
    return f"{name:<20} [{bar}] {currency}{number(spent)} of {number(cap)} spent, {number(max(0.0, cap - spent))} left"
