"""What `discreet metadata new` asks on a terminal: what the header of a table cannot tell, a line each.

Nothing here has seen a row: names and storage types alone are known.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet import workflow
from discreet.cli.console import say

Header = Sequence[tuple[str, str]]
Ask = Callable[[str, str], str]

MOST_ASKED = 60
"""Columns that are asked about; of a wider table the rest stays blank."""

_ALONE = r"(^|[_. -])({})($|[_. -])"
_IDENTIFIER = re.compile(_ALONE.format("id|uuid|key|identifier|ssn|nhs|patient|subject|person"), re.IGNORECASE)
_CODE = re.compile(_ALONE.format("code|zip|postcode|plz|region|district|site|group|class|type|icd"), re.IGNORECASE)
_NUMBER_NAME = re.compile(
    _ALONE.format(
        "age|years?|months?|weeks?|days?|hours?|height|weight|bmi|income|salary|wage|price|cost|amount|count|number|score|"
        "visits|pulse|pressure|temperature|dose|distance|rate|size"
    ),
    re.IGNORECASE,
)
_TYPES = {"i": "integer", "r": "real", "c": "category", "l": ""}
_NUMBER = r"([-+]?[\d.]+(?:e[-+]?\d+)?)"
_RANGE = re.compile(rf"\s*{_NUMBER}\s*(?:\.\.|,|;|to|\s)\s*{_NUMBER}\s*", re.IGNORECASE)
MOST_BOUND = 1e100
MOST_ROWS = 2**33 - 1
MOST_ROWS_OF_A_UNIT = 1_000_000

INTRODUCTION = """\
Answer from a code book, a questionnaire, a law or subject knowledge, never from the rows: what you state is public.
Enter takes what stands in [brackets], or leaves a blank to fill in later. Ctrl-D ends the questions.
"""


def ask(question: str, default: str) -> str:
    """Ask a line of a person on the terminal; the default where nothing is typed."""
    sys.stderr.write(f"{question} [{default}]: " if default else f"{question}: ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip() or default


def answers(header: Header, stated: Mapping[str, Any], ask_user: Ask = ask) -> dict[str, Any]:
    """Ask for what a skeleton leaves blank, `stated` options aside; what was answered before an end of file."""
    say(INTRODUCTION)
    facts, columns = dict[str, Any](), dict[str, dict[str, Any] | None]()
    try:
        _about_units(header, stated, facts, ask_user)
        others = [(name, storage) for name, storage in header if name != facts.get("unit_id")]
        source = ""
        for name, storage in others[:MOST_ASKED]:
            if workflow.kind_of(name, storage):
                columns[name] = _about_column(name, storage, source, ask_user)
                source = (columns[name] or {}).get("source") or source
    except EOFError:
        say("")
    if len(header) > MOST_ASKED:
        say(f"Columns after the first {MOST_ASKED} are left to be filled in.")
    return {**facts, "answered": columns}


def _about_units(header: Header, stated: Mapping[str, Any], facts: dict[str, Any], ask_user: Ask) -> None:
    if stated.get("unit") is None:
        facts["unit"] = ask_user("Who is protected: a person, a household, a patient?", "person")[:100]
    unit = facts.get("unit") or stated["unit"]
    most = _whole(f"How many rows may one {unit} have, at most?", "1", MOST_ROWS_OF_A_UNIT, ask_user)
    if most is not None and most > 1:
        names = [name for name, _ in header]
        near = next((name for name in names if _IDENTIFIER.search(name)), "")
        unit_column = ask_user(
            f"Which column tells whose row it is? Without one, a row is protected, not a {unit}", near
        )
        if unit_column in names:
            facts |= {"rows_per_unit": most, "unit_id": unit_column}
        else:
            say(f"Without such a column a {unit} cannot be protected: `unit: row` is written.")
            facts["unit"] = "row"
    if stated.get("neighboring") is None and stated.get("n_rows") is None and facts.get("unit_id") is None:
        question = "How many rows has the table? Only if that number may be public; blank if not"
        n_rows = _whole(question, "", MOST_ROWS, ask_user)
        if n_rows is not None:
            facts |= {"neighboring": "replace_one", "n_rows": n_rows}


def _about_column(name: str, storage: str, source: str, ask_user: Ask) -> dict[str, Any] | None:
    """Return what is declared of a column, by default from the source before; None where it is left out."""
    kind = workflow.kind_of(name, storage)
    if kind == "boolean":
        return {}
    proposed, why = _proposal(name, str(kind))
    letter = _letter(f"\n{name}{why}: (i)nteger, (r)eal, (c)ategory, or (l)eave out?", proposed, ask_user)
    if letter == "l":
        return None
    fields: dict[str, Any] = {"type": _TYPES[letter]}
    fields |= _levels(ask_user) if letter == "c" else _bounds(ask_user)
    if len(fields) > 1:
        fields["source"] = ask_user("  Where is that written, such as: code book, page 12", source)[:1000]
    return fields


def _letter(question: str, proposed: str, ask_user: Ask) -> str:
    while True:
        letter = ask_user(question, proposed)[:1].lower()
        if letter in _TYPES:
            return letter
        say("  Type i, r, c or l. The values that could occur are asked next.")


def _proposal(name: str, kind: str) -> tuple[str, str]:
    """Return the letter proposed for a column, and why."""
    if _IDENTIFIER.search(name):
        return "l", ", by its name an identifier, which no model uses"
    if kind in ("integer", "real") and _CODE.search(name):
        return "c", f", stored as {kind}, by its name a code, whose order may mean nothing"
    if kind == "category" and _NUMBER_NAME.search(name) and not _CODE.search(name):
        return "r", ", stored as text, by its name a number"
    return kind[0], f", stored as {'text' if kind == 'category' else kind}"


def _bounds(ask_user: Ask) -> dict[str, Any]:
    while True:
        text = ask_user("  Least and greatest value that could occur, such as: 0 110", "")
        if not text:
            return {}
        match = _RANGE.fullmatch(text)
        try:
            lower, upper = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
        except ValueError:
            lower = upper = 0.0
        largest = max(abs(lower), abs(upper))
        if largest <= MOST_BOUND and upper - lower > 1e-11 * largest:
            return {"lower": f"{lower:.15g}", "upper": f"{upper:.15g}"}
        say("  Two numbers are needed, the lesser first. Values beyond them are clipped to them.")


def _levels(ask_user: Ask) -> dict[str, Any]:
    while True:
        text = ask_user("  Every value that could occur, as written in the table, such as: no, yes", "")
        levels = list(dict.fromkeys(part.strip()[:1000] for part in text.split(",") if part.strip()))
        if not levels:
            return {}
        if len(levels) > 1:
            return {"levels": levels}
        say("  A category has at least two values, with commas between them.")


def _whole(question: str, default: str, most: int, ask_user: Ask) -> int | None:
    while text := ask_user(question, default):
        digits = re.sub("[_,]", "", text)
        if re.fullmatch(r"\d{1,12}", digits, re.ASCII) and 1 <= int(digits) <= most:
            return int(digits)
        say(f"  A whole number is needed, from 1 to {most:,}.")
    return None
