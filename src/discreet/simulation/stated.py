"""What may be stated of a table before it is opened, and what may not."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.data.metadata_problems import did_you_mean
from discreet.errors import InvalidParameterError
from discreet.methods.base.candidates import features_of

MOST_CELLS = 2**28
"""Of a drawn table."""

MOST_HALVES = 1e9
"""Of effects and noise, in half ranges of the target: no table cut at its bounds tells more, and sums stay finite."""

LEAST_HALVES = 1e-12
"""Of noise: less is lost in rounding."""


def named(stated: Any) -> dict[str, Any]:
    """Return a copy of what is supposed, by name; empty where nothing is."""
    if stated is None:
        return {}
    if not isinstance(stated, Mapping):
        raise InvalidParameterError(
            f"What is supposed must be given by name, but found {_kind(stated)}. "
            'Give a dict, such as {"n_true": 2, "r_squared": 0.5}.'
        )
    return dict(stated)


def number(name: str, value: Any) -> float:
    """Return a number as a Python float."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise InvalidParameterError(f"{name} must be a number, but found {_kind(value)}. Give one such as 0.5.")
    try:
        return float(plain)
    except OverflowError:
        return math.inf if plain > 0 else -math.inf


def distinct(name: str, value: Any) -> tuple[float, ...]:
    """Return numbers in their order, each once; a number alone stands for a list of one."""
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(listed, list | tuple):
        listed = [listed]
    return tuple(dict.fromkeys(number(name, entry) for entry in listed))


def whole(name: str, value: Any) -> int:
    """Return a whole number as a Python int."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int):
        raise InvalidParameterError(f"{name} must be a whole number, but found {_kind(value)}. Give one such as 3.")
    return plain


def sizes(value: Any) -> dict[str, float]:
    """Return a copy of effects by column."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        description = "a name that is no text" if isinstance(value, Mapping) else _kind(value)
        raise InvalidParameterError(
            f'effects must be numbers by column, but found {description}. Give a dict, such as {{"age": 2.5}}.'
        )
    return {str(name): number(f"effects[{str(name)[:60]!r}]", size) for name, size in value.items()}


def _kind(value: Any) -> str:
    return f"{value!r:.40}" if isinstance(value, str | int | float | np.generic) else f"a {type(value).__name__}"


def names_and_rows(
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None,
    n_rows: int | None,
    effects: Mapping[str, float] | None = None,
) -> tuple[tuple[str, ...], int]:
    """Return the candidates and the number of rows; a table of them must fit into memory.

    Of features of which the metadata tell the number alone, those with stated effects have their names.
    """
    if candidates is None and metadata.features is not None:
        candidates = _with_named(features_of(metadata, target, None), list(effects or ()), metadata)
    names = Design.plan(metadata, target, candidates).candidates
    rows = metadata.n_rows if n_rows is None else n_rows
    if rows is None or rows < 1:
        description = "it is private and none is given" if rows is None else f"n_rows={rows}"
        raise InvalidParameterError(
            f"A scenario needs a number of rows, but {description}. Give n_rows (--n-rows), such as 1000."
        )
    if rows * (len(names) + 1) > MOST_CELLS:
        raise InvalidParameterError(
            f"A simulated table must have at most {MOST_CELLS:,} cells, but {rows:,} rows of {len(names) + 1} "
            "columns have more. Give a smaller n_rows: more rows only do better."
        )
    return names, rows


def _with_named(features: Sequence[str], named: Sequence[str], metadata: Metadata) -> list[str]:
    listed, is_long = dict.fromkeys(features), metadata.layout is not None
    new = [name for name in named if name not in listed and metadata.features is not None]
    new = [name for name in new if metadata.features.holds(name, is_long)]  # type: ignore[union-attr]
    return [*new, *list(listed)[: len(listed) - len(new)]]


def check_numbers(r_squared: float, correlation: float, noise_sd: float | None) -> None:
    """Refuse numbers that no table can have."""
    if not 0.0 < r_squared < 1.0:
        raise InvalidParameterError(f"r_squared must lie between 0 and 1, but r_squared={r_squared:g}. Give a share.")
    if not -1.0 < correlation < 1.0:
        raise InvalidParameterError(f"correlation must lie between -1 and 1, but correlation={correlation:g}.")
    if noise_sd is not None and not 0.0 < noise_sd < math.inf:
        raise InvalidParameterError(f"noise_sd must be positive, in the target's unit, but noise_sd={noise_sd:g}.")


def check_effects(effects: Mapping[str, float] | None, names: Sequence[str], half: float) -> None:
    """Refuse effects of unknown columns, and sizes that no target can have."""
    unknown = [name for name in effects or {} if name not in names]
    if unknown:
        raise InvalidParameterError(
            f"Effects must be of candidates, but {unknown[0][:60]!r} is not one. {did_you_mean(unknown[0], names)}"
            "Correct the name, or add it to the candidates."
        )
    most = MOST_HALVES * half
    wrong = [f"{name[:60]}={size:g}" for name, size in (effects or {}).items() if not abs(size) <= most]
    if wrong:
        raise InvalidParameterError(
            f"Effects must be finite and at most {most:g}, {MOST_HALVES:g} half ranges of the target, but found "
            f"{', '.join(wrong[:3])}. Give them in the target's unit."
        )


def check_noise(noise_sd: float, half: float) -> None:
    """Refuse noise that drowns in rounding, or overflows."""
    if not LEAST_HALVES * half <= noise_sd <= MOST_HALVES * half:
        raise InvalidParameterError(
            f"The standard deviation of the noise must lie in [{LEAST_HALVES * half:g}, {MOST_HALVES * half:g}], from "
            f"{LEAST_HALVES:g} to {MOST_HALVES:g} half ranges of the target, but noise_sd={noise_sd:g}. Give noise_sd "
            "in the target's unit, or an r_squared nearer 0.5."
        )


def left_sd(explained: float, r_squared: float, otherwise: float) -> float:
    """Return the residual standard deviation, in the target's unit, of columns that explain a share of the variance."""
    return math.sqrt(explained * (1.0 - r_squared) / r_squared) if explained > 0.0 else otherwise
