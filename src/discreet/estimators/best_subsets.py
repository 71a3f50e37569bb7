"""The best regression models of each size, from moments that are public or were released with noise."""

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameterError
from discreet.typing import Floats

MAX_UNITS = 128
"""A model is two words of 64 bits."""

MAX_BEST = 10_000
"""Models listed of one size."""

SEMIDEFINITE = 1e-10
"""A smallest eigenvalue above minus this, on a unit diagonal, is rounding and not noise."""

ASYMMETRY = 1e-9
"""Share of the largest entry by which rounding may tell X'X from its transpose."""


@dataclass(frozen=True)
class BestSubset:
    """One of the best models of its size.

    Attributes
    ----------
    size : int
        Units in the model beside the columns of every model; a group is one unit.
    columns : tuple of str or int
        All its columns, those of every model included, in the order of the moments: names, or positions without names.
    rss : float
        Residual sum of squares of least squares on these columns, in the unit of `yty`.
    """

    size: int
    columns: tuple[str, ...] | tuple[int, ...]
    rss: float


def best_subsets(
    gram: npt.ArrayLike,
    xty: npt.ArrayLike,
    yty: float,
    *,
    names: Sequence[str] | None = None,
    always: Sequence[str] | Sequence[int] = (),
    groups: Sequence[Sequence[str]] | Sequence[Sequence[int]] = (),
    max_size: int | None = None,
    n_best: int = 1,
) -> list[BestSubset]:
    """Find the least squares models of each size with the smallest residual sums of squares.

    The result is NOT private: it is computed from the moments as they are, without noise and without a charge. Use it
    on moments that are public, or on moments that were released with noise: what follows from a release costs nothing.

    Parameters
    ----------
    gram : array_like, shape (p, p)
        X'X. Symmetric and positive semidefinite.
    xty : array_like, shape (p,)
        X'y.
    yty : float
        y'y, in squared units of the target.
    names : sequence of str, default=None
        Names of the columns, all different. None: columns are called by their positions, from 0.
    always : sequence of str or int, default=()
        Columns in every model, such as the intercept, which is a column of ones in X and not added here.
    groups : sequence of sequences of str or int, default=()
        Columns that enter and leave together, such as the indicators of a category.
    max_size : int, default=None
        The most units in a model: groups, and columns that are in none. None is all of them, at most 128.
    n_best : int, default=1
        Models wanted of each size, from 1 to 10,000.

    Returns
    -------
    list of BestSubset
        By size, from 1 to `max_size`; within a size best first. Fewer than `n_best` of a size when there are no more.

    Raises
    ------
    InvalidParameterError
        When the moments are not finite, do not fit together, or are the moments of no table; when a column is unknown.

    Notes
    -----
    Moments with noise need not be those of any table: X'X may have negative eigenvalues, and y'y may be so small that
    residual sums of squares would be negative. Neither is mended silently. The error says what would mend it: a ridge
    c on the diagonal of X'X, after which `rss` is ||y - Xb||^2 + c ||b||^2, or a larger y'y, which changes no ranking.

    Nothing is left out: the search is exact, by branch and bound. Models whose residual sums of squares differ by less
    than a share of 1e-10 are ties, and any of them may be listed. Linearly dependent columns are allowed; a column
    that others explain but for 1e-12 of its square adds nothing to them. Moments in double precision hold about half of
    the digits of a table: center columns that are far from zero before they are multiplied.

    Cost: 30 columns take some hundredths of a second, 40 about a second, after some seconds of compilation at the
    first call on a machine. Time is exponential in the number of units at worst; many columns that are copies of each
    other, or fewer rows than columns, are bad cases: set `max_size`, or group columns.

    References
    ----------
    Furnival and Wilson 1974, Regressions by leaps and bounds, Technometrics 16, 499-511.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dc
    >>> X = np.array([[1, 30, 0, 2], [1, 45, 1, 1], [1, 50, 0, 4], [1, 62, 1, 5], [1, 38, 1, 0], [1, 71, 0, 4]])
    >>> y = np.array([1.0, 2.5, 3.0, 4.5, 1.5, 4.0])
    >>> names = ["intercept", "age", "sex", "visits"]
    >>> for model in dc.best_subsets(X.T @ X, X.T @ y, y @ y, names=names, always=["intercept"]):
    ...     print(model.size, model.columns, round(model.rss, 3))
    1 ('intercept', 'age') 0.948
    2 ('intercept', 'age', 'visits') 0.654
    3 ('intercept', 'age', 'sex', 'visits') 0.077
    """
    G, c, total = _moments(gram, xty, yty)
    labels = _labels(names, len(c))
    forced = np.zeros(len(c), dtype=np.bool_)
    forced[_positions("always", always, labels)] = True
    units = _units(groups, labels, forced)
    d = len(units)
    most = d if max_size is None else _whole("max_size", max_size, d)
    n_models = min(_whole("n_best", n_best, MAX_BEST), max(math.comb(d, m) for m in range(1, most + 1)))
    # The kernel's compiler is loaded when everything else is in order.
    kernel = importlib.import_module("discreet.kernels.subsets.best_subsets")
    search = kernel.search_subsets(G, c, total, units, forced, most, n_models)
    is_model = np.isfinite(search.rss)
    inside = search.models[is_model].astype(np.float32) @ units.astype(np.float32) + forced > 0.0
    columns = (tuple(compress(labels, row)) for row in inside.tolist())
    sizes = (np.nonzero(is_model)[0] + 1).tolist()
    return [BestSubset(*model) for model in zip(sizes, columns, search.rss[is_model].tolist(), strict=True)]


