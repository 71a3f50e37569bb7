"""The fields of metadata (``discreet/metadata@1``), and what must hold between them."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.columns import Column, ColumnName, Features, Long, PublicTwin
from discreet.parameters.ranges import MAX_ROWS

SCHEMA: Literal["discreet/metadata@1"] = "discreet/metadata@1"


class MetadataFields(BaseModel):
    """The fields of `Metadata`, which says what each of them is."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["discreet/metadata@1"] = Field(default=SCHEMA, alias="schema")
    dataset: str = Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    unit: str = Field(min_length=1, max_length=100)
    rows_per_unit: int = Field(default=1, ge=1, le=1_000_000)
    unit_id: ColumnName | None = None
    neighboring: NeighboringRelation
    n_rows: int | None = Field(default=None, ge=1, le=MAX_ROWS)
    n_units: int | None = Field(default=None, ge=1, le=MAX_ROWS)
    description: str | None = Field(default=None, max_length=10_000)
    columns: dict[ColumnName, Column] = Field(min_length=1)
    features: Features | None = None
    layout: Long | None = None
    public: PublicTwin | None = None

    @model_validator(mode="after")
    def _relation_fits(self) -> Self:
        if self.neighboring is NeighboringRelation.REPLACE_ONE and self.n_rows is None and self.n_units is None:
            raise ValueError(
                "n_rows must be given under replace_one, where it is public; or n_units, if a unit may own several rows"
            )
        if self.neighboring is NeighboringRelation.ADD_OR_REMOVE_ONE and self.n_rows is not None:
            raise ValueError("n_rows must be absent under add_or_remove_one: it is private there")
        self._units_fit()
        if self.rows_per_unit > 1 and self.unit_id is None:
            raise ValueError(
                "rows_per_unit is more than 1, and unit_id is missing; name the column that tells whose row it is"
            )
        if self.unit_id is not None and self.unit_id in self.columns:
            raise ValueError("unit_id must not be one of the columns: it identifies units and is never used")
        return self

    def _units_fit(self) -> None:
        """Refuse a number of units that says something else than another field."""
        if self.n_units is None:
            return
        if self.neighboring is NeighboringRelation.ADD_OR_REMOVE_ONE:
            raise ValueError("n_units must be absent under add_or_remove_one: it is private there")
        if self.n_rows is not None:
            raise ValueError("n_units must not stand beside n_rows: with it the number of rows is private")
        if self.rows_per_unit == 1:
            raise ValueError("n_units must come with rows_per_unit of more than 1: units of one row are n_rows")

    @model_validator(mode="after")
    def _features_fit(self) -> Self:
        if self.features is not None and self.features.names is not None:
            twice = [name for name in (*self.columns, self.unit_id) if name in self.features.places]
            if twice:
                raise ValueError(f"features.names must not be columns or unit_id, but {twice[0][:60]!r} is both")
        if self.layout is None:
            return self
        if self.features is None or self.features.listed() is None:
            raise ValueError("layout needs features, with their count or their names")
        if self.features.match != "*":
            raise ValueError("features.match is for tables of a column a feature: with layout give count or names")
        if self.unit_id is not None:
            raise ValueError("unit_id must be absent with layout: layout.row tells whose a value is")
        if any(self.features.holds(name, is_long=True) for name in self.columns):
            raise ValueError("columns must not be named as features: with layout, features are numbers from 0")
        if self.layout.row in self.columns:
            raise ValueError("layout.row must not be one of the columns: it identifies units and is never used")
        return self
