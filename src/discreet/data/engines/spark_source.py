"""What an address of Spark names: a table of the catalog, or Parquet files that are one table and no more."""

import glob
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from discreet.data.engines.parquet_files import PARQUET_SUFFIXES, below
from discreet.data.engines.spark_plan import require_stored
from discreet.data.engines.spark_session import SCHEME, call_spark, is_interruption, session, unwarned
from discreet.errors import DataMismatchError, InvalidParameterError

BASE_TABLES = ("EXTERNAL", "MANAGED")
MOST_FILES = 1000
"""Of a folder: the schema of each is asked for, before anything is charged."""
AT_ONCE = 4
"""Schemas asked for side by side."""
DATA_FILES = "[^_.]*.{[pP][aA][rR][qQ][uU][eE][tT],[pP][qQ]}"
"""Names that a folder's data have, as the local engine knows them, in Hadoop's words."""
MARKS = ("_delta_log", ".hoodie", "metadata/*.metadata.json")
"""What Delta, Hudi and Iceberg keep in the folder of a table."""

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATTERN = re.compile(r"[*?\[\]{}\\\x00-\x1f]")
_STORE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")
_SECRET = re.compile(r":.*@", re.DOTALL)
_MARK = re.compile(r"(.*/)?(_delta_log|\.hoodie|metadata/[^/]*\.metadata\.json)(/.*)?", re.DOTALL)
_HALF_HIDDEN = re.compile(r"(.*/)?_(metadata|common_metadata|[^/]*=)[^/]*/.*", re.DOTALL)


def frame_at(address: str) -> tuple[Any, str]:
    """Return the table of an address, and its full address; read schemas and footers, but no row.

    Cost: of a folder, its list, and a small job of Spark for the footer of each file.
    """
    place = address.removeprefix(SCHEME)
    scheme = _STORE.match(place)
    if _SECRET.search(unquote(place[scheme.end() :] if scheme else place)):
        raise InvalidParameterError(
            "An address after spark: must be without a password, but it has an @ after a colon. Keep keys in Spark's "
            "own configuration."
        )
    return _files(place) if "/" in place else _catalog_table(place)


def _files(path: str) -> tuple[Any, str]:
    path = path.rstrip("/")
    if _PATTERN.search(path):
        raise InvalidParameterError(
            "A path after spark: must be without * ? [ ] { } and \\, but it has one. Name one file or folder."
        )
    if path.startswith("//") or not (path.startswith("/") or ":/" in path):
        raise InvalidParameterError(
            f"A path after spark: must be absolute, but it is {path[:300]!r}. Write such as spark:/shared/x.parquet."
        )
    spark = session()
    refusal = DataMismatchError(
        f"spark:{path[:300]} must be Parquet that Spark can read, in files that end in .parquet or .pq, of names that "
        "differ not by case alone, but its header cannot be read. Check the path and what Spark may see."
    )
    call_spark(lambda: _check_folder(spark, path), refusal)  # first: Spark would follow a link to its own folder
    # Without the first, names of folders, which are cells, would decide how other cells are read.
    options = {"recursiveFileLookup": "true", "mergeSchema": "false", "pathGlobFilter": DATA_FILES}
    reader = spark.read.options(**options)
    with unwarned():
        frame = call_spark(lambda: reader.parquet(path), refusal)
        files = call_spark(frame.inputFiles, refusal)
        _check_schemas(reader, frame, files)
        call_spark(lambda: _check_decimals(frame, files), refusal)
    return frame, SCHEME + path


def _check_folder(spark: Any, path: str) -> None:
    """Refuse a folder in which Spark would find a row twice, or one that is no longer in the table."""
    local_path = _on_this_machine(spark, path)
    if local_path is None and not _has_java(spark):
        return  # a server's own storage, which cannot be listed from here
    entries = _below_here(local_path) if local_path is not None else _below_elsewhere(spark, path)
    n_files, identities = 0, set()
    for name, identity in entries:
        if _MARK.fullmatch(name):
            raise _other_format()
        if identity is None or identity in identities:
            raise InvalidParameterError(
                "A folder after spark: must be without links, of which Spark would count the rows again, but it holds "
                "some. Take them out, or name the files' own folder."  # names of folders may hold cells
            )
        identities.add(identity)
        n_files += _is_data(name)
        _check_number(n_files)
    if n_files and (_marked(local_path) if local_path is not None else _marked_elsewhere(spark, path)):
        raise _other_format()


