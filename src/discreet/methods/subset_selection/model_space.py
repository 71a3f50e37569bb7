"""The models a search may choose among: subsets of units, a unit being columns that enter and leave together."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.errors import InvalidParameterError
from discreet.mechanisms.subset_search import MAX_UNITS, n_subsets
from discreet.methods.base.candidates import check_units
from discreet.parameters.subset_selection import MAX_MODELS
from discreet.typing import Masks

MAX_LISTED_UNITS = 63
"""The most units of a list of models: one bit each of a machine word."""


@dataclass(frozen=True)
class ModelSpace:
    """The candidate models: subsets of units, a unit being columns that enter and leave together."""

    candidates: tuple[str, ...]
    forced: tuple[str, ...]
    units: tuple[tuple[str, ...], ...]
    max_size: int
    listed: tuple[int, ...] | None
    include_empty: bool
    one_by_one: bool = False

    @classmethod
    def plan(
        cls,
        candidates: tuple[str, ...],
        forced: Sequence[str] = (),
        groups: Sequence[Sequence[str]] = (),
        max_size: int | None = None,
        models: Sequence[Sequence[str]] | None = None,
        include_empty: bool = True,
        one_by_one: bool = False,
    ) -> "ModelSpace":
        """Return the models of a request, or refuse too many.

        At most 2^20 models where they are scored one by one, else subsets of at most 128 units.
        """
        check_units(candidates, forced, groups)
        grouped = {name for group in groups for name in group}
        alone = [(n,) for n in candidates if n not in grouped and n not in forced]
        order = {name: place for place, name in enumerate(candidates)}
        units = tuple(sorted([*alone, *(tuple(group) for group in groups if group)], key=lambda unit: order[unit[0]]))
        space = cls(
            candidates,
            tuple(forced),
            units,
            len(units) if max_size is None else min(max_size, len(units)),
            None,
            include_empty,
            one_by_one,
        )
        if models is not None:
            if max_size is not None:
                raise InvalidParameterError("models and max_size cannot both be given. Leave the larger models out.")
            space = space._with_list(models)
        space._check_size()
        return space

    def _with_list(self, models: Sequence[Sequence[str]]) -> "ModelSpace":
        masks = []
        for model in models:
            names = set(model) | set(self.forced)
            selected = [unit for unit in self.units if names & set(unit)]
            if names != set(self.forced).union(*selected):
                raise InvalidParameterError("Each listed model must hold candidates, and groups whole or not at all.")
            masks.append(sum(1 << j for j, unit in enumerate(self.units) if unit in selected))
        if len(set(masks)) < len(masks):
            raise InvalidParameterError("Listed models must differ. Leave out the ones that repeat.")
        size = len(self.units)
        return ModelSpace(self.candidates, self.forced, self.units, size, tuple(masks), True, self.one_by_one)

    def _check_size(self) -> None:
        d = len(self.units)
        most = MAX_LISTED_UNITS if self.must_be_listed else MAX_UNITS
        if d > most:
            raise InvalidParameterError(
                f"At most {most} columns can be free to enter, but there are {d}. "
                "Force or group columns, or name fewer candidates."
            )
        if self.must_be_listed and self.n_models > MAX_MODELS:
            fits = max(k for k in range(d + 1) if sum(math.comb(d, j) for j in range(k + 1)) <= MAX_MODELS)
            raise InvalidParameterError(
                f"At most 2^20 = {MAX_MODELS:,} candidate models can be compared, but {d} free columns make "
                f"{self.n_models:,}. Set max_size to at most {fits}, force or group columns, or name fewer candidates."
            )
        if self.n_models < 1:
            raise InvalidParameterError("There must be a model to choose. Name a candidate that is not forced.")

    @property
    def must_be_listed(self) -> bool:
        """Whether the models are scored one by one whatever their number: a given list, or a method's own loop."""
        return self.listed is not None or not self.include_empty or self.one_by_one

    @property
    def n_models(self) -> int:
        """Number of candidate models."""
        if self.listed is not None:
            return len(self.listed)
        return n_subsets(len(self.units), self.max_size) - (0 if self.include_empty else 1)

    def masks(self) -> Masks:
        """Return the candidate models in a fixed public order, shape (n_models,); bit j is set where unit j is in the
        model.
        """
        d = len(self.units)
        if self.listed is not None:
            return np.array(self.listed, dtype=np.uint64)
        if self.max_size == d:
            return np.arange(0 if self.include_empty else 1, 2**d, dtype=np.uint64)
        return np.sort(np.fromiter(self._bounded(d), dtype=np.uint64, count=self.n_models))

    def _bounded(self, d: int) -> Iterator[int]:
        for size in range(0 if self.include_empty else 1, self.max_size + 1):
            for chosen in combinations(range(d), size):
                yield sum(1 << j for j in chosen)

    def names(self, mask: int) -> tuple[str, ...]:
        """Return the columns of a model, forced ones included, in the order of the candidates."""
        chosen = set(self.forced).union(*(unit for j, unit in enumerate(self.units) if mask >> j & 1))
        return tuple(name for name in self.candidates if name in chosen)
