"""Swope et al. 2024: the microarrays, the simulated table, and the columns that a lasso of all rows takes for best."""

import json
import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from sklearn.linear_model import lars_path

from discreet.mechanisms.rng import Source
from discreet.simulation.draws import normals, uniforms
from discreet.typing import Floats
from discreet_papers.experiment import Work

FILES = {
    name: f"microarray/{file}.parquet"
    for name, file in {
        "Alon": "alon",
        "Borovecki": "borovecki",
        "Christensen": "christensen",
        "Golub": "golub",
        "Gravier": "gravier",
        "Khan": "khan",
        "Shipp": "shipp",
        "Sorlie": "sorlie",
        "Su": "su",
        "Subramanian": "subramanian",
        "Yeoh": "yeoh_reduced",
    }.items()
}
"""The paper's tables that are at hand."""

SYNTH = "Synth"
SYNTH_SEED = 20_240
N_EFFECTS = 8
PENALTY = 0.1
"""Lambda, of all lassos."""

LASSO, PRODUCTS, EFFECTS = "lasso", "products", "effects"
"""By what columns are the best: a lasso of all rows, the sums that screening draws by, or the simulation's truth."""

DIFFERS = {
    "Sorlie": "The table at hand of Sorlie has 456 columns, the paper's 457.",
    "Su": "The table at hand of Su has 5565 columns, the paper's 5564.",
    "Yeoh": "Of Yeoh a public selection of 985 of the paper's 12625 probe sets stands in, on the same 248 patients.",
}
ABSENT = (
    "Burczynski, Chiaretti, Chin, Chowdary, Gordon, Singh, Tian and West could not be had. Neither can figure 8, "
    "which shows Chin."
)


@dataclass(frozen=True, eq=False)
class Wide:
    """A table as the paper's mechanisms take it.

    Parameters
    ----------
    X : ndarray of float, shape (n, d)
        Columns, centered and divided by their largest absolute values.
    y : ndarray of float, shape (n,)
        Target, the same.
    worth : ndarray of float, shape (d,)
        Columns are the better, the larger this is.
    best_by : str
        What it is: `LASSO` or `EFFECTS`.
    """

    X: Floats
    y: Floats
    worth: Floats
    best_by: str

    @classmethod
    def read(cls, name: str, work: Work) -> "Wide":
        """Return a table, the same for any seed."""
        if name == SYNTH:
            X, y, effects = fan_lv(Source.seeded(SYNTH_SEED))
            return cls(scaled(X), scaled(y), np.abs(effects), EFFECTS)
        X, y = microarray(work.parquet(FILES[name]))
        return cls(scaled(X), scaled(y), by_lasso(X, y), LASSO)

    @cached_property
    def scores(self) -> Floats:
        """Absolute sums of products with the target, in rows."""
        return np.abs(self.X.T @ self.y)

    @property
    def log_d(self) -> int:
        """The larger of the paper's two numbers of columns to select."""
        return N_EFFECTS if self.best_by == EFFECTS else int(math.log(self.X.shape[1]))


def microarray(table: "pa.Table") -> tuple[Floats, Floats]:
    """Return a microarray's columns as measured, and its classes 1 .. K in the order of the source."""
    classes = json.loads(table.schema.metadata[b"classes"])
    target, *probes = table.columns
    y = np.array([classes.index(str(label)) + 1.0 for label in target.to_pylist()])
    return np.column_stack([probe.to_numpy() for probe in probes]).astype(np.float64), y


def fan_lv(rng: Source, n: int = 100, d: int = 2000) -> tuple[Floats, Floats, Floats]:
    """Draw independent normal columns, of which eight have effects of random sign and size.

    Returns (1) columns; (2) target, with normal errors of standard deviation 1.5; (3) all but eight are 0.

    Equation 5 has errors of N(0, 1.5 I), where 1.5 may be a variance or a standard deviation; that of Fan and Lv is
    read here as a standard deviation.

    Source: Fan and Lv 2008, 3.3.1; Swope et al. 2024, equations 5 and 6.

    Returns shape X (n, d), y (n,), effects (d,).
    """
    X, effects = normals(rng, n, d), np.zeros(d)
    signs = np.where(uniforms(rng, N_EFFECTS) < 0.4, -1.0, 1.0)
    sizes = 4.0 * math.log(n) / math.sqrt(n) + np.abs(normals(rng, N_EFFECTS))
    effects[np.argsort(uniforms(rng, d))[:N_EFFECTS]] = signs * sizes
    return X, X @ effects + 1.5 * normals(rng, n), effects


def scaled(values: Floats) -> Floats:
    """Center columns and divide each by its largest absolute value; a constant is 0."""
    centered = values - values.mean(axis=0)
    return _over(values, centered, np.abs(centered).max(axis=0))


def standardized(values: Floats) -> Floats:
    """Center columns and divide each by its standard deviation; a constant is 0."""
    centered = values - values.mean(axis=0)
    return _over(values, centered, np.sqrt(np.mean(centered**2, axis=0)))


def _over(values: Floats, centered: Floats, sizes: Floats) -> Floats:
    """Return columns over their sizes; of a constant, rounding alone remains."""
    varies = sizes > 1e-12 * np.abs(values).max(axis=0)
    return np.asarray(np.where(varies, centered, 0.0) / np.where(varies, sizes, 1.0))


def lasso(X: Floats, y: Floats) -> Floats:
    """Return the minimum of half the mean squared residual plus .1 times the absolute coefficients, of shape (d,)."""
    centered, target = X - X.mean(axis=0), y - y.mean()
    if not target.any():
        return np.zeros(X.shape[1])
    # Least angles take a step a column, O(n d) each; coordinate descent takes thousands of passes over so few rows.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of equal columns one is dropped
        coef = lars_path(centered, target, alpha_min=PENALTY, method="lasso", return_path=False, copy_X=False)[2]
    return np.asarray(coef, dtype=np.float64)


def by_lasso(X: Floats, y: Floats) -> Floats:
    """Return the lasso's absolute coefficients for columns and target of standard deviation 1."""
    return np.abs(lasso(standardized(X), standardized(y)))


def explained(X: Floats, y: Floats) -> float:
    """Return the lasso's R^2 on the rows that it is fitted to."""
    left = y - y.mean() - (X - X.mean(axis=0)) @ lasso(X, y)
    return 1.0 - float(left @ left) / float(((y - y.mean()) ** 2).sum())
