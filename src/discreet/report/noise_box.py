"""How noise was set, step by step, in short texts."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.parameters.by_method import meanings
from discreet.release import NoiseRecord, Release, StepRecord
from discreet.report import request_facts
from discreet.report.chances import seldom_gap
from discreet.report.price import groups_of, parts_of, price
from discreet.report.vocabulary import CHOSEN_AMONG, MECHANISMS, NOISES, NUMERICS, STEPS
from discreet.report.words import count, number, shortened, thousands

SQUARED = "squared units of the target"
"""Unit of a noise box that is told with the target's name."""


CHOICES = {"selection": "models", "screening": "models", "validation": "estimates"}
"""Name of a step that chooses to what it chooses among."""


@dataclass(frozen=True)
class Noise:
    """A noise box in short texts; `gap` and `lead` are None when the law is not known here or nothing is chosen."""

    drawn: str
    is_choice: bool
    among: str
    sensitivity: str
    inflation: str
    scale: str
    unit: str
    is_sum_over_epsilon: bool
    formula: str
    numerics: str
    numerics_meaning: str
    claim: str
    gap: str | None
    gap_scales: str | None
    lead: str | None


@dataclass(frozen=True)
class Step:
    """One priced part of a release in short texts."""

    purpose: str
    noise: Noise
    price: str
    value: str
    amount: float


def box(record: NoiseRecord, target: str, epsilon: float, what_is_chosen: str = "models") -> Noise:
    """Return a noise box in short texts.

    Short texts, not yet escaped.
    """
    n = record.n_candidates
    gap = seldom_gap(record.noise) if n is not None else None
    what_is_chosen = CHOSEN_AMONG.get(record.mechanism, what_is_chosen)
    lead = (
        seldom_gap(record.noise, n - 1)
        if n is not None and n > 2 and what_is_chosen in ("models", "estimates")
        else None
    )
    return Noise(
        drawn=_drawn(record, what_is_chosen),
        is_choice=n is not None,
        among=what_is_chosen,
        sensitivity=thousands(number(record.sensitivity)),
        inflation=number(record.inflation, 3),
        scale=thousands(number(record.scale)),
        unit=unit(record, target),
        is_sum_over_epsilon=math.isclose(record.scale * epsilon, record.sensitivity + record.inflation, rel_tol=1e-9),
        formula=record.formula,
        numerics=record.numerics,
        numerics_meaning=NUMERICS.get(record.numerics, ""),
        claim=record.claim,
        gap=None if gap is None else thousands(number(gap * record.scale, 3)),
        gap_scales=None if gap is None else number(gap, 3),
        lead=None if lead is None else thousands(number(lead * record.scale, 3)),
    )


def unit(record: NoiseRecord, target: str, limit: int = 40) -> str:
    """Return the unit of a noise box, with the target's name in it.

    Such as ``squared units of mdvis``.
    """
    return f"squared units of {shortened(target, limit)}" if record.unit == SQUARED else record.unit


def choice(release: Release) -> NoiseRecord | None:
    """Return the noise box of the choice that a release is about."""
    if not release.steps:
        return release.noise if release.noise.n_candidates is not None else None
    chosen = [step.noise for step in release.steps if step.name in CHOICES]
    return chosen[-1] if chosen and chosen[-1].n_candidates is not None else None


def steps(release: Release) -> Iterator[Step]:
    """Yield the priced parts of a release in their order.

    In short texts, not yet escaped.
    """
    sizes = amounts(release)
    for step, amount in zip(release.steps, sizes, strict=True):
        cost = price(step.event)
        what_is_chosen = CHOICES.get(step.name, "values")
        yield Step(
            purpose=purpose(step.name),
            noise=box(step.noise, request_facts.target(release), cost.epsilon or math.nan, what_is_chosen),
            price=str(cost),
            value=_released(step),
            amount=amount,
        )


def _released(step: StepRecord) -> str:
    if step.columns is not None:
        return f"{len(step.columns)} columns"
    return "" if step.value is None else thousands(number(step.value))


def amounts(release: Release) -> list[float]:
    """Return each step's part of epsilon; steps with Gaussian noise share what the others leave, by their rho.

    Of groups of units, each has all of epsilon.
    In nats; zeros when the parts do not add up.
    """
    groups, amounts, steps = groups_of(release.event), list[float](), list(release.steps)
    for n_parts in groups:
        group = list[StepRecord]()
        while steps and sum(len(parts_of(step.event)) for step in group) < n_parts:
            group.append(steps.pop(0))
        amounts += _amounts(release, group)
    return amounts + _amounts(release, steps)


def _amounts(release: Release, steps: list[StepRecord]) -> list[float]:
    """The same of steps on the same units."""
    costs = [price(step.event) for step in steps]
    pure, rho = sum(cost.epsilon for cost in costs), sum(cost.rho for cost in costs)
    total = request_facts.epsilon(release)
    rest = total - pure
    if not math.isfinite(rest) or rest < -1e-6 * total or (rho > 0 and rest <= 0):
        return [0.0] * len(costs)
    return [cost.epsilon + (rest * cost.rho / rho if rho > 0 else 0.0) for cost in costs]


def purpose(name: str) -> str:
    """Return what a step is for, in words.

    Such as ``selection of columns``; the bounds of a column keep its name.
    """
    start, mark, rest = name.partition(":")
    if mark and start in ("bounds", "bound"):
        return f"bounds of {rest.strip()}"
    meant = meanings().get(name, "").partition(": ")[2].partition(",")[0]  # of a limit that was estimated
    return STEPS.get(name) or meant or (name if " " in name else name.replace("_", " "))


def _drawn(record: NoiseRecord, what_is_chosen: str) -> str:
    if record.n_candidates is None and record.mechanism == "laplace":  # the same word as a choice by Laplace noise
        return "Laplace noise"
    mechanism = MECHANISMS.get(record.mechanism, record.mechanism.replace("_", "-"))
    noise = NOISES.get(record.noise, record.noise)
    if record.n_candidates is None:
        return mechanism if "noise" in mechanism else f"{mechanism}, {noise} noise"
    return f"{mechanism}, {noise} noise, over {count(record.n_candidates)} {what_is_chosen}"
