"""Sets a service up: its folder with the service file, the pepper and the first admin; or all that one needs to try."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from discreet import workflow
from discreet.errors import InvalidParameterError
from discreet.files import write_whole
from discreet.workflow import demo
from discreet_service.access.roles import Principal, Role
from discreet_service.context import open_context
from discreet_service.schemas import AllotmentIn, CapIn, DatasetIn, MembersIn, Place, Source, UserChange, UserIn
from discreet_service.settings import SCHEMA, read_settings
from discreet_service.use_cases import datasets, people

FILE_NAME = "service.yaml"
DATABASE = "discreet.sqlite"
SETUP = "setup"
"""The actor of the audit before anybody can sign in."""

_FILE = f"""\
schema: {SCHEMA}
database: DATABASE          # a file, or postgresql://user@host/name: the ledger and the service's own tables
pepper_file: pepper                # the service's secret; back it up apart from the database
witness: witness.jsonl             # tells a restored backup from the newest database; keep it on another disk
private: {{tables: private}}         # folders of private tables: only a worker's account needs to read them
public: {{tables: public}}           # folders of public tables
url: http://127.0.0.1:8000         # where people find the service
secure_cookies: SECURE             # false is for trying out on one machine, without HTTPS
proxies: []                        # addresses of the HTTPS proxies in front of it, such as [127.0.0.1]
tick_s: 1                          # what depends on rows leaves at whole multiples of this many seconds
slot_s: SLOT                       # length of a request's slot, in seconds: public, and longer than any run
"""

_DEMO = "demo: true                         # each start gives the accounts new passwords\n"


@dataclass(frozen=True)
class SetUp:
    """The service file of a service that was set up, and the new passwords, which are shown this once."""

    file: Path
    passwords: dict[str, str]


def set_up(folder: Path, *, slot_s: int = 60, is_demo: bool = False, database: str = DATABASE) -> SetUp:
    """Write the service file and the pepper, make the folders, and the first admin with a password."""
    file = folder / FILE_NAME
    if file.exists():
        raise InvalidParameterError(f"A service is set up there already: {file} exists. Give another folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # the ledger and the service file stand in it too
        for part in ("private", "public"):
            (folder / part).mkdir(exist_ok=True, mode=0o700)
        handle = os.open(folder / "pepper", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        reason = (error.strerror or "it failed").lower()
        raise InvalidParameterError(f"The folder must be writable, but {folder}: {reason}.") from None
    with os.fdopen(handle, "w") as pepper:
        pepper.write(workflow.token(40) + "\n")
    place = database if database == DATABASE else json.dumps(database)
    values = {"DATABASE": place, "SECURE": str(not is_demo).lower(), "SLOT": str(slot_s)}
    text = re.sub("|".join(values), lambda match: values[match[0]], _FILE)
    write_whole(file, text + (_DEMO if is_demo else ""))
    file.chmod(0o600)  # the database's URL may hold a password
    return SetUp(file, _add(file, {"admin": Role.ADMIN}))


def set_up_demo(folder: Path) -> SetUp:
    """Set up a service to try out: one person of each role, a table, a cap, a project; passwords are new each time."""
    file = folder / FILE_NAME
    if file.exists() and not read_settings(file).demo:
        raise InvalidParameterError(f"A demonstration must have a folder of its own, but {folder} holds a service.")
    if file.exists():
        return SetUp(file, _renew(file))
    service = set_up(folder, slot_s=10, is_demo=True)
    passwords = _add(file, {"analyst": Role.ANALYST, "curator": Role.CURATOR, "auditor": Role.AUDITOR})
    demo.write_demo(folder / "private")
    curator = Principal("curator", Role.CURATOR)
    with open_context(read_settings(file)) as context:
        metadata = workflow.Metadata.read(folder / "private" / "rand_hie.yaml")
        place = Place(root="tables", path="rand_hie.parquet")
        datasets.register(context, curator, DatasetIn(metadata=metadata.to_dict(), source=Source(data=place)))
        datasets.grant(context, curator, metadata.dataset, CapIn(epsilon=demo.CAP, delta=demo.DELTA_CAP))
        people.set_members(context, curator, "demo", MembersIn(members=["analyst"]))
        allotment = AllotmentIn(epsilon=demo.CAP * 2 / 3, delta=demo.DELTA_CAP)
        datasets.allot(context, curator, metadata.dataset, "demo", allotment)
    return SetUp(file, service.passwords | passwords)


def _add(file: Path, accounts: dict[str, Role]) -> dict[str, str]:
    with open_context(read_settings(file)) as context:
        users = {
            name: people.add_account(context, SETUP, UserIn(name=name, role=role)) for name, role in accounts.items()
        }
    return {name: user.password or "" for name, user in users.items()}


def _renew(file: Path) -> dict[str, str]:
    passwords: dict[str, str] = {}
    with open_context(read_settings(file)) as context:
        for user in people.accounts(context):
            passwords[user.name] = workflow.token(10)
            who = Principal(SETUP, Role.ADMIN)
            people.change_account(context, who, user.name, UserChange(password=passwords[user.name]))
    return passwords