def _moments(gram: npt.ArrayLike, xty: npt.ArrayLike, yty: float) -> tuple[Floats, Floats, float]:
    """The moments as floats, when they are those of a table."""
    G, c, total = _array("gram", gram), _array("xty", xty), _array("yty", yty)
    if G.ndim != 2 or G.shape[0] != G.shape[1] or G.shape[0] < 1:
        raise InvalidParameterError(f"gram must be a square matrix, but its shape is {G.shape}. Pass X.T @ X.")
    if c.shape != G.shape[:1]:
        raise InvalidParameterError(
            f"xty must have one entry a column of gram, but its shape is {c.shape} and gram's {G.shape}. Pass X.T @ y."
        )
    if total.ndim != 0:
        raise InvalidParameterError(f"yty must be a number, but its shape is {total.shape}. Pass float(y @ y).")
    asymmetry = np.abs(G - G.T)
    if asymmetry.max() > ASYMMETRY * np.abs(G).max():
        i, j = (int(k) for k in np.unravel_index(asymmetry.argmax(), G.shape))
        raise InvalidParameterError(
            f"gram must be symmetric, but gram[{i}, {j}]={G[i, j]:.6g} and gram[{j}, {i}]={G[j, i]:.6g}. "
            "Pass (gram + gram.T) / 2."
        )
    G = (G + G.T) / 2.0
    _check_table(G, c, float(total))
    return G, c, float(total)


def _array(name: str, value: Any) -> Floats:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(f"{name} must hold numbers, but it cannot be read as such. Pass floats.") from error
    if not np.isfinite(array).all():
        bad_value = array[~np.isfinite(array)].flat[0]
        raise InvalidParameterError(
            f"{name} must be finite, but it holds {bad_value}. Leave the columns out, or correct them."
        )
    return array


