"""Wang et al. 2018: pairs of a private and a public table, the error of an estimate, and what is compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import expit

from discreet.data.engines.frame import FrameTable
from discreet.data.metadata import Metadata
from discreet.data.public_records import PublicRecords
from discreet.kernels.public_records.contrasts import Logistic
from discreet.kernels.public_records.m_estimates import m_estimate
from discreet.mechanisms.rng import Source
from discreet.methods.base.method import Method
from discreet.methods.public_records.histogram import Histogram
from discreet.methods.public_records.hybrid import HybridEstimate
from discreet.methods.public_records.public_subset import PublicSubset
from discreet.simulation.draws import normals, uniforms
from discreet.typing import Floats
from discreet_papers.experiment import Work

Columns = Mapping[str, npt.NDArray[Any]]

N_ROWS = 10_000
"""Of either simulated table."""

FIRST_TABLE = 20_180_301_000
"""Seed of the first simulated table; the next ones follow. The same for all that are compared."""

SIZES = {2: range(10, 3_000, 50), 100: range(100, 10_000, 200)}
"""Numbers of released public points that the paper looks at, by the number of covariates: 60 and 50 of them."""

REACH = {2: 4.0, 100: 5.0}
"""Public bounds of covariates that are about standard normal, by their number."""

COVARIATES = ("sex", "dia", "hyp", "hrt", "ttr", "ant", "pmi", "htn", "fam")
CODED_ONE_TWO = ("htn", "fam")
OUTCOME = "day30"
REGIONS = (45, 7)
"""Private and public; the other way round for the second of the paper's two figures."""


class Error(NamedTuple):
    """Of coefficients on the private rows.

    Parameters
    ----------
    t : float
        The paper's: norm over the rows of the change of the chances from those of the fit to these rows.
    brier : float
        Mean squared error of the chances.
    """

    t: float
    brier: float


@dataclass(frozen=True, eq=False)
class Pair:
    """A private and a public table with the same columns.

    Parameters
    ----------
    private, public : dict of str to ndarray
        Columns, all of one length in each.
    metadata : Metadata
        What is public about the private table.
    target : str
        Of the values 0 and 1.
    fit_intercept : bool
        Whether the regression has an intercept.
    """

    private: Columns
    public: Columns
    metadata: Metadata
    target: str
    fit_intercept: bool

    @cached_property
    def records(self) -> PublicRecords:
        """The public table as methods take it."""
        return PublicRecords(pa.table(dict(self.public)), self.metadata)

    @cached_property
    def table(self) -> FrameTable:
        """The private table as methods take it."""
        return FrameTable(pa.table(dict(self.private)), self.metadata)

    @cached_property
    def best(self) -> Floats:
        """Coefficients of the fit to the private rows."""
        return self.fit(self.private)

    def matrix(self, columns: Columns) -> Floats:
        """Return the regression's terms, of shape (n, p); the intercept comes first, where there is one."""
        parts = [cells for name, cells in columns.items() if name != self.target]
        terms = np.column_stack([np.ones(len(parts[0])), *parts] if self.fit_intercept else parts)
        return terms.astype(np.float64)

    def fit(self, columns: Columns) -> Floats:
        """Return the coefficients of a logistic regression without privacy, in the columns' units."""
        X = self.matrix(columns)
        return m_estimate(Logistic(False), X, columns[self.target].astype(np.float64), np.ones(len(X)), ridge=0.0)

    def error(self, coefficients: Any) -> Error:
        """Return how far coefficients are from the fit to the private rows. Not private.

        Source: Wang et al. 2018, Section 5.1.
        """
        X, chances = self._rows
        fitted = expit(X @ np.asarray(coefficients))
        y = self.private[self.target]
        return Error(float(np.linalg.norm(fitted - chances)), float(np.mean((y - fitted) ** 2)))

    @cached_property
    def _rows(self) -> tuple[Floats, Floats]:
        X = self.matrix(self.private)
        return X, np.asarray(expit(X @ self.best))


