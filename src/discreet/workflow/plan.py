"""What a request would cost, from public facts alone; no data are opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.accounting.compose import guarantee_of
from discreet.accounting.guarantee import Guarantee
from discreet.data.engine import Table
from discreet.data.metadata import Metadata
from discreet.methods.base.candidates import candidates_record, features_in
from discreet.methods.base.method import Method, Preparation
from discreet.release import NoiseRecord, PublicColumn, StepRecord

SCHEMA = "discreet/plan@1"


@dataclass(frozen=True)
class Plan:
    """What a request would cost and how its noise would be set; no data were opened.

    Parameters
    ----------
    method : str
        The method's name.
    guarantee : Guarantee or None
        What would be promised and charged; None for a run for study.
    noise : NoiseRecord
        The noise box.
    parameters : dict
        All parameters, defaults filled in.
    target : str
        The response.
    candidates : sequence of str
        Columns that may be selected.
    public : tuple of PublicColumn
        The bounds and levels it rests on.
    steps : tuple of StepRecord
        The priced parts, when there is more than one.
    """

    method: str
    guarantee: Guarantee | None
    noise: NoiseRecord
    parameters: dict[str, Any]
    target: str
    candidates: Sequence[str]
    public: tuple[PublicColumn, ...]
    steps: tuple[StepRecord, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return what JSON holds of it."""
        cost = self.guarantee
        return {
            "schema": SCHEMA,
            "method": self.method,
            "target": self.target,
            "candidates": candidates_record(self.candidates),
            "parameters": self.parameters,
            "cost": {"epsilon": float(cost.epsilon), "delta": float(cost.delta)} if cost else None,
            "neighboring": cost.neighboring if cost else None,
            "noise": self.noise.model_dump(mode="json"),
            "steps": [step.model_dump(mode="json") for step in self.steps],
        }


def plan(
    method: Method,
    metadata: Metadata,
    target: str,
    candidates: Sequence[str] | None = None,
    table: Table | None = None,
) -> Plan:
    """Return what a request would cost, from public facts alone.

    Cost and noise.
    """
    if table is not None:
        candidates = asked(method, table, target, candidates)
    return plan_of(method, method.prepare(metadata, target, candidates), metadata)


def asked(method: Method, table: Table, target: str, candidates: Sequence[str] | None) -> Sequence[str] | None:
    """Return the candidates of a request: the table's features where none are named and the method takes them.

    None where the method has a default of its own.
    """
    if candidates is None and method.takes_features and table.metadata.features is not None:
        return features_in(table, target)
    return candidates


def plan_of(method: Method, prepared: Preparation, metadata: Metadata) -> Plan:
    """Return the plan of a request that was checked.

    Cost and noise.
    """
    return Plan(
        method.name,
        guarantee_for(prepared, metadata),
        prepared.noise,
        prepared.parameters,
        prepared.target,
        prepared.candidates,
        prepared.public,
        prepared.steps,
    )


def guarantee_for(prepared: Preparation, metadata: Metadata) -> Guarantee | None:
    """Return what a request would promise.

    None for a run for study.
    """
    return None if prepared.event is None else guarantee_of(prepared.event, metadata.neighboring, prepared.delta)
