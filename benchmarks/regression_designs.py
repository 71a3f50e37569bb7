"""Designs of tables for regressions: the cells of `benchmarks.coverage`, drawn so that every pair of levels meets."""

import itertools
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr, ndtri

from discreet.data.metadata import Metadata
from discreet.typing import Floats

LEVELS: dict[str, tuple[Any, ...]] = {
    "family": ("linear", "logistic", "poisson"),
    "columns": ("independent", "correlated", "binary"),
    "strength": (1.0, 5.0, 10.0, 15.0),
    "fill": (1.0, 0.1),
    "outcome": ("plain", "rare", "dispersed"),
    "rare_level": (False, True),
    "rows_per_unit": (1, 4),
    "n_rows": (300, 2_000, 20_000, 200_000),
    "epsilon": (0.5, 1.0, 4.0, 100.0),
    "delta": (0.0, 1e-6),
    "neighboring": ("replace_one", "add_or_remove_one"),
}
"""What a cell is made of: `dispersed` is heteroskedastic for linear outcomes, overdispersed for counts."""

N_COLUMNS = 4
SLOPES = np.array([0.4, -0.3, 0.2, 0.1])
"""Their absolute values add up to 1: times `strength` they are the coefficients per half range."""

CORRELATION = 0.95
PREVALENCES = np.array([0.5, 0.3, 0.1, 0.02])
LATENT = 0.6
"""Correlation behind 0/1 columns: log odds ratios between 1.2 and 2."""

SKEWED = "skewed"
"""Columns that no cell is drawn with: like incomes in wide bounds. Asked for, they take the place of a cell's own."""

WITHIN = 0.5
"""Correlation of the rows of one person, in the columns and in the outcome given them."""

CATEGORY = {"common": 0.6, "other": 0.39, "rare": 0.01}
CATEGORY_EFFECT = {"common": 0.0, "other": 0.3, "rare": -0.4}
REFERENCE_ROWS = 200_000


@dataclass(frozen=True)
class Cell:
    """One setting of all factors of `LEVELS`."""

    family: str
    columns: str
    strength: float
    fill: float
    outcome: str
    rare_level: bool
    rows_per_unit: int
    n_rows: int
    epsilon: float
    delta: float
    neighboring: str

    @property
    def exists(self) -> bool:
        """Whether the outcome is one of the family, and the columns can be so."""
        if self.outcome == "rare" and self.family == "linear":
            return False
        if self.outcome == "dispersed" and self.family == "logistic":
            return False
        return not (self.columns == "binary" and self.fill < 1.0)

    @property
    def unlike(self) -> str:
        """The cell in a line."""
        words = [self.family, self.columns, f"|b| {self.strength:g}"]
        words += ["a tenth of the bounds"] if self.fill < 1.0 else []
        words += [self.outcome] if self.outcome != "plain" else []
        words += ["1 % level"] if self.rare_level else []
        words += ["4 rows a person"] if self.rows_per_unit > 1 else []
        return ", ".join(words)


def covering_cells(n_cells: int = 150, seed: int = 1) -> list[Cell]:
    """Return cells in which every pair of levels that can meet does, and as many triples as a greedy choice finds."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - a design, not noise
    factors = list(LEVELS)
    missing: list[set[Any]] = []
    everything = [_random_cell(rng) for _ in range(4000)]
    for size in (2, 3):
        missing.append({part for cell in everything for part in _parts(cell, factors, size)})
    chosen: list[Cell] = []
    while len(chosen) < n_cells:
        drawn = [everything[j] for j in rng.integers(0, len(everything), 120)]
        gains = [
            10 * len(missing[0].intersection(_parts(cell, factors, 2)))
            + len(missing[1].intersection(_parts(cell, factors, 3)))
            for cell in drawn
        ]
        best = drawn[int(np.argmax(gains))]
        chosen.append(best)
        for parts, size in zip(missing, (2, 3), strict=True):
            parts.difference_update(_parts(best, factors, size))
    if n_cells >= 150 and missing[0]:
        raise ArithmeticError(f"{len(missing[0])} pairs of levels never meet")
    return chosen


def drawn_cells(n_cells: int, seed: int) -> list[Cell]:
    """Return cells drawn at random, without regard to what others hold."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - a design, not noise
    return [_random_cell(rng) for _ in range(n_cells)]


