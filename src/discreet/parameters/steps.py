"""Parameters of a plan of several steps."""

from typing import Annotated, Any

from pydantic import Field

from discreet.parameters.shared import Delta, Epsilon, Parameters, first

Step = dict[str, Any]


class StepsParameters(Parameters):
    """Of a selection, then a regression."""

    epsilon: Epsilon = first(default=1.0)
    delta: Delta = 0.0
    screen: Annotated[
        Step | None, Field(description="Settings of the screening. `method` (sis or two-stage), and its parameters.")
    ] = None
    select: Annotated[
        Step | None,
        Field(
            description="Settings of the selection. `method` (pcls, pcpl or moments), and its parameters: among the "
            "screened columns where there are such. May be left out after a screening."
        ),
    ] = None
    fit: Annotated[
        Step,
        Field(
            default_factory=dict,
            description="Settings of the regression. `family` (linear, logistic or poisson), and its parameters.",
        ),
    ]
