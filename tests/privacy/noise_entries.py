"""What reaches noise: every mechanism that methods call, what of it carries the rows, and what a change of it costs."""

import ast
import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from scipy.special import ndtri

import discreet.mechanisms
import discreet.methods
from discreet.accounting.events import (
    CubeEvent,
    EllipsoidEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
    SelectionEvent,
)
from discreet.kernels.glm.precise_sums import information, residuals
from discreet.kernels.moments.moments import GRID
from discreet.kernels.subsets.model_scores import ModelScores
from discreet.kernels.subsets.subsets import score_blocks
from discreet.mechanisms import (
    additive,
    cube,
    ellipsoid,
    generalized_exponential,
    quantile,
    selection,
    spherical,
    subset_search,
    threshold,
    top_k,
)
from discreet.methods.regression import objective_perturbation

Scores = list[Fraction]


@dataclass(frozen=True)
class Call:
    """One call of a mechanism: where from, what carries the rows, what is public, what came out."""

    mechanism: str
    where: str
    data: Any
    public: dict[str, Any]
    output: Any


@dataclass(frozen=True)
class Entry:
    """How a mechanism is read: which arguments carry the rows, what a change of them costs, which events it is."""

    home: ModuleType
    data: str | None
    cost: Callable[[Call, Call], Fraction]
    events: Callable[[dict[str, Any]], tuple[Event | type[Event], ...]]
    measured: Callable[[Any, dict[str, Any]], Any] = lambda data, _public: data


def _whole(values: Any, _public: Any) -> list[int]:
    return [int(value) for value in values]


def _scores(values: Any, _public: Any = None) -> Scores:
    """Scores as exact numbers: their differences may be far smaller than they are."""
    found = np.asarray(values)
    assert np.isfinite(found).all(), "a score is not a number"
    return [Fraction(value) for value in found.tolist()]


def _scores_of_subsets(problem: Any, public: dict[str, Any]) -> Scores:
    """The scores that either way of the search adds its noise to."""
    d = len(problem.units)
    units, size = np.arange(d, dtype=np.uint64), min(public["max_size"], d)
    blocks = [(masks, scores) for masks, scores, _ in score_blocks(problem, size, None)]
    masks = np.concatenate([masks for masks, _ in blocks])
    if subset_search.n_subsets(d, size) > subset_search.ENUMERATED:
        scores, start = [ModelScores(problem).value(int(mask))[0] for mask in masks], problem.yty
    else:
        scores, start = np.concatenate([scores for _, scores in blocks]).tolist(), 0.0
    counted = (masks[:, None] >> units & np.uint64(1)) @ public["penalty"]
    return _scores([start + score + price for score, price in zip(scores, counted, strict=True)])


def _of_range(old: Call, new: Call) -> Fraction:
    """The range, over candidates, of the changes: what the selection theorem asks for."""
    changes = [b - a for a, b in zip(old.data, new.data, strict=True)]
    epsilon, gamma = Fraction(old.public["epsilon"]), Fraction(old.public["range_sensitivity"])
    return (max(changes) - min(changes)) / gamma * epsilon


def _of_largest(old: Call, new: Call) -> Fraction:
    """The largest change of a score."""
    largest = max(abs(b - a) for a, b in zip(old.data, new.data, strict=True))
    return largest / Fraction(old.public["sensitivity"]) * Fraction(old.public["epsilon"])


def _of_l1(old: Call, new: Call) -> Fraction:
    return Fraction(sum(abs(b - a) for a, b in zip(old.data, new.data, strict=True))) / Fraction(old.public["scale"])


def _of_one_number(old: Call, new: Call) -> Fraction:
    return Fraction(max(abs(b - a) for a, b in zip(old.data, new.data, strict=True))) / Fraction(old.public["scale"])


def _of_length(old: Call, new: Call) -> Fraction:
    moves = zip(old.data, new.data, old.public["scales"], strict=True)
    return Fraction(math.sqrt(float(sum(((b - a) / Fraction(scale)) ** 2 for a, b, scale in moves))))


def _of_l2(old: Call, new: Call) -> Fraction:
    square = sum((b - a) ** 2 for a, b in zip(old.data, new.data, strict=True))
    return Fraction(square) / (2 * Fraction(old.public["scale"]) ** 2)


@dataclass(frozen=True)
class Minimum:
    """A minimum of the perturbed objective, and the sums there: of which linear term it is the exact minimum."""

    sums: Callable[[tuple[int, ...]], Any]
    numbers: tuple[int, ...]

    def seen_by(self, other: "Minimum") -> tuple[Any, Any]:
        """Gradient of the losses and information of another table at this point."""
        found = other.sums(self.numbers)
        return [Fraction(part, 2**60 * GRID) for part in residuals(found)], information(found)

    def moved(self, other: "Minimum") -> Any:
        """How far the linear term moves so that this stays the minimum."""
        pair = zip(self.seen_by(self)[0], self.seen_by(other)[0], strict=True)
        return np.array([float(b - a) for a, b in pair])