def declared(columns: Mapping[str, tuple[str, float, float]], n_rows: int) -> Metadata:
    """Return a private table's metadata; neighbors differ in one replaced row, as in the paper."""
    boxes = {
        name: {"type": kind, "lower": low, "upper": high, "source": "design"}
        for name, (kind, low, high) in columns.items()
    }
    return Metadata.from_value(
        {"dataset": "pair", "unit": "person", "neighboring": "replace_one", "n_rows": n_rows, "columns": boxes}
    )


def simulated(p: int, number: int, n_rows: int = N_ROWS) -> Pair:
    """Draw normal columns without an intercept, and effects and spreads that differ between the two tables.

    Source: Wang et al. 2018, Section 5.1.
    """
    rng = Source.seeded(FIRST_TABLE + number)
    effects = 2.0 * uniforms(rng, p) - 1.0, 0.5 * uniforms(rng, p)
    variances = np.array([0.5, 1.0]) if p == 2 else np.full(p, 0.5)
    tables = []
    for spread, slopes in zip((np.ones(p), np.sqrt(variances)), effects, strict=True):
        X = normals(rng, n_rows, p) * spread
        y = (uniforms(rng, n_rows) < expit(X @ slopes)).astype(np.int64)
        tables.append({**{f"x{j}": X[:, j] for j in range(p)}, "y": y})
    boxes = {f"x{j}": ("real", -REACH[p], REACH[p]) for j in range(p)}
    return Pair(tables[0], tables[1], declared(boxes | {"y": ("integer", 0, 1)}, n_rows), "y", False)


def clinical(work: Work, swapped: bool = False) -> Pair:
    """Read deaths after an infarction and nine two-valued covariates: one region private, another public."""
    table = work.parquet("gusto_ami.parquet", (*COVARIATES, OUTCOME, "grpl"))
    columns = {each: table.column(each).to_numpy(zero_copy_only=False) for each in (*COVARIATES, OUTCOME)}
    columns["sex"], columns["pmi"] = columns["sex"] == "male", columns["pmi"] == "yes"
    group = table.column("grpl").to_numpy()
    private, public = (
        {each: cells[group == place].astype(np.int64) for each, cells in columns.items()}
        for place in (REGIONS[::-1] if swapped else REGIONS)
    )
    boxes = {each: ("integer", *((1, 2) if each in CODED_ONE_TWO else (0, 1))) for each in columns}
    return Pair(private, public, declared(boxes, len(private[OUTCOME])), OUTCOME, True)


def shipped(work: Work) -> Pair:
    """Read the example that comes with the authors' code: two covariates, 1000 rows each."""
    private, public = (
        {each: table.column(each).to_numpy() for each in ("x1", "x2", "y")}
        for table in (work.parquet(f"hybrid_sim_{whose}.parquet") for whose in ("private", "public"))
    )
    box = ("real", -REACH[2], REACH[2])
    return Pair(private, public, declared({"x1": box, "x2": box, "y": ("integer", 0, 1)}, 1000), "y", False)


def private_methods(pair: Pair) -> dict[str, Callable[[float], Method]]:
    """Return the methods that are compared with the published algorithm, by the total epsilon."""
    common: dict[str, Any] = {"fit_intercept": pair.fit_intercept}
    weighted: dict[str, Any] = {**common, "public": pair.records}
    return {
        "histogram": lambda epsilon: Histogram.of(epsilon=epsilon, **common),
        "hybrid": lambda epsilon: HybridEstimate.of(epsilon=epsilon, **weighted),
        "public subset": lambda epsilon: PublicSubset.of(epsilon=epsilon, **weighted),
    }


def published(pair: Pair, sizes: tuple[int, ...]) -> partial[Method]:
    """Return Algorithm 2 as printed, at its claimed epsilon: half for the weights, half for each criterion."""
    return partial(
        PublicSubset.of, public=pair.records, fit_intercept=pair.fit_intercept, as_published=True, sizes=sizes
    )
