"""What a plan's epsilon is spent on, what repeated requests add up to, and what a release can tell of a person."""

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, Event
from discreet.accounting.guarantee import exact_delta
from discreet.accounting.zcdp import rho_of
from discreet.digits import plain
from discreet.errors import DiscreetError
from discreet.methods.registry import method_of
from discreet.report.price import price
from discreet.report.study import Findings, Picture, Row
from discreet.report.words import number
from discreet.workflow.expectation import Choice, Expectation, Question
from discreet.workflow.expectation_studies import figures_of

if TYPE_CHECKING:
    from discreet.methods.base.method import Preparation

REQUESTS = (1, 2, 3, 5, 8, 12, 20)
FAN_DELTA = 1e-6


def costs(question: Question, expectation: Expectation, epsilon: float) -> list[Findings | None]:
    """Return what epsilon is spent on, and what several such requests add up to, of the selection that does best."""
    at = [row for row in expectation.rows if row["epsilon"] == epsilon] or list(expectation.rows)
    best = max(at, key=lambda row: (row["overlap"], row["right"]), default=None)
    choice = next((one for one in expectation.choices if best is not None and one.name == best["rival"]), None)
    if choice is None:
        return []
    return [_split(question, choice, epsilon), _fan(question, choice, epsilon)]


def _prepared(question: Question, choice: Choice, epsilon: float) -> "Preparation | None":
    try:
        method = method_of(choice.method, epsilon=epsilon, **choice.parameters)
        return method.prepare(question.metadata, question.target, question.candidates)
    except DiscreetError:
        return None


def _split(question: Question, choice: Choice, epsilon: float) -> Findings | None:
    prepared = _prepared(question, choice, epsilon)
    event = None if prepared is None else prepared.event
    if prepared is None or not isinstance(event, ComposedEvent) or len(event.events) != len(prepared.steps):
        return None
    is_gaussian = any(price(step.event).rho for step in prepared.steps)
    prices = [
        float(rho_of(part)[0]) if is_gaussian else price(step.event).epsilon
        for step, part in zip(prepared.steps, event.events, strict=True)
    ]
    rows = tuple(
        Row("share", {"part": step.name}, cost / sum(prices)) for step, cost in zip(prepared.steps, prices, strict=True)
    )
    picture = Picture(
        "split", f"{choice.name}, epsilon {number(epsilon)}", "dots", "part", "Part", "Share", low=0.0, high=1.0
    )
    description = f"The parts of one request by {choice.name}, each with its own noise: shares of {{}}."
    description = description.format("rho, its price in concentrated accounting" if is_gaussian else "epsilon")
    return Findings(figures_of("split", "What epsilon is spent on", description, ["share"], picture), rows, 0)


def _fan(question: Question, choice: Choice, epsilon: float) -> Findings | None:
    """Requests on the same people, one after the other: their epsilons added up, and composed at a small delta."""
    rows, ways = list[Row](), list[str]()
    for findings in (epsilon / 2.0, epsilon):
        prepared = _prepared(question, choice, findings)
        event = None if prepared is None else prepared.event
        if event is None:
            continue
        for way, delta in (
            (f"epsilon {number(findings)} each, added up", 0.0),
            (f"epsilon {number(findings)} each, composed", FAN_DELTA),
        ):
            totals = [(count, _total(question, event, count, delta)) for count in REQUESTS]
            if any(total is not None for _, total in totals):
                ways.append(way)
            rows += [Row(way, {"requests": count}, total) for count, total in totals if total is not None]
    if not rows:
        return None
    description = (
        f"The guarantee of several requests by {choice.name} on the same people: epsilons added up, and by "
        f"concentrated accounting at delta {plain(FAN_DELTA)}. A ledger stops at its cap, whichever comes first."
    )
    picture = Picture("fan", "Epsilon in total", "lines", "requests", "Requests on the same people", "Epsilon in total")
    return Findings(
        figures_of("budget", "What repeated requests add up to", description, ways, picture), tuple(rows), 0
    )


def _total(question: Question, event: Event, count: int, delta: float) -> float | None:
    try:
        delta_ = exact_delta(delta) if delta else Fraction(0)
        return float(guarantee_of(ComposedEvent((event,) * count), question.metadata.neighboring, delta_).epsilon)
    except DiscreetError:  # Gaussian noise has no epsilon without a delta
        return None


def odds(epsilon: float) -> Findings:
    """Return what a release at an epsilon can tell of a person."""
    description = f"How far a release at epsilon {number(epsilon)} can move, at worst, anyone's belief about a person."
    picture = Picture("odds", "Belief before and after", "lines", "before", "Before", "After")
    return Findings(figures_of("odds", "What a release can tell of a person", description, (), picture), (), 0)
