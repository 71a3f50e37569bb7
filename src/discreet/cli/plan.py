"""``discreet plan``: how well a selection can be expected to do, before anything is spent."""

import csv
import re
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer

from discreet import workflow
from discreet.cli.console import as_json, number, progress, result, say, spare
from discreet.cli.select import named_numbers, other_parameters
from discreet.cli.spend import Quiet, names
from discreet.errors import InvalidParameterError
from discreet.files import writable, write_whole
from discreet.report.words import cells, count, squeezed, visible

EXAMPLE = """\b
Example:
  discreet plan --metadata clinic.yaml --target visits
  discreet plan --metadata clinic.yaml --target visits --n-rows 500,2000 \\
    --effect age=4 --effect income=2 --noise-sd 3 --epsilon 1 --compare
  discreet plan --metadata clinic.yaml --target visits --goal "right>=0.9"
"""

PROCESSES = 2
"""At most; more would need as many tables in memory at once."""

MEASURES = {"right": "right", "p": "right", "overlap": "overlap", "explained": "explained"}
WIDTH = 100

WORDS = {
    "right": "the chance of exactly the right columns",
    "overlap": "right columns selected, over columns that are right or selected",
    "explained": "adjusted R² of the selected columns over that of the right ones",
}


def plan(
    metadata: Annotated[Path, typer.Option(help="What is public about the table (YAML or JSON).")],
    target: Annotated[str, typer.Option(help="The response: a numeric column.")],
    candidates: Annotated[
        list[str] | None, typer.Option(help="Columns that may be selected: COL,COL. Default: all declared.")
    ] = None,
    epsilon: Annotated[str, typer.Option(help="Privacy losses to try, in nats: E,E.")] = "0.1,0.3,1,3,10",
    delta: Annotated[float, typer.Option(help="For the methods that gain by one. 0: pure epsilon alone.")] = 1e-6,
    n_rows: Annotated[
        str | None, typer.Option(help="Rows of the table: N, or N,N to compare. Default: the public number.")
    ] = None,
    effect: Annotated[
        list[str] | None,
        typer.Option(
            help="COL=SIZE: change of the target from the middle of the column to its upper bound, of a category from "
            "its first level to its last. May be repeated; other columns then have none."
        ),
    ] = None,
    n_true: Annotated[
        int | None, typer.Option(help="Without --effect: the first so many columns matter alike. Default 3, or half.")
    ] = None,
    r_squared: Annotated[
        float | None, typer.Option(help="Part of the target's variance that they explain. Default 0.5.")
    ] = None,
    noise_sd: Annotated[
        float | None, typer.Option(help="Standard deviation of the rest, in the target's unit, in place of it.")
    ] = None,
    correlation: Annotated[float, typer.Option(help="Of each column with the one before it.")] = 0.0,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="pcls, pcpl, moments, sis or two-stage alone. May be repeated. Default: a choice of tunings."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of these methods: NAME=VALUE, as JSON.")
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Only the comparison in full, at the first epsilon.")
    ] = False,
    goal: Annotated[
        str | None,
        typer.Option(help='The epsilon that is needed for "right>=0.9", or for overlap or explained.'),
    ] = None,
    tables: Annotated[
        int | None, typer.Option(help="Tables to draw: more give finer figures. Default 12; of a goal 100 a step.")
    ] = None,
    draws: Annotated[int, typer.Option(help="Draws of noise on each table.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the figures here (CSV).")] = None,
    json_: Annotated[bool, typer.Option("--json", help="The figures as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Tell how well each selection can be expected to do, by simulation. No data are opened and nothing is spent."""
    public = workflow.Metadata.read(metadata)
    if out is not None:
        if out.suffix.lower() != ".csv":
            raise InvalidParameterError(
                f"Figures are written as CSV, but --out is {out}. Give a name that ends in .csv."
            )
        writable(out)
        spare(out, metadata)
    asked = _asked(goal)
    if compare and asked:
        raise InvalidParameterError("--compare rates methods at an epsilon that --goal is to find. Leave one out.")
    if draws != 1 and asked:
        raise InvalidParameterError("A goal takes each table once. Leave out --draws, or give more --tables.")
    question = workflow.Question(
        metadata=public,
        target=target,
        candidates=names(candidates),
        epsilons=_epsilons(epsilon, compare),
        delta=delta,
        n_rows=_counts(n_rows),
        supposed=_supposed(effect, n_true, r_squared, noise_sd, correlation),
        methods=tuple(method or ()),
        parameters=other_parameters(set_),
        goal=asked,
        n_tables=tables,
        n_draws=draws,
        seed=seed,
    )
    with progress(quiet) as told:
        found = workflow.expect(question, PROCESSES, told)
    if out is not None:
        write_whole(out, _csv(found))
    if json_:
        _as_json(question, found)
    else:
        result("\n".join(_shown(question, found, compare)))
    if out is not None:
        say(f"Figures written to {out}.", quiet)


# ---- what is asked


def _asked(goal: str | None) -> tuple[Any, float] | None:
    if goal is None:
        return None
    match = re.fullmatch(r"\s*(\w+)\s*>=\s*(\d+(?:\.\d*)?|\.\d+)(%?)\s*", goal, re.ASCII)
    if match is None or match[1] not in MEASURES:
        raise InvalidParameterError(
            f'A goal must have the form "right>=0.9", of right, overlap or explained, but it is {goal[:40]!r}.'
        )
    return MEASURES[match[1]], float(match[2]) / (100.0 if match[3] else 1.0)


def _epsilons(text: str, first: bool) -> tuple[float, ...]:
    try:
        found = tuple(dict.fromkeys(float(one) for one in text.split(",")))
    except ValueError:
        raise InvalidParameterError(f"--epsilon must be numbers: E,E, such as 0.1,1,10, not {text[:40]!r}.") from None
    return found[:1] if first else found


def _counts(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    try:
        found = tuple(dict.fromkeys(int(one) for one in text.replace("_", "").split(",")))
    except ValueError:
        raise InvalidParameterError(
            f"--n-rows must be whole numbers: N,N, such as 500,2000, not {text[:40]!r}."
        ) from None
    return found


def _supposed(
    effect: list[str] | None,
    n_true: int | None,
    r_squared: float | None,
    noise_sd: float | None,
    correlation: float,
) -> dict[str, Any]:
    form = "--effect COL=SIZE, such as age=2.5"
    effects = named_numbers(effect, form)
    if effects is not None and not all(isinstance(size, float) for size in effects.values()):
        raise InvalidParameterError(f"An effect must be a number, in the form {form}.")
    if effects is not None and n_true is not None:
        raise InvalidParameterError("--effect says which columns matter. Leave out --n-true.")
    if effects is not None and noise_sd is not None and r_squared is not None:
        raise InvalidParameterError("Effects and --noise-sd decide what is explained. Leave out --r-squared.")
    given = {"effects": effects, "n_true": n_true, "r_squared": r_squared, "noise_sd": noise_sd}
    return {"correlation": correlation, **{name: value for name, value in given.items() if value is not None}}


# ---- what is shown


def _as_json(question: workflow.Question, found: workflow.Expectation) -> None:
    as_json(
        "discreet/expectation@1",
        supposed=found.supposed,
        goal=None if question.goal is None else {"measure": question.goal[0], "at_least": question.goal[1]},
        choices=[asdict(one) for one in found.choices],
        figures=list(found.rows),
        refused=found.refused,
        theory=found.theory,
        seed=question.seed,
    )


def _csv(found: workflow.Expectation) -> str:
    text = StringIO()
    fields = list(found.rows[0]) if found.rows else ["rival"]
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(found.rows)
    return text.getvalue()


def _shown(question: workflow.Question, found: workflow.Expectation, compare: bool) -> list[str]:
    lines = _scenario(found.supposed)
    for n_rows in found.supposed["n_rows"]:
        rows = [row for row in found.rows if row["n_rows"] == n_rows]
        title = f" with {count(n_rows)} rows" if len(found.supposed["n_rows"]) > 1 else ""
        if question.goal is not None:
            lines += ["", *_needed(question.goal, found, rows, title)]
            continue
        if not compare and len(question.epsilons) > 1:
            lines += ["", *_curve(question.epsilons, rows, title)]
        at = question.epsilons[0] if compare else question.epsilons[len(question.epsilons) // 2]
        lines += ["", *_comparison(found, [row for row in rows if row["epsilon"] == at], at, title)]
    notes = [line for note in _notes(question, found) for line in wrap(note, WIDTH, subsequent_indent="  ")]
    return [*lines, "", *notes, "No data were opened and nothing was spent."]


def _scenario(supposed: dict[str, Any]) -> list[str]:
    """What is supposed, in words, so that nobody takes it for the truth."""
    sizes = [f"{visible(name)} {number(round(size, 4))}" for name, size in supposed["effects"].items() if size]
    rows = " or ".join(count(n) for n in supposed["n_rows"])
    others = len(supposed["candidates"]) - len(sizes)
    told = ", ".join(sizes[:6]) + (f" and {len(sizes) - 6} more" if len(sizes) > 6 else "")
    none = f"; the other {count(others)} of {count(len(supposed['candidates']))} columns none" if others else ""
    related = supposed["correlation"]
    return [
        f"Supposed of the table, not read from it: {rows} rows; columns spread evenly over their bounds or",
        f"levels, {f'each correlated {number(related)} with the one before' if related else 'unrelated'}.",
        f"  effects on {visible(supposed['target'])}  {told or 'none'}{none}",
        f"  normal noise of standard deviation {supposed['noise_sd']:.3g}: the columns explain "
        f"{supposed['r_squared']:.2f} of its variance",
    ]


def _curve(epsilons: tuple[float, ...], rows: list[dict[str, Any]], title: str) -> list[str]:
    """A row a method, a column an epsilon; best first."""
    chances: dict[str, dict[float, dict[str, Any]]] = {}
    for row in rows:
        chances.setdefault(row["rival"], {})[row["epsilon"]] = row
    best = sorted(chances, key=lambda name: -sum(row["right"] + 0.1 * row["overlap"] for row in chances[name].values()))
    table = [["Chance of the right columns", *(f"eps {number(epsilon)}" for epsilon in epsilons)]]
    for name in best:
        known = [chances[name].get(epsilon) for epsilon in epsilons]
        table.append([name, *("-" if row is None else f"{row['right']:.2f}" for row in known)])
    return _table(table, title)


def _comparison(found: workflow.Expectation, rows: list[dict[str, Any]], epsilon: float, title: str) -> list[str]:
    choices = {one.name: one for one in found.choices}
    table = [[f"At epsilon {number(epsilon)}", "overlap", "right", "error", "explained", "delta", "models"]]
    for row in sorted(rows, key=lambda row: (-row["overlap"], -row["right"])):
        one = choices[row["rival"]]
        figures = [f"{row['overlap']:.2f}", f"{row['right']:.2f}", f"{row['error']:.2f}", f"{row['explained']:.2f}"]
        models = "-" if one.n_models is None else f"{one.n_models:,}" if one.n_models < 10**6 else f"{one.n_models:.1g}"
        table.append([row["rival"], *figures, f"{one.delta:.0g}" if one.delta else "0", models])
    return _table(table, title)


def _needed(goal: tuple[str, float], found: workflow.Expectation, rows: list[dict[str, Any]], title: str) -> list[str]:
    measure, wanted = goal
    known = {row["rival"]: row for row in rows}
    table = [[f"For {measure} >= {number(wanted)}", "epsilon", measure, *(["error"] if measure == "right" else [])]]
    for name in sorted((one.name for one in found.choices), key=lambda name: known.get(name, {}).get("epsilon", 1e9)):
        row = known.get(name)
        error = [] if measure != "right" else [f"{row['error']:.2f}" if row else "-"]
        table.append(
            [name, f"{row['epsilon']:.2g}" if row else "not reached", f"{row[measure]:.2f}" if row else "-", *error]
        )
    return _table(table, title)


def _table(table: list[list[str]], title: str) -> list[str]:
    """Names to the left, figures to the right, within the width of a terminal."""
    head = [table[0][0] + title, *table[0][1:]]
    rows = [[visible(cell) for cell in row] for row in [head, *table[1:]]]
    widths = [max(cells(row[at]) for row in rows) for at in range(len(head))]
    widths[0] = max(12, min(widths[0], WIDTH - sum(widths[1:]) - 2 * (len(head) - 1)))
    lines = []
    for row in rows:
        name = squeezed(row[0], widths[0])
        figures = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([name + " " * (widths[0] - cells(name)), *figures]))
    return [lines[0], "─" * min(WIDTH, cells(lines[0])), *lines[1:]]


def _notes(question: workflow.Question, found: workflow.Expectation) -> list[str]:
    notes = []
    if question.goal is None:
        largest = max((row["error"] for row in found.rows), default=0.0)
        notes += [
            f"right: {WORDS['right']}; its standard error is at most {largest:.2f} (--tables: finer).",
            f"overlap: {WORDS['overlap']}.",
            f"explained: {WORDS['explained']}.",
        ]
    else:
        notes.append(f"{question.goal[0]}: {WORDS[question.goal[0]]}.")
    if any(one.method in ("sis", "two-stage") for one in found.choices):
        notes.append("sis and two-stage select as many columns as they are told: right only where that is known.")
    if found.theory is not None:
        told = found.theory
        notes.append(
            f"Lei et al., theorem 1, asks for a penalty of {told['needed']:.3g} ({told['rival']}, epsilon "
            f"{number(told['epsilon'])}); it is {told['model_penalty']:.3g}, so the condition "
            f"{'holds' if told['holds'] else 'does not hold: consistency is not proved'}."
        )
    notes += [f"Left out: {visible(name)}. {visible(reason)}" for name, reason in found.refused.items()]
    return notes
