"""What may be stated of a table that nobody has seen, and what may not."""

import math
from collections.abc import Mapping, Sequence

from discreet.data.design import Design
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError

MOST_CELLS = 2**28
"""Of a drawn table."""


def names_and_rows(
    metadata: Metadata, target: str, candidates: Sequence[str] | None, n_rows: int | None
) -> tuple[tuple[str, ...], int]:
    """Return the candidates and the number of rows; a table of them must fit into memory.

    Parameters
    ----------
    metadata : Metadata
        Bounds and levels.
    target : str
        Numeric.
    candidates : sequence of str or None
        Default all listed columns but the target.
    n_rows : int or None
        Default that of the metadata.

    Returns
    -------
    tuple of tuple of str and int
        Both known.

    Raises
    ------
    InvalidParameterError
        When nobody says how many rows there are, or they are too many.
    """
    names = Design.plan(metadata, target, candidates).candidates
    rows = metadata.n_rows if n_rows is None else n_rows
    if rows is None or rows < 1:
        found = "it is private and none is given" if rows is None else f"n_rows={rows}"
        raise InvalidParameterError(f"A scenario needs a number of rows, but {found}. Give n_rows, at least 1.")
    if rows * (len(names) + 1) > MOST_CELLS:
        raise InvalidParameterError(
            f"A simulated table must have at most {MOST_CELLS:,} cells, but {rows:,} rows of {len(names) + 1} "
            "columns have more. Give a smaller n_rows: more rows only do better."
        )
    return names, rows


def check_numbers(r_squared: float, correlation: float, noise_sd: float | None) -> None:
    """Refuse numbers that no table can have.

    Parameters
    ----------
    r_squared : float
        Part of a variance.
    correlation : float
        Of two columns.
    noise_sd : float or None
        Standard deviation, where it is given.

    Raises
    ------
    InvalidParameterError
        When one is out of range.
    """
    if (
        not 0.0 < r_squared < 1.0
        or not -1.0 < correlation < 1.0
        or (noise_sd is not None and not 0.0 < noise_sd < math.inf)
    ):
        raise InvalidParameterError(
            f"A scenario must have r_squared in (0, 1), correlation in (-1, 1) and a positive noise_sd, but "
            f"r_squared={r_squared:g}, correlation={correlation:g}, noise_sd={noise_sd}."
        )


def check_effects(effects: Mapping[str, float] | None, names: Sequence[str]) -> None:
    """Refuse effects of unknown columns, and infinite ones.

    Parameters
    ----------
    effects : dict of str to float or None
        As they were stated.
    names : sequence of str
        Of the candidates.

    Raises
    ------
    InvalidParameterError
        Naming the unknown ones.
    """
    unknown = [name for name in effects or {} if name not in names]
    if unknown or not all(math.isfinite(size) for size in (effects or {}).values()):
        raise InvalidParameterError(f"Effects must be finite numbers of candidates, but found {unknown[:3]}.")


def left_sd(explained: float, r_squared: float, otherwise: float) -> float:
    """Return the standard deviation of what a part of the variance leaves.

    Parameters
    ----------
    explained : float
        Variance that the columns explain.
    r_squared : float
        Which part of the whole that is.
    otherwise : float
        Where they explain nothing.

    Returns
    -------
    float
        In the unit of the target.
    """
    return math.sqrt(explained * (1.0 - r_squared) / r_squared) if explained > 0.0 else otherwise
