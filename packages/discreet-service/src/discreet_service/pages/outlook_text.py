"""What the outlook of a request says, in sentences and as a curve."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet import workflow
from discreet.report.words import count, number, part

TOO_FEW = "Too few tables could be simulated in time. Press Compare methods for the figures."
_LEFT, _TOP, _WIDTH, _HEIGHT = 40, 24, 258, 90


@dataclass(frozen=True)
class Point:
    """One epsilon of the curve."""

    epsilon: str
    right: int  # of 100 tables
    x: float
    y: float
    is_own: bool


@dataclass(frozen=True)
class OutlookText:
    """An outlook as a page shows it."""

    answer: str
    details: tuple[str, ...]
    points: tuple[Point, ...]


def outlook_text(outlook: workflow.Outlook, epsilon: float, target: str) -> OutlookText:
    """Return what an outlook says of a request at one epsilon."""
    own = next((row for row in outlook.rows if row["epsilon"] == epsilon), None)
    answers = [_selection(own)] if own is not None else []
    if outlook.fit is not None:
        answers.append(_fit(outlook.fit, target))
    if not answers:
        answers = [
            outlook.refused or "Too few tables could be simulated in time. Press Compare methods for the figures."
        ]
    return OutlookText(" ".join(answers), tuple(_details(outlook, own)), _points(outlook, epsilon))


def _selection(row: Mapping[str, Any]) -> str:
    low, high = (max(0.0, min(1.0, row["right"] + sign * 2.0 * row["error"])) for sign in (-1, 1))
    return (
        f"It selects exactly the right columns in about {round(100 * row['right'])} of 100 tables "
        f"({round(100 * low)} to {round(100 * high)}), and the average overlap with them is {part(row['overlap'])}."
    )


def _fit(fit: Mapping[str, Any], target: str) -> str:
    if fit["half_width"] is None:
        return "The coefficients tell nothing: the noise hides all of them. Raise epsilon, or name fewer columns."
    width, effect = number(fit["half_width"], 3), number(fit["effect"], 3)
    text = (
        f"A 95% interval reaches about {width} to each side, in the unit of {target} for half the range of a column. "
        f"The supposed effect is {effect}."
    )
    if fit["uninformative"] > 0:
        text += f" The noise hides {part(fit['uninformative'])} of the coefficients."
    return text


def _details(outlook: workflow.Outlook, own: Mapping[str, Any] | None) -> list[str]:
    supposed, texts = outlook.supposed, list(outlook.chance)
    if not supposed:
        return texts
    effects = [name for name, effect in supposed["effects"].items() if effect]
    n_tables = outlook.n_tables if own is None else own["n_draws"]
    share = part(supposed["r_squared"])
    who = "one column explains" if len(effects) == 1 else f"{count(len(effects))} columns explain"
    texts.append(
        f"Simulated on {n_tables} made-up tables, in which {who} {share} of the target. Your table may be easier or "
        "harder."
    )
    if outlook.drawn_rows < outlook.n_rows:
        texts.append(
            f"Each has {count(outlook.drawn_rows)} of the {count(outlook.n_rows)} rows. With all of them the answer is "
            "at least as accurate."
        )
    if outlook.is_guessed:
        texts.append(f"The number of rows is private. {count(outlook.n_rows)} rows are supposed.")
    return texts


def _points(outlook: workflow.Outlook, epsilon: float) -> tuple[Point, ...]:
    """Points of the curve, evenly apart: its epsilons double."""
    if len(outlook.rows) < 2:
        return ()
    step = _WIDTH / (len(outlook.rows) - 1)
    return tuple(
        Point(
            number(row["epsilon"], 3),
            round(100 * row["right"]),
            round(_LEFT + place * step, 1),
            round(_TOP + (1.0 - row["right"]) * _HEIGHT, 1),
            row["epsilon"] == epsilon,
        )
        for place, row in enumerate(outlook.rows)
    )
