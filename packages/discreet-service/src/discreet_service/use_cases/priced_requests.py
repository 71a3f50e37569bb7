"""From the text of a request to a priced request: metadata and public tables alone, never a private one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from discreet import workflow
from discreet.errors import DiscreetError, InvalidParameterError, MetadataError
from discreet.release import READ
from discreet_service.context import Context
from discreet_service.logs import log
from discreet_service.store.datasets import Dataset
from discreet_service.use_cases.stated_moments import check_stated

Roots = Mapping[str, Path | str]

NEED_PUBLIC_TABLE = ("hybrid", "public-subset")
"""Methods that rest on the public table of a data set."""


def price(context: Context, dataset: Dataset, content: dict[str, Any]) -> workflow.PricedRequest:
    """Check a request and compute its privacy cost."""
    metadata = workflow.Metadata.from_value(dataset.metadata)
    if metadata.features is not None and content["candidates"] is None and metadata.features.listed() is None:
        raise MetadataError(
            f"Candidates must be named where the metadata do not list the features, as in {dataset.name}, but "
            "candidates is empty. Name them, or have the features listed in the metadata."
        )
    if content["method"] == "moments" and workflow.is_in_parts(content["parameters"]):
        return _price_parts(context, dataset, metadata, content)
    parameters = _parameters(context, dataset, metadata, content)
    with computable():
        priced = workflow.price(
            workflow.method_of(content["method"], **parameters),
            metadata,
            content["target"],
            content["candidates"],
            name=PurePosixPath(dataset.source["data"]["path"]).name,
            locator=dataset.locator,
            rows_origin=READ,
            chosen=content.get("chosen"),
        )
        priced.check_charge()
        float(priced.promised.epsilon), float(priced.promised.delta), priced.digest
    return priced


def _price_parts(
    context: Context, dataset: Dataset, metadata: workflow.Metadata, content: dict[str, Any]
) -> workflow.PricedRequest:
    """Price a request of parts at its ceiling."""
    asked = content["parameters"], metadata, content["target"], content["candidates"], context.ledger
    with computable():
        name = PurePosixPath(dataset.source["data"]["path"]).name
        priced = workflow.price_parts(*asked, name=name, locator=dataset.locator)
        priced.check_charge()
        float(priced.promised.epsilon), float(priced.promised.delta), priced.digest
    return priced


@contextmanager
def computable() -> Iterator[None]:
    """Refuse numbers that no arithmetic holds: the last line, behind the ranges of the parameters."""
    try:
        yield
    except DiscreetError:
        raise
    except (ArithmeticError, ValueError, MemoryError, RecursionError) as error:
        log("error", kind=type(error).__name__)
        raise InvalidParameterError(
            "Parameters must be numbers that can be computed with, but with these ones the cost or the noise cannot be "
            "found. Give usual ones, such as epsilon between 0.01 and 100."
        ) from None


def _parameters(
    context: Context, dataset: Dataset, metadata: workflow.Metadata, content: dict[str, Any]
) -> dict[str, Any]:
    parameters = dict(content["parameters"])
    if "epsilon" not in parameters:
        raise InvalidParameterError("What is spent must be said, but parameters has no epsilon. Add it, such as 0.5.")
    if "public" in parameters:
        raise InvalidParameterError(
            "The public table must be the one that the data set was registered with, but public is given. Leave it out."
        )
    place = dataset.source.get("public")
    if place is not None:
        check_stated(parameters, metadata, resolve_path(context.settings.public, place), place["table"])
    if content["method"] in NEED_PUBLIC_TABLE:
        if place is None:
            raise InvalidParameterError(
                f"A public table must be registered with the data set, but {dataset.name} has none. Ask its curator."
            )
        parameters["public"] = workflow.open_public(
            resolve_path(context.settings.public, place), metadata, place["table"]
        )
    return parameters


def resolve_path(roots: dict[str, Path], place: dict[str, Any]) -> Path:
    """Return the absolute path of a table, which lies below a folder of the service file and nowhere else."""
    check_place(tuple(roots), place)
    root: Path = roots[place["root"]].resolve()
    path: Path = (root / place["path"]).resolve()
    if not path.is_relative_to(root):  # by a link
        raise _outside_error(place)
    return path


def private_source(roots: Roots, place: dict[str, Any]) -> tuple[Path | str, str | None]:
    """Return a private table's file or database URL, and its name there."""
    root = check_private(roots, place)
    if isinstance(root, str):
        return root, place["path"]
    location = resolve_path({place["root"]: root}, place)
    if location != root.resolve() / place["path"]:
        raise InvalidParameterError(
            f"path must name a private table itself, but {place['path'][:100]!r} leads over a link, which could lead "
            "elsewhere tomorrow. Name the file or folder that it leads to."
        )
    return location, place["table"]


def check_private(roots: Roots, place: dict[str, Any]) -> Path | str:
    """Return a private root of the service file, or refuse; no file or database is looked at."""
    root = roots.get(place["root"])
    if not isinstance(root, str):
        check_place(tuple(roots), place)
        if place["table"] is not None and PurePosixPath(place["path"]).suffix.lower() not in workflow.DATABASE_SUFFIXES:
            raise InvalidParameterError(
                f"table must be empty but for a database file, but {place['path'][:100]!r} is none and "
                f"table={place['table'][:100]!r}. Leave it out."
            )
        return roots[place["root"]]
    schema, _, table = place["path"].partition(".")
    if not (schema and table and place["path"].isprintable() and place["table"] is None):
        raise InvalidParameterError(
            f"path must be schema.table in the database {place['root']!r}, and table empty, but "
            f"path={place['path'][:100]!r}. Name the table there."
        )
    return root


def check_place(roots: tuple[str, ...], place: dict[str, Any]) -> None:
    """Refuse what is not below a folder of the service file, without looking at any file."""
    if place["root"] not in roots:
        names = ", ".join(roots) or "none"
        raise InvalidParameterError(
            f"root must be a folder that the service file names, or a database, but root={place['root']!r}. "
            f"There is: {names}."
        )
    path = PurePosixPath(place["path"])
    plain = place["path"].isprintable() and "\\" not in place["path"] and "://" not in place["path"]
    if path.is_absolute() or not plain or not path.parts or any(part in ("..", "~") for part in path.parts):
        raise _outside_error(place)


def _outside_error(place: dict[str, Any]) -> InvalidParameterError:
    return InvalidParameterError(
        f"path must be a plain path below the folder {place['root']!r}, but path={place['path'][:100]!r}. "
        "Put the table there."
    )
