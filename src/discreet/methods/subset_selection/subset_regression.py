"""What methods that choose among regression models share: parameters, checks, what is public about a request."""

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from pydantic import field_validator, model_validator

from discreet.accounting.events import ComposedEvent, Event
from discreet.accounting.guarantee import exact, exact_epsilon
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.selection import NOISE_OF_MECHANISM, Noise
from discreet.methods.base.method import Method, Preparation
from discreet.methods.base.private_bounds import sides_of, widest
from discreet.methods.base.request_facts import check_ratio, not_protected, public_columns
from discreet.methods.subset_selection.model_space import ModelSpace
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.target_scale import target_shares
from discreet.methods.subset_selection.tuning_plan import Y_QUANTILE, Tuning, split
from discreet.parameters.subset_selection import SHARES, SubsetParameters
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Integers


class SubsetSelection(SubsetParameters, Method):
    """A method that selects columns by choosing among linear regressions."""

    @field_validator("l1_grid")
    @classmethod
    def _distinct(cls, value: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if value is not None and len(set(value)) < len(value):
            raise ValueError("l1_grid must hold different numbers.")
        return value

    @model_validator(mode="after")
    def _what_goes_together(self) -> Self:
        if self.l1_grid is not None and self.l1_radius != "private":
            raise ValueError('l1_grid must come with l1_radius="private": it lists what R may be.')
        if self.y_quantile is not None and self.y_bound not in ("private", None):
            raise ValueError('y_quantile must come with y_bound="private": it is the quantile that is estimated.')
        for name in {"y_center", "y_bound"} & (self.shares or {}).keys():
            if getattr(self, name) not in ("private", None):
                raise ValueError(f'shares of {name} must come with {name}="private": nothing is estimated otherwise.')
        if self.max_false is not None and self.model_penalty != "auto":
            raise ValueError("max_false must come with model_penalty=auto: another penalty has a chance of its own.")
        if self.as_published and "private" in (self.l1_radius, self.y_bound, self.y_center):
            raise ValueError("as_published must have public parameters: the paper estimates none privately.")
        return self

    @property
    def noise_law(self) -> Noise:
        """Law of the noise of every choice."""
        return NOISE_OF_MECHANISM[self.mechanism]

    def number_of_rows(self, metadata: Metadata) -> int | None:
        """Return the number of rows that formulas may use: the public one, else the guess `n0`."""
        return metadata.n_rows if metadata.n_rows is not None else self.n0

    @property
    def _public_center(self) -> float | None:
        return self.y_center if isinstance(self.y_center, float) else None

    def setting(
        self, metadata: Metadata, target: str, candidates: Sequence[str] | None, one_by_one: bool = False
    ) -> Setting:
        """Return design, models and radius, their names, sizes and bounds checked; private bounds are the widest
        possible.
        """
        center = 0.0 if self.as_published and self.y_center is None else self._public_center
        bound = self.y_bound if isinstance(self.y_bound, float) else None
        design = Design.plan(widest(metadata), target, candidates, center, bound)
        if self.as_published and sides_of(metadata, design.columns):
            raise InvalidParameterError("as_published must have public bounds: the paper estimates none privately.")
        space = ModelSpace.plan(
            design.candidates, self.forced, self.groups, self.max_size, self.models, not self.as_published, one_by_one
        )
        if self.l1_radius == "private":
            radius = max(self.l1_grid) if self.l1_grid is not None else 8.0 * design.bound
        else:
            ratio = self._default_ratio(metadata, target)
            radius = self.l1_radius if self.l1_radius is not None else ratio * design.bound
        for stated in (radius, *(self.l1_grid or ())):
            check_ratio("l1_radius", stated, "y_bound", design.bound)
        return Setting(design, space, radius, self.fit_intercept and not self.as_published)

    def _shares_of_target(self, metadata: Metadata, target: str) -> dict[str, Fraction]:
        """Share of epsilon of each private estimate of the target."""
        # A stated R is meant for the scale that the metadata give.
        is_scaled = isinstance(self.l1_radius, float)
        shared = {*(self.shares or {}), *(["y_bound"] if self.y_quantile is not None else [])}
        bound = "furthest" if self.y_bound is None and is_scaled and "y_bound" not in shared else self.y_bound
        by_name = {"y_center": self.y_center, "y_bound": bound}
        by_name = {name: "private" if value is None and name in shared else value for name, value in by_name.items()}
        n_rows = self.number_of_rows(metadata)
        return target_shares({} if self.as_published else by_name, metadata, target, n_rows, self.epsilon)

    def _default_ratio(self, metadata: Metadata, target: str) -> float:
        """R / r: less where r is a typical deviation of the target, that of a model's predictions too."""
        return 1.5 if "y_bound" in self._shares_of_target(metadata, target) else 2.0

    def tuning(self, metadata: Metadata, setting: Setting, n_rows: bool = False, variance: bool = False) -> Tuning:
        """Plan the private estimates before the selection, of rows where they must be known: cost and noise."""
        n_public = self.number_of_rows(metadata)
        of_target = self._shares_of_target(metadata, setting.design.target)
        is_private = {
            "bounds": bool(sides_of(metadata, setting.design.columns)),
            "y_center": "y_center" in of_target,
            "y_bound": "y_bound" in of_target,
            "n_rows": n_rows and n_public is None,
            "l1_radius": self.l1_radius == "private",
            "sigma2": variance,
        }
        epsilon = exact_epsilon(self.epsilon)
        shares = {name: float(share) for name, share in of_target.items()} | dict(self.shares or {})
        budget = split(epsilon, [name for name in SHARES if is_private[name]], shares)
        return Tuning(
            metadata,
            setting,
            self.noise_law,
            self.mechanism,
            budget,
            epsilon - sum(budget.values(), Fraction(0)),
            self._public_center,
            self.y_bound if isinstance(self.y_bound, float) else None,
            None if self.l1_radius == "private" else self.l1_radius,
            exact(self.y_quantile if self.y_quantile is not None else Y_QUANTILE, "y_quantile"),
            self.l1_grid,
            n_public,
        )


class PreparedSelection(Preparation):
    """A request of a `SubsetSelection`, as far as the methods share it.

    Parameters
    ----------
    method : SubsetSelection
        The parameters.
    setting : Setting
        The widest that can come out.
    tuning : Tuning
        The private estimates before the choice.
    """

    def __init__(self, method: SubsetSelection, setting: Setting, tuning: Tuning) -> None:
        self.setting, self.tuning = setting, tuning
        self.design, self.space, self.radius = setting.design, setting.space, setting.radius
        self.columns, self.target, self.candidates = self.design.columns, self.design.target, self.design.candidates
        self.public = tuple(public_columns(tuning.metadata, self.design))
        self.not_protected = not_protected(tuning.metadata)
        self._parameters = method.model_dump(mode="json", exclude_none=True)

    @abstractmethod
    def selection_record(self, noise: NoiseRecord) -> StepRecord:
        """Return the choice of the model as the last step."""

    def _common_parameters(self, penalty: float | str) -> dict[str, Any]:
        """All parameters, defaults filled in; a private estimate stays "private"."""
        budget, private_bounds = self.tuning.budget, bool(sides_of(self.tuning.metadata, (self.target,)))
        follows = "y_bound" in budget or private_bounds  # r is private, or follows from private bounds
        center = self._parameters.get("y_center", self.design.center)
        if "y_center" in budget or (private_bounds and "y_center" not in self._parameters):
            center = "private"
        return {
            **self._parameters,
            "l1_radius": self._parameters.get(
                "l1_radius", f"{float(self.setting.ratio):g} r" if follows else self.radius
            ),
            "model_penalty": penalty,
            "y_bound": self._parameters.get("y_bound", "private" if follows else self.design.bound),
            "y_center": center,
            "fit_intercept": self.setting.intercept,
            "n_candidates": self.space.n_models,
        }


def events_of(*events: Event) -> Event:
    """Return the only event, or the composition of several."""
    return events[0] if len(events) == 1 else ComposedEvent(events)


def largest_target(table: Table, design: Design) -> float:
    """Return the largest absolute target, in units of its declared bound: it makes an algorithm not private.

    Source: Lei et al. 2018, 5.1 and 5.2, set r to the largest Y of the table, which must bound |Y|.
    """
    counts = table.map_reduce(design, _target_counts, np.zeros(GRID + 1, dtype=np.int64))
    return int(np.flatnonzero(counts).max(initial=0)) / GRID


def _target_counts(cells: Any) -> Integers:
    """How often each absolute value of the target occurs."""
    return np.bincount(np.abs(cells[:, -1].astype(np.int64)), minlength=GRID + 1)
