"""A plan as a page with pictures: what to expect, what it would cost, and what a release can tell of a person."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accounting.compose import guarantee_of
from discreet.accounting.events import ComposedEvent, Event
from discreet.accounting.guarantee import exact_delta
from discreet.accounting.zcdp import rho_of
from discreet.errors import DiscreetError, InvalidParameterError
from discreet.methods.registry import method_of
from discreet.report import pictures, study_pictures
from discreet.report.explorer import Explorer, explored
from discreet.report.price import price
from discreet.report.studies import Heading, StudyTable, study_page, tabulated
from discreet.report.study import Column, Findings, Picture, Row, Study
from discreet.report.words import number, titled
from discreet.workflow.expectation import Choice, Expectation, Question
from discreet.workflow.recommendation import CLOSE

if TYPE_CHECKING:
    from discreet.methods.base.method import Preparation

MOST_CURVES = 6
"""Curves that can be told apart."""

REQUESTS = (1, 2, 3, 5, 8, 12, 20)
FAN_DELTA = 1e-6
MEASURES = {
    "right": ("Exactly the right columns", "Chance of exactly the right columns"),
    "overlap": ("Overlap", "Columns that are right and selected, over those that are either"),
    "explained": ("Explained", "Adjusted R² of the selected columns over that of the right ones"),
}


def expectation_page(
    question: Question,
    expectation: Expectation,
    supposed: Sequence[str],
    notes: Sequence[str],
    advice: Sequence[str] = (),
    commands: Mapping[str, str] | None = None,
    command: str = "",
) -> str:
    """Return a plan as one page that needs nothing else.

    HTML: pictures, each with a table, from public facts alone; sliders where there are commands by selection.
    """
    at = question.middle
    if question.goal is not None:
        studies = [_needed(question.goal[0], expectation)]
    else:
        studies = [
            *_accuracy(expectation),
            _compared(expectation, at),
            _fits(expectation),
            *_costs(question, expectation, at),
            _odds(at),
        ]
    shown = [findings for findings in [_scenarios(expectation), *studies] if findings is not None]
    drawn = {
        f"{findings.study.name}-{picture.name}": study_pictures.draw(
            picture, findings.rows, [way.name for way in findings.study.columns]
        )
        for findings in shown
        for picture in findings.study.pictures
        if findings.rows
    }
    if question.goal is None:
        drawn["odds-odds"] = pictures.odds(at)
    column = question.metadata.columns.get(question.target)
    heading = Heading(
        "a plan, before anything is spent",
        f"What to expect of a selection for {titled(question.target, column.description if column else None)}",
        (
            *supposed,
            "Simulated from public facts alone: no private data were opened and nothing was spent. Bands and bars show "
            "two standard errors of the simulation.",
        ),
        marked=False,
    )
    turned = {findings.study.name: _by_epsilon(findings) for findings in shown if findings.study.name in MEASURES}
    recommended = [_text("recommended", "What is recommended", advice, command)] if advice else []
    texts = [*recommended, *shown, _text("notes", "What the figures mean", notes)]
    return study_page(texts, drawn, heading, turned, _explorer(question, expectation, commands or {}))


def _explorer(question: Question, expectation: Expectation, commands: Mapping[str, str]) -> Explorer | None:
    """Sliders over what was simulated; none for a goal, whose figures are epsilons, or where there is no choice."""
    if not commands or question.goal is not None:
        return None
    words = _supposed_words(expectation)
    explorer = explored(expectation.rows, words, commands, expectation.on_unkind, CLOSE)
    return explorer if explorer.sliders else None


def _supposed_words(expectation: Expectation) -> dict[str, str]:
    """What each scenario supposes, in few words."""
    listed = expectation.supposed["scenarios"]
    return {
        each["scenario"]: f"columns explain {number(each['r_squared'], 2)} of the variance, correlation "
        f"{number(each['correlation'], 2)}"
        if each["r_squared"] is not None and each["correlation"] is not None
        else str(each["scenario"])
        for each in listed
    }


def accuracy_picture(expectation: Expectation) -> str:
    """Return the chance of exactly the right columns against epsilon, as an SVG document, from public facts alone."""
    study = next(filter(None, _accuracy(expectation)), None)
    if study is None:
        raise InvalidParameterError("A curve must have several epsilons, but one was given. Give more.")
    drawn = study_pictures.draw(study.study.pictures[0], study.rows, [way.name for way in study.study.columns])
    return drawn.replace(">", '><rect width="100%" height="100%" fill="#ffffff"/>', 1)


def _study(name: str, title: str, description: str, columns: Iterable[str], *pictures: Picture) -> Study:
    ways = tuple(Column(way, True, "") for way in columns)
    return Study(name, title, "", (description,), ways, (), (), pictures, (), 0)


def _best(rows: Sequence[Mapping[str, Any]], asked: Sequence[str]) -> list[str]:
    """Names of the selections, the request at hand and then the best first: few enough to be told apart."""
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["rival"]] = totals.get(row["rival"], 0.0) + row["overlap"]
    return sorted(totals, key=lambda name: (name not in asked, -totals[name]))[:MOST_CURVES]


def _settings(expectation: Expectation, row: Mapping[str, Any]) -> dict[str, Any]:
    settings = {"rows": row["n_rows"]} if len(expectation.supposed["n_rows"]) > 1 else {}
    return settings | ({"supposed": row["scenario"]} if len(expectation.supposed["scenarios"]) > 1 else {})


def _text(name: str, title: str, sentences: Sequence[str], command: str = "") -> Findings:
    return Findings(Study(name, title, "", tuple(sentences), (), (), (), (), (), 0, command), (), 0)


def _scenarios(expectation: Expectation) -> Findings | None:
    """What each scenario supposes, where there are several."""
    listed = expectation.supposed["scenarios"]
    if len(listed) < 2:
        return None
    rows = [
        Row(way, {"supposed": findings["scenario"]}, value)
        for findings in listed
        for way, value in {
            "times": findings["times"],
            "correlation": findings["correlation"],
            "R²": findings["r_squared"],
            "noise sd": findings["noise_sd"],
            **{f"effect of {name}": size for name, size in findings["effects"].items() if size},
        }.items()
        if value is not None
    ]
    ways = dict.fromkeys(row.column for row in rows)
    description = "The pictures show each; a choice should do well in all of them that may be true."
    return Findings(_study("supposed", "What is supposed", description, ways), tuple(rows), 0)


def _needed(measure: str, expectation: Expectation) -> Findings | None:
    """The epsilon that each selection needs."""
    description = (
        f"The least epsilon at which the goal is reached, of: {MEASURES[measure][1].lower()}. Selections that do not "
        "reach it are left out."
    )
    rows = tuple(
        Row("epsilon", {"selection": row["rival"], **_settings(expectation, row)}, row["epsilon"])
        for row in expectation.rows
    )
    if not rows:
        return None
    picture = Picture(
        "goal",
        "Epsilon that is needed",
        "dots",
        "selection",
        "Selection",
        "Epsilon (nats)",
        low=0.0,
        high=max(row.value for row in rows),
        **_panels(rows),
    )
    return Findings(_study("goal", "The epsilon that is needed", description, ["epsilon"], picture), rows, 0)


def _accuracy(expectation: Expectation) -> list[Findings | None]:
    """Curves against epsilon, and against the number of rows."""
    epsilons = sorted({row["epsilon"] for row in expectation.rows})
    names = _best(expectation.rows, expectation.asked)
    studies: list[Findings | None] = []
    for measure, (title, description) in list(MEASURES.items())[:2]:
        rows = tuple(
            Row(
                row["rival"],
                {"epsilon": row["epsilon"], **_settings(expectation, row)},
                row[measure],
                row["error"] if measure == "right" else None,
            )
            for row in expectation.rows
        )
        several: dict[str, Any] = {"across": "rows"} if len(expectation.supposed["n_rows"]) > 1 else {}
        if any("supposed" in row.settings for row in rows):
            several["down"] = "supposed"
        few = (
            f" The picture shows the {len(names)} with the best overlap." if len(_all(expectation)) > len(names) else ""
        )
        words = f"{description}.{few} The table has all of them."
        view: dict[str, Any] = {"low": 0.0, "high": 1.0, "columns": tuple(names), **several}
        if len(epsilons) > 1:
            curve = Picture("epsilon", description, "lines", "epsilon", "Epsilon (nats)", title, log=True, **view)
            studies.append(
                Findings(_study(measure, f"{title}, against epsilon", words, _all(expectation), curve), rows, 0)
            )
        if len(expectation.supposed["n_rows"]) > 1:
            view |= {"across": "epsilon"}
            curve = Picture("rows", description, "lines", "rows", "Rows of the table", title, log=True, **view)
            studies.append(
                Findings(
                    _study(f"{measure}-rows", f"{title}, against the rows", words, _all(expectation), curve), rows, 0
                )
            )
    return studies


def _by_epsilon(findings: Findings) -> StudyTable:
    """A line a selection and a column an epsilon: there are more selections than a page is wide."""
    rows = tuple(
        Row(
            f"epsilon {number(row.settings['epsilon'])}",
            {"selection": row.column, **{name: value for name, value in row.settings.items() if name != "epsilon"}},
            row.value,
            row.error,
        )
        for row in findings.rows
    )
    study = _study(findings.study.name, "", "", dict.fromkeys(row.column for row in rows))
    return tabulated(Findings(study, rows, 0))


def _all(expectation: Expectation) -> list[str]:
    return list(dict.fromkeys(row["rival"] for row in expectation.rows))


def _compared(expectation: Expectation, epsilon: float) -> Findings | None:
    """All selections at one epsilon."""
    rows = sorted(
        (row for row in expectation.rows if row["epsilon"] == epsilon), key=lambda row: (-row["overlap"], -row["right"])
    )
    dots = tuple(
        Row(
            title,
            {"selection": row["rival"], **_settings(expectation, row)},
            row[measure],
            row["error"] if measure == "right" else None,
        )
        for row in rows
        for measure, (title, _) in MEASURES.items()
    )
    if not dots:
        return None
    several = _panels(dots)
    picture = Picture(
        "comparison",
        f"At epsilon {number(epsilon)}",
        "dots",
        "selection",
        "Selection",
        "Share",
        low=0.0,
        high=1.0,
        **several,
    )
    titles = [title for title, _ in MEASURES.values()]
    description = (
        "; ".join(f"{title}: {description[0].lower() + description[1:]}" for title, description in MEASURES.values())
        + "."
    )
    return Findings(
        _study("comparison", f"All selections at epsilon {number(epsilon)}", description, titles, picture), dots, 0
    )


def _fits(expectation: Expectation) -> Findings | None:
    """Errors and interval widths of a private regression on the right columns."""
    ways = {"half_width": "half of the interval's width", "error": "mean absolute error"}
    rows = tuple(
        Row(description, {"epsilon": row["epsilon"], **_settings(expectation, row)}, row[name])
        for row in expectation.fits
        for name, description in ways.items()
        if row[name] is not None
    )
    if not rows:
        return None
    many = len({row.settings["epsilon"] for row in rows}) > 1
    several = _panels(rows)
    description = (
        "A private linear regression of the right columns at the whole epsilon. Both figures are in the target's unit, "
        "per half range of a column: the unit of the supposed effects."
    )
    picture = Picture(
        "epsilon",
        "Error and interval width",
        "lines",
        "epsilon",
        "Epsilon (nats)",
        "Target's unit",
        log=many,
        **several,
    )
    return Findings(_study("fit", "Coefficients of the right columns", description, ways.values(), picture), rows, 0)


def _costs(question: Question, expectation: Expectation, epsilon: float) -> list[Findings | None]:
    """What epsilon is spent on, and what several such requests add up to, of the selection that does best."""
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
    costs = [
        float(rho_of(part)[0]) if is_gaussian else price(step.event).epsilon
        for step, part in zip(prepared.steps, event.events, strict=True)
    ]
    rows = tuple(
        Row("share", {"part": step.name}, cost / sum(costs)) for step, cost in zip(prepared.steps, costs, strict=True)
    )
    picture = Picture(
        "split", f"{choice.name}, epsilon {number(epsilon)}", "dots", "part", "Part", "Share", low=0.0, high=1.0
    )
    description = f"The parts of one request by {choice.name}, each with its own noise: shares of {{}}."
    description = description.format("rho, its price in concentrated accounting" if is_gaussian else "epsilon")
    return Findings(_study("split", "What epsilon is spent on", description, ["share"], picture), rows, 0)


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
        f"concentrated accounting at delta {FAN_DELTA:g}. A ledger stops at its cap, whichever comes first."
    )
    picture = Picture("fan", "Epsilon in total", "lines", "requests", "Requests on the same people", "Epsilon in total")
    return Findings(_study("budget", "What repeated requests add up to", description, ways, picture), tuple(rows), 0)


def _total(question: Question, event: Event, count: int, delta: float) -> float | None:
    try:
        delta_ = exact_delta(delta) if delta else Fraction(0)
        return float(guarantee_of(ComposedEvent((event,) * count), question.metadata.neighboring, delta_).epsilon)
    except DiscreetError:  # Gaussian noise has no epsilon without a delta
        return None


def _panels(rows: Sequence[Row]) -> dict[str, Any]:
    """Settings beside those of every plan have panels of their own."""
    return {
        way: name
        for way, name in (("across", "rows"), ("down", "supposed"))
        if any(name in row.settings for row in rows)
    }


def _odds(epsilon: float) -> Findings:
    description = f"How far a release at epsilon {number(epsilon)} can move, at worst, anyone's belief about a person."
    picture = Picture("odds", "Belief before and after", "lines", "before", "Before", "After")
    return Findings(_study("odds", "What a release can tell of a person", description, (), picture), (), 0)
