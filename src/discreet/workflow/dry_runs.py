"""The request at hand without the data: its privacy cost and its noise, from public facts alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.accounting.compose import guarantee_of
from discreet.accounting.guarantee import Guarantee
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.methods.base.candidates import candidates_record, features_in
from discreet.methods.base.method import Method, Preparation
from discreet.release import ChanceRecord

SCHEMA = "discreet/plan@1"


@dataclass(frozen=True)
class DryRun:
    """A request that was checked against the metadata, and what it would cost; no data were opened.

    Parameters
    ----------
    method : Method
        The parameters.
    prepared : Preparation
        What the method made of them: columns, privacy cost, noise.
    metadata : Metadata
        What is public about the table.
    """

    method: Method
    prepared: Preparation
    metadata: Metadata

    @property
    def guarantee(self) -> Guarantee | None:
        """What would be promised and charged; None for a run for study."""
        event = self.prepared.event
        return None if event is None else guarantee_of(event, self.metadata.neighboring, self.prepared.delta)

    def record(self, chance: ChanceRecord | None = None) -> dict[str, Any]:
        """Return what JSON holds of it, and of what chance would give."""
        prepared, cost = self.prepared, self.guarantee
        return {
            "schema": SCHEMA,
            "method": self.method.name,
            "target": prepared.target,
            "candidates": candidates_record(prepared.candidates),
            "parameters": prepared.parameters,
            "cost": {"epsilon": float(cost.epsilon), "delta": float(cost.delta)} if cost else None,
            "neighboring": cost.neighboring if cost else None,
            "noise": prepared.noise.model_dump(mode="json"),
            "steps": [step.model_dump(mode="json") for step in prepared.steps],
            **({} if chance is None else {"chance": chance.model_dump(mode="json")}),
        }


def dry_run(
    method: Method,
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None = None,
    table: Table | None = None,
) -> DryRun:
    """Check a request against the metadata and price it, from public facts alone; of a table the header is read."""
    if table is not None:
        candidates = candidates_asked(method, table, target, candidates)
    return DryRun(method, method.prepare(metadata, target, candidates), metadata)


def candidates_asked(
    method: Method, table: Table, target: str, candidates: Sequence[str] | None
) -> Sequence[str] | None:
    """Return the candidates of a request: the table's features where none are named and the method takes them.

    None where the method has a default of its own.
    """
    if candidates is None and method.takes_features and table.metadata.features is not None:
        return features_in(table, target)
    return candidates
