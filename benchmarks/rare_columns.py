"""Linear fits where few rows have most of the error: intervals of a rare column, beside the sandwich without privacy.

    python -m benchmarks.rare_columns --tables 60 --seed 92

*rare* is a 0/1 column with so many ones, *level* a category with so rare a level; the errors of these rows are so many
times as large as those of others. *unlike* has an income in wide bounds, a year, two rare 0/1 columns that go together,
and errors of Student's t with three degrees of freedom, four times as large in one of these. delta 1e-6, `replace_one`.
"""

import argparse
import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet import workflow
from discreet.mechanisms.rng import Source
from discreet.typing import Floats

N_POPULATION = 1_000_000
QUANTILE = 1.96


class Cell(NamedTuple):
    """A kind of table: how many rows, at which epsilon, how many rows are rare, how much larger their errors are."""

    kind: str
    n_rows: int
    epsilon: float
    share: float
    ratio: float


CELLS = (
    Cell("rare", 5_000, 8, 0.06, 4.5),
    Cell("rare", 8_000, 8, 0.03, 5),
    Cell("rare", 30_000, 2, 0.05, 5),
    Cell("rare", 50_000, 8, 0.02, 4),
    Cell("rare", 15_000, 2, 0.15, 4),
    Cell("rare", 1_000, 8, 0.08, 5),
    Cell("level", 50_000, 8, 0.015, 4),
    Cell("level", 20_000, 8, 0.01, 1),
    Cell("level", 30_000, 2, 0.02, 3),
    Cell("rare", 20_000, 8, 0.1, 1),
    Cell("rare", 20_000, 2, 0.1, 1),
    Cell("unlike", 500, 2, 0.07, 4),
    Cell("unlike", 4_000, 1, 0.07, 4),
    Cell("unlike", 4_000, 8, 0.07, 4),
    Cell("unlike", 20_000, 8, 0.07, 4),
)


class Drawn(NamedTuple):
    """Columns as a table has them, the design with a constant in front, and which of its columns is the rare one."""

    columns: dict[str, pa.Array | Floats]
    design: Floats
    response: Floats
    place: int


def drawn(cell: Cell, n_rows: int, seed: tuple[int, int]) -> Drawn:
    """Draw rows; those of the rare column or level have larger errors."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - simulated data, not noise
    if cell.kind == "unlike":
        return _unlike(cell, n_rows, rng)
    x = rng.uniform(-1.0, 1.0, (n_rows, 2))
    is_rare = rng.random(n_rows) < cell.share
    errors = rng.normal(size=n_rows) * np.where(is_rare, cell.ratio, 1.0)
    is_b = ~is_rare & (rng.random(n_rows) < 0.4)
    response = x[:, 0] - 0.5 * x[:, 1] + is_rare + errors
    columns = {"x1": x[:, 0], "x2": x[:, 1], "y": np.clip(response, -20.0, 20.0)}
    constant = np.ones(n_rows)
    if cell.kind == "rare":
        columns["d"] = is_rare.astype(float)
        return Drawn(columns, np.column_stack([constant, x, is_rare]), columns["y"], 3)
    levels = np.where(is_rare, "c", np.where(is_b, "b", "a"))
    design = np.column_stack([constant, x, is_b, is_rare])
    return Drawn({**columns, "g": pa.array(levels)}, design, columns["y"], 4)


def _unlike(cell: Cell, n_rows: int, rng: Any) -> Drawn:
    first, second, third = rng.normal(size=(3, n_rows))
    income = np.minimum(np.exp(9.5 + 0.9 * first), 5e5)
    year = np.clip(1990.0 + 8.0 * second, 1900.0, 2030.0).round()
    is_rare = third > 1.5
    goes_along = third + 0.5 * rng.normal(size=n_rows) > 1.6
    errors = 3.0 * rng.standard_t(3, size=n_rows) * np.where(is_rare, cell.ratio, 1.0)
    response = np.clip(40.0 + 4.0 * income / 1e5 + 0.2 * (year - 1990.0) + 6.0 * is_rare + errors, 0.0, 200.0)
    columns = {"income": income, "year": year, "d": is_rare.astype(float), "e": goes_along.astype(float), "y": response}
    design = np.column_stack([np.ones(n_rows), *list(columns.values())[:-1]])
    return Drawn(columns, design, response, 3)


def metadata_of(cell: Cell) -> dc.Metadata:
    """Public bounds of a cell's columns."""
    two_values = {"type": "integer", "lower": 0, "upper": 1}
    if cell.kind == "unlike":
        columns = {"income": _real(0, 5e5), "year": _real(1900, 2030), "d": two_values, "e": two_values}
        columns["y"] = _real(0, 200)
    else:
        columns = {"x1": _real(-1, 1), "x2": _real(-1, 1)}
        category = {"type": "category", "levels": ["a", "b", "c"]}
        columns |= {"d": two_values} if cell.kind == "rare" else {"g": category}
        columns["y"] = _real(-20, 20)
    facts = {"dataset": "rare", "unit": "person", "neighboring": "replace_one", "n_rows": cell.n_rows}
    return dc.Metadata.from_value({**facts, "columns": columns})


