"""What is estimated on weighted public points: a contrast, in the units of the columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator
from scipy.special import expit

from discreet.data.design import Cells
from discreet.data.hybrid_design import HybridDesign
from discreet.data.metadata import half_width
from discreet.errors import InvalidParameterError
from discreet.kernels.bounded_loss import LossTables, loss_tables
from discreet.kernels.contrasts import Huber, LeastSquares, Logistic, Mean, Median, Poisson, Quantile
from discreet.kernels.m_estimates import Contrast, ContrastError, m_estimate
from discreet.kernels.moments import GRID
from discreet.methods.base import Method
from discreet.methods.terms import Terms
from discreet.release import CoefficientRecord, FitRecord

Floats = npt.NDArray[np.float64]
ContrastName = Literal["linear", "huber", "logistic", "poisson", "mean", "median", "quantile"]
LOCATIONS = ("mean", "median", "quantile")

BOX = 1000.0
"""Coefficients per half range are cut to this on both sides."""

LARGEST = 1e300
"""Of a released coefficient, so that it is finite."""


Ridge = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class MEstimation(Method):
    """The parameters of an M-estimate.

    Parameters
    ----------
    epsilon : float
        In nats, in (0, 1000].
    contrast : str or Contrast
        "linear", "huber", "logistic", "poisson" on the candidates, "mean", "median", "quantile" of the target, or an
        object with the members of `Contrast`, in the columns' own units. "auto", the default: logistic for a target of
        two values, else linear.
    quantile : float
        Of the contrast "quantile", in (0, 1).
    huber_delta : float, optional
        Of the contrast "huber", in the target's unit; default a tenth of its range.
    ridge : float
        Half the price of a squared coefficient per standard deviation of its column, beside the mean contrast.
    fit_intercept : bool
        Whether a model has a constant.
    """

    model_config: ClassVar[Any] = {**Method.model_config, "arbitrary_types_allowed": True}

    epsilon: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 1.0
    contrast: Any = "auto"
    quantile: Annotated[float, Field(gt=0, lt=1)] = 0.5
    huber_delta: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    ridge: Ridge = 0.0
    fit_intercept: bool = True

    @field_validator("contrast")
    @classmethod
    def _known(cls, value: Any) -> Any:
        names = ("auto", *get_args(ContrastName))
        if isinstance(value, str):
            if value not in names:
                raise ValueError(f"contrast must be one of {', '.join(names)}, but it is {value[:40]!r}.")
        elif not callable(getattr(value, "value_and_gradient", None)) or not callable(
            getattr(value, "n_parameters", None)
        ):
            raise ValueError("contrast must be a name, or an object with n_parameters and value_and_gradient.")  # noqa: TRY004
        return value

    def objective(self, design: HybridDesign, cells: Cells, records: Floats) -> "Objective":
        """Return what is minimized.

        Parameters
        ----------
        design : HybridDesign
            Ranges and units.
        cells : ndarray of int16, shape (m, n_columns)
            Points that say how the columns are spread.
        records : ndarray of float, shape (m,)
            How many records fall on each.

        Returns
        -------
        Objective
            The contrast in scaled units.

        Raises
        ------
        InvalidParameterError
            When the target does not fit the contrast.
        """
        return Objective.of(self, design, cells, records)

    def said(self) -> dict[str, Any]:
        """Return the parameters for a release; those of other contrasts are left out.

        Returns
        -------
        dict
            JSON values.
        """
        found = self.model_dump(mode="json", exclude_none=True, exclude={"contrast", "public", "twins"})
        if self.contrast != "quantile":
            found.pop("quantile", None)
        return {**found, "contrast": self.contrast if isinstance(self.contrast, str) else _named(self.contrast)}


def _named(contrast: Any) -> str:
    return str(getattr(contrast, "name", type(contrast).__name__))[:100]


@dataclass(frozen=True)
class Objective:
    """A contrast on points, each column divided by its public standard deviation.

    Parameters
    ----------
    name : str
        Of the contrast.
    contrast : Contrast
        In scaled units; a user's own in the columns' units.
    design : HybridDesign
        Ranges and units.
    center, spread : ndarray of float, shape (p,)
        Of the columns in half ranges.
    shift : ndarray of float, shape (p,)
        What is added to a column in half ranges: where there is no constant, its own zero is kept.
    fit_intercept : bool
        Whether there is a constant.
    """

    name: str
    contrast: Contrast
    design: HybridDesign
    center: Floats
    spread: Floats
    shift: Floats
    fit_intercept: bool

    @classmethod
    def of(cls, method: MEstimation, design: HybridDesign, cells: Cells, records: Floats) -> "Objective":
        """Return the objective of a method.

        Parameters
        ----------
        method : MEstimation
            The parameters.
        design : HybridDesign
            Ranges and units.
        cells : ndarray of int16, shape (m, n_columns)
            Points that say how the columns are spread.
        records : ndarray of float, shape (m,)
            How many records fall on each.

        Returns
        -------
        Objective
            See `MEstimation.objective`.
        """
        middle, half = half_width(design.metadata.declared(design.target))  # type: ignore[arg-type]
        targets = np.unique(cells[:, design.target_place])
        two = len(targets) <= 2 and set(targets.tolist()) <= {-GRID, GRID}
        name = method.contrast if isinstance(method.contrast, str) else "own"
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
        constant = method.fit_intercept
        contrasts: dict[str, Callable[[], Any]] = {
            "linear": lambda: LeastSquares(constant),
            "huber": lambda: Huber((method.huber_delta or half / 5.0) / half, constant),
            "logistic": lambda: Logistic(constant),
            "poisson": lambda: Poisson(constant),
            "mean": Mean,
            "median": Median,
            "quantile": lambda: Quantile(method.quantile),
            "own": lambda: method.contrast,
        }
        try:
            contrast = contrasts[name]()
        except ContrastError as error:
            raise InvalidParameterError(str(error)) from None
        middles, halves = Terms(design.regression).scales()
        columns = design.terms(cells)[:, 1:] / GRID
        shift = np.zeros(columns.shape[1]) if constant else (middles / halves)[1:]
        shares = records / records.sum()
        center = shares @ (columns + shift) if constant else np.zeros(columns.shape[1])
        spread = np.sqrt(shares @ (columns + shift - center) ** 2)
        return cls(name, contrast, design, center, np.where(spread > 1e-6, spread, 1.0), shift, constant)

    @property
    def is_location(self) -> bool:
        """Whether it is about the target alone."""
        return self.name in LOCATIONS

    @property
    def predicts(self) -> bool:
        """Whether predictions can be rated."""
        return self.name != "own"

    @cached_property
    def _target(self) -> tuple[float, float]:
        return half_width(self.design.metadata.declared(self.design.target))  # type: ignore[arg-type]

    @property
    def _target_shift(self) -> float:
        """Added to a linear target in half ranges: without a constant, its own zero is kept."""
        return self._target[0] / self._target[1] if self._is_linear and not self.fit_intercept else 0.0

    @property
    def _is_linear(self) -> bool:
        return self.name in ("linear", "huber")

    def points(self, cells: Cells) -> tuple[Floats, Floats]:
        """Return X and y of points as the contrast takes them.

        Parameters
        ----------
        cells : ndarray of int16, shape (m, n_columns)
            Points.

        Returns
        -------
        X : ndarray of float, shape (m, p)
            Standardized columns; the target alone for a location; own units for a contrast of one's own.
        y : ndarray of float, shape (m,)
            Responses.
        """
        target = cells[:, self.design.target_place] / GRID
        middle, half = self._target
        if self.is_location:
            return target[:, None], np.zeros(len(target))
        columns = self.design.terms(cells)[:, 1:] / GRID
        if self.name == "own":
            middles, halves = Terms(self.design.regression).scales()
            return middles[1:] + halves[1:] * columns, middle + half * target
        if self.name == "logistic":
            target = (target > 0.0).astype(np.float64)
        elif self.name == "poisson":
            target = np.maximum(middle + half * target, 0.0)
        return (columns + self.shift - self.center) / self.spread, target + self._target_shift

    def minimize(
        self, X: Floats, y: Floats, weights: Floats, ridge: float = 0.0, start: Floats | None = None
    ) -> Floats:
        """Return the minimum on weighted points.

        Parameters
        ----------
        X : ndarray of float, shape (m, p)
            As `points` returned it.
        y : ndarray of float, shape (m,)
            As `points` returned it.
        weights : ndarray of float, shape (m,)
            Nonnegative.
        ridge : float
            See `MEstimation`.
        start : ndarray of float, optional
            Where to begin.

        Returns
        -------
        ndarray of float
            The contrast's parameters.

        Raises
        ------
        InvalidParameterError
            When a contrast of one's own cannot be minimized.
        """
        try:
            return m_estimate(self.contrast, X, y, weights, ridge=ridge, start=start)
        except ContrastError as error:
            raise InvalidParameterError(str(error)) from None

    def nothing(self) -> Floats:
        """Return the parameters of no effect at all: a chance of one half, or the middle of the target's range.

        Returns
        -------
        ndarray of float
            Zeros, but that a Poisson constant is the logarithm of the middle.
        """
        found = np.zeros(1 if self.is_location else len(self.center) + self.fit_intercept)
        if self.name == "poisson" and self.fit_intercept:
            found[0] = np.log(max(self._target[0], 1e-9))
        return found

    def per_half_range(self, theta: Floats) -> Floats:
        """Return parameters as coefficients of the constant and of the columns, per half range around the middle.

        Parameters
        ----------
        theta : ndarray of float
            As `minimize` returned it; not of a contrast of one's own.

        Returns
        -------
        ndarray of float, shape (1 + p,)
            Slopes cut to the box; of a location the constant alone, the others 0. A linear target's zero is its middle.
        """
        found = np.zeros(1 + len(self.center))
        if self.is_location:
            found[0] = theta[0]
            return np.clip(found, -BOX, BOX)
        found[1:] = np.clip(theta[-len(self.center) :] / self.spread, -BOX, BOX)
        constant = theta[0] if self.fit_intercept else 0.0
        found[0] = constant - self._target_shift + found[1:] @ (self.shift - self.center)
        return found

    def mean(self) -> Callable[[Floats], Floats]:
        """Return the map from linear predictors to predictions of the target on its scale from -1 to 1.

        Returns
        -------
        callable
            Elementwise.
        """
        middle, half = self._target
        if self.name == "logistic":
            return lambda eta: 2.0 * expit(eta) - 1.0
        if self.name == "poisson":
            return lambda eta: (np.exp(np.minimum(eta, 50.0)) - middle) / half
        return lambda eta: eta

    def losses(self, models: Floats, clip: float | None = None) -> LossTables:
        """Return the tables that rate models by their predictions.

        Parameters
        ----------
        models : ndarray of float, shape (n_models, 1 + p)
            As `per_half_range` returned them.
        clip : float, optional
            For the logarithm of the chance of a class, see `loss_tables`.

        Returns
        -------
        LossTables
            Of a quantile the pinball loss.
        """
        tau = getattr(self.contrast, "tau", None) if self.name in ("median", "quantile") else None
        return loss_tables(models, self.mean(), clip, tau)

    def record(self, theta: Floats) -> FitRecord:
        """Return parameters in the columns' units, for a release.

        Parameters
        ----------
        theta : ndarray of float
            As `minimize` returned it.

        Returns
        -------
        FitRecord
            Without intervals.
        """
        if self.name == "own":
            return _fit_record(
                "own", [(f"theta[{j}]", None, None, float(value), np.inf) for j, value in enumerate(theta)]
            )
        middle, half = self._target
        found = self.per_half_range(theta)
        if self.is_location:
            return _fit_record(self.name, [(self.design.target, None, None, middle + half * float(found[0]), half)])
        terms = Terms(self.design.regression)
        middles, halves = terms.scales()
        unit = half if self._is_linear else 1.0
        with np.errstate(over="ignore", invalid="ignore"):  # units may be as far apart as floats are
            own = np.clip(found * unit / halves, -LARGEST, LARGEST)
            own[0] = found[0] * unit - own[1:] @ middles[1:] + (middle if self._is_linear else 0.0)
            own = np.clip(np.nan_to_num(own), -LARGEST, LARGEST)
            reach = np.minimum(BOX * unit / halves, LARGEST)
        names = ["(intercept)" if o is None else o if level is None else f"{o}={level}" for o, level in terms.owners]
        estimates = [
            (name, owner, level, float(own[j]), float(reach[j]))
            for j, (name, (owner, level)) in enumerate(zip(names, terms.owners, strict=True))
        ]
        return _fit_record(self.name, estimates if self.fit_intercept else estimates[1:])


def _fit_record(family: Any, estimates: Sequence[tuple[str, str | None, str | None, float, float]]) -> FitRecord:
    return FitRecord(
        family=family,
        confidence=0.95,
        coefficients=tuple(
            CoefficientRecord(
                name=name,
                column=column,
                level=level,
                estimate=estimate,
                low=estimate - min(reach, LARGEST),
                high=estimate + min(reach, LARGEST),
                sampling_variance=0.0,
                privacy_variance=0.0,
                uninformative=True,
            )
            for name, column, level, estimate, reach in estimates
        ),
    )
