"""Coefficients of a Poisson regression (privacy specification 6.2)."""

from typing import ClassVar

from discreet.data.metadata import Metadata, NumericColumn
from discreet.errors import MetadataError
from discreet.kernels.glm.families import Family, poisson
from discreet.methods.regression.canonical_link import GeneralizedLinear
from discreet.parameters.regression import PoissonParameters


class PoissonModel(PoissonParameters, GeneralizedLinear):
    """Coefficients of a Poisson regression with intervals.

    References
    ----------
    Privacy specification 6.2.
    """

    name: ClassVar[str] = "poisson"
    family_name = "poisson"

    def family(self, metadata: Metadata, target: str) -> tuple[Family, float, float]:
        """Return the law of counts up to the target's upper bound, and center and bound of their cells in the target's
        unit.
        """
        column = metadata.declared(target)
        if not isinstance(column, NumericColumn) or column.lower != 0.0 or column.upper is None:
            raise MetadataError(
                f"The target of a Poisson regression must be a count from 0, but {target!r} is not declared so. "
                "Declare it as {type: integer, lower: 0, upper: ...}."
            )
        return poisson(column.upper), column.upper / 2.0, column.upper / 2.0
