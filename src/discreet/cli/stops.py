"""When parts below a ceiling stop, as options."""

from typing import Annotated, Any

import typer


def stops(
    until: Annotated[
        float | None,
        typer.Option(
            help="Of moments, in the place of --epsilon: buy parts until each column is so sure, such as 0.9."
        ),
    ] = None,
    until_width: Annotated[
        float | None,
        typer.Option(
            help="Of moments, in the place of --until: buy parts until the widest 95% posterior interval of a "
            "coefficient is so wide at most, in the coefficient's own unit."
        ),
    ] = None,
    until_coefficient: Annotated[
        str | None, typer.Option(help="Of --until-width: the coefficient, or the column, whose interval alone counts.")
    ] = None,
    at_most: Annotated[float | None, typer.Option(help="Of --until: the ceiling on epsilon, of all parts.")] = None,
    until_of: Annotated[
        str, typer.Option(help="Of --until: columns, that each matters or that it does not; or the likeliest model.")
    ] = "columns",
    until_prior: Annotated[
        str,
        typer.Option(help="Of --until: sparse (few, strong effects expected) or broad (any number of effects)."),
    ] = "sparse",
) -> dict[str, Any]:
    """When parts stop: what was given, as a request holds it; nothing where no parts are bought."""
    aims = {"until": until, "until_width": until_width, "at_most": at_most}
    given = {name: value for name, value in aims.items() if value is not None}
    if not given:
        return {}
    further = {"until_prior": until_prior, "until_coefficient": until_coefficient}
    if until_width is None:
        further["until_of"] = until_of
    return given | {name: value for name, value in further.items() if value is not None}