def with_skewed_columns(cell: Cell) -> Cell:
    """Return the cell with such columns, whose mean is a tenth of the half range above their lower bounds."""
    return replace(cell, columns=SKEWED, fill=0.1)


def _random_cell(rng: Any) -> Cell:
    while True:
        cell = Cell(**{name: levels[int(rng.integers(len(levels)))] for name, levels in LEVELS.items()})
        if cell.exists:
            return cell


def _parts(cell: Cell, factors: list[str], size: int) -> set[Any]:
    pairs = [(name, getattr(cell, name)) for name in factors]
    return set(itertools.combinations(pairs, size))


# ---- tables


@dataclass(frozen=True)
class Table:
    """Rows of one table, and what generated them."""

    columns: dict[str, Any]
    X: Floats
    y: Floats
    units: Any


def names(cell: Cell) -> list[str]:
    """Return the columns of the model."""
    return [f"x{j}" for j in range(N_COLUMNS)] + (["group"] if cell.rare_level else [])


def true_coefficients(cell: Cell) -> dict[str, float]:
    """Return the coefficients per unit of each column, and the effect of each level."""
    slopes = cell.strength * SLOPES * _unit(cell)
    truth = {f"x{j}": float(slope) for j, slope in enumerate(slopes)}
    truth["(intercept)"] = _intercept(cell)
    if cell.rare_level:
        truth |= {f"group={level}": effect for level, effect in CATEGORY_EFFECT.items()}
    return truth


def metadata(cell: Cell) -> Metadata:
    """Return what is public: honest bounds, declared before anything is known of the rows."""
    columns: dict[str, Any] = {}
    low = 0.0 if cell.columns == "binary" else -1.0
    kind = "integer" if cell.columns == "binary" else "real"
    for j in range(N_COLUMNS):
        columns[f"x{j}"] = {"type": kind, "lower": low, "upper": 1.0, "source": "code book"}
    if cell.rare_level:
        columns["group"] = {"type": "category", "levels": list(CATEGORY), "source": "code book"}
    lower, upper = target_bounds(cell)
    columns["y"] = {
        "type": "real" if cell.family == "linear" else "integer",
        "lower": lower,
        "upper": upper,
        "source": "code book",
    }
    facts = {"schema": "discreet/metadata@1", "dataset": "simulated", "unit": "person", "columns": columns}
    facts |= {"neighboring": cell.neighboring, "rows_per_unit": cell.rows_per_unit}
    facts |= {"unit_id": "person"} if cell.rows_per_unit > 1 else {}
    facts |= {"n_rows": cell.n_rows} if cell.neighboring == "replace_one" else {}
    return Metadata.model_validate(facts)


@cache
def target_bounds(cell: Cell) -> tuple[float, float]:
    """Return the bounds of the outcome: of its law, with next to nothing outside."""
    if cell.family == "logistic":
        return 0.0, 1.0
    reach = cell.strength * cell.fill * (6.0 if cell.columns == SKEWED else 1.0) + 0.5
    if cell.family == "linear":
        return -float(np.ceil(reach + 4.5 * _error(cell) * (2.0 if cell.outcome == "dispersed" else 1.0))), float(
            np.ceil(reach + 4.5 * _error(cell) * (2.0 if cell.outcome == "dispersed" else 1.0))
        )
    y = _responses(cell, *_predictors(cell, REFERENCE_ROWS, 7))
    return 0.0, float(np.ceil(1.25 * y.max() + 3.0))


def simulated(cell: Cell, seed: int) -> Table:
    """Return a table of a cell; the same seed gives the same table."""
    X, eta, units, noise, groups = _drawn(cell, cell.n_rows, seed)
    y = _responses(cell, X, eta, units, noise, groups)
    lower, upper = target_bounds(cell)
    columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(N_COLUMNS)}
    if cell.columns == "binary":
        columns = {name: values.astype(np.int64) for name, values in columns.items()}
    if cell.rare_level:
        columns["group"] = groups
    columns["person"] = units
    clipped = np.clip(y, lower, upper)
    columns["y"] = clipped if cell.family == "linear" else clipped.astype(np.int64)
    return Table(columns, X, clipped, units)


