"""Parameters of a plan of several steps."""

from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.parameters.shared import Delta, Epsilon, Parameters, first

Step = dict[str, Any]


class StepsParameters(Parameters):
    """Of a selection, then a regression."""

    epsilon: Epsilon = first(default=1.0)
    delta: Delta = 0.0
    screen: Annotated[
        Step | None,
        Field(description="Settings of the screening. They are `method` (sis or two-stage) and its parameters."),
    ] = None
    select: Annotated[
        Step | None,
        Field(
            description="Settings of the selection. They are `method` (pcls, pcpl, moments or, without a screening, "
            "decorrelated) and its parameters. After a screening it chooses among the screened columns, and may be "
            "left out."
        ),
    ] = None
    fit: Annotated[
        Step,
        Field(
            default_factory=dict,
            description="Settings of the regression. They are `family` (linear, logistic or poisson) and its "
            "parameters.",
        ),
    ]
    selective_inference: Annotated[
        Literal["split", "fission", "none"] | None,
        Field(
            description="How intervals stay valid after the selection. split: half of the units, drawn by secret "
            "coins, choose the columns, and the others give the coefficients; each half gets all of epsilon. "
            "fission: for moments with a linear fit, one half of the information in the noisy moments chooses, and "
            "the other half is fitted. none: all rows do both, and the level of the intervals is not guaranteed. The "
            "default is fission for moments with a linear fit where a unit owns one row and nothing is screened, and "
            "split elsewhere."
        ),
    ] = None

    @property
    def selection_method(self) -> str:
        """The selection's method."""
        return str((self.select or {}).get("method", "pcls"))

    @property
    def family(self) -> str:
        """The regression's family."""
        return str(self.fit.get("family", "linear"))
