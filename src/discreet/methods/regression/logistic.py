"""Coefficients of a logistic regression (privacy specification 6.2)."""

from typing import ClassVar

from discreet.data.metadata import Metadata, NumericColumn
from discreet.errors import MetadataError
from discreet.kernels.glm.families import LOGISTIC, Family
from discreet.methods.regression.canonical_link import GeneralizedLinear
from discreet.parameters.regression import LogisticParameters


class LogisticModel(LogisticParameters, GeneralizedLinear):
    """Coefficients of a logistic regression with intervals.

    References
    ----------
    Privacy specification 6.2.
    """

    name: ClassVar[str] = "logistic"
    family_name = "logistic"

    def family(self, metadata: Metadata, target: str) -> tuple[Family, float, float]:
        """Return the law of a response of 0 or 1, and center and bound of its cells in the target's unit."""
        column = metadata.declared(target)
        if not isinstance(column, NumericColumn) or (column.lower, column.upper) != (0.0, 1.0):
            raise MetadataError(
                f"The target of a logistic regression must be numeric from 0 to 1, but {target!r} is not. Declare it "
                "as {type: integer, lower: 0, upper: 1}."
            )
        return LOGISTIC, 0.5, 0.5