def _real(lower: float, upper: float) -> dict[str, object]:
    return {"type": "real", "lower": lower, "upper": upper}


def least_squares(design: Floats, response: Floats) -> tuple[Floats, Floats]:
    """Return coefficients and the sandwich's standard errors."""
    inverse = np.linalg.pinv(design.T @ design)
    coefficients = inverse @ (design.T @ response)
    residuals = response - design @ coefficients
    meat = (design.T * residuals**2) @ design
    return coefficients, np.sqrt(np.diagonal(inverse @ meat @ inverse))


class Rates(NamedTuple):
    """Of the rare column: told and right intervals; of all others; without privacy; the median of widths' ratios."""

    rare: tuple[int, int]
    others: tuple[int, int]
    not_private: float
    width: float


def measured(cell: Cell, n_tables: int, seed: int) -> Rates:
    """Fit so many tables, and count the ends that hold the population's coefficients."""
    population = drawn(cell, N_POPULATION, (seed, 0))
    truth, _ = least_squares(population.design, population.response)
    metadata, place = metadata_of(cell), population.place
    is_told, is_right = np.zeros((2, n_tables, len(truth)), dtype=bool)
    held, ratios = 0, []
    for number in range(n_tables):
        sample = drawn(cell, cell.n_rows, (seed, number + 1))
        estimates, errors = least_squares(sample.design, sample.response)
        held += bool(abs(estimates[place] - truth[place]) < QUANTILE * errors[place])
        table = dc.open_table(pa.table(sample.columns), metadata)
        method = workflow.method_of("linear", epsilon=cell.epsilon, delta=1e-6)
        candidates = [name for name in sample.columns if name != "y"]
        release = workflow.answer(method, table, "y", candidates, rng=Source.seeded(seed * 1000 + number)).release
        low, high = np.array(list(release.conf_int().values())).T
        is_told[number] = np.isfinite(low) | np.isfinite(high)
        is_right[number] = is_told[number] & (low <= truth) & (truth <= high)
        if math.isfinite(high[place] - low[place]):
            ratios.append((high[place] - low[place]) / (2.0 * QUANTILE * errors[place]))
    of_rare = int(is_told[:, place].sum()), int(is_right[:, place].sum())
    of_others = int(is_told.sum()) - of_rare[0], int(is_right.sum()) - of_rare[1]
    return Rates(of_rare, of_others, held / n_tables, float(np.median(ratios)) if ratios else math.nan)


def main() -> None:
    """Print one row a cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=60, help="draws of each cell")
    parser.add_argument("--seed", type=int, default=92)
    options = parser.parse_args()
    print(
        "| kind | rare rows; their errors | n, epsilon | right of told | not private | width | others: right of told |"
    )
    print("|---" * 7 + "|")
    for cell in CELLS:
        rates = measured(cell, options.tables, options.seed)
        share, others_share = (f"{b / a:.3f} of {a}" if a else "none told" for a, b in (rates.rare, rates.others))
        print(
            f"| {cell.kind} | {cell.share:g}; {cell.ratio:g} times | {cell.n_rows:,}, {cell.epsilon:g} | {share} | "
            f"{rates.not_private:.3f} | {rates.width:.2f} | {others_share} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