def _check_table(G: Floats, c: Floats, total: float) -> None:
    """Refuse what is not positive semidefinite: no table has such moments."""
    smallest = _smallest_eigenvalue(G)
    if smallest < -SEMIDEFINITE:
        ridge = -float(np.linalg.eigvalsh(G)[0])
        raise InvalidParameterError(
            f"gram must be positive semidefinite, but its smallest eigenvalue on a unit diagonal is {smallest:.3g}, "
            f"as noise can make it. Add a ridge: gram + c * numpy.eye(p), with c well above {ridge:.6g}."
        )
    joint = np.block([[G, c[:, None]], [c[None, :], np.array([[total]])]])
    if _smallest_eigenvalue(joint) >= -SEMIDEFINITE:
        return
    if smallest > SEMIDEFINITE:
        least = float(c @ np.linalg.solve(G, c))
        raise InvalidParameterError(
            f"yty must be at least xty' inverse(gram) xty = {least:.6g}, or sums of squares would be negative, but "
            f"yty={total:.6g}, as noise can make it. Pass a larger yty, which changes no ranking, or add a ridge to "
            "gram."
        )
    raise InvalidParameterError(
        "gram, xty and yty must be the moments of one table, but xty is not in the span of gram's columns, "
        "as noise can make it. Add a ridge: gram + c * numpy.eye(p), with c of the size of the noise."
    )


def _smallest_eigenvalue(matrix: Floats) -> float:
    """That of the matrix scaled to a unit diagonal; a negative or lonely zero on the diagonal stays as it is."""
    scale = np.sqrt(np.where(matrix.diagonal() > 0.0, matrix.diagonal(), 1.0))
    return float(np.linalg.eigvalsh(matrix / scale[:, None] / scale[None, :])[0])


def _labels(names: Sequence[str] | None, p: int) -> tuple[Any, ...]:
    if names is None:
        return tuple(range(p))
    labels = tuple(str(name) for name in names)
    if len(labels) != p:
        raise InvalidParameterError(
            f"names must have one name a column of gram, but there are {len(labels)} names and {p} columns. "
            "Name every column, the intercept too."
        )
    if len(set(labels)) < p:
        repeated = next(name for name in labels if labels.count(name) > 1)
        raise InvalidParameterError(f"names must differ, but {repeated[:60]!r} stands there twice. Rename one column.")
    return labels


def _positions(name: str, chosen: Any, labels: tuple[Any, ...]) -> list[int]:
    """Places of the columns that a parameter names."""
    if isinstance(chosen, str):
        raise InvalidParameterError(f"{name} must be a sequence of columns, but it is {chosen[:60]!r}. Pass a list.")
    place = {label: i for i, label in enumerate(labels)}
    columns = list(chosen)
    unknown = [column for column in columns if isinstance(column, bool) or column not in place]
    if unknown or len(set(columns)) < len(columns):
        shown = f"{unknown[0]!r:.60}" if unknown else "a column twice"
        raise InvalidParameterError(
            f"{name} must hold columns of gram, each once, but it holds {shown}. "
            + ("Use the names given." if isinstance(labels[0], str) else "Use positions from 0, or give names.")
        )
    return [place[column] for column in columns]


def _units(groups: Any, labels: tuple[Any, ...], forced: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Columns of each unit, in the order of their first columns."""
    members = [_positions("groups", group, labels) for group in groups]
    grouped = [i for group in members for i in group]
    if len(set(grouped)) < len(grouped):
        raise InvalidParameterError("groups must not share a column, but two of them do. Join them.")
    if forced[grouped].any():
        raise InvalidParameterError(
            "A column of always cannot be in a group. Put the whole group in always, or drop it."
        )
    alone = [[i] for i in range(len(labels)) if not forced[i] and i not in grouped]
    units = sorted([sorted(unit) for unit in [*members, *alone] if unit])
    if not 1 <= len(units) <= MAX_UNITS:
        raise InvalidParameterError(
            f"From 1 to {MAX_UNITS} columns or groups can be free to enter, but there are {len(units)}. "
            + ("Group columns or name fewer." if units else "Take a column out of always.")
        )
    members_of = np.zeros((len(units), len(labels)), dtype=np.bool_)
    for j, unit in enumerate(units):
        members_of[j, unit] = True
    return members_of


def _whole(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= most:
        raise InvalidParameterError(
            f"{name} must be an integer from 1 to {most:,}, but {name}={value!r:.60}. Choose one in that range."
        )
    return int(value)
