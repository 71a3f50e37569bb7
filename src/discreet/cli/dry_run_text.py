"""What a request would cost and the noise that it would have, as text."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.cli.console import as_json, number, result
from discreet.cli.release_text import n_models
from discreet.digits import plain
from discreet.parameters.by_method import titles
from discreet.report.chance_words import before
from discreet.report.chances import is_weak
from discreet.report.request_facts import public_moments
from discreet.report.words import count

if TYPE_CHECKING:
    from discreet.release import NoiseRecord, TwinRecord


WEAK = "the promise is weak: what was 1% likely of one person can become more likely than not. Lower epsilon."


def show_dry_run(record: Mapping[str, Any], json_: bool, expected: "Sequence[TwinRecord]" = ()) -> None:
    """Print what a request would cost."""
    from discreet.release import NoiseRecord, StepRecord  # pydantic starts slowly: help must not wait for it

    if json_:
        errors = {"expected_errors": [error.model_dump(mode="json") for error in expected]} if expected else {}
        as_json(**{**record, **errors})
        return
    noise, parameters, candidates = (
        NoiseRecord.model_validate(record["noise"]),
        record["parameters"],
        record["candidates"],
    )
    number_of_models = n_models(noise)
    kind = "estimates" if "measure" in parameters else "models"
    models = f", {count(number_of_models)} {kind}" if number_of_models else ""
    n_candidates = candidates["count"] if isinstance(candidates, Mapping) else len(candidates)
    lines = [
        f"Dry run for {record['target']} on {count(n_candidates)} candidates{models}",
        f"  cost         {cost(record)}",
    ]
    if record["cost"] is not None and is_weak(record["cost"]["epsilon"]):
        lines.append(f"  warning      {WEAK}")
    for step in map(StepRecord.model_validate, record["steps"]):
        lines.append(f"    {step.name:<24} {_price(step.event)}, noise of scale {readable(step.noise.scale)}")
    lines += [
        f"  mechanism    {noise.mechanism} ({noise.noise} noise of scale {readable(noise.scale)})",
        f"  sensitivity  {readable(noise.sensitivity)} = {noise.formula}",
    ]
    shown = {**titles(), "n_cells": "cells"}
    stated = {word: parameters[key] for key, word in shown.items() if parameters.get(key) not in (None, [])}
    lines += [f"  {word:<12} {_plain(value)}" for word, value in stated.items()]
    public_products = public_moments(parameters)
    lines += [f"  products     {public_products}"] if public_products else []
    if parameters.get("selective_inference") == "split":
        lines.append("  by half      half of the units select, the others are fitted, each half at all of epsilon")
    elif parameters.get("selective_inference") == "fission":
        lines.append(
            "  in parts     one half of the information selects, the other is fitted: intervals 1.4 times as wide"
        )
    elif parameters.get("selective_inference") == "none" and "fit" in parameters:
        lines.append("  all rows     select and are fitted: the level of the intervals is not guaranteed")
    if noise.max_false is not None:
        lines.append(
            f"  false column chance {plain(noise.max_false, 3)} at most if no column is associated with the target"
        )
    if noise.threshold is not None:
        lines.append(f"  threshold    a score of {count(math.ceil(noise.threshold))}; {_of_a_row(parameters)}")
    if record["method"] == "sis" and parameters["n_features_to_select"] != "auto":
        lines.append(f"  stands out   {_standing_out(noise, parameters)}")
    lines += _chance(record.get("chance"))
    lines.append(f"  numerics     {noise.numerics}")
    opened = "No private data were opened" if "public" in parameters else "No data were opened"
    result("\n".join([*lines, *_expected(expected), f"{opened} and nothing was spent."]))


def readable(value: float) -> str:
    """Return a scale as people write it: six digits that count, thousands apart, an exponent for what is tiny or vast.

    Examples
    --------
    >>> readable(33612817100.5), readable(1234.5678), readable(0.25), readable(2.5e-9)
    ('33,612,800,000', '1,234.57', '0.25', '2.5e-09')
    """
    if not 1e-4 <= abs(value) < 1e15:
        return f"{value:.6g}"
    digits = 6 - 1 - math.floor(math.log10(abs(value)))
    text = f"{round(value, digits):,.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def cost(record: Mapping[str, Any]) -> str:
    """Return what a request would spend.

    In a few words.
    """
    spent = record["cost"]
    if spent is None:
        return "no guarantee"
    delta = f", delta {number(spent['delta'])}" if spent["delta"] else ""
    return f"epsilon {number(spent['epsilon'])}{delta}, {record['neighboring']}"


def _of_a_row(parameters: Mapping[str, Any]) -> str:
    """The most that a score can be: of n rows n, and of all pairs of rows, each counted by both, n / 2."""
    return f"a row adds {'a half' if parameters.get('association') == 'kendall' else '1'} at most"


def _standing_out(noise: "NoiseRecord", parameters: Mapping[str, Any]) -> str:
    """About what a column needs to be chosen: the noise that the last one chosen, or the set of them, must beat."""
    rivals = (noise.n_candidates or 1) / (parameters["n_features_to_select"] if noise.mechanism == "one_shot" else 1)
    lead = count(math.ceil(noise.scale * max(math.log(rivals), 1.0)))
    return f"a column whose score is about {lead} above others; {_of_a_row(parameters)}, and most add far less"


def _chance(record: Mapping[str, Any] | None) -> list[str]:
    """What chance would give, a line for each sentence."""
    if record is None:
        return []
    from discreet.release import ChanceRecord  # as above

    texts = before(ChanceRecord.model_validate(record))
    return [f"  {'by chance' if place == 0 else '':<12} {text}" for place, text in enumerate(texts)]


def _expected(errors: "Sequence[TwinRecord]") -> list[str]:
    """What errors to expect, a line for each number of points."""
    if not errors:
        return []
    names = [each.name + ("" if each.n_points is None else f", {count(each.n_points)} points") for each in errors]
    width = max(map(len, names))
    lines = [
        f"    {name:<{width}}  {100 * each.error:>5.2f} %  ({100 * each.low:.2f} to {100 * each.high:.2f})"
        for name, each in zip(names, errors, strict=True)
    ]
    return ["  expected error of predictions, of the target's range, simulated on the public records:", *lines]


def _price(event: dict[str, Any]) -> str:
    if "rho" in event:
        return f"rho {number(event['rho'])}"
    return f"epsilon {number(event['epsilon'])}" if "epsilon" in event else f"delta {number(event.get('delta', 0))}"


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value))
    return number(value) if isinstance(value, (int, float)) else str(value)
