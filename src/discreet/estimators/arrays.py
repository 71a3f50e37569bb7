"""From X and y to a table with metadata."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from sklearn.utils.validation import column_or_1d, validate_data

from discreet.data.frame import FrameTable, column_of
from discreet.data.metadata import Metadata, NumericColumn
from discreet.errors import MetadataError


def table_of(
    estimator: Any,
    X: Any,
    y: Any,
    target: str | None,
    metadata: Metadata | None,
    observed_bound: bool = False,
) -> tuple[FrameTable, str, Sequence[str]]:
    """Return features and target as one table in memory.

    Parameters
    ----------
    estimator : BaseEstimator
        Learns ``n_features_in_`` and, from a frame, ``feature_names_in_``.
    X : DataFrame or array_like, shape (n_samples, n_features)
        Features. The columns of an array are those of the metadata in their order, the target left out.
    y : array_like, shape (n_samples,)
        Target.
    target : str or None
        Its name in the metadata; by default y's own name, or the one column that X does not have.
    metadata : Metadata or None
        None declares every column to lie in [-1, 1].
    observed_bound : bool
        Without metadata, bound the target by its largest absolute value: not private, for study alone.

    Returns
    -------
    tuple of FrameTable, str, list of str
        The table, the target's name, the candidates.

    Raises
    ------
    MetadataError
        When the metadata and X do not have the same columns.
    """
    if metadata is not None and nw.dependencies.is_into_dataframe(X):
        validate_data(estimator, X, y, skip_check_array=True)
        frame = nw.from_native(X, eager_only=True)
        numbers = {name for name, column in metadata.columns.items() if isinstance(column, NumericColumn)}
        columns = {str(name): column_of(frame[name], str(name) in numbers) for name in frame.columns}
        y = column_or_1d(y, warn=False)
    else:
        X, y = validate_data(estimator, X, y, dtype=np.float64, ensure_all_finite="allow-nan", y_numeric=True)
        names = _names(metadata, target, X.shape[1])
        columns = {name: pa.array(X[:, i]) for i, name in enumerate(names)}
    name = _target_name(metadata, target, y, list(columns))
    if metadata is None:
        metadata = _unit_box(list(columns), name, y, observed_bound)
    return (
        FrameTable(pa.table({**columns, name: pa.array(np.asarray(y))}), metadata, "X, y"),
        name,
        list(columns),
    )


def _names(metadata: Metadata | None, target: str | None, n_features: int) -> list[str]:
    if metadata is None:
        return [f"x{i}" for i in range(n_features)]
    names = list(metadata.columns)
    names.remove(target if target in names else names[-1])
    if len(names) != n_features:
        raise MetadataError(
            f"The metadata must declare the columns of X and the target, but they declare {len(names)} columns beside "
            f"the target and X has {n_features}. Pass a frame with named columns, or correct the metadata."
        )
    return names


def _target_name(metadata: Metadata | None, target: str | None, y: Any, names: list[str]) -> str:
    if metadata is None:
        return "target"
    rest = [name for name in metadata.columns if name not in names]
    name = target or getattr(y, "name", None) or (rest[0] if len(rest) == 1 else None)
    if name is None or name in names:
        raise MetadataError("The target must be a declared column that X does not have. Name it with target=NAME.")
    return str(name)


def _unit_box(names: list[str], target: str, y: Any, observed_bound: bool) -> Metadata:
    box = {"type": "real", "lower": -1.0, "upper": 1.0, "source": "by default; cells outside are clipped"}
    bound = float(np.nanmax(np.abs(y), initial=1e-6)) if observed_bound else 1.0
    columns = {**dict.fromkeys(names, box), target: {**box, "lower": -bound, "upper": bound}}
    return Metadata.from_value(
        {
            "dataset": "arrays",
            "unit": "row",
            "neighboring": "replace_one",
            "n_rows": len(y),
            "columns": columns,
        }
    )
