"""Where a release comes from: its rows, its request and its charge."""

from typing import Literal, get_args

from pydantic import Field

from discreet.release.record import Record, is_absent

RowsOrigin = Literal[
    "read from the source",
    "stated by the caller: in memory, the declared columns as they are, all of them",
    "arrays that nobody stated to be the declared columns as they are",
]


READ, STATED, UNSTATED = get_args(RowsOrigin)


class LedgerRecord(Record):
    """Where the charge stands in the ledger."""

    entry: int = Field(ge=1)
    head: str = Field(description="hash of the ledger's chain when the budget was reserved")
    epsilon_spent: float = Field(description="of the data set, this release included")
    epsilon_cap: float = Field(description="of the data set, for its lifetime")
    accounting: Literal["basic", "zcdp"] = "basic"
    rho: float | None = Field(default=None, description="zcdp: charged for this release")
    rho_spent: float | None = Field(default=None, description="zcdp: of the data set, this release included")
    rho_cap: float | None = Field(default=None, description="zcdp: what epsilon_cap converts to, at delta_cap")
    delta_cap: float | None = Field(default=None, description="zcdp: of the data set, for its lifetime")


class Provenance(Record):
    """Where a release comes from."""

    discreet: str
    python: str
    dataset: str
    description: str | None = Field(default=None, exclude_if=is_absent, description="what the table is, as declared")
    metadata_sha256: str
    request_sha256: str
    data: str = Field(description="name of the source, without its folder")
    requested_at: str = Field(description="UTC, before the data were opened")
    randomness: Literal["system entropy", "seeded"]
    rows_origin: RowsOrigin | None = Field(
        default=None,
        exclude_if=is_absent,  # of an older release, whose digest must stay
        description="what says that the rows are those of the declared table",
    )
    ledger: LedgerRecord | None = None
    derived_from: str | None = Field(
        default=None, description="digest of the release that this was computed from without the rows, for free"
    )
