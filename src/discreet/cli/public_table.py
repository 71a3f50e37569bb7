"""The option ``--public-table``: means and covariances of the columns from public records, wherever they are of use."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet import workflow
from discreet.cli.request_options import Asked
from discreet.errors import InvalidParameterError, PolicyError

if TYPE_CHECKING:
    from discreet.parameters.public_moments import PublicMoments

PublicTable = Annotated[
    Path | None,
    typer.Option(
        help="A file of public records with the same columns (the target is not needed), declared under public in the "
        "metadata. Means and covariances of the columns are taken from it and cost nothing. For moments, decorrelated "
        "and auto."
    ),
]
USE_PUBLIC = ("moments", "decorrelated", "auto")
"""Methods to which public moments of the columns are of use."""


IN_STEPS = tuple(name for name in USE_PUBLIC if name != "auto")


def known_columns(
    public_table: Path,
    public: "workflow.Metadata",
    target: str,
    candidates: Sequence[str] | None,
    data: str | Path | None = None,
) -> "PublicMoments":
    """Return what a public table says of the candidates; it must be declared, and must not be the private one."""
    if data is not None and Path(data).expanduser().resolve() == public_table.expanduser().resolve():
        raise PolicyError(
            "The private and the public table must be two, but one file is given as both. Give the private one as data."
        )
    names = candidates or tuple(name for name in public.columns if name != target)
    return workflow.public_moments(public_table, public, names)


def with_public(
    options: Asked, public: "workflow.Metadata", public_table: Path | None, data: str | Path | None = None
) -> Asked:
    """Return what is asked with the moments of the public table; as it was where there is none."""
    if public_table is None:
        return options
    if options.method not in USE_PUBLIC:
        raise InvalidParameterError(
            f"--public-table is for the methods {', '.join(USE_PUBLIC)}, but the method is {options.method[:40]}. "
            "Leave it out, or name one of them."
        )
    public_columns = known_columns(public_table, public, options.target, options.candidates, data)
    parameters = {**options.parameters, "public_moments": public_columns}
    return replace(options, parameters=parameters, reads=(*options.reads, public_table))


def known_steps(
    steps: "workflow.RunFile",
    public_table: Path | None,
    metadata: Callable[[], "workflow.Metadata"],
    data: str | Path | None = None,
) -> "tuple[workflow.RunFile, Path | None]":
    """Return a plan whose selection knows the columns of a public table, the plan's own or another; and its place."""
    place = public_table or (None if steps.public_table is None else Path(steps.public_table))
    if place is None:
        return steps, None
    method = steps.selection_method
    if method not in IN_STEPS:
        raise InvalidParameterError(
            f"A public table is for plans that select by {' or '.join(IN_STEPS)}, but this one "
            f"{f'selects by {method[:40]}' if method else 'screens alone'}. Leave it out, or select by one of them."
        )
    return steps.knowing(known_columns(place, metadata(), steps.target, steps.candidates, data)), place
