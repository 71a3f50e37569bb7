"""Small searches over all subsets, drawn lazily and often, beside the exact law of their enumeration."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.kernels.search import separable_blocks
from discreet.kernels.subsets.problem import SubsetProblem
from discreet.kernels.subsets.subsets import constrained_scores
from discreet.mechanisms import subset_race, subset_search
from discreet.mechanisms.rng import Source
from discreet.mechanisms.subset_race import SubsetRace, Work
from discreet.mechanisms.subset_search import noisy_min_subset
from tests.privacy.laws import law


@dataclass(frozen=True)
class Search:
    """A problem in units of its noise, and how eagerly its regions are divided."""

    name: str
    problem: SubsetProblem
    penalty: Any
    max_size: int
    width: int = separable_blocks.WIDTH
    tight: float = subset_race.TIGHT
    points: int = subset_race.POINTS

    @property
    def masks(self) -> Any:
        """The models."""
        every = np.arange(2 ** len(self.penalty), dtype=np.uint64)
        return every[np.bitwise_count(every) <= self.max_size]

    @property
    def scores(self) -> Any:
        """Every model's penalized score, from the enumeration."""
        found, _ = constrained_scores(self.problem, self.masks)
        units = np.arange(len(self.penalty), dtype=np.uint64)
        return found + (self.masks[:, None] >> units & np.uint64(1)) @ self.penalty

    def law(self, noise: str) -> Any:
        """Every model's exact chance."""
        return law(self.scores, noise)

    def divided(self, width: int) -> "Search":
        """The same search whose bounds are poor and used once."""
        return dataclasses.replace(self, name=f"{self.name}, divided", width=width, tight=0.0, points=1)


