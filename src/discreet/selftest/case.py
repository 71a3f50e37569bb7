"""A method on its worst pairs: what reaches the mechanisms, recorded on a table and repeated on a neighbor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.data.public_records import PublicRecords
from discreet.methods.base.method import Method
from discreet.methods.registry import method_of
from discreet.methods.screening.own_score import OwnScore
from discreet.selftest.evidence import Evidence
from discreet.selftest.replay import Lift, no_noise, replayed
from discreet.selftest.tables import BOX, Pair

DELTA = 1e-6
MANY = 3
"""Rows of one unit, where units of several rows are tried."""


@dataclass(frozen=True)
class Case:
    """A method with options, and the pairs that come nearest to what it is charged.

    Parameters
    ----------
    subject : str
        The method, as people call it.
    name : str
        What is special.
    method : str
        Its name on the command line.
    claim : str
        File of its claim, without ending.
    pairs : sequence of Pair
        Neighbors.
    options : dict of str to Any
        The method's parameters, but epsilon.
    target : str
        The response.
    candidates : sequence of str
        Columns that may be selected.
    rows_per_unit : sequence of int
        How many rows a unit may have.
    lift : callable
        What noise the sums get.
    words : sequence of float
        Uniform numbers for what else is done by chance.
    """

    subject: str
    name: str
    method: str
    claim: str
    pairs: Sequence[Pair]
    options: dict[str, Any] = field(default_factory=dict)
    target: str = "y"
    candidates: Sequence[str] = ("x1", "x2")
    rows_per_unit: Sequence[int] = (1, MANY)
    lift: Lift = no_noise
    words: Sequence[float] = ()

    def evidence(self, relation: str, epsilon: float) -> Iterator[Evidence]:
        """Replay each pair, with units of one row and of several; one piece of evidence for each charged part."""
        for rows in self.rows_per_unit:
            yield from self._of_units(relation, epsilon, rows)

    def _of_units(self, relation: str, epsilon: float, rows_per_unit: int) -> list[Evidence]:
        method = self._method(epsilon)
        runs = [
            replayed(method, pair.tables(relation, rows_per_unit), self.target, self.candidates, self.lift, self.words)
            for pair in self.pairs
        ]
        fault = next((run.fault for run in runs if run.fault), "")
        case = self.name if rows_per_unit == 1 else f"{self.name}; {rows_per_unit} rows of a unit of many"
        facts: dict[str, Any] = {
            "subject": self.subject,
            "claim": f"methods/{self.claim}.privacy.md",
            "neighboring": relation,
            "delta": 0.0,
            "how": "replay",
            "n_draws": 0,
        }
        if fault:
            return [Evidence(case=case, epsilon=epsilon, shown=0.0, fault=fault, **facts)]
        parts = zip(*(run.parts for run in runs), strict=True)
        return [self._of_part(part, case, facts) for part in parts]

    @staticmethod
    def _of_part(parts: Sequence[Any], case: str, facts: dict[str, Any]) -> Evidence:
        """Return the evidence of the pair with the largest privacy loss in a charged part."""
        unit = ", as rho" if parts[0].kind == "gaussian" else ""
        words = f"{case}: {parts[0].kind}{unit}"
        return Evidence(case=words, epsilon=parts[0].charge, shown=max(part.cost for part in parts), **facts)

    def _method(self, epsilon: float) -> Method:
        if self.method == "own-score":
            return OwnScore.of(score_func=_absolute_products, epsilon=epsilon, **self.options)
        public = {"public": _open_records()} if self.method in ("hybrid", "public-subset") else {}
        return method_of(self.method, epsilon=epsilon, **public, **self.options)


def _absolute_products(X: Any, y: Any) -> Any:
    return np.abs(X.T @ y)


@cache
def _open_records() -> PublicRecords:
    """Return records at the corners, most of them on a line that private rows may leave."""
    corners = [(1.0, 1.0, 1.0)] * 5 + [(-1.0, -1.0, -1.0)] * 5
    corners += [(1.0, 1.0, -1.0), (-1.0, -1.0, 1.0), (1.0, -1.0, 0.0), (-1.0, 1.0, 0.0)]
    rows = pa.table({name: [row[at] for row in corners] for at, name in enumerate(("x1", "x2", "y"))})
    declared = {"dataset": "open", "unit": "person", "neighboring": "add_or_remove_one"}
    return PublicRecords(
        rows, dc.Metadata.model_validate(declared | {"columns": dict.fromkeys(rows.column_names, BOX)})
    )


def words_of(options: dict[str, Any]) -> str:
    """Return parameters as a case is named by them."""
    return ", ".join(f"{name} {value}" for name, value in options.items())
