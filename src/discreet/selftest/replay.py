"""The calls of a method to its mechanisms on a table, and on a neighbor with all outcomes held fixed.

The rows leave a method through its mechanisms alone. So with their outcomes held fixed, two neighbors must give the
same calls with the same noise and the same release; and what carries the rows may differ by no more than is charged.
Nothing here is drawn: additive noise is zero, or what a case wants it to be, and a choice falls on the best candidate.

Privacy specification 9.4.
"""

import inspect
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from discreet.accounting.events import (
    AlternativeEvent,
    ComposedEvent,
    CubeEvent,
    EllipsoidEvent,
    Event,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    SelectionEvent,
)
from discreet.mechanisms import additive, cube, ellipsoid, selection, threshold, top_k
from discreet.methods.base.method import Method
from discreet.selftest.evidence import ROUNDING
from discreet.selftest.tape import Tape

Lift = Callable[[str], float]
"""By how many scales the noise of a module's sums lifts them."""


@dataclass(frozen=True)
class Call:
    """One call of a mechanism.

    Parameters
    ----------
    kind : {"laplace", "cube", "ellipsoid", "gaussian", "selection"}
        Which events it is charged as.
    scale : float or tuple of float
        Of its noise, number by number in an ellipsoid; or over epsilon the range of scores that it covers.
    values : list
        What carries the rows.
    outcome : Any
        What came out.
    epsilon : float
        Epsilon of a selection; 0 for sums, and for a choice that is charged with them.
    is_choice : bool
        Whether it is a choice that is charged with the sums before it.
    """

    kind: str
    scale: float | tuple[float, ...]
    values: list[Any]
    outcome: Any
    epsilon: float = 0.0
    is_choice: bool = False

    def cost(self, other: "Call") -> float:
        """Return the privacy loss of this call between two tables: epsilon, or rho of Gaussian noise."""
        moved = np.array([float(b - a) for a, b in zip(self.values, other.values, strict=True)]) / np.array(self.scale)
        if self.is_choice:
            loss = float(np.ptp(moved))
            # Of bounded range: as hard to tell apart as normal laws that far apart (`accounting/bounded_range.py`).
            return (2.0 * float(ndtri(expit(loss / 2.0)))) ** 2 / 2.0 if self.kind == "gaussian" else loss
        if self.kind == "selection":  # a pair seldom moves scores by all that the epsilon is for
            return float(np.ptp(moved))  # log-ratio <= range of the moves * epsilon / sensitivity
        if self.kind == "laplace":
            return float(np.abs(moved).sum())
        if self.kind == "cube":
            return float(np.abs(moved).max())
        if self.kind == "ellipsoid":
            return math.sqrt(float((moved**2).sum()))
        return float((moved**2).sum()) / 2.0  # rho = |move|^2 / (2 sigma^2), Bun and Steinke 2016


@dataclass
class _Run:
    """One run of a method: its calls, and those of an earlier run that it repeats the outcomes of."""

    lift: Lift
    before: list[Call] | None = None
    calls: list[Call] = field(default_factory=list)

    def reach(
        self,
        kind: str,
        scale: float | tuple[float, ...],
        values: list[Any],
        draw: Callable[[], Any],
        epsilon: float = 0.0,
    ) -> Any:
        outcome = draw() if self.before is None else self.before[len(self.calls)].outcome
        self.calls.append(Call(kind, scale, values, outcome, epsilon))
        return outcome


def _additive(run: _Run, kind: str, values: Iterable[int], scale: Any) -> list[int]:
    exact = [int(value) for value in values]
    where = sys._getframe(3).f_globals["__name__"].rpartition(".")[2]
    if where == "fission" and not any(exact):  # what divides released moments is handed no sums, and costs nothing
        return exact
    lift = round(run.lift(where) * float(scale))
    return list(run.reach(kind, float(scale), exact, lambda: [value + lift for value in exact]))


def _laplace(run: _Run, values: Iterable[int], scale: Any) -> list[int]:
    return _additive(run, "laplace", values, scale)


def _cube(run: _Run, values: Iterable[int], scale: Any) -> list[int]:
    return _additive(run, "cube", values, scale)


def _ellipsoid(run: _Run, values: Iterable[int], scales: Iterable[Any]) -> list[int]:
    exact, sizes = [int(value) for value in values], tuple(float(scale) for scale in scales)
    lift = run.lift(sys._getframe(2).f_globals["__name__"].rpartition(".")[2])
    lifted = [value + round(lift * size) for value, size in zip(exact, sizes, strict=True)]
    return list(run.reach("ellipsoid", sizes, exact, lambda: lifted))


