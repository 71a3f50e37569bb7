"""What may be supposed of a table: the same options wherever a plan is made."""

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.errors import InvalidParameterError

Effect = Annotated[
    list[str] | None,
    typer.Option(
        help="COL=SIZE: change of the target from the middle of the column to its upper bound, of a category from "
        "its first level to its last. May be repeated; other columns then have none."
    ),
]
NTrue = Annotated[
    int | None,
    typer.Option(
        help="Without --effect: number of columns with an effect. They are the first ones, with equal "
        "effects. Default: 3, or half of the columns."
    ),
]
RSquared = Annotated[
    str | None,
    typer.Option(
        help="Share of the target's variance that these columns explain: R, or R,R for several scenarios. Default: 0.5."
    ),
]
NoiseSd = Annotated[
    float | None, typer.Option(help="Standard deviation of the errors, in the target's unit. It replaces --r-squared.")
]
Correlation = Annotated[
    str | None, typer.Option(help="Correlation of neighboring columns: C, or C,C for several scenarios. Default: 0.")
]
Times = Annotated[
    str | None,
    typer.Option(help="Factor of all effects, not of the errors: T, or T,T for several scenarios. Default: 1."),
]
Like = Annotated[
    Path | None,
    typer.Option(
        help="A PUBLIC table of other people with the same columns, declared under public in the metadata. Rows are "
        "drawn from it, and the columns that BIC selects there have the effects estimated there. It is read without "
        "privacy: never give the private table."
    ),
]


SUPPOSED = ("effect", "n_true", "r_squared", "noise_sd", "correlation", "times", "like")
"""The names of these options."""


def supposed(
    effect: list[str] | None,
    n_true: int | None,
    r_squared: str | None,
    noise_sd: float | None,
    correlation: str | None,
    times: str | None,
    like: Path | None,
) -> dict[str, Any]:
    """Return what is supposed by name, what is not said left out.

    As `workflow.Question` takes it.
    """
    effects = _effects(effect)
    if effects is not None and n_true is not None:
        raise InvalidParameterError("--effect says which columns matter. Leave out --n-true.")
    facts = {
        "effects": effects,
        "n_true": n_true,
        "r_squared": numbers_of(r_squared, "--r-squared", "0.2,0.5"),
        "noise_sd": noise_sd,
        "correlation": numbers_of(correlation, "--correlation", "0,0.5"),
        "times": numbers_of(times, "--times", "0.5,1,2"),
        "like": like,
    }
    return {name: value for name, value in facts.items() if value is not None}


def numbers_of(text: str | None, option: str, example: str) -> tuple[float, ...] | None:
    """Return a list of numbers, each once.

    None where nothing was given.
    """
    if text is None:
        return None
    try:
        return tuple(dict.fromkeys(float(word) for word in text.split(",")))
    except ValueError:
        raise InvalidParameterError(f"{option} must be numbers, such as {example}, not {text[:40]!r}.") from None


def _effects(facts: list[str] | None) -> dict[str, float] | None:
    if not facts:
        return None
    form, effects = "--effect COL=SIZE, such as age=2.5", dict[str, float]()
    for effect in facts:
        name, sign, size = (part.strip() for part in effect.partition("="))
        if not name or not sign:
            raise InvalidParameterError(f"An option of several must have the form {form}.")
        try:
            effects[name] = float(size)
        except ValueError:
            raise InvalidParameterError(f"An effect must be a number, in the form {form}.") from None
    return effects