def _on_this_machine(spark: Any, path: str) -> str | None:
    """Return the path for this process, or None where it is in another store."""
    scheme = _STORE.match(path)
    if scheme is not None:
        is_here = scheme[1].lower() == "file"
    else:
        is_here = not _has_java(spark) or _hadoop(spark).get("fs.defaultFS").startswith("file:")
    local_path = path[scheme.end() :] if scheme else path
    local_path = "/" + local_path.lstrip("/")
    return local_path if is_here and (_has_java(spark) or os.path.exists(local_path)) else None


def _has_java(spark: Any) -> bool:
    """Tell whether this process shares a JVM with Spark, as it does not with Spark Connect."""
    return hasattr(spark, "_jsparkSession")


def _hadoop(spark: Any) -> Any:
    return spark._jsparkSession.sessionState().newHadoopConf()


def _below_here(root: str) -> Iterator[tuple[str, Any]]:
    """Yield the relative path of everything in a folder with its identity, None for a link."""
    for path, _, identity in below(Path(root)):
        yield os.path.relpath(path, root), identity


def _below_elsewhere(spark: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the files of a folder in another store, which has no links."""
    root = spark._jvm.org.apache.hadoop.fs.Path(path)
    store = root.getFileSystem(_hadoop(spark))
    whole = store.makeQualified(root).toString() + "/"
    files = store.listFiles(root, True)
    while files.hasNext():
        file_path = files.next().getPath().toString()
        if file_path.startswith(whole):  # else the path itself is a file
            yield file_path.removeprefix(whole), file_path


def _marked(root: str) -> bool:
    """Tell whether a folder is within a table of another format, such as its folder of data."""
    above = PurePosixPath(os.path.realpath(root)).parents
    return any(glob.glob(f"{glob.escape(str(folder))}/{mark}") for folder in above for mark in MARKS)


def _marked_elsewhere(spark: Any, path: str) -> bool:
    place = spark._jvm.org.apache.hadoop.fs.Path
    above = place(path).getParent()
    with suppress(Exception):  # who may read a folder may not always read those above
        while above is not None:
            store = above.getFileSystem(_hadoop(spark))
            if any(store.globStatus(place(f"{above.toString()}/{mark}")) for mark in MARKS):
                return True
            above = above.getParent()
    return False


def _other_format() -> InvalidParameterError:
    return InvalidParameterError(
        "A folder after spark: must hold plain Parquet, but it is of a Delta, Hudi or Iceberg table, whose files hold "
        "old rows too. Name the table as Spark's catalog has it, such as spark:catalog.schema.table."
    )


def _is_data(name: str) -> bool:
    """Tell whether a file is data; refuse one that is data to Spark alone."""
    path = PurePosixPath(name)
    if path.suffix.lower() not in PARQUET_SUFFIXES or path.name.startswith(("_", ".")):
        return False
    if _HALF_HIDDEN.fullmatch(name):
        raise InvalidParameterError(
            "Folders whose names begin with _ must hold no data, but Spark would read some of them, such as those with "
            "an = in the name. Rename or move them."
        )
    return not any(part.startswith(("_", ".")) for part in path.parts)


def _check_number(n_files: int) -> None:
    if n_files > MOST_FILES:
        raise InvalidParameterError(
            f"A folder after spark: must hold at most {MOST_FILES} files, as the header of each is compared, but there "
            "are more. Register the table in Spark's catalog, and name it as spark:catalog.schema.table."
        )


def _check_schemas(reader: Any, frame: Any, files: list[str]) -> None:
    """Compare the footers' schemas: Spark would refuse other types in mid-pass, and fill up other columns."""
    _check_number(len(files))
    if len(files) < 2:
        return
    paths = [unquote(file) for file in files]
    if any(map(_PATTERN.search, paths)):
        raise InvalidParameterError(
            "Names of files and folders must be without * ? [ ] { } and \\, but some have one. Rename them."
        )
    expected = _types(frame)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for path, types in zip(paths, pool.map(lambda path: _types_of(reader, path), paths), strict=True):
            if types != expected:
                raise DataMismatchError(
                    "Every file of a folder must have the same columns of the same types, but "
                    f"{PurePosixPath(path).name[:80]!r} differs from others. Take it out, or write it again."
                )


def _check_decimals(frame: Any, files: list[str]) -> None:
    """Refuse decimals whose cells have lengths of their own: one of none, or of more than a number has, ends a pass."""
    if not _has_java(frame.sparkSession) or "decimal" not in {field.dataType.typeName() for field in frame.schema}:
        return
    names, settings = frame.sparkSession._jvm, _hadoop(frame.sparkSession)
    for file in files:
        path = names.org.apache.hadoop.fs.Path(names.java.net.URI(file))
        footer = names.org.apache.parquet.hadoop.ParquetFileReader.readFooter(settings, path)
        for column in footer.getFileMetaData().getSchema().getColumns():
            kind = column.getPrimitiveType()
            if str(kind.getPrimitiveTypeName()) == "BINARY" and "DECIMAL" in str(kind.getLogicalTypeAnnotation()):
                raise DataMismatchError(
                    "Decimals must be stored at one length, but those of a column are byte arrays of any, of which one "
                    "cell could end a pass. Write the files again, such as by Spark itself."
                )


def _types_of(reader: Any, path: str) -> dict[str, str]:
    refusal = DataMismatchError(
        f"{PurePosixPath(path).name[:80]!r} is not a readable Parquet file: its header cannot be read. "
        "Write the file again, or choose another."
    )
    return call_spark(lambda: _types(reader.parquet(path)), refusal)


def _types(frame: Any) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in frame.schema.fields}


