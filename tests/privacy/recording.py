"""Record what a method hands to its noise on a table; replay it on a neighbor, with all that came out frozen.

What leaves a method may depend on the rows through the outputs of its mechanisms alone. So with these outputs frozen
two neighbors must give the same calls, the same public arguments and the same release, bit for bit; what carries the
rows may differ by no more than the noise covers; and the events that are charged must be all that is spent.

References: privacy specification 9.4.
"""

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.accounting.events import (
    AlternativeEvent,
    ComposedEvent,
    Event,
    FailureEvent,
    GaussianEvent,
    ParallelEvent,
    event_record,
)
from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.data.engine import Table
from discreet.data.halves import KEY_WORDS
from discreet.kernels.glm.objective_perturbation import minimized
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Method
from discreet.methods.following_step import FollowingStep
from discreet.methods.screening import noise_test, order_scores, two_stage
from discreet.release import STATED
from discreet.workflow.priced_request import PricedRequest, price
from tests.privacy.noise_entries import ENTRIES, IGNORED, Call, Minimum, cost_within, lattice_of, places, price_of


@dataclass(frozen=True)
class Spent:
    """What two runs with the same outputs tell of their tables, against what is charged for it."""

    part: str
    cost: Fraction
    charged: Fraction

    @property
    def share(self) -> float:
        """1 where nothing is wasted; more is a fault."""
        return float(self.cost / self.charged)


@dataclass
class Recording:
    """A run: its calls, its rows where a method looks at them together, what its progress told, how it ended."""

    priced: PricedRequest
    calls: list[Call] = field(default_factory=list)
    blocks: list[tuple[Any, Any]] = field(default_factory=list)
    told: dict[tuple[str, int | None], int] = field(default_factory=dict)
    release: str = ""
    fitted_from: int = 0

    def part(self, start: int, end: int | None) -> "Recording":
        """Some of its calls."""
        return replace(self, calls=self.calls[start:end])


OF_SUMS = ("discrete_laplace", "discrete_gaussian", "ellipsoid_noise")
"""Mechanisms that add noise to integers."""

WILD, FAR = 100, 40
"""From this seed on, noise is this many times as large, and choices are made at random: the release must stand it."""


# ---- a run


class Door(Source):
    """A simulated source that knows whether a wrapped mechanism, or nobody, asks it for words."""

    def __init__(self, run: "_Run", seed: int) -> None:
        self._run, self._words = run, Source.seeded(seed)

    @property
    def is_system(self) -> bool:
        return False

    def far(self, count: int) -> int:
        """One of so many, all alike."""
        return int(self._words.words(1)[0] % np.uint64(count))

    def words(self, count: int) -> Any:
        if self._run.inside:
            return self._words.words(count)
        return self._run.blocks_of(count, self._words)


