"""Where the Parquet files of a table are: one, a folder, or in an object store; each row once."""

import os
import re
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qsl, unquote

import pyarrow as pa
import pyarrow.fs

from discreet.data.engines.each import interruptible
from discreet.errors import InvalidParameterError

PARQUET_SUFFIXES = (".parquet", ".pq")
OBJECT_STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
PATIENCE_S = 30
"""With an object store that does not answer, where it would be asked for many minutes."""


def is_address(source: str) -> bool:
    """Tell whether a source is in an object store."""
    return source.partition("://")[0].lower() in OBJECT_STORES and "://" in source


def files_at(place: Path | str) -> tuple[Any, str, list[str]]:
    """Return the file system of a table, the path of its file or folder there, and its files, sorted; open none."""
    shown = str(place) if isinstance(place, Path) else public_address(place)
    try:
        files, root, listed = (
            _listed_here(place) if isinstance(place, Path) else interruptible(partial(_listed_afar, place))
        )
    except InvalidParameterError:
        raise
    except (pa.ArrowException, OSError, ValueError):  # the library's own text could show the keys in an address
        raise InvalidParameterError(
            f"The data must be a file or a folder that can be read, but {shown[:300]!r} cannot. Check the address, "
            "and that this machine may read it."
        ) from None
    inside = [PurePosixPath(path).relative_to(root) for path in listed if path != root]
    if any(_of_versions(path) for path in inside):
        raise InvalidParameterError(
            f"A folder of data must hold each row once, but {shown[:300]!r} is a table of Delta, Iceberg or Hudi, "
            "whose files hold old versions of rows too. Read it by its name in Spark's catalog, or write it again."
        )
    paths = [root] if root in listed else sorted(f"{root}/{path}" for path in inside if _is_data(path))
    if not paths:
        raise InvalidParameterError(
            f"A folder of data must hold Parquet files, but {shown[:300]!r} holds none. Name another one."
        )
    return files, root, paths


def below(root: Path) -> Iterator[tuple[Path, bool, tuple[int, int] | None]]:
    """Yield each path below a folder, whether it is a folder or a link to one, and its identity (None for a link)."""
    for folder, folders, files in os.walk(root):
        for is_folder, names in ((True, folders), (False, files)):
            for path in (Path(folder, name) for name in names):
                status = path.lstat()
                yield path, is_folder, None if stat.S_ISLNK(status.st_mode) else (status.st_dev, status.st_ino)


def _listed_here(place: Path) -> tuple[Any, str, list[str]]:
    paths, identities = [str(place)] if place.is_file() else [], set()
    for path, is_folder, identity in below(place):
        if identity is None or identity in identities:
            link = "a folder in it" if is_folder else repr(path.name[:80])  # names of folders may hold a cell
            raise InvalidParameterError(
                f"A folder of data must hold each file once, but {link} is a link. Name the folder "
                "that holds the files themselves."
            )
        identities.add(identity)
        paths.append(str(path))
    return pyarrow.fs.LocalFileSystem(), str(place), paths


def _listed_afar(address: str) -> tuple[Any, str, list[str]]:
    if address.startswith(("gs:", "gcs:")) and "retry_limit_seconds" not in address:
        address += f"{'&' if '?' in address else '?'}retry_limit_seconds={PATIENCE_S}"
    files, root = pyarrow.fs.FileSystem.from_uri(address)
    root = root.rstrip("/")
    if files.get_file_info(root).type == pyarrow.fs.FileType.File:
        return files, root, [root]
    return files, root, [item.path for item in files.get_file_info(pyarrow.fs.FileSelector(root, recursive=True))]


def _of_versions(path: PurePosixPath) -> bool:
    return any(name in ("_delta_log", ".hoodie") for name in path.parts) or path.name.endswith(".metadata.json")


def _is_data(path: PurePosixPath) -> bool:
    return path.suffix.lower() in PARQUET_SUFFIXES and not any(name.startswith(("_", ".")) for name in path.parts)


def public_address(address: str) -> str:
    """Return an address without what may be a secret, and with all that tells two tables apart.

    Without keys, and of the query with the endpoint alone.

    Examples
    --------
    >>> print(public_address("s3://KEY:SECRET@bucket/claims/?region=eu-west-1"))
    s3://bucket/claims
    """
    scheme, _, rest = address.partition("://")
    place, _, query = rest.partition("?")
    authority, slash, path = place.partition("/")
    user, at, host = authority.rpartition("@")
    if "@" in query or (not at and "@" in path and re.search(r":(?![0-9]+$)", authority)):
        raise InvalidParameterError(
            "An address must hold no key, or one whose / and ? are written %2F and %3F, but it has an @ behind these. "
            "Leave the key to the environment."
        )
    if scheme.lower().startswith("abfs") and at:
        host = f"{user.partition(':')[0]}@{host}"  # the container
    endpoint = dict(parse_qsl(query)).get("endpoint_override")
    if scheme.lower() == "s3":
        endpoint = endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    more = f"?endpoint_override={endpoint.rpartition('@')[2]}" if endpoint else ""
    return f"{scheme}://{host}{slash}{path}".rstrip("/") + more


def constants_of(path: str, root: str) -> dict[str, str | None]:
    """Return the columns that the names of a file's folders set, as Hive and Spark write them; None if missing."""
    named = [name for name in PurePosixPath(path).relative_to(root).parts[:-1] if "=" in name]
    pairs = (name.partition("=") for name in named)
    return {unquote(key): None if value == NO_VALUE else unquote(value) for key, _, value in pairs}