def _unit(cell: Cell) -> float:
    """Coefficients per half range into those per unit: a 0/1 column has a half range of 1/2."""
    return 2.0 if cell.columns == "binary" else 1.0


def _error(cell: Cell) -> float:
    """The errors' standard deviation of a linear outcome: half that of the signal, at least .1."""
    return max(0.25 * cell.strength * cell.fill, 0.1)


@cache
def _intercept(cell: Cell) -> float:
    """So that the outcome's mean is .4 (.02 for rare ones), of counts 2 (.02), of linear ones near 0."""
    if cell.family == "linear":
        return 0.25 + (cell.strength * float(SLOPES.sum()) * (1.0 - cell.fill) if cell.columns == SKEWED else 0.0)
    eta = _predictors(cell, REFERENCE_ROWS, 7, without_intercept=True)[1]
    aim = 0.02 if cell.outcome == "rare" else 0.4 if cell.family == "logistic" else 2.0
    low, high = -60.0, 30.0
    for _ in range(80):
        middle = (low + high) / 2.0
        mean = float((expit(eta + middle) if cell.family == "logistic" else np.exp(eta + middle)).mean())
        low, high = (middle, high) if mean < aim else (low, middle)
    return round(middle, 4)


def _predictors(cell: Cell, n: int, seed: int, without_intercept: bool = False) -> Any:
    return _drawn(cell, n, seed, without_intercept)


def _drawn(cell: Cell, n: int, seed: int, without_intercept: bool = False) -> Any:
    """Columns, linear predictor, units, uniform numbers behind the outcome, and groups."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    size = cell.rows_per_unit
    n_units = -(-n // size)

    def normal(width: int) -> Any:
        shared = np.repeat(rng.normal(size=(n_units, width)), size, axis=0)
        own = rng.normal(size=(n_units * size, width))
        return (WITHIN**0.5 * shared + (1.0 - WITHIN) ** 0.5 * own if size > 1 else own)[:n]

    latent = normal(N_COLUMNS)
    if cell.columns not in ("independent", SKEWED):
        rho = CORRELATION if cell.columns == "correlated" else LATENT
        latent = rho**0.5 * normal(1) + (1.0 - rho) ** 0.5 * latent
    X = _columns_of(cell, latent)
    eta = X @ (cell.strength * SLOPES * _unit(cell))
    groups = np.full(n, "")
    if cell.rare_level:
        places = np.searchsorted(np.cumsum(list(CATEGORY.values()))[:-1], ndtr(normal(1)[:, 0]))
        groups = np.array(list(CATEGORY))[places]
        eta = eta + np.array(list(CATEGORY_EFFECT.values()))[places]
    if not without_intercept:
        eta = eta + _intercept(cell)
    units = np.repeat(np.arange(n_units), size)[:n]
    return X, eta, units, ndtr(normal(1)[:, 0]), groups


def _columns_of(cell: Cell, latent: Floats) -> Floats:
    if cell.columns == "binary":
        return (latent < ndtri(PREVALENCES)) * 1.0
    if cell.columns == SKEWED:  # exponential, its mean a part of the half range above the lower bound
        return np.minimum(-1.0 - cell.fill * np.log(ndtr(-latent)), 1.0)
    return cell.fill * (2.0 * ndtr(latent) - 1.0)


def _responses(cell: Cell, X: Floats, eta: Floats, units: Any, noise: Floats, groups: Any) -> Floats:
    """The outcome with the right mean given the columns; rows of one person share half of the noise."""
    del units, groups
    if cell.family == "logistic":
        return (noise < expit(eta)) * 1.0
    if cell.family == "linear":
        spread = _error(cell) * (
            np.sqrt(0.1 + 1.9 * np.abs(X[:, 0]) / cell.fill) if cell.outcome == "dispersed" else 1.0
        )
        return eta + spread * ndtri(np.clip(noise, 1e-12, 1.0 - 1e-12))
    mean = np.exp(eta)
    if cell.outcome == "dispersed":  # negative binomial of variance mean + mean^2 / 2
        return stats.nbinom.ppf(noise, 2.0, 2.0 / (2.0 + mean))
    return stats.poisson.ppf(noise, mean)
