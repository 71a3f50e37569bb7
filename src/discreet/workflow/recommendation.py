"""Which selection a plan recommends, why, and the command that asks for it."""

import json
import math
import shlex
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from discreet.digits import plain
from discreet.report.explorer import EPSILON_MARK
from discreet.workflow.chance import false_column_words
from discreet.workflow.expectation import Choice, Expectation, Question, Recommendation

MOST_REFINED = 3
"""Selections beside the request at hand that get many tables."""

MOST_REQUESTS = 2

MOST_TIES = 4
"""Selections that do nearly as well as the best, one of each method: they are compared on unkind tables."""

CLOSE = 0.05
"""In overlap, or of a goal in the logarithm of epsilon times four: what is further behind the best will stay behind."""

FIXED = "n_features_to_select"
"""A screening that is told how many columns to select is right only where that number is."""


def shortlist(question: Question, answer: Expectation) -> list[str]:
    """Return the names of the request at hand and of the selections that do best."""
    names = _ranked(question, answer)
    close = [name for name in names[:MOST_REFINED] if _is_close(question, answer, names[0], name)]
    return list(dict.fromkeys([*requests(answer), *close]))


def best(question: Question, answer: Expectation) -> str | None:
    """Return the name of the selection that does best, from however few tables; None where none does anything."""
    return next(iter(_ranked(question, answer)), None)


def near_ties(question: Question, answer: Expectation) -> list[str]:
    """Return the best selection of each method, of those that do nearly as well as the best of all."""
    names = _ranked(question, answer)
    best_of_methods = {answer.choice(name).method: name for name in reversed(names)}
    close = [name for name in names if name in best_of_methods.values() and _is_close(question, answer, names[0], name)]
    return close[:MOST_TIES]


def requests(answer: Expectation) -> tuple[str, ...]:
    """Return the names of the request at hand; nothing where a method was named whose tunings are many."""
    return answer.asked if len(answer.asked) <= MOST_REQUESTS else ()


def recommended(question: Question, answer: Expectation) -> Recommendation | None:
    """Return the selection that does best: at the epsilon of the comparison, or with the least for a goal."""
    names = _ranked(question, answer)
    if not names:
        return None
    finest = max(_count(question, answer, name) for name in names)
    if question.n_tables is None and finest > _count(question, answer, names[0]):  # few tables may flatter
        names = [name for name in names if _count(question, answer, name) == finest]
    rows = _rows(question, answer, names[0])
    worst = min(rows, key=lambda row: row["overlap"]) if question.goal is None else max(rows, key=_epsilon)
    return Recommendation(names[0], worst["epsilon"], _reason(question, answer, names, worst), worst)


def recommended_command(question: Question, answer: Expectation, start: Sequence[str]) -> str:
    """Return the command that asks for what is recommended, ready to paste; `start` says of which table."""
    chosen = answer.recommended
    return "" if chosen is None else _command(question, answer.choice(chosen.rival), start, plain(chosen.epsilon))


def commands_by_selection(question: Question, answer: Expectation, start: Sequence[str]) -> dict[str, str]:
    """Return the command of each selection that may be recommended, with a mark for the epsilon."""
    names = _eligible(question, answer)
    return {name: _command(question, answer.choice(name), start, EPSILON_MARK) for name in names}


def _command(question: Question, choice: Choice, start: Sequence[str], epsilon: str) -> str:
    words = [*start, "--target", question.target]
    if question.candidates is not None:
        words += ["--candidates", ",".join(question.candidates)]
    words += ["--method", choice.method, "--epsilon", epsilon]
    if choice.is_with_public:
        words += ["--public-table", question.public_table]
    for name, value in choice.parameters.items():
        words += ["--set", f"{name}={_written(value)}"]
    return shlex.join(words)


def recommended_sentences(expectation: Expectation) -> list[str]:
    """Return why a selection is recommended, and what to rely on."""
    chosen = expectation.recommended
    if chosen is None:
        return []
    figures = chosen.figures
    errors = f" (two standard errors: {200.0 * figures['error']:.0f} in 100)"
    sentences = [
        f"Recommended: {chosen.rival}, at epsilon {plain(chosen.epsilon)}.",
        chosen.reason,
        f"Likely: {_chances(figures, errors)}.",
    ]
    chance = expectation.choice(chosen.rival).chance
    words = false_column_words(None if chance is None else chance.get("chance_by_noise"))
    if words:
        sentences.append(f"{words[0].upper()}{words[1:]}.")
    worst = expectation.worst(chosen.rival, chosen.epsilon, "overlap")
    if worst is not None:
        sentences.append(f"If you are unlucky: {_chances(worst)}, with {worst['kind']}.")
        rows = [row for row in expectation.unlucky if row["kind"] != worst["kind"]]
        own = [row for row in rows if (row["rival"], row["epsilon"]) == (chosen.rival, chosen.epsilon)]
        if own:
            overlaps = ", ".join(f"{row['overlap']:.2f} with {row['kind']}" for row in own)
            sentences.append(f"Overlap on other unfavorable tables: {overlaps}.")
    half = [row for row in expectation.fewer if (row["rival"], row["epsilon"]) == (chosen.rival, chosen.epsilon)]
    return [*sentences, *(f"With half the people: {_chances(row)}." for row in half)]


def _chances(row: dict[str, Any], error: str = "") -> str:
    return f"exactly the right columns in {_of_tables(row)}{error}, and an average overlap of {row['overlap']:.2f}"


