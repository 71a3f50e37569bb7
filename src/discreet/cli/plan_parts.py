"""What a plan says of parts below a ceiling."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import workflow
from discreet.cli.console import as_json, number, progress, result
from discreet.digits import plain
from discreet.errors import InvalidParameterError

if TYPE_CHECKING:
    from discreet.workflow.expectation_parts import ExpectedParts
    from discreet.workflow.paid_terms import Terms


def expect_parts(
    question: "workflow.Question", stop: dict[str, Any], out: Path | None, json_: bool, quiet: bool
) -> None:
    """Simulate what parts spend, and print it."""
    if question.public_moments is not None:
        raise InvalidParameterError("Parts must be of bought moments alone. Leave out --public-table.")
    is_aimed = ("until" in stop) != ("until_width" in stop)
    if not is_aimed or "at_most" not in stop or question.goal or out is not None or set(question.methods) - {"moments"}:
        raise InvalidParameterError(
            "Parts are planned alone: give --until or --until-width, and --at-most, and leave out --goal, --out and "
            "methods but moments."
        )
    with progress(quiet) as show_progress:
        terms, figures = workflow.expected_parts(replace(question, methods=("moments",)), stop, show_progress)
    if json_:
        as_json(**workflow.parts_record(terms, figures))
        return
    result("\n\n".join(_shown(terms, each) for each in figures))


def _shown(terms: "Terms", figures: "ExpectedParts") -> str:
    """One scenario, in lines."""
    adds_up = "rho adds up, as in an account kept in zcdp" if terms.is_concentrated else "epsilon and delta add up"
    effects = ", ".join(f"{name} {number(effect)}" for name, effect in figures.effects.items() if effect) or "none"
    needed = "no epsilon tried" if figures.fixed_needed is None else f"epsilon {plain(figures.fixed_needed, 3)}"
    lines = [
        f"Moments in parts of at most epsilon {number(terms.at_most)} together ({adds_up}); {figures.n_tables} tables "
        f"of {figures.n_rows} rows, effects: {effects}.",
        f"Spent: epsilon {plain(figures.mean, 3)} on the mean, {plain(figures.median, 3)} in the median, "
        f"{plain(figures.ninth_tenth, 3)} in nine of ten tables at most; worst {plain(figures.worst, 3)}. "
        f"Parts: {plain(figures.parts, 3)}.",
        f"As sure as asked in {figures.reached:.0%} of the tables; the likeliest model is right in "
        f"{figures.right:.0%}. One release is right as often at {needed}.",
        "One release at epsilon: "
        + "; ".join(
            f"{plain(each.epsilon, 3)} as sure in {each.reached:.0%}, right in {each.right:.0%}"
            for each in figures.fixed
        )
        + ".",
    ]
    return "\n".join(lines)