def stamps(frame: Any) -> frozenset[tuple[str, int, int]]:
    """Return the files of a DataFrame, their sizes and when they were written; nothing where they cannot be told.

    As those of more than `MOST_FILES`, of formats without files, or of Spark Connect.
    """
    if not _has_java(frame.sparkSession):
        return frozenset()
    files = _files_of(frame)
    if len(files) > MOST_FILES:
        return frozenset()
    place, settings = frame.sparkSession._jvm.org.apache.hadoop.fs.Path, _hadoop(frame.sparkSession)
    written = set()
    for file in files:
        path = place(frame.sparkSession._jvm.java.net.URI(file))
        status = path.getFileSystem(settings).getFileStatus(path)
        written.add((str(file), int(status.getLen()), int(status.getModificationTime())))
    return frozenset(written)


def _files_of(frame: Any) -> list[str]:
    """Return the files that a plan reads; none where a cell ends the planning, as small tables are computed then."""
    try:
        with unwarned():
            return list(frame.inputFiles())
    except Exception as error:
        if is_interruption(error):
            raise
        return []


def _catalog_table(name: str) -> tuple[Any, str]:
    spark = session()
    table = call_spark(
        lambda: spark.catalog.getTable(name),
        InvalidParameterError(
            f"A table of Spark's catalog must be named, such as spark:catalog.schema.table, but {name[:200]!r} is none "
            "there. Check the name, and that Spark is configured for this catalog."
        ),
    )
    if table.isTemporary or table.tableType not in BASE_TABLES:
        raise InvalidParameterError(
            f"{name[:200]!r} must be a table, but it is a view, in which one row could change others. "
            "Name the table itself."
        )
    parts = (*((table.catalog,) if table.catalog else ()), *(table.namespace or ()), table.name)
    whole = ".".join(part if _BARE.fullmatch(part) else f"`{part.replace('`', '``')}`" for part in parts)
    require_stored(spark, whole)
    frame = call_spark(
        lambda: spark.table(whole),
        DataMismatchError(f"{name[:200]!r} is not a table that Spark can read. Check what Spark may see."),
    )
    return frame, SCHEME + whole