def _of_objective(old: Call, new: Call) -> Fraction:
    """Log ratio of the densities of one minimum, at most: of the linear term's law, and of the determinant."""
    chosen = old.public["chosen"]
    dets = [
        np.linalg.slogdet(old.data.seen_by(table)[1] + chosen.ridge * np.eye(chosen.n_coefficients))[1]
        for table in (old.data, new.data)
    ]
    return Fraction(chosen.beta * float(np.linalg.norm(old.data.moved(new.data))) + abs(dets[1] - dets[0]))


def _choice(public: dict[str, Any]) -> tuple[Event, ...]:
    return (SelectionEvent(Fraction(public["epsilon"]), public["noise"]),)


def _rounds(public: dict[str, Any]) -> tuple[Event, ...]:
    return (SelectionEvent(Fraction(public["epsilon"]) / public["k"], public["noise"]),) * public["k"]


def _nothing(_old: Call, _new: Call) -> Fraction:
    return Fraction(0)


ENTRIES = {
    "discrete_laplace": Entry(additive, "values", _of_l1, lambda _: (LaplaceEvent,), _whole),
    "discrete_gaussian": Entry(additive, "values", _of_l2, lambda _: (GaussianEvent,), _whole),
    "cube_noise": Entry(cube, "values", _of_one_number, lambda _: (CubeEvent,), _whole),
    "ellipsoid_noise": Entry(ellipsoid, "values", _of_length, lambda _: (EllipsoidEvent,), _whole),
    "noisy_min": Entry(selection, "scores", _of_range, _choice, _scores),
    "noisy_min_subset": Entry(subset_search, "problem", _of_range, _choice, _scores_of_subsets),
    "canonical_lipschitz": Entry(top_k, "scores", _of_largest, _choice, _scores),
    "one_shot": Entry(top_k, "scores", _of_largest, _choice, _scores),
    "above_threshold": Entry(threshold, "scores", _of_largest, _choice, _scores),
    "peeling": Entry(top_k, "scores", _of_largest, _rounds, _scores),
    "spherical_laplace": Entry(spherical, None, _nothing, lambda _: ()),
    "minimized": Entry(objective_perturbation, "sums", _of_objective, lambda _: (ObjectivePerturbationEvent,)),
}
"""By the names that methods import. The minimum of a perturbed objective stands for its linear term, which moves."""

COMPOSITES = {"noisy_quantile": quantile, "noisy_min_scaled": generalized_exponential}
"""They prepare scores and hand them to an entry, which is wrapped where they import it."""

INNER = {"noisy_min_of_blocks", "noisy_leaders"}
"""Parts of entries that no method may call."""

IGNORED = {"rng", "progress", "work"}


def method_modules() -> list[ModuleType]:
    """Every module of the methods."""
    inside = pkgutil.walk_packages(discreet.methods.__path__, "discreet.methods.")
    return [importlib.import_module(module.name) for module in inside]


def mechanism_functions() -> set[str]:
    """Every public function of the mechanisms that is handed a source of randomness."""
    found = set()
    for info in pkgutil.iter_modules(discreet.mechanisms.__path__):
        module = importlib.import_module(f"discreet.mechanisms.{info.name}")
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
            if own and "rng" in inspect.signature(value).parameters:
                found.add(name)
    return found


def unwrapped(module: ModuleType) -> list[str]:
    """What a module takes from the mechanisms that draws and would not be recorded."""
    found = []
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.startswith("discreet.mechanisms")]
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("discreet.mechanisms"):
            continue
        home = importlib.import_module(str(node.module))
        for name in node.names:
            value = getattr(home, name.name)
            draws = callable(value) and _takes_source(value) and name.name not in {*ENTRIES, *COMPOSITES}
            renamed = name.name in ENTRIES and vars(module).get(name.name) is not value
            if inspect.ismodule(value) or draws or renamed:
                found.append(name.name)
    return found


def _takes_source(value: Any) -> bool:
    if not inspect.isfunction(value) and not inspect.isclass(value):
        return False
    return "rng" in inspect.signature(value).parameters


@cache
def places() -> tuple[tuple[ModuleType, str], ...]:
    """Where an entry is imported: each is wrapped there."""
    modules = (*method_modules(), *COMPOSITES.values())
    return tuple(
        (module, name)
        for module in modules
        for name, entry in ENTRIES.items()
        if vars(module).get(name) is getattr(entry.home, name)
    )


def lattice_of(old: Call, new: Call) -> Fraction:
    """What the lattice of Gaussian noise adds, in nats."""
    if old.mechanism != "discrete_gaussian":
        return Fraction(0)
    return _of_l1(old, new) / Fraction(old.public["scale"])


def price_of(event: Any) -> Fraction:
    """What a part is charged: epsilon, or rho."""
    return Fraction(event.rho if isinstance(event, GaussianEvent) else event.epsilon)


def cost_within(event: Any, loss: Fraction) -> Fraction:
    """What a choice costs in the unit of the noise that it is charged with: of bounded range, as rho or as epsilon."""
    if not isinstance(event, GaussianEvent):
        return loss
    chance = 1.0 / (1.0 + math.exp(-float(loss) / 2.0))
    return Fraction((2.0 * float(ndtri(chance))) ** 2 / 2.0)
