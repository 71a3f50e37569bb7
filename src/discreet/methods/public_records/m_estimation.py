"""The parameters of M-estimates, and their contrasts."""

from collections.abc import Callable
from typing import Any, ClassVar, get_args

import numpy as np
from pydantic import field_validator

from discreet.data.hybrid_design import HybridDesign
from discreet.data.metadata import half_width
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.public_records.contrasts import Huber, LeastSquares, Logistic, Mean, Median, Poisson, Quantile
from discreet.kernels.public_records.m_estimates import Contrast, ContrastError
from discreet.methods.base.method import Method
from discreet.methods.base.request_facts import check_ratio
from discreet.methods.public_records.objective import Objective
from discreet.parameters.public_records import ContrastName, MEstimationParameters
from discreet.typing import Cells, Floats


class MEstimation(MEstimationParameters, Method):
    """The parameters of an M-estimate."""

    model_config: ClassVar[Any] = {**Method.model_config, "arbitrary_types_allowed": True}

    @field_validator("contrast")
    @classmethod
    def _name_or_contrast(cls, value: Any) -> Any:
        names = ("auto", *get_args(ContrastName))
        if isinstance(value, str):
            if value not in names:
                raise ValueError(f"contrast must be one of {', '.join(names)}, but it is {value[:40]!r}.")
        elif not callable(getattr(value, "value_and_gradient", None)) or not callable(
            getattr(value, "n_parameters", None)
        ):
            raise ValueError("contrast must be a name, or an object with n_parameters and value_and_gradient.")  # noqa: TRY004
        return value

    def objective(self, design: HybridDesign, cells: Cells, records: Floats) -> Objective:
        """Return the objective, its contrast in scaled units.

        Shapes: cells (m, n_columns), records (m,).
        """
        middle, half = half_width(design.metadata.declared(design.target))  # type: ignore[arg-type]
        targets = np.unique(cells[:, design.target_place])
        two = len(targets) <= 2 and set(targets.tolist()) <= {-GRID, GRID}
        name = self.contrast if isinstance(self.contrast, str) else "own"
        if name == "auto":
            name = "logistic" if two else "linear"
        if name == "logistic" and not two:
            raise InvalidParameterError(
                f"The target of a logistic contrast must have two values, but {design.target[:60]!r} has more. Choose "
                "another contrast."
            )
        if name == "poisson" and middle - half < 0.0:
            raise InvalidParameterError(
                f"The target of a Poisson contrast must be at least 0, but {design.target[:60]!r} goes below. Choose "
                "another contrast."
            )
        try:
            contrast = self._contrast(name, half)
        except ContrastError as error:
            raise InvalidParameterError(str(error)) from None
        return Objective.of(name, contrast, design, cells, records, self.fit_intercept)

    def _contrast(self, name: str, half: float) -> Contrast:
        """The contrast of a name in scaled units, where half the target's range is one."""
        check_ratio("huber_delta", self.huber_delta or half, "half the target's range", half)
        constant = self.fit_intercept
        contrasts: dict[str, Callable[[], Any]] = {
            "linear": lambda: LeastSquares(constant),
            "huber": lambda: Huber((self.huber_delta or half / 5.0) / half, constant),
            "logistic": lambda: Logistic(constant),
            "poisson": lambda: Poisson(constant),
            "mean": Mean,
            "median": Median,
            "quantile": lambda: Quantile(self.quantile),
            "own": lambda: self.contrast,
        }
        contrast: Contrast = contrasts[name]()
        return contrast

    def release_parameters(self) -> dict[str, Any]:
        """Return the parameters for a release; those of other contrasts are left out."""
        parameters = self.model_dump(mode="json", exclude_none=True, exclude={"contrast", "public", "twins"})
        if self.contrast != "quantile":
            parameters.pop("quantile", None)
        return {**parameters, "contrast": self.contrast if isinstance(self.contrast, str) else _named(self.contrast)}


def _named(contrast: Any) -> str:
    return str(getattr(contrast, "name", type(contrast).__name__))[:100]
