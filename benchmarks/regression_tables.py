"""Tables for `benchmarks.regression_accuracy`: simulated designs, and real tables with bounds from public knowledge."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.regression_designs import Cell, metadata, names, simulated
from benchmarks.tables import SHARED
from discreet.data.metadata import CategoryColumn, Metadata
from discreet.typing import Floats

TEST_ROWS = 10_000


@dataclass(frozen=True)
class Split:
    """Rows to fit on and rows to test on, with what is public about both.

    Parameters
    ----------
    family : str
        Of the regression.
    metadata : Metadata
        With the relation that peers use.
    target : str
        The response.
    columns : list of str
        Of the model.
    train, test : dict of str to array
        Cells by column, the target's and the exposure's too.
    exposure : str or None
        Column whose logarithm is the offset.
    """

    family: str
    metadata: Metadata
    target: str
    columns: list[str]
    train: dict[str, Any]
    test: dict[str, Any]
    exposure: str | None = None

    def design(self, rows: dict[str, Any]) -> Floats:
        """Columns in [-1, 1] by their public bounds, behind a constant; levels but the first are 0 or 1."""
        parts = [np.ones(len(rows[self.target]))]
        for name in self.columns:
            column = self.metadata.declared(name)
            if isinstance(column, CategoryColumn):
                parts += [(rows[name] == level) * 1.0 for level in list(column.levels or ())[1:]]
            else:
                low, high = column.lower or 0.0, column.upper or 0.0
                parts.append((np.clip(rows[name], low, high) - (low + high) / 2.0) / ((high - low) / 2.0))
        stacked: Floats = np.column_stack(parts)
        return stacked

    def response(self, rows: dict[str, Any]) -> Floats:
        """The target within its bounds."""
        low, high = self.bounds
        clipped: Floats = np.clip(np.asarray(rows[self.target], dtype=np.float64), low, high)
        return clipped

    @property
    def bounds(self) -> tuple[float, float]:
        """Public bounds of the target."""
        column = self.metadata.declared(self.target)
        assert not isinstance(column, CategoryColumn)
        return float(column.lower or 0.0), float(column.upper or 0.0)

    def offset(self, rows: dict[str, Any]) -> Floats:
        """Logarithm of the exposure."""
        if self.exposure is None:
            return np.zeros(len(rows[self.target]))
        column = self.metadata.declared(self.exposure)
        assert not isinstance(column, CategoryColumn)
        logs: Floats = np.log(np.clip(rows[self.exposure], column.lower, column.upper))
        return logs

    @property
    def row_norm(self) -> float:
        """Largest length of a row of the design: the constant and each column add at most 1 to its square."""
        return float((1 + len(self.columns)) ** 0.5)


@dataclass(frozen=True)
class Design:
    """A source of splits.

    Parameters
    ----------
    name : str
        For the output.
    family : str
        Of the regression.
    sizes : tuple of int
        Rows to fit on.
    split : callable
        From the number of rows and a seed.
    """

    name: str
    family: str
    sizes: tuple[int, ...]
    split: Callable[[int, int], Split]


# ---- simulated

SIZES = (300, 2_000, 20_000)
STRENGTH = {"linear": 1.0, "logistic": 3.0, "poisson": 2.0}


def _cell(
    family: str, columns: str = "independent", fill: float = 1.0, outcome: str = "plain", rare: bool = False
) -> Cell:
    return Cell(
        family=family,
        columns=columns,
        strength=STRENGTH[family],
        fill=fill,
        outcome=outcome,
        rare_level=rare,
        rows_per_unit=1,
        n_rows=0,
        epsilon=1.0,
        delta=1e-6,
        neighboring="add_or_remove_one",
    )


def _simulated(cell: Cell) -> Callable[[int, int], Split]:
    def split(n_rows: int, seed: int) -> Split:
        """Rows of the same law, drawn apart."""
        facts = metadata(replace(cell, n_rows=n_rows))
        train = simulated(replace(cell, n_rows=n_rows), 10_000_000 + seed).columns
        test = simulated(replace(cell, n_rows=TEST_ROWS), 20_000_000 + seed).columns
        return Split(cell.family, facts, "y", names(cell), train, test)

    return split


def simulated_designs() -> list[Design]:
    """Independent, correlated, 0/1 and narrow columns, a rare level, and rare cases or unequal variances."""
    found = []
    for family in ("linear", "logistic", "poisson"):
        cells = {
            "independent": _cell(family),
            "correlated": _cell(family, "correlated"),
            "0/1": _cell(family, "binary"),
            "a tenth of the bounds": _cell(family, fill=0.1),
            "1 % level": _cell(family, rare=True),
        }
        cells |= (
            {"unequal variances": _cell(family, outcome="dispersed")}
            if family == "linear"
            else {"2 % cases": _cell(family, outcome="rare")}
        )
        found += [Design(name, family, SIZES, _simulated(cell)) for name, cell in cells.items()]
    return found


# ---- real

Facts = dict[str, tuple[float, float] | list[str]]

FLIGHTS: Facts = {
    "dep_delay": (-60, 300),
    "distance": (0, 5000),
    "sched_dep_min": (0, 1440),
    "month": (1, 12),
    "weekday": (0, 6),
    "temp": (0, 110),
    "humid": (0, 100),
    "wind_speed": (0, 60),
    "visib": (0, 10),
    "origin": ["EWR", "JFK", "LGA"],
}
"""Delays of more than five hours are cut; a day of 1,440 minutes; weather in the units of airport reports."""

GUSTO: Facts = {
    "age": (18, 110),
    "sex": ["female", "male"],
    "sysbp": (0, 280),
    "pulse": (0, 250),
    "dia": (0, 1),
    "hyp": (0, 1),
    "hrt": (0, 1),
    "ttr": (0, 1),
    "ant": (0, 1),
    "htn": (1, 2),
    "fam": (1, 2),
    "height": (120, 220),
    "weight": (30, 220),
}
"""Adults; pressures and pulses that can be measured; the rest by the code book."""

FREMTPL: Facts = {
    "VehPower": (4, 15),
    "VehAge": (0, 30),
    "DrivAge": (18, 100),
    "BonusMalus": (50, 150),
    "Density": (1, 27000),
    "VehGas": ["Diesel", "Regular"],
}
"""As in `FREMTPL_METADATA`."""

PROSTATE: Facts = {
    "lcavol": (-2.5, 5),
    "lweight": (2, 6.5),
    "age": (30, 90),
    "lbph": (-1.4, 3),
    "svi": (0, 1),
    "lcp": (-1.4, 3.5),
    "gleason": (2, 10),
    "pgg45": (0, 100),
}
"""Logarithms of volumes of .1 to 150 ccm and of weights of 7 to 660 g, scores by their definition."""


@cache
def _rows(name: str, needed: tuple[str, ...]) -> dict[str, Any]:
    """Complete rows of a table."""
    table = pq.read_table(SHARED / f"{name}.parquet")
    columns: dict[str, Any] = {}
    for label in needed:
        values = table.column(label).combine_chunks()
        values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        columns[label] = values.to_numpy(zero_copy_only=False)
    complete = np.ones(table.num_rows, dtype=bool)
    for values in columns.values():
        complete &= np.array([value is not None for value in values]) if values.dtype == object else ~np.isnan(values)
    return {label: values[complete] for label, values in columns.items()}


def _real(
    name: str,
    family: str,
    target: str,
    bounds: tuple[float, float],
    facts: Facts,
    without: tuple[str, ...] = (),
    response: Callable[[Any], Any] | None = None,
    exposure: tuple[str, tuple[float, float]] | None = None,
) -> Callable[[int, int], Split]:
    columns = [label for label in facts if label not in (*without, target)]
    needed = (*columns, target, *((exposure[0],) if exposure else ()))

    def split(n_rows: int, seed: int) -> Split:
        """Rows drawn without replacement, and others to test on."""
        everything = _rows(name, needed)
        total = len(everything[target])
        rng = np.random.default_rng([seed, n_rows])  # noqa: TID251 - a split, not noise
        order = rng.permutation(total)
        parts = []
        for places in (order[:n_rows], order[n_rows : n_rows + 4 * TEST_ROWS]):
            rows = {label: everything[label][places] for label in needed}
            parts.append(rows | ({target: response(rows[target])} if response else {}))
        declared: dict[str, Any] = {target: _declared(bounds, family == "linear")}
        declared |= {label: _declared(facts[label], True) for label in columns}
        if exposure:
            declared[exposure[0]] = _declared(exposure[1], True)
        described = {"schema": "discreet/metadata@1", "dataset": name, "unit": "row", "columns": declared}
        described |= {"neighboring": "add_or_remove_one"}
        public = Metadata.model_validate(described)
        return Split(family, public, target, columns, *parts, exposure=exposure[0] if exposure else None)

    return split


def _declared(fact: tuple[float, float] | list[str], is_real: bool) -> dict[str, Any]:
    if isinstance(fact, list):
        return {"type": "category", "levels": fact, "source": "code book"}
    low, high = fact
    return {"type": "real" if is_real else "integer", "lower": low, "upper": high, "source": "code book"}


def real_designs() -> list[Design]:
    """Tables of `shared/data`; none where it is not there."""
    if not (SHARED / "prostate.parquet").is_file():
        return []
    gas = ("fremtpl2freq", (0.0, 1.0))
    year = ("Exposure", (1.0 / 366.0, 1.0))
    return [
        Design("prostate: lpsa", "linear", (65,), _real("prostate", "linear", "lpsa", (-2.5, 7.0), PROSTATE)),
        Design(
            "flights: arrival delay",
            "linear",
            (2_000, 50_000),
            _real("flights_nyc2013", "linear", "arr_delay", (-90.0, 300.0), FLIGHTS),
        ),
        Design(
            "flights: air time",
            "linear",
            (2_000, 50_000),
            _real("flights_nyc2013", "linear", "air_time", (0.0, 720.0), FLIGHTS),
        ),
        Design(
            "gusto: systolic pressure",
            "linear",
            (2_000, 30_000),
            _real("gusto_ami", "linear", "sysbp", (0.0, 280.0), GUSTO, without=("hyp",)),
        ),
        Design("gusto: death", "logistic", (2_000, 30_000), _real("gusto_ami", "logistic", "day30", (0.0, 1.0), GUSTO)),
        Design(
            "gusto: hypertension",
            "logistic",
            (2_000, 30_000),
            _real("gusto_ami", "logistic", "htn", (0.0, 1.0), GUSTO, response=lambda values: values - 1),
        ),
        Design(
            "flights: 15 minutes late",
            "logistic",
            (2_000, 50_000),
            _real(
                "flights_nyc2013",
                "logistic",
                "arr_delay",
                (0.0, 1.0),
                FLIGHTS,
                without=("dep_delay",),
                response=lambda values: (values > 15) * 1,
            ),
        ),
        Design(
            "fremtpl: a claim",
            "logistic",
            (10_000, 100_000),
            _real(gas[0], "logistic", "ClaimNb", gas[1], FREMTPL, response=lambda values: (values > 0) * 1),
        ),
        Design(
            "fremtpl: claims",
            "poisson",
            (10_000, 100_000),
            _real(gas[0], "poisson", "ClaimNb", (0.0, 4.0), FREMTPL, exposure=year),
        ),
        Design(
            "gusto: leads raised",
            "poisson",
            (2_000, 30_000),
            _real("gusto_ami", "poisson", "ste", (0.0, 12.0), GUSTO),
        ),
    ]