def _gaussian(run: _Run, values: Iterable[int], scale: Any) -> list[int]:
    return _additive(run, "gaussian", values, scale)


def _choice(run: _Run, blocks: Iterable[Any], range_sensitivity: Any, epsilon: Any, **_: Any) -> int:
    scores = np.concatenate(list(blocks))
    scale = float(range_sensitivity) / float(epsilon)
    if sys._getframe(3).f_globals["__name__"].endswith(".level"):
        kind = run.calls[-1].kind
        chosen = run.reach(kind, scale, scores.tolist(), lambda: int(np.argmin(scores)))
        run.calls[-1] = replace(run.calls[-1], is_choice=True)
        return int(chosen)
    return int(run.reach("selection", scale, scores.tolist(), lambda: int(np.argmin(scores)), float(epsilon)))


def _top_k(run: _Run, scores: Any, k: int, epsilon: Any, sensitivity: Any, **_: Any) -> Any:
    """Record a top-k selection; each score moves by the sensitivity at most, up or down."""
    values = np.asarray(scores)
    best, scale = np.sort(np.argsort(-values, kind="stable")[:k]), 2.0 * float(sensitivity) / float(epsilon)
    return run.reach("selection", scale, values.tolist(), lambda: best, float(epsilon)).copy()


def _above_threshold(run: _Run, scores: Any, threshold: int, epsilon: Any, sensitivity: Any, **_: Any) -> Any:
    """Record a choice over all subsets: each cost moves as its farthest score does, up or down."""
    values = np.asarray(scores)
    above, scale = np.flatnonzero(values > threshold), 2.0 * float(sensitivity) / float(epsilon)
    return run.reach("selection", scale, values.tolist(), lambda: above, float(epsilon)).copy()


_RECORDED: dict[Callable[..., Any], Callable[..., Any]] = {
    additive.discrete_laplace: _laplace,
    additive.discrete_gaussian: _gaussian,
    cube.cube_noise: _cube,
    ellipsoid.ellipsoid_noise: _ellipsoid,
    selection.noisy_min_of_blocks: _choice,
    top_k.canonical_lipschitz: _top_k,
    top_k.one_shot: _top_k,
    threshold.above_threshold: _above_threshold,
}
"""Whatever else draws is made of these: quantiles, listed subsets and unlike sensitivities of selections, and peeling
of one-shot noise, round by round."""


