"""What is public about a private table (``discreet/metadata@1``). Never read from the rows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError, model_validator
from typing_extensions import override

from discreet.data.columns import MAX_BOUND as MAX_BOUND
from discreet.data.columns import MAX_LEVELS as MAX_LEVELS
from discreet.data.columns import CategoryColumn as CategoryColumn
from discreet.data.columns import NumericColumn as NumericColumn
from discreet.data.columns import half_width as half_width
from discreet.data.columns import how_to_declare
from discreet.data.expressions import Expression, parsed
from discreet.data.metadata_card import headline, metadata_card
from discreet.data.metadata_fields import SCHEMA as SCHEMA
from discreet.data.metadata_fields import MetadataFields
from discreet.data.metadata_problems import InvalidMetadataError, did_you_mean, problems
from discreet.data.yaml_text import parse_text, yaml_text
from discreet.errors import MetadataError
from discreet.files import read_text, write_whole
from discreet.release import canonical_sha256


class FixedColumns(dict[str, NumericColumn | CategoryColumn]):
    """The columns of an open table's metadata, which stay as they were when it was opened."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("The metadata of an open table cannot be changed. Open the table again with others.")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return FixedColumns, (dict(self),)  # by default a copy would be filled cell by cell


class Metadata(MetadataFields):
    """The public description of a private table.

    Parameters
    ----------
    dataset : str
        The key in the ledger: all versions and samples of the same people share it.
    unit : str
        Who is protected, such as "person".
    rows_per_unit : int
        The most rows one unit may own; with more than one, `unit_id` names the column, and the bound is enforced.
    neighboring : NeighboringRelation
        Which two tables count as neighbors.
    n_rows : int or None
        Public number of rows under ``replace_one``; absent under ``add_or_remove_one``.
    n_units : int or None
        Public number of units under ``replace_one`` in place of `n_rows`, where a unit may own 1 to `rows_per_unit`
        rows: the number of rows is then private.
    columns : dict of str to NumericColumn or CategoryColumn
        Bounds or levels of each column, with their source.
    features : Features, optional
        What further columns, alike and too many to list, have in common.
    layout : Long, optional
        Names the columns of a table of one value a row; the target is then in a table of its own.
    public : PublicTwin, optional
        Which file holds public records with the same columns, of other people.

    Examples
    --------
    >>> metadata = Metadata.model_validate({
    ...     "schema": "discreet/metadata@1", "dataset": "toy", "unit": "person",
    ...     "neighboring": "replace_one", "n_rows": 100,
    ...     "columns": {"age": {"type": "integer", "lower": 0, "upper": 110, "source": "by definition"}}})
    >>> metadata.columns["age"].upper
    110.0
    """

    @model_validator(mode="after")
    def _derived_fit(self) -> "Metadata":
        if not self.derived:
            return self
        from discreet.data.derived_bounds import implied_bounds  # arithmetic of arrays, which others need not load

        bounds = {name: implied_bounds(name, self.columns) for name in self.derived}
        for name, (lower, upper) in bounds.items():
            column = self.columns[name].model_dump(exclude_none=True)
            try:
                self.columns[name] = NumericColumn.model_validate({"lower": lower, "upper": upper, **column})
            except ValidationError as error:
                message = error.errors()[0]["msg"].removeprefix("Value error, ")
                raise ValueError(f"derived column {name[:60]!r}: {message}") from None
        return self

    def __repr__(self) -> str:
        return f"<Metadata {headline(self)}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return metadata_card(self, f"Metadata of {self.dataset}")

    @classmethod
    def read(cls, path: str | Path) -> "Metadata":
        """Read metadata from a YAML or JSON file.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Metadata
            The metadata.

        Raises
        ------
        MetadataError
            When the file does not follow the schema; the message names the place.
        """
        value = parse_text(read_text(path, "metadata"), str(path))
        return cls.from_value(with_names(value, path), str(path))

    @classmethod
    def from_text(cls, text: str, name: str = "metadata") -> "Metadata":
        """Return the metadata that a YAML or JSON text holds.

        Parameters
        ----------
        text : str
            YAML or JSON.
        name : str
            How messages call the text.

        Returns
        -------
        Metadata
            The metadata.
        """
        return cls.from_value(parse_text(text, name), name)

    @classmethod
    def from_value(cls, value: Any, name: str = "metadata") -> "Metadata":
        """Return the metadata that a dictionary holds, with a one-line error.

        Parameters
        ----------
        value : Any
            A dictionary of the schema's shape.
        name : str
            How messages call it.

        Returns
        -------
        Metadata
            The metadata.
        """
        if not isinstance(value, dict):
            raise MetadataError(
                f"Metadata must be a mapping with the keys of {SCHEMA}, but {name} is not. "
                "Write a skeleton with `discreet metadata new`."
            )
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise InvalidMetadataError(name, problems(error, list(cls.model_fields))) from None

    def to_dict(self) -> dict[str, Any]:
        """Return the metadata as a dictionary that JSON can hold, without empty fields and bounds that follow.

        Returns
        -------
        dict
            Keys in the schema's order.
        """
        content = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        if not self.derived:
            return content
        from discreet.data.derived_bounds import implied_bounds  # as above

        for name in self.derived:
            declared = content["columns"][name]
            for key, end in zip(("lower", "upper"), implied_bounds(name, self.columns, is_partial=True), strict=True):
                if declared.get(key) == end:
                    del declared[key]
        return content

    def to_yaml(self) -> str:
        """Return the metadata as YAML text.

        Returns
        -------
        str
            YAML, keys in the schema's order.
        """
        return yaml_text(self.to_dict())

    def save(self, path: str | Path) -> Path:
        """Write the metadata whole or not at all, as JSON when the name ends in .json, else as YAML.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Path
            The file written.
        """
        as_json = str(path).endswith(".json")
        return write_whole(path, json.dumps(self.to_dict(), indent=2) + "\n" if as_json else self.to_yaml())

    @property
    def sha256(self) -> str:
        """Digest of the metadata's content."""
        return canonical_sha256(self.to_dict())

    def column(self, name: str) -> NumericColumn | CategoryColumn | None:
        """Return what is declared of a column, be it listed or one of the features.

        Parameters
        ----------
        name : str
            The column; it need not be declared at all.

        Returns
        -------
        NumericColumn, CategoryColumn or None
            Perhaps without bounds or levels; None when the column is not declared.
        """
        column = self.columns.get(name)
        if column is not None or self.features is None or name == self.unit_id:
            return column
        return self.features if self.features.holds(name, self.layout is not None) else None

    @property
    def derived(self) -> dict[str, Expression]:
        """The columns that are computed from others of the same row, and how."""
        return {
            name: parsed(column.derived)
            for name, column in self.columns.items()
            if isinstance(column, NumericColumn) and column.derived is not None
        }

    @property
    def stored(self) -> tuple[str, ...]:
        """The listed columns that a table has: all but the derived ones."""
        return tuple(name for name, column in self.columns.items() if getattr(column, "derived", None) is None)

    def with_derived_stored(self) -> "Metadata":
        """Return the metadata of a table that holds its derived columns; itself where there are none."""
        derived = self.derived
        if not derived:
            return self
        columns = {
            name: column.model_copy(update={"derived": None}) if name in derived else column
            for name, column in self.columns.items()
        }
        return self.model_copy(update={"columns": columns})

    def is_number(self, name: str) -> bool:
        """Tell whether a column is declared as a number.

        Parameters
        ----------
        name : str
            The column; it need not be declared at all.

        Returns
        -------
        bool
            False for categories and for columns that are not declared.
        """
        return isinstance(self.column(name), NumericColumn)

    def buys_bounds(self, name: str) -> bool:
        """Tell whether a column asks for private bounds: ``bounds: private``, and not both declared.

        Parameters
        ----------
        name : str
            The column; it need not be declared at all.

        Returns
        -------
        bool
            False for categories and for columns that are not declared.
        """
        column = self.column(name)
        return isinstance(column, NumericColumn) and column.bounds == "private" and not column.is_declared

    def with_bounds(self, bounds: Mapping[str, tuple[float, float]], source: str) -> "Metadata":
        """Return the metadata with the bounds of some numeric columns filled in.

        Parameters
        ----------
        bounds : dict of str to (float, float)
            Lower and upper bound of each, in its unit; lower < upper.
        source : str
            Where they come from.

        Returns
        -------
        Metadata
            Never an error: a stand-in for missing cells that lies outside is moved to the nearest bound.
        """
        columns = dict(self.columns)
        for name, (lower, upper) in bounds.items():
            column = columns[name]
            missing = getattr(column, "missing", None)
            inside = None if missing is None else min(max(missing, lower), upper)
            filled = {"lower": lower, "upper": upper, "missing": inside, "source": source}
            columns[name] = column.model_copy(update=filled)
        return self.model_copy(update={"columns": columns})

    def fixed(self) -> "Metadata":
        """Return the same metadata, with columns that nobody can add, change or remove.

        Returns
        -------
        Metadata
            Equal to this one, and of a mapping of its own.
        """
        return self.model_copy(update={"columns": FixedColumns(self.columns)})

    def declared(self, name: str) -> NumericColumn | CategoryColumn:
        """Return a column that can be used, or say how to declare it.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        NumericColumn or CategoryColumn
            The column, with bounds or levels.

        Raises
        ------
        MetadataError
            When the column is not in the metadata, or has no bounds or levels.
        """
        column = self.column(name)
        if column is None:
            known = list(self.columns)
            raise MetadataError(
                f"Column {name[:80]!r} is not declared in the metadata. "
                f"{did_you_mean(name, known)}Declared columns: {', '.join(known[:30])}{self._further()}."
            )
        if not column.is_declared:
            subject = "The features" if column is self.features else f"Column {name[:80]!r}"
            screened = " Only --method sis --association kendall does without." if column is self.features else ""
            raise MetadataError(f"{subject} must have public {how_to_declare(column)}{screened}")
        return column

    def _further(self) -> str:
        if self.features is None:
            return ""
        if self.layout is None and self.features.names is None:
            return f", and features named as {self.features.match[:80]}"
        return f", and {len(self.features.listed() or ())} features"


def with_names(value: Any, path: str | Path) -> Any:
    """Return a metadata file's content with the features' names read from the file that it refers to.

    Parameters
    ----------
    value : Any
        What the metadata file holds.
    path : str or Path
        The metadata file; the other one is found from its folder.

    Returns
    -------
    Any
        The same where nothing is referred to. A digest of the metadata is so one of the names, too.

    Raises
    ------
    InvalidParameterError
        When the file with the names cannot be read.
    """
    features = value.get("features") if isinstance(value, dict) else None
    if not isinstance(features, dict) or not isinstance(names := features.get("names"), str):
        return value
    listed = read_text(Path(path).parent / names, "features.names").removeprefix("\ufeff").split("\n")
    lines = [line.removesuffix("\r") for line in listed]
    if lines and not lines[-1]:  # the last line ends as the others do
        lines.pop()
    return {**value, "features": {**features, "names": lines}}