def _of_tables(row: dict[str, Any]) -> str:
    """In how many tables a selection is right, as a count of those simulated where it is all or none."""
    right, tables = row["right"], f"{row['n_draws']} simulated tables"
    if right in (0.0, 1.0):
        return f"{'all' if right else 'none of the'} {tables}"
    return f"about {min(max(round(100.0 * right), 1), 99)} of 100 tables"


def _written(value: Any) -> str:
    """A parameter as `--set` reads it: text as it is, all else as JSON, a number without an exponent."""
    if isinstance(value, str) and value.isalpha() and value not in ("true", "false", "null"):
        return value
    return f"{Decimal(repr(value)):f}" if isinstance(value, float) else json.dumps(value)


def _eligible(question: Question, answer: Expectation) -> list[str]:
    names = [choice.name for choice in answer.choices if _rows(question, answer, choice.name)]
    open_ones = [name for name in names if not isinstance(answer.choice(name).parameters.get(FIXED), int)]
    return open_ones or names


def _rows(question: Question, answer: Expectation, name: str) -> list[dict[str, Any]]:
    """Rows of a selection that decide: at the compared epsilon, or of a goal that all scenarios reach."""
    n_rows = answer.supposed["n_rows"][0]
    rows = [row for row in answer.rows if row["rival"] == name and row["n_rows"] == n_rows]
    if question.goal is None:
        return [row for row in rows if row["epsilon"] == question.middle]
    return rows if len(rows) == len(answer.supposed["scenarios"]) else []


def _ranked(question: Question, answer: Expectation) -> list[str]:
    """Selections that may be recommended, the best first: of near ties what does best on unkind tables."""
    names = sorted(_eligible(question, answer), key=lambda name: _merit(question, answer, name), reverse=True)
    close = [name for name in names if name in answer.on_unkind and _is_close(question, answer, names[0], name)]
    close.sort(key=lambda name: -round(answer.on_unkind[name], 2))
    return [*close, *(name for name in names if name not in close)]


def _merit(question: Question, answer: Expectation, name: str) -> tuple[float, float]:
    rows = _rows(question, answer, name)
    if question.goal is not None:
        return -max(map(_epsilon, rows)), sum(row["overlap"] for row in rows)
    elsewhere = [row["overlap"] for row in answer.rows if row["rival"] == name]
    return round(_mean(rows), 2), float(sum(elsewhere))  # alike there: what does better at other epsilons


def _is_close(question: Question, answer: Expectation, best: str, name: str) -> bool:
    most, own = (_merit(question, answer, each)[0] for each in (best, name))
    if question.goal is not None:
        return math.log(own / most) <= 4.0 * CLOSE
    return round(most - own, 2) <= CLOSE


def _epsilon(row: dict[str, Any]) -> float:
    return float(row["epsilon"])


def _count(question: Question, answer: Expectation, name: str) -> int:
    return min(int(row["n_draws"]) for row in _rows(question, answer, name))


def _reason(question: Question, answer: Expectation, names: list[str], row: dict[str, Any]) -> str:
    """Why the first of some selections is recommended, in a sentence."""
    others = [_rows(question, answer, name) for name in names[1:2]]
    n_selections = len({choice.name for choice in answer.choices})
    if question.goal is not None:
        measure, least = question.goal
        next_one = f"; the next is {names[1]}, with {max(map(_epsilon, others[0])):.2g}" if others else ""
        least_one = (
            f"Of {n_selections} selections it needs the least epsilon" if n_selections > 1 else "It needs epsilon"
        )
        tables = f"{row['n_draws']} simulated tables"
        return f"{least_one}, {plain(row['epsilon'], 2)}, for {measure} >= {least:g} on {tables}{next_one}."
    own = _rows(question, answer, names[0])
    on_unkind = {name: answer.on_unkind[name] for name in names[:2] if name in answer.on_unkind}
    if len(on_unkind) == 2:
        return (
            f"Of {n_selections} selections, several do nearly as well as the best at epsilon {plain(row['epsilon'])}. "
            f"This one has an average overlap with the right columns of {_mean(own):.2f} on {row['n_draws']} simulated "
            f"tables{' of each scenario' if len(own) > 1 else ''}. {_on_unkind(on_unkind)}"
        )
    next_one = f"; the next is {names[1]}, by {_mean(others[0]):.2f}" if others else ""
    if others and _merit(question, answer, names[0])[0] == _merit(question, answer, names[1])[0]:
        next_one = f"; {names[1]} does as well there, but no better at other epsilons"
    only = (
        "Nothing was compared: its columns overlap"
        if n_selections == 1
        else (f"Of {n_selections} selections its columns overlap most")
    )
    return (
        f"{only} with the right ones at epsilon {plain(row['epsilon'])}, by {_mean(own):.2f} on {row['n_draws']} "
        f"simulated tables{' of each scenario' if len(own) > 1 else ''}{next_one}."
    )


def _on_unkind(overlaps: dict[str, float]) -> str:
    (first, own), (second, next_one) = ((name, f"{value:.2f}") for name, value in overlaps.items())
    if own == next_one:
        return f"On unfavorable tables {first} and {second} overlap equally, by {own}."
    return f"On unfavorable tables it overlaps most, by {own}; the next is {second}, by {next_one}."


def _mean(rows: list[dict[str, Any]]) -> float:
    return float(sum(row["overlap"] for row in rows)) / len(rows)
