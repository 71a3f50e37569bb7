"""``discreet predict``, ``joint`` and ``effects``: what a released fit answers for free."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import workflow
from discreet.cli.console import as_json, number, result, say
from discreet.cli.forms import Form, Format, as_csv, form_of
from discreet.cli.options import names
from discreet.errors import InvalidParameterError
from discreet.files import read_text

if TYPE_CHECKING:
    from discreet.workflow import FitAnswers, Interval

Fit = Annotated[Path, typer.Argument(help="Release file of a fit.")]
Confidence = Annotated[float | None, typer.Option(help="Confidence level of the intervals. Default: that of the fit.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
NOTHING = "uninformative"


def predict(
    fit: Fit,
    at: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE,NAME=VALUE: every column of the model; an exposure is 1 and an offset 0 unless it is "
            "among them. May repeat."
        ),
    ] = None,
    values: Annotated[
        Path | None, typer.Option(help="JSON file with such values, in place of --at: a list of {NAME: VALUE}.")
    ] = None,
    confidence: Confidence = None,
    json_: AsJson = False,
    format_: Format = None,
) -> None:
    """Predict the mean of the target at given values from a released fit, for free.

    \b
    Example:
      discreet predict fit.json --at age=40,site=north --at age=60,site=north
    """
    form, answers = form_of(format_, json_), _answers(fit)
    if (at is None) == (values is None):
        raise InvalidParameterError("Values of the columns are needed: give --at NAME=VALUE,..., or --values FILE.")
    places = [_values(text) for text in at or ()] if values is None else _places(values)
    predicted = [answers.predict(place, confidence) for place in places]
    if form is Form.JSON:
        as_json(
            "discreet/predictions@1", **_origin(answers), predictions=[asdict(prediction) for prediction in predicted]
        )
        return
    if form is Form.CSV:
        as_csv([asdict(prediction) for prediction in predicted])
        return
    rows = [(_at(prediction.values), *_texts(prediction.mean)) for prediction in predicted]
    level = f"{number(100 * predicted[0].confidence)}% interval" if predicted else ""
    _table((f"mean of {answers.release.request.get('target', '')} at", "estimate", level), rows)
    _cautions(answers)


def joint(
    fit: Fit,
    columns: Annotated[
        list[str],
        typer.Option(help="Columns, or single levels, whose coefficients are tested together: COL,COL=LEVEL."),
    ],
    confidence: Confidence = None,
    json_: AsJson = False,
    format_: Format = None,
) -> None:
    """Tell whether a category, or several columns, can have no effect at all, for free.

    \b
    Example:
      discreet joint fit.json --columns site
    """
    form, answers = form_of(format_, json_), _answers(fit)
    region = answers.joint_region(names(columns) or (), confidence)
    zero = region.zero
    if form is Form.JSON:
        as_json(
            "discreet/joint@1", **_origin(answers), **zero.model_dump(mode="json"), intervals=_each(region.intervals)
        )
        return
    if form is Form.CSV:
        as_csv([{**each, "zero_inside": zero.zero_inside} for each in _each(region.intervals)])
        return
    words = {True: "not ruled out", False: "ruled out", None: NOTHING}[zero.zero_inside]
    level = number(100 * zero.confidence)
    count = f"all {len(zero.terms)} coefficients" if len(zero.terms) > 1 else "the coefficient"
    result(f"Zero for {count}: {words}, at {level}% confidence")
    if zero.distance is not None and zero.limit is not None:
        result(f"  zero is {zero.distance:.3g} from the released numbers; the region reaches to {zero.limit:.3g}")
    rows = [(name, *_texts(interval)) for name, interval in region.intervals.items()]
    _table((f"all at once, at {level}%", "estimate", "interval"), rows)
    _cautions(answers)


def effects(
    fit: Fit,
    at: Annotated[
        str | None,
        typer.Option(
            help="Values of the columns: NAME=VALUE,NAME=VALUE. Default: the middle of the bounds, and the first level."
        ),
    ] = None,
    confidence: Confidence = None,
    json_: AsJson = False,
    format_: Format = None,
) -> None:
    """Tell how the mean of the target changes with each column, the others held, for free.

    \b
    Example:
      discreet effects fit.json --at age=40
    """
    form, answers = form_of(format_, json_), _answers(fit)
    effects_found = answers.marginal_effects(_values(at or ""), confidence)
    if form is Form.JSON:
        as_json("discreet/effects@1", **_origin(answers), effects=[*map(asdict, effects_found)])
        return
    if form is Form.CSV:
        as_csv([asdict(effect) for effect in effects_found])
        return
    rows = [
        (f"{effect.column}: {_value(effect.start)} to {_value(effect.end)}", *_texts(effect.change))
        for effect in effects_found
    ]
    level = f"{number(100 * effects_found[0].confidence)}% interval" if effects_found else ""
    _table((f"change of the mean of {answers.release.request.get('target', '')}", "estimate", level), rows)
    if effects_found:
        others = {name: value for effect in reversed(effects_found) for name, value in effect.values.items()}
        result(f"the others at {_at(others)}")
    _cautions(answers)


def _answers(fit: Path) -> "FitAnswers":
    return workflow.FitAnswers(workflow.Release.read(fit))


def _values(text: str) -> dict[str, str]:
    """The values of NAME=VALUE,NAME=VALUE."""
    pairs = [part.partition("=") for part in names([text]) or ()]
    lacking = [name for name, sign, _ in pairs if not sign]
    if lacking:
        raise InvalidParameterError(f"--at needs NAME=VALUE, but {lacking[0][:60]!r} has no '='. Give NAME=VALUE.")
    columns = [name for name, _, _ in pairs]
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise InvalidParameterError(
            f"--at takes each column once, but {twice[0][:60]!r} has two values. Leave one out."
        )
    return {name: value for name, _, value in pairs}


def _places(path: Path) -> list[dict[str, str]]:
    """The values in a file: what would be read in a list of processes when given by --at."""
    try:
        places = json.loads(read_text(path, "values"))
    except ValueError:
        places = None
    if not isinstance(places, list) or not all(isinstance(place, dict) for place in places):
        raise InvalidParameterError(
            f"The values file must be JSON, a list of {{NAME: VALUE}}, but {str(path)[:300]} is not."
        )
    return [{name: str(value) for name, value in place.items()} for place in places]


def _origin(answers: "FitAnswers") -> dict[str, Any]:
    release = answers.release
    return {"target": release.request.get("target"), "private": release.private, "after_selection": _is_chosen(answers)}


def _is_chosen(answers: "FitAnswers") -> bool:
    from discreet.report.request_facts import is_of_selection

    return is_of_selection(answers.release)


def _cautions(answers: "FitAnswers") -> None:
    if not answers.release.private:
        say("NOT PRIVATE: no guarantee, for study. It must not leave.")
    if _is_chosen(answers):
        say("The same rows chose the columns: no interval here corrects for that, and its level does not hold.")


def _each(intervals: "dict[str, Interval]") -> list[dict[str, Any]]:
    return [{"name": name, **asdict(interval)} for name, interval in intervals.items()]


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _at(values: dict[str, float | str]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in values.items()) or "all rows"


def _texts(interval: "Interval") -> tuple[str, str]:
    """Estimate and interval with digits as the interval is long."""
    from discreet.report.words import alike

    limits = [end for end in (interval.low, interval.high) if end is not None]
    reach = max((abs(end - interval.estimate) for end in limits), default=0.0) or abs(interval.estimate) / 100
    estimate, *ends = alike([interval.estimate, *limits], reach)
    if not limits:
        return estimate, NOTHING
    side = "above" if interval.high is None else "below"
    return estimate, " to ".join(ends) if len(ends) == 2 else f"{side} {ends[0]}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print lines whose first column is a name."""
    from discreet.report.words import visible

    lines = [tuple(map(visible, row)) for row in (head, *rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(3)]
    for name, estimate, interval in lines:
        result(f"{name:<{widths[0]}}  {estimate:>{widths[1]}}  {interval:>{widths[2]}}")