def _recorder(run: _Run, mechanism: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(mechanism)

    def reach(*args: Any, **kwargs: Any) -> Any:
        arguments = dict(signature.bind(*args, **kwargs).arguments)
        if not isinstance(arguments.pop("rng"), Tape):  # a simulation on the way, which tells no rows
            return mechanism(*args, **kwargs)
        return _RECORDED[mechanism](run, **arguments)

    return reach


def _recorded(run: _Run) -> AbstractContextManager[None]:
    return swapped({mechanism: _recorder(run, mechanism) for mechanism in _RECORDED})


@contextmanager
def swapped(others: Mapping[Callable[..., Any], Callable[..., Any]]) -> Iterator[None]:
    """Put other functions in the place of some of the product's within a block, by whatever name they were imported."""
    places = [
        (module, name, value)
        for path, module in list(sys.modules.items())
        if path.startswith("discreet.") and not path.startswith("discreet.selftest")
        for name, value in list(vars(module).items())
        if isinstance(value, FunctionType) and value in others
    ]
    for module, name, function in places:
        setattr(module, name, others[function])
    try:
        yield
    finally:
        for module, name, function in places:
            setattr(module, name, function)


def no_noise(where: str) -> float:
    """Return zero, the lift of no sum."""
    del where
    return 0.0


@dataclass(frozen=True)
class Part:
    """Events of one kind in a row: their privacy cost on two tables, and the charge for it.

    Parameters
    ----------
    kind : {"laplace", "cube", "ellipsoid", "gaussian", "selection"}
        What they are.
    cost, charge : float
        Epsilon, or rho of Gaussian noise.
    """

    kind: str
    cost: float
    charge: float


@dataclass(frozen=True)
class Replayed:
    """What two runs with the same outcomes showed.

    Parameters
    ----------
    parts : tuple of Part
        In the order in which they are charged.
    fault : str
        What is wrong beside; empty where nothing is.
    selected : tuple of str
        Columns that were selected, on both.
    """

    parts: tuple[Part, ...]
    fault: str = ""
    selected: tuple[str, ...] = ()


def replayed(
    method: Method,
    tables: Sequence[Any],
    target: str,
    candidates: Sequence[str],
    lift: Lift = no_noise,
    words: Sequence[float] = (),
) -> Replayed:
    """Record a method on a table, and repeat it on a neighbor; return the parts of the charge, or the fault."""
    prepared = [method.prepare(table.metadata, target, candidates) for table in tables]
    event = prepared[0].event
    if event is None:
        return Replayed((), "it gives no guarantee")
    first = _Run(lift)
    second = _Run(lift, before=first.calls)
    try:
        with _recorded(first):
            outcomes = [prepared[0].run(tables[0], Tape(words))]
        with _recorded(second):
            outcomes.append(prepared[1].run(tables[1], Tape(words)))
    except IndexError:
        return Replayed((), "its calls depend on the rows")
    except Exception as error:  # whatever a build ends in is a finding
        return Replayed((), f"it ends in {type(error).__name__}: {error}")
    if [(call.kind, call.scale, len(call.values)) for call in first.calls] != [
        (call.kind, call.scale, len(call.values)) for call in second.calls
    ]:
        return Replayed((), "its noise depends on the rows")
    if outcomes[0] != outcomes[1]:
        return Replayed((), "the release depends on the rows beyond its noise")
    costs = [(call.kind, call.cost(other)) for call, other in zip(first.calls, second.calls, strict=True)]
    ways = [[_charge(leaf) for leaf in leaves if not isinstance(leaf, FailureEvent)] for leaves in _ways(event)]
    alike = [way for way in ways if [kind for kind, _ in _by_kind(way)] == [kind for kind, _ in _by_kind(costs)]]
    if not alike:
        return Replayed((), "what is done is not what is charged")
    charges = next((way for way in alike if [kind for kind, _ in way] == [kind for kind, _ in costs]), alike[0])
    passed = sum(call.epsilon for call in first.calls)
    charged_epsilon = sum(epsilon for kind, epsilon in charges if kind == "selection")
    if passed > charged_epsilon * (1.0 + ROUNDING):
        return Replayed((), f"its selections get an epsilon of {passed:.4g} where {charged_epsilon:.4g} is charged")
    both = zip(_by_kind(costs), _by_kind(charges), strict=True)
    parts = tuple(
        part
        for (kind, costs_of_kind), (_, charges_of_kind) in both
        for part in _parts(kind, costs_of_kind, charges_of_kind)
    )
    return Replayed(parts, selected=outcomes[0].selected)


def _parts(kind: str, costs: list[float], charges: list[float]) -> list[Part]:
    """Return the parts call by call where each has a charge of its own, else together."""
    if len(costs) != len(charges):
        return [Part(kind, sum(costs), sum(charges))]
    return [Part(kind, cost, charge) for cost, charge in zip(costs, charges, strict=True)]


def _by_kind(parts: Iterable[tuple[str, float]]) -> list[tuple[str, list[float]]]:
    """Group parts of one kind that follow each other."""
    groups = itertools.groupby(parts, key=lambda part: part[0])
    return [(kind, [amount for _, amount in group]) for kind, group in groups]


def _ways(event: Event) -> list[list[Event]]:
    """Return the parts of an event, for each of the alternatives that there are."""
    if isinstance(event, AlternativeEvent):
        return [way for part in event.events for way in _ways(part)]
    if isinstance(event, (ComposedEvent, ParallelEvent)):
        choices = itertools.product(*(_ways(part) for part in event.events))
        return [list(itertools.chain(*choice)) for choice in choices]
    return [[event]]


def _charge(event: Event) -> tuple[str, float]:
    if isinstance(event, GaussianEvent):
        return "gaussian", float(event.rho)
    if isinstance(event, LaplaceEvent):
        return "laplace", float(event.epsilon)
    if isinstance(event, CubeEvent):
        return "cube", float(event.epsilon)
    if isinstance(event, EllipsoidEvent):
        return "ellipsoid", float(event.epsilon)
    if isinstance(event, SelectionEvent):
        return "selection", float(event.epsilon)
    raise TypeError(f"An event {type(event).__name__} cannot be replayed.")
