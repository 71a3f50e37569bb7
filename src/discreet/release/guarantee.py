"""What is promised, and the noise and public facts that the promise rests on."""

from typing import Any, Literal

from pydantic import Field

from discreet.accounting.neighbors import NeighboringRelation
from discreet.release.record import Record, is_absent


class GuaranteeRecord(Record):
    """The guarantee of a release, as it stands in its file."""

    epsilon: float = Field(gt=0, description="nats")
    delta: float = Field(ge=0, lt=1)
    neighboring: NeighboringRelation
    unit: str
    rows_per_unit: int = Field(ge=1)
    n_units: int | None = Field(default=None, ge=1, description="public, where units own 1 to rows_per_unit rows")


class NoiseRecord(Record):
    """The noise box: how a mechanism was calibrated, from public facts and earlier steps of the release."""

    mechanism: str
    noise: str
    n_candidates: int | None = Field(default=None, ge=1, description="what a selection chooses among")
    sensitivity: float = Field(gt=0, description="range of the scores' changes, or size of a vector's change")
    inflation: float = Field(default=0.0, ge=0, description="added for the solver, the grid and rounding, same unit")
    scale: float = Field(gt=0, description="of the noise, same unit")
    unit: str = Field(default="squared units of the target", description="of sensitivity, inflation and scale")
    formula: str
    numerics: str
    claim: str = Field(description="file that holds the proof")
    penalty: float | None = Field(
        default=None,
        ge=0,
        exclude_if=is_absent,
        description="what each column adds to a model's score, same unit",
    )
    max_false: float | None = Field(
        default=None,
        gt=0,
        exclude_if=is_absent,
        description="chance of a false column that the penalty is set for, where no column goes with the target",
    )
    threshold: float | None = Field(
        default=None,
        ge=0,
        exclude_if=is_absent,
        description="public: columns whose score is above it are to be selected, same unit",
    )


class PublicColumn(Record):
    """What was declared public about a column that took part."""

    name: str
    role: Literal["target", "candidate", "unit_id", "offset", "exposure", "weights", "source"]
    type: str
    lower: float | None = None
    upper: float | None = None
    levels: tuple[str, ...] | None = None
    source: str
    description: str | None = Field(default=None, exclude_if=is_absent, description="what the column is, as declared")
    derived: str | None = Field(
        default=None, exclude_if=is_absent, description="computed from other columns of the row"
    )


class StepRecord(Record):
    """One part of a release, with its own privacy cost."""

    name: str = Field(description="what the part is for, such as y_bound, selection or moments")
    event: dict[str, Any]
    noise: NoiseRecord
    value: float | None = Field(default=None, description="the number released by this part, if it is one")
    columns: tuple[str, ...] | None = Field(default=None, description="the columns that a screening left, in a plan")


class ClaimRecord(Record):
    """A proof that the guarantee rests on, and who has read it against the code."""

    claim: str = Field(description="file that holds the proof")
    status: str = Field(description="`proved` where two people who did not write the code have read it, else `contrib`")
    read_by: tuple[str, ...] = Field(description="who has read it besides its author; nobody when empty")