def _columns(design: str, n: int, p: int, rng: Any) -> Any:
    X = rng.uniform(-1.0, 1.0, (n, p))
    if design == "autoregressive":
        for j in range(1, p):
            X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1.0 - 0.9**2) * X[:, j]
    elif design == "one factor":
        X = 0.6 * X + 0.8 * rng.uniform(-1.0, 1.0, (n, 1))
    elif design == "duplicated":
        X[:, p // 2 :] = X[:, : p - p // 2]
        X[:, 0] = 0.0
    return X


def search(
    name: str,
    design: str,
    d: int,
    seed: int,
    *,
    n: int = 200,
    radius: float = 0.5,
    penalty: float = 1.0,
    max_size: int | None = None,
    width_of_unit: tuple[int, ...] = (1,),
    n_always: int = 0,
    spread: float = 12.0,
) -> Search:
    """A search whose best and worst least squares are `spread` noises apart; radius as a share of the free norm."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    sizes = [width_of_unit[j % len(width_of_unit)] for j in range(d)]
    p = sum(sizes) + n_always
    X = _columns(design, n, p, rng)
    y = X @ rng.normal(size=p) + rng.uniform(-1.0, 1.0, n)
    free = np.linalg.lstsq(X, y, rcond=None)[0]
    scale = spread / max(float(y @ y - (y - X @ free) @ (y - X @ free)), 1e-12)
    of_unit = np.repeat(np.arange(d), sizes)
    units = np.zeros((d, p), dtype=bool)
    units[of_unit, n_always + np.arange(len(of_unit))] = True
    problem = SubsetProblem(
        X.T @ X * scale, X.T @ y * scale, float(y @ y) * scale, radius * float(np.abs(free).sum()),
        units, np.arange(p) < n_always, 1e-10 * max(spread, 10.0),
    )  # fmt: skip
    return Search(name, problem, np.full(d, penalty) * sizes, d if max_size is None else max_size)


def searches(d: int) -> list[Search]:
    """What a search may meet, both as it comes and divided to single models."""
    plain = [
        search("independent, free", "independent", d, 1, radius=3.0, penalty=0.0),
        search("autoregressive, bound active", "autoregressive", d, 2, radius=0.4),
        search("one factor, bound tight", "one factor", d, 3, radius=0.05, max_size=4),
        search("groups, always, free", "autoregressive", d, 4, radius=2.0, width_of_unit=(2, 1, 3), n_always=2),
        search("groups, at most three", "one factor", d, 5, width_of_unit=(3, 1), max_size=3, n_always=1),
        search("duplicates and a zero", "duplicated", d, 6, radius=0.7, penalty=0.5),
        search("five rows", "independent", d, 7, n=5, radius=1.5, penalty=0.7),
        search("one row", "independent", d, 8, n=1, radius=0.8, penalty=0.3, max_size=d - 1),
        search("at most one", "autoregressive", d, 9, radius=1.5, max_size=1, penalty=0.0),
        search("far apart", "autoregressive", d, 10, radius=0.6, spread=300.0, penalty=2.0),
    ]
    return plain + [one.divided(1 + i % 3) for i, one in enumerate(plain)]


@dataclass
class Steps:
    """What the draws of a search went through."""

    points: int = 0
    ignored: int = 0
    bounds: int = 0
    splits: int = 0
    finished: int = 0
    taken_out: int = 0

    def __add__(self, other: "Steps") -> "Steps":
        mine, theirs = dataclasses.astuple(self), dataclasses.astuple(other)
        return Steps(*(a + b for a, b in zip(mine, theirs, strict=True)))


@dataclass
class Memory:
    """Bounds and scores of a problem: functions of it alone, so they may serve all draws."""

    bounds: dict[Any, Any] = field(default_factory=dict)
    scores: dict[int, Any] = field(default_factory=dict)
    steps: Steps = field(default_factory=Steps)


class Counted(SubsetRace):
    """The race, with its bounds remembered and its steps counted."""

    memory: Memory

    def _fit(self, inside, outside, parent):
        # The bound is kept beside its parent, so that the parent's identity stays its own.
        key = inside, outside, id(parent)
        if key not in self.memory.bounds:
            self.memory.bounds[key] = super()._fit(inside, outside, parent), parent
        self.work.bounds += 1
        return self.memory.bounds[key][0]

    def _take_out(self, region):
        self.memory.steps.taken_out += 1
        return super()._take_out(region)

    def _finish(self, model, region):
        self.memory.steps.finished += 1
        super()._finish(model, region)


def draws(
    one: Search, noise: str, size: int, rng: Source, race: type[Counted] = Counted, epsilon: float = 1.0
) -> tuple[Any, Steps]:
    """How often each model wins in `size` lazy searches, and what these went through."""
    patch, memory, work = pytest.MonkeyPatch(), Memory(), Work()
    scores = subset_search.ModelScores(one.problem)

    class Remembered:
        start = scores.start

        def __init__(self, problem: SubsetProblem) -> None:
            pass

        def value(self, model: int) -> Any:
            if model not in memory.scores:
                memory.scores[model] = scores.value(model)
            return memory.scores[model]

    with patch.context() as patched:
        patched.setattr(separable_blocks, "WIDTH", one.width)
        patched.setattr(subset_race, "TIGHT", one.tight)
        patched.setattr(subset_race, "POINTS", one.points)
        patched.setattr(race, "memory", memory, raising=False)
        patched.setattr(subset_search, "SubsetRace", race)
        patched.setattr(subset_search, "ModelScores", Remembered)
        counts = np.zeros(2 ** len(one.penalty), dtype=np.int64)
        for _ in range(size):
            chosen = noisy_min_subset(
                one.problem, one.penalty, one.max_size, 1, epsilon, rng, noise, enumerate_models=False, work=work
            )
            counts[chosen] += 1
    memory.steps.points, memory.steps.ignored = work.points, work.ignored
    memory.steps.bounds, memory.steps.splits = work.bounds, work.splits
    if counts.sum() != counts[one.masks].sum():
        raise AssertionError(f"{one.name}: a model of more than {one.max_size} units won")
    return counts[one.masks], memory.steps


def p_value(counts: Any, chances: Any) -> float:
    """Chi-square of counts against chances; models that expect fewer than five draws share cells in their order."""
    expected = chances / chances.sum() * counts.sum()
    common = expected >= 5.0
    observed, wanted = list(counts[common]), list(expected[common])
    rare = np.flatnonzero(~common)
    total = np.cumsum(expected[rare])
    # Each cell but the last, which takes what is left over, expects ten or more.
    cell = np.minimum(total // 10.0, max(total[-1] // 10.0 - 1.0, 0.0)) if rare.size else total
    for name in np.unique(cell):
        observed.append(counts[rare[cell == name]].sum())
        wanted.append(expected[rare[cell == name]].sum())
    if len(wanted) > 2 and wanted[-1] < 5.0:
        observed[-2:], wanted[-2:] = [sum(observed[-2:])], [sum(wanted[-2:])]
    return float(chisquare(observed, wanted).pvalue)
