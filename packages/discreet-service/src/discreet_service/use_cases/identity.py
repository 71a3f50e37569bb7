"""Which table a place names, however it is spelled: one table has one data set, and so one budget."""

import ipaddress
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from discreet import workflow
from discreet_service.store.names import fold_name

LOCAL = "localhost"
DEFAULT_PORT = "5432"


@dataclass(frozen=True)
class InFiles:
    """A table in a file or a folder of files."""

    parts: tuple[str, ...]  # of its real path from the root of the file system, folded
    table: str | None  # of a database file, folded; None for the only one
    files: frozenset[
        tuple[int, int]
    ]  # device and inode of each file that can be looked at: a hard link has another path

    def shares(self, other: "Identity") -> bool:
        """Tell whether another table may hold rows of this one: the same file, or one within a folder.

        False for two tables of one database file.
        """
        if not isinstance(other, InFiles):
            return False
        shorter = min(len(self.parts), len(other.parts))
        is_place_shared = self.parts[:shorter] == other.parts[:shorter] or bool(self.files & other.files)
        return is_place_shared and (None in (self.table, other.table) or self.table == other.table)


@dataclass(frozen=True)
class InDatabase:
    """A table on a PostgreSQL server."""

    url: str  # of the root: not to be compared
    servers: frozenset[tuple[str, str]]  # hosts and ports; empty when only the client's configuration says where it is
    database: str  # folded
    table: str  # schema.table, as it was registered

    @property
    def relation(self) -> str:
        """Schema and table, quoted or not, folded."""
        return ".".join(map(_unquoted, self.table.split(".", 1)))

    def shares(self, other: "Identity") -> bool:
        """Tell whether another table is this one, as far as addresses tell.

        Two names of one server look like two: `check_servers` asks them.
        """
        if not isinstance(other, InDatabase) or self.relation != other.relation:
            return False
        is_server_unknown = not self.servers or not other.servers
        return is_server_unknown or (self.database == other.database and bool(self.servers & other.servers))


Identity = InFiles | InDatabase


def tables_at(roots: Mapping[str, Path | str], source: dict[str, Any]) -> list[Identity]:
    """Return the identities of the private tables of a data set; nothing is opened.

    Tables in a root that the service file does not name any more are left out: nobody can open them.
    """
    places = [source[name] for name in ("data", "targets") if source.get(name) is not None]
    return [_table_at(roots[place["root"]], place) for place in places if place["root"] in roots]


def _table_at(root: Path | str, place: dict[str, Any]) -> Identity:
    if isinstance(root, str):
        return InDatabase(root, *_server(root), place["path"])
    path = Path(os.path.realpath(root / place["path"]))
    table = place["table"] if path.suffix.lower() in workflow.DATABASE_SUFFIXES else None
    parts = tuple(fold_name(unquote(part)) for part in path.parts)
    return InFiles(parts, None if table is None else _unquoted(table.removeprefix("main.")), _files(path))


def _unquoted(name: str) -> str:
    """Return a name of SQL without quotes, folded."""
    return fold_name(name.strip().strip('"`[]').replace('""', '"'))


def _files(path: Path) -> frozenset[tuple[int, int]]:
    """Return device and inode of a file, or of all below a folder; empty where this process may not look."""
    folders = os.walk(path) if path.is_dir() else ()
    paths = [path, *(Path(folder, name) for folder, _, names in folders for name in names)]
    inodes = set[tuple[int, int]]()
    for file in paths:
        try:
            status = file.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            inodes.add((status.st_dev, status.st_ino))
    return frozenset(inodes)


def _server(url: str) -> tuple[frozenset[tuple[str, str]], str]:
    """Return servers and database of a URL; user and options tell no table from another."""
    parts = urlsplit(url)
    options = {name.lower(): value for name, value in parse_qsl(parts.query)}
    user, at, hosts = parts.netloc.rpartition("@")
    listed = (options.get("host") or options.get("hostaddr") or unquote(hosts)).split(",")
    ports = options.get("port", "").split(",")
    database = options.get("dbname") or unquote(parts.path.strip("/")) or (unquote(user) if at else "")
    if options.get("service") and not listed[0]:
        return frozenset(), fold_name(database)
    ports += ports[-1:] * len(listed)
    return frozenset(_host(host, port) for host, port in zip(listed, ports, strict=False)), fold_name(database)


def _host(text: str, port: str) -> tuple[str, str]:
    name, colon, own = text.rpartition(":")
    if not colon or "]" in own or (":" in name and not name.endswith("]")):  # no port, or an address of IPv6
        name, own = text, ""
    name = fold_name(name.strip("[]").rstrip("."))
    try:
        address = ipaddress.ip_address(name)
        name = LOCAL if address.is_loopback else str(address)
    except ValueError:
        name = LOCAL if not name or name.startswith(("/", "@")) else name
    return name, own or port or DEFAULT_PORT


def check_servers(own: Identity, others: list[Identity]) -> bool:
    """Ask the servers whether tables that their addresses tell apart share rows with this one; a worker alone may."""
    in_databases = [other for other in others if isinstance(other, InDatabase)]
    if not isinstance(own, InDatabase) or not in_databases:
        return False
    relatives = {fold_name(name) for name in workflow.database_relatives(own.url, own.table)} | {own.relation}
    urls = {other.url for other in in_databases if other.relation in relatives}
    return bool(urls) and workflow.database_server(own.url) in map(workflow.database_server, urls)
