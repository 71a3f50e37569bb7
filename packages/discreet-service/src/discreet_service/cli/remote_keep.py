"""What admins and auditors do at a service: accounts, keys, audit, verification."""

from typing import Annotated, Any

import typer

from discreet.cli.console import as_json, counted, result, say
from discreet.cli.forms import Format, is_for_programs
from discreet_service.cli.remote_send import Json, service

users = typer.Typer(no_args_is_help=True, help="Accounts, for admins.")
keys = typer.Typer(no_args_is_help=True, help="Your keys; an admin's are everybody's.")

Name = Annotated[str, typer.Argument(help="Name of the account.")]
Role = "analyst, curator, auditor or admin."


@users.command("list")
def list_users(json_: Json = False, format_: Format = None) -> None:
    """List all accounts.

    \b
    Example:
      discreet remote users list
    """
    with service() as remote:
        answer = remote.users()
    if is_for_programs("discreet/users@1", "users", answer, format_, json_):
        return
    for entry in answer:
        result(f"{entry['name']:<24} {entry['role']:<8} {'disabled' if entry['disabled'] else '':<8} {entry['shown']}")


@users.command("add")
def add_user(
    name: Name,
    role: Annotated[str, typer.Option(help=f"Role of the account: {Role}")],
    shown: Annotated[str, typer.Option(help="Name of the person.")] = "",
    subject: Annotated[
        str | None, typer.Option(help="Name of the person in single sign-on. The account then has no password.")
    ] = None,
    json_: Json = False,
) -> None:
    """Make an account; its password is shown this once.

    \b
    Example:
      discreet remote users add ada --role analyst --shown "Ada L."
    """
    with service() as remote:
        created = remote.add_user(name, role, shown=shown, subject=subject)
    _account(created, json_)
    if created.get("password") and not json_:
        say("Hand the password over in person; it is not shown again.")


@users.command("change")
def change_user(
    name: Name,
    role: Annotated[str | None, typer.Option(help=f"Role of the account: {Role}")] = None,
    disabled: Annotated[
        bool | None, typer.Option("--disable/--enable", help="Forbid the account to sign in, or allow it again.")
    ] = None,
    json_: Json = False,
) -> None:
    """Change an account: its sessions end; a disabled one loses its keys.

    \b
    Example:
      discreet remote users change ada --disable
    """
    with service() as remote:
        _account(remote.change_user(name, role=role, disabled=disabled), json_)


@keys.command("list")
def list_keys(json_: Json = False, format_: Format = None) -> None:
    """List keys without the keys themselves.

    \b
    Example:
      discreet remote keys list
    """
    with service() as remote:
        answer = remote.keys()
    if is_for_programs("discreet/keys@1", "keys", answer, format_, json_):
        return
    for entry in answer:
        until = f"revoked {entry['revoked'][:10]}" if entry["revoked"] else f"until {entry['expires'][:10]}"
        result(f"{entry['id']:<10} {entry['user']:<20} {until:<20} {entry['label']}")


@keys.command("make")
def make_key(
    label: Annotated[str, typer.Argument(help="Purpose of the key.")],
    days: Annotated[int, typer.Option(help="Number of days for which the key is valid.", min=1)] = 90,
    json_: Json = False,
) -> None:
    """Make a key of your own; it is shown this once.

    \b
    Example:
      discreet remote keys make "the notebook of May" --days 30
    """
    with service() as remote:
        created = remote.make_key(label, days)
    if json_:
        as_json("discreet/key@1", **created)
        return
    result(str(created["key"]))
    say(f"Key {created['id']} is valid until {created['expires'][:10]}; it is not shown again.")


@keys.command("revoke")
def revoke_key(id_: Annotated[str, typer.Argument(metavar="ID", help="Public part of the key.")]) -> None:
    """Revoke a key.

    \b
    Example:
      discreet remote keys revoke abcd2345
    """
    with service() as remote:
        result(f"Key {remote.revoke_key(id_)['id']} is revoked.")


def audit(
    limit: Annotated[int, typer.Option(help="Most entries to list.", min=1)] = 50,
    json_: Json = False,
    format_: Format = None,
) -> None:
    """List who did what, the newest first.

    \b
    Example:
      discreet remote audit --limit 100 --json
    """
    with service() as remote:
        answer = remote.audit(limit)
    if is_for_programs("discreet/audit@1", "deeds", answer, format_, json_):
        return
    for entry in answer:
        result(f"{entry['seq']:>6}  {entry['time'][:19]}  {entry['actor']:<20} {entry['action']:<16} {entry['object']}")


def verify(json_: Json = False) -> None:
    """Have the service recompute its ledger and compare it, also with its witness.

    \b
    Example:
      discreet remote verify
    """
    with service() as remote:
        answer = remote.verify()
    if json_:
        as_json("discreet/remote-verification@1", **answer)
        return
    result(
        f"The ledger is intact: {answer['n_entries']} entries, {counted(answer['n_releases'], 'release')}, "
        f"head {answer['head'][:16]}."
    )


def _account(account: dict[str, Any], json_: bool) -> None:
    if json_:
        as_json("discreet/user@1", **account)
        return
    state = "disabled" if account["disabled"] else account["role"]
    password = f", password {account['password']}" if account.get("password") else ""
    result(f"{account['name']} ({state}){password}")
