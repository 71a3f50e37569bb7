"""A plan's figures, in stages: few tables for all selections, many for those that do best, unkind tables for these."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from discreet.methods.base.method import Progress
from discreet.simulation.curves import PairedCurves
from discreet.simulation.fits import expected_fit
from discreet.simulation.inversion import epsilons_for
from discreet.simulation.rivals import Rival
from discreet.simulation.scenario import Scenario
from discreet.simulation.selection import Requests
from discreet.simulation.unkind import UNKIND, unkind_scenarios
from discreet.workflow.expectation import Choice, Expectation, Question
from discreet.workflow.recommendation import best, near_ties, recommended, requests, shortlist

Row = dict[str, Any]

STEP = 4
"""Steps in which many tables are reached; figures are shown after each."""


class Counts(NamedTuple):
    """How many tables are drawn.

    Parameters
    ----------
    most_candidates : int
        Up to so many columns.
    soonest, first : int
        For each selection, before anything is shown, and before some are left out.
    many : int
        For the selections that do best; of several scenarios together twice as many.
    recommended : int
        For what is recommended, at the epsilon of the comparison; of several scenarios together.
    beside_first : int
        Of unkind tables and of those with half the rows, before it is asked whether they are enough.
    half, unkind : int
        Of these at most.
    sure, beside_sure : float
        Standard errors at which no more tables are drawn.
    """

    most_candidates: float
    soonest: int
    first: int
    many: int
    recommended: int
    beside_first: int
    half: int
    unkind: int
    sure: float
    beside_sure: float


COUNTS = (
    Counts(8, 4, 16, 200, 200, 20, 100, 50, 0.02, 0.05),
    Counts(60, 4, 16, 60, 200, 12, 24, 24, 0.03, 0.075),
    Counts(math.inf, 2, 4, 16, 16, 4, 8, 4, 0.1, 0.2),
)
"""Each table takes longer with more columns: fewer are drawn, and the standard errors say so."""

FIT_TABLES = 4
MOST_FIT_TABLES = 40


class Stages:
    """The stages of a plan's simulation.

    Parameters
    ----------
    question : Question
        What is asked.
    groups : sequence of sequence of Scenario
        Scenarios of each number of rows.
    rivals : sequence of sequence of Rival
        Selections of each number of rows.
    choices : sequence of Choice
        The same with their costs.
    n_processes : int
        At most.
    progress : callable, optional
        Called as tables are done.
    """

    def __init__(
        self,
        question: Question,
        groups: Sequence[Sequence[Scenario]],
        rivals: Sequence[Sequence[Rival]],
        choices: Sequence[Choice],
        n_processes: int = 1,
        progress: Progress | None = None,
    ) -> None:
        self._question, self._groups, self._rivals, self._choices = question, groups, rivals, choices
        self._n_processes, self._told, self._n_done = n_processes, progress, 0
        self._requests: dict[str, Requests] = {}
        self._unkind = list[tuple[Scenario, dict[str, PairedCurves]]]()
        self._n_scenarios = sum(map(len, groups))
        n_candidates = max((len(scenario.candidates) for group in groups for scenario in group), default=0)
        self._counts = next(counts for counts in COUNTS if n_candidates <= counts.most_candidates)
        first, many = self._counts.first, self._counts.many
        self._n_first = question.n_tables or first
        self._n_many = question.n_tables or max(first, min(many, 2 * many // self._n_scenarios))

    def _progress(self, what: str, count: int, total: int | None) -> None:
        """Tell how many tables of all are done; how many that will be is only known nearly."""
        if self._told is None:
            return
        if total is not None:
            self._told(what, count, total)
            return
        n_tables = self._question.n_tables
        beside = (n_tables or self._counts.half) + len(UNKIND) * (n_tables or self._counts.unkind)
        self._n_done += count
        if self._n_done <= self._n_scenarios * self._n_many + beside:
            self._told(what, count, self._n_scenarios * self._n_many + beside)

    def answers(self, empty: Expectation) -> Iterator[Expectation]:
        """Yield answers, each finer than the one before."""
        if not any(self._rivals):
            yield empty
            return
        latest = empty
        for latest in self._curves(empty) if self._question.goal is None else self._inverted(empty):
            yield latest
        yield from self._beside(latest)

    # ---- curves against epsilon

    def _curves(self, empty: Expectation) -> Iterator[Expectation]:
        question = self._question
        curves = [
            [self._curve(scenario, rivals, question.epsilons) for scenario in scenarios]
            for scenarios, rivals in zip(self._groups, self._rivals, strict=True)
        ]
        for n_tables in sorted({min(self._counts.soonest, self._n_first), self._n_first}):
            for curve in (curve for group in curves for curve in group):
                self._extend(curve, n_tables, None)
            rows = self._rows(curves)
            yield self._judged(replace(empty, rows=rows, is_final=False))
        answer = replace(empty, rows=rows, is_final=False)
        answer = self._judged(replace(answer, on_unkind=self._on_unkind(answer)))
        yield answer
        fits = tuple(
            {**asdict(fit), **own}
            for scenario, own in self._scenarios()
            for fit in expected_fit(
                scenario,
                question.epsilons,
                question.delta,
                n_tables=min(question.n_tables or FIT_TABLES, MOST_FIT_TABLES),
                seed=question.seed,
                progress=self._progress,
            )
        )
        answer = replace(answer, fits=fits)
        yield answer
        step = -(-self._n_many // STEP)
        for n_tables in range(max(step, self._n_first + step // 2), self._n_many + step, step):
            names = shortlist(question, answer)
            for curve in (curve for group in curves for curve in group):
                self._extend_where_unsure(curve, min(n_tables, self._n_many), names)
            answer = self._judged(replace(answer, rows=self._rows(curves)))
            yield answer
            if question.n_tables is None and _most_error(answer.rows, names) <= self._counts.sure:
                break
        n_tables = max((row["n_draws"] for row in answer.rows), default=0) // question.n_draws
        for curve in (curve for group in curves for curve in group):  # one may have come to the front at the end
            self._extend_where_unsure(curve, n_tables, shortlist(question, answer))
        answer = self._judged(replace(answer, rows=self._rows(curves)))
        yield answer
        yield from self._surest(curves, answer)

    def _surest(self, curves: Sequence[Sequence[PairedCurves]], answer: Expectation) -> Iterator[Expectation]:
        """Draw more tables for what is best, at the epsilon of the comparison, until that has as many as it must."""
        question = self._question
        n_tables = -(-self._counts.recommended // len(self._groups[0]))
        while question.n_tables is None and (name := best(question, answer)) is not None:
            before = answer
            for curve in curves[0]:
                curve.extend(n_tables, [name], self._n_processes, self._progress, epsilons=(question.middle,))
            answer = self._judged(replace(answer, rows=self._rows(curves)))
            if answer.rows == before.rows:
                return
            yield answer

    def _extend(self, curve: PairedCurves, n_tables: int, names: Sequence[str] | None) -> None:
        curve.extend(n_tables, names, self._n_processes, self._progress)

    def _extend_where_unsure(self, curve: PairedCurves, n_tables: int, names: Sequence[str]) -> None:
        """At other epsilons than the compared one sure figures need no more, unless a number of tables is named."""
        question = self._question
        sure = None if question.n_tables else self._counts.sure
        curve.extend(n_tables, names, self._n_processes, self._progress, sure=sure, always=(question.middle,))

    def _rows(self, curves: Sequence[Sequence[PairedCurves]]) -> tuple[Row, ...]:
        listed = (curve for group in curves for curve in group)
        return tuple(
            {**asdict(figure), **own}
            for curve, (_, own) in zip(listed, self._scenarios(), strict=True)
            for figure in curve.expected()
        )

    def _scenarios(self) -> list[tuple[Scenario, Row]]:
        return [
            (scenario, {"scenario": name, **scenario_numbers(scenario)})
            for scenarios in self._groups
            for name, scenario in zip(scenario_names(scenarios), scenarios, strict=True)
        ]

    def _judged(self, answer: Expectation) -> Expectation:
        return replace(answer, recommended=recommended(self._question, answer))

    # ---- the epsilon that a goal needs

    def _inverted(self, empty: Expectation) -> Iterator[Expectation]:
        """Few tables for all selections, then many for those that need least."""
        question, few = self._question, max(self._n_many // 4, min(self._n_many, 8))
        rows = self._needed(None, few)
        answer = self._judged(replace(empty, rows=rows, is_final=self._n_many == few))
        yield answer
        if self._n_many > few:
            names = shortlist(question, answer)
            others = tuple(row for row in rows if row["rival"] not in names)
            yield self._judged(replace(answer, rows=(*self._needed(names, self._n_many), *others)))

    def _needed(self, names: Sequence[str] | None, n_tables: int) -> tuple[Row, ...]:
        goal = self._question.goal
        rows = list[Row]()
        for scenarios, rivals in zip(self._groups, self._rivals, strict=True):
            for name, scenario in zip(scenario_names(scenarios), scenarios, strict=True):
                figures = epsilons_for(
                    scenario,
                    [rival for rival in rivals if names is None or rival.name in names],
                    goal[1] if goal else 0.0,
                    goal[0] if goal else "right",
                    n_tables=n_tables,
                    seed=self._question.seed,
                    n_processes=self._n_processes,
                    progress=self._progress,
                )
                rows += [{**asdict(figure), "scenario": name, **scenario_numbers(scenario)} for figure in figures]
        return tuple(rows)

    # ---- unkind tables, and fewer rows

    def _on_unkind(self, answer: Expectation) -> dict[str, float]:
        """The mean overlap of near ties on unkind tables, at the epsilon of the comparison; of one nothing is asked."""
        names = near_ties(self._question, answer)
        rivals = [rival for rival in self._rivals[0] if rival.name in names]
        if len(rivals) < 2:
            return {}
        overlaps: dict[str, list[float]] = {rival.name: [] for rival in rivals}
        n_tables = self._question.n_tables or 2 * self._counts.soonest
        for curve in self._unkind_curves(self._hardest(answer, names[0])).values():
            curve.extend(n_tables, names, self._n_processes, self._progress, epsilons=(self._question.middle,))
            for figure in curve.expected():
                if figure.rival in overlaps:
                    overlaps[figure.rival].append(figure.overlap)
        return {name: sum(values) / len(values) for name, values in overlaps.items() if values}

    def _beside(self, answer: Expectation) -> Iterator[Expectation]:
        """What is recommended, and the request at hand, on unkind tables and on tables of half the rows."""
        question, chosen = self._question, answer.recommended
        names = list(dict.fromkeys([*([chosen.rival] if chosen else []), *requests(answer)]))
        rivals = [rival for rival in self._rivals[0] if rival.name in names]
        if not rivals:
            yield replace(answer, is_final=True)
            return
        scenario = self._hardest(answer, names[0])
        epsilons = question.epsilons
        if question.goal is not None:
            epsilons = tuple(sorted({row["epsilon"] for row in answer.rows if row["rival"] in names}))
        half = replace(scenario, n_rows=max(scenario.n_rows // 2, 1))
        curve = self._curve(half, rivals, epsilons)
        fewer = self._figures(curve, names, question.n_tables or self._counts.half)
        answer = replace(answer, fewer=fewer)
        yield answer
        unlucky = list[Row]()
        curves = self._unkind_curves(scenario)
        if question.goal is not None:
            curves = {name: self._curve(one.scenario, rivals, epsilons) for name, one in curves.items()}
        for name, curve in curves.items():
            rows = self._figures(curve, names, question.n_tables or self._counts.unkind)
            unlucky += [{**row, "kind": name} for row in rows]
        yield replace(answer, unlucky=tuple(unlucky), is_final=True)

    def _curve(self, scenario: Scenario, rivals: Sequence[Rival], epsilons: Sequence[float]) -> PairedCurves:
        question = self._question
        requests: Requests = {}
        if all("public_moments" not in rival.parameters for rival in rivals):  # these are drawn from the scenario
            requests = self._requests.setdefault(scenario.draw_metadata.sha256, requests)
        return PairedCurves(scenario, rivals, epsilons, question.n_draws, question.seed, requests=requests)

    def _unkind_curves(self, scenario: Scenario) -> dict[str, PairedCurves]:
        """By kind, those of the unkind tables beside a scenario, with what was drawn for near ties."""
        for known, curves in self._unkind:
            if known is scenario:
                return curves
        facts = self._rivals[0], self._question.epsilons
        curves = {one.unkindness.name: self._curve(one, *facts) for one in unkind_scenarios(scenario)}
        self._unkind.append((scenario, curves))
        return curves

    def _figures(self, curve: PairedCurves, names: Sequence[str], n_tables: int) -> tuple[Row, ...]:
        """Figures of some selections, from as few tables as they are sure with where their number is not named."""
        question, counts = self._question, self._counts
        for count in sorted({question.n_tables or counts.beside_first, n_tables}):
            sure = None if question.n_tables or count < n_tables else counts.beside_sure
            curve.extend(count, names, self._n_processes, self._progress, sure=sure)
        return tuple(asdict(figure) for figure in curve.expected() if figure.rival in names)

    def _hardest(self, answer: Expectation, name: str) -> Scenario:
        """The scenario, of the first number of rows, in which a selection does worst."""
        rows = [row for row in answer.rows if row["rival"] == name]
        totals = {
            label: sum(row["overlap"] for row in rows if row["scenario"] == label)
            for label in scenario_names(self._groups[0])
        }
        place = min(range(len(self._groups[0])), key=lambda at: list(totals.values())[at])
        return self._groups[0][place]


def _most_error(rows: Sequence[Row], names: Sequence[str]) -> float:
    """Largest standard error of the chance of the right columns, of some selections."""
    return max((float(row["error"]) for row in rows if row["rival"] in names), default=0.0)


def scenario_names(scenarios: Sequence[Scenario]) -> list[str]:
    """Return a letter for each."""
    return [chr(ord("A") + place) for place in range(len(scenarios))]


def scenario_numbers(scenario: Scenario) -> dict[str, float | None]:
    """Return what differs between scenarios, beside the number of rows."""
    return {
        "times": scenario.times,
        "correlation": None if scenario.pattern is not None else scenario.correlation,
        "r_squared": scenario.r_squared,
        "noise_sd": scenario.noise_sd,
    }
