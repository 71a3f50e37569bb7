"""What the estimators on public records share: the records, what is kept of them, and the estimate on them alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
from pydantic import Field
from sklearn.utils.validation import check_consistent_length, column_or_1d

from discreet.data.engine import Table
from discreet.data.engines.frame import column_of
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.estimators.m_estimator import MEstimator, learned
from discreet.ledger import Ledger
from discreet.methods.base.candidates import features_in
from discreet.parameters.shared import first


class WeightedPublic(MEstimator):
    """An estimator that weights public records by the private rows."""

    public: Annotated[
        Any,
        Field(
            description="Public records of other people, with the columns of the private table. A file; a frame with "
            "features and target; or a pair (X, y). Needed. A record with a missing cell is left out."
        ),
    ] = first(default=None)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        candidates: Sequence[str] | None = None,
        ledger: Ledger | str | Path | None = None,
    ) -> Self:
        """Weight the public records by the private rows and estimate; spends epsilon.

        Parameters
        ----------
        X : Table, DataFrame or array_like, shape (n_samples, n_features)
            The private table opened with `discreet.open_table`; or features alone, of which nothing is promised.
        y : array_like, shape (n_samples,), optional
            The private target, when X holds features alone.
        target : str, optional
            The target's column: of the table, or in the metadata where y has no name.
        candidates : sequence of str, optional
            Columns beside the target, for a table; default all declared ones.
        ledger : Ledger, str or Path, optional
            Where the charge is recorded, before the private rows are read; for a table alone. The metadata must then
            declare the public file. Without one nothing is charged, and the release says so.

        Returns
        -------
        self
            With `release_` and what it holds.

        Raises
        ------
        InvalidParameterError
            When a parameter is out of range, or there are no public records.
        MetadataError
            When the metadata and a table do not have the same columns, or do not declare the public file.
        DataMismatchError
            When the public records lack a column, or have fewer than two distinct points.
        PolicyError
            When the public and the private file are one.
        BudgetError
            When the ledger refuses.
        """
        self._forget()
        if self.public is None:
            raise InvalidParameterError(
                f"{type(self).__name__} must have public records, but public=None. Give a file, a frame with the "
                "target, or a pair (X, y); or use PerturbedHistogram, which needs none."
            )
        table, name, columns = self._table(X, y, target, candidates, ledger is not None)
        names = tuple(columns) if columns is not None else tuple(features_in(table, name))
        # Columns of a table keep their names.
        public_names = names if isinstance(X, Table) else getattr(self, "feature_names_in_", names)
        public_by_name = {column: str(public_name) for column, public_name in zip(names, public_names, strict=True)}
        records = self._records(table.metadata, name, public_by_name)
        release = self._run(self._checked_method(public=records), table, name, columns, ledger, isinstance(X, Table))
        points = records.points(table.metadata, name, tuple(self._candidates))
        self._metadata = points.design.metadata  # with the public ranges, to which cells are clipped
        self._learn(release)
        hybrid = release.hybrid
        if hybrid is None or hybrid.points is None or hybrid.public_only is None:
            raise ValueError("The release holds no public points.")
        self.weighted_public_ = points.weighted(hybrid.points.kept, hybrid.points.weights)
        self.n_points_ = len(hybrid.points.kept)
        for key, value in learned(hybrid.public_only).items():
            if key != "terms_":
                setattr(self, f"public_only_{key}", value)
        return self

    def _method_parameters(self) -> dict[str, Any]:
        # Public records are opened with the metadata, and are no plain value.
        return {key: value for key, value in super()._method_parameters().items() if key != "public"}

    def _records(self, metadata: Metadata, target: str, own: dict[str, str]) -> PublicRecords:
        """The public records, with the columns' names of the private table; `own` has those that X gave them."""
        public = self.public
        if isinstance(public, (tuple, list)):
            if len(public) != 2:
                raise InvalidParameterError(
                    f"Public records in arrays must be a pair (X, y), but public has {len(public)} parts. Give two."
                )
            return PublicRecords(self._joined(public[0], public[1], metadata, target, own), metadata)
        if isinstance(public, np.ndarray):
            raise InvalidParameterError(
                "Public records in arrays must be a pair (X, y), but public is one array. Give public=(X, y)."
            )
        if any(name != public_name for name, public_name in own.items()):
            raise InvalidParameterError(
                "Without metadata columns go by their places, so public must be a pair (X, y). Give the pair, or "
                "metadata."
            )
        return PublicRecords(public, metadata)

    def _joined(self, X: Any, y: Any, metadata: Metadata, target: str, own: dict[str, str]) -> pa.Table:
        """Features and target as one table."""
        columns: dict[str, Any] = {}
        if nw.dependencies.is_into_dataframe(X):
            frame = nw.from_native(X, eager_only=True)
            missing = [public_name for public_name in own.values() if public_name not in frame.columns]
            if missing:
                raise DataMismatchError(
                    f"The public X must have the columns of the private one, but lacks {missing[0][:60]!r}. Add it."
                )
            columns = {name: frame[public_name] for name, public_name in own.items()}
        else:
            matrix = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
            if matrix.ndim != 2 or matrix.shape[1] != len(own):
                raise DataMismatchError(
                    f"The public X must have the {len(own)} columns of the private one, but its shape is "
                    f"{matrix.shape}. Give the same columns in the same order."
                )
            columns = {name: matrix[:, place] for place, name in enumerate(own)}
        is_series = nw.dependencies.is_into_series(y)
        response = nw.from_native(y, series_only=True) if is_series else column_or_1d(np.asarray(y))
        check_consistent_length(X, response)
        columns[target] = response
        return pa.table({name: column_of(part, metadata.is_number(name)) for name, part in columns.items()})
