"""When parts below a ceiling stop, as options."""

from typing import Annotated, Any

import typer


def stops(
    until: Annotated[
        float | None,
        typer.Option(help="For moments, instead of --epsilon: buy parts until each column is this sure, such as 0.9."),
    ] = None,
    until_width: Annotated[
        float | None,
        typer.Option(
            help="For moments, instead of --until: buy parts until no 95% posterior interval of a "
            "coefficient is wider than this, in the coefficient's own unit."
        ),
    ] = None,
    until_coefficient: Annotated[
        str | None,
        typer.Option(
            help="With --until-width: the one coefficient or column whose interval counts. Default: all of them."
        ),
    ] = None,
    at_most: Annotated[
        float | None, typer.Option(help="With --until: the most epsilon that all parts may spend together.")
    ] = None,
    until_of: Annotated[
        str,
        typer.Option(help="With --until: what must be sure: columns (whether each matters), or the likeliest model."),
    ] = "columns",
    until_prior: Annotated[
        str,
        typer.Option(
            help="With --until: the prior, sparse (few, strong effects expected) or broad (any number of effects)."
        ),
    ] = "sparse",
) -> dict[str, Any]:
    """When parts stop: what was given, as a request holds it; nothing where no parts are bought."""
    aims = {"until": until, "until_width": until_width, "at_most": at_most}
    aims_given = {name: value for name, value in aims.items() if value is not None}
    if not aims_given:
        return {}
    further = {"until_prior": until_prior, "until_coefficient": until_coefficient}
    if until_width is None:
        further["until_of"] = until_of
    return aims_given | {name: value for name, value in further.items() if value is not None}