class _Run:
    """One run of a method, recorded, and held against an earlier one where there is such."""

    def __init__(self, priced: PricedRequest, before: Recording | None, seed: int) -> None:
        self.before, self.seed, self.found = before, seed, Recording(priced)
        self.rng = Door(self, seed)
        self.inside, self.cells = False, None

    def reach(self, name: str, where: str, original: Callable[..., Any], args: Any, given: Any) -> Any:
        """Record a call, and let it draw, or return what it drew on the other table."""
        bound = inspect.signature(original).bind(*args, **given)
        bound.apply_defaults()
        entry, public = ENTRIES[name], {k: v for k, v in bound.arguments.items() if k not in IGNORED}
        if "rng" in bound.arguments and bound.arguments["rng"] is not self.rng:
            raise AssertionError(f"{where} draws by {name} from a source of its own")
        data = None if entry.data is None else public.pop(entry.data)
        if name == "noisy_min_subset":  # a problem is moments of the rows, and what is public about the models
            public |= {key: getattr(data, key) for key in ("radius", "units", "always", "tolerance")}
        old = self._same(name, where, public)
        if name == "minimized":
            return self._minimum(where, data, public, old)
        if entry.data is not None:
            bound.arguments[entry.data] = data = list(data) if name in OF_SUMS else data
        measured = entry.measured(data, public)
        output = old.output if old is not None else self._wild(name, where, measured, self._drawn(original, bound))
        if old is not None and isinstance(measured, list):
            assert len(measured) == len(old.data), f"{where}: {name} is handed another number of numbers"
        self.found.calls.append(Call(name, where, measured, public, output))
        return output.copy() if isinstance(output, (list, np.ndarray)) else output

    def _drawn(self, original: Callable[..., Any], bound: inspect.BoundArguments) -> Any:
        self.inside = True
        try:
            return original(*bound.args, **bound.kwargs)
        finally:
            self.inside = False

    def _wild(self, name: str, where: str, measured: Any, output: Any) -> Any:
        """From `WILD` on, an output that is possible and next to never drawn; a bound that may fail is left alone."""
        if self.seed < WILD or where == "sum_of_squares":
            return output
        if name in OF_SUMS:
            return [value + FAR * (noisy - value) for value, noisy in zip(measured, output, strict=True)]
        return self.rng.far(len(measured)) if name == "noisy_min" else output

    def _same(self, name: str, where: str, public: dict[str, Any]) -> Call | None:
        """The call of the other run, which must be this one but for the rows."""
        if self.before is None:
            return None
        at = len(self.found.calls)
        assert at < len(self.before.calls), f"{where}: {name} is called once more"
        old = self.before.calls[at]
        assert (name, where) == (old.mechanism, old.where), f"call {at} is {name} of {where}, and was {old.mechanism}"
        for key, value in public.items():
            assert bits(value) == bits(old.public[key]), f"{where}: {name} is handed another {key}"
        return old

    def _minimum(self, where: str, sums: Any, public: dict[str, Any], old: Call | None) -> Any:
        """The same minimum, of the linear term that it is the minimum of on this table."""
        linear, chosen = public["linear"], public["chosen"]
        assert bits(linear) == bits(self.found.calls[-1].output), "the linear term is not what was drawn"
        assert self.found.calls[-1].public == {"n_numbers": chosen.n_coefficients, "rate": chosen.beta}
        if old is not None:
            linear = linear + old.data.moved(Minimum(sums, old.data.numbers))
        found = minimized(sums, linear, chosen)
        point = Minimum(sums, chosen.lattice.nearest(found[0]))
        self.found.calls.append(Call("minimized", where, point, public, None))
        return found

    def tell(self, words: str, done: int, total: int | None) -> None:
        """Progress is seen from outside, as the release is; that of a mechanism is not told on a replay."""
        if self.inside:
            return
        self.found.told[words, total] = self.found.told.get((words, total), 0) + done

    def following(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note where the other half of the units is asked."""

        def on(step: FollowingStep, columns: Any) -> Any:
            if step is getattr(self.found.priced.prepared, "fit", None):
                self.found.fitted_from = len(self.found.calls)
            return original(step, columns)

        return on

    # ---- what a method throws rows by

    def rows(self, cells: Any) -> Any:
        """Rows that a method looks at together: their order is no secret, and means nothing."""
        self.cells = cells
        return cells

    def blocks_of(self, count: int, words: Source) -> Any:
        """Words, one a row: a row that both tables have gets the same, so that what is charged is what a row moves."""
        if self.cells is None and not self.found.calls and isinstance(self.found.priced.prepared.event, ParallelEvent):
            assert count == KEY_WORDS, "a source is asked for other than the key of the halves"
            return words.words(count)  # the same in both runs: units that both tables have are in the same half
        assert self.cells is not None, "a source is asked outside of any mechanism"
        assert count == len(self.cells), "a source is asked for other than a word a row"
        keys = [row.tobytes() for row in self.cells]
        if self.before is None:
            drawn = words.words(count)
        else:
            (old_keys, old_words), *_ = self.before.blocks
            drawn = _coupled(keys, old_keys, old_words, words)
        self.found.blocks.append((keys, drawn))
        return drawn


def _coupled(keys: Sequence[bytes], old_keys: Sequence[bytes], old_words: Any, words: Source) -> Any:
    """Words of the rows that were there before, then those of rows that are gone, then fresh ones."""
    left: dict[bytes, list[int]] = {}
    for key, word in zip(old_keys, old_words.tolist(), strict=True):
        left.setdefault(key, []).append(word)
    found = [left[key].pop() if left.get(key) else None for key in keys]
    free = [word for one in left.values() for word in one]
    fresh = iter(free + words.words(len(keys)).tolist())
    return np.array([next(fresh) if word is None else word for word in found], dtype=np.uint64)


@contextmanager
def _wrapped(run: _Run) -> Iterator[None]:
    def wrapper(name: str, where: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **given: Any) -> Any:
            # What is simulated on the way, by a source of its own, must not see the rows: the release tells.
            given_rng = inspect.signature(original).bind(*args, **given).arguments.get("rng")
            if run.inside or type(given_rng).__name__ == "_SeededSource":
                return original(*args, **given)
            return run.reach(name, where, original, args, given)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for module, name in places():
            where = module.__name__.rsplit(".", 1)[-1]
            patch.setattr(module, name, wrapper(name, where, getattr(module, name)))
        for method in (two_stage, order_scores, noise_test):
            every = method.all_rows
            patch.setattr(method, "all_rows", lambda table, design, every=every: run.rows(every(table, design)))
        patch.setattr(FollowingStep, "on", run.following(FollowingStep.on))
        yield


def asked(method: Method, table: Table, target: str, candidates: Sequence[str]) -> PricedRequest:
    """A request, priced; its time is left out, as it says nothing of the rows."""
    priced = price(method, table.metadata, target, candidates, name="frame", locator=None, rows_origin=STATED)
    return replace(priced, asked_at="")


def record(priced: PricedRequest, table: Table, seed: int = 0, before: Recording | None = None) -> Recording:
    """Run a request on a table; with a recording, on another table with the outputs of that one."""
    run = _Run(priced, before, seed)
    table.check(priced.prepared.columns)
    priced.prepared.check_table(table, charged=False)
    with _wrapped(run):
        try:
            release = priced.release(priced.prepared.run(table, run.rng, run.tell), None)
            run.found.release = release.to_json()
        except (AssertionError, KeyboardInterrupt):
            raise
        except Exception as error:
            run.found.release = json.dumps({"failed": type(error).__name__, "words": str(error)})
    if before is not None:
        assert len(run.found.calls) == len(before.calls), "a call is missing"
        assert run.found.told == before.told, "the progress depends on the rows"
        _check_release(before.release, run.found.release)
    return run.found


def _check_release(one: str, other: str) -> None:
    if one != other:
        old, new = json.loads(one), json.loads(other)
        differ = [key for key in {**old, **new} if old.get(key) != new.get(key)]
        raise AssertionError(f"the release depends on the rows: {differ or 'its text'}")


def bits(value: Any) -> Any:
    """A value as something that is equal only to itself, bit for bit."""
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, (float, np.floating)):
        return (type(value).__name__, float(value).hex())
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(bits, value))
    if is_dataclass(value):
        return (type(value).__name__, *(bits(getattr(value, one.name)) for one in fields(value)))
    return (type(value).__name__, value)


# ---- what was spent


def leaves(event: Event) -> list[Event]:
    """The parts of an event, in their order, without the failures that no call stands for."""
    if isinstance(event, (ComposedEvent, ParallelEvent)):
        return [leaf for part in event.events for leaf in leaves(part)]
    return [] if isinstance(event, FailureEvent) else [event]


def done(event: Event, steps: Sequence[dict[str, Any]]) -> Event:
    """The event as it came out: of alternatives the one that the steps of a release are of."""
    ways = _ways(event)
    if len(ways) == 1:
        return event
    told = [leaf for step in steps for leaf in _told(step["event"])]
    kept = [way for way in ways if _told(event_record(way)) == told]
    assert kept, "what is done is none of the alternatives"
    return kept[0]


def _ways(event: Event) -> list[Event]:
    """Every event that one with alternatives may come out as, wherever in it these stand."""
    if isinstance(event, AlternativeEvent):
        return [way for each in event.events for way in _ways(each)]
    if isinstance(event, (ComposedEvent, ParallelEvent)):
        return [type(event)(parts) for parts in product(*map(_ways, event.events))]
    return [event]


def spent(one: Recording, other: Recording, event: Event) -> list[Spent]:
    """What each charged part of an event was spent on, from two recordings of neighbors with the same outputs.

    Sums with noise of one module are charged together, whatever the number of calls.
    """
    if isinstance(event, ParallelEvent):
        return _of_groups(one, other, event)
    left, groups = leaves(event), list[tuple[tuple[Event, ...], str, Fraction, Fraction]]()
    for old, new in zip(one.calls, other.calls, strict=True):
        entry = ENTRIES[old.mechanism]
        wanted = entry.events(old.public)
        cost, lattice = entry.cost(old, new), lattice_of(old, new)
        name = f"{old.mechanism} of {old.where}"
        if old.where == "fission":  # post-processing: it is handed no sums at all
            assert not any((*old.data, *new.data)), f"{name} is handed rows"
            continue
        if old.where == "level" and groups and groups[-1][1].endswith("of noise_budget"):
            events, name, before, before_lattice = groups.pop()
            groups.append((events, name, before + cost_within(events[-1], cost), before_lattice))
            continue
        together = old.where in ("noise_budget", "generalized_linear") and groups and groups[-1][1] == name
        if together:
            events, _, before, before_lattice = groups.pop()
            groups.append((events, name, before + cost, before_lattice + lattice))
        elif wanted:
            assert len(left) >= len(wanted), f"{name} is not charged"
            taken, left = tuple(left[: len(wanted)]), left[len(wanted) :]
            for asked_for, charged in zip(wanted, taken, strict=True):
                same = type(charged) is asked_for if isinstance(asked_for, type) else charged == asked_for
                assert same, f"{name} is charged as {charged}"
            groups.append((taken, name, cost, lattice))
    assert not left, f"nothing is done for {left}"
    for events, name, _, lattice in groups:
        assert lattice <= sum((one.lattice for one in events if isinstance(one, GaussianEvent)), Fraction(0)), name
    return [Spent(name, cost, sum((price_of(one) for one in events), Fraction(0))) for events, name, cost, _ in groups]


def _of_groups(one: Recording, other: Recording, event: ParallelEvent) -> list[Spent]:
    """Of disjoint groups of units the rows of one alone may reach the noise: the price is the largest, not the sum."""
    at = one.fitted_from
    assert at == other.fitted_from
    first, second = (
        spent(one.part(*ends), other.part(*ends), group)
        for ends, group in zip(((0, at), (at, None)), event.events, strict=True)
    )
    assert not (any(part.cost for part in first) and any(part.cost for part in second)), "a unit is in both halves"
    return [*first, *second]


def compared(ask: Callable[[Table], PricedRequest], one: Table, other: Table, seed: int = 0) -> list[Spent]:
    """Record on one table, replay on its neighbor: what each part spent, or an AssertionError that says what leaks."""
    first = record(ask(one), one, seed)
    second, priced = record(ask(other), other, seed, first), first.priced
    release = json.loads(first.release)
    assert "failed" not in release, f"a run on odd rows ends in {release}"
    event = priced.prepared.event
    assert event is not None, "nothing is charged"
    event = done(event, release["steps"])
    _check_price(priced, release, event)
    found = spent(first, second, event)
    for part in found:
        assert part.cost <= part.charged, f"{part.part} spends {part.share:.4g} of what is charged"
    return found


def _check_price(priced: PricedRequest, release: dict[str, Any], event: Event) -> None:
    """What is promised is at most what was asked for, and the steps add up to what is charged."""
    asked_for, promised = priced.method.model_dump(), priced.promised
    assert promised.epsilon <= exact_epsilon(asked_for["epsilon"]), "more is promised than was asked for"
    assert promised.delta <= exact_delta(asked_for.get("delta") or promised.delta)
    assert release["guarantee"]["epsilon"] >= float(promised.epsilon)
    if release["steps"]:
        steps = [leaf for step in release["steps"] for leaf in _told(step["event"])]
        assert steps == _told(event_record(ComposedEvent(tuple(leaves(event))))), "the steps are not what is charged"


def _told(event: dict[str, Any]) -> list[dict[str, Any]]:
    if event["type"] in ("ComposedEvent", "ParallelEvent"):
        return [leaf for part in event["events"] for leaf in _told(part)]
    return [] if event["type"] == "FailureEvent" else [event]


def most(parts: Sequence[Spent]) -> dict[str, float]:
    """The largest share of each part's charge."""
    found: dict[str, float] = {}
    for part in parts:
        found[part.part] = max(found.get(part.part, 0.0), part.share)
    return found
