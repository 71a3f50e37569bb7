"""``discreet remote``: ask a service that holds the table."""

import getpass
import importlib
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import result, say
from discreet.errors import InvalidParameterError
from discreet.files import read_text
from discreet_service.cli import remote_ask, remote_decide, remote_keep, remote_look

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Ask a service that holds the table: log in, plan, ask, approve, read.",
)


@app.command()
def login(
    url: Annotated[str, typer.Argument(help="Address of the service: https://...")],
    key_file: Annotated[
        Path | None, typer.Option(help="File that holds the key, so that it need not be typed.")
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure",
            help="Accept HTTP to another machine. Others on the network can then read the key and the releases.",
        ),
    ] = False,
) -> None:
    """Keep a service's address and your key, for the other commands.

    The key comes from --key-file, from the environment variable DISCREET_KEY, or is asked for and not shown.

    \b
    Example:
      discreet remote login https://statistics.example.org
    """
    client = importlib.import_module("discreet_service.client.remote")  # loads httpx2, which no other command waits for
    logins = importlib.import_module("discreet_service.client.login_store")
    address = importlib.import_module("discreet_service.client.address")
    place = address.checked_url(url, insecure=insecure)
    key = address.checked_key(_key(key_file, logins.KEY_ENVIRONMENT))
    with client.Remote(place, key, insecure=insecure) as remote:
        who = remote.me()
    path = logins.save(logins.Login(place, key, insecure))
    result(f"You are {who['name']} ({who['role']}) at {place}.")
    say(f"Address and key are kept in {path}, which nobody else may read. `discreet remote logout` forgets them.")


@app.command()
def logout() -> None:
    """Forget address and key on this machine; the key stays valid until it is revoked.

    \b
    Example:
      discreet remote logout
    """
    was = importlib.import_module("discreet_service.client.login_store").forget()
    say("Address and key are forgotten." if was else "No login was kept.")


def _key(file: Path | None, environment: str) -> str:
    if file is not None:
        return read_text(file, "key")
    if os.environ.get(environment):
        return os.environ[environment]
    if sys.stdin.isatty():
        return getpass.getpass("Key: ")
    raise InvalidParameterError(f"A key is needed: give --key-file FILE, or set {environment}.")


_LOOKS = (remote_look.datasets, remote_look.metadata, remote_look.budget)
_READS = (remote_look.requests, remote_look.show, remote_look.release, remote_look.report)
_CHECKS = (remote_keep.audit, remote_keep.verify)


def _add(commands: Iterable[Callable[..., None]]) -> None:
    for command in commands:
        app.command()(command)


_add(_LOOKS)
app.command(epilog=remote_ask.PLAN_EXAMPLE)(remote_ask.plan)
app.command(epilog=remote_ask.SELECT_EXAMPLE)(remote_ask.select)
app.command(epilog=remote_ask.FIT_EXAMPLE)(remote_ask.fit)
app.command(epilog=remote_ask.HYBRID_EXAMPLE)(remote_ask.hybrid)
app.command(epilog=remote_ask.RUN_EXAMPLE)(remote_ask.run)
_add(_READS)
_add(remote_decide.COMMANDS)
app.add_typer(remote_keep.users, name="users")
app.add_typer(remote_keep.keys, name="keys")
_add(_CHECKS)
