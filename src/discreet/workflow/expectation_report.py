"""A plan as a page with pictures: what to expect, what it would cost, and what a release can tell of a person."""

from collections.abc import Mapping, Sequence

from discreet.errors import InvalidParameterError
from discreet.report import pictures, study_pictures
from discreet.report.explorer import Explorer, explored
from discreet.report.studies import Heading, StudyTable, study_page, tabulated
from discreet.report.study import Findings, Row, Study
from discreet.report.words import number, titled
from discreet.workflow.expectation import Expectation, Question
from discreet.workflow.expectation_costs import costs, odds
from discreet.workflow.expectation_studies import MEASURES, accuracy, compared, figures_of, fits, needed, scenarios
from discreet.workflow.recommendation import CLOSE


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
        studies = [needed(question.goal[0], expectation)]
    else:
        studies = [
            *accuracy(expectation),
            compared(expectation, at),
            fits(expectation),
            *costs(question, expectation, at),
            odds(at),
        ]
    shown = [findings for findings in [scenarios(expectation), *studies] if findings is not None]
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
    study = next(filter(None, accuracy(expectation)), None)
    if study is None:
        raise InvalidParameterError("A curve must have several epsilons, but one was given. Give more.")
    drawn = study_pictures.draw(study.study.pictures[0], study.rows, [way.name for way in study.study.columns])
    return drawn.replace(">", '><rect width="100%" height="100%" fill="#ffffff"/>', 1)


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
    study = figures_of(findings.study.name, "", "", dict.fromkeys(row.column for row in rows))
    return tabulated(Findings(study, rows, 0))


def _text(name: str, title: str, sentences: Sequence[str], command: str = "") -> Findings:
    return Findings(Study(name, title, "", tuple(sentences), (), (), (), (), (), 0, command), (), 0)
