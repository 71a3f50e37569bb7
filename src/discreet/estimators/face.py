"""What all estimators share: from X and y, or a table, to a release."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from discreet.data.cells import bounded, level_codes, numbers
from discreet.data.engine import Table
from discreet.data.engines.frame import column_of
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn
from discreet.errors import InvalidParameterError, PolicyError
from discreet.estimators.arrays import feature_columns, table_of
from discreet.estimators.constructor import constructor, documented
from discreet.ledger import Ledger
from discreet.mechanisms.rng import Source
from discreet.methods.base.candidates import features_in
from discreet.methods.base.method import Method
from discreet.methods.registry import method_of
from discreet.parameters.shared import Parameters
from discreet.release import FitRecord, Release
from discreet.typing import Floats
from discreet.workflow.derive import chosen_by, selection_of
from discreet.workflow.request import answer

DECLARED = (
    "What is public about X and y, when they are arrays or frames, of which nothing is promised. A table has its own."
)


class PrivateEstimator(BaseEstimator, Parameters):  # type: ignore[misc]
    """An estimator whose parameters are those of a method, but for ``metadata`` and ``random_state``.

    Its constructor, as scikit-learn reads it, and the section of its docstring are made from them.
    """

    random_state: Annotated[
        int | None,
        Field(
            description="A seed, for simulations alone. The release then carries no guarantee, and no ledger takes it. "
            "Default draws from the system's entropy."
        ),
    ] = None
    metadata: Annotated[
        Metadata | None,
        Field(
            description=f"{DECLARED} Default takes every column and the target to lie in [-1, 1], and clips them there."
        ),
    ] = None
    _method: ClassVar[str]
    _target_bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    takes_sparse: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" not in vars(cls) and hasattr(cls, "_method"):
            cls.__init__ = constructor(cls)  # type: ignore[method-assign]
            cls.__doc__ = documented(cls.__doc__ or "", cls)

    def summary(self) -> str:
        """Return the answer and the guarantee of the last fit as a text, for `print`.

        Returns
        -------
        str
            As `Release.summary` has it, of 80 columns.
        """
        check_is_fitted(self, "release_")
        return self.release_.summary()

    def _fit_release(
        self,
        X: Any,
        y: Any,
        target: str | None,
        candidates: Sequence[str] | None,
        ledger: Ledger | str | Path | None,
        from_release: Release | str | Path | None = None,
        observed_bound: bool = False,
    ) -> Release:
        """Reserve, run and record; learn the features' names and number."""
        self._forget()
        earlier = None
        if from_release is not None:
            earlier = from_release if isinstance(from_release, Release) else Release.read(from_release)
            selected_for, selected = selection_of(earlier)
            target, candidates = target or selected_for, selected if candidates is None else candidates
        table, name, columns = self._table(X, y, target, candidates, ledger is not None, observed_bound)
        method, chosen = self._choose_method(table, name, columns, ledger is not None)
        if chosen is None and earlier is not None:
            chosen = chosen_by(earlier)
        return self._run(method, table, name, columns, ledger, isinstance(X, Table), chosen)

    def _forget(self) -> None:
        """Drop what an earlier fit learned, so that one that raises leaves no release of another."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _choose_method(
        self, table: Table, name: str, columns: Sequence[str] | None, charged: bool
    ) -> tuple[Method, dict[str, Any] | None]:
        """The method that is run, and how it was chosen where none was named: from public facts alone."""
        del table, name, columns, charged
        return self._checked_method(), None

    def _run(
        self,
        method: Method,
        table: Table,
        name: str,
        columns: Sequence[str] | None,
        ledger: Ledger | str | Path | None,
        has_names: bool,
        chosen: dict[str, Any] | None = None,
    ) -> Release:
        with nullcontext(ledger) if ledger is None or isinstance(ledger, Ledger) else Ledger(ledger) as book:
            release = answer(method, table, name, columns, ledger=book, rng=self._source(), chosen=chosen).release
        return self._store(release, table, name, columns, has_names)

    def _store(
        self, release: Release, table: Table, name: str, columns: Sequence[str] | None, has_names: bool
    ) -> Release:
        """Keep a release, and the features' names and number."""
        recorded = release.request["candidates"]  # the names, or how many they are
        self._candidates = list(recorded if isinstance(recorded, list) else columns or features_in(table, name))
        if has_names:
            self.feature_names_in_ = np.array(self._candidates, dtype=object)
        self.n_features_in_ = len(self._candidates)
        self._metadata = self._declared = table.metadata
        self.release_ = release
        if release.chance is not None:
            self.called_noise_ = release.chance.called_noise
        return release

    def _checked_method(self, **fixed: Any) -> Method:
        """The method, its parameters checked."""
        return method_of(self._method, **self._method_parameters(), **fixed)

    def _method_parameters(self) -> dict[str, Any]:
        """The parameters that are the method's."""
        stated = {key: plain(value) for key, value in self.get_params(deep=False).items()}
        return {key: value for key, value in stated.items() if key not in ("metadata", "random_state")}

    def _table(
        self,
        X: Any,
        y: Any,
        target: str | None,
        candidates: Sequence[str] | None,
        charged: bool,
        observed_bound: bool = False,
    ) -> tuple[Table, str, Sequence[str] | None]:
        """A table as it was opened; or X and y, of which nothing is promised."""
        if isinstance(candidates, str):
            raise InvalidParameterError(
                f"candidates must be a list of names, but it is a text. Write candidates=[{candidates[:60]!r}]."
            )
        if isinstance(X, Table):
            if target is None or y is not None:
                raise InvalidParameterError("A table must come with target=NAME and without y. Name its target column.")
            if self.metadata is not None and self.metadata != X.metadata:
                raise InvalidParameterError("A table has metadata of its own, but others are given. Leave them out.")
            return X, target, candidates
        if charged:
            raise PolicyError(
                "A ledger must be charged for the declared columns as they are, but X and y may be anything that was "
                "made of them. Write table = dc.open_table((X, y), metadata), then fit(table, target=NAME, ledger=...)."
            )
        if y is None and target is not None:
            raise InvalidParameterError(
                "A target is named in an opened table. Write table = dc.open_table(frame, metadata), then fit(table, "
                "target=NAME); or give y beside X."
            )
        if candidates is not None:
            raise InvalidParameterError("candidates must not be given beside X and y. Drop columns of X instead.")
        return table_of(self, X, y, target, self.metadata, observed_bound, self._target_bounds)

    def _source(self) -> Source | None:
        seed = self.random_state
        if seed is None:
            return None
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InvalidParameterError(f"random_state must be None or an integer of at least 0, but it is {seed!r}.")
        return Source.seeded(int(seed))

    def _predictor(self, X: Any, fit: FitRecord) -> Floats:
        """The linear predictor of rows, their cells clipped as in the fit."""
        columns = feature_columns(self, X, self._candidates)
        predictor = np.zeros(len(next(iter(columns.values()))) if columns else 0)
        for term in fit.coefficients:
            predictor = predictor + term.estimate * (1.0 if term.column is None else self._cells(columns, term))
        return predictor

    def _cells(self, columns: dict[str, Any], term: Any) -> Floats:
        column = self._metadata.declared(term.column)
        values = column_of(columns[term.column], isinstance(column, NumericColumn))
        if isinstance(column, CategoryColumn):
            place = list(column.levels or ()).index(term.level)
            dummy: Floats = (level_codes(values, column) == place).astype(np.float64)
            return dummy
        return bounded(numbers(values), column)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True  # a missing cell becomes the middle of its bounds
        tags.input_tags.sparse = self.takes_sparse
        tags.input_tags.string = True  # text that is no number is a missing cell
        return tags


def plain(value: Any) -> Any:
    """Return lists, arrays and numpy scalars of a parameter grid as plain values.

    Parameters
    ----------
    value : Any
        As it was given.

    Returns
    -------
    Any
        The same as tuples and Python numbers.
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(plain(item) for item in value)
    return value
