"""A plan as text: what is supposed, tables of figures, and what they mean."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from discreet import workflow
from discreet.cli.console import number
from discreet.cli.plan_tables import (
    MOST_CURVES,
    MOST_SHOWN,
    WIDTH,
    comparison,
    curve,
    fits,
    needed,
    scenario_names,
    scenario_table,
)
from discreet.digits import plain
from discreet.report.words import count, percent, short, visible

WORDS = {
    "right": "the chance of exactly the right columns",
    "overlap": "right columns selected, over columns that are right or selected",
    "explained": "adjusted R² of the selected columns over that of the right ones",
}

SIGNS = {">=": "at least", "<=": "at most"}


def shown(
    question: "workflow.Question",
    expectation: "workflow.Expectation",
    compare: bool,
    start: Sequence[str],
    *,
    full: bool,
) -> list[str]:
    """Return the lines of a plan, at most 100 columns wide but for long words of the command.

    `start` are the first words of the command that asks for a selection. Not `full`: the first table, of the best
    selections, what is needed to read it, and what is recommended; several scenarios, or one epsilon, are told in full.
    """
    lines = scenario_lines(expectation.supposed)
    full = full or len(expectation.supposed["scenarios"]) > 1 or len(question.epsilons) < 2
    for n_rows in expectation.supposed["n_rows"]:
        rows = [row for row in expectation.rows if row["n_rows"] == n_rows]
        title = f" with {count(n_rows)} rows" if len(expectation.supposed["n_rows"]) > 1 else ""
        lines += _first_table(question, expectation, rows, title, compare, full)
        if question.goal is not None or not full:
            continue
        at = question.middle
        own = [row for row in rows if row["epsilon"] == at]
        for table in comparison(expectation, own, at, title, compare):
            lines += ["", *table]
        fitted = fits(question.epsilons, [row for row in expectation.fits if row["n_rows"] == n_rows], title)
        lines += ["", *fitted] if fitted else []
    notes = [line for note in note_lines(question, expectation) for line in wrap(note, WIDTH, subsequent_indent="  ")]
    if not full:
        notes = [line for note in _essential_notes(question, expectation) for line in wrap(note, WIDTH)]
    reads = "like" in expectation.supposed or question.public_moments is not None
    opened = "No private data were opened" if reads else "No data were opened"
    advice = recommended_lines(question, expectation, start)
    return [*lines, "", *notes, f"{opened} and nothing was spent.", *(["", *advice] if advice else [])]


def brief(question: "workflow.Question", expectation: "workflow.Expectation", compare: bool) -> list[str]:
    """Return what is shown while figures become finer: the first table, and what is recommended so far."""
    n_rows = expectation.supposed["n_rows"][0]
    rows = [row for row in expectation.rows if row["n_rows"] == n_rows]
    table = _first_table(question, expectation, rows, "", compare, full=False)
    return [*table[1:], "", *_reasons(expectation), "", "Figures become finer. Ctrl-C keeps those that there are."]


def _first_table(
    question: "workflow.Question",
    expectation: "workflow.Expectation",
    rows: list[dict[str, Any]],
    title: str,
    compare: bool,
    full: bool,
) -> list[str]:
    if question.goal is not None:
        return ["", *needed(question.goal, expectation, rows, title)]
    if compare or len(question.epsilons) < 2:
        return []
    return ["", *curve(expectation, question.epsilons, rows, title, None if full else MOST_CURVES)]


def recommended_lines(
    question: "workflow.Question", expectation: "workflow.Expectation", start: Sequence[str]
) -> list[str]:
    """Return what is recommended, why, what to rely on, and the command."""
    reasons = _reasons(expectation)
    return [*reasons, "", *_lines(workflow.recommended_command(question, expectation, start))] if reasons else []


def _lines(command: str) -> list[str]:
    """A command over several lines, each but the last with the mark that a shell goes on by."""
    options = command.split(" --")
    lines = [f"  {options[0]}"]
    for option in options[1:]:
        if len(lines[-1]) + len(option) + 5 <= WIDTH:
            lines[-1] += f" --{option}"
        else:
            lines[-1] += " \\"
            lines.append(f"    --{option}")
    return lines


def _reasons(expectation: "workflow.Expectation") -> list[str]:
    lines = list[str]()
    for place, sentence in enumerate(workflow.recommended_sentences(expectation)):
        lines += wrap(visible(sentence), WIDTH, initial_indent="  " if place else "", subsequent_indent="  ")
    return lines


def page(question: "workflow.Question", expectation: "workflow.Expectation", start: Sequence[str]) -> str:
    """Return a plan as a page with pictures.

    HTML that needs nothing else.
    """
    lines = scenario_lines(expectation.supposed)
    several = len(expectation.supposed["scenarios"]) > 1  # then a table of its own has the rest
    first = " ".join(line for line in lines if not line.startswith("  "))
    rest = [] if several else [" ".join(line.split()) for line in lines if line.startswith("  ")]
    sentence = " ".join([first, *(f"{line[0].upper()}{line[1:]}." for line in rest)])
    notes = [" ".join(note.split()) for note in note_lines(question, expectation)]
    advice = [visible(sentence) for sentence in workflow.recommended_sentences(expectation)]
    commands = workflow.commands_by_selection(question, expectation, start)
    command = workflow.recommended_command(question, expectation, start)
    return workflow.expectation_page(question, expectation, (sentence,), notes, advice, commands, command)


def scenario_lines(supposed: dict[str, Any]) -> list[str]:
    """Return what is supposed, in words, so that nobody takes it for the truth.

    A few lines; of several scenarios a table.
    """
    rows = " or ".join(count(n) for n in supposed["n_rows"])
    scenarios, like = supposed["scenarios"], supposed.get("like")
    start = f"Assumed about the table, not read from it: {rows} rows; "
    if like is not None:
        records = f"{count(like['n_records'])} complete records of the public table {visible(like['name'])}"
        spread = f"drawn from the {records}, as they are correlated there."
    elif len(scenarios) > 1:
        spread = "columns spread evenly over their bounds or levels."
    else:
        related = supposed["correlation"]
        how = f"each correlated {number(related)} with the one before" if related else "unrelated"
        spread = f"columns spread evenly over their bounds or levels, {how}."
    lines = wrap(start + spread, WIDTH - 5)
    if len(scenarios) > 1:
        return [*lines, *scenario_table(supposed)]
    sizes = [f"{visible(name)} {short(size)}" for name, size in supposed["effects"].items() if size]
    others = len(supposed["candidates"]) - len(sizes)
    sentence = ", ".join(sizes[:6]) + (f" and {len(sizes) - 6} more" if len(sizes) > 6 else "")
    none = f"; the other {'column' if others == 1 else f'{count(others)} columns'} none" if others else ""
    return [
        *lines,
        f"  effects on {visible(supposed['target'])}: {sentence or 'none'}{none}",
        f"  normal noise of standard deviation {short(supposed['noise_sd'])}: the columns explain "
        f"{supposed['r_squared']:.2f} of its variance",
    ]


def note_lines(question: "workflow.Question", expectation: "workflow.Expectation") -> list[str]:
    """Return what the figures mean, and what theory says.

    A note each, however long.
    """
    notes = []
    if question.goal is None:
        largest = max((row["error"] for row in expectation.rows), default=0.0)
        notes += [
            f"right: {WORDS['right']}. Its standard error is at most {largest:.2f}; more --tables make it smaller. "
            "Every epsilon has the same tables and draws. The curves are the nearest ones that do not fall.",
            f"overlap: {WORDS['overlap']}.",
            f"explained: {WORDS['explained']}.",
        ]
    else:
        notes.append(f"{question.goal[0]}: {WORDS[question.goal[0]]}.")
    kinds = list(dict.fromkeys(row["kind"] for row in expectation.unlucky))
    if kinds:
        notes.append(
            f"if you are unlucky: the worst of {len(kinds)} kinds of tables with the stated effects and noise: "
            f"{', '.join(kinds)}. Your table may be worse."
        )
    if expectation.fewer:
        notes.append(f"with half the people: {count(expectation.fewer[0]['n_rows'])} rows, all else equal.")
    scenarios = len(expectation.supposed["scenarios"])
    if scenarios > 1:
        notes.append(f"A to {scenario_names(scenarios)[-1]}: the scenarios; mean and worst are over these.")
    if scenarios > MOST_SHOWN:
        notes.append("The figures of each scenario are in --json and --out.")
    if any(choice.method in ("sis", "two-stage") for choice in expectation.choices):
        notes.append("sis and two-stage select a given number of columns: they are right only if that number is.")
    notes += _public_notes(expectation)
    notes += _chance_notes(question, expectation)
    notes += _fit_notes(question, expectation)
    for theorem in expectation.theory:
        notes += _theorem(theorem, scenarios > 1)
    notes += [f"Left out: {visible(name)}. {visible(reason)}" for name, reason in expectation.refused.items()]
    return notes


def _essential_notes(question: "workflow.Question", expectation: "workflow.Expectation") -> list[str]:
    """What the first table means, and where to find the rest."""
    notes = []
    if question.goal is None:
        largest = max((row["error"] for row in expectation.rows), default=0.0)
        notes.append(f"Figures are {WORDS['right']}, by simulation (standard error at most {largest:.2f}).")
    else:
        notes.append(f"{question.goal[0]}: {WORDS[question.goal[0]]}.")
    kinds = list(dict.fromkeys(row["kind"] for row in expectation.unlucky))
    if kinds:
        notes.append(f"If you are unlucky: the worst of {len(kinds)} kinds of unfavorable tables.")
    notes += _public_notes(expectation)
    if expectation.refused:
        notes.append(f"{len(expectation.refused)} selections were left out.")
    return [*notes, "All selections, measures and fits, and what the figures mean: --full, or --out plan.html."]


def _public_notes(expectation: "workflow.Expectation") -> list[str]:
    """What is supposed of a public table."""
    if not any(choice.is_with_public for choice in expectation.choices):
        return []
    return [
        "public columns: means and covariances of the columns are those of the public table, and cost nothing. It is "
        "supposed that private rows have about the same; if not, less is found than is said here."
    ]


def _chance_notes(question: "workflow.Question", expectation: "workflow.Expectation") -> list[str]:
    """What chance gives in the place of each selection, at the epsilon in the middle."""
    from discreet.release import ChanceRecord  # pydantic starts slowly: help must not wait for it

    chance_by_name = [
        (choice.name, ChanceRecord.model_validate(choice.chance)) for choice in expectation.choices if choice.chance
    ]
    at = f"At epsilon {number(question.middle)}"
    nothing = [visible(name) for name, chance in chance_by_name if chance.could_stand_out is False]
    notes = (
        [f"{at} nothing can stand out with {'; '.join(nothing)}: what it selects may be due to chance."]
        if nothing
        else []
    )
    chances = [
        f"{percent(chance.chance_by_noise)} ({visible(name)})"
        for name, chance in chance_by_name
        if chance.chance_by_noise is not None
    ]
    if chances:
        notes.append(f"{at}, the chance that a table without any effect gives a column: {'; '.join(chances)}.")
    return notes


def _fit_notes(question: "workflow.Question", expectation: "workflow.Expectation") -> list[str]:
    notes = []
    if expectation.fits:
        noise = f"delta {number(question.delta)}" if question.delta else "no delta"
        notes.append(
            f"A linear fit of the right columns: what `discreet fit` gives for them at this epsilon, with "
            f"{noise}. error: the mean absolute error of a coefficient. half width: half of its 95% interval, if "
            "that has two ends. Both are in the target's unit per half range of a column. coverage: the share of "
            "intervals with an end that contain the effect. uninformative: the share of intervals without an end."
        )
    reasons = dict.fromkeys(expectation.fits_refused.values())
    notes += [f"Left out: a fit of the right columns. {visible(reason)}" for reason in reasons]
    return notes


def _theorem(theorem: dict[str, Any], several: bool) -> list[str]:
    """Whether a theorem on the right model in growing tables applies, and for lack of what it does not."""
    conditions = theorem["conditions"]
    failing = sum(not condition["holds"] for condition in conditions)
    where = f"{theorem['rival']}, epsilon {number(theorem['epsilon'])}{', scenario A' if several else ''}"
    sentence = (
        "all of its conditions hold; it is about growing tables, not about how often a table of this size is right."
        if not failing
        else f"{failing} of its {len(conditions)} conditions {'is' if failing == 1 else 'are'} not met, so it does "
        "not apply."
    )
    return [f"Lei et al., theorem {theorem['theorem']} ({where}): {sentence}", *map(_condition, conditions)]


def _condition(condition: dict[str, Any]) -> str:
    quantity, sign = condition["quantity"], SIGNS[condition["relation"]]
    needed = "more than is possible" if condition["needed"] is None else f"{sign} {_plain(condition['needed'])}"
    verdict = "met" if condition["holds"] else "not met"
    return f"  {verdict}: {quantity} {_plain(condition['found'])}, must be {needed} so that {condition['purpose']}"


def _plain(value: float) -> str:
    return count(round(value)) if value >= 1000.0 else plain(value, 3)
