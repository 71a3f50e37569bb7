"""From X and y to a table of which nothing is stated: shapes, names and types are looked at, cells are not."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import scipy.sparse
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from discreet.data.array_names import names_of
from discreet.data.cells import declared_batch
from discreet.data.derived_columns import columns_read
from discreet.data.engine import Table
from discreet.data.engines.arrays import ArraysTable
from discreet.data.engines.frame import column_of
from discreet.data.engines.sparse import SparseTable
from discreet.data.metadata import Metadata
from discreet.errors import DataMismatchError, InvalidParameterError, MetadataError


def table_of(
    estimator: Any,
    X: Any,
    y: Any,
    target: str | None,
    metadata: Metadata | None,
    observed_bound: bool = False,
    target_bounds: tuple[float, float] = (-1.0, 1.0),
) -> tuple[Table, str, Sequence[str]]:
    """Return features and target as one table in memory.

    Parameters
    ----------
    estimator : BaseEstimator
        Learns ``n_features_in_`` and, from a frame, ``feature_names_in_``.
    X : DataFrame, array_like or sparse matrix, shape (n_samples, n_features)
        Features. The columns of an array are those of the metadata in their order, the target left out.
    y : array_like, shape (n_samples,)
        Target.
    target : str or None
        Its name in the metadata; by default y's own name, or the one column that X does not have.
    metadata : Metadata or None
        None declares every column to lie in [-1, 1].
    observed_bound : bool
        Without metadata, bound the target by its largest absolute value: not private, for study alone.
    target_bounds : (float, float)
        Without metadata, what the target is declared to lie in.

    Returns
    -------
    tuple of Table, str, list of str
        The table, the target's name, the candidates.

    Raises
    ------
    MetadataError
        When the metadata and X do not have the same columns.
    """
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    if scipy.sparse.issparse(X) and estimator.takes_sparse:
        return _sparse_table(estimator, X, y, target, metadata, target_bounds)
    columns = _features(estimator, X, metadata, target)
    name = _target_name(metadata, target, y, list(columns))
    response = _response(y)
    check_consistent_length(X, response)
    if metadata is None:
        metadata = _unit_box(list(columns), name, response, observed_bound, target_bounds)
    return ArraysTable({**columns, name: response}, metadata), name, list(columns)


def _features(estimator: Any, X: Any, metadata: Metadata | None, target: str | None) -> dict[str, Any]:
    if metadata is not None and nw.dependencies.is_into_dataframe(X):
        validate_data(estimator, X, skip_check_array=True)
        frame = nw.from_native(X, eager_only=True)
        return {str(name): frame[name] for name in frame.columns}
    # Under add_or_remove_one nothing may depend on the number of rows, no row at all included.
    least = 1 if metadata is None or metadata.n_rows is not None else 0
    cells = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else X
    matrix = validate_data(estimator, cells, dtype=None, ensure_all_finite=False, ensure_min_samples=least)
    return {name: matrix[:, i] for i, name in enumerate(_names(metadata, target, matrix.shape[1]))}


def _response(y: Any) -> Any:
    """One cell a row, not looked at; a list may hold anything, so that no common type is guessed."""
    if nw.dependencies.is_into_series(y):
        return nw.from_native(y, series_only=True)
    return column_or_1d(np.array(y, dtype=object) if isinstance(y, (list, tuple)) else y, warn=True)


def _names(metadata: Metadata | None, target: str | None, n_features: int) -> list[str]:
    if metadata is None:
        return [f"x{i}" for i in range(n_features)]
    declared = metadata.stored
    return list(names_of(metadata, target if target in declared else declared[-1], n_features))


def _sparse_table(
    estimator: Any, X: Any, y: Any, target: str | None, metadata: Metadata | None, bounds: tuple[float, float]
) -> tuple[Table, str, Sequence[str]]:
    """As for an array, but that only stored cells take memory."""
    least = 1 if metadata is None or metadata.n_rows is not None else 0
    matrix = validate_data(
        estimator, X, dtype=None, accept_sparse=True, ensure_all_finite=False, ensure_min_samples=least
    )
    names = _names(metadata, target, matrix.shape[1])
    name, response = _target_name(metadata, target, y, names), _response(y)
    check_consistent_length(matrix, response)
    if metadata is None:
        metadata = _unit_features(name, len(response), bounds)
    values = response.to_native() if isinstance(response, nw.Series) else response
    return SparseTable(matrix, values, metadata, name, names), name, names


def _unit_features(target: str, n_rows: int, bounds: tuple[float, float]) -> Metadata:
    """All columns alike, in [-1, 1]: there may be millions."""
    source = "by default; cells outside are clipped"
    return Metadata.from_value(
        {
            "dataset": "arrays",
            "unit": "row",
            "neighboring": "replace_one",
            "n_rows": n_rows,
            "columns": {target: {"type": "real", "lower": bounds[0], "upper": bounds[1], "source": source}},
            "features": {"type": "real", "lower": -1.0, "upper": 1.0, "source": source},
        }
    )


def _target_name(metadata: Metadata | None, target: str | None, y: Any, names: list[str]) -> str:
    if metadata is None:
        return "target"
    taken = set(names)
    candidates = [name for name in metadata.stored if name not in taken]
    name = target or getattr(y, "name", None) or (candidates[0] if len(candidates) == 1 else None)
    if name is None or name in taken:
        raise MetadataError("The target must be a declared column that X does not have. Name it with target=NAME.")
    return str(name)


def _unit_box(
    names: list[str], target: str, y: Any, observed_bound: bool, target_bounds: tuple[float, float]
) -> Metadata:
    box = {"type": "real", "lower": -1.0, "upper": 1.0, "source": "by default; cells outside are clipped"}
    lower, upper = target_bounds
    if observed_bound:
        upper = float(np.nanmax(np.abs(np.asarray(y, dtype=np.float64)), initial=1e-6))
        lower = -upper
    columns = {**dict.fromkeys(names, box), target: {**box, "lower": lower, "upper": upper}}
    return Metadata.from_value(
        {
            "dataset": "arrays",
            "unit": "row",
            "neighboring": "replace_one",
            "n_rows": len(y),
            "columns": columns,
        }
    )


def refuse_table(X: Any) -> None:
    """Refuse a private table where an answer for each row is asked: no guarantee covers that.

    Parameters
    ----------
    X : Any
        What was handed over.

    Raises
    ------
    InvalidParameterError
        When it is a table.
    """
    if isinstance(X, Table):
        raise InvalidParameterError(
            "New rows must be a frame or an array, but X is a private table, which is for fit alone: an answer for "
            "each of its rows is not private. To fit the selected columns, write fit(table, from_release=release)."
        )


def feature_columns(estimator: Any, X: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the features of new rows by name, as they were in the fit.

    Parameters
    ----------
    estimator : BaseEstimator
        Fitted.
    X : DataFrame or array_like, shape (n_samples, n_features)
        Features.
    names : sequence of str
        Those of the fit, in order.

    Returns
    -------
    dict of str to array or series
        A column each.
    """
    refuse_table(X)
    declared = getattr(estimator, "_declared", None)
    if declared is not None and nw.dependencies.is_into_dataframe(X) and not declared.derived.keys().isdisjoint(names):
        return _with_derived(nw.from_native(X, eager_only=True), names, declared)
    if estimator.metadata is not None and nw.dependencies.is_into_dataframe(X):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        frame = nw.from_native(X, eager_only=True)
        return {name: frame[name] for name in names}
    cells = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else X
    matrix = validate_data(estimator, cells, reset=False, dtype=None, ensure_all_finite=False)
    return {name: matrix[:, i] for i, name in enumerate(names)}


def _with_derived(frame: "nw.DataFrame[Any]", names: Sequence[str], metadata: Metadata) -> dict[str, Any]:
    """The features of new rows, of which some are computed from other columns."""
    stored = columns_read(metadata.derived, names)
    lacking = [name for name in stored if name not in frame.columns]
    if lacking:
        raise DataMismatchError(
            f"New rows must have the columns that the features are made of, but {lacking[0][:60]!r} is not there. "
            "Add it."
        )
    cells = [column_of(frame[name], metadata.is_number(name)) for name in stored]
    arrays = [array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array for array in cells]
    batch = declared_batch(pa.RecordBatch.from_arrays(arrays, names=list(stored)), metadata, names)
    is_derived = metadata.derived.keys()
    return {name: batch.column(name).to_numpy() if name in is_derived else frame[name] for name in names}
